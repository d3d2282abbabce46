"""Frame intervals and what was planned."""

import numpy as np
import pytest

from tests.render.measure.runs import FRAME_NS, MS, START_NS, even, frame, shown_at
from twixt.render.measure.evenness import intervals, low_1_percent_fps
from twixt.render.measure.frame_rows import FrameTable
from twixt.render.measure.report_keys import LOW_1_PERCENT


def of(rows, **known):
    return intervals(FrameTable.of(rows), **known)


def test_an_interval_is_from_present_to_present_and_the_first_frame_has_none():
    timing = of(shown_at([START_NS, START_NS + 10 * MS, START_NS + 35 * MS], pacer_interval_ns=10 * MS))
    assert np.isnan(timing.interval_ms[0])
    assert timing.interval_ms[1:].tolist() == [10, 25]
    assert timing.deviation_ms[1:].tolist() == [0, 15]


def test_frames_of_the_probe_are_no_frames_and_nothing_is_measured_across_them():
    rows = even(6)
    rows[2] = rows[2]._replace(probe=True)
    timing = of(rows)
    assert timing.frames["frame"].tolist() == [0, 1, 3, 4, 5]
    assert timing.joined.tolist() == [False, True, False, True, True]


def test_a_frame_two_refreshes_after_one_planned_missed_one():
    presents = [START_NS + (i + (i >= 30)) * FRAME_NS for i in range(60)]
    timing = of(shown_at(presents, planned_refreshes=1))
    assert np.flatnonzero(timing.missed > 0).tolist() == [30]
    assert np.nansum(timing.late_ms) == pytest.approx(FRAME_NS / MS, abs=0.01)


def test_a_frame_planned_for_two_refreshes_and_shown_after_two_missed_none():
    timing = of(even(60, 2 * FRAME_NS, planned_refreshes=2), refresh_hz=60.0, swap_blocks=True)
    assert not np.nansum(timing.missed)
    assert timing.refresh_hz == pytest.approx(60.0, rel=1e-4)


def test_the_refresh_is_measured_over_the_run_and_not_believed():
    timing = of(even(300, round(1e9 / 90), planned_refreshes=1), refresh_hz=93.0, swap_blocks=True)
    assert timing.refresh_hz == pytest.approx(90.0, rel=1e-3)


def test_where_swap_does_not_block_the_pacers_interval_is_the_plan():
    timing = of(even(10, 24 * MS))
    assert not timing.swap_blocks
    assert timing.refresh_hz is None
    assert timing.planned_ms.tolist() == [24.0] * 10


def test_jitter_is_in_the_intervals_and_not_in_the_grid():
    rng = np.random.default_rng(1)
    presents = [START_NS + i * FRAME_NS + int(abs(rng.normal(0, MS))) for i in range(300)]
    timing = of(shown_at(presents, planned_refreshes=1))
    raw, fitted = np.nanstd(timing.interval_ms), np.std(np.diff(timing.present_ns)) / MS
    assert raw > 0.5
    assert fitted < raw / 10


def test_frames_that_are_not_paced_have_no_plan_to_miss():
    timing = of([row._replace(pacer_interval_ns=0) for row in even(10)])
    assert np.isnan(timing.planned_ms).all()
    assert np.isnan(timing.missed).all()


def test_each_one_percent_low_is_worked_out_by_its_own_definition():
    # 198 frames of 10 ms, one of 40 and one of 60: the slowest 1 % are two frames; 1 % of 2080 ms is 20.8 ms.
    lows = low_1_percent_fps(np.array([np.nan, *[10.0] * 198, 40.0, 60.0]))
    assert list(lows) == list(LOW_1_PERCENT)
    assert lows["mean_of_slowest_intervals"] == pytest.approx(1000 / 50)
    assert lows["mean_of_lowest_fps"] == pytest.approx((1000 / 40 + 1000 / 60) / 2)
    assert lows["shortest_in_slowest_1_percent_of_time"] == pytest.approx(1000 / 60)
    assert lows["mean_over_slowest_1_percent_of_time"] == pytest.approx(1000 / 60)
    assert lows["percentile"] == pytest.approx(1000 / np.percentile([10.0] * 198 + [40.0, 60.0], 99))


def test_one_percent_lows_of_nothing_are_not_measured():
    assert set(low_1_percent_fps(np.array([np.nan])).values()) == {None}


def test_no_rows_at_all_are_no_error():
    assert len(of([]).interval_ms) == 0
    assert len(of([frame(0, START_NS, 0)]).interval_ms) == 1


def is_reported(rows, off_ns=0):
    """The display says when each frame was shown; the swaps came back so much later."""
    return [
        row._replace(swap_end_ns=row.present_ns + off_ns, display_present_ns=row.present_ns, present_source="display")
        for row in rows
    ]


def test_the_displays_own_word_is_the_present_and_no_fit_moves_it():
    presents = [START_NS + i * FRAME_NS + (i % 3) * MS for i in range(60)]
    timing = of(is_reported(shown_at(presents, planned_refreshes=1), 4 * MS))
    assert timing.present_ns.tolist() == presents
    assert timing.source == "display"
    assert timing.return_off_ms.tolist() == [4.0] * 60
    assert timing.interval_ms[1:].tolist() == (np.diff(presents) / MS).tolist()


def test_a_frame_that_the_display_says_nothing_of_is_placed_by_its_return():
    rows = is_reported(even(60), 4 * MS)
    rows[30] = rows[30]._replace(
        present_ns=rows[30].swap_end_ns + MS,
        swap_end_ns=rows[30].swap_end_ns,
        display_present_ns=0,
        present_source="timer",
    )
    timing = of(rows)
    assert timing.present_ns.tolist() == [row.present_ns for row in even(60)]
    assert np.isnan(timing.return_off_ms[30])
    assert not timing.is_reported[30]


@pytest.mark.parametrize(("planned_refreshes", "source"), [(1, "swap"), (0, "timer")])
def test_an_older_logs_present_is_the_swaps_return(planned_refreshes, source):
    assert of(even(9, planned_refreshes=planned_refreshes)).source == source
    assert of(even(9, planned_refreshes=planned_refreshes, present_source="fence")).source == "fence"
    assert of([]).source == ""


def test_a_frame_that_was_discarded_is_no_frame_and_its_neighbours_are_measured_across_it():
    rows = even(20)
    rows[7] = rows[7]._replace(present_flags="discarded", present_ns=rows[7].present_ns + 3 * MS)
    measured = of(rows)
    assert len(measured.frames) == 19
    assert np.nanmax(measured.interval_ms) == pytest.approx(2 * FRAME_NS / MS)
