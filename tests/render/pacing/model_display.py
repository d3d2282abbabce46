"""Model displays with the instants at which frames are really seen, and a machine that takes time away.

A display answers two questions: when may drawing go on (`drawable_ns`), and what becomes of a swap (`swap`: when it comes
back, when its frame is seen). Everything is in virtual time and comes from seeds.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FramePlan, FrameResult, FrameTimes
from twixt.render.pacing.refresh import Refresh

MS = 1_000_000
SIXTY_HZ_NS = round(1e9 / 60)
SWAP_NS, GUARD_NS, LOOP_NS = 50_000, 400_000, 100_000

Work = Callable[[float, int], float]  # seconds since the start, frame -> ms


class Swapped(NamedTuple):
    """What became of a swap."""

    end_ns: int
    seen_ns: int


class Display(Protocol):
    """What a pacer runs against."""

    refresh: Refresh

    def drawable_ns(self, now_ns: int) -> int:
        """When the first call of a frame comes back."""
        ...

    def swap(self, begin_ns: int) -> Swapped: ...


class Grid:
    """Refreshes: `modes` are (from_s, hz), each going on from the last refresh of the one before."""

    def __init__(self, *modes: tuple[float, float]) -> None:
        self._modes = [(round(from_s * 1e9), 1e9 / hz) for from_s, hz in modes]
        self._starts_ns = [0.0]
        for (_, period_ns), (from_ns, _) in pairwise(self._modes):
            start_ns = self._starts_ns[-1]
            self._starts_ns.append(start_ns + max(1, round((from_ns - start_ns) / period_ns)) * period_ns)

    def at_or_after(self, instant_ns: float) -> float:
        k = max(i for i, start_ns in enumerate(self._starts_ns) if start_ns <= max(0, instant_ns))
        start_ns, period_ns = self._starts_ns[k], self._modes[k][1]
        point_ns = start_ns - (start_ns - instant_ns) // period_ns * period_ns
        return point_ns if k + 1 == len(self._starts_ns) else min(point_ns, self._starts_ns[k + 1])


class Timer:
    """Swap waits for nothing; a frame is seen when it is swapped."""

    def __init__(self, refresh: Refresh | None = None) -> None:
        self.refresh = refresh or Refresh(False, None, "timer")

    def drawable_ns(self, now_ns: int) -> int:
        return now_ns

    def swap(self, begin_ns: int) -> Swapped:
        return Swapped(begin_ns + SWAP_NS, begin_ns + SWAP_NS)


class Blocking:
    """Swap comes back when its frame is seen, late by `late_ns()`."""

    def __init__(self, *modes: tuple[float, float], late_ns: Callable[[], int] = lambda: 20_000,
                 guard_ns: int = GUARD_NS) -> None:  # fmt: skip
        self._grid = Grid(*(modes or ((0, 60),)))
        self._last_ns, self._late_ns, self._guard_ns = -1.0, late_ns, guard_ns
        self.refresh = Refresh(True, round(1e9 / (modes or ((0, 60),))[0][1]), "blocking")

    def drawable_ns(self, now_ns: int) -> int:
        return now_ns

    def seen_ns(self, begin_ns: int) -> float:
        self._last_ns = self._grid.at_or_after(max(begin_ns + self._guard_ns, self._last_ns + 1))
        return self._last_ns

    def swap(self, begin_ns: int) -> Swapped:
        seen_ns = round(self.seen_ns(begin_ns))
        return Swapped(seen_ns + self._late_ns(), seen_ns)


class AtOnce(Blocking):
    """Swap comes back at once; the next frame's first call waits until the one before is seen."""

    def drawable_ns(self, now_ns: int) -> int:
        return max(now_ns, round(self._last_ns))

    def swap(self, begin_ns: int) -> Swapped:
        return Swapped(begin_ns + SWAP_NS, round(self.seen_ns(begin_ns)))


class Queue(Blocking):
    """Swap waits only where `depth` frames are still to be seen."""

    def __init__(self, depth: int, *modes: tuple[float, float]) -> None:
        super().__init__(*modes)
        self._pending: deque[float] = deque(maxlen=depth + 1)

    def swap(self, begin_ns: int) -> Swapped:
        seen_ns = self.seen_ns(begin_ns)
        self._pending.append(seen_ns)
        full = len(self._pending) == self._pending.maxlen
        end_ns = max(begin_ns + SWAP_NS, round(self._pending[0]) if full else 0)
        return Swapped(end_ns, round(seen_ns))


