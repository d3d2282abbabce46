"""The clock's promises, held for every mode and whatever comes in."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.clock.traces import MS, SECOND, START_NS, STEP_NS
from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.render.playback import MODES, PREFERENCES, PlaybackClock

FRAME_NS = SECOND // 60
T = START_NS


def fed(mode: str = "auto", steps: int = 120, rate: float = 1.0, interval_ns: int = STEP_NS) -> PlaybackClock:
    """A clock that has seen `steps` snapshots of simulated `interval_ns`, at `rate` from T on."""
    clock = PlaybackClock(mode)
    clock.replan(Plan(1, 0, T, 0, rate))
    for k in range(steps):
        due = T + round(k * interval_ns / rate)
        clock.observe(k * interval_ns, due, due - 2 * STEP_NS, plan_number=1)
    return clock


def run(clock: PlaybackClock, first_ns: int, frames: int) -> list[int]:
    return [clock.draw_time_ns(first_ns + k * FRAME_NS) for k in range(frames)]


def speeds(drawn: list[int]) -> list[float]:
    """Simulated per wall time, frame by frame."""
    return [(b - a) / FRAME_NS for a, b in pairwise(drawn)]


instants = st.integers(0, 400 * MS)
operations = st.one_of(
    st.tuples(st.just("observe"), instants, st.integers(-50 * MS, 400 * MS), st.integers(0, 2)),
    st.tuples(st.just("replan"), st.sampled_from([0.0, 0.01, 1.0, 100.0]), st.integers(-50 * MS, 400 * MS), instants),
    st.tuples(st.just("draw"), st.sampled_from([0, 7, 16, 17, 33, 400]).map(lambda ms: ms * MS), st.none(), st.none()),
    st.tuples(st.just("draw"), st.integers(-10 * MS, 50 * MS), st.none(), st.none()),
    st.tuples(st.just("select"), st.sampled_from(sorted(MODES)), st.none(), st.none()),
    st.tuples(st.just("prefer"), st.sampled_from(PREFERENCES), st.none(), st.none()),
    st.tuples(st.just("buffer"), st.sampled_from([None, 0.0, 80.0, 500.0]), st.none(), st.none()),
    st.tuples(st.just("reach"), st.sampled_from([0, 20 * MS, 250 * MS]), st.none(), st.none()),
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(MODES)), st.lists(operations, max_size=60), st.sampled_from([0, T, -T, 1 << 61, 1 << 62]))
def test_draw_time_never_runs_back_and_never_passes_the_newest_snapshot_and_its_reach(mode, steps, origin):
    clock = PlaybackClock(mode)
    present, epoch, newest, drawn, plans = origin, -1, 0, None, 0
    for verb, a, b, c in steps:
        if verb == "observe":
            clock.observe(a, origin + b, present, c)
            if c > epoch:
                epoch, newest, drawn = c, a, None
            elif c == epoch:
                newest = max(newest, a)
        elif verb == "replan":
            plans += 1
            clock.replan(Plan(plans, max(epoch, 0), origin + b, c, a))
        elif verb == "select":
            clock.select(a)
        elif verb == "prefer":
            clock.prefer = a
        elif verb == "buffer":
            clock.buffer_ms = a
        elif verb == "reach":
            clock.reach_ns = a
        else:
            present += a
            now = clock.draw_time_ns(present)
            if epoch >= 0:
                # A reach that is taken back leaves what is drawn where it is.
                assert now <= max(newest + clock.reach_ns, drawn if drawn is not None else newest)
                assert drawn is None or now >= drawn
                drawn = now
                assert abs(clock.due_ns(now)) < 1 << 63
            assert clock.state.reason


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(MODES)),
    st.sampled_from(PREFERENCES),
    st.sampled_from([0, 250 * MS]),
    st.lists(st.tuples(st.integers(1, 120), st.integers(-60, 300)), min_size=1, max_size=30),
    st.integers(0, 40),
    st.integers(-100, 100),
)
def test_a_pause_stands_still_whatever_came_before_and_whatever_comes_meanwhile(
    mode, prefer, reach, gaps, frames, pause_ms
):
    clock = PlaybackClock(mode, prefer)
    clock.reach_ns = reach
    clock.replan(Plan(1, 0, T, 0, 1.0))
    due, rows = 0, []
    for gap_ms, late_ms in gaps:
        due += gap_ms * MS
        rows.append((due, T + due, T + due + late_ms * MS))
    present, last = T, 0
    for _ in range(frames):
        for row in rows:
            if row[2] <= present:
                clock.observe(*row, plan_number=1)
        last = clock.draw_time_ns(present)
        present += FRAME_NS
    clock.replan(Plan(2, 0, present + pause_ms * MS, max(0, present - T), 0.0))
    held = []
    for _ in range(30):
        for row in rows:
            if row[2] <= present:
                clock.observe(*row, plan_number=1)
        held.append(clock.draw_time_ns(present))
        present += FRAME_NS
    if last:  # something was drawn before
        assert held == [last] * 30
    assert sorted(held) == held


@pytest.mark.parametrize("mode", sorted(MODES))
def test_first_frame_is_valid_with_one_snapshot_only(mode):
    clock = PlaybackClock(mode)
    clock.observe(7 * STEP_NS, T, T)
    assert clock.draw_time_ns(T + 3 * MS) == 7 * STEP_NS


@pytest.mark.parametrize("mode", sorted(MODES))
def test_clock_without_snapshots_answers_and_says_so(mode):
    clock = PlaybackClock(mode)
    assert clock.draw_time_ns(T) == 0
    assert clock.state.reason == "no snapshot yet"


@pytest.mark.parametrize("paused", [False, True])
def test_plan_that_points_back_does_not_run_the_picture_back(paused):
    clock = fed()
    last = run(clock, T + STEP_NS, 30)[-1]
    wall = T + STEP_NS + 30 * FRAME_NS
    clock.replan(Plan(2, 0, wall, last - 10 * STEP_NS, 0.0 if paused else 1.0))
    drawn = run(clock, wall, 30)
    assert drawn[0] >= last
    assert drawn == sorted(drawn)


def test_change_to_a_later_mode_waits_instead_of_running_back():
    clock = fed("ahead", steps=40, interval_ns=100 * MS)
    assert clock.draw_time_ns(T + 3_890 * MS) == 3_890 * MS
    clock.select("newest-two")  # would be between 3800 and 3900, since the newest arrived 28 ms ago: at 3828
    assert clock.draw_time_ns(T + 3_895 * MS) == 3_890 * MS
    assert clock.state.held


def test_single_step_beyond_what_has_come_waits_for_it():
    clock = fed(steps=20)
    run(clock, T + 10 * STEP_NS, 2)
    clock.replan(Plan(2, 0, T + 12 * STEP_NS, 12 * STEP_NS, 0.0))
    clock.replan(Plan(3, 0, T + 12 * STEP_NS, 25 * STEP_NS, 0.0))
    assert max(run(clock, T + 12 * STEP_NS, 60)) == 19 * STEP_NS
    for k in range(20, 26):
        clock.observe(k * STEP_NS, T + k * STEP_NS, T, plan_number=1)
    assert run(clock, T + 72 * STEP_NS, 60)[-1] == 25 * STEP_NS


def test_unknown_mode_is_refused_with_the_known_ones():
    with pytest.raises(TwixtError, match=r"auto, ahead, newest-two, buffered, got 'sideways'"):
        PlaybackClock("sideways")


def test_ahead_draws_what_falls_due_at_present():
    clock = fed("ahead")
    assert run(clock, T + 5 * MS, 3) == [5 * MS, 5 * MS + FRAME_NS, 5 * MS + 2 * FRAME_NS]
    assert clock.state.offset_ns == 0


def test_ahead_holds_at_the_newest_and_says_so():
    clock = fed("ahead", steps=3)
    drawn = run(clock, T + STEP_NS, 4)
    assert drawn[-1] == drawn[-2] == 2 * STEP_NS
    assert clock.state.held
    assert "holding" in clock.state.reason


def test_newest_two_draws_from_the_older_since_the_newer_arrived():
    clock = PlaybackClock("newest-two")
    clock.observe(0, T, T)
    clock.observe(100 * MS, T + 100 * MS, T + 100 * MS)
    assert clock.draw_time_ns(T + 130 * MS) == 30 * MS
    assert clock.draw_time_ns(T + 250 * MS) == 100 * MS


def test_duplicates_and_disorder_change_nothing():
    plain, disturbed = PlaybackClock(), PlaybackClock()
    order = [0, 1, 2, 4, 3, 3, 5, 7, 6, 8, 2, 0, 9, 9]
    for k in sorted(set(order)):
        plain.observe(k * STEP_NS, T + k * STEP_NS, T)
    for k in order:
        disturbed.observe(k * STEP_NS, T + k * STEP_NS, T)
    assert run(plain, T, 12) == run(disturbed, T, 12)


def test_lost_snapshot_leaves_the_motion_even():
    clock = PlaybackClock()
    for k in range(60):
        if k % 7:
            clock.observe(k * STEP_NS, T + k * STEP_NS, T + k * STEP_NS - 3 * STEP_NS)
    assert all(abs(speed - 1) < 1e-6 for speed in speeds(run(clock, T + 2 * STEP_NS, 50)))


@pytest.mark.parametrize("mode", sorted(MODES))
def test_new_world_epoch_is_one_clean_cut(mode):
    clock = fed(mode)
    before = run(clock, T + STEP_NS, 30)[-1]
    wall = T + 32 * FRAME_NS
    clock.replan(Plan(2, 1, wall, 0, 1.0))
    assert clock.draw_time_ns(wall) >= before, "nothing of the new world is there yet"
    for k in range(20):
        clock.observe(k * STEP_NS, wall + k * STEP_NS, wall, world_epoch=1, plan_number=2)
        clock.observe((k + 35) * STEP_NS, wall + k * STEP_NS, wall)  # a late one of the old world
    after = run(clock, wall + FRAME_NS, 20)
    assert after[0] < before
    assert after == sorted(after)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_pause_stops_in_the_next_frame(mode):
    clock = fed(mode)
    last = run(clock, T + STEP_NS, 30)[-1]
    wall = T + STEP_NS + 30 * FRAME_NS
    clock.replan(Plan(2, 0, wall, wall - T, 0.0))
    assert run(clock, wall, 20) == [last] * 20
    assert clock.state.mode == "paused"
    assert not clock.state.held


def late_clock(steps: int = 120, lateness_ns: int = 30 * MS) -> tuple[PlaybackClock, list[int], int]:
    """An auto clock playing some 47 ms behind, the frames it drew, and the present of the next one."""
    clock, drawn, k = PlaybackClock(), [], 0
    clock.replan(Plan(1, 0, T, 0, 1.0))
    present = T
    while k < steps:
        while k * STEP_NS + lateness_ns <= present - T and k < steps:
            clock.observe(k * STEP_NS, T + k * STEP_NS, T + k * STEP_NS + lateness_ns, plan_number=1)
            k += 1
        drawn.append(clock.draw_time_ns(present))
        present += FRAME_NS
    return clock, drawn, present


def test_pause_of_a_late_clock_stops_in_the_next_frame_and_resumes_without_a_jump():
    clock, drawn, present = late_clock()
    assert clock.state.offset_ns > 30 * MS
    sim_at_pause = present - T
    clock.replan(Plan(2, 0, present, sim_at_pause, 0.0))
    assert run(clock, present, 60) == [drawn[-1]] * 60
    resume = present + 60 * FRAME_NS
    clock.replan(Plan(3, 0, resume, sim_at_pause, 1.0))
    played = [drawn[-1]]
    for frame in range(60):
        k = 120 + frame
        clock.observe(k * STEP_NS, resume + k * STEP_NS - sim_at_pause, resume + frame * FRAME_NS, plan_number=3)
        played.append(clock.draw_time_ns(resume + frame * FRAME_NS))
    assert all(0.4 < speed < 1.6 for speed in speeds(played)), speeds(played)
    assert clock.state.offset_ns < 80 * MS, "the pause bought latency"


def test_single_step_plays_on_to_the_next_snapshot_and_rests_there():
    clock = fed()
    run(clock, T + STEP_NS, 30)
    wall = T + STEP_NS + 30 * FRAME_NS
    paused_at = wall - T
    clock.replan(Plan(2, 0, wall, paused_at, 0.0))
    start = run(clock, wall, 3)[-1]
    target = 34 * STEP_NS
    clock.replan(Plan(3, 0, wall + 3 * FRAME_NS, target, 0.0))
    played = [start, *run(clock, wall + 3 * FRAME_NS, 10)]
    assert played[-1] == target
    assert played[1] > start
    assert max(speeds(played)) <= 1.001


@pytest.mark.parametrize(
    ("old", "new"),
    [(1.0, 0.25), (0.25, 1.0), (0.05, 1.0), (1.0, 0.05), (1.0, 4.0), (4.0, 0.5), (0.01, 1.0), (1.0, 100.0)],
)
def test_change_of_scale_takes_effect_at_once_without_a_freeze_or_a_jump(old, new):
    """Ahead by a lead of 50 ms of wall time, as physics publishes; frames are chosen 15 ms before they are shown."""
    clock = PlaybackClock()
    scale, sim0, wall0, number, k = old, 0, T, 1, 0
    clock.replan(Plan(1, 0, T, 0, old))
    drawn = []
    for frame in range(240):
        now = T + frame * FRAME_NS
        if frame == 120:
            sim0, wall0, scale, number = sim0 + round((now - wall0) * scale), now, new, 2
            clock.replan(Plan(2, 0, now, sim0, new))
        lead = 50 * MS + round(STEP_NS / scale)
        while wall0 + (k * STEP_NS - sim0) / scale - lead <= now:
            clock.observe(k * STEP_NS, wall0 + round((k * STEP_NS - sim0) / scale), now, plan_number=number)
            k += 1
        drawn.append(clock.draw_time_ns(now + 15 * MS))
    relative = [speed / (old if i < 119 else new) for i, speed in enumerate(speeds(drawn))]
    assert all(0.45 < speed < 1.55 for speed in relative[5:]), (min(relative[5:]), max(relative[5:]))
    assert all(abs(speed - 1) < 0.01 for speed in relative[-30:])


def test_snapshots_of_an_older_plan_seen_after_the_new_one_count_as_the_new_one_says():
    clock = PlaybackClock("ahead")
    clock.replan(Plan(2, 0, T, 0, 0.5))
    clock.observe(0, T, T, plan_number=1)
    clock.observe(100 * MS, T + 100 * MS, T, plan_number=1)
    assert clock.draw_time_ns(T + 100 * MS) == 50 * MS


def test_snapshots_of_a_plan_that_comes_after_them_are_drawn_as_even_as_others():
    """Plans and snapshots may reach a viewer on two connections."""
    clock = fed(steps=53)
    run(clock, T + STEP_NS, 50)
    pause_ns, resume_ns = T + 52 * STEP_NS, T + 100 * STEP_NS
    clock.replan(Plan(2, 0, pause_ns, 52 * STEP_NS, 0.0))
    run(clock, pause_ns, 48)
    for k in range(53, 80):
        if k == 56:
            clock.replan(Plan(3, 0, resume_ns, 52 * STEP_NS, 1.0))
        clock.observe(k * STEP_NS, resume_ns + (k - 52) * STEP_NS, resume_ns, plan_number=3)
    assert speeds(run(clock, resume_ns, 20)) == pytest.approx([1.0] * 19, abs=0.05)


def test_single_step_pressed_while_running_plays_on_to_its_snapshot():
    clock = fed()
    last = run(clock, T + STEP_NS, 30)[-1]
    wall = T + STEP_NS + 30 * FRAME_NS
    clock.replan(Plan(3, 0, wall, 33 * STEP_NS, 0.0))
    played = run(clock, wall, 10)
    assert last < played[0] < played[-1] == 33 * STEP_NS


def test_a_plan_known_already_changes_nothing():
    clock = fed("ahead")
    run(clock, T, 5)
    clock.replan(Plan(1, 0, T + SECOND, 0, 0.0))
    assert clock.draw_time_ns(T + 10 * FRAME_NS) == 10 * FRAME_NS


def test_two_short_moves_with_a_rest_between_them_do_not_slide_over_the_rest():
    """A user's own loop that publishes only when something moves: the steps are short, the rest is long."""
    clock = PlaybackClock()
    publishes = [k * STEP_NS for k in range(30)] + [3 * SECOND + k * STEP_NS for k in range(30)]
    taken, rest = 0, []
    for frame in range(240):
        present = T + frame * FRAME_NS
        while taken < len(publishes) and T + publishes[taken] <= present:
            clock.observe(taken * STEP_NS, T + publishes[taken], T + publishes[taken])
            taken += 1
        drawn = clock.draw_time_ns(present)
        if SECOND < present - T < 3 * SECOND:
            rest.append(drawn)
        if taken < len(publishes):
            offset_ns = clock.state.offset_ns
    assert set(rest) == {29 * STEP_NS}
    assert drawn > 55 * STEP_NS, "the second move is played too"
    assert offset_ns < 60 * MS, "the rest bought latency"


