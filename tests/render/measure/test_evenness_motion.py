"""The animation error and its company."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.measure.runs import FRAME_NS, MS, START_NS, even, frame, shown_at
from twixt.render.measure.evenness import intervals, motion
from twixt.render.measure.frame_rows import FrameTable

gaps = st.lists(st.integers(8 * MS, 60 * MS), min_size=40, max_size=80)


def of(rows):
    return motion(intervals(FrameTable.of(rows)))


def worst(rows) -> float:
    return float(np.nanmax(np.abs(of(rows).error_ms)))


@given(gaps, st.sampled_from([1.0, 0.25, 3.0]))
@settings(deadline=None, max_examples=40)
def test_drawing_what_is_due_at_each_present_is_always_without_error_however_the_presents_jitter(steps, rate):
    assert worst(shown_at(START_NS + np.cumsum(steps), rate)) < 1e-3


@given(gaps, st.integers(-50 * MS, 0))
@settings(deadline=None, max_examples=20)
def test_a_constant_distance_between_drawn_and_due_never_matters(steps, offset):
    rows = shown_at(START_NS + np.cumsum(steps))
    assert worst([row._replace(draw_time_ns=row.draw_time_ns + offset) for row in rows]) < 1e-3


@given(gaps, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_the_same_judder_always_has_the_same_figure_at_every_speed_of_the_world(steps, seed):
    presents = START_NS + np.cumsum(steps)
    off = np.random.default_rng(seed).integers(-3 * MS, 3 * MS, len(steps))

    def uneven(rate):
        rows = shown_at(presents, rate)
        return of(
            [row._replace(draw_time_ns=row.draw_time_ns + int(x * rate)) for row, x in zip(rows, off, strict=True)]
        )

    for rate in (0.1, 0.25, 100.0):
        np.testing.assert_allclose(uneven(rate).error_ms, uneven(1.0).error_ms, atol=1e-3)
        np.testing.assert_allclose(uneven(rate).judder, uneven(1.0).judder, atol=1e-4)


def test_motion_too_slow_to_be_seen_is_left_out_and_counted():
    slow = of(shown_at([START_NS + i * FRAME_NS for i in range(90)], rate=0.009))
    assert np.isnan(slow.error_ms).all()
    assert np.isnan(slow.judder).all()
    assert slow.left_out == 89
    slowest = of(shown_at([START_NS + i * FRAME_NS for i in range(90)], rate=0.011))
    assert np.nanmax(np.abs(slowest.error_ms)) < 1e-3
    assert slowest.left_out == 0


def test_judder_is_the_change_of_the_drawn_speed_as_a_share_of_the_worlds():
    rows = even(90)
    for i in range(50, 90):  # one frame draws half as far again, and all after it go on from there
        rows[i] = rows[i]._replace(draw_time_ns=rows[i].draw_time_ns + FRAME_NS // 2)
    judder = of(rows).judder
    assert judder[50] == pytest.approx(0.5, abs=1e-6)
    assert judder[51] == pytest.approx(-0.5, abs=1e-6)
    assert np.nanmax(np.abs(np.delete(judder, [50, 51]))) < 1e-6
    assert np.isnan(judder[:2]).all(), "both frames need an error"


def test_a_frame_that_stands_and_the_one_that_makes_up_for_it_are_an_interval_off_each():
    rows = even(90)
    rows[50] = rows[50]._replace(draw_time_ns=rows[49].draw_time_ns, mode="held")
    error = of(rows).error_ms
    assert error[50] == pytest.approx(-FRAME_NS / MS, abs=1e-3)
    assert error[51] == pytest.approx(FRAME_NS / MS, abs=1e-3)
    assert np.nanmax(np.abs(np.delete(error, [50, 51]))) < 1e-3


def test_slow_physics_is_measured_by_the_speed_it_really_has():
    # A step of 10 ms of simulated time takes 40 ms: due moves with it, r is 0.25.
    rows = []
    for i in range(120):
        present_ns = START_NS + i * FRAME_NS
        tick = (i * FRAME_NS) // (40 * MS) + 1
        rows.append(
            frame(
                i,
                present_ns,
                i * FRAME_NS // 4,
                newest_tick=tick,
                newest_sim_time_ns=tick * 10 * MS,
                newest_due_ns=START_NS + tick * 40 * MS,
            )
        )
    moved = of(rows)
    assert np.nanmax(np.abs(moved.rate - 0.25)) < 1e-6
    assert np.nanmax(np.abs(moved.error_ms)) < 1e-3


def paused_run():
    """Two seconds, a pause of one second, two seconds more."""
    rows, drawn_ns = [], 0
    for i in range(300):
        paused = 120 <= i < 180
        present_ns = START_NS + i * FRAME_NS
        drawn_ns += 0 if paused or i == 0 else FRAME_NS
        due_ns = present_ns + 20 * MS
        rows.append(
            frame(
                i,
                present_ns,
                drawn_ns,
                plan_rate=0.0 if paused else 1.0,
                plan_number=(i >= 120) + (i >= 180),
                newest_tick=(120 if paused else i) + 2,
                newest_sim_time_ns=drawn_ns + 20 * MS,
                newest_due_ns=START_NS + 120 * FRAME_NS if paused else due_ns,
            )
        )
    return rows


def test_a_pause_and_half_a_second_around_it_are_left_out_and_counted():
    moved = of(paused_run())
    measured = np.flatnonzero(np.isfinite(moved.error_ms))
    assert measured.min() == 1
    assert set(measured) & set(range(91, 210)) == set()
    assert {60, 80, 215, 290} <= set(measured)
    assert np.nanmax(np.abs(moved.error_ms)) < 1e-3
    assert moved.changes == 2
    assert moved.left_out == 299 - len(measured)


def test_a_picture_that_stands_through_a_pause_is_not_called_held():
    moved = of(paused_run())
    assert not moved.running[121:180].any()


def test_a_change_of_scale_is_left_out_and_each_side_has_its_own_speed():
    rows = []
    for i in range(240):
        slow = i >= 120
        present_ns = START_NS + i * FRAME_NS
        drawn_ns = i * FRAME_NS if not slow else 120 * FRAME_NS + (i - 120) * FRAME_NS // 4
        rows.append(
            frame(
                i,
                present_ns,
                drawn_ns,
                plan_rate=0.25 if slow else 1.0,
                newest_tick=i,
                newest_sim_time_ns=drawn_ns,
                newest_due_ns=present_ns,
            )
        )
    moved = of(rows)
    assert np.isnan(moved.error_ms[115:145]).all()
    assert moved.rate[60] == pytest.approx(1.0)
    assert moved.rate[200] == pytest.approx(0.25)
    assert np.nanmax(np.abs(moved.error_ms)) < 1e-3


def test_snapshots_still_stamped_by_the_plan_before_do_not_bend_the_speed_after_a_change():
    # Slow motion from frame 120 on; for 50 ms more, the newest snapshots carry instants of full speed.
    rows = []
    for i in range(240):
        present_ns = START_NS + i * FRAME_NS
        drawn_ns = i * FRAME_NS if i < 120 else 120 * FRAME_NS + (i - 120) * FRAME_NS // 4
        stale_ns = 40 * MS if 120 <= i < 123 else 0
        scale = 1.0 if i < 120 else 0.25
        newest = {"newest_tick": i, "newest_sim_time_ns": drawn_ns + stale_ns, "newest_due_ns": present_ns + stale_ns}
        rows.append(frame(i, present_ns, drawn_ns, plan_rate=scale, **newest))
    assert worst(rows) < 1e-3


def test_going_back_is_a_reversal_but_for_a_reset():
    rows = even(60)
    back = rows[:30] + [row._replace(draw_time_ns=row.draw_time_ns - 100 * MS) for row in rows[30:]]
    assert np.flatnonzero(of(back).reversed).tolist() == [30]
    reset = back[:30] + [row._replace(world_epoch=1) for row in back[30:]]
    assert not of(reset).reversed.any()


def test_frames_that_drew_nothing_are_no_motion():
    rows = even(30)
    rows[:10] = [row._replace(mode="none", draw_time_ns=0) for row in rows[:10]]
    moved = of(rows)
    assert not moved.running[:11].any()
    assert moved.running[11:].all()


def test_too_little_simulated_time_gives_no_error_rather_than_a_guess():
    assert np.isnan(of(even(10)).error_ms).all()
    assert np.isnan(of(even(1)).error_ms).all()
    assert len(of([]).error_ms) == 0
