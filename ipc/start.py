"""What the way from the command to the first frame is spent on: each process names its parts of it as they end.

The one idea: a part lasts from the end of the one before, so the parts of a process add up to its whole way.

Always: a name counts once, at its first end; a process keeps these few instants and nothing else, and naming a part
costs it a microsecond. Standard library only: it is there before anything else is imported.
"""

from __future__ import annotations

import time

# By part. Instants of `time.perf_counter_ns`, which processes share.
_ended_ns: dict[str, int] = {}


def ended(part: str, at_ns: int | None = None) -> None:
    """This part of the start has ended, now or at that instant. Ends may be told in any order."""
    _ended_ns.setdefault(part, time.perf_counter_ns() if at_ns is None else at_ns)


def parts_ms(begin_ns: int) -> dict[str, float]:
    """The parts that have ended since `begin_ns`, in order, each with its length in ms."""
    ends = sorted((at_ns, part) for part, at_ns in _ended_ns.items() if at_ns >= begin_ns)
    begins = [begin_ns, *(at_ns for at_ns, _ in ends)]
    return {part: (at_ns - before_ns) / 1e6 for before_ns, (at_ns, part) in zip(begins, ends, strict=False)}


def has_ended(part: str) -> bool:
    """Whether that part is over."""
    return part in _ended_ns


def forget() -> None:
    """As if nothing had ended: another run begins in this process."""
    _ended_ns.clear()
