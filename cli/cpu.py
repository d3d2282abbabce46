"""CPU time of the whole machine, of what this process started, and so of all other programs (Linux, proc(5)).

Always: what the system does not say is None.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from twixt.render.bench import cpu_time


@dataclass(frozen=True)
class CpuTime:
    """Until an instant, in seconds. own: of this process and its children that have ended."""

    at_s: float
    all_s: float | None
    stolen_s: float | None
    own_s: float

    @staticmethod
    def now(*living: int) -> CpuTime:
        """living: processes that count as own, too, such as a display that was started for the measurement."""
        own_s = cpu_time.of_this_process() + sum(map(cpu_time.of_process, living))
        machine = cpu_time.of_machine()
        if machine is None:
            return CpuTime(time.monotonic(), None, None, own_s)
        return CpuTime(time.monotonic(), machine.busy_s, machine.stolen_s, own_s)

    def others_since(self, begin: CpuTime) -> float | None:
        """Cores that other programs had since then, on average."""
        if self.all_s is None or begin.all_s is None:
            return None
        others_s = (self.all_s - begin.all_s) - (self.own_s - begin.own_s)
        return max(0.0, others_s) / max(self.at_s - begin.at_s, 1e-3)

    def stolen_since(self, begin: CpuTime) -> float | None:
        """Cores that the machine's host kept from it since then, on average."""
        if self.stolen_s is None or begin.stolen_s is None:
            return None
        return max(0.0, self.stolen_s - begin.stolen_s) / max(self.at_s - begin.at_s, 1e-3)


def cores() -> int:
    """Of the machine."""
    return os.cpu_count() or 1
