"""Models displays. A model computes when a swapped frame becomes visible, and when the swap returns.

`visible_ns` has the true instants at which frames become visible. A pacer gets only the results of its calls. Times
are in ns of virtual time.

    timer           the frame is shown at once; swap waits for nothing
    blocking        swap returns when its own frame is shown
    returns at once swap waits for nothing, but the next GL call returns only when that frame is shown (DRI3)
    queue of N      swap returns when fewer than N frames wait to be shown
    variable        the frame is shown at once, but at least 1/144 s after the one before; swap returns at that time

Always: visible instants increase, with at most one frame per refresh. This module does not depend on pacers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from twixt.render.pacing.refresh import WAITED_NS, FenceTrial

SECOND = 1_000_000_000
# COPY_NS is the time to copy a picture if nothing waits (measured on Xvfb at 800x600). CALL_NS is the time of a call
# that only hands a frame over.
COPY_NS, CALL_NS = 400_000, 60_000
# Shortest and longest delay, in ns, from a refresh to the return of a call that waited for the refresh.
RETURN_NS = (20_000, 150_000)
# Number of these delays that are generated in advance. Frames use them in turn, again and again.
RETURNS = 127
# Time before a refresh, in ns. A frame that is handed over later than this misses the refresh, and is shown at the
# next refresh.
AHEAD_NS = 500_000
# Names of the fence modes, see `ModelDisplay`.
ALWAYS, TRIED = "always", "tried"
# Number of later frames that must be handed over before the display reports a frame.
WORD_FRAMES_LATER = 2
# Times of a display with a variable rate, in ns. FASTEST_NS is the shortest time between two frames. If no new frame
# comes within SLOWEST_NS, the last frame is shown again.
FASTEST_NS, SLOWEST_NS = round(SECOND / 144), round(SECOND / 48)


class DisplayMode(NamedTuple):
    """A mode of the display. Its refreshes are at begin_ns, begin_ns + period_ns, and so on, before end_ns. If end_ns
    is None, they do not end."""

    begin_ns: int
    period_ns: int
    end_ns: int | None = None


class Fenced(NamedTuple):
    """Result of a wait for a fence. presented_ns: instant at which the frame became visible. It is None if the call
    did not wait, or if the fence is not trusted yet."""

    return_ns: int
    presented_ns: int | None = None


class DisplayReport(NamedTuple):
    """Report of the instant at which a frame became visible, and of the refresh period at that time. The period is
    None for a variable rate."""

    presented_ns: int
    refresh_ns: int | None


def steady(hz: float, begin_ns: int = 0) -> tuple[DisplayMode, ...]:
    return (DisplayMode(begin_ns, round(SECOND / hz)),)


def changing(hz: float, then_hz: float, at_ns: int, gap_ns: int = 0) -> tuple[DisplayMode, ...]:
    """Two modes of a display. The change between them is at the first refresh at or after at_ns. gap_ns: time in which
    nothing is shown. If it is 0, the change has no gap."""
    first = DisplayMode(0, round(SECOND / hz))
    change_ns = -(-at_ns // first.period_ns) * first.period_ns
    return (first._replace(end_ns=change_ns), DisplayMode(change_ns + gap_ns, round(SECOND / then_hz)))


class ModelDisplay:
    """A display with refreshes. Its swap waits for nothing. Subclasses override this.

    fence_mode: "" (no fence), "always" (a fence in every frame), or "tried" (twixt's `FenceTrial` decides).
    sends_reports: True if the display reports frames, see `reports`.
    """

    blocks_next_call = False
    varies = False

    def __init__(
        self, modes: Sequence[DisplayMode], fence_mode: str = "", sends_reports: bool = False,
        ahead_ns: int = AHEAD_NS, seed: int = 0,
    ) -> None:  # fmt: skip
        self.modes, self.fence_mode, self.sends_reports = tuple(modes), fence_mode, sends_reports
        self.ahead_ns, self.trial, self.visible_ns = ahead_ns, FenceTrial(), list[int]()
        choose = random.Random(seed)
        self._returns_ns = tuple(choose.randrange(*RETURN_NS) for _ in range(RETURNS))
        self._reported = 0  # number of frames that were reported

    @property
    def reported_hz(self) -> float | None:
        """Rate in Hz that the window system reports. It is the rate of the first mode."""
        return SECOND / self.modes[0].period_ns

    def mode_at(self, at_ns: int) -> DisplayMode:
        if len(self.modes) == 1:
            return self.modes[0]
        return next((mode for mode in reversed(self.modes) if mode.begin_ns <= at_ns), self.modes[0])

    def refresh_after(self, at_ns: int) -> int:
        for begin_ns, period_ns, end_ns in self.modes:
            if at_ns < begin_ns:
                return begin_ns
            point_ns = begin_ns + ((at_ns - begin_ns) // period_ns + 1) * period_ns
            if end_ns is None or point_ns < end_ns:
                return point_ns
        raise AssertionError("the last mode is for good")

    def refreshes_between(self, begin_ns: int, end_ns: int) -> float:
        """Number of refreshes between two instants. It is not rounded."""
        shown = ((min(end_ns, mode.end_ns or end_ns) - max(begin_ns, mode.begin_ns), mode) for mode in self.modes)
        return sum(max(0, shown_ns) / mode.period_ns for shown_ns, mode in shown)

    def first_call(self, at_ns: int) -> int:
        """Instant at which the first GL call of a frame returns. at_ns: instant of the call."""
        if self.blocks_next_call and self.visible_ns and self.visible_ns[-1] > at_ns:
            return self._returned(self.visible_ns[-1])
        return at_ns

    def swap(self, at_ns: int) -> int:
        """Hands a frame over. Returns the instant at which the call returns. at_ns: instant of the call."""
        self.visible_ns.append(self._shown_at(at_ns))
        return_ns = max(at_ns + CALL_NS, self._swap_waits_until(at_ns))
        self.trial.swapped(return_ns - at_ns, is_vsynced=self.fence_mode == TRIED)
        return return_ns

    def fence(self, at_ns: int) -> Fenced:
        """Waits until the frame that was handed over last is visible. Does not wait if there is no fence. at_ns:
        instant of the call."""
        if not self.fence_mode or (self.fence_mode == TRIED and not self.trial.is_on):
            return Fenced(at_ns)
        waits = self.visible_ns[-1] > at_ns
        return_ns = self._returned(self.visible_ns[-1]) if waits else at_ns + CALL_NS
        if self.fence_mode == TRIED:
            is_present = self.trial.fenced(return_ns - at_ns) and self.trial.serves
        else:
            is_present = return_ns - at_ns > WAITED_NS
        return Fenced(return_ns, return_ns if is_present else None)

    def reports(self) -> list[DisplayReport]:
        if not self.sends_reports:
            return []
        until = max(self._reported, len(self.visible_ns) - WORD_FRAMES_LATER)
        news = self.visible_ns[self._reported : until]
        self._reported = until
        return [DisplayReport(at_ns, None if self.varies else self.mode_at(at_ns).period_ns) for at_ns in news]

    def _shown_at(self, at_ns: int) -> int:
        after_ns = at_ns + self.ahead_ns
        return self.refresh_after(max(after_ns, self.visible_ns[-1]) if self.visible_ns else after_ns)

    def _swap_waits_until(self, at_ns: int) -> int:
        return at_ns

    def _returned(self, event_ns: int) -> int:
        return event_ns + self._returns_ns[len(self.visible_ns) % RETURNS]


class Timer(ModelDisplay):
    """A display on which no call ever waits. A frame is visible as soon as it is copied. The reported refresh has no
    effect."""

    def _shown_at(self, at_ns: int) -> int:
        return at_ns + COPY_NS

    def _swap_waits_until(self, at_ns: int) -> int:
        return at_ns + COPY_NS


class Blocking(ModelDisplay):
    """A display whose swap returns when its frame is visible."""

    def _swap_waits_until(self, at_ns: int) -> int:
        return self._returned(self.visible_ns[-1])


class ReturnsAtOnce(ModelDisplay):
    """A display whose swap returns at once. The first GL call of the next frame waits until the frame is visible."""

    blocks_next_call = True


class Queue(ModelDisplay):
    """A display whose swap returns when fewer than `length` frames wait to be shown. With a length of 2, one frame
    waits while the next frame is drawn."""

    length = 2

    def _swap_waits_until(self, at_ns: int) -> int:
        if len(self.visible_ns) < self.length or self.visible_ns[-self.length] <= at_ns:
            return at_ns
        return self._returned(self.visible_ns[-self.length])


class QueueOfThree(Queue):
    length = 3


class Variable(Blocking):
    """A display that refreshes when a frame comes, 48 to 144 times a second. If frames come more slowly, the display
    shows the last frame again. A new frame must then wait until that refresh is over."""

    varies = True

    def _shown_at(self, at_ns: int) -> int:
        if not self.visible_ns:
            return at_ns
        last_ns = self.visible_ns[-1]
        while at_ns > last_ns + SLOWEST_NS:
            last_ns += SLOWEST_NS
        return max(at_ns, last_ns + FASTEST_NS)
