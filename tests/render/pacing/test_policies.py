"""The pacer on model displays, judged by the instants at which frames are really seen."""

from __future__ import annotations

import random

import pytest

from bench.pacing import cases, works
from bench.pacing.displays import Fenced, ReturnsAtOnce, steady
from bench.pacing.play import drive, figures, probed, twixt_pacer
from bench.pacing.play import play as laboratory_play
from tests.render.pacing.model_display import (
    MS,
    AtOnce,
    Blocking,
    Called,
    Display,
    Machine,
    Queue,
    Timer,
    Variable,
    Work,
    cost,
    fps,
    play,
    share_off,
    since,
)
from twixt.render.pacing import Pacer, Refresh
from twixt.render.pacing.pacer import FENCED_IN_A_ROW
from twixt.render.pacing.policy import FrameResult, FrameTimes
from twixt.render.pacing.refresh import FRAMES_UNTIL_AGAIN


def constant(ms: float) -> Work:
    return lambda _t, _frame: ms


def spiky(usual_ms: float, spike_ms: float, every: int, seed: int) -> Work:
    chance = random.Random(seed)
    return lambda _t, _frame: spike_ms if chance.random() < 1 / every else chance.gauss(usual_ms, 0.3)


def pacer_for(display: Display) -> Pacer:
    return Pacer("auto", None, display.refresh)


DISPLAYS = {
    "timer": Timer, "blocking": Blocking, "at once": AtOnce, "two": lambda: Queue(2, (0, 60)),
    "three": lambda: Queue(3, (0, 60)),
}  # fmt: skip


@pytest.mark.parametrize("name", DISPLAYS)
@pytest.mark.parametrize("work_ms", [3, 10, 14])
def test_constant_work_is_seen_evenly_on_every_kind_of_display(name: str, work_ms: float) -> None:
    display = DISPLAYS[name]()
    shown = since(play(pacer_for(display), display, constant(work_ms), 8, Machine(1)), 2)
    assert fps(shown) == pytest.approx(60, rel=0.003)
    assert share_off(shown) <= 0.005


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["at once", "two", "three"])
def test_spikes_cost_no_more_where_returns_are_no_presents_than_where_they_are(name: str, seed: int) -> None:
    plain = Blocking()
    limit = 1.15 * cost(since(play(pacer_for(plain), plain, spiky(10, 25, 30, seed), 12), 2)) + 3
    display = DISPLAYS[name]()
    shown = since(play(pacer_for(display), display, spiky(10, 25, 30, seed), 12), 2)
    assert cost(shown) <= limit


@pytest.mark.parametrize("seed", range(5))
def test_spikes_of_25_ms_in_one_of_30_leave_a_timer_57_5_frames(seed: int) -> None:
    shown = since(play(pacer_for(Timer()), Timer(), spiky(10, 25, 30, seed), 12, Machine(seed)), 1)
    assert fps(shown) >= 57.5


def test_where_swap_returns_at_once_no_return_is_a_present_and_the_pacer_says_so() -> None:
    display = AtOnce()
    pacer = pacer_for(display)
    shown = play(pacer, display, constant(10), 4)
    assert any("the display sets the pace" in frame.result.reason for frame in shown[:10])
    assert pacer.last_source == "timer"
    counted = [frame.result.present_ns - frame.times.swap_end_ns for frame in shown[120:]]
    assert min(counted) > 1 * MS, "seen after the return"


