"""Maps wall time to simulated time, by straight pieces between the due times of snapshots. Keeps stream statistics.

Each snapshot is a vertex of the map (due time, simulated time), without smoothing. A new plan changes the map of
everything that is not drawn yet, so that a change of time scale also applies to snapshots that are already published.

Always: due time and simulated time never decrease along the map. A duplicate snapshot changes nothing; a late snapshot
is inserted in order. If a newer state of the newest simulated time is due later, the map becomes flat there: simulated
time stands still. The map reads no clock.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from twixt.ipc.plan import Plan

# Due time (ns) of snapshots that a paused plan holds back. It is later than any clock reading, which has 63 bits.
FAR_NS = 1 << 70
NEVER_NS = -FAR_NS
# Averaging time (ns) of the rate at which playback extrapolates. This rate follows a load within some frames.
RATE_BEYOND_NS = 300_000_000
# If the map has this many vertices, its older half (4 s at the usual 120 snapshots a second) is thinned.
KEPT = 1024


class Stream:
    """Map between due time (wall time) and simulated time, for one world epoch."""

    def __init__(self, reach_ns: int = 0) -> None:
        self.plan: Plan | None = None
        self._due: list[int] = []
        self._sim: list[int] = []
        self._plan_number: list[int] = []
        self.rhythm = Rhythm()
        # Longest time (ns) that a snapshot was overdue when the next one arrived, since its last reset.
        self.longest_wait_ns = NEVER_NS
        # widest gap in snapshots (lost ones count), since its last reset
        self.widest_gap = 1
        self.newest_arrival_ns = 0
        self.reach_ns = reach_ns  # simulated time (ns) that may be drawn beyond the newest snapshot
        self.stands = False  # True: simulated time stands still, because the newest snapshot did not advance it
        self.held_since_ns: int | None = None  # instant from which a paused plan holds simulated time
        self._rate = 1.0  # the last rate of a plan that was not 0
        self._anchor_ns, self._stretch = 0, 1.0  # beginning and factor of the last plan that was not a pause

    def __len__(self) -> int:
        return len(self._sim)

    @property
    def oldest_sim_ns(self) -> int:
        return self._sim[0]

    @property
    def newest_sim_ns(self) -> int:
        return self._sim[-1]

    @property
    def newest_due_ns(self) -> int:
        return self._due[-1]

    @property
    def limit_sim_ns(self) -> int:
        """Latest simulated time that may be drawn, in ns: the newest snapshot plus `reach_ns`."""
        return self._sim[-1] + self.reach_ns

    @property
    def limit_due_ns(self) -> int:
        """Due time of `limit_sim_ns`, in ns, at the current rate."""
        if not self._goes_beyond or self._due[-1] >= FAR_NS:
            return self._due[-1]
        return self._due[-1] + round(self.reach_ns / self._rate_beyond())

    @property
    def previous_due_ns(self) -> int:
        """Due time of the snapshot before the newest one."""
        return self._due[-2] if len(self._due) > 1 else self._due[-1]

    @property
    def paused(self) -> bool:
        return self.held_since_ns is not None

    def observe(
        self,
        sim_time_ns: int,
        due_ns: int,
        arrival_ns: int,
        plan_number: int | None = None,
        draw_time_ns: int | None = None,
    ) -> bool:
        """Adds a snapshot. Returns True if it is the newest one. draw_time_ns is None if nothing was drawn yet."""
        plan = self.plan
        valid = 0 if plan is None else plan.number - (arrival_ns < plan.wall_ns)
        number = valid if plan_number is None else plan_number
        # A snapshot of a plan that is not known yet keeps its due time, also in a pause.
        if plan is not None and sim_time_ns > plan.sim_time_ns and number < plan.number + self.paused:
            planned = plan.due_ns(sim_time_ns)
            due_ns = FAR_NS if planned is None else planned
        elif plan is not None and plan.rate > 0 and sim_time_ns < plan.sim_time_ns and number < plan.number:
            due_ns = self._led_up_ns(plan, sim_time_ns, due_ns)
        if self._sim and sim_time_ns == self._sim[-1] and not self.paused and self._due[-1] < due_ns < FAR_NS:
            self._stand(due_ns, arrival_ns)
            return False
        if self._sim and sim_time_ns <= self._sim[-1]:
            self._insert(sim_time_ns, due_ns, number)
            return False
        if self._sim:
            if draw_time_ns is not None and due_ns < self._due[-1] < FAR_NS:
                self._straighten(draw_time_ns, due_ns)
            # Older vertices of the map cannot fall due after the newer snapshot.
            index = len(self._due) - 1
            while index >= 0 and self._due[index] > due_ns:
                self._due[index] = due_ns
                index -= 1
            if due_ns < FAR_NS and self._due[-1] < FAR_NS:
                self._measure(sim_time_ns, due_ns, arrival_ns, number)
        self._append(sim_time_ns, due_ns, number)
        self.newest_arrival_ns, self.stands = arrival_ns, False
        return True

    def sim_at(self, due_ns: int) -> int:
        """Simulated time that falls due at `due_ns`. Before the map, the result is its oldest simulated time; after
        the map, its newest plus at most `reach_ns`."""
        due, sim = self._due, self._sim
        after = bisect_right(due, due_ns)
        if after == 0:
            return sim[0]
        if after == len(due):
            if not self._goes_beyond:
                return sim[-1]
            return sim[-1] + min(self.reach_ns, round((due_ns - due[-1]) * self._rate_beyond()))
        start = due[after - 1]
        return sim[after - 1] + (due_ns - start) * (sim[after] - sim[after - 1]) // (due[after] - start)

    def due_of(self, sim_time_ns: int) -> int:
        """Time at which `sim_time_ns` falls due, in ns. If simulated time stands still at this value, the result is
        the last such time."""
        due, sim = self._due, self._sim
        after = bisect_right(sim, sim_time_ns)
        if after == 0:
            return due[0]
        if after == len(sim):
            if not self._goes_beyond or due[-1] >= FAR_NS:
                return due[-1]
            return due[-1] + round(min(self.reach_ns, sim_time_ns - sim[-1]) / self._rate_beyond())
        start = sim[after - 1]
        return due[after - 1] + (sim_time_ns - start) * (due[after] - due[after - 1]) // (sim[after] - start)

    def mean_rate(self, over_ns: int) -> float:
        """Mean rate (simulated time per wall time) over the `over_ns` before the newest snapshot fell due. If the last
        gap between snapshots is longer, the mean rate over this gap."""
        end = self._due[-1]
        first = max(0, min(bisect_left(self._due, end - over_ns), len(self._due) - 2))
        span = end - self._due[first]
        return (self._sim[-1] - self._sim[first]) / span if span > 0 else 0.0

    @property
    def _goes_beyond(self) -> bool:
        """True if simulated time may advance beyond the newest snapshot."""
        return self.reach_ns > 0 and not self.stands

    def _rate_beyond(self) -> float:
        """Recent mean rate of the physics process; the plan's rate until this mean is known."""
        return self.mean_rate(RATE_BEYOND_NS) or self._rate

    def replan(self, plan: Plan, draw_time_ns: int | None) -> float:
        """Maps everything anew that is not drawn yet. Returns the factor by which intervals of wall time became
        longer."""
        stretch = 1.0
        anchor_ns = plan.wall_ns  # due time of the plan's simulated time on the old map
        if self.held_since_ns is not None:
            anchor_ns = self.held_since_ns
        if plan.rate > 0:
            stretch = self._rate / plan.rate if self.plan is not None else 1.0
            if self._sim and self.held_since_ns is None:
                self._rest_before(plan)
            self._anchor_ns, self._stretch = anchor_ns, stretch
            self._remap(plan, draw_time_ns, anchor_ns, stretch)
            self._rate = plan.rate
            self.held_since_ns = None
            self.rhythm.restart(stretch)
        else:
            self._hold(plan)
            if self.held_since_ns is None:
                self.held_since_ns = plan.wall_ns
        self.plan = plan
        return stretch

    def _hold(self, plan: Plan) -> None:
        """Holds back all snapshots after the simulated time at which a plan pauses."""
        first = bisect_right(self._sim, plan.sim_time_ns)
        for index in range(first, len(self._due)):
            self._due[index] = FAR_NS
        if 0 < first < len(self._sim):
            self._vertex(first, plan.wall_ns, plan.sim_time_ns)

    def _rest_before(self, plan: Plan) -> None:
        """Inserts a rest (no motion) if physics had stopped and the new plan begins a step after the newest
        snapshot."""
        rest_ns = self.rhythm.rest_ns(plan.wall_ns - self._due[-1], max(0, plan.sim_time_ns - self._sim[-1]))
        if rest_ns and plan.sim_time_ns > self._sim[-1]:
            self._append(self._sim[-1], self._due[-1] + rest_ns, self._plan_number[-1])

    def _remap(self, plan: Plan, draw_time_ns: int | None, anchor_ns: int, stretch: float) -> None:
        """Moves all vertices that are not drawn yet. Vertices after the beginning of the plan get its due times. The
        vertices before it are spaced at the plan's rate, or as the snapshots came if physics could not hold a rate."""
        if not self._sim:
            return
        if draw_time_ns is not None:
            draw_time_ns = min(draw_time_ns, self._sim[-1])
            drawn_due_ns = min(self.due_of(draw_time_ns), anchor_ns)
            keep = bisect_right(self._sim, draw_time_ns)
            self._due[:keep], self._sim[:keep], self._plan_number[:keep] = [drawn_due_ns], [draw_time_ns], [0]
        after = bisect_right(self._sim, plan.sim_time_ns)
        for index in range(after, len(self._sim)):
            if self._plan_number[index] < plan.number:
                self._due[index] = plan.wall_ns + round((self._sim[index] - plan.sim_time_ns) / plan.rate)
        due_ns, sim_ns, old_due_ns = plan.wall_ns, plan.sim_time_ns, anchor_ns
        for index in range(after - 1, -1, -1):
            was_due_ns = min(self._due[index], old_due_ns)
            came_ns = (old_due_ns - was_due_ns) * min(stretch, 1.0)
            due_ns -= round(max((sim_ns - self._sim[index]) / plan.rate, came_ns))
            sim_ns, old_due_ns = self._sim[index], was_due_ns
            self._due[index] = due_ns
        for index in range(1, len(self._due)):
            self._due[index] = max(self._due[index], self._due[index - 1])
        if after > 0 and (after < len(self._sim) or self._sim[-1] == plan.sim_time_ns):
            self._vertex(after, plan.wall_ns, plan.sim_time_ns)

    def _led_up_ns(self, plan: Plan, sim_time_ns: int, due_ns: int) -> int:
        """Due time of a snapshot that was published before the plan but read after it. `_remap` would give the same."""
        came_ns = max(0, self._anchor_ns - due_ns) * min(self._stretch, 1.0)
        return plan.wall_ns - round(max((plan.sim_time_ns - sim_time_ns) / plan.rate, came_ns))

    def _vertex(self, index: int, due_ns: int, sim_time_ns: int) -> None:
        due_ns = max(due_ns, self._due[index - 1])
        if index < len(self._due):
            due_ns = min(due_ns, self._due[index])
        self._due.insert(index, due_ns)
        self._sim.insert(index, sim_time_ns)
        self._plan_number.insert(index, self._plan_number[index - 1])

    def _insert(self, sim_time_ns: int, due_ns: int, number: int) -> None:
        """Inserts a late snapshot in order, unless it is already known."""
        index = bisect_left(self._sim, sim_time_ns)
        if self._sim[index] == sim_time_ns or index == 0:
            return  # the snapshot is known, or older than everything that could still be drawn
        due_ns = min(max(due_ns, self._due[index - 1]), self._due[index])
        self._due.insert(index, due_ns)
        self._sim.insert(index, sim_time_ns)
        self._plan_number.insert(index, number)

    def _straighten(self, draw_time_ns: int, due_ns: int) -> None:
        """If physics became faster than its published rate, several vertices would fall due at `due_ns`. Replaces
        these vertices by a straight line from the draw time."""
        drawn_due_ns = self.due_of(draw_time_ns)
        after = bisect_right(self._sim, draw_time_ns)
        if 0 < after < len(self._sim) and drawn_due_ns < due_ns:
            after = max(after, bisect_left(self._due, due_ns))
            del self._due[after:], self._sim[after:], self._plan_number[after:]
            if self._sim[-1] < draw_time_ns:
                self._append(draw_time_ns, drawn_due_ns, self._plan_number[-1])

    def _stand(self, due_ns: int, arrival_ns: int) -> None:
        """Extends the newest simulated time up to `due_ns`. Until then simulated time stands still."""
        if len(self._sim) > 1 and self._sim[-2] == self._sim[-1]:
            self._due[-1] = due_ns
        else:
            self._append(self._sim[-1], due_ns, self._plan_number[-1])
        self.newest_arrival_ns, self.stands = arrival_ns, True

    def _append(self, sim_time_ns: int, due_ns: int, number: int) -> None:
        if len(self._sim) >= KEPT:
            # Every second vertex of the older half is removed. After a burst, all of this half may still have to be
            # played.
            older = slice(1, KEPT // 2, 2)
            del self._due[older], self._sim[older], self._plan_number[older]
        self._due.append(due_ns)
        self._sim.append(sim_time_ns)
        self._plan_number.append(number)

    def _measure(self, sim_time_ns: int, due_ns: int, arrival_ns: int, number: int) -> None:
        """Updates the statistics. Inserts a flat piece into the map for a long rest."""
        due_gap_ns, sim_gap_ns = due_ns - self._due[-1], sim_time_ns - self._sim[-1]
        self.rhythm.add_lateness(arrival_ns - due_ns, due_gap_ns, sim_gap_ns)
        self.widest_gap = max(self.widest_gap, round(self.rhythm.intervals(due_gap_ns, sim_gap_ns)))
        rest_ns = self.rhythm.rest_ns(due_gap_ns, sim_gap_ns)
        if rest_ns:
            self._append(self._sim[-1], self._due[-1] + rest_ns, number)
            self.rhythm.add_rest(due_gap_ns, sim_gap_ns)
        else:
            self.rhythm.add_gap(due_gap_ns, sim_gap_ns)
        self.longest_wait_ns = max(self.longest_wait_ns, arrival_ns - self._due[-1])


# Statistics of the stream of snapshots: current interval, evenness of steps, scatter of lateness.
#
# They are computed from the gaps between successive snapshots. All figures are medians or limited, so that one unusual
# gap does not change them. The statistics read no clock, and store a few dozen numbers.


# The interval is the median of this many gaps between snapshots. It follows a change of load within five snapshots.
INTERVAL_GAPS = 9
# The evenness of steps is computed from this many gaps between snapshots.
EVENNESS_GAPS = 16
# 15 changes between successive gaps are sorted. The unevenness of the stream is the change with this index. One
# unusual gap makes two large changes, and a change of load makes one. If every fourth step is slow, five to seven of
# the 15 changes are large.
EVEN_CHANGES = 10
# Weight of one snapshot in the mean change of lateness. About fifty snapshots count, which is a second or two.
SCATTER_SHARE = 0.02
# A gap between due times is a rest, not slow motion, if it is longer than REST_NS, and longer than REST_GAPS times the
# usual time for its steps. In a rest the world stands still, and moves only at the end.
REST_GAPS = 4
REST_NS = 200_000_000
# If the gap after a rest has the same length, within this factor, it is slow physics, not another rest.
ALIKE = 2
# A slip: a snapshot is late by more than an interval, and the next snapshot is on time, because the physics process
# moved its due time by more than this many intervals.
SLIP_GAPS = 2
SLIP_ON_TIME = 0.25  # a snapshot is on time if it is within this share of an interval of its due time


class Rhythm:
    """Interval, evenness and scatter of the latest snapshots."""

    def __init__(self) -> None:
        self.sim_interval_ns = 0  # median simulated time between snapshots, in ns
        self.interval_ns = 0  # recent median gap between due times, in ns; 0 if fewer than two snapshots are known
        self.slope_change = 0.0  # usual relative change of the due time per simulated time; 0: all steps are even
        self.mean_gap_ns, self.longest_gap_ns = 0.0, 0  # mean and longest of the last EVENNESS_GAPS due gaps, in ns
        self.scatter_ns = 0.0  # usual change of lateness from one snapshot to the next, in ns
        self.slips = 0  # number of times that the physics process dropped a debt and moved its due times
        self._gaps: list[tuple[int, int]] = []  # (due time, simulated time) from each snapshot to the next, in ns
        self._lateness_ns: int | None = None
        self._rest: tuple[int, int] | None = None  # (due time, simulated time) of the last gap, if this gap was a rest

    def intervals(self, due_gap_ns: int, sim_gap_ns: int) -> float:
        """Length of a gap between snapshots, in usual gaps: by simulated time or by due time, whichever is smaller.
        Slow physics makes gaps longer in due time; a change of time scale, in simulated time. 1 if nothing is known
        yet."""
        if not self.sim_interval_ns or not self.interval_ns:
            return 1.0
        return min(sim_gap_ns / self.sim_interval_ns, due_gap_ns / self.interval_ns)

    def rest_ns(self, due_gap_ns: int, sim_gap_ns: int) -> int:
        """Time in ns for which the world stood still in this gap: the gap minus the usual time of its steps; 0: no
        rest."""
        if not self._gaps:
            return 0
        if self._rest is not None and max(self._rest[0], due_gap_ns) <= ALIKE * min(self._rest[0], due_gap_ns):
            return 0
        return self._exceeds(due_gap_ns, sim_gap_ns)

    def add_rest(self, due_gap_ns: int, sim_gap_ns: int) -> None:
        """Records a gap between snapshots that was a rest."""
        self._rest = due_gap_ns, sim_gap_ns

    def _exceeds(self, due_gap_ns: int, sim_gap_ns: int) -> int:
        """Length of a gap beyond the usual time of its steps, in ns; 0 if the gap is too short for a rest."""
        steps_ns = self.interval_ns * max(1, round(sim_gap_ns / self.sim_interval_ns))
        return due_gap_ns - steps_ns if due_gap_ns > max(REST_GAPS * steps_ns, REST_NS) else 0

    def add_gap(self, due_gap_ns: int, sim_gap_ns: int) -> None:
        """Records a snapshot. `due_gap_ns` and `sim_gap_ns` are its distances from the previous snapshot."""
        if self._rest is not None:
            if self._exceeds(due_gap_ns, sim_gap_ns):
                self._gaps, self.slope_change = [self._rest], 0.0
            self._rest = None
        self._gaps.append((due_gap_ns, sim_gap_ns))
        if len(self._gaps) > EVENNESS_GAPS:
            del self._gaps[0]
        recent = sorted(due for due, _ in self._gaps[-INTERVAL_GAPS:])
        self.interval_ns = recent[len(recent) // 2]
        recent = sorted(sim for _, sim in self._gaps[-INTERVAL_GAPS:])
        self.sim_interval_ns = recent[len(recent) // 2]
        if len(self._gaps) == EVENNESS_GAPS:
            slopes = [due / sim for due, sim in self._gaps]
            changes = sorted(abs(new - old) / (old or 1.0) for old, new in pairwise(slopes))
            self.slope_change = changes[EVEN_CHANGES]
            gaps = [due for due, _ in self._gaps]
            self.mean_gap_ns, self.longest_gap_ns = sum(gaps) / len(gaps), max(gaps)

    def add_lateness(self, lateness_ns: int, due_gap_ns: int, sim_gap_ns: int) -> None:
        """Records a snapshot that came `lateness_ns` after its due time. The gaps begin at the previous snapshot."""
        if self._lateness_ns is not None:
            change = min(abs(lateness_ns - self._lateness_ns), self.interval_ns)
            self.scatter_ns += SCATTER_SHARE * (change - self.scatter_ns)
            moved_over = due_gap_ns > SLIP_GAPS * self.interval_ns and self.intervals(due_gap_ns, sim_gap_ns) < 1.5
            moved_over = moved_over and self._lateness_ns > self.interval_ns
            if moved_over and abs(lateness_ns) < SLIP_ON_TIME * self.interval_ns:
                self.slips += 1
        self._lateness_ns = lateness_ns

    def restart(self, stretch: float) -> None:
        """Clears the gaps between snapshots, because later gaps are `stretch` times as long."""
        self._gaps.clear()
        self._rest = None
        self.slope_change = 0.0
        self.interval_ns = round(self.interval_ns * stretch)
