"""Counts of the last second."""

from __future__ import annotations

from tests.render.events.seen import records
from tests.render.scene.staged import MS
from twixt.ipc.ring.events import NO_EVENTS
from twixt.render.events.event_counts import EventCounts

NAMES = {1: "hit", 2: "slip", 3: "crack"}


def test_events_are_counted_for_a_second_of_display_time():
    counts = EventCounts()
    assert not counts.has_any
    for frame in range(120):
        counts.add(frame * 16 * MS, records([frame], name=1 + frame % 2))
    assert counts.by_name(NAMES, 8) == {"slip": 32, "hit": 31}
    assert not counts.are_zero
    counts.add(120 * 16 * MS + 2_000 * MS, NO_EVENTS)
    assert counts.by_name(NAMES, 8) == {}
    assert counts.are_zero
    assert counts.has_any


def test_the_most_frequent_come_first_and_the_rest_is_summed():
    counts = EventCounts()
    counts.add(0, records([0] * 6, name=[2, 2, 2, 1, 1, 3]))
    assert list(counts.by_name(NAMES, 8).items()) == [("slip", 3), ("hit", 2), ("crack", 1)]
    assert list(counts.by_name(NAMES, 2).items()) == [("slip", 3), ("all other names", 3)]
