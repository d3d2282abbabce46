"""CPU time as the system counts it: of the whole machine and of one process (Linux, proc(5)).

Always: what the system does not say is None, and a process that has gone used 0.
"""

from __future__ import annotations

import os
from typing import NamedTuple


class MachineTime(NamedTuple):
    """Since it was started, in seconds, all cores together."""

    busy_s: float  # of all that ran on it
    stolen_s: float  # that its host kept from it


def of_machine() -> MachineTime | None:
    """Until now."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) / os.sysconf("SC_CLK_TCK") for word in file.readline().split()[1:9]]
        user, nice, system, _idle, _waiting, irq, soft, stolen = ticks
    except (OSError, ValueError):
        return None
    return MachineTime(user + nice + system + irq + soft, stolen)


def of_process(pid: int) -> float:
    """Until now, in seconds; its children's is theirs."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            ticks = sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    except (OSError, ValueError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")


def of_this_process() -> float:
    """Until now, in seconds, with its children that have ended."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system
