"""How long a frame may take: wide enough for the work, never wider for long.

Two signals widen: one frame whose work exceeded the interval (at once, to 1.2 times that work), and misses in more
than a tenth of the last frames. One narrows: a clean window with room to spare. What keeps it from swinging:
between "fits the display's own interval with room to spare" and "needs a tenth more" lies a band where one and the
same interval serves, and a widening soon after a narrowing doubles the window that the next one needs.

*Work* is wake to completed drawing. *Cycle* is work and all else a frame must do before the next can start, waiting not
counted: what the interval has to hold. Where swap blocks, intervals are whole refreshes. Pure.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from twixt.render.recent import Recent

WIDEN = 1.2
# The first frames compile programs and fill caches; they say nothing of the next.
WARM_UP_FRAMES = 3
# Work of so many intervals is a stall (a picture saved, a laptop that slept), not a load, unless the next frame is
# as long. Where the interval is wide for a load that is over, so many times the usual work: the median of so many frames.
STALL = 4.0
USUAL_OF_FRAMES = 15
# An interval already fitted to the work has little room on purpose: work this much over it is a miss, not a change.
TIGHT = 1.1
# Misses widen when more than this share of the last frames missed, judged on no fewer than so many.
MISSED_SHARE, MISS_WINDOW_FRAMES, MISSES_JUDGED_FRAMES = 0.10, 60, 20
REMEMBERED_FRAMES = 1000  # a clean window at any rate a display has
# A miss counts against the interval when the frame's cycle took this share of it; a shorter one missed for other
# reasons (woken late, display late), which a wider interval does not cure.
COSTLY = 0.75
# Room to spare that the display's own interval must leave, and the room in an interval fitted to the work.
ROOM, FITTED_ROOM = 0.88, 1.003
# The room is left by this share of a clean window's frames: one in ten may be dearer, as long as it is not late.
ROOMY_SHARE = 0.9
# The cycle to fit to: what this share of the frames stays under. Those above are caught up in the frames after.
USUAL = 0.75
# A clean window: at least so long and so many frames; so much longer before an interval is fitted tightly. A single
# late frame then costs a run of 20 s under 1 % of its frames. Doubled when a widening follows a narrowing within
# RELAPSE_NS, up to the longest, which still lets a load that ended be forgotten within 3 s; halved again after each
# calm spell.
CLEAN_NS, LONGEST_CLEAN_NS, CLEAN_FRAMES = 300_000_000, 1_200_000_000, 4
FITTING_WINDOWS = 3
RELAPSE_NS, CALM_NS = 3_000_000_000, 10_000_000_000
# One narrowing goes no further than to this share, and none is made for less than NOT_WORTH.
NARROW_STEP, NOT_WORTH = 0.25, 0.98
# A wish for whole refreshes (--fps 30) is still met when the measured refresh is off by this share.
WANDER = 0.03


class _Frame(NamedTuple):
    end_ns: int
    cycle_ns: int
    missed: bool


class IntervalPolicy:
    """interval_ns: what frames should take now; never under `base_ns`, the shortest wanted.

    refresh_ns: where swap blocks, the length of a refresh; may be updated as it is measured. The interval then is a
    number of refreshes, and stays that number when their measured length changes.
    """

    def __init__(self, base_ns: int, refresh_ns: int | None = None) -> None:
        self.refresh_ns = refresh_ns
        self.widened = self.narrowed = 0
        self._base_ns = base_ns
        self._fitted_ns = base_ns  # where swap does not block
        self.refreshes = self._base_refreshes = self._whole(base_ns, WANDER) if refresh_ns else 1
        self._frames: deque[_Frame] = deque(maxlen=REMEMBERED_FRAMES)
        self._seen = 0
        self._stalled = False
        self._works = Recent(USUAL_OF_FRAMES)
        self._clean_ns = CLEAN_NS
        self._narrowed_at_ns: int | None = None
        self._relapsed_at_ns: int | None = None

    @property
    def interval_ns(self) -> int:
        return self.refreshes * self.refresh_ns if self.refresh_ns else self._fitted_ns

    @property
    def base_ns(self) -> int:
        """The shortest interval wanted."""
        return self._base_refreshes * self.refresh_ns if self.refresh_ns else self._base_ns

    def work_done(self, work_ns: int, end_ns: int) -> str:
        """A frame's drawing is complete. Why the interval changed, or ""."""
        self._seen += 1
        was_ns = self.interval_ns
        usual_ns = max(self.base_ns, self._works.quantile(0.5, was_ns))
        stalled, self._stalled = self._stalled, work_ns > STALL * min(was_ns, usual_ns)
        self._works.add(work_ns)
        if self._seen <= WARM_UP_FRAMES or work_ns <= was_ns * self._tolerated():
            return ""
        if self._stalled and not stalled:
            return ""
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
        self._set(max(wanted_ns, was_ns))
        self.widened += 1
        self._frames.clear()
        if self._narrowed_at_ns is not None and end_ns - self._narrowed_at_ns < RELAPSE_NS:
            self._clean_ns = min(2 * self._clean_ns, LONGEST_CLEAN_NS)
            self._relapsed_at_ns = end_ns
        return f"{why}: widened to {self.interval_ns / 1e6:.1f} ms"

    def _widen_for_misses(self, end_ns: int) -> str:
        frames = list(islice(reversed(self._frames), MISS_WINDOW_FRAMES))
        missed = sum(frame.missed for frame in frames)
        if len(frames) < MISSES_JUDGED_FRAMES or missed <= MISSED_SHARE * len(frames):
            return ""
        why = f"{missed} of {len(frames)} frames missed"
        wanted_ns = self._holding(_cycle(frames, 0.9))
        return self._widen(max(wanted_ns, round(self.interval_ns * (1 + 1 - NOT_WORTH))), end_ns, why)

    def _narrow(self, end_ns: int) -> str:
        was_ns = self.interval_ns
        if was_ns <= self.base_ns:
            self._grow_calm(end_ns)
            return ""
        clean = self._clean_frames(end_ns, self._clean_ns)
        if clean and not self._is_roomy(_cycle(clean, ROOMY_SHARE)):
            clean = self._clean_frames(end_ns, FITTING_WINDOWS * self._clean_ns)
        if not clean:
            return ""
        holding_ns = self._holding(_cycle(clean, ROOMY_SHARE), _cycle(clean, USUAL))
        fitted_ns = max(holding_ns, round(was_ns * NARROW_STEP))
        narrowed_ns = self._whole(fitted_ns) * self.refresh_ns if self.refresh_ns else fitted_ns
        if narrowed_ns > NOT_WORTH * was_ns:
            return ""
        self._set(narrowed_ns)
        self.narrowed += 1
        self._narrowed_at_ns = end_ns
        self._frames.clear()
        most_ms, now_ms = _cycle(clean, 1.0) / 1e6, self.interval_ns / 1e6
        return f"{len(clean)} clean frames, at most {most_ms:.1f} ms: narrowed to {now_ms:.1f} ms"

    def _holding(self, nearly_all_ns: int, usual_ns: int | None = None) -> int:
        """The interval for cycles nearly all under `nearly_all_ns`, usually under `usual_ns`."""
        if self._is_roomy(nearly_all_ns):
            return max(self.base_ns, round(nearly_all_ns / ROOM))
        usual_ns = nearly_all_ns if usual_ns is None else usual_ns
        return max(round(self.base_ns * TIGHT), round(usual_ns * FITTED_ROOM))

    def _is_roomy(self, most_ns: int) -> bool:
        """Whether cycles of at most `most_ns` get an interval with room to spare, not one fitted to them."""
        return self.refresh_ns is not None or most_ns <= ROOM * self.base_ns

    def _set(self, interval_ns: int) -> None:
        self._fitted_ns = interval_ns
        if self.refresh_ns:
            self.refreshes = self._whole(interval_ns)

    def _whole(self, interval_ns: int, wander: float = 1e-6) -> int:
        """Refreshes that hold `interval_ns`, give or take `wander` of one."""
        assert self.refresh_ns
        return max(1, math.ceil(interval_ns / self.refresh_ns - wander))

    def _clean_frames(self, end_ns: int, window_ns: int) -> list[_Frame]:
        """The frames of the last `window_ns`, if it is full and clean; else none."""
        clean: list[_Frame] = []
        for frame in reversed(self._frames):
            if frame.missed:
                return []
            clean.append(frame)
            if end_ns - frame.end_ns >= window_ns and len(clean) >= CLEAN_FRAMES:
                return clean[::-1]
        return []

    def _grow_calm(self, end_ns: int) -> None:
        if self._relapsed_at_ns is not None and end_ns - self._relapsed_at_ns > CALM_NS:
            self._clean_ns = max(CLEAN_NS, self._clean_ns // 2)
            self._relapsed_at_ns = end_ns if self._clean_ns > CLEAN_NS else None


def _cycle(frames: Sequence[_Frame], share: float) -> int:
    ordered = sorted(frame.cycle_ns for frame in frames)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
