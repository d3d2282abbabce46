"""Processes of a session, as the kernel lists them (proc(5)): what a command has left behind."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

ZOMBIE = "Z"  # has ended; whoever adopted it has not looked yet


def left_in_session(session: int) -> list[str]:
    """The names of those that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text().rpartition(")")
            state, _parent, _group, of = rest.split()[:4]
            if int(of) == session and state != ZOMBIE:
                found.append(name)
    return found
