"""The nice value of the viewer, set by itself at its start (`--viewer-nice`).

Always: every thread has it, those to come as well: on Linux the value is a thread's, and a new one inherits it. It is
only ever raised, as an unprivileged process may. Not set from outside: whoever starts a viewer may be privileged or
not, a fork of it never starts with another value.
"""

from __future__ import annotations

import contextlib
import os


def give_way(nice: int) -> None:
    """This process from now on runs at `nice`, where it does not already at a higher one."""
    if nice <= 0 or not hasattr(os, "setpriority"):
        return
    for thread in _threads():
        with contextlib.suppress(OSError):  # it has ended
            if os.getpriority(os.PRIO_PROCESS, thread) < nice:
                os.setpriority(os.PRIO_PROCESS, thread, nice)


def said() -> list[str]:
    """Of the conditions of figures: the nice value of this process, where it is not 0."""
    nice = os.getpriority(os.PRIO_PROCESS, 0) if hasattr(os, "getpriority") else 0
    return [f"the viewer ran at nice {nice}: programs at lower values come before it"] if nice else []


def _threads() -> list[int]:
    """Linux: all of them; elsewhere the process."""
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir("/proc/self/task")]
    return [0]
