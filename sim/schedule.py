"""When to step, and when each snapshot is due.

The world makes fixed steps of simulated time; a plan says which wall instant each falls on. The schedule
keeps the plan while it can: a late step is still due when the plan said, and the debt is made good by steps
that do not wait. When the steps themselves cost more than the time there is for them, simulated time moves with the
work instead. Steps run ahead of their due instants by as much as viewers need to draw the present, no more.

A step makes as many of the world's own steps at once as the `Stride` says; usually one.

Always: due instants of one world epoch grow with simulated time until a plan is replaced; the debt carried is less than
`MAX_DEBT_NS`; the lead is bounded. Pure: instants of `time.perf_counter_ns` come in as arguments.
Does not step the world, publish, or wait: `sim.loop` does what is decided here.
"""

from __future__ import annotations

from collections import deque

from twixt.ipc.plan import Plan
from twixt.sim.dilation import HeldRate, Load, WorstCost
from twixt.sim.stride import Plain, Stride

# Late by more than this, the plan starts anew: made good at full speed it would be a visible rush.
MAX_DEBT_NS = 1_000_000_000
# A click must not wait behind what is already published, so what rare slow steps add to the lead is bounded,
MAX_COST_LEAD_NS = 50_000_000
# and so is what viewers add. The publish interval is not: without it there is nothing to interpolate to.
MAX_VIEWERS_LEAD_NS = 200_000_000
# A viewer tells its lead when it has changed by 1 ms, and its clock wants half a millisecond of room or it draws later.
LEAD_SLACK_NS = 2_000_000
# Instants of published snapshots that are remembered for the single step; more than any lead holds.
REMEMBERED = 512
# Simulated seconds per wall second that can be asked for; beyond, instants leave the range of their type.
SLOWEST, FASTEST = 1e-3, 1e3
# Held rates this close to the time scale, as a share, differ from it by rounding alone.
RATE_ROUNDING = 1e-4


