"""Durations of the phases of this process' start, from the command to the first frame.

A phase lasts from the end of the previous one, so the phases add up to the whole start.

Always: a name counts once, at its first end; recording an end costs a microsecond. Imports `time` only, because it is
imported first. A phase that is also a span ends by `Spans.end_phase`, whose module takes 10 ms to import.
"""

from __future__ import annotations

import time

# By phase. Instants of `time.perf_counter_ns`, which processes share.
_ended_ns: dict[str, int] = {}


def ended(phase: str, at_ns: int | None = None) -> None:
    """Records the end of this phase of the start, now or at `at_ns`. The order of calls does not matter."""
    _ended_ns.setdefault(phase, time.perf_counter_ns() if at_ns is None else at_ns)


def phases_ms(begin_ns: int) -> dict[str, float]:
    """Duration in ms of each phase that ended since `begin_ns`, in the order of their ends."""
    ends = sorted((at_ns, phase) for phase, at_ns in _ended_ns.items() if at_ns >= begin_ns)
    begins = [begin_ns, *(at_ns for at_ns, _ in ends)]
    return {phase: (at_ns - before_ns) / 1e6 for before_ns, (at_ns, phase) in zip(begins, ends, strict=False)}


def has_ended(phase: str) -> bool:
    """True if that phase has ended."""
    return phase in _ended_ns


def forget() -> None:
    """Clears all phases: another run begins in this process."""
    _ended_ns.clear()