def test_switching_the_mode_while_running_does_not_run_back():
    clock, drawn, present = late_clock()
    clock.select("ahead")
    jumped = clock.draw_time_ns(present)
    clock.select("auto")
    assert drawn[-1] <= jumped <= clock.draw_time_ns(present + FRAME_NS)


def test_auto_taken_up_again_remembers_how_far_behind_it_must_be():
    clock, drawn, present = late_clock(steps=300)
    offset_ns = clock.state.offset_ns
    clock.select("newest-two")
    clock.draw_time_ns(present - FRAME_NS)
    clock.select("auto")
    for frame in range(60):
        clock.observe((300 + frame) * STEP_NS, T + (300 + frame) * STEP_NS, present + frame * FRAME_NS)
        drawn.append(clock.draw_time_ns(present + frame * FRAME_NS))
    assert clock.state.offset_ns == pytest.approx(offset_ns, abs=5 * MS)
    assert drawn == sorted(drawn)


@pytest.mark.parametrize("frame_ms", [300, 700, 1100, 2500])
@pytest.mark.parametrize("unevenness", [0.0, 0.6])
def test_a_viewer_of_few_frames_a_second_falls_behind_by_less_than_three_of_them(frame_ms, unevenness):
    """It reads the newest of many snapshots in each; uneven steps are played at their mean rate."""
    clock, chance = PlaybackClock(), random.Random(4)
    due, rows = T, []
    for k in range(2000):
        rows.append((k * STEP_NS, due))
        due += round(2 * STEP_NS * (1 + unevenness * chance.uniform(-1, 1)))
    offsets, seen = [], 0
    for latched in range(T + SECOND, rows[-1][1], frame_ms * MS):
        while rows[seen][1] <= latched:
            seen += 1
        clock.observe(*rows[seen - 1], latched)
        clock.draw_time_ns(latched + frame_ms * MS)
        offsets.append(clock.state.offset_ns)
    assert max(offsets) < 3 * frame_ms * MS


