"""What of the machine is free, and what its own programs and others' have of it while something is measured (Linux)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from twixt.render.bench import cpu_time

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
        self._begun = {pid: cpu_time.of_process(pid) for pid in pids}

    def include(self, *pids: int) -> None:
        """These belong to what is measured, too, since they began."""
        self._begun |= dict.fromkeys(pids, 0.0)

    def look(self) -> None:
        """While all of them live."""
        busy_s, passed_s = _busy_s(), time.monotonic() - self._begin_s
        if busy_s is None or self._busy_s is None or passed_s <= 0:
            return
        own_s = sum(cpu_time.of_process(pid) - begun_s for pid, begun_s in self._begun.items())
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
def busy_loops(count: int) -> Iterator[list[int]]:
    """The process ids of so many busy programs at normal priority. They end with the context, and with this process."""
    loops: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            # In a group of its own: Ctrl-C is for the measuring, which ends them.
            loops.append(subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.DEVNULL, process_group=0))
        yield [loop.pid for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def _busy_s() -> float | None:
    """CPU time of everything that ran here."""
    machine = cpu_time.of_machine()
    return None if machine is None else sum(machine)
