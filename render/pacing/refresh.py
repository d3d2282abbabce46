"""Measures the refresh period of a display, and whether a swap on this display blocks. Also tests whether fences can
serve as a source of present times.

A reported refresh rate is often wrong or 0. A swap may take long although it does not wait for the display. So the
probe pauses before some of its swaps. If the swap waits for the display, its wait gets shorter by the length of the
pause. Then the interval between swaps stays the same. If the swap does not wait, the interval between swaps grows by
the length of the pause. If the compositor sends a callback for each frame, this test is not needed, because the swap
waits for the callback.

Pure: `SwapProbe` returns the length of the next pause, and receives the instants at which swaps began and ended.
"""

from __future__ import annotations

import cmath
import math
from itertools import pairwise
from typing import NamedTuple

from twixt.ipc.quantiles import median

# Number of first swaps of a new window that are not measured. These swaps wait until the window is mapped and has its
# size.
SKIPPED_SWAPS = 3
SWAPS_PER_STAGE = 6
# Shortest refresh period of a display, in ns (650 Hz). If the intervals between swaps are shorter, the swaps do not
# wait for a display.
SHORTEST_REFRESH_NS = 1_540_000
# Length of the probe's pause, as a share of the interval between bare swaps (swaps without a pause before them). If
# the pause makes this interval longer by more than half the length of the pause, the swap does not wait.
PAUSE_SHARE = 0.5
LENGTHENED = 1 + PAUSE_SHARE / 2
# Swaps are regular if the share REGULAR_SHARE of the intervals between them are whole numbers of refresh periods. An
# interval may differ from a whole number by REGULAR_WITHIN of a period. On a busy machine the intervals are irregular,
# even if some swaps seem to wait.
REGULAR_WITHIN, REGULAR_SHARE = 0.15, 0.75
# If swaps come at intervals shorter than SUSPICIOUS_NS (over 166 Hz), the cause is more often a busy machine than a
# display. In this case the probe measures SUSPICIOUS_STAGES stages (groups of swaps) with pauses instead of one. This
# takes little time because the intervals are short.
SUSPICIOUS_NS, SUSPICIOUS_STAGES = 6_000_000, 4
# The refresh period is searched whose grid fits the returns of swaps best. The search tries FIT_STEPS periods. The
# first period is NARROWEST times the median interval between swaps; the step is FIT_STEP times this median. Then
# FINE_STEPS finer steps are tried on each side of the best period. A period is accepted if the agreement of the
# returns with its grid is at least AGREED (1: all returns are on the grid, 0: none). In tests, busy loops ran on all
# cores, and the displays' returns came up to a seventh of a refresh early or late. The agreement was still 0.64 or
# more. In most of these tests the period was right within 2 %.
NARROWEST, FIT_STEPS, FIT_STEP, FINE_STEPS = 0.75, 110, 0.005, 10
AGREED = 0.6
# The median interval of bare swaps (without a pause before them) and that of paused swaps agree if they differ by at
# most this share. Then their mean is the refresh period.
SAME_WITHIN = 0.01
# Longest duration of a probe, in ns. A limit is needed because the swaps of a window that was opened hidden may never
# return.
LONGEST_PROBE_NS = 500_000_000
# Range of the refresh rates of displays, Hz. If a display reports a rate outside this range, the rate is ignored.
PLAUSIBLE_HZ = (20.0, 650.0)


class Refresh(NamedTuple):
    """What the probe of a display found.

    Attributes:
        blocks: True if a swap waits for the display.
        period_ns: Refresh period in ns. If a swap blocks, the period is measured; otherwise the display has reported
            it. None if it is unknown.
        reason: How the result was found.
        is_called: True if a swap waits for the compositor's frame callback, and for nothing else.
    """

    blocks: bool
    period_ns: int | None
    reason: str
    is_called: bool = False

    @property
    def measured_hz(self) -> float | None:
        """Measured refresh rate, in Hz. None if a swap does not wait, because then the rate cannot be measured."""
        return 1e9 / self.period_ns if self.blocks and self.period_ns else None


UNKNOWN = Refresh(False, None, "not probed")


