"""Schedules the steps of a world: when each step begins, and when its snapshot is due.

The world makes fixed steps of simulated time. A plan maps simulated time to wall time. A late step does not change the
due instants of the plan. After a late step, the next steps begin without waiting, until the delay (the debt) is made
up. In overload, steps cost more than the time available; the due instants then move later instead. Each step begins
before its due instant. The time between them is the lead: viewers need it to draw the state in time.

The `Stride` decides how many of the world's own steps are made at once. Usually this is one.

Always: within one world epoch and plan, due instants grow with simulated time. The debt is less than `MAX_DEBT_NS`,
and the lead is bounded. The module is pure: the caller passes instants of `time.perf_counter_ns`. This module does not
step the world, publish or wait; `process/turns.py` does.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from twixt.ipc.plan import Plan
from twixt.ipc.quantiles import QuantileWindow
from twixt.sim.schedule.step_multiple import FixedStride, Stride

# Largest debt, in ns. A larger debt is dropped, and a new plan starts at the current instant. If a larger debt were
# made up, the motion would speed up visibly.
MAX_DEBT_NS = 1_000_000_000
# Largest part of the lead that rare slow steps may cause, in ns. A long lead delays the effect of commands, because
# snapshots that are already published are shown first.
MAX_COST_LEAD_NS = 50_000_000
# Largest part of the lead that viewers may ask for, in ns. A long lead delays the effect of commands. The part of the
# lead for the publish interval has no limit: without this part there would be no later snapshot for interpolation.
MAX_VIEWERS_LEAD_NS = 200_000_000
# Reserve in ns that is added to each lead. Viewers do not report changes of their lead below 1 ms. If less than half a
# millisecond of the lead is unused, the clock of the viewers shows every state at a later instant.
LEAD_SLACK_NS = 2_000_000
# Number of published instants that are stored for single steps. No lead is so long that it contains more published
# instants.
KEPT_INSTANTS = 512
# Number of steps over which the 99th percentile of the step cost is computed (about two seconds at 60 Hz). This
# percentile rises only if two of the steps are slow.
COST_STEPS = 128
RARE_COST_SHARE = 0.99
# Smallest and largest time scale, in simulated seconds per wall second. Beyond these limits, instants would be too
# large for their type.
SLOWEST, FASTEST = 1e-3, 1e3
# The held rate is the rate that steps achieve. If it differs from the time scale by less than this share, the
# difference is only rounding.
RATE_ROUNDING = 1e-4


class Schedule:
    """Schedule of a world with fixed steps of `dt_s` seconds, under the current plan.

    - time_scale: simulated seconds per wall second, limited to SLOWEST..FASTEST.
    - lead_ns: fixed time in ns from publishing to the due instant; None for the lead that viewers need.
    - publish_period_ns: the shortest mean interval between two snapshots in ns (`--publish-hz`).
    - stride: object that chooses the step multiple; None for a multiple of 1.
    """

    def __init__(
        self,
        dt_s: float,
        time_scale: float,
        lead_ns: int | None,
        publish_period_ns: int,
        stride: Stride | None = None,
    ) -> None:
        self.time_scale = min(max(time_scale, SLOWEST), FASTEST)
        self.tick = 0  # Number of steps that were made.
        self.plan = Plan(1, 0, 0, 0, 0.0)
        self.due_ns = 0  # Instant at which the state after the last step is due.
        self.dt_s = float(dt_s)
        self.stride = stride or FixedStride()
        self._units = 0  # Number of the world's own steps that were made.
        self._made = 1  # Step multiple of the last step.
        self._fixed_lead_ns = lead_ns
        self._publish_period_ns = publish_period_ns
        # Maps simulated time to due instants. In overload this mapping changes, and `plan` stays.
        self._anchor = self.plan
        self._load, self._step_costs_ns, self._held = OverloadWindow(), QuantileWindow(COST_STEPS), HeldRate()
        self._published: deque[int] = deque(maxlen=KEPT_INSTANTS)

    # -- the world after its last step

    @property
    def dt_ns(self) -> int:
        """Simulated time of one of the world's own steps, in ns."""
        return round(self.dt_s * 1e9)

    @property
    def next_dt_s(self) -> float:
        """Simulated time of the next step, in seconds."""
        return self.dt_s * self.stride.multiple

    def next_time_s(self) -> float:
        """Simulated time after the next step, in seconds."""
        return self.sim_time_ns / 1e9 + self.next_dt_s

    @property
    def made_dt_ns(self) -> int:
        """Simulated time of the last step in ns. Before the first step this is `dt_ns`."""
        return round(self._made * self.dt_s * 1e9)

    @property
    def sim_time_ns(self) -> int:
        """Simulated time of the world, in ns. It is computed as a product, because a sum would accumulate rounding
        errors."""
        return self._sim_time_of(self._units)

    @property
    def before_sim_time_ns(self) -> int:
        """Simulated time of the world before the last step, in ns."""
        return self._sim_time_of(max(0, self._units - self._made))

    @property
    def is_paused(self) -> bool:
        """True if the plan's rate is 0."""
        return self.plan.rate == 0

    @property
    def is_overloaded(self) -> bool:
        """True if steps cost more than the time available, even with the largest step multiple."""
        return self._load.exceeds(self.stride.most * self._unit_ns)

    @property
    def rate(self) -> float:
        """Simulated seconds per wall second that the physics process achieves now."""
        if self.is_paused:
            return 0.0
        held = self._held.value(self.time_scale)
        # Due instants are rounded to whole nanoseconds. If the held rate is below the time scale only because of this
        # rounding, the time scale is returned.
        return held if held < self.time_scale * (1 - RATE_ROUNDING) else self.time_scale

    # -- instants of the next step and publish

    def lead_ns(self, viewers_lead_ns: int) -> int:
        """Lead in ns: the time from the start of the next step to its due instant. viewers_lead_ns: lead that viewers
        have reported."""
        worst_ns = min(self._step_costs_ns.quantile(RARE_COST_SHARE), MAX_COST_LEAD_NS)
        if self._fixed_lead_ns is not None:
            return self._fixed_lead_ns + worst_ns
        step_ns = round(self.stride.multiple * self._unit_ns)
        # If steps are shorter than the publish period, the first step after each period is published. So the interval
        # between two published steps is up to one step longer than the period.
        interval_ns = step_ns if step_ns >= self._publish_period_ns else step_ns + self._publish_period_ns
        return min(viewers_lead_ns, MAX_VIEWERS_LEAD_NS) + interval_ns + worst_ns + LEAD_SLACK_NS

    def start_ns(self, viewers_lead_ns: int) -> int | None:
        """The instant at which the next step should begin. None in a pause."""
        next_due_ns = self._anchor.due_ns(self._sim_time_of(self._units + self.stride.multiple))
        return None if next_due_ns is None else next_due_ns - self.lead_ns(viewers_lead_ns)

    def publish_from_ns(self, now_ns: int) -> int:
        """The earliest instant at which the last step may be published. This is `now_ns`; with a fixed lead it may be
        later."""
        if self._fixed_lead_ns is None or self.is_paused:
            return now_ns
        return max(now_ns, self.due_ns - self._fixed_lead_ns)

    # -- steps made

    def stepped(self, now_ns: int, busy_ns: int, reach_ns: int | None = None) -> int:
        """Counts the step that the world has just made, and sets `due_ns`. If the debt was so large that a new plan
        has dropped it, returns this debt in ns. Otherwise returns 0.

        busy_ns: time that the step took in the loop, including publishing. reach_ns: the same time, but counted from
        the instant at which the step should have begun; None if the loop did not wait for this instant. The lead is
        computed from reach_ns.
        """
        previous_due_ns = self.due_ns
        self.tick += 1
        self._made = self.stride.multiple
        self._units += self._made
        self.stride.stepped(busy_ns, self._unit_ns)
        self._load.add(busy_ns)
        self._step_costs_ns.add(busy_ns if reach_ns is None else reach_ns)
        if self.is_paused:
            self.due_ns = now_ns
            return 0
        given_up_ns = 0
        step_ns = round(self._made * self._unit_ns)
        planned_ns = self._anchor.due_ns(self.sim_time_ns)
        assert planned_ns is not None
        if self.is_overloaded:
            self.due_ns = max(previous_due_ns + step_ns, now_ns)
            self._anchor = self._anchor._replace(wall_ns=self.due_ns, sim_time_ns=self.sim_time_ns)
        elif now_ns - planned_ns >= MAX_DEBT_NS:
            given_up_ns = now_ns - planned_ns
            self._replan(now_ns, self.sim_time_ns, self.time_scale)
        else:
            self.due_ns = planned_ns
        self._held.add(self.sim_time_ns, self.due_ns)
        return given_up_ns

    def published(self) -> None:
        """Records that the last step was published."""
        self._published.append(self.sim_time_ns)

    # -- commands of users; each sets `plan`

    def start(self, now_ns: int) -> None:
        """Resumes simulated time at its current value. Does nothing if simulated time is not paused."""
        if self.is_paused:
            self._replan(now_ns, self.plan.sim_time_ns, self.time_scale)

    def pause(self, now_ns: int, draw_time_ns: int = 0) -> None:
        """Pauses simulated time at `draw_time_ns`, the simulated time that the user saw. If it is 0, that time is not
        known, and simulated time is paused at its current value.

        Steps that the world has already made beyond this time stay valid. They are drawn after `start`.
        """
        if not self.is_paused:
            self._replan(now_ns, self._held_at_ns(now_ns, draw_time_ns), 0.0)

    def next_step_target_ns(self, draw_time_ns: int = 0) -> int | None:
        """Simulated time to which a single step goes in a pause. This is the first published time after both the time
        of the pause and `draw_time_ns`. draw_time_ns: simulated time of the last frame that the user saw. Returns None
        if no such time was published. The world must then make a step first."""
        seen_ns = max(self.plan.sim_time_ns, draw_time_ns)
        return min((sim_ns for sim_ns in self._published if sim_ns > seen_ns), default=None)

    def hold_at(self, now_ns: int, sim_time_ns: int) -> None:
        """Pauses simulated time at `sim_time_ns`. Call it after a single step."""
        self._replan(now_ns, sim_time_ns, 0.0)

    def set_time_scale(self, now_ns: int, time_scale: float) -> None:
        """Sets the time scale, limited to SLOWEST..FASTEST. The new time scale applies from now on or, in a pause,
        from the next `start` on."""
        present_ns = self.present_ns(now_ns)
        self.time_scale = min(max(time_scale, SLOWEST), FASTEST)
        if not self.is_paused:
            self._replan(now_ns, present_ns, self.time_scale)

    def reset(self, now_ns: int) -> None:
        """Returns to tick 0, in a new world epoch. A schedule that is paused stays paused."""
        self.tick = self._units = 0
        self._made = 1
        self.stride.reset()
        self._published.clear()
        self.plan = self.plan._replace(world_epoch=self.plan.world_epoch + 1)
        self._replan(now_ns, 0, self.plan.rate)

    def present_ns(self, now_ns: int) -> int:
        """The simulated time that is due at the instant `now_ns`, but at most the time of the last step."""
        return min(self.sim_time_ns, self._anchor.sim_time_at_ns(now_ns))

    def _held_at_ns(self, now_ns: int, draw_time_ns: int) -> int:
        present_ns = self.present_ns(now_ns)
        if draw_time_ns <= 0:
            return present_ns
        # A viewer may send a draw time that is outdated. Such a time must not move simulated time back by more than
        # the largest debt.
        furthest_back_ns = round(MAX_DEBT_NS * self.time_scale)
        return min(max(draw_time_ns, present_ns - furthest_back_ns), self.sim_time_ns)

    def _replan(self, now_ns: int, sim_time_ns: int, rate: float) -> None:
        self.plan = Plan(self.plan.number + 1, self.plan.world_epoch, now_ns, sim_time_ns, rate)
        self._anchor = self.plan
        due_ns = self.plan.due_ns(self.sim_time_ns)
        self.due_ns = now_ns if due_ns is None else due_ns
        self._held.clear()

    @property
    def _unit_ns(self) -> float:
        """Wall time of one of the world's own steps, in ns."""
        return self.dt_s * 1e9 / self.time_scale

    def _sim_time_of(self, units: int) -> int:
        return round(units * self.dt_s * 1e9)


