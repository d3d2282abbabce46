"""Events that were received and are not due yet: each returned at most once, in order, none before its instant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.ring.events import EVENT, EventBatch
from twixt.render.events import event_queue
from twixt.render.events.event_queue import EventQueue


def batch(first: int, events: Sequence[tuple[int, int]]) -> EventBatch:
    """Events (world epoch, simulated time); `body` has the number of each."""
    records = np.zeros(len(events), EVENT)
    for i, (world_epoch, sim_time_ns) in enumerate(events):
        records[i]["world_epoch"], records[i]["sim_time_ns"], records[i]["body"] = world_epoch, sim_time_ns, first + i
    return EventBatch(first, records)


def numbers(due: Any) -> list[int]:
    return due["body"].tolist()  # type: ignore[no-any-return]


def test_an_event_is_due_when_the_draw_time_reaches_its_instant_and_only_once() -> None:
    queue = EventQueue(0)
    queue.add(batch(1, [(0, 10), (0, 20), (0, 20), (0, 30)]))
    assert numbers(queue.due(9, 0)) == []
    assert numbers(queue.due(10, 0)) == [1]
    assert numbers(queue.due(10, 0)) == []
    assert numbers(queue.due(29, 0)) == [2, 3]
    assert len(queue) == 1
    assert numbers(queue.due(30, 0)) == [4]
    assert (len(queue), queue.lost, queue.reset) == (0, 0, 0)


def test_an_event_that_comes_late_is_due_in_the_next_frame() -> None:
    queue = EventQueue(0)
    assert numbers(queue.due(100, 0)) == []
    queue.add(batch(1, [(0, 50)]))
    assert numbers(queue.due(100, 0)) == [1]


def test_a_draw_time_that_goes_back_repeats_nothing() -> None:
    queue = EventQueue(0)
    queue.add(batch(1, [(0, 10), (0, 20)]))
    assert numbers(queue.due(20, 0)) == [1, 2]
    queue.add(batch(3, [(0, 21)]))
    assert numbers(queue.due(5, 0)) == []
    assert numbers(queue.due(21, 0)) == [3]


def test_a_reset_drops_what_was_not_drawn_and_counts_it() -> None:
    queue = EventQueue(0)
    queue.add(batch(1, [(0, 10), (0, 90), (1, 5), (1, 6)]))
    assert numbers(queue.due(10, 0)) == [1]
    assert numbers(queue.due(80, 0)) == [], "the new world is not drawn yet"
    assert numbers(queue.due(5, 1)) == [3]
    assert (queue.reset, len(queue)) == (1, 1)


def test_a_late_viewer_gets_what_is_still_to_be_drawn_and_nothing_of_the_past() -> None:
    queue = EventQueue(4)
    queue.add(batch(1, [(0, 90), (1, 10), (1, 20), (1, 30), (1, 15), (1, 40)]))
    assert numbers(queue.due(20, 1)) == [3], "at the first draw time, which is drawn now"
    assert numbers(queue.due(40, 1)) == [4, 5, 6]
    assert (queue.reset, queue.lost) == (0, 0), "the past is no loss"


def test_events_from_after_the_attach_are_returned_though_the_first_draw_time_is_later() -> None:
    queue = EventQueue(1)
    queue.add(batch(1, [(0, 10), (0, 20), (0, 30)]))
    assert numbers(queue.due(30, 0)) == [2, 3]


def test_of_too_many_events_the_oldest_are_lost_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_queue, "MOST_HELD", 3)
    queue = EventQueue(0)
    queue.add(batch(1, [(0, 10), (0, 20)]))
    queue.add(batch(3, [(0, 30), (0, 40), (0, 50)]))
    assert (len(queue), queue.lost) == (3, 2)
    assert numbers(queue.due(50, 0)) == [3, 4, 5]


def test_damaged_numbers_are_no_error() -> None:
    queue = EventQueue(0)
    queue.add(batch(1, [(2**32 - 1, -(2**63)), (0, 2**63 - 1)]))
    for draw_time_ns, world_epoch in ((2**70, 0), (-(2**70), -5), (0, 2**40)):
        queue.due(draw_time_ns, world_epoch)
    assert len(queue) == 0


gaps = st.lists(st.integers(0, 30), max_size=6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("emit"), gaps),
        st.tuples(st.just("draw"), st.integers(-5, 60)),
        st.tuples(st.just("reset"), st.integers(1, 2)),
        st.tuples(st.just("draw the newest world"), st.just(0)),
    ),
    max_size=40,
)


@given(gaps, steps)
def test_always_each_at_most_once_in_order_none_before_its_instant_and_none_lost_but_those_counted(
    past: list[int], steps: list[tuple[str, Any]]
) -> None:
    """Whatever the batches, draw times and epochs. past: events from before the viewer attached."""
    queue, emitted, found = EventQueue(len(past)), [(-1, 0)], []
    time_ns = world_epoch = drawn_epoch = 0
    first_draw: tuple[int, int] | None = None
    for kind, value in [("emit", past), *steps]:
        if kind == "emit":
            times_ns = [time_ns := time_ns + gap for gap in value]
            queue.add(batch(len(emitted), [(world_epoch, each_ns) for each_ns in times_ns]))
            emitted += [(world_epoch, each_ns) for each_ns in times_ns]
        elif kind == "reset":
            world_epoch, time_ns = world_epoch + value, 0
        elif kind == "draw the newest world":
            drawn_epoch = world_epoch
        else:
            drawn = drawn_epoch, value
            first_draw = first_draw or drawn
            due = numbers(queue.due(value, drawn_epoch))
            assert all(emitted[n][0] == drawn_epoch and emitted[n] <= drawn for n in due)
            found += due
            waiting = range(len(emitted) - len(queue), len(emitted))
            assert all(emitted[n] > drawn for n in waiting), "nothing that is due stays behind"
    assert found == sorted(set(found))
    # An instant that is drawn first is not in the past.
    gone = 0 if first_draw is None else sum(event < first_draw for event in emitted[1 : len(past) + 1])
    assert len(found) + len(queue) + queue.reset + gone == len(emitted) - 1
    assert queue.lost == 0
