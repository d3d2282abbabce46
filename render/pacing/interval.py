"""Chooses the frame interval. The interval widens for a sustained load, narrows soon after the load has ended, and
ignores spikes.

If three of the last four frames are too long, the interval is widened to hold these frames. If eight or more frames in
a row would fit a narrower interval, the interval is narrowed to hold these frames, unless an earlier narrowing failed
recently. In all other cases the work of the last seconds is replayed with other intervals, and an interval is chosen
if it is clearly cheaper. To widen the interval, a replay uses about 5 s of work. To narrow the interval, a replay uses
0.6 s of work, or more if the interval had to be widened again before. After a change of the interval, only later
frames are used. Otherwise frames from a load that has ended would keep the interval wide.

*Cycle* of a frame: the time for its work and for everything else that must be done before the next frame can start.
Waits do not count. If swap blocks, intervals are whole numbers of refreshes. If the display has a queue, an interval
also holds cycles that are up to a third of a refresh longer. Some frames then take one more refresh, which costs less
than halving the rate of all frames.

Always: `interval_ns` is never below `base_ns`; each change has a reason. Pure.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

from twixt.render.pacing.interval_evidence import (
    CLEARLY,
    SustainedLoad,
    TimedCycle,
    cost_on_queue,
    cost_on_refreshes,
    cost_on_timer,
    queue_holds_ns,
    usual_before,
)

# Number of first frames that are ignored. In these frames, programs are compiled and caches are filled.
WARM_UP_FRAMES = 3
# If any interval is possible, an interval that is fitted to the work is this factor times the work.
FITTED_ROOM = 1.01
# A replay that may widen the interval uses the work of the last WIDEN_BY_NS, but at most WIDEN_BY_FRAMES frames. Such
# a replay begins every REPLAY_EVERY_FRAMES frames.
WIDEN_BY_NS, WIDEN_BY_FRAMES, REPLAY_EVERY_FRAMES = 5_000_000_000, 300, 30
# A replay that may narrow the interval uses the work of the last NARROW_BY_NS, and of at least NARROW_BY_FRAMES frames.
# Such a replay begins every NARROW_EVERY_NS. If the interval widens within RELAPSE_NS after it narrowed, this is a
# relapse. Each relapse doubles the length of the replayed work, up to LONGEST_NARROW_BY_NS. Even with this longest
# time, the end of a load is noticed within 3 s. After each CALM_NS without a relapse, the length is halved.
NARROW_BY_NS, LONGEST_NARROW_BY_NS, NARROW_BY_FRAMES = 600_000_000, 2_400_000_000, 4
NARROW_EVERY_NS = 200_000_000
RELAPSE_NS, CALM_NS = 3_000_000_000, 10_000_000_000
# Another interval is chosen if its cost is below the present cost by CHEAPER_SHARE of that cost plus CHEAPER_BY ms/s.
CHEAPER_SHARE, CHEAPER_BY = 0.10, 2.0
# Widest frame interval (ns), unless the user requests a wider one. At fewer than ten frames per second, users see
# single pictures instead of motion.
LONGEST_INTERVAL_NS = 100_000_000
# Intervals that a replay tries if any length is possible. They are MULTIPLES of the shortest interval, and the
# quantiles SHARES of the work.
MULTIPLES, SHARES = (1.0, 1.12, 1.25, 1.5, 2.0, 3.0, 4.5), (0.5, 0.8, 0.95)
# A replay tries no interval that is shorter than this quantile of the work: nearly all frames would be late.
LEAST_SHARE = 0.1
# If two intervals differ by less than this share, a replay tries only one of them.
SAME_SHARE = 0.02
# If the user requests a rate of whole refreshes (for example --fps 30), the request is met even if the measured
# refresh period is wrong by this share.
WANDER = 0.03
# If a frame's cycle is longer than this (ns), it is ignored: the machine was suspended.
LONGEST_WORK_NS = 1_000_000_000


class IntervalChoice:
    """Chooses the current frame interval, `interval_ns`.

    base_ns: shortest interval if swap does not block. refresh_ns: refresh period if swap blocks; `set_refresh` updates
    it. wanted_ns: shortest interval that the user wants; 0: the display's own interval. guard_ns: if swap blocks, a
    frame must be handed over this long before its refresh. queues: a frame may wait to be shown while the next frame
    is drawn.
    """

    def __init__(self, base_ns: int, refresh_ns: int | None = None, wanted_ns: int = 0) -> None:
        self.widened = self.narrowed = 0
        self.guard_ns = 0
        self.queues = False
        self._shortest = ShortestInterval(base_ns, refresh_ns, wanted_ns)
        # interval that the work requires, in ns and in refreshes; 0: no interval is required
        self._fitted_ns = self._refreshes = 0
        self._frames: deque[TimedCycle] = deque(maxlen=WIDEN_BY_FRAMES)
        self._count = 0  # number of frames after the last `forget`
        self._load = SustainedLoad()
        self._patience = NarrowingPatience()
        self._replay: Iterator[str] | None = None
        self._replayed_at = 0  # value of `_count` when the last replay that may widen the interval began

    @property
    def interval_ns(self) -> int:
        shortest = self._shortest
        if shortest.refresh_ns:
            return max(self._refreshes, shortest.refreshes) * shortest.refresh_ns
        return max(self._fitted_ns, shortest.ns)

    @property
    def refreshes(self) -> int:
        """Frame interval in refreshes; 1 if swap does not block."""
        return max(self._refreshes, self._shortest.refreshes) if self._shortest.refresh_ns else 1

    @property
    def base_ns(self) -> int:
        """Shortest frame interval that is allowed, in ns."""
        return self._shortest.ns

    def at_most(self, fps: float | None) -> None:
        """Sets an upper bound on the frame rate; None: no bound."""
        self._shortest.at_most(round(1e9 / fps) if fps else 0)
        self._forget_frames()

    def set_refresh(self, refresh_ns: int | None, is_new: bool = False) -> None:
        """Sets the refresh period. None: swap does not block. is_new: the display is another one, so the earlier
        frames are cleared."""
        self._shortest.set_refresh(refresh_ns)
        if is_new:
            self._shortest.round_to_refreshes()
            self._fitted_ns = self._refreshes = 0
            self._load.forget()
            self._forget_frames()

    def set_free(self, period_ns: int) -> None:
        """Changes to the timer, with frames at intervals of `period_ns`."""
        self._shortest.set_base(period_ns)
        self.set_refresh(None, is_new=True)

    def forget(self) -> None:
        """Clears all recorded frames and returns to the shortest interval, because the next frames will differ."""
        self._fitted_ns = self._refreshes = self._count = self._replayed_at = 0
        self._load.forget()
        self._patience = NarrowingPatience()
        self._forget_frames()

    def forget_frames(self) -> None:
        """Clears the recorded costs of frames. Keeps the interval until new costs are known."""
        self._load.forget_frames()
        self._forget_frames()

    def frame(self, cycle_ns: int, end_ns: int) -> str:
        """Records a completed frame. If this frame changed the interval of the next frames, returns the reason;
        otherwise ""."""
        self._count += 1
        if self._count <= WARM_UP_FRAMES or cycle_ns > LONGEST_WORK_NS:
            return ""
        self._frames.append(TimedCycle(end_ns, cycle_ns))
        self._load.catches_up = not self._shortest.refresh_ns
        self._load.frame(cycle_ns, end_ns)
        self._patience.grow_calm(end_ns, self._load)
        interval_ns = self.interval_ns
        long_ns = self._load.long_ns(self._holds_ns(interval_ns), self.queues)
        if long_ns and (reason := self._hold_load(long_ns, end_ns)):
            return reason
        is_wide = interval_ns > self.base_ns
        if is_wide and self._patience.is_calm and (reason := self._end_load(end_ns)):
            return reason
        if self._replay is None:
            self._replay = self._begin_replay(end_ns, is_wide)
        if self._replay is not None:
            verdict = next(self._replay, None)
            if verdict is None or verdict:
                self._replay = None
            return verdict or ""
        return ""

    # -- sustained load

    def _holds_ns(self, interval_ns: int) -> int:
        """Longest cycle (time for the work of a frame), in ns, for which the interval is long enough."""
        if not self._shortest.refresh_ns:
            return interval_ns
        if self.queues:
            return queue_holds_ns(max(1, round(interval_ns / self._shortest.refresh_ns)), self._shortest.refresh_ns)
        return interval_ns - self.guard_ns

    def _hold_load(self, long_ns: list[int], end_ns: int) -> str:
        load_ns = sorted(long_ns)[len(long_ns) // 2]
        wanted_ns = self._fit(load_ns)
        if wanted_ns <= self.interval_ns:
            return ""
        return self._change(wanted_ns, end_ns, f"{len(long_ns)} of the last frames took {load_ns / 1e6:.1f} ms")

    def _end_load(self, end_ns: int) -> str:
        """If the load has ended, narrows the interval to the shortest one that holds the longest of the last frames.
        Returns the reason for the change, or "" if nothing changed."""
        refresh_ns = self._shortest.refresh_ns
        narrower_ns = self.interval_ns - refresh_ns if refresh_ns else round(self.interval_ns / CLEARLY)
        fitting_ns = self._load.fitting_ns(self._holds_ns(narrower_ns))
        longest_ns = max(fitting_ns, default=self.interval_ns)
        wanted_ns = self._fit(longest_ns)
        if not fitting_ns or wanted_ns >= self.interval_ns:
            return ""
        return self._change(
            wanted_ns, end_ns, f"the last {len(fitting_ns)} frames took {longest_ns / 1e6:.1f} ms or less"
        )

    def _fit(self, cycle_ns: int) -> int:
        """Interval, in ns, that is long enough for frames with this cycle, within the allowed limits."""
        if self._shortest.refresh_ns:
            refreshes = self._shortest.whole(cycle_ns + self.guard_ns)
            if self.queues and refreshes > 1 and cycle_ns <= queue_holds_ns(refreshes - 1, self._shortest.refresh_ns):
                refreshes -= 1
            return max(self.base_ns, min(refreshes, self._most_refreshes()) * self._shortest.refresh_ns)
        return max(self.base_ns, min(round(cycle_ns * FITTED_ROOM), LONGEST_INTERVAL_NS))

    # -- replay

    def _begin_replay(self, end_ns: int, is_wide: bool) -> Iterator[str] | None:
        """Begins a replay if one is due and could change the interval; otherwise returns None. is_wide: the interval
        is wider than the shortest allowed one."""
        if is_wide and self._patience.is_due(end_ns):
            cycles = self._last_cycles(end_ns, self._patience.span_ns)
            if cycles:
                return self._replayed(cycles, narrower=True)
        if self._count - self._replayed_at >= REPLAY_EVERY_FRAMES:
            self._replayed_at = self._count
            holds_ns = self._holds_ns(self.interval_ns)
            cycles = self._last_cycles(end_ns, WIDEN_BY_NS)
            if cycles and any(cycle > holds_ns for cycle in cycles):
                return self._replayed(cycles, narrower=False)
        return None

    def _last_cycles(self, end_ns: int, span_ns: int) -> list[int]:
        """Cycles (times for the work of a frame), in ns, of the frames in the last `span_ns`. Empty if the interval
        changed in this time, or if the frames are too few."""
        frames = self._frames
        if len(frames) < NARROW_BY_FRAMES:
            return []
        from_ns = end_ns - span_ns
        if frames[0].end_ns > from_ns and len(frames) < WIDEN_BY_FRAMES:
            return []
        cycles = [frame.cycle_ns for frame in frames if frame.end_ns >= from_ns]
        return cycles if len(cycles) >= NARROW_BY_FRAMES else []

    def _replayed(self, cycles: list[int], narrower: bool) -> Iterator[str]:
        """Tries other intervals on the recorded work, one interval per step, and yields "" after each step. If the
        interval changes, the last value is the reason for the change."""
        was_ns = self.interval_ns
        usual = usual_before(cycles)
        now_cost = best_cost = self._cost(cycles, usual, was_ns)
        best_ns = was_ns
        yield ""
        for candidate_ns in self._candidates(cycles, narrower):
            if narrower and self._load.is_in(cycles, self._holds_ns(candidate_ns)):
                continue
            cost = self._cost(cycles, usual, candidate_ns)
            if cost < best_cost:
                best_ns, best_cost = candidate_ns, cost
            yield ""
        if best_ns == was_ns or best_cost > now_cost * (1 - CHEAPER_SHARE) - CHEAPER_BY:
            return
        why = f"replay of {len(cycles)} frames, cost {now_cost:.0f} -> {best_cost:.0f}"
        yield self._change(best_ns, self._frames[-1].end_ns, why)

    def _cost(self, cycles: list[int], usual: list[int], interval_ns: int) -> float:
        if self._shortest.refresh_ns:
            refreshes = max(1, round(interval_ns / self._shortest.refresh_ns))
            if self.queues:
                return cost_on_queue(cycles, usual, refreshes, self._shortest.refresh_ns, self._shortest.refreshes)
            return cost_on_refreshes(
                cycles, usual, refreshes, self._shortest.refresh_ns, self.guard_ns, self._shortest.refreshes
            )
        return cost_on_timer(cycles, usual, interval_ns, self.base_ns)

    def _candidates(self, cycles: list[int], narrower: bool) -> list[int]:
        base_ns, now_ns = self.base_ns, self.interval_ns
        ordered = sorted(cycles)
        if self._shortest.refresh_ns:
            wanted = [
                n * self._shortest.refresh_ns for n in range(self._shortest.refreshes, self._most_refreshes() + 1)
            ]
            least_ns = base_ns
        else:
            least_ns = max(base_ns, round(ordered[int(LEAST_SHARE * len(ordered))] * FITTED_ROOM))
            shares = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in SHARES]
            wanted = [least_ns, *(round(m * base_ns) for m in MULTIPLES), *(round(s * FITTED_ROOM) for s in shares)]
        chosen: list[int] = []
        for length_ns in sorted(wanted):
            is_between = least_ns <= length_ns <= max(LONGEST_INTERVAL_NS, base_ns)
            is_other = length_ns < now_ns * (1 - SAME_SHARE) if narrower else length_ns > now_ns * (1 + SAME_SHARE)
            if is_between and is_other and (not chosen or length_ns > chosen[-1] * (1 + SAME_SHARE)):
                chosen.append(length_ns)
        return chosen

    # -- changing

    def _change(self, wanted_ns: int, end_ns: int, why: str) -> str:
        was_ns = self.interval_ns
        if self._shortest.refresh_ns:
            self._refreshes = max(1, round(wanted_ns / self._shortest.refresh_ns))
        else:
            self._fitted_ns = wanted_ns
        widens = self.interval_ns > was_ns
        if widens:
            self.widened += 1
            self._patience.widened(end_ns, self._load)
        else:
            self.narrowed += 1
            self._patience.narrowed_at_ns = end_ns
        self._forget_frames()
        return f"{why}: interval {'widened' if widens else 'narrowed'} to {self.interval_ns / 1e6:.1f} ms"

    def _forget_frames(self) -> None:
        self._frames.clear()
        self._load.changed()
        self._replay = None

    def _most_refreshes(self) -> int:
        assert self._shortest.refresh_ns
        return max(self._shortest.refreshes, int(LONGEST_INTERVAL_NS // self._shortest.refresh_ns))


class ShortestInterval:
    """Shortest frame interval that the display, the user and a temporary bound on the rate allow.

    base_ns: shortest interval if swap does not block. refresh_ns: refresh period if swap blocks; the interval is then
    a whole number of refreshes. wanted_ns: the interval that the user requests; 0: no request. ns: the resulting
    interval. refreshes: the resulting interval in refreshes, if swap blocks.
    """

    def __init__(self, base_ns: int, refresh_ns: int | None, wanted_ns: int) -> None:
        self.refresh_ns = refresh_ns
        self.ns = self.refreshes = 0
        self._at_most_ns = 0  # shortest interval, in ns, that the bound on the rate allows; 0: no bound
        self._base_ns, self._wanted_ns = base_ns, wanted_ns
        self.round_to_refreshes()

    def at_most(self, interval_ns: int) -> None:
        """Sets the shortest interval that the bound on the rate allows; 0: no bound."""
        self._at_most_ns = interval_ns
        self._update()

    def set_base(self, period_ns: int) -> None:
        """Sets the display's own interval, for a display whose swap does not block."""
        self._base_ns = max(self._wanted_ns, period_ns)
        self._update()

    def set_refresh(self, refresh_ns: int | None) -> None:
        """Sets the refresh period, in ns. None: swap does not block. The number of refreshes stays the same."""
        self.refresh_ns = refresh_ns
        self._update()

    def round_to_refreshes(self) -> None:
        """Computes the number of refreshes again. Small changes of `refresh_ns` do not require this."""
        self._own_refreshes = self.whole(self._wanted_ns, WANDER) if self.refresh_ns else 1
        self._update()

    def whole(self, interval_ns: int, wander: float = 1e-6) -> int:
        """Least number of whole refreshes that last at least `interval_ns`. A shortage of up to `wander` refreshes is
        allowed."""
        assert self.refresh_ns
        return max(1, math.ceil(interval_ns / self.refresh_ns - wander))

    def _update(self) -> None:
        self.refreshes = self._own_refreshes
        if not self.refresh_ns:
            self.ns = max(self._base_ns, self._at_most_ns)
            return
        if self._at_most_ns:
            self.refreshes = max(self._own_refreshes, self.whole(self._at_most_ns, WANDER))
        self.ns = self.refreshes * self.refresh_ns


