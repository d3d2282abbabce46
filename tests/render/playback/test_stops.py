"""Physics that stops and continues, scales that change, and playing on beyond the newest snapshot."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bench.clock.traces import MS, SECOND, START_NS
from tests.render.playback.driven import FRAME_NS, STEP_NS, Driven
from twixt.ipc.errors import TwixtError
from twixt.render.playback import MODES, PREFERENCES, PlaybackClock

CLOCKS = [("auto", prefer) for prefer in PREFERENCES] + [(mode, "latency") for mode in sorted(set(MODES) - {"auto"})]


def never_back(frames) -> bool:
    return all(b.draw_time_ns >= a.draw_time_ns for a, b in pairwise(frames))


@pytest.mark.parametrize("start_ns", [0, START_NS, 1 << 62])
@pytest.mark.parametrize("early", [True, False], ids=["ahead", "at due"])
@pytest.mark.parametrize(("mode", "prefer"), CLOCKS)
def test_physics_stopped_for_a_minute_is_held_and_goes_on_without_a_rush(mode, prefer, early, start_ns):
    clock = PlaybackClock(mode, prefer)
    driven = Driven(clock, early, start_ns=start_ns)
    driven.run(4)
    stopped = driven.run(60, stopped=True)
    assert stopped[60].draw_time_ns == stopped[-1].draw_time_ns
    assert clock.state.held
    driven.replan(1.0, from_newest=True)
    after = driven.run(4)
    assert never_back(driven.shown)
    assert max(driven.speeds(after)) <= 2.01
    assert sum(speed == 0 for speed in driven.speeds(after)) <= 3
    assert after[-1].draw_time_ns - stopped[-1].draw_time_ns > 3.8 * SECOND
    assert abs(clock.state.offset_ns) < 60 * MS, "the stop bought latency"


@pytest.mark.parametrize("unseen", [1, 3])
@pytest.mark.parametrize("seconds", [5, 300])
@pytest.mark.parametrize("early", [True, False], ids=["ahead", "at due"])
@pytest.mark.parametrize(("mode", "prefer"), CLOCKS)
def test_plan_after_a_stop_that_comes_before_the_step_it_starts_from_leaves_no_crawl(
    mode, prefer, early, seconds, unseen
):
    clock = PlaybackClock(mode, prefer)
    driven = Driven(clock, early)
    driven.run(4)
    driven.now_ns += (seconds - 1) * SECOND
    stopped = driven.run(1, stopped=True)
    driven.replan(1.0, from_newest=True, unseen=unseen)
    driven.lose(unseen - 1)
    after = driven.run(4)
    assert never_back(driven.shown)
    assert max(driven.speeds(after)) <= max(2.01, unseen), "more in a frame than a gap"
    assert after[-1].draw_time_ns - stopped[-1].draw_time_ns > 3.8 * SECOND
    assert abs(clock.state.offset_ns) < 100 * MS, "the stop bought latency"


@pytest.mark.parametrize(("mode", "prefer"), CLOCKS)
def test_machine_suspended_for_an_hour_goes_on_at_once(mode, prefer):
    clock = PlaybackClock(mode, prefer)
    driven = Driven(clock)
    before = driven.run(4)[-1].draw_time_ns
    driven.now_ns += 3600 * SECOND
    driven.replan(1.0, from_newest=True)
    after = driven.run(3)
    assert never_back(driven.shown)
    assert after[-1].draw_time_ns - before < 3.2 * SECOND
    assert all(0.5 <= speed <= 1.51 for speed in driven.speeds(after)[10:])


@pytest.mark.parametrize(("mode", "prefer"), CLOCKS)
@pytest.mark.parametrize(("old", "new"), [(0.05, 1.0), (1.0, 0.05), (0.01, 100.0), (100.0, 0.01), (4.0, 0.25)])
def test_any_change_of_scale_neither_freezes_nor_lasts(mode, prefer, old, new):
    clock = PlaybackClock(mode, prefer)
    driven = Driven(clock, scale=old)
    driven.run(6)
    driven.replan(new)
    after = driven.run(6)
    assert never_back(driven.shown)
    assert max(driven.speeds(after)) * new <= 1.6 * max(old, new), "faster than either scale"
    if mode == "auto":
        assert min(driven.speeds(after)) > 0.3
    if old < new:
        assert driven.speeds(after)[-1] == pytest.approx(1, abs=0.06)


def test_paused_while_the_scale_changes_goes_on_at_the_new_one():
    clock = PlaybackClock()
    driven = Driven(clock)
    driven.run(2)
    driven.replan(0.0)
    still = driven.run(1)
    assert len({frame.draw_time_ns for frame in still}) == 1
    driven.replan(0.25)
    assert all(0.9 < speed < 1.1 for speed in driven.speeds(driven.run(2)))


def silent(clock: PlaybackClock, seconds: float = 1.0) -> tuple[Driven, list]:
    """Two seconds of physics, then none for `seconds`."""
    driven = Driven(clock, early=False)
    driven.run(2)
    return driven, driven.run(seconds, stopped=True)


@pytest.mark.parametrize(("mode", "prefer"), [(mode, prefer) for mode, prefer in CLOCKS if mode != "newest-two"])
def test_with_a_reach_it_plays_on_at_the_rate_that_held_and_then_holds(mode, prefer):
    clock = PlaybackClock(mode, prefer)
    clock.reach_ns = 250 * MS
    driven, frames = silent(clock)
    newest = frames[-1].newest_ns
    assert frames[-1].draw_time_ns == pytest.approx(newest + 250 * MS, abs=MS)
    assert max(frame.draw_time_ns for frame in frames) <= newest + 250 * MS
    beyond = [frame for frame in frames if newest + 10 * MS < frame.draw_time_ns < newest + 180 * MS]
    assert all(speed == pytest.approx(1, abs=0.06) for speed in driven.speeds(beyond))
    assert clock.state.held
    assert clock.state.room_ns < 0


@pytest.mark.parametrize(("mode", "prefer"), CLOCKS)
def test_when_snapshots_come_again_a_clock_beyond_them_waits_and_never_steps_back(mode, prefer):
    clock = PlaybackClock(mode, prefer)
    clock.reach_ns = 250 * MS
    driven, frames = silent(clock, 0.2)
    was_beyond = frames[-1].draw_time_ns - frames[-1].newest_ns
    assert was_beyond > 0 or mode == "newest-two"
    after = driven.run(2)  # the due instants were kept: what was missed comes at once
    assert never_back(driven.shown)
    if mode == "auto":
        assert min(driven.speeds(after)) >= 0.5, "it was where it should be"
    assert after[-1].draw_time_ns <= after[-1].newest_ns


def test_short_silence_is_not_seen_with_a_reach():
    clock = PlaybackClock()
    clock.reach_ns = 250 * MS
    driven, silence = silent(clock, 0.15)
    frames = silence + driven.run(1)
    assert all(0.95 < speed < 1.05 for speed in driven.speeds(frames))


def test_reach_is_of_simulated_time_at_any_scale():
    clock = PlaybackClock()
    clock.reach_ns = 50 * MS
    driven = Driven(clock, scale=0.25)
    driven.run(3)
    frames = driven.run(2, stopped=True)
    assert frames[-1].draw_time_ns - frames[-1].newest_ns == pytest.approx(50 * MS, abs=MS // 10)
    assert driven.speeds(frames)[4] == pytest.approx(1, abs=0.06)


def test_single_step_does_not_reach_beyond_the_snapshot_it_waits_for():
    clock = PlaybackClock()
    clock.reach_ns = 250 * MS
    driven = Driven(clock)
    driven.run(1)
    driven.replan(0.0)
    driven.run(0.2)
    newest = driven.shown[-1].newest_ns
    plan = driven._plan._replace(number=driven._plan.number + 1, sim_time_ns=newest + 10 * STEP_NS)
    clock.replan(plan)
    drawn = [clock.draw_time_ns(driven.now_ns + k * FRAME_NS) for k in range(60)]
    assert max(drawn) == newest


@pytest.mark.parametrize("reach", [-1, 0.5, True, None])
def test_a_reach_that_makes_no_sense_is_refused(reach):
    with pytest.raises(TwixtError, match="reach_ns must be a whole number of ns >= 0"):
        PlaybackClock().reach_ns = reach


def test_an_unknown_preference_is_refused_with_the_known_ones():
    with pytest.raises(TwixtError, match="prefer must be one of latency, balanced, smooth, got 'fast'"):
        PlaybackClock(prefer="fast")
    clock = PlaybackClock(prefer="balanced")
    with pytest.raises(TwixtError):
        clock.prefer = ""
    assert clock.prefer == "balanced"


@pytest.mark.parametrize(("mode", "prefer"), CLOCKS)
def test_every_clock_explains_itself(mode, prefer):
    clock = PlaybackClock(mode, prefer)
    driven = Driven(clock, early=False)
    driven.run(1)
    assert clock.state.mode in ("ahead", "late") if mode == "auto" else clock.state.mode == mode
    assert clock.state.rate == pytest.approx(1, abs=0.1)
    assert 5 < len(clock.state.reason) < 90
    driven.run(1, stopped=True)
    assert clock.state.held
    driven.replan(0.0)
    driven.run(0.1)
    assert (clock.state.mode, clock.state.held) == ("paused", False)


def test_a_burst_of_thousands_is_played_and_not_jumped_over():
    """A user's own loop at 5000 a second that stalls for two thirds of a second."""
    clock, taken, drawn = PlaybackClock(), 0, []
    for frame in range(240):
        present = START_NS + frame * FRAME_NS
        until = present if not 120 <= frame < 160 else START_NS + 119 * FRAME_NS
        while START_NS + taken * MS // 5 <= until:
            clock.observe(taken * MS // 5, START_NS + taken * MS // 5, present)
            taken += 1
        drawn.append(clock.draw_time_ns(present))
    speeds = [(b - a) / FRAME_NS for a, b in pairwise(drawn[60:])]
    assert max(speeds) < 1.55
    assert sum(speed == 0 for speed in speeds) > 20, "it was held meanwhile"
