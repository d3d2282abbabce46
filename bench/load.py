"""Number of free cores, and busy programs that load the machine during a measurement."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from twixt.cli.cpu_time import CpuTime, usable_cores
from twixt.sim.process.viewer_command import python_program

# A busy program at normal priority, which ends with the process that started it.
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(10**6): pass"
# Time over which free cores are measured (seconds).
FREE_CORES_S = 0.5


def free_cores() -> float | None:
    """Number of cores that this process may use, minus those that other programs use, on average over `FREE_CORES_S`.

    None if it is not known.
    """
    begin = CpuTime.now()
    time.sleep(FREE_CORES_S)
    lost = CpuTime.now().lost_since(begin)
    return None if lost is None else max(0.0, usable_cores() - lost)


@contextmanager
def busy_loops(count: int) -> Iterator[list[int]]:
    """Runs `count` busy programs at normal priority; yields their process ids. They end with the context or with this
    process."""
    loops: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            # In its own process group, so that Ctrl-C reaches only the measurement, which then ends the loops.
            loops.append(subprocess.Popen([python_program(), "-c", BUSY], stdin=subprocess.DEVNULL, process_group=0))
        yield [loop.pid for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()
