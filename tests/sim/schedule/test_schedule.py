"""The schedule, with wall instants as small numbers."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.plan import Plan
from twixt.sim.schedule.schedule import LEAD_SLACK_NS, MAX_COST_LEAD_NS, MAX_DEBT_NS, MAX_VIEWERS_LEAD_NS, Schedule
from twixt.sim.schedule.step_multiple import ReplayedSteps, Widening

MS = 1_000_000
SLACK_MS = LEAD_SLACK_NS / MS
STEP_MS = 20  # of the schedules here, whose steps are 50 a second


class Made(NamedTuple):
    """One step: wall times in ms, simulated time in steps."""

    begun_ms: float
    done_ms: float
    due_ms: float
    rate: float
    given_up_ms: float


def running(
    dt_ms: float = STEP_MS, scale: float = 1.0, lead_ms: float | None = None, publish_hz: float = 1000
) -> Schedule:
    """A schedule whose plan begins at wall instant 0."""
    lead_ns = None if lead_ms is None else round(lead_ms * MS)
    schedule = Schedule(dt_ms / 1e3, scale, lead_ns, round(1e9 / publish_hz))
    schedule.start(0)
    return schedule


def drive(schedule: Schedule, costs_ms: list[float], now_ms: float = 0.0, viewers_lead_ms: float = 0.0) -> list[Made]:
    """Makes one step for each cost, at the instant by the schedule, waiting if it is in the future."""
    now_ns = round(now_ms * MS)
    made = []
    for cost_ms in costs_ms:
        start_ns = schedule.start_ns(round(viewers_lead_ms * MS))
        assert start_ns is not None
        waits = start_ns > now_ns
        begun_ns = max(now_ns, start_ns)
        now_ns = begun_ns + round(cost_ms * MS)
        given_up_ns = schedule.stepped(now_ns, now_ns - begun_ns, now_ns - start_ns if waits else None)
        schedule.published()
        made.append(Made(begun_ns / MS, now_ns / MS, schedule.due_ns / MS, schedule.rate, given_up_ns / MS))
    return made


def test_in_time_every_step_is_due_when_the_plan_says() -> None:
    schedule = running()
    made = drive(schedule, [1] * 100)
    assert [step.due_ms for step in made] == [STEP_MS * k for k in range(1, 101)]
    assert all(step.rate == 1.0 for step in made)
    assert schedule.plan == Plan(2, 0, 0, 0, 1.0)


def test_before_the_start_the_world_stands_at_its_beginning() -> None:
    schedule = Schedule(STEP_MS / 1e3, 1.0, None, MS)
    assert schedule.plan == Plan(1, 0, 0, 0, 0.0)
    assert (schedule.tick, schedule.due_ns, schedule.sim_time_ns, schedule.present_ns(5 * MS)) == (0, 0, 0, 0)
    schedule.start(0)
    drive(schedule, [1] * 3)
    assert schedule.tick == 3


def test_a_wait_that_ended_late_counts_in_the_lead() -> None:
    schedule = running()
    schedule.stepped(10 * MS, 2 * MS, reach_ns=9 * MS)
    assert schedule.lead_ns(0) == (STEP_MS + 9 + SLACK_MS) * MS


def test_steps_that_may_widen_keep_the_plan_under_a_load_that_one_of_the_worlds_own_would_not() -> None:
    schedule = Schedule(STEP_MS / 1e3, 1.0, None, MS, Widening(4))
    schedule.start(0)
    made = drive(schedule, [50] * 40)
    assert (schedule.stride.multiple, schedule.next_dt_s) == (3, 3 * STEP_MS / 1e3)
    assert not schedule.is_overloaded
    assert made[-1].rate == 1.0
    assert made[-1].done_ms < made[-1].due_ms


def test_a_step_begins_one_interval_and_its_worst_cost_and_the_viewers_lead_before_it_is_due() -> None:
    made = drive(running(), [3] * 50, viewers_lead_ms=10)
    assert [step.due_ms - step.begun_ms for step in made[10:]] == [10 + STEP_MS + 3 + SLACK_MS] * 40
    # So a frame that shows 10 ms into the future always finds a snapshot that is due then, and the one before it.
    for older, newer in itertools.pairwise(made):
        assert older.due_ms >= newer.done_ms + 10


@given(st.integers(0, 10**10), st.lists(st.floats(0, 400), min_size=1, max_size=40), st.sampled_from([1.0, 0.1, 4.0]))
def test_the_lead_is_never_longer_than_its_bound(viewers_lead_ns: int, costs_ms: list[float], scale: float) -> None:
    schedule = running(scale=scale)
    drive(schedule, costs_ms)
    lead_ns = schedule.lead_ns(viewers_lead_ns)
    bounded_ns = MAX_COST_LEAD_NS + LEAD_SLACK_NS
    assert lead_ns <= min(viewers_lead_ns, MAX_VIEWERS_LEAD_NS) + STEP_MS * MS / scale + bounded_ns


def test_in_slow_motion_the_next_snapshot_is_there_before_the_one_before_it_is_due() -> None:
    made = drive(running(scale=0.01), [1] * 5, viewers_lead_ms=16)
    for older, newer in itertools.pairwise(made):
        assert newer.done_ms <= older.due_ms - 16


def test_where_steps_are_shorter_than_the_publishing_period_the_lead_covers_that_period() -> None:
    schedule = running(dt_ms=1, publish_hz=100)
    assert schedule.lead_ns(0) == (11 + SLACK_MS) * MS
    for publish_hz in (100, 50):
        assert running(dt_ms=20, publish_hz=publish_hz).lead_ns(0) == (20 + SLACK_MS) * MS


def test_with_lead_0_a_step_is_made_before_it_is_due_and_published_then() -> None:
    schedule = running(lead_ms=0)
    made = drive(schedule, [2] * 20, viewers_lead_ms=50)
    assert made[-1].begun_ms == made[-1].due_ms - 2
    assert schedule.publish_from_ns(round(made[-1].done_ms * MS)) == made[-1].due_ms * MS
    assert schedule.publish_from_ns(round(made[-1].due_ms * MS) + 5) == made[-1].due_ms * MS + 5


def test_with_a_fixed_lead_a_step_is_published_by_that_much_before_it_is_due() -> None:
    schedule = running(lead_ms=30)
    made = drive(schedule, [2] * 20, viewers_lead_ms=50)
    assert made[-1].begun_ms == made[-1].due_ms - 30 - 2
    assert schedule.publish_from_ns(0) == (made[-1].due_ms - 30) * MS
    schedule.pause(round(made[-1].begun_ms * MS))
    assert schedule.publish_from_ns(5) == 5


def test_ahead_a_step_may_be_published_at_once() -> None:
    schedule = running()
    made = drive(schedule, [2] * 5)
    assert schedule.publish_from_ns(round(made[-1].done_ms * MS)) == made[-1].done_ms * MS


def test_late_by_less_than_a_second_the_plan_is_kept_and_the_debt_made_good_without_waiting() -> None:
    schedule = running()
    made = drive(schedule, [1] * 20 + [600] + [1] * 60)
    assert [step.due_ms for step in made] == [STEP_MS * k for k in range(1, 82)]
    assert all(step.rate == 1.0 and step.given_up_ms == 0 for step in made)
    behind = [(now, then) for now, then in itertools.pairwise(made) if now.done_ms > now.due_ms]
    assert len(behind) > 20
    assert all(then.begun_ms == now.done_ms for now, then in behind)
    assert made[-1].done_ms < made[-1].due_ms


def test_late_by_more_than_a_second_the_plan_starts_anew_and_what_was_given_up_is_told() -> None:
    schedule = running()
    before = drive(schedule, [1] * 20)
    stalled, *after = drive(schedule, [1500] + [1] * 20, now_ms=before[-1].done_ms)
    assert stalled.given_up_ms == stalled.done_ms - 21 * STEP_MS
    assert stalled.due_ms == stalled.done_ms
    assert schedule.plan == Plan(3, 0, round(stalled.done_ms * MS), 21 * STEP_MS * MS, 1.0)
    assert [step.due_ms for step in after] == [stalled.due_ms + STEP_MS * k for k in range(1, 21)]
    assert sum(step.given_up_ms for step in after) == 0
    assert running().stepped(STEP_MS * MS + MAX_DEBT_NS, MS) == MAX_DEBT_NS


def test_overloaded_the_due_instants_move_with_the_work() -> None:
    made = drive(running(), [50] * 40)
    assert all(step.due_ms == step.done_ms for step in made)
    assert made[-1].rate == pytest.approx(STEP_MS / 50)
    assert sum(step.given_up_ms for step in made) == 0


def test_when_a_load_comes_and_goes_the_rate_falls_and_rises_again_and_no_debt_is_left() -> None:
    schedule = running()
    made = drive(schedule, [1] * 30 + [50] * 30 + [1] * 30)
    rates = [step.rate for step in made]
    assert rates[29] == rates[-1] == 1.0
    assert rates[58] == pytest.approx(STEP_MS / 50)
    rising = rates[60:]
    assert rising == sorted(rising)
    assert [b.due_ms - a.due_ms for a, b in zip(made[-20:], made[-19:], strict=False)] == [STEP_MS] * 19
    assert made[-1].begun_ms < made[-1].due_ms


def test_the_plan_of_viewers_does_not_change_while_time_dilates() -> None:
    schedule = running()
    plan = schedule.plan
    drive(schedule, [1] * 20 + [50] * 50 + [1] * 20)
    assert schedule.plan == plan


def test_slow_motion_makes_a_slow_world_fast_enough() -> None:
    schedule = running(scale=0.25)
    made = drive(schedule, [50] * 20)
    assert not schedule.is_overloaded
    assert [step.due_ms for step in made] == [4 * STEP_MS * k for k in range(1, 21)]
    assert made[-1].rate == 0.25


@given(
    st.lists(st.floats(0, 3000), min_size=1, max_size=60),
    st.sampled_from([1.0, 0.25, 3.0]),
    st.sampled_from([None, 0.0, 30.0]),
)
def test_whatever_steps_cost_dues_never_run_backwards_and_the_debt_never_exceeds_a_second(
    costs_ms: list[float], scale: float, lead_ms: float | None
) -> None:
    made = drive(running(scale=scale, lead_ms=lead_ms), costs_ms)
    for older, newer in itertools.pairwise(made):
        assert newer.due_ms > older.due_ms
    for step in made:
        assert step.done_ms - step.due_ms < MAX_DEBT_NS / MS
        assert 0 < step.rate <= scale


@given(st.lists(st.floats(0, 3000), min_size=1, max_size=60))
def test_lost_time_is_always_dilated_owed_or_given_up(costs_ms: list[float]) -> None:
    made = drive(running(), costs_ms)
    # However slow the steps were, the schedule is in time again after a bounded number of cheap steps.
    schedule = running()
    drive(schedule, costs_ms)
    after = drive(schedule, [0.1] * (1000 // STEP_MS + 10), now_ms=made[-1].done_ms)
    assert after[-1].done_ms < after[-1].due_ms


def test_simulated_time_does_not_drift_over_an_hour_of_60_hz() -> None:
    schedule = Schedule(1 / 60, 1.0, None, 1, ReplayedSteps([7, 53] * 3600))
    for _ in range(2 * 3600):
        schedule.stepped(0, 0)
    assert schedule.sim_time_ns == 3600 * 10**9


def test_pause_holds_what_the_user_saw_and_physics_stays_where_it_was() -> None:
    schedule = running()
    drive(schedule, [1] * 10)
    schedule.pause(150 * MS, draw_time_ns=157 * MS)
    assert schedule.plan == Plan(3, 0, 150 * MS, 157 * MS, 0.0)
    assert schedule.is_paused
    assert schedule.rate == 0.0
    assert schedule.start_ns(0) is None
    assert schedule.sim_time_ns == 200 * MS


def test_pause_without_a_draw_time_holds_the_present() -> None:
    schedule = running()
    drive(schedule, [1] * 10)
    schedule.pause(150 * MS)
    assert (schedule.plan.sim_time_ns, schedule.due_ns) == (150 * MS, 150 * MS)


@pytest.mark.parametrize("drawn_ms", [-5.0, 1e-6, 1e12])
def test_a_draw_time_that_cannot_be_never_throws_the_world_out_of_time(drawn_ms: float) -> None:
    schedule = running()
    drive(schedule, [1] * 100)
    schedule.pause(1990 * MS, draw_time_ns=round(drawn_ms * MS))
    assert 990 * MS <= schedule.plan.sim_time_ns <= 2000 * MS


def test_in_slow_motion_a_stale_draw_time_throws_the_world_back_by_less() -> None:
    schedule = running(scale=0.25)
    drive(schedule, [1] * 100)
    schedule.pause(4000 * MS, draw_time_ns=1)
    assert schedule.plan.sim_time_ns == (1000 - 250) * MS


def test_pausing_twice_and_starting_twice_change_nothing() -> None:
    schedule = running()
    plan = schedule.plan
    schedule.start(5)
    assert schedule.plan is plan
    schedule.pause(10)
    plan = schedule.plan
    schedule.pause(20, draw_time_ns=4)
    assert schedule.plan is plan


def test_after_a_pause_time_runs_on_from_what_was_held_and_what_was_ahead_stays_valid() -> None:
    schedule = running()
    drive(schedule, [1] * 10)
    schedule.pause(150 * MS, draw_time_ns=157 * MS)
    schedule.start(5000 * MS)
    assert schedule.plan == Plan(4, 0, 5000 * MS, 157 * MS, 1.0)
    assert schedule.due_ns == (5000 + 200 - 157) * MS
    made = drive(schedule, [1] * 5, now_ms=5000)
    assert [step.due_ms for step in made] == [5000 + 200 - 157 + STEP_MS * k for k in range(1, 6)]


def test_a_single_step_goes_to_the_next_published_snapshot_and_asks_for_a_new_one_beyond_the_newest() -> None:
    schedule = running()
    drive(schedule, [1] * 10)
    schedule.pause(150 * MS, draw_time_ns=157 * MS)
    assert schedule.next_step_target_ns() == 160 * MS
    schedule.hold_at(151 * MS, 160 * MS)
    assert schedule.plan == Plan(4, 0, 151 * MS, 160 * MS, 0.0)
    schedule.hold_at(152 * MS, 200 * MS)
    assert schedule.next_step_target_ns() is None
    assert schedule.stepped(153 * MS, MS) == 0
    assert (schedule.sim_time_ns, schedule.due_ns) == (220 * MS, 153 * MS)
    schedule.published()
    assert schedule.next_step_target_ns() == 220 * MS


def test_a_new_time_scale_holds_from_the_present_on() -> None:
    schedule = running()
    drive(schedule, [1] * 10)
    schedule.set_time_scale(150 * MS, 0.25)
    assert schedule.plan == Plan(3, 0, 150 * MS, 150 * MS, 0.25)
    assert schedule.due_ns == (150 + 4 * 50) * MS
    made = drive(schedule, [1] * 3, now_ms=150)
    assert [step.due_ms for step in made] == [350 + 4 * STEP_MS * k for k in (1, 2, 3)]


def test_a_new_time_scale_while_paused_waits_for_the_start() -> None:
    schedule = running()
    schedule.pause(0)
    plan = schedule.plan
    schedule.set_time_scale(10, 0.5)
    assert schedule.plan is plan
    schedule.start(100)
    assert schedule.plan.rate == 0.5


def test_a_time_scale_beyond_all_bounds_is_held_within_them() -> None:
    schedule = running()
    schedule.set_time_scale(0, 1e-300)
    assert schedule.time_scale == 1e-3
    schedule.set_time_scale(0, 1e300)
    assert schedule.time_scale == 1e3


@pytest.mark.parametrize("paused", [False, True])
def test_a_reset_begins_a_new_world_epoch_at_tick_0_and_stays_paused_if_it_was(paused: bool) -> None:
    schedule = running()
    drive(schedule, [1] * 10)
    if paused:
        schedule.pause(150 * MS)
    number = schedule.plan.number
    schedule.reset(170 * MS)
    assert schedule.plan == Plan(number + 1, 1, 170 * MS, 0, 0.0 if paused else 1.0)
    assert schedule.tick == schedule.sim_time_ns == 0
    assert schedule.next_step_target_ns() is None


def test_before_the_first_step_and_after_a_reset_a_step_is_the_worlds_own() -> None:
    schedule = Schedule(STEP_MS / 1e3, 1.0, None, MS, ReplayedSteps([3, 2]))
    assert (schedule.made_dt_ns, schedule.before_sim_time_ns) == (STEP_MS * MS, 0)
    schedule.start(0)
    drive(schedule, [1, 1])
    assert (schedule.made_dt_ns, schedule.before_sim_time_ns) == (2 * STEP_MS * MS, 3 * STEP_MS * MS)
    schedule.reset(100 * MS)
    assert (schedule.made_dt_ns, schedule.before_sim_time_ns) == (STEP_MS * MS, 0)
