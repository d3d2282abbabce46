"""The cores that a viewer's threads may use: those of its affinity mask, without the ones on which physics never rests.

The one idea: a thread that never rests stays on its core until another thread is put there. While the viewer stays
off that core, the viewer's time comes from idle cores, or from another busy program, and physics keeps its own.

- Physics' core is left when physics never rested in most of the last looks; the mask follows it to another core.
- All cores again when physics rests, when its threads that never rest leave no core, and when it is not known.
- A picture that starves on the cores left (under 12 frames a second, drawn as cheaply as is allowed, at work most of
  the time) gets all cores back for some seconds; after each further failure for twice as long.

Always: a subset of `allowed`, and never empty. Pure: looks in, cores out.
"""

from __future__ import annotations

from collections import deque

from twixt.render.guest.shortage import JUDGED, LEAST_FPS, Look, Seen, between
from twixt.render.recent import median

# Of JUDGED looks, those in which physics never rested: so many, and its cores are left; so few, and they are not.
LEAVES, RETURNS = 3, 1
# Threads that never rest: more than this, and not all of them are known (`threads.WATCHED` are looked at).
MOST_THREADS = 3
# Frames starve when they are rarer than this share of LEAST_FPS, and the viewer runs or waits for a core for this share
# of the time: frames that are held back come at LEAST_FPS, and are no reason.
RARE, AT_WORK = 0.8, 0.5
# Judged so long after the cores became fewer: drawing gets cheaper first.
PATIENCE_NS = 4_000_000_000
# All cores for so long after frames starved.
FIRST_PAUSE_NS, LONGEST_PAUSE_NS = 5_000_000_000, 60_000_000_000

Cores = frozenset[int]
NO_CORES: Cores = frozenset()


class CoreChoice:
    """`observe` a look now and then; `cores` is the answer, `left` the cores of `allowed` that are not in it."""

    def __init__(self, allowed: Cores) -> None:
        self.allowed = self.cores = allowed
        self._last: Look | None = None
        self._seen: deque[Seen] = deque(maxlen=JUDGED)
        self._left_ns = 0  # since when a core is left
        self._pause_ends_ns: int | None = None
        self._pause_ns = FIRST_PAUSE_NS

    @property
    def left(self) -> Cores:
        """Cores that are stayed off."""
        return self.allowed - self.cores

    def allow(self, allowed: Cores) -> None:
        """Another affinity mask was set from outside."""
        if allowed != self.allowed:
            self.allowed = self.cores = allowed

    def observe(self, look: Look) -> Cores:
        """Takes in one look and decides."""
        before, self._last = self._last, look
        seen = None if before is None else between(before, look)
        if seen is None:
            return self.cores
        self._seen.append(seen)
        had_left = bool(self.left)
        wanted = self._wanted(look.now_ns, seen)
        if had_left and look.is_cheapest and self._starves(look.now_ns):
            self._pause_ends_ns = look.now_ns + self._pause_ns
            self._pause_ns = min(2 * self._pause_ns, LONGEST_PAUSE_NS)
            wanted = self.allowed
        if self.allowed - wanted and not had_left:
            self._left_ns = look.now_ns
        self.cores = wanted
        return wanted

    def _wanted(self, now_ns: int, seen: Seen) -> Cores:
        if self._pause_ends_ns is not None:
            if now_ns < self._pause_ends_ns:
                return self.allowed
            self._pause_ends_ns = None
        never_rested = sum(bool(one.busy_cores) for one in self._seen)
        if never_rested < (LEAVES if not self.left else RETURNS + 1):
            return self.allowed
        if not seen.busy_cores:
            return self.cores
        if len(seen.busy_cores) > MOST_THREADS or len(seen.busy_cores) >= len(self.allowed):
            return self.allowed
        return self.allowed - set(seen.busy_cores) or self.allowed

    def _starves(self, now_ns: int) -> bool:
        if now_ns - self._left_ns < PATIENCE_NS or len(self._seen) < JUDGED:
            return False
        if median(seen.fps for seen in self._seen) >= RARE * LEAST_FPS:
            return False
        return median(seen.share / max(1e-9, 1 - seen.starved) for seen in self._seen) > AT_WORK
