"""How far behind the present a clock must play so that the next snapshot is always there in time.

The need of one arrival: at the last frame that had to do without it, how long the newest snapshot known
had been due. It holds the latency of the channel, the gap between snapshots and the frames' own distance,
because it is taken where it hurts: at the frames. Negative while physics is ahead.

Always: one sample per frame that brings something new, so a burst after a stall counts once; one rare
event buys no lasting latency. Reads no clock.
"""

from __future__ import annotations

# A need is remembered this long: the time after which a trouble that ended costs no more latency.
MEMORY_NS = 10_000_000_000
BUCKET_NS = 500_000_000
# With fewer samples than this the largest counts, not the second largest: a start cannot wait for a repetition.
FEW = 4
# Beyond the median by this, a need is a stall, and buying latency for it would help only at the next one.
STALL_NS = 250_000_000
# Above the need itself: what the slewing swings, and three times the usual scatter of needs, within reason.
MARGIN_NS = 500_000
SCATTER_FACTOR = 3.0
SCATTER_MARGIN_MAX_NS = 12_000_000
MEDIAN_OF = 31


class _Need:
    __slots__ = ("gap_ns", "need_ns", "units")

    def __init__(self, need_ns: float, gap_ns: float, units: float) -> None:
        self.need_ns, self.gap_ns, self.units = need_ns, gap_ns, units

    def now_ns(self, interval_ns: int) -> float:
        """The need in the interval that holds now: shorter intervals need less, longer ones show themselves."""
        gap = min(self.gap_ns, self.units * interval_ns) if interval_ns else self.gap_ns
        return self.need_ns - self.gap_ns + gap


class Needs:
    """The needs of the last ten seconds, the largest two of each half second."""

    def __init__(self) -> None:
        self._buckets: list[tuple[int, list[_Need]]] = []
        self._recent: list[float] = []
        self._count = 0

    def add(self, now_ns: int, need_ns: int, gap_ns: int, interval_ns: int) -> None:
        """The frame at `now_ns` was the last without a snapshot that came `gap_ns` after the one before."""
        recent = self._recent
        recent.append(need_ns)
        if len(recent) > MEDIAN_OF:
            del recent[0]
        if len(recent) >= FEW and need_ns > sorted(recent)[len(recent) // 2] + STALL_NS:
            return
        self._count += 1
        if not self._buckets or now_ns - self._buckets[-1][0] >= BUCKET_NS:
            self._buckets.append((now_ns, []))
            while now_ns - self._buckets[0][0] > MEMORY_NS:
                del self._buckets[0]
        top = self._buckets[-1][1]
        top.append(_Need(need_ns, gap_ns, gap_ns / interval_ns if interval_ns else 1.0))
        if len(top) > 2:
            top.sort(key=lambda need: need.need_ns, reverse=True)
            del top[2]

    def offset_ns(self, interval_ns: int, scatter_ns: float) -> float:
        """The offset wanted: 0 when all needs are negative, else the second largest and a margin.

        scatter_ns: by how much lateness usually differs from one snapshot to the next.
        """
        largest = second = float("-inf")
        for _, top in self._buckets:
            for need in top:
                value = need.now_ns(interval_ns)
                if value > largest:
                    largest, second = value, largest
                elif value > second:
                    second = value
        need_ns = largest if self._count < FEW else second
        if need_ns == float("-inf"):
            return 0.0
        margin = MARGIN_NS + min(SCATTER_FACTOR * scatter_ns, SCATTER_MARGIN_MAX_NS)
        return max(0.0, need_ns + margin)
