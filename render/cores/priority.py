"""Sets how the viewer's threads are scheduled: nice value (`--viewer-nice`), short time slices, short switch interval
of Python.

Slices: a frame is a few ms of work that must begin on time, but another program of the same priority may work for
seconds. A fair scheduler (EEVDF; slices can be set since Linux 6.12) prefers a thread with short slices, as long as
this thread has not used more than its share. In a test with two busy loops on two cores, short slices raised the
default world from 47 to 58 frames a second, and lowered the p99 of its animation error from 8 to 4 ms.

Always: all threads of the viewer have the same nice value. On Linux each thread has its own nice value, and a new
thread inherits the nice value of the thread that starts it. The nice value is only raised. This needs no privilege.
The viewer raises only its own nice value, not that of the process that started it. Short slices need no privilege and
do not change the nice value. If the system does not support slices, no slices are set.

Switch interval: at the start one thread imports modules, and at the same time another thread opens a window or makes
frames. Each time a thread returns from a call to the display, it waits for Python's interpreter lock. This happens
about twenty times. At Python's default of 5 ms per wait, these waits cost more time than the second thread saves.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
import threading
from typing import NamedTuple

from twixt.render.cores.thread_time import thread_ids

# Shortest time slice (ns) that the kernel accepts for a thread.
SLICE_NS = 100_000
# Python's switch interval (s) while a `ShortSwitchInterval` is open. A thread waits this long for the interpreter lock
# before it requests the lock.
SWITCH_S = 0.0002


class SchedulerCalls(NamedTuple):
    """Numbers of the system calls sched_setattr(2) and sched_getattr(2). Most C libraries have no functions for
    them."""

    set_attributes: int
    get_attributes: int


_CALLS = {"x86_64": SchedulerCalls(314, 315), "aarch64": SchedulerCalls(274, 275), "riscv64": SchedulerCalls(274, 275)}
# Fields of struct sched_attr, version 0: size, policy, flags, nice, priority, runtime (the slice), deadline, period.
_ATTRIBUTES = "IIQiIQQQ"
_SIZE = struct.calcsize(_ATTRIBUTES)


def raise_nice(nice: int) -> None:
    """Raises the nice value of each thread of this process to `nice`. A thread whose nice value is higher keeps its
    own."""
    if nice <= 0 or not hasattr(os, "setpriority"):
        return
    # without /proc the list of threads is empty; then 0 is used, which means this process
    for thread in thread_ids() or [0]:
        with contextlib.suppress(OSError):  # the thread has ended
            if os.getpriority(os.PRIO_PROCESS, thread) < nice:
                os.setpriority(os.PRIO_PROCESS, thread, nice)


def conditions() -> list[str]:
    """Conditions for a report: the nice value of this process, if it is not 0."""
    nice = os.getpriority(os.PRIO_PROCESS, 0) if hasattr(os, "getpriority") else 0
    return [f"the viewer ran at nice {nice}: programs with a lower nice value run first"] if nice else []


def set_short_slices() -> None:
    """Sets a time slice of SLICE_NS for all threads of this process. New threads inherit this slice."""
    numbers = _numbers()
    if numbers is None:
        return
    call = ctypes.CDLL(None).syscall
    # without /proc the list of threads is empty; then 0 is used, which means this thread
    for thread in thread_ids() or [0]:
        with contextlib.suppress(OSError):  # the thread has ended
            if os.sched_getscheduler(thread) != os.SCHED_OTHER:
                continue
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            attributes = (_SIZE, os.SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0)
            call(numbers.set_attributes, thread, struct.pack(_ATTRIBUTES, *attributes), 0)


def slice_ns() -> int | None:
    """This thread's time slice in ns, as the kernel reports it (the system's default if none was set); None if threads
    have no slices."""
    numbers = _numbers()
    if numbers is None:
        return None
    found = ctypes.create_string_buffer(_SIZE)
    if ctypes.CDLL(None).syscall(numbers.get_attributes, 0, found, _SIZE, 0):
        return None
    return int(struct.unpack(_ATTRIBUTES, found.raw)[5]) or None


def _numbers() -> SchedulerCalls | None:
    return _CALLS.get(platform.machine()) if sys.platform == "linux" else None


class ShortSwitchInterval:
    """Sets Python's switch interval to `SWITCH_S` while at least one of these objects is open.

    Always: after the last open object is closed, the switch interval has the value that it had before the first object
    was made.
    """

    _lock = threading.Lock()
    _open = 0
    _usual_s = sys.getswitchinterval()

    def __init__(self) -> None:
        self._is_open = True
        with ShortSwitchInterval._lock:
            if not ShortSwitchInterval._open:
                ShortSwitchInterval._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(SWITCH_S)
            ShortSwitchInterval._open += 1

    def close(self) -> None:
        """Restores the switch interval if no other object is open. May be called more than once."""
        with ShortSwitchInterval._lock:
            was_open, self._is_open = self._is_open, False
            ShortSwitchInterval._open -= was_open
            if was_open and not ShortSwitchInterval._open:
                sys.setswitchinterval(ShortSwitchInterval._usual_s)