# Measures the costs of steps: busy time, overload, and the rate that steps achieve (the held rate).
#
# `StepTimes` computes busy times from instants. `OverloadWindow` and `HeldRate` compute figures from the latest steps.
# The code is pure: it reads no clock.


# Number of steps whose median cost decides whether there is an overload. If one step of eight is slow, there is no
# overload. If five steps of eight are slow, there is one.
OVERLOAD_STEPS = 8
# Number of steps over which the rate that steps achieve is measured. With more steps the rate would follow changes too
# slowly. With fewer steps it would be uneven.
RATE_STEPS = 8


class Busy(NamedTuple):
    """Busy time of a step, in ns. reach_ns: as in `StepTimes.stepped`."""

    busy_ns: int
    reach_ns: int | None


class StepTimes:
    """Busy time of each step, computed from the instants of steps, publishes and waits."""

    def __init__(self) -> None:
        self.cost_ns = 0  # Cost of the last step, in ns.
        self._end_ns: int | None = None
        self._waited_ns = 0  # Time that was spent waiting since the end of the last step, in ns.
        self._publish_delay_ns = 0  # Time from the end of a step until its snapshot became visible, in ns.
        self._waited_until_ns: int | None = None

    @property
    def is_busy(self) -> bool:
        """True if the loop has not waited since the last step."""
        return self._end_ns is not None and not self._waited_ns

    def stepped(self, begin_ns: int, end_ns: int) -> Busy:
        """Records a step. The busy time of the step is the time since the end of the last step, without waits. So the
        busy time includes publishing.

        `reach_ns` of the result is the time from the instant at which the step should have begun until its end, plus
        the last publishing delay. It is None if the loop did not wait for this instant.
        """
        self.cost_ns = end_ns - begin_ns
        busy_ns = self.cost_ns if self._end_ns is None else end_ns - self._end_ns - self._waited_ns
        until_ns = self._waited_until_ns
        reach_ns = None if until_ns is None else end_ns - until_ns + self._publish_delay_ns
        self._end_ns, self._waited_ns, self._waited_until_ns = end_ns, 0, None
        return Busy(busy_ns, reach_ns)

    def published(self, now_ns: int) -> None:
        """Records that the state after the last step became visible. Call it while `is_busy` is True."""
        assert self._end_ns is not None
        self._publish_delay_ns = now_ns - self._end_ns

    def waited(self, begin_ns: int, end_ns: int, until_ns: int) -> None:
        """Records a wait from `begin_ns` to `end_ns`. The wait should have ended at `until_ns`."""
        self._waited_ns += end_ns - begin_ns
        self._waited_until_ns = until_ns

    def restart(self) -> None:
        """Discards the last step. Call it after a reset of the world."""
        self._end_ns = None


