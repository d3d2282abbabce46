"""The pacer, in virtual time: what each load does to the interval, and whether presents stay even."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.virtual_display import (
    LOOP_NS,
    MS,
    BlockingDisplay,
    FreeDisplay,
    between,
    fps,
    play,
    presents_ms,
)
from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FrameTimes
from twixt.render.pacing.refresh import UNKNOWN

SIXTY_HZ = 1000 * MS / 60


def free_pacer(fps_wanted: float | None = None) -> Pacer:
    return Pacer("auto", fps_wanted, FreeDisplay.refresh)


def at_16_ms() -> Pacer:
    """16 ms where nothing blocks, as in the source articles."""
    return free_pacer(62.5)


# ---- where swap does not block


def test_an_unknown_refresh_starts_at_60_hz() -> None:
    assert Pacer("auto", None, UNKNOWN).interval_ns == round(1e9 / 60)


def test_presents_are_evenly_spaced_though_the_work_varies() -> None:
    chance = random.Random(1)
    shown = play(free_pacer(), FreeDisplay(), lambda t: chance.choice((2, 3, 4, 3.5)), 5)
    assert max(presents_ms(shown[5:])) == pytest.approx(16.667, abs=0.001)
    assert min(presents_ms(shown[5:])) == pytest.approx(16.667, abs=0.001)


def test_deadlines_do_not_drift() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 3, 10)
    first, last = shown[5].result.present_ns, shown[-1].result.present_ns
    assert (last - first) / (len(shown) - 6) == pytest.approx(1e9 / 60, rel=1e-6)


def test_the_predicted_present_is_when_the_frame_is_seen() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 3, 3)
    assert all(abs(frame.plan.present_ns - frame.result.present_ns) < 0.05 * MS for frame in shown[5:])


def test_frames_latch_as_late_as_their_work_allows() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 3, 3)
    latest = shown[-1]
    waited_ms = (latest.times.swap_begin_ns - latest.times.work_end_ns) / MS
    assert 0.5 <= waited_ms <= 2, "drawn shortly before the deadline, not at the start of the interval"


def test_one_20_ms_frame_on_a_16_ms_interval_is_drawn_late_and_the_next_stands_on_the_grid_again() -> None:
    shown = play(at_16_ms(), FreeDisplay(), lambda t: 20 if 1 < t < 1.01 else 3, 2)
    heavy = next(i for i, frame in enumerate(shown) if frame.times.work_end_ns - frame.times.start_ns == 20 * MS)
    late, after = shown[heavy], shown[heavy + 1]
    assert late.interval_ns == 16 * MS
    assert "ms late" in late.result.reason
    assert late.result.present_ns > late.result.deadline_ns
    assert (after.result.deadline_ns - late.result.deadline_ns) % (16 * MS) == 0, "the same grid"
    assert after.result.present_ns == after.result.deadline_ns
    assert {frame.interval_ns for frame in shown} == {16 * MS}


def test_a_load_that_ended_is_forgotten_within_3_s_and_not_at_once() -> None:
    shown = play(at_16_ms(), FreeDisplay(), lambda t: 20 if 1 < t < 2 else 3, 5)
    wide = [frame for frame in between(shown, 2, 5) if frame.interval_ns > 16 * MS]
    assert len(wide) >= 8, "only after a window of light frames"
    assert between(shown, 4, 5)[0].interval_ns == 16 * MS
    assert fps(between(shown, 4, 5)) == pytest.approx(62.5, rel=1e-4)


@pytest.mark.parametrize(("seconds_each", "most"), [(0.0, 1), (0.05, 2), (0.5, 5), (2.0, 8), (7.0, 6)])
def test_a_load_that_flips_between_15_and_17_ms_does_not_make_the_interval_oscillate(
    seconds_each: float, most: int
) -> None:
    """A second of 15 ms fits the shortest interval, and is given it; half a second is tried once, and again after ten calm seconds."""
    flips = {"frame": 0}

    def load(t: float) -> float:
        flips["frame"] += 1
        turn = int(t / seconds_each) if seconds_each else flips["frame"]
        return 17 if turn % 2 else 15

    shown = play(at_16_ms(), FreeDisplay(), load, 20)
    changes = sum(a.interval_ns != b.interval_ns for a, b in pairwise(shown))
    assert changes <= most
    assert 16 * MS <= shown[-1].interval_ns <= 18.5 * MS


@pytest.mark.parametrize(("work_ms", "least_fps", "most_fps"), [(22, 44.0, 45.5), (50, 19.6, 20.0)])
def test_steady_work_beyond_the_display_settles_at_the_rate_it_allows(
    work_ms: float, least_fps: float, most_fps: float
) -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: work_ms, 10)
    settled = between(shown, 2, 10)
    assert least_fps <= fps(settled) <= most_fps
    assert not any(frame.result.missed_refreshes for frame in settled)
    assert len({frame.interval_ns for frame in settled}) == 1


def test_noise_on_steady_heavy_work_changes_the_interval_seldom() -> None:
    chance = random.Random(2)
    shown = play(free_pacer(), FreeDisplay(), lambda t: 22 + chance.random(), 20)
    settled = between(shown, 2, 20)
    assert fps(settled) >= 42.5
    assert sum(a.interval_ns != b.interval_ns for a, b in pairwise(settled)) <= 3


def test_a_heavy_first_frame_does_not_leave_the_interval_wide() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 100 if t < 0.05 else 3, 2)
    assert all(frame.interval_ns == round(1e9 / 60) for frame in shown)


@pytest.mark.parametrize("light_ms", [3, 10, 14])
def test_work_of_20_ms_for_3_s_widens_within_5_frames_stays_and_is_forgotten_within_3_s(light_ms: float) -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 20 if 2 <= t < 5 else light_ms, 9)
    heavy = [frame for frame in shown if frame.times.work_end_ns - frame.times.start_ns == 20 * MS]
    assert all(frame.interval_ns >= 20 * MS for frame in heavy[4:])
    assert fps(between(shown, 8, 9)) == pytest.approx(60, rel=1e-3)
    assert sum(frame.result.missed_refreshes for frame in shown) <= 4


def test_one_slow_frame_costs_a_20_s_run_under_1_percent_of_its_frames() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 25 if 7 < t < 7.017 else 3, 20)
    assert fps(shown) == pytest.approx(60, rel=0.01)


@pytest.mark.parametrize(("spike_ms", "least_fps"), [(20, 59), (25, 57.5), (56, 55)])
def test_spikes_do_not_change_the_interval(spike_ms: float, least_fps: float) -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: spike_ms if t % 0.5 < 0.017 else 10, 20)
    assert {frame.interval_ns for frame in shown} == {round(1e9 / 60)}
    assert fps(shown) >= least_fps


def test_loads_that_come_back_make_it_narrow_less_often() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 25 if t % 1.5 < 0.5 else 3, 30)
    early = sum(a.interval_ns != b.interval_ns for a, b in pairwise(between(shown, 0, 6)))
    late = sum(a.interval_ns != b.interval_ns for a, b in pairwise(between(shown, 20, 26)))
    assert late < early


def test_after_a_stall_frames_go_on_evenly_without_a_burst() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 300 if 1 < t < 1.017 else 3, 2.2)
    stall = next(i for i, frame in enumerate(shown) if frame.times.work_end_ns - frame.times.start_ns == 300 * MS)
    assert shown[stall + 1].times.start_ns - shown[stall].times.swap_end_ns >= LOOP_NS
    assert min(presents_ms(shown[stall + 1 :])) >= 16.6, "one frame goes back to the grid, no burst"
    assert max(presents_ms(shown[stall:])) <= 17, "one stall is no load: the interval stays"
    assert "late" in shown[stall].result.reason


def test_no_frame_of_a_load_many_intervals_long_waits_for_a_second_one_after_its_work() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 300, 6)
    assert max(presents_ms(shown[1:])) <= 300 * 1.2 + 1


def test_work_that_stays_many_intervals_long_is_a_load_all_the_same() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 150 if t > 1 else 3, 6)
    assert fps(between(shown, 4, 6)) == pytest.approx(6.6, rel=0.03)


@pytest.mark.parametrize("display", [FreeDisplay(), BlockingDisplay(SIXTY_HZ)], ids=["timer", "vsync"])
@pytest.mark.parametrize("work_ms", [40, 500, 7000])
def test_a_frame_that_cannot_make_its_deadline_starts_at_once(
    display: FreeDisplay | BlockingDisplay, work_ms: float
) -> None:
    shown = play(Pacer("auto", None, display.refresh), display, lambda t: work_ms, 12 * work_ms / 1000)
    waited_ms = [(b.plan.start_ns - a.times.swap_end_ns) / MS for a, b in pairwise(shown)]
    at_once = [waited for waited, frame in zip(waited_ms, shown[1:], strict=True) if "at once" in frame.result.reason]
    assert at_once
    assert max(at_once) < 1000 / 60 + 1, "at most until the refresh that it can make"
    assert max(waited_ms) < max(20, 0.25 * work_ms), "an interval is 1.2 times the work"


def test_a_frame_slightly_late_keeps_the_grid() -> None:
    shown = play(free_pacer(), FreeDisplay(), lambda t: 6 if 1 < t < 1.01 else 3, 2)
    ends = [frame.times.swap_end_ns for frame in shown]
    assert (ends[-1] - ends[5]) / (len(ends) - 6) == pytest.approx(1e9 / 60, rel=1e-5)


def test_frames_that_miss_for_other_reasons_do_not_widen() -> None:
    """Woken late (as when physics takes the cores), with little work of their own."""
    pacer = free_pacer()
    chance = random.Random(3)

    class HeldUp(FreeDisplay):
        def swap_end_ns(self, begin_ns: int) -> int:
            return super().swap_end_ns(begin_ns) + (5 * MS if chance.random() < 0.3 else 0)

    play(pacer, HeldUp(), lambda t: 3, 5)
    assert pacer.widened == 0


def test_fps_caps_the_rate() -> None:
    assert fps(play(free_pacer(30), FreeDisplay(), lambda t: 3, 3)) == pytest.approx(30, rel=1e-3)


def test_unlimited_frames_are_drawn_for_when_they_are_seen_however_short_they_are() -> None:
    pacer, now_ns = Pacer("unlimited"), 0
    for _ in range(2000):
        planned = pacer.next_frame(now_ns)
        drawn_ns = now_ns + 300_000
        pacer.drawn(now_ns, drawn_ns)
        pacer.frame_done(FrameTimes(now_ns, now_ns, drawn_ns, drawn_ns, drawn_ns + 100_000))
        now_ns = drawn_ns + 150_000
    assert abs(planned.present_ns - (drawn_ns + 100_000)) < 100_000


def test_unlimited_waits_for_nothing() -> None:
    pacer = Pacer("unlimited", None, BlockingDisplay(SIXTY_HZ).refresh)
    shown = play(pacer, FreeDisplay(), lambda t: 1, 1)
    assert not pacer.wants_vsync
    assert all(frame.times.swap_begin_ns == frame.times.work_end_ns for frame in shown)
    assert all(frame.times.start_ns == frame.plan.start_ns for frame in shown)


# ---- where swap blocks


def test_a_blocking_display_is_its_own_grid() -> None:
    display = BlockingDisplay(SIXTY_HZ, late_ns=lambda k: 100_000 + k * 37 % 200_000)
    pacer = Pacer("auto", None, display.refresh)
    shown = play(pacer, display, lambda t: 3, 5)
    assert pacer.wants_vsync
    assert sum(frame.result.missed_refreshes for frame in shown) == 0
    assert max(presents_ms(shown[3:])) < 17
    assert all(abs(frame.plan.present_ns - frame.result.present_ns) < 0.3 * MS for frame in shown[30:])


@pytest.mark.parametrize("hz", [50, 59.94, 75, 90, 144, 240])
def test_the_refresh_is_measured_within_1_percent_in_a_second(hz: float) -> None:
    chance = random.Random(4)
    display = BlockingDisplay(1e9 / hz, late_ns=lambda k: chance.randrange(300_000), guess=1.03)
    pacer = Pacer("auto", None, display.refresh)
    play(pacer, display, lambda t: 1, 1)
    assert pacer.refresh_measured_hz == pytest.approx(hz, rel=0.01)


def test_the_swap_still_blocks_a_little() -> None:
    display = BlockingDisplay(SIXTY_HZ)
    shown = play(Pacer("auto", None, display.refresh), display, lambda t: 3, 3)
    waits = [(frame.times.swap_end_ns - frame.times.swap_begin_ns) / MS for frame in shown[5:]]
    assert min(waits) >= 1.5
    assert sum(wait > 4 for wait in waits) <= 2, "but started late all the same, except one frame every two seconds"


def test_waiting_in_a_blocked_swap_is_no_work() -> None:
    display = BlockingDisplay(SIXTY_HZ)
    pacer = Pacer("auto", None, display.refresh)
    play(pacer, display, lambda t: 14, 5)
    assert pacer.widened == 0


def test_widening_takes_whole_refreshes() -> None:
    display = BlockingDisplay(SIXTY_HZ)
    pacer = Pacer("auto", None, display.refresh)
    shown = play(pacer, display, lambda t: 20 if 2 <= t < 5 else 3, 9)
    heavy = [frame for frame in shown if frame.times.work_end_ns - frame.times.start_ns == 20 * MS]
    assert heavy[4].plan.planned_refreshes == 2
    assert fps(between(shown, 3, 5)) == pytest.approx(30, rel=1e-3)
    assert fps(between(shown, 8, 9)) == pytest.approx(60, rel=1e-3)


def test_15_and_17_ms_do_not_oscillate_at_60_hz() -> None:
    display = BlockingDisplay(SIXTY_HZ)
    pacer = Pacer("auto", None, display.refresh)
    play(pacer, display, lambda t: 15 if int(t / 0.7) % 2 else 17, 20)
    assert pacer.widened + pacer.narrowed <= 5, "back once, and once more after ten calm seconds"


def test_fps_30_on_60_hz_is_every_second_refresh() -> None:
    display = BlockingDisplay(SIXTY_HZ, guess=1.02)
    shown = play(Pacer("auto", 30, display.refresh), display, lambda t: 3, 3)
    assert {frame.plan.planned_refreshes for frame in shown} == {2}
    assert fps(shown[3:]) == pytest.approx(30, rel=1e-3)


def test_a_display_that_changes_its_rate_is_followed() -> None:
    pacer = Pacer("auto", None, BlockingDisplay(SIXTY_HZ).refresh)
    play(pacer, BlockingDisplay(SIXTY_HZ), lambda t: 2, 2)
    pacer.restart("moved to another display")
    slower = BlockingDisplay(1e9 / 30)
    shown = play(pacer, slower, lambda t: 2, 3)
    assert pacer.refresh_measured_hz == pytest.approx(30, rel=0.01)
    assert sum(frame.result.missed_refreshes for frame in shown[-10:]) == 0


@pytest.mark.parametrize(("fps_wanted", "refreshes"), [(None, 1), (30, 2)])
def test_frames_take_as_many_refreshes_after_start_up_as_before_it_however_long_those_prove_to_be(
    fps_wanted: float | None, refreshes: int
) -> None:
    display = BlockingDisplay(SIXTY_HZ, guess=1.06)
    pacer = Pacer("auto", fps_wanted, display.refresh)
    play(pacer, display, lambda t: 3, 2)
    pacer.forget_work("start-up is over")
    shown = play(pacer, display, lambda t: 3, 1)
    assert {frame.plan.planned_refreshes for frame in shown} == {refreshes}


def test_misses_make_frames_start_earlier() -> None:
    chance = random.Random(5)
    display = BlockingDisplay(SIXTY_HZ)
    pacer = Pacer("auto", None, display.refresh)
    shown = play(pacer, display, lambda t: 9 if chance.random() < 0.03 else 3, 60)
    early = sum(frame.result.missed_refreshes for frame in between(shown, 0, 5))
    late = sum(frame.result.missed_refreshes for frame in between(shown, 50, 60))
    assert early >= 1
    assert late <= early
    assert sum(frame.result.missed_refreshes for frame in shown) <= 0.01 * len(shown)


def test_vsync_asked_for_where_swap_does_not_block_says_so() -> None:
    pacer = Pacer("vsync", None, FreeDisplay.refresh)
    assert "swap does not wait" in play(pacer, FreeDisplay(), lambda t: 3, 0.05)[0].result.reason


def test_timer_policy_leaves_a_blocking_display_alone() -> None:
    pacer = Pacer("timer", None, BlockingDisplay(SIXTY_HZ).refresh)
    assert not pacer.wants_vsync
    assert pacer.interval_ns == round(SIXTY_HZ)


# ---- always


@settings(max_examples=40, deadline=None)
@given(
    works=st.lists(st.floats(0.2, 60), min_size=5, max_size=40),
    hz=st.sampled_from([None, 60.0, 90.0, 144.0]),
    policy=st.sampled_from(["auto", "vsync", "timer", "unlimited"]),
)
def test_plans_never_go_back_whatever_the_load(works: list[float], hz: float | None, policy: str) -> None:
    display = BlockingDisplay(1e9 / hz) if hz else FreeDisplay()
    pacer = Pacer(policy, None, display.refresh)
    shown = play(pacer, display if pacer.blocks else FreeDisplay(), lambda t: works[int(t * 30) % len(works)], 3)
    for earlier, later in pairwise(shown):
        assert later.plan.start_ns >= earlier.times.swap_end_ns
        assert later.plan.present_ns >= later.plan.start_ns
        assert later.result.present_ns > earlier.result.present_ns
        if later.interval_ns != earlier.interval_ns and not pacer.blocks:
            assert later.result.reason
    assert pacer.interval_ns >= (1 / (hz or 60)) * 0.95e9


@settings(max_examples=25, deadline=None)
@given(work_ms=st.floats(0.5, 45), hz=st.sampled_from([None, 60.0, 90.0]))
def test_steady_work_never_makes_the_interval_oscillate(work_ms: float, hz: float | None) -> None:
    display = BlockingDisplay(1e9 / hz) if hz else FreeDisplay()
    pacer = Pacer("auto", None, display.refresh)
    shown = play(pacer, display, lambda t: work_ms, 8)
    settled = between(shown, 3, 8)
    assert pacer.widened + pacer.narrowed <= 4
    assert sum(frame.result.missed_refreshes for frame in settled) <= 0.01 * len(settled)


def test_what_start_up_cost_is_forgotten_when_it_is_over() -> None:
    pacer = Pacer("timer")
    now_ns = 0
    for _ in range(10):
        planned = pacer.next_frame(now_ns)
        start_ns = max(now_ns, planned.start_ns)
        now_ns = start_ns + 40_000_000
        pacer.drawn(start_ns, now_ns)
        pacer.frame_done(FrameTimes(start_ns, start_ns, now_ns, now_ns, now_ns + 1_000_000))
        now_ns += 1_000_000
    assert pacer.interval_ns > 40_000_000
    pacer.forget_work("start-up is over")
    assert pacer.interval_ns == round(1e9 / 60)
    assert "start-up is over" in pacer.next_frame(now_ns).reason
