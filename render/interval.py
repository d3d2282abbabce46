"""How long a frame may take: wide enough for the work, never wider for long.

Two signals widen: one frame whose work exceeded the interval (at once, to 1.2 times that work), and misses in more
than a tenth of the last frames. One narrows: a clean window with room to spare. What keeps it from swinging:
between "fits the display's own interval with a tenth to spare" and "needs a tenth more" lies a band where one
and the same interval serves, and a widening soon after a narrowing doubles the window that the next one needs.

*Work* is wake to completed drawing. *Cycle* is work and all else a frame must do before the next can start, waiting not
counted: what the interval has to hold. Where swap blocks, intervals are whole refreshes. Pure.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

WIDEN = 1.2
# The first frames compile programs and fill caches; they say nothing of the next.
WARM_UP_FRAMES = 3
# An interval already fitted to the work has little room on purpose: work this much over it is a miss, not a change.
TIGHT = 1.1
# Misses widen when more than this share of the last frames missed, judged on no fewer than so many.
MISSED_SHARE, MISS_WINDOW_FRAMES, MISSES_JUDGED_FRAMES = 0.10, 60, 20
# A miss counts against the interval when the frame's cycle took this share of it; a shorter one missed for other
# reasons (woken late, display late), which a wider interval does not cure.
COSTLY = 0.75
# Room to spare that the display's own interval must leave, and the room in an interval fitted to the work.
ROOM, FITTED_ROOM = 0.9, 1.005
# A clean window: at least so long and so many frames. A single late frame then costs a run of 20 s under 1 % of its
# frames. Doubled when a widening follows a narrowing within RELAPSE_NS, up to the longest, which still lets a load
# that ended be forgotten within 3 s; halved again after each calm spell.
CLEAN_NS, LONGEST_CLEAN_NS, CLEAN_FRAMES = 300_000_000, 1_200_000_000, 8
RELAPSE_NS, CALM_NS = 3_000_000_000, 10_000_000_000
# One narrowing goes no further than to this share, and none is made for less than NOT_WORTH.
NARROW_STEP, NOT_WORTH = 0.5, 0.98


class _Frame(NamedTuple):
    end_ns: int
    cycle_ns: int
    missed: bool


class IntervalPolicy:
    """interval_ns: what frames should take now; never under `base_ns`, the shortest wanted.

    refresh_ns: where swap blocks, the length of a refresh; may be updated as it is measured.
    """

    def __init__(self, base_ns: int, refresh_ns: int | None = None) -> None:
        self.base_ns = base_ns
        self.refresh_ns = refresh_ns
        self.widened = self.narrowed = 0
        self._fitted_ns = base_ns
        self._frames: deque[_Frame] = deque(maxlen=MISS_WINDOW_FRAMES)
        self._seen = 0
        self._clean_ns = CLEAN_NS
        self._narrowed_at_ns: int | None = None
        self._relapsed_at_ns: int | None = None

    @property
    def refreshes(self) -> int:
        """Refreshes a frame spans; 1 where swap does not block."""
        return self._refreshes(self._fitted_ns) if self.refresh_ns else 1

    @property
    def interval_ns(self) -> int:
        return self.refreshes * self.refresh_ns if self.refresh_ns else self._fitted_ns

    def work_done(self, work_ns: int, end_ns: int) -> str:
        """A frame's drawing is complete. Why the interval changed, or ""."""
        self._seen += 1
        if self._seen <= WARM_UP_FRAMES or work_ns <= self.interval_ns * self._tolerated():
            return ""
        was_ns = self.interval_ns
        return self._widen(round(WIDEN * work_ns), end_ns, f"work {work_ns / 1e6:.1f} ms > {was_ns / 1e6:.1f} ms")

    def frame_shown(self, cycle_ns: int, missed: bool, end_ns: int) -> str:
        """A frame is presented. Why the interval changed for the next, or ""."""
        costly = missed and cycle_ns > COSTLY * self.interval_ns
        if self._seen > WARM_UP_FRAMES:
            self._frames.append(_Frame(end_ns, cycle_ns, costly))
        return self._widen_for_misses(end_ns) or self._narrow(end_ns)

    def _tolerated(self) -> float:
        return TIGHT if self.interval_ns > self.base_ns and not self.refresh_ns else 1.0

    def _widen(self, wanted_ns: int, end_ns: int, why: str) -> str:
        was_ns = self.interval_ns
        self._fitted_ns = max(wanted_ns, was_ns)
        self.widened += 1
        self._frames.clear()
        if self._narrowed_at_ns is not None and end_ns - self._narrowed_at_ns < RELAPSE_NS:
            self._clean_ns = min(2 * self._clean_ns, LONGEST_CLEAN_NS)
            self._relapsed_at_ns = end_ns
        return f"{why}: widened to {self.interval_ns / 1e6:.1f} ms"

    def _widen_for_misses(self, end_ns: int) -> str:
        frames = self._frames
        missed = sum(frame.missed for frame in frames)
        if len(frames) < MISSES_JUDGED_FRAMES or missed <= MISSED_SHARE * len(frames):
            return ""
        why = f"{missed} of {len(frames)} frames missed"
        wanted_ns = self._holding(_cycle(frames, 0.9))
        return self._widen(max(wanted_ns, round(self.interval_ns * (1 + 1 - NOT_WORTH))), end_ns, why)

    def _narrow(self, end_ns: int) -> str:
        was_ns = self.interval_ns
        if was_ns <= self._shortest_ns():
            self._grow_calm(end_ns)
            return ""
        clean = self._clean_frames()
        if len(clean) < CLEAN_FRAMES or end_ns - clean[0].end_ns < self._clean_ns:
            return ""
        fitted_ns = max(self._holding(_cycle(clean, 1.0), _cycle(clean, 0.9)), round(was_ns * NARROW_STEP))
        narrowed_ns = self._refreshes(fitted_ns) * self.refresh_ns if self.refresh_ns else fitted_ns
        if narrowed_ns > NOT_WORTH * was_ns:
            return ""
        self._fitted_ns = fitted_ns
        self.narrowed += 1
        self._narrowed_at_ns = end_ns
        self._frames.clear()
        return f"{len(clean)} clean frames, at most {_cycle(clean, 1.0) / 1e6:.1f} ms: narrowed to {self.interval_ns / 1e6:.1f} ms"

    def _holding(self, most_ns: int, usual_ns: int | None = None) -> int:
        """The interval for cycles of at most `most_ns`, usually `usual_ns`."""
        if self.refresh_ns:
            return max(self.base_ns, round(most_ns / ROOM))
        if most_ns <= ROOM * self.base_ns:
            return self.base_ns
        usual_ns = most_ns if usual_ns is None else usual_ns
        return max(round(self.base_ns * TIGHT), round(usual_ns * FITTED_ROOM))

    def _refreshes(self, interval_ns: int) -> int:
        assert self.refresh_ns
        # A measured refresh wanders by a fraction of a percent; an interval of "two refreshes" must not become three.
        return max(1, math.ceil(interval_ns / self.refresh_ns - 0.03))

    def _shortest_ns(self) -> int:
        return self._refreshes(self.base_ns) * self.refresh_ns if self.refresh_ns else self.base_ns

    def _clean_frames(self) -> list[_Frame]:
        """The frames since the last costly miss or change."""
        clean: list[_Frame] = []
        for frame in reversed(self._frames):
            if frame.missed:
                break
            clean.append(frame)
        return clean[::-1]

    def _grow_calm(self, end_ns: int) -> None:
        if self._relapsed_at_ns is not None and end_ns - self._relapsed_at_ns > CALM_NS:
            self._clean_ns = max(CLEAN_NS, self._clean_ns // 2)
            self._relapsed_at_ns = end_ns if self._clean_ns > CLEAN_NS else None


def _cycle(frames: deque[_Frame] | list[_Frame], share: float) -> int:
    ordered = sorted(frame.cycle_ns for frame in frames)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
