"""Times of the parts of a start, from the command to the first frame; each process notes its own as they end.

The one idea: a part lasts from the end of the one before, so the parts of a process add up to its whole start.

Always: a name counts once, at its first end; noting an end costs a microsecond. Imports `time` alone, because it is
imported before anything else: a part that is a span too ends by `Spans.end_phase`, whose module takes 10 ms to import.
"""

from __future__ import annotations

import time

# By part. Instants of `time.perf_counter_ns`, which processes share.
_ended_ns: dict[str, int] = {}


def ended(part: str, at_ns: int | None = None) -> None:
    """Notes that this part of the start ended, now or at that instant. The order of calls does not matter."""
    _ended_ns.setdefault(part, time.perf_counter_ns() if at_ns is None else at_ns)


def phases_ms(begin_ns: int) -> dict[str, float]:
    """Length in ms of each part that ended since `begin_ns`, in the order of their ends."""
    ends = sorted((at_ns, part) for part, at_ns in _ended_ns.items() if at_ns >= begin_ns)
    begins = [begin_ns, *(at_ns for at_ns, _ in ends)]
    return {part: (at_ns - before_ns) / 1e6 for before_ns, (at_ns, part) in zip(begins, ends, strict=False)}


def has_ended(part: str) -> bool:
    """True if that part has ended."""
    return part in _ended_ns


def forget() -> None:
    """Forgets all ends: another run begins in this process."""
    _ended_ns.clear()
