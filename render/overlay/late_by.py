"""In words, what the last late frame was late by.

A frame is late here when it was shown 2 ms or more after its plan, or held the picture; its cause is told by what is
known at once. The report judges anew with the whole log (`twixt.render.measure.causes`).

Always: empty while no frame was late for `SHOWN_NS`. Reads no clock.
"""

from __future__ import annotations

from collections import deque

from twixt.render.measure.frames import FrameRow
from twixt.render.measure.keys import RENDER_PARTS
from twixt.render.recent import median

LATE_NS = 2_000_000
# Frames of which a part's usual time is the median.
USUAL_OF = 31
SHOWN_NS = 5_000_000_000


class LateBy:
    """Of the frames that it is told."""

    def __init__(self) -> None:
        self._rows: deque[FrameRow] = deque(maxlen=USUAL_OF)
        self._said, self._at_ns, self._now_ns = "", 0, 0

    def note(self, row: FrameRow) -> None:
        """Remembers a frame."""
        self._now_ns = row.present_ns
        said = self._of(row)
        if said:
            self._said, self._at_ns = said, row.present_ns
        self._rows.append(row)

    @property
    def said(self) -> str:
        """Such as "draw, 31 ms more than usual"; empty where frames were in time."""
        return self._said if self._now_ns - self._at_ns < SHOWN_NS else ""

    def _of(self, row: FrameRow) -> str:
        if row.mode == "held" and row.plan_rate > 0:
            return "physics: nothing newer to draw"
        late_ns = row.present_ns - row.predicted_present_ns
        if not row.predicted_present_ns or late_ns < LATE_NS or not self._rows:
            return ""
        usual_ns = [median(before) for before in zip(*map(_parts_ns, self._rows), strict=True)]
        more_ns = [now - usual for now, usual in zip(_parts_ns(row), usual_ns, strict=True)]
        most_ns = max(more_ns)
        if most_ns >= late_ns / 4:
            return f"{tuple(RENDER_PARTS)[more_ns.index(most_ns)]}, {most_ns / 1e6:.0f} ms more than usual"
        return (
            f"display, {late_ns / 1e6:.0f} ms after the plan"
            if _swap_ns(row) > median(map(_swap_ns, self._rows))
            else ""
        )


def _parts_ns(row: FrameRow) -> tuple[int, ...]:
    return tuple(getattr(row, f"{name}_ns") for name in RENDER_PARTS)


def _swap_ns(row: FrameRow) -> int:
    return row.swap_end_ns - row.swap_begin_ns
