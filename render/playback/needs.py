"""How far behind the present a clock must play so that the next snapshot is always there in time.

The need of one arrival: how long the newest snapshot known had been due, at the last frame that had to do
without the next one. It holds the latency of the channel, the gap between snapshots and how long before it is
seen a frame is chosen, because it is taken where it hurts: at the frames. Negative while physics is ahead.

Always: one sample per frame that brings something new; one rare event, a stall or a loss, buys no lasting
latency. Reads no clock.
"""

from __future__ import annotations

from typing import NamedTuple

from twixt.render.playback.losses import Losses

# A need is remembered this long: the time after which a trouble that ended costs no more latency.
MEMORY_NS = 10_000_000_000
BUCKET_NS = 500_000_000
# With fewer samples than this the largest counts, not the second largest: a start cannot wait for a repetition.
FEW = 4
# Beyond the median by these, a need is a stall, and buying latency for it would help only at the next one.
STALL_NS, STALL_INTERVALS = 250_000_000, 2.5
# What a stall held up arrives late too, and less and less so. It is left out until needs are usual again, or for so
# long; needs that no longer fall for the second time are no stall's: all has become later.
STALL_OVER_NS = 3_000_000_000
FALLING_NS, FALLING_INTERVALS = 250_000_000, 4
FALL_NS = 1_000_000
# A cushion for stalls is kept this long after the last one, and is never larger than this.
STALL_MEMORY_NS, MAX_CUSHION_NS = 240_000_000_000, 2_000_000_000
# Above the need itself: what the slewing swings, and a share of the usual scatter, within reason. The second largest
# of ten seconds lies far out already; more than this share bought age and no evenness on 20 Hz with 4 ms of jitter.
MARGIN_NS = 300_000
SCATTER_FACTOR = 0.5
SCATTER_MARGIN_MAX_NS = 12_000_000
MEDIAN_OF = 31
# Before any clock's present.
LONG_AGO_NS = -(1 << 70)


class Need(NamedTuple):
    """The last frame before a snapshot came, and that snapshot's gap to the one before."""

    need_ns: int
    gap_ns: int
    intervals: float  # of those that held then, as long as the gap is
    seen_late_ns: int = 0  # after it was due, that a frame could draw it
    widest_gap: int = 1  # of the snapshots that came with it, in snapshots, the lost ones counted

    def now_ns(self, interval_ns: int) -> float:
        """The need in the interval that holds now: shorter intervals need less, longer ones show themselves."""
        gap_ns = min(self.gap_ns, self.intervals * interval_ns) if interval_ns else self.gap_ns
        return self.need_ns - self.gap_ns + gap_ns


