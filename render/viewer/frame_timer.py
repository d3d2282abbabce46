"""Clock of one frame loop: its instants, its waits, and the laps of a frame's time.

The clock is passed to the frame loop. A run passes the machine's clock; a test passes one that it advances itself, so
that hundreds of frames run without a real sleep.

Always: the frame loop reads no other clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from twixt.ipc.trace import spans as kinds
from twixt.ipc.trace.spans import NOT_RECORDED, Spans
from twixt.render.cores.thread_time import DRAW, LapRecorder, Reading
from twixt.render.pacing.wait import HybridWait

# Longest time of a swap that counts as work (copying the picture). A longer swap waits for the display.
LONGEST_COPY_NS = 1_000_000
# --slow-render adds at least this, or its own length if that is less, also to a frame that takes longer by itself: its
# effect is always visible in the figures.
SEEN_WORK_NS = 5_000_000


class Processor(Protocol):
    """Running and waiting times of threads, such as `ProcessorTime`."""

    def read(self) -> Reading:
        """Sums of this thread up to now."""

    def drawers(self) -> tuple[int, ...]:
        """Waiting time in ns of each thread that draws for this process, up to now."""

    def waited_ns(self) -> int:
        """Total waiting time in ns of this thread and those that draw for it."""

    def close(self) -> None: ...


class FrameTimer:
    """Clock and time measurement of one frame loop.

    wait: waits for instants. laps: of a frame, by cause for the log and as spans for the trace. spans: the trace, for
    spans with instants of their own. processor: see `Processor`. now_ns: the clock, perf_counter_ns by default. sleep: sleeps for a number of seconds.
    """

    def __init__(
        self,
        processor: Processor,
        spans: Spans = NOT_RECORDED,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.processor, self.spans, self.now_ns = processor, spans, now_ns
        self.wait = HybridWait(now_ns, sleep)
        self.laps = LapRecorder(processor.read, processor.drawers, spans)

    def add_work(self, work_ns: int, began_ns: int, swap_ns: int) -> None:
        """Spins until the frame that began at `began_ns` has taken `work_ns` (--slow-render). swap_ns: expected
        duration of its swap, which counts as work up to LONGEST_COPY_NS."""
        at_least_ns = began_ns + work_ns - min(swap_ns, LONGEST_COPY_NS)
        end_ns = max(at_least_ns, self.now_ns() + min(work_ns, SEEN_WORK_NS))
        while self.now_ns() < end_ns:
            pass
        self.laps.lap(DRAW, kinds.SLOW_RENDER)

    def close(self) -> None:
        """Closes `processor`."""
        self.processor.close()
