"""Statistics of a stream: current interval, evenness of steps, scatter of lateness.

Computed from the gaps between snapshots in order. All figures are medians or bounded, so that one unusual gap changes
nothing. Reads no clock, and keeps a few dozen numbers.
"""

from __future__ import annotations

from itertools import pairwise

# Gaps whose median is the present interval: it follows a change of load within five snapshots.
INTERVAL_GAPS = 9
# Gaps from whose changes evenness is computed.
EVENNESS_GAPS = 16
# Index of the change, of these 15 in ascending order, that is the stream's unevenness. One unusual gap makes two large
# changes, and a change of load one. If every fourth step is slow, five to seven of the 15 are large.
EVEN_CHANGES = 10
# Weight of one snapshot in the mean change of lateness: some fifty snapshots count, a second or two.
SCATTER_SHARE = 0.02
# A due gap of at least REST_NS that is REST_GAPS times as long as its simulated time usually takes is a rest, not slow
# motion: the world stood still, and moved at the end.
REST_GAPS = 4
REST_NS = 200_000_000
# Two such gaps in a row, neither more than this many times as long as the other, are slow physics from the second on.
ALIKE = 2
# A slip: a snapshot is late by more than an interval, and the next is on time because its due instant was moved by at
# least this many intervals.
SLIP_GAPS = 2
SLIP_ON_TIME = 0.25  # share of an interval that still counts as on time


class Rhythm:
    """Interval, evenness and scatter of the latest snapshots."""

    def __init__(self) -> None:
        self.sim_interval_ns = 0  # median simulated time between snapshots
        self.interval_ns = 0  # median due gap of late; 0 while fewer than two snapshots are known
        self.slope_change = 0.0  # usual relative change of the due gap per simulated time; 0 when steps are even
        self.mean_gap_ns, self.longest_gap_ns = 0.0, 0  # due gaps, among as many as are needed for evenness
        self.scatter_ns = 0.0  # usual change of lateness from one snapshot to the next
        self.slips = 0  # how often physics gave up a debt and let its due instants move
        self._gaps: list[tuple[int, int]] = []  # (due, sim)
        self._lateness_ns: int | None = None
        self._rest: tuple[int, int] | None = None  # (due, sim), when the last gap was one

    def intervals(self, due_gap_ns: int, sim_gap_ns: int) -> float:
        """Length of a gap in usual gaps, by simulated time or by due instants, whichever is less: slow physics makes
        gaps of due instants longer, a change of scale those of simulated time. 1 while nothing is known."""
        if not self.sim_interval_ns or not self.interval_ns:
            return 1.0
        return min(sim_gap_ns / self.sim_interval_ns, due_gap_ns / self.interval_ns)

    def rest_ns(self, due_gap_ns: int, sim_gap_ns: int) -> int:
        """Part of this gap in which the world stood still, ns: the gap less the usual time of its steps, or 0."""
        if not self._gaps:
            return 0
        if self._rest is not None and max(self._rest[0], due_gap_ns) <= ALIKE * min(self._rest[0], due_gap_ns):
            return 0
        return self._exceeds(due_gap_ns, sim_gap_ns)

    def add_rest(self, due_gap_ns: int, sim_gap_ns: int) -> None:
        """Takes in a gap that was a rest."""
        self._rest = due_gap_ns, sim_gap_ns

    def _exceeds(self, due_gap_ns: int, sim_gap_ns: int) -> int:
        """Length of a gap beyond the usual time of its steps, ns; 0 unless it is as long as a rest."""
        steps_ns = self.interval_ns * max(1, round(sim_gap_ns / self.sim_interval_ns))
        return due_gap_ns - steps_ns if due_gap_ns > max(REST_GAPS * steps_ns, REST_NS) else 0

    def add_gap(self, due_gap_ns: int, sim_gap_ns: int) -> None:
        """Takes in a snapshot that falls due `due_gap_ns` after the one before, `sim_gap_ns` further on."""
        if self._rest is not None:
            if self._exceeds(due_gap_ns, sim_gap_ns):
                self._gaps, self.slope_change = [self._rest], 0.0
            self._rest = None
        self._gaps.append((due_gap_ns, sim_gap_ns))
        if len(self._gaps) > EVENNESS_GAPS:
            del self._gaps[0]
        recent = sorted(due for due, _ in self._gaps[-INTERVAL_GAPS:])
        self.interval_ns = recent[len(recent) // 2]
        recent = sorted(sim for _, sim in self._gaps[-INTERVAL_GAPS:])
        self.sim_interval_ns = recent[len(recent) // 2]
        if len(self._gaps) == EVENNESS_GAPS:
            slopes = [due / sim for due, sim in self._gaps]
            changes = sorted(abs(new - old) / (old or 1.0) for old, new in pairwise(slopes))
            self.slope_change = changes[EVEN_CHANGES]
            gaps = [due for due, _ in self._gaps]
            self.mean_gap_ns, self.longest_gap_ns = sum(gaps) / len(gaps), max(gaps)

    def add_lateness(self, lateness_ns: int, due_gap_ns: int, sim_gap_ns: int) -> None:
        """Takes in a snapshot that came `lateness_ns` after it was due, with these gaps to the one before."""
        if self._lateness_ns is not None:
            change = min(abs(lateness_ns - self._lateness_ns), self.interval_ns)
            self.scatter_ns += SCATTER_SHARE * (change - self.scatter_ns)
            moved_over = due_gap_ns > SLIP_GAPS * self.interval_ns and self.intervals(due_gap_ns, sim_gap_ns) < 1.5
            moved_over = moved_over and self._lateness_ns > self.interval_ns
            if moved_over and abs(lateness_ns) < SLIP_ON_TIME * self.interval_ns:
                self.slips += 1
        self._lateness_ns = lateness_ns

    def restart(self, stretch: float) -> None:
        """Gaps from now on are `stretch` times as long; earlier ones do not count for evenness."""
        self._gaps.clear()
        self._rest = None
        self.slope_change = 0.0
        self.interval_ns = round(self.interval_ns * stretch)