class Called(Blocking):
    """Swap waits for the compositor's call, which comes `uneven_ms` (standard deviation) around its frame's refresh."""

    def __init__(self, seed: int, uneven_ms: float, *, is_called: bool = True) -> None:
        super().__init__()
        self._chance, self._uneven_ns = random.Random(seed), uneven_ms * MS
        self.refresh = Refresh(True, SIXTY_HZ_NS, "called", is_called)

    def swap(self, begin_ns: int) -> Swapped:
        seen_ns = round(self.seen_ns(begin_ns))
        called_ns = seen_ns + round(self._chance.gauss(0, self._uneven_ns))
        return Swapped(max(begin_ns + SWAP_NS, called_ns), seen_ns)


class Variable(Blocking):
    """A frame is seen as soon as it is swapped, but not sooner than the shortest refresh after the one before."""

    def seen_ns(self, begin_ns: int) -> float:
        self._last_ns = max(begin_ns + self._guard_ns, self._last_ns + self._grid._modes[0][1])
        return self._last_ns


class Shown(NamedTuple):
    """One frame as it went."""

    plan: FramePlan
    times: FrameTimes
    result: FrameResult
    seen_ns: int
    interval_ns: int
    work_ms: float


class Machine:
    """Wakes late by a little, and takes `stolen` of the seconds away in pieces of 5 to 40 ms."""

    def __init__(self, seed: int, stolen: float = 0.0, wake_ms: float = 0.05) -> None:
        self._chance = random.Random(seed)
        self._stolen, self._wake_ms = stolen, wake_ms

    def wake_ns(self) -> int:
        return round(self._chance.expovariate(1 / self._wake_ms) * MS) if self._wake_ms else 0

    def took_ns(self, span_ns: int) -> int:
        """What it takes away during `span_ns`."""
        if not self._stolen or self._chance.random() > self._stolen * span_ns / (22.5 * MS):
            return 0
        return round(self._chance.uniform(5, 40) * MS)


def play(pacer: Pacer, display: Display, work: Work, seconds: float, machine: Machine | None = None,
         fence: bool = False, from_ns: int = 0) -> list[Shown]:  # fmt: skip
    """The frames of `seconds`. fence: after each swap the frame waits until it is seen, and says so."""
    machine = machine or Machine(0, wake_ms=0)
    shown: list[Shown] = []
    now_ns = from_ns
    while now_ns < from_ns + seconds * 1e9:
        plan = pacer.next_frame(now_ns)
        start_ns = max(now_ns, plan.start_ns + (machine.wake_ns() if plan.start_ns > now_ns else 0))
        work_ms = work((start_ns - from_ns) / 1e9, len(shown))
        begun_ns = display.drawable_ns(start_ns)
        work_end_ns = begun_ns + round(work_ms * MS)
        work_end_ns += machine.took_ns(work_end_ns - begun_ns)
        swap_at_ns = pacer.drawn(start_ns, work_end_ns)
        begin_ns = work_end_ns
        if swap_at_ns is not None and swap_at_ns > work_end_ns:
            begin_ns = swap_at_ns + machine.wake_ns()
        swapped = display.swap(begin_ns)
        end_ns, presented_ns = swapped.end_ns, None
        if fence:
            presented_ns = end_ns = max(swapped.end_ns, swapped.seen_ns)
        times = FrameTimes(start_ns, start_ns, work_end_ns, begin_ns, swapped.end_ns, presented_ns)
        result = pacer.frame_done(times)
        shown.append(Shown(plan, times, result, swapped.seen_ns, pacer.interval_ns, work_ms))
        now_ns = end_ns + LOOP_NS
    return shown


def since(shown: Sequence[Shown], from_s: float, to_s: float = 1e9) -> list[Shown]:
    """The frames begun in that stretch."""
    return [frame for frame in shown if from_s <= frame.times.start_ns / 1e9 < to_s]


def fps(shown: Sequence[Shown]) -> float:
    """Frames seen a second."""
    return (len(shown) - 1) / max(1e-9, (shown[-1].seen_ns - shown[0].seen_ns) / 1e9)


def errors_ms(shown: Sequence[Shown]) -> list[float]:
    """By how much each interval seen differed from the one that was drawn for."""
    return [abs((b.seen_ns - a.seen_ns) - (b.plan.present_ns - a.plan.present_ns)) / MS for a, b in pairwise(shown)]


def share_off(shown: Sequence[Shown], by_ms: float = 2.0) -> float:
    errors = errors_ms(shown)
    return sum(error > by_ms for error in errors) / max(1, len(errors))


def cost(shown: Sequence[Shown], hz: float = 60) -> float:
    """Hitch ms a second, and 16.7 for each frame lost in one."""
    seconds = (shown[-1].seen_ns - shown[0].seen_ns) / 1e9
    hitch_ms = sum(
        max(0, (b.seen_ns - a.seen_ns) - (b.plan.present_ns - a.plan.present_ns)) / MS for a, b in pairwise(shown)
    )
    return hitch_ms / seconds + 16.7 * max(0, hz - fps(shown))
