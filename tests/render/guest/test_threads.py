"""Times of another process's threads, as the kernel counts them; and a viewer that gives way to a loop that waits."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from twixt.render.guest.threads import ThreadTimes

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="skipped: no schedstat")


def test_a_thread_that_works_is_seen_to_run() -> None:
    times = ThreadTimes(os.getpid())
    first = times.take()
    began_ns = time.process_time_ns()
    while time.process_time_ns() - began_ns < 20_000_000:
        pass
    second = times.take()
    assert second[os.getpid()][0] - first[os.getpid()][0] >= 15_000_000


def test_the_core_of_a_thread_is_known() -> None:
    own = os.sched_getaffinity(0)
    times = ThreadTimes(os.getpid())
    try:
        for core in own:
            os.sched_setaffinity(0, {core})  # puts this thread there before it returns
            times.take()
            assert times.cores()[os.getpid()] == core
    finally:
        os.sched_setaffinity(0, own)


def test_a_process_that_has_gone_gives_no_times() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    times = ThreadTimes(child.pid)
    assert list(times.take()) == [child.pid]
    child.communicate(b"\n")
    for _ in range(12):
        assert times.take() == {}
        assert times.cores() == {}


def test_nobody_has_no_times() -> None:
    assert ThreadTimes(None).take() == {}
