"""The yardstick below: a fixed interval, whatever happens. It asks the model when the frame before was seen.

One idea: each frame starts at once, drawn for the next point of the grid, or for a later one where the usual work says
that it cannot be done in time. Nothing is learned, nothing is widened.
"""

from __future__ import annotations

from collections import deque

from twixt.cli.bench.pacing.displays import COPY_NS, Display, Timer
from twixt.render.pacing import FramePlan, FrameTimes, Refresh

USUAL_OF_FRAMES = 5
UNKNOWN_NS = round(1e9 / 60)


class NeverWiden:
    """display: what is asked for the truth. Timer: intervals of the reported refresh."""

    def __init__(self, display: Display, refresh: Refresh) -> None:
        self._display, self._period_ns = display, refresh.period_ns or UNKNOWN_NS
        self._swaps_itself = isinstance(display, Timer)
        self._works: deque[int] = deque(maxlen=USUAL_OF_FRAMES)
        self._due_ns: int | None = None

    def next_frame(self, now_ns: int) -> FramePlan:
        """At once, for the next point of the grid."""
        ready_ns = now_ns + (sorted(self._works)[len(self._works) // 2] if self._works else 0)
        shown = self._display.visible_ns
        last_ns = shown[-1] if shown else now_ns
        if self._swaps_itself:
            self._due_ns = max(ready_ns + COPY_NS, (self._due_ns or last_ns) + self._period_ns)
        else:
            self._due_ns = last_ns + self._period_ns
            if ready_ns > self._due_ns:
                self._due_ns += -((self._due_ns - ready_ns) // self._period_ns) * self._period_ns
        swap_at_ns = self._due_ns - COPY_NS if self._swaps_itself else None
        return FramePlan(now_ns, swap_at_ns, self._due_ns, self._period_ns, 1, "")

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        """Swapped at its point of the grid where nothing else keeps the pace."""
        began_ns = max(start_ns, self._display.visible_ns[-1]) if self._display.blocks_next_call else start_ns
        self._works.append(max(1, work_end_ns - began_ns))
        return self._due_ns - COPY_NS if self._swaps_itself and self._due_ns is not None else None

    def frame_done(self, times: FrameTimes) -> None:
        """Nothing is learned."""

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        """The model is asked, not its display."""
