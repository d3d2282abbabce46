"""Estimates the playback offset at which the next snapshot arrives in time: a quantile of measured lateness.

Required offset of one arrival: how long the newest known snapshot had been due at the last frame before the arrival.
It is measured at frames. So it contains the latency of the channel, the gap between snapshots, and the time from the
choice of the draw time to the present time. It is negative while physics is ahead.

Losses are counted separately. A gap of two or more intervals is so rare that ten seconds do not show its largest
lateness, and an offset from so few gaps would vary at random. So `LossEstimator` counts gaps by their length in
intervals over a longer time, and uses the lateness of all snapshots. With its offset, losses cause `UNDERRUNS_PER_S`
underruns a second.

Always: each frame with a new snapshot gives one sample. A single stall or loss adds no lasting latency; gaps that are
rarer than `UNDERRUNS_PER_S` add none either. Reads no clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from twixt.ipc.quantiles import QuantileWindow

# Time for which a required offset is remembered. After this time, a disturbance that has ended adds no latency. The
# largest two offsets of each BUCKET_NS are stored.
MEMORY_NS = 10_000_000_000
BUCKET_NS = 500_000_000
# With fewer samples the largest one is used instead of the second largest, because at the start nothing has happened
# twice.
FEW = 4
# A required offset that exceeds the median by more than both of these comes from a stall. Latency added for it would
# help only at the next stall.
STALL_NS, STALL_INTERVALS = 250_000_000, 2.5
# A stall also delays the next snapshots, each less than the one before. They are ignored until required offsets are
# usual again, for at most STALL_OVER_NS. If offsets do not fall by FALL_NS within FALLING_NS and FALLING_INTERVALS
# intervals, it was no stall: all snapshots now come later.
STALL_OVER_NS = 3_000_000_000
FALLING_NS, FALLING_INTERVALS = 250_000_000, 4
FALL_NS = 1_000_000
# Time for which a stall is remembered, and the largest offset that a stall can cause.
STALL_MEMORY_NS, MAX_STALL_OFFSET_NS = 240_000_000_000, 2_000_000_000
# Margin above the required offset: MARGIN_NS for the error of slewing, plus a share of the usual scatter. The second
# largest offset of ten seconds is an extreme value already. At 20 Hz with 4 ms of jitter, a larger share added
# latency, and the motion was no more even.
MARGIN_NS = 300_000
SCATTER_FACTOR = 0.5
SCATTER_MARGIN_MAX_NS = 12_000_000
MEDIAN_OF = 31
# An instant before every frame.
LONG_AGO_NS = -(1 << 70)


# Underruns per second that losses may cause: one in seven seconds.
UNDERRUNS_PER_S = 0.15
# Losses are counted over LOSS_MEMORY_NS, or since the first snapshot if that is shorter. The rate is computed over at
# least LEAST_NS.
LOSS_MEMORY_NS, LEAST_NS = 40_000_000_000, 2_000_000_000
# Longest gap that losses explain, in intervals; longer ones are stalls.
MOST_INTERVALS = 8
# Number of last snapshots whose lateness is used: enough to know the 80th percentile within a few percent.
LATENESSES = 128


class RequiredOffset(NamedTuple):
    """Required offset of one arrival, and the gap between this snapshot and the previous one."""

    offset_ns: int  # required offset, measured at the last frame before the arrival
    gap_ns: int
    intervals: float  # the gap, in units of the interval at that time
    lateness_ns: int = 0  # time from its due time until a frame could draw it
    widest_gap: int = 1  # widest gap of the snapshots that arrived for the same frame, in intervals

    def now_ns(self, interval_ns: int) -> float:
        """Required offset, ns, for the current interval, if that has become shorter since the measurement. A longer
        interval needs no correction: its own arrivals are measured."""
        gap_ns = min(self.gap_ns, self.intervals * interval_ns) if interval_ns else self.gap_ns
        return self.offset_ns - self.gap_ns + gap_ns


class OffsetEstimator:
    """Estimates the playback offset from the required offsets of the last ten seconds. It stores the largest two of
    each half second."""

    def __init__(self) -> None:
        self._buckets: list[tuple[int, list[RequiredOffset]]] = []
        self._recent: list[float] = []
        self._count = 0
        self._losses = LossEstimator()
        self._longest = LongestStall()
        self._stalled_until_ns = LONG_AGO_NS
        self._lowest_ns = self._fell_at_ns = 0  # lowest offset since the stall, and its instant

    def add(self, now_ns: int, required: RequiredOffset, interval_ns: int) -> None:
        """Records an arrival. The frame at `now_ns` was the first that could draw the snapshot. interval_ns: current
        interval."""
        offset_ns = required.offset_ns
        if self._count >= FEW:
            self._longest.add(now_ns, offset_ns)
        if self._is_of_stall(now_ns, offset_ns, interval_ns):
            return
        self._recent.append(offset_ns)
        if len(self._recent) > MEDIAN_OF:
            del self._recent[0]
        self._losses.add(now_ns, required.lateness_ns, required.widest_gap)
        self._count += 1
        if required.widest_gap > 1:
            return
        if not self._buckets or now_ns - self._buckets[-1][0] >= BUCKET_NS:
            self._buckets.append((now_ns, []))
            while now_ns - self._buckets[0][0] > MEMORY_NS:
                del self._buckets[0]
        top = self._buckets[-1][1]
        top.append(required)
        if len(top) > 2:
            top.sort(key=lambda required: required.offset_ns, reverse=True)
            del top[2]

    def _is_of_stall(self, now_ns: int, offset_ns: int, interval_ns: int) -> bool:
        """True if this offset was caused by a stall, or belongs to a snapshot that the stall delayed."""
        recent = self._recent
        if len(recent) < FEW - 1:
            return False
        median = sorted(recent)[len(recent) // 2]
        if self._stalled_until_ns == LONG_AGO_NS:
            if offset_ns <= median + max(STALL_NS, STALL_INTERVALS * interval_ns):
                return False
            self._stalled_until_ns = now_ns + STALL_OVER_NS
            self._lowest_ns, self._fell_at_ns = offset_ns, now_ns
            return True
        if offset_ns < self._lowest_ns - FALL_NS:
            self._lowest_ns, self._fell_at_ns = offset_ns, now_ns
        falls = now_ns - self._fell_at_ns < max(FALLING_NS, FALLING_INTERVALS * interval_ns)
        if offset_ns > median:
            if falls and now_ns < self._stalled_until_ns:
                return True
            recent.clear()
        self._stalled_until_ns = LONG_AGO_NS
        return False

    def offset_ns(self, interval_ns: int, scatter_ns: float, room_ns: int = 0) -> float:
        """Wanted offset, ns: 0 if all required offsets are negative, else the second largest one plus a margin.

        scatter_ns: usual change of lateness from one snapshot to the next. room_ns: added to the offset.
        """
        largest = second = float("-inf")
        for _, top in self._buckets:
            for required in top:
                value = required.now_ns(interval_ns)
                if value > largest:
                    largest, second = value, largest
                elif value > second:
                    second = value
        offset_ns = second if self._count >= FEW and second > float("-inf") else largest
        lost_ns = self._losses.offset_ns(interval_ns)
        if lost_ns is not None and lost_ns > offset_ns:
            return max(0.0, lost_ns + MARGIN_NS + room_ns)
        if offset_ns == float("-inf"):
            return float(room_ns)
        margin = MARGIN_NS + min(SCATTER_FACTOR * scatter_ns, SCATTER_MARGIN_MAX_NS)
        return max(0.0, offset_ns + margin + room_ns)

    def stall_offset_ns(self) -> float:
        """Offset, ns, with which the longest stall of the last minutes would have caused no underrun."""
        longest_ns = self._longest.value_ns
        return max(0.0, longest_ns + MARGIN_NS) if longest_ns is not None else 0.0

    def rescaled(self) -> OffsetEstimator:
        """New estimator for another time scale. Only the lengths of stalls are copied, because they remain valid."""
        estimator = OffsetEstimator()
        estimator._longest = self._longest
        return estimator

    def forget_since(self, instant_ns: int) -> None:
        """Clears the offsets that were required from `instant_ns` on, because they do not predict later ones."""
        while self._buckets and self._buckets[-1][0] >= instant_ns:
            del self._buckets[-1]
        self._recent.clear()


class LongestStall:
    """Largest required offset of the last minutes. Offsets above MAX_STALL_OFFSET_NS are ignored: so much latency is
    worse than the next stall."""

    def __init__(self) -> None:
        self._tops: list[tuple[int, int]] = []  # (instant, largest offset from then on)

    @property
    def value_ns(self) -> int | None:
        """Largest offset, ns; None before the first one."""
        return max((offset_ns for _, offset_ns in self._tops), default=None)

    def add(self, now_ns: int, offset_ns: int) -> None:
        """Adds a required offset."""
        if offset_ns > MAX_STALL_OFFSET_NS:
            return
        if not self._tops or now_ns - self._tops[-1][0] >= MEMORY_NS:
            self._tops.append((now_ns, offset_ns))
            while now_ns - self._tops[0][0] > STALL_MEMORY_NS:
                del self._tops[0]
        elif offset_ns > self._tops[-1][1]:
            self._tops[-1] = self._tops[-1][0], offset_ns


class LeastDrawDelay:
    """Least time from a snapshot's arrival until a frame shows it. Frames are drawn some time before they are
    shown."""

    def __init__(self) -> None:
        self._before_ns = self._now_ns = -LONG_AGO_NS
        self._since_ns: int | None = None

    def least_ns(self, now_ns: int, delay_ns: int) -> int:
        """Adds a delay, and returns the least one. The frame at `now_ns` shows a snapshot that arrived `delay_ns`
        before."""
        if self._since_ns is None or now_ns - self._since_ns > MEMORY_NS:
            self._before_ns, self._now_ns, self._since_ns = self._now_ns, delay_ns, now_ns
        self._now_ns = min(self._now_ns, delay_ns)
        return min(self._now_ns, self._before_ns)


class LossEstimator:
    """Computes the offset for lost snapshots from the gaps of several intervals and the lateness of all snapshots."""

    def __init__(self) -> None:
        self._latenesses_ns = QuantileWindow(LATENESSES)
        self._gaps: deque[tuple[int, int]] = deque()  # (instant, intervals)
        self._since_ns: int | None = None
        self._now_ns = 0

    def add(self, now_ns: int, lateness_ns: int, intervals: int) -> None:
        """Records a snapshot that came `intervals` intervals after the previous one, and `lateness_ns` after its due
        time."""
        if self._since_ns is None:
            self._since_ns = now_ns
        self._now_ns = now_ns
        self._latenesses_ns.add(lateness_ns)
        if intervals > 1:
            self._gaps.append((now_ns, intervals))
        while self._gaps and now_ns - self._gaps[0][0] > LOSS_MEMORY_NS:
            self._gaps.popleft()

    def offset_ns(self, interval_ns: int) -> float | None:
        """Playback offset with which losses cause `UNDERRUNS_PER_S` underruns a second; None without losses."""
        if self._since_ns is None or not self._gaps:
            return None
        over_s = max(LEAST_NS, min(LOSS_MEMORY_NS, self._now_ns - self._since_ns)) / 1e9
        underruns_per_s, chance = 0.0, 0
        longest = max(multiple for _, multiple in self._gaps)
        for intervals in range(min(longest, MOST_INTERVALS), 1, -1):
            count = chance + sum(multiple == intervals for _, multiple in self._gaps)
            # One gap of each length may be chance, so it counts as a gap of the next shorter length.
            chance = min(count, 1) if intervals > 2 else 0
            per_s = (count - chance) / over_s
            if underruns_per_s + per_s > UNDERRUNS_PER_S:
                uncovered = (UNDERRUNS_PER_S - underruns_per_s) / per_s  # share of these gaps that may cause underruns
                return intervals * interval_ns + self._latenesses_ns.quantile(1 - uncovered)
            underruns_per_s += per_s
        return None