def test_what_frames_of_a_start_needed_is_soon_forgotten_without_a_jump():
    clock, drawn, now = PlaybackClock(), [], T
    for passed_ns in [SECOND] * 5 + [FRAME_NS] * 240:
        newest = (now - T) // STEP_NS
        clock.observe(newest * STEP_NS, T + newest * STEP_NS, now)
        now += passed_ns
        drawn.append(clock.draw_time_ns(now))
        if len(drawn) == 5:
            assert clock.state.offset_ns > SECOND
            clock.begin_anew()
    assert clock.state.offset_ns < 3 * STEP_NS
    assert max(speeds(drawn[6:])) < 2


def test_missed_frames_are_made_up_for_at_once():
    clock = fed()
    run(clock, T, 10)
    assert clock.draw_time_ns(T + 30 * FRAME_NS) == pytest.approx(30 * FRAME_NS, abs=1000)


def test_ten_minutes_do_not_drift():
    clock = PlaybackClock()
    offsets = []
    for k in range(36_000):
        clock.observe(k * STEP_NS, T + k * STEP_NS, T + k * STEP_NS)
        clock.draw_time_ns(T + k * STEP_NS + 9 * MS)
        if k > 600:
            offsets.append(clock.state.offset_ns)
    assert max(offsets) - min(offsets) < 0.1 * MS


