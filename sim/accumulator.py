"""How many whole periods have passed, and what is left over.

Pure: lengths of time in, counts out. Always: periods counted x period + left over = all time added, so that
nothing is lost or gained however the time was cut up.
"""

from __future__ import annotations

from twixt.ipc.errors import TwixtError


class Accumulator:
    """Counts whole periods of `period_ns` in time that comes in pieces."""

    def __init__(self, period_ns: int) -> None:
        if period_ns <= 0:
            raise TwixtError(f"a period must be > 0 ns, got {period_ns!r}")
        self.period_ns = period_ns
        self.left_over_ns = 0

    def add(self, elapsed_ns: int) -> int:
        """Whole periods that are complete with `elapsed_ns` more; the rest stays for the next call."""
        count, self.left_over_ns = divmod(self.left_over_ns + elapsed_ns, self.period_ns)
        return count

    @property
    def fraction(self) -> float:
        """What is left over, as a share of a period, 0 <= fraction < 1."""
        return self.left_over_ns / self.period_ns
