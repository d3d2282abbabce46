"""Every interleaving and reordering of the real append and read of events, and what breaks when a piece is missing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ipc.model import event_ring
from tests.ipc.model.event_ring import EVENTS_OF_AN_APPEND, FENCES, LOOKS, SLOTS, explore, found_without
from tests.ipc.model.memory_models import ARM, MODELS, SC, TSO, Violation
from tests.ipc.model.watched import Piece
from twixt.ipc.ring.events import EVENT, EventWriter

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("story", [event_ring.one_at_a_time, event_ring.two_at_a_time, event_ring.more_than_slots])
def test_each_record_is_read_once_whole_with_its_name_or_counted_as_lost(story, slots: int, model: str):
    assert explore(story(slots), model) > 400


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slots", SLOTS[:2])
def test_a_reader_that_reads_twice_is_given_none_twice(slots: int, model: str):
    assert explore(event_ring.read_twice(slots), model) > 4000


@pytest.mark.parametrize("model", [SC, ARM])
@pytest.mark.parametrize("events", range(1, EVENTS_OF_AN_APPEND + 1))
def test_an_append_that_was_interrupted_and_begun_again_otherwise_is_read_whole(events: int, model: str):
    story = event_ring.interrupted(3, events)
    assert story.writer._until_interrupt < -1, "it was interrupted, and went on"
    assert explore(story, model) > 800


@pytest.mark.parametrize("piece", [*FENCES, *LOOKS], ids=lambda piece: piece.name)
def test_without_any_piece_something_breaks(piece: Piece):
    assert found_without(piece, ARM, 3) is not None


@pytest.mark.parametrize("piece", FENCES, ids=lambda piece: piece.name)
def test_where_memory_keeps_the_order_no_fence_is_needed(piece: Piece):
    assert found_without(piece, TSO, 2) is None


@pytest.mark.parametrize("piece", LOOKS, ids=lambda piece: piece.name)
def test_looks_are_needed_on_every_machine(piece: Piece):
    assert found_without(piece, SC, 3) is not None


def test_a_name_that_comes_after_its_record_is_noticed():
    def script(writing: event_ring.EventWriting, writer: EventWriter) -> None:
        late = np.zeros(1, EVENT)
        late["sim_time_ns"] = late["name"] = 1
        writer.append(late)
        writing.append(writer, 1)

    story = event_ring.Story(2, event_ring.EventWriting(2, script), ((event_ring.the_events,),))
    with pytest.raises(Violation, match="the name of a record was read as 0"):
        explore(story, SC)
