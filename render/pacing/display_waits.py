"""Detects waits for the display: within drawing, and in swaps that are not expected to block. Pure.

Swaps. If other work delays a swap, the swap may return at any instant. If a swap waits for the display, it returns a
whole number of refreshes after the previous swap that waited (`RegularWaits`). If the timer places the frames, all
swaps return at regular intervals, so another test (`UnexpectedWaits`) is needed. Some swaps are slow although they do
not wait, for example because they copy a large picture. Such a swap always takes the same time, at whatever instant it
is called. A swap that waits returns at a refresh, so its duration varies. So the display blocks swaps if three
conditions hold: swaps are long, their durations are very different, and their returns are whole refreshes apart.

Drawing. A frame that starts at once may wait for the display within its own drawing. Then the time of the work and the
time of the wait cannot be distinguished. So some frames start later, after a pause (`DrawTimeProbe`). If the pause
makes drawing shorter by the length of the pause, drawing had waited. Then the next pauses are longer, until a longer
pause does not make drawing shorter. The drawing time that remains is work. If no pause makes drawing shorter, nothing
waits.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from twixt.ipc.quantiles import median
from twixt.render.pacing.grid import longest_common
from twixt.render.pacing.policy import BLOCKING, FoundDisplay

# -- swaps

# A swap that takes longer than this (in ns) has waited.
WAITED_NS = 1_000_000
# Number of frames that `UnexpectedWaits` evaluates together.
FRAMES = 40
# Swaps wait for the display if three conditions hold. First, the share LONG_SHARE of the swaps take longer than
# LONG_NS. Second, their durations (10th to 90th percentile) differ by SPREAD_SHARE of the frame interval. Third, the
# share REGULAR_SHARE of the intervals between their returns are whole refreshes, within REGULAR_WITHIN of a refresh.
LONG_NS, LONG_SHARE, SPREAD_SHARE = 1_500_000, 0.75, 0.3
REGULAR_SHARE, REGULAR_WITHIN = 0.9, 0.08

# The returns of two swaps are whole refreshes apart if their distance differs from a whole number of refreshes by at
# most APART_WITHIN of a refresh. The display has a queue if two conditions hold. First, at least QUEUE_WAITS of the
# last LAST_SWAPS swaps returned whole refreshes apart. Second, these swaps are at least the share QUEUE_SHARE of the
# swaps that waited. Only long work drains a queue. If drawing took less than DRAINS_SHARE of a refresh and still no
# swap waited, the display has no queue.
APART_WITHIN, LAST_SWAPS, QUEUE_WAITS, QUEUE_SHARE = 0.08, 16, 4, 0.5
DRAINS_SHARE = 0.9
# If the display has a queue, drawing never waits. So the display has no queue if a later start made drawing shorter in
# at least SHORTER_TRIES of the last LAST_TRIES tries.
LAST_TRIES, SHORTER_TRIES = 6, 5
# Two returns of swaps are not compared if they are more than this many refreshes apart. The error of the refresh
# period would be too large.
MOST_APART = 20

# -- drawing

# At most one frame in FIRST_FRAMES starts after a pause. After ENOUGH measurements of the drawing time, at most one
# frame per LOOK_EVERY_NS starts after a pause.
FIRST_FRAMES, LOOK_EVERY_NS = 4, 500_000_000
# Lengths of the pause before the start of a frame, as shares of a refresh. Longer pauses are tried until drawing does
# not get shorter.
PAUSES = (0.15, 0.3, 0.5, 0.7, 0.85)
# Limit on the pause before the start of a frame: SAFE_SHARE * 2 * (refresh period - longest recent work). The limit
# exists because a paused frame must still be in time for the next refresh.
SAFE_SHARE = 0.8
# One drawing time counts as shorter than another if the difference is at least this share of a refresh.
SHORTER_SHARE = 0.1
# The drawing time without waits is the median of the last REMEMBERED measurements. After ENOUGH measurements, fewer
# frames start after a pause.
REMEMBERED, ENOUGH = 15, 7
# Nothing waits if a test succeeds UNMOVED times in a row. In the test, drawing takes the same time in three frames:
# the frame before a pause, the paused frame, and the next frame. The pause of this test is UNMOVED_PAUSE of a refresh.
# If the display set the pace, it would show the paused frame one refresh later, and the drawing of the next frame
# would wait for this refresh.
UNMOVED, UNMOVED_PAUSE = 3, 0.5
# Drawing has waited if it takes longer than this factor times the drawing time without waits.
WAITS = 1.1
# The usual drawing time is the median of this many last frames that started without a pause.
LAST_FRAMES = 8


class RegularWaits:
    """Detects that the display has a queue: its swaps return before their own frame is shown. queues: swaps wait for
    earlier frames."""

    def __init__(self, queues: bool = False) -> None:
        self.queues = queues
        self.is_in_doubt = False  # True if hardly any of the last swaps waited
        self.in_a_row_ns: int | None = None  # time in ns between the returns of the last two swaps, if both waited
        self._regular: deque[bool] = deque(maxlen=LAST_SWAPS)
        self._waited: deque[bool] = deque(maxlen=LAST_SWAPS)
        self._works_ns: deque[int] = deque(maxlen=LAST_SWAPS)
        self._tries: deque[bool] = deque(maxlen=LAST_TRIES)
        self._last_ns: int | None = None

    def frame(self, work_ns: int, begin_ns: int, returned_ns: int, period_ns: int) -> bool:
        """Records a swap of a frame that was not held back. Returns True if the swap waited for the display. Such a
        swap returns whole refreshes after the previous swap that waited."""
        waited = returned_ns - begin_ns > WAITED_NS
        regular = False
        self.in_a_row_ns = None
        if waited:
            if self._last_ns is not None:
                apart = (returned_ns - self._last_ns) / period_ns
                regular = 0.5 < apart < MOST_APART and abs(apart - round(apart)) <= APART_WITHIN
                if self._waited and self._waited[-1]:
                    self.in_a_row_ns = returned_ns - self._last_ns
            self._last_ns = returned_ns
        self._waited.append(waited)
        self._regular.append(regular)
        self._works_ns.append(work_ns)
        self.is_in_doubt = len(self._waited) == LAST_SWAPS and sum(self._regular) < QUEUE_WAITS
        if QUEUE_WAITS <= sum(self._regular) >= QUEUE_SHARE * sum(self._waited):
            self.queues = True
        elif self.is_in_doubt and not any(self._waited) and median(self._works_ns) < DRAINS_SHARE * period_ns:
            self.queues = False
        return regular

    def tried(self, is_shorter: bool) -> None:
        """Records a frame that started after a pause. is_shorter: the pause made drawing shorter."""
        self._tries.append(is_shorter)
        if sum(self._tries) >= SHORTER_TRIES:
            self.queues = False
            self._tries.clear()

    def restart(self) -> None:
        """Clears the recorded swaps after a time without frames."""
        self._last_ns = None
        self._waited.clear()


class UnexpectedWaits:
    """Detects that swaps wait for the display, although the timer places the frames."""

    def __init__(self) -> None:
        self._swaps_ns: deque[int] = deque(maxlen=FRAMES)
        self._ends_ns: deque[int] = deque(maxlen=FRAMES)
        self._fresh = 0

    def frame(self, begin_ns: int, end_ns: int, interval_ns: int) -> FoundDisplay | None:
        """Records a swap. If the last swaps show that the display blocks them, returns the kind of display; otherwise
        returns None."""
        self._swaps_ns.append(end_ns - begin_ns)
        self._ends_ns.append(end_ns)
        self._fresh += 1
        if self._fresh < FRAMES:
            return None
        self._fresh = 0
        swaps = sorted(self._swaps_ns)
        long = sum(ns > LONG_NS for ns in swaps)
        spread_ns = swaps[int(0.9 * FRAMES)] - swaps[int(0.1 * FRAMES)]
        if long < LONG_SHARE * FRAMES or spread_ns < SPREAD_SHARE * interval_ns:
            return None
        intervals = [b - a for a, b in pairwise(self._ends_ns)]
        period_ns = longest_common(intervals, REGULAR_WITHIN, REGULAR_SHARE)
        return FoundDisplay(BLOCKING, period_ns) if period_ns else None


class DrawTimeProbe:
    """Measures the duration of drawing without waits for the display. For this purpose, some frames start after a
    pause."""

    def __init__(self) -> None:
        self.was_paused = self.was_shorter = False
        self._known: deque[int] = deque(maxlen=REMEMBERED)
        self._at_once: deque[int] = deque(maxlen=LAST_FRAMES)
        self._unmoved = 0
        self._looks_after = False
        self._paused_ns = 0
        self._pause = 0  # index of the next pause in PAUSES
        self._frames = 0
        self._looked_ns: int | None = None
        self._before_ns = 0.0

    @property
    def work_ns(self) -> int | None:
        """Duration in ns of a frame's drawing without waits; None until it is known."""
        return round(median(self._known)) if self._known else None

    @property
    def waits(self) -> bool:
        """True if drawing is known to wait for the display."""
        return self.work_ns is not None and bool(self._at_once) and median(self._at_once) > WAITS * self.work_ns

    def pause_ns(self, now_ns: int, period_ns: int, queues: bool) -> int:
        """Length in ns of the pause before the start of the next frame; 0 for most frames."""
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

    def no_pause(self) -> None:
        """Records that the next frame starts without a pause, because its start is chosen in another way."""
        self.was_paused = False

    def frame(self, drawing_ns: int, period_ns: int, queues: bool) -> bool:
        """Records how long the drawing of one frame took, including waits. Returns True if the display does not set
        the pace."""
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
            self._pause += 1  # drawing may have waited longer than the pause, so the next pause is longer
            return False
        self._known.append(drawing_ns)
        self._pause = max(0, self._pause - 1)
        return False