class Needs:
    """The needs of the last ten seconds, the largest two of each half second."""

    def __init__(self) -> None:
        self._buckets: list[tuple[int, list[Need]]] = []
        self._recent: list[float] = []
        self._count = 0
        self._losses = Losses()
        self._longest = Longest()
        self._stalled_until_ns = LONG_AGO_NS
        self._lowest_ns = self._fell_at_ns = 0  # since the stall, and when that was

    def add(self, now_ns: int, need: Need, interval_ns: int) -> None:
        """The frame at `now_ns` drew what came at last. interval_ns: the one that holds now."""
        need_ns = need.need_ns
        if self._count >= FEW:
            self._longest.add(now_ns, need_ns)
        if self._is_of_stall(now_ns, need_ns, interval_ns):
            return
        self._recent.append(need_ns)
        if len(self._recent) > MEDIAN_OF:
            del self._recent[0]
        self._losses.add(now_ns, need.seen_late_ns, need.widest_gap)
        self._count += 1
        if need.widest_gap > 1:
            return
        if not self._buckets or now_ns - self._buckets[-1][0] >= BUCKET_NS:
            self._buckets.append((now_ns, []))
            while now_ns - self._buckets[0][0] > MEMORY_NS:
                del self._buckets[0]
        top = self._buckets[-1][1]
        top.append(need)
        if len(top) > 2:
            top.sort(key=lambda need: need.need_ns, reverse=True)
            del top[2]

    def _is_of_stall(self, now_ns: int, need_ns: int, interval_ns: int) -> bool:
        """Whether a stall, or what it held up, made this need."""
        recent = self._recent
        if len(recent) < FEW - 1:
            return False
        median = sorted(recent)[len(recent) // 2]
        if self._stalled_until_ns == LONG_AGO_NS:
            if need_ns <= median + max(STALL_NS, STALL_INTERVALS * interval_ns):
                return False
            self._stalled_until_ns = now_ns + STALL_OVER_NS
            self._lowest_ns, self._fell_at_ns = need_ns, now_ns
            return True
        if need_ns < self._lowest_ns - FALL_NS:
            self._lowest_ns, self._fell_at_ns = need_ns, now_ns
        falls = now_ns - self._fell_at_ns < max(FALLING_NS, FALLING_INTERVALS * interval_ns)
        if need_ns > median:
            if falls and now_ns < self._stalled_until_ns:
                return True
            recent.clear()
        self._stalled_until_ns = LONG_AGO_NS
        return False

    def offset_ns(self, interval_ns: int, scatter_ns: float, room_ns: int = 0) -> float:
        """The offset wanted: 0 when all needs are negative, else the second largest and a margin.

        scatter_ns: by how much lateness usually differs from one snapshot to the next. room_ns: to be kept besides.
        """
        largest = second = float("-inf")
        for _, top in self._buckets:
            for need in top:
                value = need.now_ns(interval_ns)
                if value > largest:
                    largest, second = value, largest
                elif value > second:
                    second = value
        need_ns = second if self._count >= FEW and second > float("-inf") else largest
        lost_ns = self._losses.need_ns(interval_ns)
        if lost_ns is not None and lost_ns > need_ns:
            return max(0.0, lost_ns + MARGIN_NS + room_ns)
        if need_ns == float("-inf"):
            return float(room_ns)
        margin = MARGIN_NS + min(SCATTER_FACTOR * scatter_ns, SCATTER_MARGIN_MAX_NS)
        return max(0.0, need_ns + margin + room_ns)

    def cushion_ns(self) -> float:
        """The offset at which not even the longest stall of the last minutes would have shown."""
        longest_ns = self._longest.value_ns
        return max(0.0, longest_ns + MARGIN_NS) if longest_ns is not None else 0.0

    def rescaled(self) -> Needs:
        """What holds at another time scale: of all that was learned, how long physics stalls."""
        needs = Needs()
        needs._longest = self._longest
        return needs

    def forget_since(self, instant_ns: int) -> None:
        """What was needed from `instant_ns` on is no sign of what will be."""
        while self._buckets and self._buckets[-1][0] >= instant_ns:
            del self._buckets[-1]
        self._recent.clear()


class Longest:
    """The longest need of the last minutes. A longer stop is none: nobody buys that much latency for the next one."""

    def __init__(self) -> None:
        self._tops: list[tuple[int, int]] = []  # (instant, longest since)

    @property
    def value_ns(self) -> int | None:
        """None while there is none."""
        return max((need_ns for _, need_ns in self._tops), default=None)

    def add(self, now_ns: int, need_ns: int) -> None:
        """One more need."""
        if need_ns > MAX_CUSHION_NS:
            return
        if not self._tops or now_ns - self._tops[-1][0] >= MEMORY_NS:
            self._tops.append((now_ns, need_ns))
            while now_ns - self._tops[0][0] > STALL_MEMORY_NS:
                del self._tops[0]
        elif need_ns > self._tops[-1][1]:
            self._tops[-1] = self._tops[-1][0], need_ns


class SeenDelay:
    """How long after its arrival a frame can draw a snapshot, at the least: frames are chosen before they are shown."""

    def __init__(self) -> None:
        self._before_ns = self._now_ns = -LONG_AGO_NS
        self._since_ns: int | None = None

    def least_ns(self, now_ns: int, delay_ns: int) -> int:
        """With one more: the frame at `now_ns` shows what arrived `delay_ns` before it."""
        if self._since_ns is None or now_ns - self._since_ns > MEMORY_NS:
            self._before_ns, self._now_ns, self._since_ns = self._now_ns, delay_ns, now_ns
        self._now_ns = min(self._now_ns, delay_ns)
        return min(self._now_ns, self._before_ns)