class SwapProbe:
    """Probe of a display. It swaps frames that are only cleared. Use: `while not probe.done:` pause for `pause_ns`,
    swap, `add`."""

    def __init__(self, reported_hz: float | None = None, is_called: bool = False) -> None:
        """reported_hz: reported refresh rate, in Hz; used only if a swap does not block. is_called: a swap waits for
        the compositor's frame callback."""
        self._reported_hz, self._is_called = reported_hz, is_called
        self._ends_ns: list[int] = []
        self._bare_ns: float | None = None
        self._paused_end = self._swaps_wanted = 0
        self.pause_ns = 0
        self.done = False

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Records one swap: the instants of its call and of its return, in ns."""
        ends = self._ends_ns
        if not ends:
            self._started_ns = begin_ns
        ends.append(end_ns)
        if len(ends) == SKIPPED_SWAPS + SWAPS_PER_STAGE:
            self._bare_ns = self._interval_ns(SKIPPED_SWAPS)
            self.pause_ns = round(self._bare_ns * PAUSE_SHARE)
            self.done = self._bare_ns < SHORTEST_REFRESH_NS
            suspicious = self._bare_ns < SUSPICIOUS_NS
            self._paused_end = len(ends) + SWAPS_PER_STAGE * (SUSPICIOUS_STAGES if suspicious else 1)
            self._swaps_wanted = self._paused_end + (SWAPS_PER_STAGE if suspicious else 0)
        elif len(ends) == self._paused_end < self._swaps_wanted:
            # measure again without pauses: when a load ends during the probe, this could look like waits for the
            # display
            self.pause_ns = 0
        elif len(ends) == self._swaps_wanted or end_ns - self._started_ns > LONGEST_PROBE_NS:
            self.done = True

    def verdict(self) -> Refresh:
        """Result of the probe. Call it after `done` has become True."""
        bare_ns = self._bare_ns
        if bare_ns is None:
            return self._not_blocking("swaps are too slow for a measurement")
        if bare_ns < SHORTEST_REFRESH_NS:
            text = f"swaps of empty frames are {bare_ns / 1e6:.2f} ms apart, which is faster than any display"
            return self._not_blocking(text)
        if len(self._ends_ns) <= SKIPPED_SWAPS + SWAPS_PER_STAGE:
            return self._not_blocking("swaps are too slow for a measurement")
        if self._is_called:
            period_ns = self._fitted_ns()
            reason = f"swaps are {period_ns / 1e6:.2f} ms apart, whenever the compositor requests a frame"
            return Refresh(True, period_ns, reason, is_called=True)
        paused_ns = self._interval_ns(SKIPPED_SWAPS + SWAPS_PER_STAGE, self._paused_end)
        pause_ms = bare_ns * PAUSE_SHARE / 1e6
        compared = (
            f"swaps are {bare_ns / 1e6:.2f} ms apart, and {paused_ns / 1e6:.2f} ms if the viewer pauses for "
            f"{pause_ms:.2f} ms after each swap"
        )
        if paused_ns > bare_ns * LENGTHENED:
            return self._not_blocking(f"{compared}: swaps are slow, but do not wait for the display")
        if len(self._ends_ns) > self._paused_end:
            again_ns = self._interval_ns(self._paused_end)
            if abs(again_ns / bare_ns - 1) > REGULAR_WITHIN:
                return self._not_blocking(f"{compared}, and then {again_ns / 1e6:.2f} ms: too irregular for a display")
        if self._regular_share(bare_ns) < REGULAR_SHARE:
            return self._not_blocking(f"{compared}: too irregular for swaps that wait for a display")
        # On some displays the drawing of the next frame waits instead of the swap. Then a pause delays all later
        # returns by the length of the pause. In this case the returns with and without pauses do not fit one grid.
        agree = abs(paused_ns / bare_ns - 1) <= SAME_WITHIN
        period_ns = round((bare_ns + paused_ns) / 2) if agree else self._fitted_ns()
        return Refresh(True, period_ns, f"{compared}: swap waits for the display")

    def _interval_ns(self, first: int, end: int | None = None) -> float:
        return median(self._intervals_ns(first, end))

    def _intervals_ns(self, first: int, end: int | None = None) -> list[int]:
        return [b - a for a, b in pairwise(self._ends_ns[first - 1 : end])]

    def _fitted_ns(self) -> int:
        """Refresh period whose grid best fits all returns, with and without pauses. If no grid fits, the median of the
        intervals between bare swaps."""
        ends_ns = self._ends_ns[SKIPPED_SWAPS - 1 :]
        middle_ns = median(self._intervals_ns(SKIPPED_SWAPS))
        near_ns = _best(ends_ns, [middle_ns * (NARROWEST + step * FIT_STEP) for step in range(FIT_STEPS)])[1]
        finely_ns = [near_ns * (1 + step * FIT_STEP / FINE_STEPS) for step in range(-FINE_STEPS, FINE_STEPS + 1)]
        agreed, period_ns = _best(ends_ns, finely_ns)
        return round(period_ns if agreed >= AGREED else self._bare_ns or middle_ns)

    def _regular_share(self, period_ns: float) -> float:
        """Share of the swaps that returned a whole number of refresh periods after the previous swap."""
        periods = [interval / period_ns for interval in self._intervals_ns(SKIPPED_SWAPS)]
        return sum(abs(n - round(n)) < REGULAR_WITHIN and n > 0.5 for n in periods) / len(periods)

    def _not_blocking(self, reason: str) -> Refresh:
        reported = self._reported_hz
        if reported is not None and PLAUSIBLE_HZ[0] <= reported <= PLAUSIBLE_HZ[1]:
            return Refresh(False, round(1e9 / reported), f"{reason}; the display reports {reported:g} Hz")
        return Refresh(False, None, f"{reason}; refresh rate unknown")


def _best(ends_ns: list[int], tried_ns: list[float]) -> tuple[float, float]:
    return max((_agreement(ends_ns, period_ns), period_ns) for period_ns in tried_ns)


def _agreement(ends_ns: list[int], period_ns: float) -> float:
    """Agreement of the returns with the grid of a period: 1 if all returns are whole periods apart, near 0 if they
    come at random."""
    first_ns, turn = ends_ns[0], 2j * math.pi / period_ns
    return abs(sum(cmath.exp(turn * (end_ns - first_ns)) for end_ns in ends_ns)) / len(ends_ns)


# Fences are tried as a source of present times. A fence that is made after the swap may return at the instant when the
# frame is shown.
#
# It is not known for which event a driver's fence waits. So fences are tried if swaps return at once. Fences are kept
# if they wait. Fences are stopped if they do not wait, or if frames were planned wrongly from their returns. The time
# until the next trial doubles after each failed trial.
#
# Always: a window has one trial. The window reports swaps and fences to the trial. The pacer reports to the trial when
# fences were wrong. Pure: the durations of swaps and fences are passed in.


# Longest wait of a fence, in ns: one refresh at 20 Hz.
LONGEST_FENCE_NS = 50_000_000
# If a swap takes less than AT_ONCE_NS, it did not wait. If a fence takes WAITED_NS or less, it did not wait.
AT_ONCE_NS, WAITED_NS = 200_000, 300_000
# Fences are tried if at least MOSTLY of the last WATCHED swaps returned at once. Fences are kept if at least MOSTLY of
# the last WATCHED fences waited.
WATCHED, MOSTLY = 12, 9
# Number of frames from a failed trial of fences to the next trial. The number doubles after each failure, up to
# MOST_UNTIL_AGAIN.
FRAMES_UNTIL_AGAIN = 240
MOST_UNTIL_AGAIN = 15_360


class FenceTrial:
    """Trial of fences for one window. is_on: a fence is made after each swap. serves: the returns of fences are used
    as present times."""

    def __init__(self) -> None:
        self.is_on = False
        self.serves = False
        self._waits: list[bool] = []
        self._pause, self._next_pause = 0, FRAMES_UNTIL_AGAIN
        self._is_disproved = False

    @property
    def is_believed(self) -> bool:
        """True if the return of a fence counts as a present time. After frames have shown that fences are wrong, the
        result is False for some time."""
        return not (self._is_disproved and self._pause)

    def swapped(self, duration_ns: int, is_vsynced: bool) -> None:
        """Records the duration of one swap."""
        if self.is_on:
            if not is_vsynced:
                self._end()
            return
        if self._pause:
            self._pause -= 1
            return
        self._waits = [*self._waits[1 - WATCHED :], is_vsynced and duration_ns < AT_ONCE_NS]
        if sum(self._waits) >= MOSTLY:
            self.is_on, self._waits = True, []

    def fenced(self, duration_ns: int) -> bool:
        """Records the duration of one fence. Returns True if the fence's return is a present time."""
        waited = WAITED_NS < duration_ns < LONGEST_FENCE_NS
        self._waits = [*self._waits[1 - WATCHED :], waited]
        if len(self._waits) == WATCHED:
            self.serves = sum(self._waits) >= MOSTLY
            if not self.serves and not any(self._waits[-MOSTLY:]):
                self._end()
        return waited

    def disproved(self) -> None:
        """Marks fences as unreliable, because frames were planned wrongly from their returns."""
        self._end()
        self._is_disproved = True

    def _end(self) -> None:
        self.is_on = self.serves = self._is_disproved = False
        self._waits = []
        self._pause, self._next_pause = self._next_pause, min(2 * self._next_pause, MOST_UNTIL_AGAIN)
