"""Every interleaving and reordering of the real publish and read, and what breaks when a piece of them is missing."""

from __future__ import annotations

import os
from unittest.mock import patch

import pytest

from tests.ipc.model import channel
from tests.ipc.model.channel import (
    FENCES,
    FIRST_LOOK,
    LOOKS,
    PLAN_FENCES,
    PLAN_LOOKS,
    SLOTS,
    explore,
    found_without,
)
from tests.ipc.model.memory_models import ARM, MODELS, SC, TSO, Violation
from tests.ipc.model.watched import Piece, without

pytestmark = pytest.mark.slow

# The events of one publish that an interruption can come after; one more is never reached.
EVENTS_OF_A_PUBLISH = 8
# With TWIXT_MODEL_IN_FULL=1 all of these for each number of slots, which takes minutes; else the shortest.
IN_FULL = bool(os.environ.get("TWIXT_MODEL_IN_FULL"))
LONGER = [channel.growth, channel.unread, channel.frames, channel.two_readers][: None if IN_FULL else 1]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slots", SLOTS)
def test_a_pair_is_whole_whatever_the_order(slots: int, model: str):
    assert explore(channel.pair(slots), model) > 1000


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slots", SLOTS[:2])
def test_what_is_used_where_it_lies_is_whole_or_refused(slots: int, model: str):
    assert explore(channel.unread(slots), model) > 1000


@pytest.mark.parametrize("model", [SC, ARM])
def test_what_is_written_in_place_is_read_whole(model: str):
    assert explore(channel.in_place(4), model) > 1000


@pytest.mark.parametrize("model", [SC, ARM])
def test_marks_beside_the_bodies_are_read_whole(model: str):
    without_any = explore(channel.pair(3), model)
    assert explore(channel.with_marks(3), model) > without_any, "a word more in each slot"


@pytest.mark.parametrize("model", [SC, ARM])
@pytest.mark.parametrize("scenario", [channel.growth, channel.pair_across_growth])
def test_growth_shows_no_incomplete_snapshot_and_no_older_one(scenario, model: str):
    assert explore(scenario(3), model) > 1000


@pytest.mark.parametrize("model", MODELS)
def test_the_plan_is_whole(model: str):
    assert explore(channel.plan(3), model) > 1000


@pytest.mark.parametrize("events", range(1, EVENTS_OF_A_PUBLISH + 1))
def test_a_publish_that_was_interrupted_and_begun_again_is_read_whole(events: int):
    assert explore(channel.interrupted(3, events), ARM) > 1000


@pytest.mark.parametrize("piece", [*FENCES, *LOOKS, *PLAN_FENCES, *PLAN_LOOKS], ids=lambda piece: piece.name)
def test_without_any_piece_something_breaks(piece: Piece):
    assert found_without(piece, ARM, 4) is not None


@pytest.mark.parametrize("piece", [*FENCES, *PLAN_FENCES], ids=lambda piece: piece.name)
def test_where_memory_keeps_the_order_no_fence_is_needed(piece: Piece):
    assert found_without(piece, TSO, 3) is None


@pytest.mark.parametrize("piece", [*LOOKS, *PLAN_LOOKS], ids=lambda piece: piece.name)
def test_looks_are_needed_on_every_machine(piece: Piece):
    assert found_without(piece, SC, 4) is not None


def test_the_first_look_is_but_an_early_exit():
    assert found_without(FIRST_LOOK, ARM, 3) is None


def test_three_slots_do_not_hold_the_pair_at_every_instant_of_an_arm_like_memory():
    with patch.object(channel, "HOLD_THE_PAIR", 3):
        explore(channel.pair(3), TSO)
        with pytest.raises(
            Violation, match="`latest` is 2, so snapshot 1 should be complete, but in its slot `sequence` is 7"
        ):
            explore(channel.pair(3), ARM)


def test_two_slots_do_not_hold_it_on_any():
    with patch.object(channel, "HOLD_THE_PAIR", 2), pytest.raises(Violation, match="snapshot 1 should be complete"):
        explore(channel.pair(2), SC)


def test_a_violation_tells_the_steps_that_lead_there():
    with without(FENCES[0]), pytest.raises(Violation) as found:
        explore(channel.pair(4), ARM)
    assert any("memory: latest = 1" in step for step in found.value.steps)
    assert found.value.what in str(found.value)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("scenario", LONGER)
def test_longer_stories(scenario, slots: int, model: str):
    assert explore(scenario(slots), model) > 1000
