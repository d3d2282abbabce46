"""What a frame's drawing takes without waiting for the display, where the display may block the first drawing call.

Started at once, such a frame waits inside its own drawing: work and waiting are one. So now and then one frame starts a
little later. If its drawing gets shorter by that, it had been waiting; the pause is lengthened until it no longer does,
and what remains is work. If it never gets shorter, nothing waits. Pure.
"""

from __future__ import annotations

from collections import deque

from twixt.render.recent import median

# Frames between pauses until so many were measured, and the time between them then.
FIRST_FRAMES, LOOK_EVERY_NS = 4, 500_000_000
# Pauses, as shares of a refresh; each is tried until drawing stops getting shorter.
PAUSES = (0.15, 0.3, 0.5, 0.7, 0.85)
# A paused frame must still be in time for the next refresh: the pause takes no more than this share of what is left of
# two refreshes after twice the longest work of late.
SAFE_SHARE = 0.8
# Drawing is shorter where it is so by this share of a refresh.
SHORTER_SHARE = 0.1
# Bare work is the median of so many.
REMEMBERED, ENOUGH = 15, 7
# Drawing is as long after a pause as before it, and in the frame after that: so many times in a row, and nothing waits.
# A display that keeps the pace would have shown the paused frame a refresh later, and the next would have waited for it.
UNMOVED, UNMOVED_PAUSE = 3, 0.5
# Drawing that takes so many times the bare work waits.
WAITS = 1.1
# Drawing at once, of so many frames.
LAST_FRAMES = 8


class BareWork:
    """work_ns: None until it is known."""

    def __init__(self) -> None:
        self.was_paused = self.was_shorter = False
        self._known: deque[int] = deque(maxlen=REMEMBERED)
        self._at_once: deque[int] = deque(maxlen=LAST_FRAMES)
        self._unmoved = 0
        self._looks_after = False
        self._paused_ns = 0
        self._pause = 0  # index of the next
        self._frames = 0
        self._looked_ns: int | None = None
        self._before_ns = 0.0

    @property
    def work_ns(self) -> int | None:
        return round(median(self._known)) if self._known else None

    @property
    def waits(self) -> bool:
        """Whether drawing is known to wait."""
        return self.work_ns is not None and bool(self._at_once) and median(self._at_once) > WAITS * self.work_ns

    def pause_ns(self, now_ns: int, period_ns: int, queues: bool) -> int:
        """How much later the next frame is to start."""
        self._frames += 1
        self.was_paused = False
        if queues or self._frames % FIRST_FRAMES or len(self._at_once) < 3:
            return 0
        if (
            len(self._known) >= ENOUGH
            and not self._unmoved
            and self._looked_ns is not None
            and now_ns - self._looked_ns < LOOK_EVERY_NS
        ):
            return 0
        pause_ns = round((UNMOVED_PAUSE if self._unmoved else PAUSES[self._pause]) * period_ns)
        if not self._unmoved and self._known and pause_ns > SAFE_SHARE * 2 * (period_ns - max(self._known)):
            return 0
        self._looked_ns = now_ns
        self.was_paused = True
        self._paused_ns = pause_ns
        self._before_ns = median(self._at_once)
        return pause_ns

    def frame(self, drawing_ns: int, period_ns: int, queues: bool) -> bool:
        """One frame's drawing, waiting included. Whether nothing keeps the pace."""
        if not self.was_paused:
            if self._looks_after:
                self._looks_after = False
                as_before = abs(drawing_ns - self._before_ns) < SHORTER_SHARE * period_ns
                self._unmoved = self._unmoved + 1 if as_before else 0
            self._at_once.append(drawing_ns)
            return self._unmoved >= UNMOVED
        shorter_ns = self._before_ns - drawing_ns
        self.was_shorter = shorter_ns > self._paused_ns / 2
        self._looks_after = abs(shorter_ns) < SHORTER_SHARE * period_ns and not queues
        if not self._looks_after:
            self._unmoved = 0
        if shorter_ns > self._paused_ns - SHORTER_SHARE * period_ns and self._pause + 1 < len(PAUSES):
            self._pause += 1  # it waited all along
            return False
        self._known.append(drawing_ns)
        self._pause = max(0, self._pause - 1)
        return False
