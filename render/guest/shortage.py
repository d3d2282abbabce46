"""Whether cores are short, and how many frames a second the viewer then draws at most.

The one idea: the kernel knows who waits for a core. Physics that never rests (an unthrottled loop, an overloaded
world) and waits is taken from by whoever else runs, its viewer included: then frames become rarer, step by step, until
it waits no more, or the viewer's share is too small to matter. Physics that rests between its steps is taken nothing
from, whatever else is busy, and no frame is given up for it.

- Cheaper first: no frame is given up as long as drawing may still get cheaper.
- Quick in: a step down every 0.3 s while physics waits. Slow out: a smaller step up every 0.7 s while it does not; as
  many frames as were too many just now are tried again ever more rarely, or the rate would swing.
- Not by a spike: what is judged is the median of the last looks, half a second of them.
- Never under 15 frames a second, nor below a share of a core that costs physics a few percent at most.
- `is_short` also where this process waits itself: drawing then gets cheaper, which helps both.

Pure: sums of times in, answers out. A look that lies far from the one before (the process was stopped, frames rested)
or whose sums run back only begins anew; what was decided stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from twixt.render.recent import median

# Looks that are judged together; they come ten a second.
JUDGED = 5
# A look this long after the one before says nothing (ns).
LONGEST_LOOK_NS = 600_000_000
# Physics never rests: its busiest thread runs, or waits to, for this share of the time.
NEVER_RESTS = 0.8
# It waits for this share of the time: too much, and little enough to try more frames. Some of it is the kernel's own.
WAITS, WAITS_NOT = 0.04, 0.02
# Of the time that this process wanted a core, it waited so much of it: cores are short; they no longer are.
STARVES, STARVES_NOT = 0.30, 0.10
# Frames a second that are always drawn: 15, and one for those that a busy machine loses.
LEAST_FPS = 16.0
# A viewer that takes no more of a core than this is not made rarer: with one other busy program on two cores, physics
# loses half of it.
LEAST_SHARE = 0.10
# Steps of the bound, and how long each is given to show.
DOWN, DOWN_NS, UP, UP_NS = 0.8, 300_000_000, 1.1, 700_000_000
# As many frames as were too many are tried again after so long at most: doubled from a step's time by each failure.
LONGEST_UP_NS = 8 * UP_NS
# A bound that frames do not reach any more binds nothing: they come at less than this share of it. Where swap blocks, a
# bound just under the display's rate halves it.
REACHED = 0.45
# Above this no bound is kept: more frames than any display shows.
MOST_FPS = 250.0
# `is_short` ends after so long without a sign of it.
CALM_NS = 3_000_000_000

Times = dict[int, tuple[int, int]]  # by thread: ns that it ran, ns that it waited for a core


class Look(NamedTuple):
    """Sums up to one instant. ns."""

    now_ns: int
    frames: int
    cpu_ns: int  # this process ran
    waited_ns: int  # its threads that draw waited for a core
    physics: Times  # empty: not known
    cores: Mapping[int, int] = {}  # the core of each thread of physics that is known
    is_cheapest: bool = True  # frames are drawn as cheaply as is allowed


class Seen(NamedTuple):
    """Between two looks."""

    fps: float
    share: float  # of a core that this process had
    starved: float  # of the time that it wanted a core, how much of it it waited
    waits: float  # of the time, how much physics waited; 0 where it rests or is not known
    busy_cores: tuple[int, ...] = ()  # of physics' threads that never rested, one for each thread


class Shortage:
    """`observe` a look now and then; `is_short` and `most_fps` are the answers."""

    def __init__(self) -> None:
        self.is_short = False
        self.most_fps: float | None = None
        self._last: Look | None = None
        self._seen: deque[Seen] = deque(maxlen=JUDGED)
        self._changed_ns = self._short_ns = 0
        self._too_many_fps: float | None = None  # physics waited when so many were drawn
        self._again_ns = UP_NS  # how long until as many are tried again

    def observe(self, look: Look) -> None:
        """Takes in one look and decides."""
        before, self._last = self._last, look
        seen = None if before is None else between(before, look)
        if seen is None:
            return
        self._seen.append(seen)
        if len(self._seen) < JUDGED:
            return
        waits, starved = self._usual("waits"), self._usual("starved")
        self._judge(look.now_ns, waits, starved)
        self._bound(look, waits)

    def _usual(self, name: str) -> float:
        return median(getattr(seen, name) for seen in self._seen)

    def _judge(self, now_ns: int, waits: float, starved: float) -> None:
        if waits > WAITS or starved > STARVES:
            self.is_short, self._short_ns = True, now_ns
        elif waits > WAITS_NOT or starved > STARVES_NOT:
            self._short_ns = now_ns  # neither: it stays as it is
        elif now_ns - self._short_ns >= CALM_NS:
            self.is_short = False

    def _bound(self, look: Look, waits: float) -> None:
        now_ns = look.now_ns
        passed_ns = now_ns - self._changed_ns
        if waits > WAITS and passed_ns >= DOWN_NS:
            if not look.is_cheapest:
                return
            now = min(self.most_fps or MOST_FPS, self._usual("fps"))
            wanted = max(now * DOWN, self._least_fps())
            if wanted < now:
                if self._too_many_fps is not None and now >= self._too_many_fps:
                    self._again_ns = min(2 * self._again_ns, LONGEST_UP_NS)
                self._too_many_fps = now
                self._set(wanted, now_ns)
        elif self.most_fps is not None and waits < WAITS_NOT and passed_ns >= UP_NS:
            self._raise(self.most_fps, passed_ns, now_ns)

    def _raise(self, most_fps: float, passed_ns: int, now_ns: int) -> None:
        """A step up, and none where as many frames were too many a short while ago."""
        fps = self._usual("fps")
        if self._too_many_fps is not None and fps >= self._too_many_fps:
            self._too_many_fps, self._again_ns = None, UP_NS  # no longer
        more = most_fps * UP
        if self._too_many_fps is not None and more >= self._too_many_fps and passed_ns < self._again_ns:
            return
        self._set(None if more > MOST_FPS or fps < REACHED * most_fps else more, now_ns)

    def _least_fps(self) -> float:
        fps, share = self._usual("fps"), self._usual("share")
        return max(LEAST_FPS, LEAST_SHARE * fps / share if share > 0 else LEAST_FPS)

    def _set(self, fps: float | None, now_ns: int) -> None:
        self.most_fps, self._changed_ns = fps, now_ns


def between(before: Look, after: Look) -> Seen | None:
    """What passed between two looks; None where that says nothing."""
    wall_ns = after.now_ns - before.now_ns
    frames, cpu_ns = after.frames - before.frames, after.cpu_ns - before.cpu_ns
    waited_ns = max(0, after.waited_ns - before.waited_ns)
    if not 0 < wall_ns <= LONGEST_LOOK_NS or frames < 0 or cpu_ns < 0:
        return None
    wanted_ns = cpu_ns + waited_ns
    busy = _never_rested(before.physics, after.physics, wall_ns)
    return Seen(
        frames * 1e9 / wall_ns, cpu_ns / wall_ns, waited_ns / wanted_ns if wanted_ns else 0.0,
        min(1.0, busy[0].waited_ns / wall_ns) if busy else 0.0,
        tuple(after.cores[one.thread] for one in busy if one.thread in after.cores),
    )  # fmt: skip


class _Busy(NamedTuple):
    wanted_ns: int  # it ran, or waited for a core
    waited_ns: int
    thread: int


def _never_rested(before: Times, after: Times, wall_ns: int) -> list[_Busy]:
    """The threads that wanted a core nearly all the time, the busiest first."""
    found = []
    for thread, (ran_ns, queued_ns) in after.items():
        if thread in before:
            ran_ns, queued_ns = ran_ns - before[thread][0], queued_ns - before[thread][1]
            if ran_ns >= 0 and queued_ns >= 0 and ran_ns + queued_ns >= NEVER_RESTS * wall_ns:
                found.append(_Busy(ran_ns + queued_ns, queued_ns, thread))
    return sorted(found, reverse=True)
