"""Processes of a session, as the kernel lists them (proc(5)): what a command has left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

STOPPED = "T"
ZOMBIE = "Z"  # has ended; whoever adopted it has not looked yet


def left_in_session(session: int) -> list[str]:
    """The names of those that still run."""
    return [name for name, state in _of_session(session) if state != ZOMBIE]


def stopped_in_session(session: int) -> list[int]:
    """The process ids of those that a signal has stopped."""
    return [int(name.split()[0]) for name, state in _of_session(session) if state == STOPPED]


def _of_session(session: int) -> Iterator[tuple[str, str]]:
    """Process id and name, and state."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text().rpartition(")")
            state, _parent, _group, of = rest.split()[:4]
            if int(of) == session:
                yield name, state
