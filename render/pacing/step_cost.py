"""Expected duration of one kind of work that is done in spare time, from its last durations.

Takes durations and instants, reads no clock. Pure.
"""

from __future__ import annotations

from twixt.ipc.quantiles import QuantileWindow

# Expected duration: until ENOUGH durations are known, the longest plus MARGIN_NS, and at least FIRST_NS; then a
# quantile of the last REMEMBERED durations, times MARGIN_FACTOR, plus MARGIN_NS.
FIRST_NS = 1_500_000
REMEMBERED, MARGIN_FACTOR, MARGIN_NS = 64, 1.1, 100_000
ENOUGH = 8
# After so many times in a row without room the durations are forgotten: the machine may no longer be busy.
REFUSED_TO_FORGET = 120


class StepCost:
    """Expected duration of one kind of work. covered: quantile of the last durations, 0..1."""

    def __init__(self, covered: float = 0.9) -> None:
        self._covered = covered
        self._took_ns = QuantileWindow(REMEMBERED)
        self._refused = 0  # times in a row

    @property
    def expected_ns(self) -> int:
        """Expected duration of the next time, margin included."""
        if len(self._took_ns) < ENOUGH:
            return max(FIRST_NS, self._took_ns.quantile(1.0) + MARGIN_NS)
        return round(self._took_ns.quantile(self._covered) * MARGIN_FACTOR) + MARGIN_NS

    def fits(self, now_ns: int, until_ns: int) -> bool:
        """True if the work, begun now, is expected to end by `until_ns`."""
        if now_ns + self.expected_ns <= until_ns:
            self._refused = 0
            return True
        self._refused += 1
        if self._refused >= REFUSED_TO_FORGET:
            self.forget()
        return False

    def took(self, duration_ns: int) -> None:
        """Takes in a measured duration."""
        self._took_ns.add(duration_ns)

    def forget(self) -> None:
        """Forgets all durations."""
        self._took_ns.clear()
        self._refused = 0