class Schedule:
    """Fixed steps of `dt_s` seconds, against the plan in force.

    lead_ns: None for as much as viewers need, else a fixed distance between publishing and due instant.
    publish_period_ns: the shortest mean distance of two snapshots (`--publish-hz`). stride: how many of the
    world's steps are made at once.
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
        self.tick = 0  # steps made
        self.plan = Plan(1, 0, 0, 0, 0.0)
        self.due_ns = 0  # of the world as it stands
        self.dt_s = float(dt_s)
        self.stride = stride or Plain()
        self._units = 0  # the world's own steps in those made
        self._made = 1  # of them in the last one
        self._fixed_lead_ns = lead_ns
        self._publish_period_ns = publish_period_ns
        self._anchor = self.plan  # due instants follow from it; moves with the work, unseen by viewers
        self._load, self._worst, self._held = Load(), WorstCost(), HeldRate()
        self._published: deque[int] = deque(maxlen=REMEMBERED)

    # -- the world as it stands

    @property
    def dt_ns(self) -> int:
        """Simulated time of the world's own step."""
        return round(self.dt_s * 1e9)

    @property
    def next_dt_s(self) -> float:
        """Simulated time of the next step, in seconds."""
        return self.dt_s * self.stride.multiple

    @property
    def made_dt_ns(self) -> int:
        """Simulated time of the step that was made last; before the first, that of the world's own."""
        return round(self._made * self.dt_s * 1e9)

    @property
    def sim_time_ns(self) -> int:
        """Simulated time of the world; the product, not a sum, so that it never drifts."""
        return self._sim_time_of(self._units)

    @property
    def before_sim_time_ns(self) -> int:
        """Simulated time of the world before the last step."""
        return self._sim_time_of(max(0, self._units - self._made))

    @property
    def is_paused(self) -> bool:
        """Whether the plan holds simulated time still."""
        return self.plan.rate == 0

    @property
    def is_overloaded(self) -> bool:
        """Whether steps cost more than the time there is for them, however wide they might be."""
        return self._load.exceeds(self.stride.most * self._unit_ns)

    @property
    def rate(self) -> float:
        """Simulated seconds per wall second that physics is holding."""
        if self.is_paused:
            return 0.0
        held = self._held.value(self.time_scale)
        # Instants are whole nanoseconds; in time, the rate is the time scale itself.
        return held if held < self.time_scale * (1 - RATE_ROUNDING) else self.time_scale

    # -- when

    def lead_ns(self, viewers_lead_ns: int) -> int:
        """How long before its due instant the next step begins."""
        worst_ns = min(self._worst.p99_ns, MAX_COST_LEAD_NS)
        if self._fixed_lead_ns is not None:
            return self._fixed_lead_ns + worst_ns
        step_ns = round(self.stride.multiple * self._unit_ns)
        # Where steps are shorter than the publishing period, snapshots come at the first step after it.
        interval_ns = step_ns if step_ns >= self._publish_period_ns else step_ns + self._publish_period_ns
        return min(viewers_lead_ns, MAX_VIEWERS_LEAD_NS) + interval_ns + worst_ns + LEAD_SLACK_NS

    def start_ns(self, viewers_lead_ns: int) -> int | None:
        """The instant at which the next step should begin; None while paused."""
        next_due_ns = self._anchor.due_ns(self._sim_time_of(self._units + self.stride.multiple))
        return None if next_due_ns is None else next_due_ns - self.lead_ns(viewers_lead_ns)

    def publish_from_ns(self, now_ns: int) -> int:
        """The instant from which the world as it stands may be published: `now_ns`, or later with a fixed lead."""
        if self._fixed_lead_ns is None or self.is_paused:
            return now_ns
        return max(now_ns, self.due_ns - self._fixed_lead_ns)

    # -- what happened

    def stepped(self, now_ns: int, busy_ns: int, reach_ns: int | None = None) -> int:
        """The world made the next step; it is due at `due_ns`. Returns the debt given up, in ns.

        busy_ns: what the step kept the loop busy, publishing and all. reach_ns: the same counted from the instant
        at which the step should have begun, where it was waited for; the lead covers it.
        """
        previous_due_ns = self.due_ns
        self.tick += 1
        self._made = self.stride.multiple
        self._units += self._made
        self.stride.stepped(busy_ns, self._unit_ns)
        self._load.add(busy_ns)
        self._worst.add(busy_ns if reach_ns is None else reach_ns)
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
        """The world as it stands became visible."""
        self._published.append(self.sim_time_ns)

    # -- what the user asks; each leaves the plan to follow in `plan`

    def start(self, now_ns: int) -> None:
        """Simulated time runs, from where it stands."""
        if self.is_paused:
            self._replan(now_ns, self.plan.sim_time_ns, self.time_scale)

    def pause(self, now_ns: int, drawn_ns: int = 0) -> None:
        """Simulated time stands still at what the user saw; 0: not known, at the present.

        Physics may be ahead of that. Those steps stay valid and are drawn after `start`.
        """
        if not self.is_paused:
            self._replan(now_ns, self._held_at_ns(now_ns, drawn_ns), 0.0)

    def next_step_target_ns(self, drawn_ns: int = 0) -> int | None:
        """While paused: the next published instant after the one that is held and what the user sees (the frame
        that was under way at the pause), or None if the world must make a step first."""
        seen_ns = max(self.plan.sim_time_ns, drawn_ns)
        return min((sim_ns for sim_ns in self._published if sim_ns > seen_ns), default=None)

    def hold_at(self, now_ns: int, sim_time_ns: int) -> None:
        """Simulated time stands still at `sim_time_ns`, as after a single step."""
        self._replan(now_ns, sim_time_ns, 0.0)

    def set_time_scale(self, now_ns: int, time_scale: float) -> None:
        """From the present on, simulated time runs at `time_scale`; while paused, from `start` on."""
        present_ns = self.present_ns(now_ns)
        self.time_scale = min(max(time_scale, SLOWEST), FASTEST)
        if not self.is_paused:
            self._replan(now_ns, present_ns, self.time_scale)

    def reset(self, now_ns: int) -> None:
        """The world begins again, at tick 0 and in a new world epoch; paused if it was."""
        self.tick = self._units = 0
        self._made = 1
        self.stride.reset()
        self._published.clear()
        self.plan = self.plan._replace(world_epoch=self.plan.world_epoch + 1)
        self._replan(now_ns, 0, self.plan.rate)

    def present_ns(self, now_ns: int) -> int:
        """The simulated time that is due at `now_ns`, never beyond the world as it stands."""
        return min(self.sim_time_ns, self._anchor.sim_time_at_ns(now_ns))

    def _held_at_ns(self, now_ns: int, drawn_ns: int) -> int:
        present_ns = self.present_ns(now_ns)
        if drawn_ns <= 0:
            return present_ns
        # A stale draw time must not throw the world's clock back by more than a debt that it would carry.
        furthest_back_ns = round(MAX_DEBT_NS * self.time_scale)
        return min(max(drawn_ns, present_ns - furthest_back_ns), self.sim_time_ns)

    def _replan(self, now_ns: int, sim_time_ns: int, rate: float) -> None:
        self.plan = Plan(self.plan.number + 1, self.plan.world_epoch, now_ns, sim_time_ns, rate)
        self._anchor = self.plan
        due_ns = self.plan.due_ns(self.sim_time_ns)
        self.due_ns = now_ns if due_ns is None else due_ns
        self._held.forget()

    @property
    def _unit_ns(self) -> float:
        """Wall time that one of the world's own steps falls due in."""
        return self.dt_s * 1e9 / self.time_scale

    def _sim_time_of(self, units: int) -> int:
        return round(units * self.dt_s * 1e9)
