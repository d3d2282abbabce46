"""Emitted events, calls and frames of a viewer, compared."""

from __future__ import annotations

import numpy as np
import pytest

from bench.events.deliveries import LATE_MS, compare
from bench.events.event_world import EMITTED
from bench.events.recorder import DELIVERED
from twixt.render.measure.frame_rows import FrameRow, FrameTable

MS = 1_000_000
FRAME_NS = 16 * MS


def emitted(times_ms: list[float], epochs: list[int] | None = None) -> np.ndarray:
    rows = np.zeros(len(times_ms), EMITTED)
    rows["number"], rows["sim_time_ns"] = np.arange(len(rows)), np.array(times_ms) * MS
    rows["world_epoch"] = epochs or 0
    return rows


def delivered(events: np.ndarray, places: list[int], draw_ns: list[int], rate: float = 1.0) -> np.ndarray:
    rows = np.zeros(len(places), DELIVERED)
    rows["number"], rows["sim_time_ns"], rows["is_intact"] = places, events["sim_time_ns"][places], True
    rows["late_ms"] = (np.array(draw_ns) - rows["sim_time_ns"]) / rate / 1e6
    return rows


def log(counts: list[int], draw_ms: list[float], **columns: list[float]) -> FrameTable:
    """A frame each 16 ms of display time, with these numbers of events and draw times."""
    rows = []
    for number, (events, draw) in enumerate(zip(counts, draw_ms, strict=True)):
        more = {name: values[number] for name, values in columns.items()}
        now_ns = number * FRAME_NS
        rows.append(
            FrameRow(
                number,
                mode="interpolated",
                draw_time_ns=round(draw * MS),
                events=events,
                latch_ns=now_ns,
                present_ns=now_ns,
                **more,
            )
        )
    return FrameTable.of(rows)


EVENTS = emitted([10, 20, 30, 31, 60])
FRAMES = log([0, 1, 2, 1], [16, 25, 48, 64])


# Lateness of the first event of each frame if the frames draw 16, 25, 48 and 64 ms.
LATE_NS = [0, 5 * MS, 18 * MS, 4 * MS]


def calls(places: list[int]) -> np.ndarray:
    """The calls for these events, by the frames that reach them."""
    draw_ms = np.array([16, 25, 48, 64])
    times_ms = EVENTS["sim_time_ns"][places] / MS
    return delivered(EVENTS, places, [draw_ms[np.searchsorted(draw_ms, time)] * MS for time in times_ms])


def test_events_between_the_first_and_the_last_drawn_instant_are_expected_once_in_order() -> None:
    found = compare(EVENTS, calls([1, 2, 3, 4]), FRAMES, 0)
    assert (found.expected, found.delivered, found.missing) == (4, 4, 0)
    assert found.is_exact
    assert found.is_in_time
    assert found.late_frames == {0: 4}
    assert (found.late_max_ms, sum(found.late_ms)) == (18.0, 4)


@pytest.mark.parametrize(
    ("places", "field"),
    [([1, 2, 4], "missing"), ([1, 2, 2, 3, 4], "twice"), ([1, 3, 2, 4], "unordered")],
)
def test_each_fault_is_counted(places: list[int], field: str) -> None:
    found = compare(EVENTS, calls(places), log([0, 1, len(places) - 2, 1], [16, 25, 48, 64]), 0)
    assert {name: getattr(found, name) for name in ("missing", "twice", "unordered", "foreign")} == {
        name: int(name == field) for name in ("missing", "twice", "unordered", "foreign")
    }
    assert not found.is_exact
    assert found.is_disordered == (field != "missing")


def test_events_from_before_the_first_picture_are_expected_if_they_came_after_the_start() -> None:
    events = EVENTS.copy()
    events["emitted_ns"] = [3, 4, 5, 6, 7]
    rows = calls([0, 1, 2, 3, 4])
    frames = log([1, 1, 2, 1], [16, 25, 48, 64])
    found = compare(events, rows, frames, 3)
    assert (found.before, found.expected, found.is_exact) == (1, 5, True)
    past = compare(events, rows, frames, 4)
    assert (past.foreign, past.is_exact) == (1, False)


def test_an_unknown_number_is_foreign_and_changed_fields_are_damage() -> None:
    rows = calls([1, 2, 3, 4])
    rows["number"][0] = 77
    rows["is_intact"][1] = False
    rows["sim_time_ns"][2] += 1
    found = compare(EVENTS, rows, FRAMES, 0)
    assert (found.foreign, found.damaged, found.missing) == (1, 3, 1)


