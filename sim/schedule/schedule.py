"""Schedule of steps: when each step begins, and when its snapshot is due.

The world makes fixed steps of simulated time, and a plan maps simulated time to wall time. A late step does not change
the due instants of the plan. The following steps begin without waiting, until the delay (the debt) is made up. In
overload, when steps cost more than the time available, the due instants move later instead. Each step begins earlier
than its due instant by the lead: the time that viewers need to draw the present.

The `Stride` decides how many of the world's own steps are made at once, usually one.

Always: within one world epoch and plan, due instants grow with simulated time. The debt is less than `MAX_DEBT_NS`,
and the lead is bounded. Pure: instants of `time.perf_counter_ns` are passed in. `process/turns.py`, not this module,
steps the world, publishes and waits.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from twixt.ipc.plan import Plan
from twixt.ipc.quantiles import QuantileWindow
from twixt.sim.schedule.step_multiple import FixedStride, Stride

# Largest debt. A larger debt is dropped, and a new plan starts at the present. Making up a larger debt would visibly
# speed up the motion.
MAX_DEBT_NS = 1_000_000_000
# Limit of the lead for rare slow steps. A long lead delays the effect of commands, because snapshots that are already
# published are shown first.
MAX_COST_LEAD_NS = 50_000_000
# Limit of the lead for viewers, for the same reason. The lead for the publish interval has no limit: without this lead
# there would be no later snapshot for interpolation.
MAX_VIEWERS_LEAD_NS = 200_000_000
# Extra lead. Viewers do not report changes of their lead below 1 ms. If less than half a millisecond of lead is
# unused, the clock of the viewers draws later.
LEAD_SLACK_NS = 2_000_000
# Number of published instants stored for single steps. No lead contains more instants.
KEPT_INSTANTS = 512
# Window of the p99 step cost, in steps (about two seconds at 60 Hz). The p99 rises only if two steps in the window are
# slow.
COST_STEPS = 128
RARE_COST_SHARE = 0.99
# Limits of the time scale, simulated seconds per wall second. Beyond these limits, instants would be too large for
# their type.
SLOWEST, FASTEST = 1e-3, 1e3
# If the held rate differs from the time scale by less than this share, the difference is only rounding.
RATE_ROUNDING = 1e-4


class Schedule:
    """Schedule of fixed steps of `dt_s` seconds under the current plan.

    time_scale: simulated seconds per wall second, limited to SLOWEST..FASTEST. lead_ns: fixed time from publishing to
    the due instant; None for the lead that viewers need. publish_period_ns: the shortest mean interval between two
    snapshots (`--publish-hz`). stride: the step multiple; None for 1.
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
        self.tick = 0  # number of steps made
        self.plan = Plan(1, 0, 0, 0, 0.0)
        self.due_ns = 0  # instant at which the state after the last step is due
        self.dt_s = float(dt_s)
        self.stride = stride or FixedStride()
        self._units = 0  # number of the world's own steps made so far
        self._made = 1  # step multiple of the last step
        self._fixed_lead_ns = lead_ns
        self._publish_period_ns = publish_period_ns
        self._anchor = self.plan  # maps simulated time to due instants; in overload it changes, and `plan` stays
        self._load, self._step_costs_ns, self._held = OverloadWindow(), QuantileWindow(COST_STEPS), HeldRate()
        self._published: deque[int] = deque(maxlen=KEPT_INSTANTS)

    # -- the world after its last step

    @property
    def dt_ns(self) -> int:
        """Simulated time of one of the world's own steps."""
        return round(self.dt_s * 1e9)

    @property
    def next_dt_s(self) -> float:
        """Simulated time of the next step, in seconds."""
        return self.dt_s * self.stride.multiple

    @property
    def made_dt_ns(self) -> int:
        """Simulated time of the last step, or `dt_ns` before the first step."""
        return round(self._made * self.dt_s * 1e9)

    @property
    def sim_time_ns(self) -> int:
        """Simulated time of the world. It is computed as a product, because a sum would accumulate rounding errors."""
        return self._sim_time_of(self._units)

    @property
    def before_sim_time_ns(self) -> int:
        """Simulated time of the world before the last step."""
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
        """Simulated seconds per wall second that physics achieves now."""
        if self.is_paused:
            return 0.0
        held = self._held.value(self.time_scale)
        # Due instants are whole nanoseconds. If the held rate is below the time scale only because of rounding, the
        # time scale is returned.
        return held if held < self.time_scale * (1 - RATE_ROUNDING) else self.time_scale

    # -- instants of the next step and publish

    def lead_ns(self, viewers_lead_ns: int) -> int:
        """Lead: time from the start of the next step to its due instant. viewers_lead_ns: lead reported by viewers."""
        worst_ns = min(self._step_costs_ns.quantile(RARE_COST_SHARE), MAX_COST_LEAD_NS)
        if self._fixed_lead_ns is not None:
            return self._fixed_lead_ns + worst_ns
        step_ns = round(self.stride.multiple * self._unit_ns)
        # If steps are shorter than the publish period, the first step after each period is published. So the interval
        # between two published steps is up to one step longer than the period.
        interval_ns = step_ns if step_ns >= self._publish_period_ns else step_ns + self._publish_period_ns
        return min(viewers_lead_ns, MAX_VIEWERS_LEAD_NS) + interval_ns + worst_ns + LEAD_SLACK_NS

    def start_ns(self, viewers_lead_ns: int) -> int | None:
        """The instant at which the next step should begin; None while paused."""
        next_due_ns = self._anchor.due_ns(self._sim_time_of(self._units + self.stride.multiple))
        return None if next_due_ns is None else next_due_ns - self.lead_ns(viewers_lead_ns)

    def publish_from_ns(self, now_ns: int) -> int:
        """The earliest instant for publishing the last step. This is `now_ns`; with a fixed lead it may be later."""
        if self._fixed_lead_ns is None or self.is_paused:
            return now_ns
        return max(now_ns, self.due_ns - self._fixed_lead_ns)

    # -- steps made

    def stepped(self, now_ns: int, busy_ns: int, reach_ns: int | None = None) -> int:
        """Counts the step that the world has made, and sets `due_ns`. If the debt was so large that a new plan dropped
        it, returns the debt in ns, else 0.

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
        """Resumes simulated time from its present value. No effect if it is not paused."""
        if self.is_paused:
            self._replan(now_ns, self.plan.sim_time_ns, self.time_scale)

    def pause(self, now_ns: int, draw_time_ns: int = 0) -> None:
        """Pauses simulated time at `draw_time_ns`, the draw time that the user saw. If it is 0, the draw time is not
        known, and simulated time is paused at the present.

        Steps that physics has already made beyond this time stay valid. They are drawn after `start`.
        """
        if not self.is_paused:
            self._replan(now_ns, self._held_at_ns(now_ns, draw_time_ns), 0.0)

    def next_step_target_ns(self, draw_time_ns: int = 0) -> int | None:
        """Target of a single step while paused: the first published instant after both the present pause time and
        `draw_time_ns`. draw_time_ns: draw time of the last frame that the user saw. Returns None if there is no
        such instant; the world must then make a step first."""
        seen_ns = max(self.plan.sim_time_ns, draw_time_ns)
        return min((sim_ns for sim_ns in self._published if sim_ns > seen_ns), default=None)

    def hold_at(self, now_ns: int, sim_time_ns: int) -> None:
        """Pauses simulated time at `sim_time_ns`. Used after a single step."""
        self._replan(now_ns, sim_time_ns, 0.0)

    def set_time_scale(self, now_ns: int, time_scale: float) -> None:
        """Sets the time scale, limited to SLOWEST..FASTEST. It applies from now on; while paused, from the next
        `start` on."""
        present_ns = self.present_ns(now_ns)
        self.time_scale = min(max(time_scale, SLOWEST), FASTEST)
        if not self.is_paused:
            self._replan(now_ns, present_ns, self.time_scale)

    def reset(self, now_ns: int) -> None:
        """Returns to tick 0, in a new world epoch. A paused schedule stays paused."""
        self.tick = self._units = 0
        self._made = 1
        self.stride.reset()
        self._published.clear()
        self.plan = self.plan._replace(world_epoch=self.plan.world_epoch + 1)
        self._replan(now_ns, 0, self.plan.rate)

    def present_ns(self, now_ns: int) -> int:
        """The simulated time that is due at `now_ns`, but not later than the time of the last step."""
        return min(self.sim_time_ns, self._anchor.sim_time_at_ns(now_ns))

    def _held_at_ns(self, now_ns: int, draw_time_ns: int) -> int:
        present_ns = self.present_ns(now_ns)
        if draw_time_ns <= 0:
            return present_ns
        # A draw time from a viewer may be outdated. It must not move simulated time back by more than the largest
        # debt.
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
        """Wall time of one of the world's own steps."""
        return self.dt_s * 1e9 / self.time_scale

    def _sim_time_of(self, units: int) -> int:
        return round(units * self.dt_s * 1e9)