@pytest.mark.parametrize("display", [AtOnce(), Queue(3, (0, 60))], ids=["at once", "three"])
def test_a_fence_makes_it_plain_blocking(display: Display) -> None:
    pacer = pacer_for(display)
    shown = play(pacer, display, constant(10), 4, fence=True)
    assert pacer.last_source == "fence"
    assert max(abs(frame.seen_ns - frame.result.present_ns) for frame in since(shown, 1)) < MS
    latency_ms = [(frame.seen_ns - frame.times.start_ns) / MS for frame in since(shown, 1)]
    assert sorted(latency_ms)[len(latency_ms) // 2] < 16, "drawn shortly before it is seen, nothing is queued"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("display_name", ["blocking", "returns at once, fence"])
@pytest.mark.parametrize("gap_ns", [0, 120 * MS])
def test_a_slower_display_is_measured_by_swaps_that_hardly_wait(display_name: str, gap_ns: int, seed: int) -> None:
    shape = cases.SHAPES[display_name]._replace(hz=144)
    display = shape.changing(60, 2 * 10**9, gap_ns, seed)
    seen = laboratory_play(twixt_pacer, display, works.constant(15.2)(seed), 6, seed)
    after = [frame for frame in seen if frame.visible_ns > 3.5 * 10**9]
    assert len(after) > 0.97 * 2.5 * 60
    assert {frame.refreshes for frame in after} == {1}


def test_a_reported_refresh_of_another_length_is_no_load_of_several_refreshes() -> None:
    shape = cases.SHAPES["queue of two, reports"]._replace(hz=144)
    display = shape.changing(60, 2 * 10**9, 0, 1)
    seen = laboratory_play(twixt_pacer, display, works.constant(12)(1), 4, 1)
    after = [frame for frame in seen if frame.visible_ns > 2.3 * 10**9]
    assert {frame.refreshes for frame in after} == {1}
    assert len(after) > 0.97 * 1.7 * 60


@pytest.mark.parametrize("seed", [301, 302, 303])
def test_on_a_timer_frames_of_two_costs_that_fit_on_average_lose_few_pictures(seed: int) -> None:
    display = cases.SHAPES["timer"].made(seed)
    seen = laboratory_play(twixt_pacer, display, works.bimodal(9, 18, 0.4)(seed), 10, seed)
    assert figures(seen, display).lost_per_s < 2


def test_swaps_that_are_woken_late_on_a_timer_read_input_no_earlier() -> None:
    pacer, now_ns, leads_ms, chance = Pacer("timer", 60, Refresh(False, None, "free")), 0, [], random.Random(3)
    for _ in range(600):
        plan = pacer.next_frame(now_ns)
        end_ns = plan.start_ns + 4 * MS
        swap_ns = max(end_ns, pacer.drawn(plan.start_ns, end_ns) or 0) + (4 * MS if chance.random() < 0.02 else 0)
        pacer.frame_done(FrameTimes(plan.start_ns, plan.start_ns, end_ns, swap_ns, swap_ns + MS // 2))
        leads_ms.append((plan.present_ns - plan.start_ns) / MS)
        now_ns = swap_ns + MS
    assert max(leads_ms[100:]) < 7.5


@pytest.mark.parametrize(("hz", "then_hz"), [(60, 144), (60, 90), (60, 120), (60, 30), (144, 60), (90, 60)])
def test_a_display_that_changes_its_rate_without_a_word_is_followed_within_3_s(hz: float, then_hz: float) -> None:
    display = Blocking((0, hz), (5, then_hz))
    pacer = pacer_for(display)
    after = since(play(pacer, display, constant(4), 18, Machine(1)), 5)
    assert fps(since(after, 8)) >= 0.97 * then_hz
    assert share_off(after) <= 0.015
    assert share_off(since(after, 8)) <= 0.005
    assert pacer.refresh_measured_hz == pytest.approx(then_hz, rel=0.01)


def test_a_display_of_variable_rate_is_given_the_rate_that_the_work_allows() -> None:
    display = Variable((0, 144))
    shown = since(play(pacer_for(display), display, constant(14), 8, Machine(1)), 3)
    assert fps(shown) >= 66
    assert share_off(shown) <= 0.01


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("uneven_ms", [1, 2.5, 4])
def test_a_compositor_that_calls_unevenly_stays_the_display_that_it_is(uneven_ms: float, seed: int) -> None:
    def is_known(is_called: bool) -> bool:
        shown = play(pacer_for(display := Called(seed, uneven_ms, is_called=is_called)), display, constant(5), 8)
        return not any("from now on" in frame.plan.reason + frame.result.reason for frame in shown)

    assert is_known(is_called=True)
    assert uneven_ms != 4 or not is_known(is_called=False), "without that knowledge it looks like a busy machine"


def test_10_ms_at_90_hz_are_90_frames_where_the_display_takes_them_so_late() -> None:
    prompt, slow = Blocking((0, 90), guard_ns=400_000), Blocking((0, 90), guard_ns=3_000_000)
    assert fps(since(play(pacer_for(prompt), prompt, constant(10), 6), 2)) == pytest.approx(90, rel=0.002)
    shown = since(play(pacer_for(slow), slow, constant(10), 6), 2)
    assert fps(shown) == pytest.approx(45, rel=0.002)
    assert share_off(shown) <= 0.01


def test_a_frame_done_too_early_for_its_planned_refresh_is_held_back() -> None:
    display = Blocking()
    shown = play(Pacer("auto", 30, display.refresh), display, constant(3), 4)
    assert fps(since(shown, 1)) == pytest.approx(30, rel=1e-3)
    assert all(frame.seen_ns - frame.times.swap_begin_ns < 17 * MS for frame in since(shown, 3)), "not a refresh early"


def test_a_swap_that_waits_is_the_source_where_no_fence_serves() -> None:
    display = Blocking()
    pacer = pacer_for(display)
    play(pacer, display, constant(3), 1)
    assert pacer.last_source == "swap"


def test_a_bound_on_the_rate_holds_on_every_display_and_leaves_again() -> None:
    for display in (Timer(), Blocking()):
        pacer = pacer_for(display)
        play(pacer, display, constant(3), 1)
        pacer.at_most(20)
        bound = play(pacer, display, constant(3), 2, from_ns=10**9 + 10**8)
        assert fps(bound[5:]) == pytest.approx(20, rel=0.02)
        assert "at most 20 fps" in bound[0].result.reason
        pacer.at_most(None)
        assert fps(play(pacer, display, constant(3), 2, from_ns=4 * 10**9)[5:]) == pytest.approx(60, rel=0.01)


def test_a_timer_that_meets_a_display_that_blocks_changes_over() -> None:
    display = Blocking((0, 57.3))
    display.refresh = Refresh(False, 16_666_667, "taken for none")
    pacer = pacer_for(display)
    shown = play(pacer, display, constant(3), 20, Machine(1))
    assert pacer.blocks
    assert share_off(since(shown, 15)) <= 0.01


def test_the_worked_time_line() -> None:
    """16 ms frames; one is late and drawn late; the next is known to be late and planned for 1.2 of its usual work;
    the one after stands on the grid; a load of 20 ms widens; narrowed when it is over."""
    works_ms = [10.0] * 20 + [20.0] + [10.0] * 20 + [20.0] * 30 + [10.0] * 90
    display = Timer()
    pacer = Pacer("timer", 62.5, display.refresh)
    shown = play(pacer, display, lambda _t, frame: works_ms[min(frame, len(works_ms) - 1)], 2.9)
    usual, late, known, caught_up = shown[19:23]
    grid_ns = 16 * MS

    def on_grid(present_ns: int) -> bool:
        off_ns = (present_ns - usual.plan.present_ns) % grid_ns
        return min(off_ns, grid_ns - off_ns) < 1000

    assert on_grid(late.plan.present_ns), "nothing is known of it when it starts"
    assert "late" in late.result.reason
    assert "will be" in known.plan.reason
    planned_ns = known.plan.present_ns - known.plan.start_ns
    assert planned_ns == pytest.approx(1.2 * 10 * MS, abs=0.1 * MS)
    assert abs(known.seen_ns - known.plan.present_ns) < 0.1 * MS, "seen when it was drawn for"
    assert on_grid(caught_up.plan.present_ns)
    assert {frame.interval_ns for frame in shown[:41]} == {grid_ns}
    wide = [frame.interval_ns >= 20 * MS for frame in shown[41:71]]
    assert all(wide[4:])
    assert shown[-1].interval_ns == grid_ns
    assert any("narrowed to 16.0 ms" in frame.result.reason for frame in shown[71:])
    assert [(frame.plan.present_ns) // (5 * MS) for frame in shown] == sorted(
        frame.plan.present_ns // (5 * MS) for frame in shown
    ), "no frame draws an earlier physics step of 5 ms than the one before"


class _Hasty(ReturnsAtOnce):
    """Its fence is there long before the frame is seen."""

    def fence(self, at_ns: int) -> Fenced:
        return Fenced(at_ns + MS // 2, at_ns + MS // 2)


def test_a_fence_that_waits_for_nothing_is_not_believed_again_and_again() -> None:
    display = _Hasty(steady(60))
    seen = drive(twixt_pacer(display, probed(display)[0]), display, works.constant(12)(1), 10**9, 19 * 10**9)
    assert sum("from now on" in frame.reason for frame in seen) <= 12
    late = [frame for frame in seen if frame.visible_ns > 3 * 10**9]
    assert len(late) >= 0.97 * 16 * 60


def test_each_frames_present_is_known_by_what_the_pacer_believed_of_it() -> None:
    display = _Hasty(steady(60))
    pacer = twixt_pacer(display, probed(display)[0])
    sources: list[str] = []
    frame_done = pacer.frame_done

    def done(times: FrameTimes) -> FrameResult:
        result = frame_done(times)
        sources.append(pacer.last_source if times.presented_ns is not None else "")
        return result

    pacer.frame_done = done  # type: ignore[method-assign]
    seen = drive(pacer, display, works.constant(12)(1), 10**9, 12 * 10**9)
    keeps = [i for i, frame in enumerate(seen) if "the display sets the pace" in frame.reason]
    disproved = next(i for i in keeps if set(sources[i - FENCED_IN_A_ROW : i]) == {"fence"})
    after = [source for source in sources[disproved + 1 : disproved + FRAMES_UNTIL_AGAIN] if source]
    assert after
    assert "fence" not in after
    assert set(sources) <= {"fence", "swap", "timer", ""}