def test_a_frame_too_late_is_not_in_time_and_a_frame_too_early_neither() -> None:
    late = compare(EVENTS, calls([1, 2, 3, 4]), log([0, 0, 3, 1], [16, 25, 48, 64]), 0)
    assert late.late_frames == {0: 3, 1: 1}
    assert not late.is_in_time
    early = compare(EVENTS, calls([1, 2, 3, 4]), log([1, 0, 2, 1], [16, 25, 48, 64]), 0)
    assert early.late_frames == {-1: 1, 0: 3}
    assert not early.is_in_time


def test_a_frame_cannot_deliver_what_was_emitted_after_it_read() -> None:
    events = EVENTS.copy()
    events["emitted_ns"][1] = FRAME_NS + 1  # the second frame, which reaches it, has read already
    found = compare(events, calls([1, 2, 3, 4]), log([0, 0, 3, 1], [16, 25, 48, 64]), 0)
    assert found.is_in_time
    assert found.emitted_late == 1


def test_calls_that_the_log_does_not_have_are_not_in_time() -> None:
    assert not compare(EVENTS, calls([1, 2, 3, 4]), log([0, 1, 2, 0], [16, 25, 48, 64]), 0).is_in_time


def test_events_over_which_the_picture_jumps_are_counted() -> None:
    jump = log([0, 1, 3], [16, 25, 64])
    rows = delivered(EVENTS, [1, 2, 3, 4], [25 * MS, *[64 * MS] * 3])
    found = compare(EVENTS, rows, jump, 0)
    assert found.is_in_time
    assert found.jumped == 2
    assert found.within_frame == 50.0
    assert found.late_ms[LATE_MS.index(50)] == 1


def test_events_of_a_world_before_a_reset_come_before_those_of_the_next() -> None:
    events = emitted([10, 50, 5, 15], [0, 0, 1, 1])
    frames = log([1, 0, 1, 1], [16, 25, 6, 22], world_epoch=[0, 0, 1, 1])
    rows = delivered(events, [2, 3], [6 * MS, 22 * MS])
    found = compare(events, rows, log([0, 0, 1, 1], [8, 25, 6, 22], world_epoch=[0, 0, 1, 1]), 0)
    assert (found.expected, found.missing, found.unordered) == (4, 2, 0)
    assert len(frames) == 4


def test_in_a_split_view_the_left_picture_decides() -> None:
    # The right picture, which the log has, is 30 ms ahead.
    frames = log([0, 1, 2, 1], [46, 55, 78, 94], plan_rate=[1.0, 1.0, 1.0, 0.0], event_late_ns=LATE_NS)
    rows = delivered(EVENTS, [1, 2, 3, 4], [25 * MS, 48 * MS, 48 * MS, 64 * MS])
    found = compare(EVENTS, rows, frames, 0, is_split=True)
    assert (found.expected, found.missing) == (4, 0)
    assert found.is_in_time
    assert not compare(EVENTS, rows, frames, 0).is_in_time


def test_two_events_of_a_frame_show_the_rate_of_their_lateness() -> None:
    # The third frame has the rate of the plan before.
    late_ns = [*LATE_NS[:3], LATE_NS[3] // 2]
    frames = log([0, 1, 2, 1], [46, 55, 78, 94], plan_rate=[1.0, 1.0, 2.0, 2.0], event_late_ns=late_ns)
    rows = delivered(EVENTS, [1, 2, 3, 4], [25 * MS, 48 * MS, 48 * MS, 64 * MS])
    assert compare(EVENTS, rows, frames, 0, is_split=True).is_in_time
    rows["late_ms"][1] *= 1.01  # no plan has the rate of these two, so that of the log counts
    assert not compare(EVENTS, rows, frames, 0, is_split=True).is_in_time


def test_a_call_that_had_to_wait_for_the_next_frame_does_not_change_the_draw_time() -> None:
    frames = log([0, 1, 2, 1], [46, 55, 78, 94], plan_rate=[1.0] * 4, event_late_ns=LATE_NS)
    rows = delivered(EVENTS, [1, 2, 3, 4], [25 * MS, 64 * MS, 64 * MS, 64 * MS])
    assert compare(EVENTS, rows, frames, 0, is_split=True).is_in_time


def test_a_viewer_that_drew_nothing_expects_nothing() -> None:
    found = compare(EVENTS, calls([]), FrameTable.of([FrameRow()]), 0)
    assert (found.expected, found.delivered, found.late_p50_ms) == (0, 0, None)
    assert found.is_exact