# Costs of steps: busy time, overload, and the held rate.
#
# `StepTimes` computes busy times from instants. `OverloadWindow` and `HeldRate` contain figures of the latest steps.
# Pure: reads no clock.


# Number of steps whose median cost decides on overload. One slow step of eight is no overload; five slow steps of
# eight are an overload.
OVERLOAD_STEPS = 8
# Number of steps over which the held rate is measured. With more steps the rate would follow changes too slowly; with
# fewer it would be uneven.
RATE_STEPS = 8


class Busy(NamedTuple):
    """Busy time of a step, ns. reach_ns: as in `StepTimes.stepped`."""

    busy_ns: int
    reach_ns: int | None


class StepTimes:
    """Busy time of each step, computed from the instants of steps, publishes and waits."""

    def __init__(self) -> None:
        self.cost_ns = 0  # cost of the last step
        self._end_ns: int | None = None
        self._waited_ns = 0  # time spent waiting since the end of the last step
        self._publish_delay_ns = 0  # time from the end of a step until its snapshot became visible
        self._waited_until_ns: int | None = None

    @property
    def is_busy(self) -> bool:
        """True if the loop has not waited since the last step."""
        return self._end_ns is not None and not self._waited_ns

    def stepped(self, begin_ns: int, end_ns: int) -> Busy:
        """Records a step. The busy time of the step is the time since the end of the last step, without waits. So it
        includes publishing.

        reach_ns: time from the instant at which the step should have begun until its end, plus the last publishing
        delay. None if the loop did not wait for this instant.
        """
        self.cost_ns = end_ns - begin_ns
        busy_ns = self.cost_ns if self._end_ns is None else end_ns - self._end_ns - self._waited_ns
        until_ns = self._waited_until_ns
        reach_ns = None if until_ns is None else end_ns - until_ns + self._publish_delay_ns
        self._end_ns, self._waited_ns, self._waited_until_ns = end_ns, 0, None
        return Busy(busy_ns, reach_ns)

    def published(self, now_ns: int) -> None:
        """Records that the last step became visible. Must be called while `is_busy`."""
        assert self._end_ns is not None
        self._publish_delay_ns = now_ns - self._end_ns

    def waited(self, begin_ns: int, end_ns: int, until_ns: int) -> None:
        """Records a wait from `begin_ns` to `end_ns` that should have ended at `until_ns`."""
        self._waited_ns += end_ns - begin_ns
        self._waited_until_ns = until_ns

    def restart(self) -> None:
        """Discards the last step. Called after a reset of the world."""
        self._end_ns = None


class OverloadWindow:
    """Median of the latest step costs, for a comparison with the time available for a step."""

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
        """Clears the window. Called after a new plan."""
        self._instants.clear()

    def value(self, otherwise: float) -> float:
        """The rate over the window. `otherwise` is returned if the window has fewer than two instants, or if due
        instants do not grow."""
        if len(self._instants) < 2:
            return otherwise
        (old_sim_ns, old_due_ns), (sim_ns, due_ns) = self._instants[0], self._instants[-1]
        return (sim_ns - old_sim_ns) / (due_ns - old_due_ns) if due_ns > old_due_ns else otherwise
