"""What of the machine is free, and what its own programs and others' have of it while something is measured (Linux)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A busy program at normal priority, which ends with whoever started it.
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**6): pass"
# How long is looked to say what was free before (seconds).
LOOK_S = 0.5


class Cores:
    """What others have of the machine while these processes are measured, from now until the last `look`.

    others: cores that other programs had, on average; None before a look, and where the system does not say.
    """

    def __init__(self, *pids: int) -> None:
        self.others: float | None = None
        self._begin_s, self._busy_s = time.monotonic(), _busy_s()
        self._begun = {pid: _used_s(pid) for pid in pids}

    def include(self, *pids: int) -> None:
        """These belong to what is measured, too, since they began."""
        self._begun |= dict.fromkeys(pids, 0.0)

    def look(self) -> None:
        """While all of them live."""
        busy_s, passed_s = _busy_s(), time.monotonic() - self._begin_s
        if busy_s is None or self._busy_s is None or passed_s <= 0:
            return
        own_s = sum(_used_s(pid) - begun_s for pid, begun_s in self._begun.items())
        self.others = max(0.0, busy_s - self._busy_s - own_s) / passed_s


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_before() -> float | None:
    """Cores that nothing uses just now."""
    looked = Cores(os.getpid())
    time.sleep(LOOK_S)
    looked.look()
    return None if looked.others is None else max(0.0, cores() - looked.others)


@contextmanager
def load(kind: str) -> Iterator[list[int]]:
    """The process ids of the busy programs that run meanwhile: one for `loop`, none for `none`."""
    if kind == "none":
        yield []
        return
    # In a group of its own: Ctrl-C is for the measuring, which ends it.
    busy = subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.DEVNULL, process_group=0)
    try:
        yield [busy.pid]
    finally:
        busy.kill()
        busy.wait()


def _busy_s() -> float | None:
    """CPU time of everything that ran here (proc(5))."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _iowait, *rest = map(int, file.readline().split()[1:9])
    except OSError:
        return None
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def _used_s(pid: int) -> float:
    """CPU time of one process; 0 of one that has gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            ticks = sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    except OSError:
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")
