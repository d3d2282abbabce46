"""Estimates the playback offset at which the next snapshot arrives in time. The estimate is a quantile of measured
lateness.

The required offset of one arrival is measured at the last frame before the arrival. It is the time for which the
newest known snapshot had been due at this frame. So the required offset contains the latency of the channel, the gap
between snapshots, and the time from the choice of the draw time to the present time. The required offset is negative
while the physics process is ahead.

Lost snapshots are counted separately. Gaps of two or more intervals are rare: ten seconds do not show their largest
lateness, and an offset from so few gaps would vary at random. So `LossEstimator` counts these gaps by their length in
intervals over a longer time, and uses the lateness of all snapshots. At the offset that it computes, lost snapshots
cause `UNDERRUNS_PER_S` underruns a second.

Always: each frame with a new snapshot gives one sample. A single stall or lost snapshot adds no lasting latency. Gaps
that are rarer than `UNDERRUNS_PER_S` add none either. The estimators read no clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from twixt.ipc.quantiles import QuantileWindow

# Time (ns) for which a required offset is remembered. So a disturbance that has ended adds no latency after this time.
# The two largest offsets of each BUCKET_NS are stored.
MEMORY_NS = 10_000_000_000
BUCKET_NS = 500_000_000
# If there are fewer samples than this, the largest required offset is used instead of the second largest, because at
# the start nothing has happened twice.
FEW = 4
# A required offset comes from a stall if it exceeds the median by more than STALL_NS and by more than STALL_INTERVALS
# intervals. Latency that is added for a stall would help only at the next stall.
STALL_NS, STALL_INTERVALS = 250_000_000, 2.5
# A stall also delays the next snapshots, each one by less than the one before it. These snapshots are ignored until
# required offsets are usual again, for at most STALL_OVER_NS. There was no stall if required offsets do not fall by
# FALL_NS within FALLING_NS and FALLING_INTERVALS intervals. In this case all snapshots come later from now on.
STALL_OVER_NS = 3_000_000_000
FALLING_NS, FALLING_INTERVALS = 250_000_000, 4
FALL_NS = 1_000_000
# STALL_MEMORY_NS: time for which a stall is remembered. MAX_STALL_OFFSET_NS: largest offset that a stall can cause.
STALL_MEMORY_NS, MAX_STALL_OFFSET_NS = 240_000_000_000, 2_000_000_000
# Margin above the required offset: MARGIN_NS for the error of speed changes, plus a share of the usual scatter (change
# of lateness). The second largest required offset of ten seconds is already an extreme value. At 20 Hz with 4 ms of
# jitter, a larger share added latency, and the motion was no more even.
MARGIN_NS = 300_000
SCATTER_FACTOR = 0.5
SCATTER_MARGIN_MAX_NS = 12_000_000
MEDIAN_OF = 31
# An instant (ns) that is before every frame.
LONG_AGO_NS = -(1 << 70)


# Number of underruns per second that lost snapshots may cause: one in seven seconds.
UNDERRUNS_PER_S = 0.15
# Lost snapshots are counted over LOSS_MEMORY_NS, or over the time since the first snapshot if this time is shorter.
# The rate of losses is computed over at least LEAST_NS.
LOSS_MEMORY_NS, LEAST_NS = 40_000_000_000, 2_000_000_000
# Longest gap between snapshots, in intervals, that lost snapshots explain. Longer gaps are stalls.
MOST_INTERVALS = 8
# The lateness of this many last snapshots is used. This is enough to know the 80th percentile within a few percent.
LATENESSES = 128


class RequiredOffset(NamedTuple):
    """Required offset of one arrival of a snapshot, and the gap between this snapshot and the previous one."""

    offset_ns: int  # required offset in ns, measured at the last frame before the arrival
    gap_ns: int
    intervals: float  # the gap in units of the interval at the time of the arrival
    lateness_ns: int = 0  # time in ns from the due time of the snapshot until a frame could draw it
    widest_gap: int = 1  # widest gap, in intervals, of the snapshots that arrived for the same frame

    def now_ns(self, interval_ns: int) -> float:
        """Required offset in ns, corrected if the interval has become shorter after the measurement. If the interval
        has become longer, no correction is needed, because arrivals at the longer interval are measured."""
        gap_ns = min(self.gap_ns, self.intervals * interval_ns) if interval_ns else self.gap_ns
        return self.offset_ns - self.gap_ns + gap_ns


class OffsetEstimator:
    """Estimates the playback offset from the required offsets of the last ten seconds. It stores the two largest
    required offsets of each half second."""

    def __init__(self) -> None:
        self._buckets: list[tuple[int, list[RequiredOffset]]] = []
        self._recent: list[float] = []
        self._count = 0
        self._losses = LossEstimator()
        self._longest = LongestStall()
        self._stalled_until_ns = LONG_AGO_NS
        # lowest required offset after the stall began, and the instant of this offset
        self._lowest_ns = self._fell_at_ns = 0

    def add(self, now_ns: int, required: RequiredOffset, interval_ns: int) -> None:
        """Records an arrival. The frame at `now_ns` was the first frame that could draw the snapshot. interval_ns:
        current interval between snapshots, in ns."""
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
        """True if a stall caused this offset, or if the offset belongs to a snapshot that the stall delayed."""
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
        """Wanted playback offset in ns: 0 if all required offsets are negative, otherwise the second largest of them
        plus a margin.

        scatter_ns: usual change of lateness from one snapshot to the next. room_ns: time that is added to the offset.
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
        """Playback offset in ns at which the longest stall of the last minutes would have caused no underrun."""
        longest_ns = self._longest.value_ns
        return max(0.0, longest_ns + MARGIN_NS) if longest_ns is not None else 0.0

    def rescaled(self) -> OffsetEstimator:
        """Returns a new estimator for another time scale. Only the lengths of stalls are copied, because they remain
        valid."""
        estimator = OffsetEstimator()
        estimator._longest = self._longest
        return estimator

    def forget_since(self, instant_ns: int) -> None:
        """Clears the offsets that were required at and after `instant_ns`, because they do not predict later ones."""
        while self._buckets and self._buckets[-1][0] >= instant_ns:
            del self._buckets[-1]
        self._recent.clear()