class NarrowingPatience:
    """Length of the work that must be replayed before the frame interval narrows. Each relapse doubles this length."""

    def __init__(self) -> None:
        self.span_ns = NARROW_BY_NS  # length of the work to replay, in ns
        self.narrowed_at_ns: int | None = None
        self._tried_at_ns: int | None = None
        self._relapsed_at_ns: int | None = None

    @property
    def is_calm(self) -> bool:
        """True if no narrowing of the interval failed recently."""
        return self._relapsed_at_ns is None

    def is_due(self, end_ns: int) -> bool:
        """Returns True if narrowing of the interval is due, and then records the attempt."""
        is_due = self._tried_at_ns is None or end_ns - self._tried_at_ns >= NARROW_EVERY_NS
        if is_due:
            self._tried_at_ns = end_ns
        return is_due

    def widened(self, end_ns: int, load: SustainedLoad) -> None:
        """Records that the frame interval was widened. If this happens shortly after the interval narrowed, it is a
        relapse."""
        if self.narrowed_at_ns is not None and end_ns - self.narrowed_at_ns < RELAPSE_NS:
            self.span_ns = min(2 * self.span_ns, LONGEST_NARROW_BY_NS)
            load.relapsed()
            self._relapsed_at_ns = end_ns

    def grow_calm(self, end_ns: int, load: SustainedLoad) -> None:
        """Halves the effect of a relapse after each CALM_NS without another relapse."""
        if self._relapsed_at_ns is not None and end_ns - self._relapsed_at_ns > CALM_NS:
            self.span_ns = max(NARROW_BY_NS, self.span_ns // 2)
            is_calm = load.grew_calm() and self.span_ns == NARROW_BY_NS
            self._relapsed_at_ns = None if is_calm else end_ns
