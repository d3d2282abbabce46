"""This module measures the CPU time of cores, of a process and of all other programs.

It reads /proc (Linux, proc(5)). Only cores that this process may use (its affinity mask) are counted. Programs on
other cores do not disturb a measurement. Always: a time that the system does not report is None for cores, and 0 for a
process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple


class CoreTime(NamedTuple):
    """CPU time since the start of the machine, in seconds, as the sum over some cores."""

    busy_s: float  # time used by programs and the kernel
    stolen_s: float  # on a virtual machine: time in which the host used the core


def of_usable_cores() -> CoreTime | None:
    """CPU time, until now, of the cores that this process may use. None if the system does not report this time."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return of_cores(file.read(), os.sched_getaffinity(0))
    except (OSError, AttributeError, ValueError):
        return None


def of_cores(stat: str, cores: Collection[int]) -> CoreTime | None:
    """CPU time of the given cores. stat: text of /proc/stat, which has a line for each online core. Returns None if
    all these cores are offline. Raises ValueError if the text does not have the form of /proc/stat."""
    names = {f"cpu{core}" for core in cores}
    lines = [line.split() for line in stat.splitlines()]
    ticks = [[int(word) for word in words[1:9]] for words in lines if words and words[0] in names]
    if not ticks:
        return None
    ticks_s = os.sysconf("SC_CLK_TCK")
    user, nice, system, _idle, _waiting, irq, soft, stolen = (sum(each) / ticks_s for each in zip(*ticks, strict=True))
    return CoreTime(user + nice + system + irq + soft, stolen)


def of_process(pid: int) -> float:
    """CPU time in seconds that a process has used so far, without its children. 0 if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            ticks = sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    except (OSError, ValueError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")


def of_this_process() -> float:
    """CPU time in seconds that this process has used so far, including its children that have ended."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


@dataclass(frozen=True)
class CpuTime:
    """CPU times until the instant `at_s`, in seconds. all_s: CPU time of all programs on the usable cores. stolen_s:
    time that the host of a virtual machine took from the usable cores. own_s: CPU time of this process, of its
    children that have ended, and of the processes that were passed to `now`."""

    at_s: float
    all_s: float | None
    stolen_s: float | None
    own_s: float

    @staticmethod
    def now(*living: int) -> CpuTime:
        """Returns the CPU times until now. living: ids of other running processes whose time counts as own time. An
        example is a display server that was started for the measurement."""
        own_s = of_this_process() + sum(map(of_process, living))
        cores = of_usable_cores()
        if cores is None:
            return CpuTime(time.monotonic(), None, None, own_s)
        return CpuTime(time.monotonic(), cores.busy_s, cores.stolen_s, own_s)

    def others_since(self, begin: CpuTime) -> float | None:
        """Mean number of usable cores that other programs used since `begin`; None if this number is not known."""
        if self.all_s is None or begin.all_s is None:
            return None
        others_s = (self.all_s - begin.all_s) - (self.own_s - begin.own_s)
        return max(0.0, others_s) / max(self.at_s - begin.at_s, 1e-3)

    def stolen_since(self, begin: CpuTime) -> float | None:
        """Mean number of usable cores that the host of a virtual machine used since `begin`; None if this number is
        not known."""
        if self.stolen_s is None or begin.stolen_s is None:
            return None
        return max(0.0, self.stolen_s - begin.stolen_s) / max(self.at_s - begin.at_s, 1e-3)

    def lost_since(self, begin: CpuTime) -> float | None:
        """Mean number of usable cores that other programs or the host used since `begin`; None if this number is not
        known."""
        others, stolen = self.others_since(begin), self.stolen_since(begin)
        return None if others is None or stolen is None else others + stolen


def usable_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
