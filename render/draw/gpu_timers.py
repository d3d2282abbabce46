"""How long the GPU works on a frame: one timer for each picture in it and for what is drawn over it.

Always: asked for after the frame is finished; where the CPU draws there is no answer, and nothing is timed, for
OpenGL's timer sees only the commands being taken in there.
"""

from __future__ import annotations

from contextlib import nullcontext

import moderngl


class GpuTimers:
    """Timers that are used again in each frame."""

    def __init__(self, context: moderngl.Context, is_software: bool) -> None:
        self._context = context
        self._is_software = is_software
        self._timers: list[moderngl.Query] = []
        self._used = 0

    def begin_frame(self) -> None:
        self._used = 0

    def next(self) -> moderngl.Query | nullcontext[None]:
        """The timer of what is drawn within it."""
        if self._is_software:
            return nullcontext()
        if self._used == len(self._timers):
            self._timers.append(self._context.query(time=True))
        self._used += 1
        return self._timers[self._used - 1]

    @property
    def elapsed_ns(self) -> int | None:
        """Of all used since the frame began; waits for them. None before the first, and where the CPU draws."""
        if not self._used:
            return None
        return sum(timer.elapsed for timer in self._timers[: self._used])
