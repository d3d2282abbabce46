"""Times of threads as the kernel counts them, against what the threads really do: this process' and another's."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from twixt.render.cores.thread_time import ProcessorTime, ThreadTimes

needs_schedstat = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="skipped: no schedstat")


@pytest.fixture
def processor():
    made = ProcessorTime()
    yield made
    made.close()


def test_a_sleep_is_no_work_and_not_queued_and_garbage_is_counted(processor) -> None:
    before = processor.read()
    time.sleep(0.05)
    heap = [[i] for i in range(200_000)]
    gc.collect()
    after = processor.read()
    assert len(heap) == 200_000
    assert after.wall_ns - before.wall_ns - (after.cpu_ns - before.cpu_ns) >= 50_000_000
    assert 0 < after.gc_ns - before.gc_ns <= after.cpu_ns - before.cpu_ns


@pytest.mark.skipif(not os.path.exists("/proc/thread-self/schedstat"), reason="skipped: no run delay here")
def test_a_thread_that_shares_its_core_has_waited_for_it() -> None:
    shares = """
import os, subprocess, sys, time
from twixt.render.cores.thread_time import ProcessorTime
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
processor = ProcessorTime()
before = processor.read()
after = before
while after.queued_ns - before.queued_ns < 50_000_000 and after.wall_ns - before.wall_ns < 30_000_000_000:
    after = processor.read()
other.kill()
idle_ns = after.wall_ns - before.wall_ns - (after.cpu_ns - before.cpu_ns)
print(50_000_000 < after.queued_ns - before.queued_ns <= idle_ns + 1_000_000)
"""
    shared = subprocess.run([sys.executable, "-c", shares], capture_output=True, text=True, timeout=60)
    assert shared.stdout == "True\n", shared.stderr


def test_garbage_of_another_thread_is_not_this_ones(processor) -> None:
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()
    assert processor.read().gc_ns == 0


# In a process of its own: the shell that started the tests is told when they stop.
STOPS = """
import os, signal, subprocess, sys
from twixt.render.cores.thread_time import ProcessorTime
processor = ProcessorTime()
before = processor.read().stops
again = f"import os, time; time.sleep(0.05); os.kill({os.getpid()}, {int(signal.SIGCONT)})"
with subprocess.Popen([sys.executable, "-c", again]):
    os.kill(os.getpid(), signal.SIGSTOP)
print(processor.read().stops - before)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGCONT"), reason="skipped: processes are not stopped here")
def test_a_stopped_process_learns_of_it_when_it_goes_on() -> None:
    stopped = subprocess.run([sys.executable, "-c", STOPS], capture_output=True, text=True, timeout=60)
    assert stopped.stdout == "1\n", stopped.stderr


def test_closing_twice_leaves_nothing(processor) -> None:
    handler, callbacks = signal.getsignal(signal.SIGCONT), len(gc.callbacks)
    assert handler == processor._continued
    processor.close()
    processor.close()
    assert signal.getsignal(signal.SIGCONT) != handler
    assert len(gc.callbacks) == callbacks - 1
    assert processor.drawers() == ()


def test_a_handler_of_the_users_own_hears_of_it_too() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGCONT, lambda number, _frame: heard.append(number))
    try:
        made = ProcessorTime()
        signal.raise_signal(signal.SIGCONT)
        assert made.read().stops == 1
        made.close()
        signal.raise_signal(signal.SIGCONT)
    finally:
        signal.signal(signal.SIGCONT, before)
    assert heard == [signal.SIGCONT] * 2


@pytest.mark.skipif(not os.path.exists("/proc/thread-self/schedstat"), reason="skipped: no run delay here")
def test_files_that_a_user_has_closed_are_no_fault() -> None:
    made = ProcessorTime()
    assert made._own is not None
    os.close(made._own)
    made.read()
    made.close()


@needs_schedstat
def test_a_thread_that_works_is_seen_to_run() -> None:
    times = ThreadTimes(os.getpid())
    first = times.read()
    began_ns = time.process_time_ns()
    while time.process_time_ns() - began_ns < 20_000_000:
        pass
    second = times.read()
    assert second[os.getpid()][0] - first[os.getpid()][0] >= 15_000_000


@needs_schedstat
def test_the_core_of_a_thread_is_known() -> None:
    own = os.sched_getaffinity(0)
    times = ThreadTimes(os.getpid())
    try:
        for core in own:
            os.sched_setaffinity(0, {core})  # puts this thread there before it returns
            assert times.cores([os.getpid()]) == [core]
    finally:
        os.sched_setaffinity(0, own)


@needs_schedstat
def test_a_process_that_has_gone_gives_no_times() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    times = ThreadTimes(child.pid)
    assert list(times.read()) == [child.pid]
    child.communicate(b"\n")
    for _ in range(12):
        assert times.read() == {}
        assert times.cores([child.pid]) == []


@needs_schedstat
def test_nobody_has_no_times() -> None:
    assert ThreadTimes(None).read() == {}


@needs_schedstat
def test_threads_that_draw_are_not_looked_for_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[object] = []
    monkeypatch.setattr(ProcessorTime, "_find_drawers", lambda self: searches.append(self))
    for has_drawers in (False, True):
        processor = ProcessorTime(has_drawers)
        assert [processor.drawers() for _ in range(3)] == [()] * 3
        processor.close()
    assert len(searches) == 3, "of the one that may have some"