class OverloadWindow:
    """Median of the costs of the latest steps. It is compared with the time available for a step."""

    def __init__(self) -> None:
        self._costs_ns: deque[int] = deque(maxlen=OVERLOAD_STEPS)

    def add(self, cost_ns: int) -> None:
        """Adds the cost of one step."""
        self._costs_ns.append(cost_ns)

    def exceeds(self, interval_ns: float) -> bool:
        """True if the median cost is longer than `interval_ns`. False before the first step."""
        ordered = sorted(self._costs_ns)
        if not ordered:
            return False
        middle = len(ordered) // 2
        return (ordered[middle] + ordered[~middle]) / 2 > interval_ns


class HeldRate:
    """Simulated time divided by wall time over the latest snapshots, computed from their due instants."""

    def __init__(self) -> None:
        self._instants: deque[tuple[int, int]] = deque(maxlen=RATE_STEPS + 1)

    def add(self, sim_time_ns: int, due_ns: int) -> None:
        """Adds a snapshot and its due instant."""
        self._instants.append((sim_time_ns, due_ns))

    def clear(self) -> None:
        """Removes all snapshots from the window. Call it after a new plan."""
        self._instants.clear()

    def value(self, otherwise: float) -> float:
        """The rate over the snapshots in the window. `otherwise` is returned if there are fewer than two snapshots, or
        if their due instants do not grow."""
        if len(self._instants) < 2:
            return otherwise
        (old_sim_ns, old_due_ns), (sim_ns, due_ns) = self._instants[0], self._instants[-1]
        return (sim_ns - old_sim_ns) / (due_ns - old_due_ns) if due_ns > old_due_ns else otherwise
