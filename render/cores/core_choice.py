"""Cores that a viewer's threads use: those of its affinity mask, without the ones on which physics never rests.

The one idea: a thread that never rests stays on its core until the scheduler puts another thread there. While the
viewer stays off that core, its time comes from idle cores or from another busy program, and physics keeps its core.

- Physics' core is avoided when physics never rested in 3 of the last 5 differences. If physics moves to another core,
  that core is avoided instead.
- All cores are used again when physics rests, and when its threads that never rest leave no core or are too many to
  be known.
- Frames that starve on the remaining cores (under 12.8 a second, drawn at the cheapest allowed level, with the viewer
  running or waiting for a core more than half of the time) get all cores for 5 s; after each further failure for twice
  as long, up to 60 s.

Always: `cores` is a subset of `allowed`, and empty only where `allowed` is. Pure: differences of samples in, cores out.
"""

from __future__ import annotations

from collections.abc import Sequence

from twixt.ipc.quantiles import median
from twixt.render.cores.core_load import JUDGED, CoreUse
from twixt.render.cores.core_shortage import LEAST_FPS

# Of JUDGED differences, those in which physics never rested: from LEAVES on its cores are avoided; at RETURNS or fewer
# they are used again.
LEAVES, RETURNS = 3, 1
# Most threads that never rest: with more, some may be unknown, because only `thread_time.WATCHED` are sampled.
MOST_THREADS = 3
# Frames starve when their rate is below RARE times LEAST_FPS and the viewer runs or waits for a core for more than this
# share of the time. Frames held back by `core_shortage` come at LEAST_FPS and so do not count as starved.
RARE, AT_WORK = 0.8, 0.5
# Starvation is judged this long after the cores became fewer: drawing gets cheaper first.
PATIENCE_NS = 4_000_000_000
# Use of all cores after frames starved: first time, and longest.
FIRST_PAUSE_NS, LONGEST_PAUSE_NS = 5_000_000_000, 60_000_000_000

Cores = frozenset[int]
NO_CORES: Cores = frozenset()


class CoreChoice:
    """Choice of cores for one viewer. allowed: its affinity mask. cores: the cores to use."""

    def __init__(self, allowed: Cores) -> None:
        self.allowed = self.cores = allowed
        self._avoided_since_ns = 0
        self._pause_ends_ns: int | None = None
        self._pause_ns = FIRST_PAUSE_NS

    @property
    def avoided(self) -> Cores:
        """Cores of `allowed` that are not used."""
        return self.allowed - self.cores

    def allow(self, allowed: Cores) -> None:
        """Takes in the affinity mask; uses all of it if it changed from outside."""
        if allowed != self.allowed:
            self.allowed = self.cores = allowed

    def observe(self, uses: Sequence[CoreUse], busy: Sequence[int]) -> Cores:
        """Returns the cores to use. uses: the last differences, at least one. busy: the core of each thread of physics
        that never rested in the last difference; a thread whose core is not known is left out.
        """
        now_ns = uses[-1].now_ns
        had_avoided = bool(self.avoided)
        wanted = self._wanted(uses, busy)
        if had_avoided and uses[-1].is_cheapest and self._starves(uses):
            self._pause_ends_ns = now_ns + self._pause_ns
            self._pause_ns = min(2 * self._pause_ns, LONGEST_PAUSE_NS)
            wanted = self.allowed
        if self.allowed - wanted and not had_avoided:
            self._avoided_since_ns = now_ns
        self.cores = wanted
        return wanted

    def _wanted(self, uses: Sequence[CoreUse], busy: Sequence[int]) -> Cores:
        if self._pause_ends_ns is not None:
            if uses[-1].now_ns < self._pause_ends_ns:
                return self.allowed
            self._pause_ends_ns = None
        never_rested = sum(bool(use.never_rested) for use in uses)
        if never_rested < (LEAVES if not self.avoided else RETURNS + 1):
            return self.allowed
        if not busy:
            return self.cores
        if len(busy) > MOST_THREADS or len(busy) >= len(self.allowed):
            return self.allowed
        return self.allowed - set(busy) or self.allowed

    def _starves(self, uses: Sequence[CoreUse]) -> bool:
        if uses[-1].now_ns - self._avoided_since_ns < PATIENCE_NS or len(uses) < JUDGED:
            return False
        if median(use.fps for use in uses) >= RARE * LEAST_FPS:
            return False
        return median(use.share / max(1e-9, 1 - use.starved) for use in uses) > AT_WORK