@pytest.mark.parametrize("paused_frames", [1, 10, 600])
def test_pause_and_resume_of_physics_ahead_neither_jump_nor_freeze(paused_frames):
    clock = fed(steps=40)
    drawn = run(clock, T + STEP_NS, 30)
    wall = T + STEP_NS + 29 * FRAME_NS + 4 * MS
    clock.replan(Plan(2, 0, wall, wall - T, 0.0))
    drawn += run(clock, T + STEP_NS + 30 * FRAME_NS, paused_frames)
    resume = wall + paused_frames * FRAME_NS
    clock.replan(Plan(3, 0, resume, wall - T, 1.0))
    for k in range(40, 120):
        clock.observe(k * STEP_NS, resume + k * STEP_NS - (wall - T), resume, plan_number=3)
    drawn += run(clock, T + STEP_NS + (30 + paused_frames) * FRAME_NS, 60)
    after = speeds(drawn)[29 + paused_frames :]
    assert all(0.9 < speed < 1.1 for speed in after), after


def test_paused_at_first_sight_draws_what_the_plan_holds():
    clock = PlaybackClock()
    clock.replan(Plan(4, 0, T, 50 * MS, 0.0))
    for k in range(8):
        clock.observe(k * STEP_NS, T + k * STEP_NS, T, plan_number=3)
    assert run(clock, T + SECOND, 3) == [50 * MS] * 3