class LongestStall:
    """Largest required offset of the last minutes. Offsets above MAX_STALL_OFFSET_NS are ignored, because so much
    latency is worse than the next stall."""

    def __init__(self) -> None:
        # (instant, largest required offset from this instant until the next entry)
        self._tops: list[tuple[int, int]] = []

    @property
    def value_ns(self) -> int | None:
        """Largest required offset in ns; None before the first one."""
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
    """Least time in ns from the arrival of a snapshot until a frame shows it. Frames are drawn some time before they
    are shown."""

    def __init__(self) -> None:
        self._before_ns = self._now_ns = -LONG_AGO_NS
        self._since_ns: int | None = None

    def least_ns(self, now_ns: int, delay_ns: int) -> int:
        """Records a delay. Returns the least of the recent delays, in ns. The frame at `now_ns` shows a snapshot that
        arrived `delay_ns` earlier."""
        if self._since_ns is None or now_ns - self._since_ns > MEMORY_NS:
            self._before_ns, self._now_ns, self._since_ns = self._now_ns, delay_ns, now_ns
        self._now_ns = min(self._now_ns, delay_ns)
        return min(self._now_ns, self._before_ns)


class LossEstimator:
    """Computes the playback offset for lost snapshots. It uses the gaps of several intervals and the lateness of all
    snapshots."""

    def __init__(self) -> None:
        self._latenesses_ns = QuantileWindow(LATENESSES)
        self._gaps: deque[tuple[int, int]] = deque()  # for each gap: (instant, length in intervals)
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
        """Playback offset in ns at which lost snapshots cause `UNDERRUNS_PER_S` underruns a second; None if no
        snapshot was lost."""
        if self._since_ns is None or not self._gaps:
            return None
        over_s = max(LEAST_NS, min(LOSS_MEMORY_NS, self._now_ns - self._since_ns)) / 1e9
        underruns_per_s, chance = 0.0, 0
        longest = max(multiple for _, multiple in self._gaps)
        for intervals in range(min(longest, MOST_INTERVALS), 1, -1):
            count = chance + sum(multiple == intervals for _, multiple in self._gaps)
            # A single gap of each length may be chance, so this gap counts as one of the next shorter length.
            chance = min(count, 1) if intervals > 2 else 0
            per_s = (count - chance) / over_s
            if underruns_per_s + per_s > UNDERRUNS_PER_S:
                # share of the gaps of this length that may cause underruns
                uncovered = (UNDERRUNS_PER_S - underruns_per_s) / per_s
                return intervals * interval_ns + self._latenesses_ns.quantile(1 - uncovered)
            underruns_per_s += per_s
        return None
