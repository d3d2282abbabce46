"""In words, what the last late frame was late by.

A frame is late here when it was shown 2 ms or more after its plan, or held the picture; its cause is told by what is
known at once. The report judges anew with the whole log (`twixt.render.measure.causes`).

Always: empty while no frame was late for `SHOWN_NS`. Reads no clock.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from twixt.render.measure.frames import FrameRow

LATE_NS = 2_000_000
# Frames of which a part's usual time is the median.
USUAL_OF = 31
SHOWN_NS = 5_000_000_000
PARTS = ("draw", "upload", "user", "gc", "stolen", "other")


class LateBy:
    """Of the frames that it is told."""

    def __init__(self) -> None:
        self._parts_ns: deque[tuple[int, ...]] = deque(maxlen=USUAL_OF)
        self._swaps_ns: deque[int] = deque(maxlen=USUAL_OF)
        self._said, self._at_ns, self._now_ns = "", 0, 0

    def note(self, row: FrameRow) -> None:
        """Remembers a frame."""
        parts_ns = tuple([row.draw_ns, row.upload_ns, row.user_ns, row.gc_ns, row.stolen_ns, row.other_ns])
        swap_ns = row.swap_end_ns - row.swap_begin_ns
        self._now_ns = row.present_ns
        said = self._of(row, parts_ns, swap_ns)
        if said:
            self._said, self._at_ns = said, row.present_ns
        self._parts_ns.append(parts_ns)
        self._swaps_ns.append(swap_ns)

    @property
    def said(self) -> str:
        """Such as "draw, 31 ms more than usual"; empty where frames were in time."""
        return self._said if self._now_ns - self._at_ns < SHOWN_NS else ""

    def _of(self, row: FrameRow, parts_ns: tuple[int, ...], swap_ns: int) -> str:
        if row.mode == "held" and row.plan_rate > 0:
            return "physics: nothing newer to draw"
        late_ns = row.present_ns - row.predicted_present_ns
        if not row.predicted_present_ns or late_ns < LATE_NS or not self._parts_ns:
            return ""
        more_ns = [
            now - median(before) for now, before in zip(parts_ns, zip(*self._parts_ns, strict=True), strict=True)
        ]
        most_ns = max(more_ns)
        if most_ns >= late_ns / 4:
            return f"{PARTS[more_ns.index(most_ns)]}, {most_ns / 1e6:.0f} ms more than usual"
        return f"display, {late_ns / 1e6:.0f} ms after the plan" if swap_ns > median(self._swaps_ns) else ""
