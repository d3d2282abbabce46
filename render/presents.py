"""What is known of the presents of frames: written into the rows, and told to the pacer.

The one idea: a frame's row is written when its swap is back; the display's own word on it comes some frames later, and
is brought to the row then.

Always: never waits. A frame that the display says nothing of keeps what was known of it at its swap.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from twixt.render.measure.log import FrameLog
from twixt.render.pacing.pacer import Pacer

# Frames whose present may still be told, and how long after its swap.
MOST_AWAITED = 4
LONGEST_AWAITED_NS = 250_000_000


class Presents:
    """Of the frames of one window."""

    def __init__(self, window: Any, log: FrameLog, pacer: Pacer) -> None:
        self._window, self._log, self._pacer = window, log, pacer
        self._awaited: deque[tuple[int, int, int]] = deque(maxlen=MOST_AWAITED)  # swap, its frame, its return

    def source(self, fenced_ns: int | None) -> str:
        """By what the present of a frame is known whose swap has just come back."""
        if fenced_ns is not None:
            return "fence"
        return "swap" if self._pacer.blocks else "timer"

    def shown(self, frame: int, swap_end_ns: int) -> None:
        """A frame's row is in the log."""
        self._awaited.append((self._window.swap_number, frame, swap_end_ns))

    def take(self) -> None:
        """What the display said meanwhile, into rows and pacer."""
        for said in self._window.take_presents():
            frame = self._frame_of(said.swap_number, said.present_ns)
            if frame is None:
                continue
            self._log.display_said(frame, said.present_ns, said.flags)
            if said.was_shown:
                self._pacer.display_said(said.present_ns, said.refresh_ns)

    def _frame_of(self, swap_number: int, present_ns: int) -> int | None:
        for number, frame, swap_end_ns in self._awaited:
            if number == swap_number and present_ns - swap_end_ns < LONGEST_AWAITED_NS:
                return frame
        return None
