from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

import twixt
from twixt.ipc.process.interrupts import CtrlCRecorder, InterruptibleEvent, raising_dropped_ctrl_c, was_dropped


def test_ctrl_c_is_known_even_where_somebody_made_another_error_of_it() -> None:
    with CtrlCRecorder() as ctrl_c:
        assert not ctrl_c.was_received
        with pytest.raises(ImportError):
            try:
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(60)
            except KeyboardInterrupt:
                raise ImportError from None
        assert ctrl_c.was_received
        assert not ctrl_c.was_received


def test_ctrl_c_that_python_dropped_is_still_to_be_heard_once() -> None:
    assert not was_dropped()
    with CtrlCRecorder():
        assert not was_dropped()
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(60)
        assert was_dropped()
        assert not was_dropped()
    assert not was_dropped()


def test_other_signals_are_none_and_nothing_stays_open() -> None:
    before = set(os.listdir("/proc/self/fd"))
    previous = signal.signal(signal.SIGUSR1, lambda _number, _frame: None)
    try:
        with CtrlCRecorder() as ctrl_c:
            os.kill(os.getpid(), signal.SIGUSR1)
            assert not ctrl_c.was_received
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert signal.set_wakeup_fd(-1) == -1
    assert set(os.listdir("/proc/self/fd")) == before


def test_elsewhere_than_in_the_main_thread_nothing_is_noted() -> None:
    said = []

    def ask() -> None:
        with CtrlCRecorder() as ctrl_c:
            said.append(ctrl_c.was_received)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert said == [False]


DROPPED = """
import contextlib, os, signal, sys, threading
sys.path.insert(0, {house!r})
from twixt.ipc.process.interrupts import CtrlCRecorder
from twixt.sim.process.watchdog import Watchdog
with CtrlCRecorder():
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(60)
    watch = Watchdog(None, lambda: print("it ended under the step", flush=True))
    watch.begin()
    while True:
        try:
            threading.Event().wait(20)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


def test_a_run_whose_ctrl_c_python_dropped_ends_of_it() -> None:
    """Here nothing lets go when interrupted, so that it is ended from without."""
    code = DROPPED.format(house=twixt.__path__[0])
    ended = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (130, "interrupted\nit ended under the step\n"), ended.stderr


DROPS = """
import os, signal, weakref

class Dropped: ...

def interrupt(_):  # as Python's own callbacks in each import are, only later
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

dropped = Dropped()
reference = weakref.ref(dropped, interrupt)
del dropped
Name = 1
"""
SCRIPT = """
import sys
sys.path[:0] = [{house!r}, {folder!r}]
import twixt
twixt._HOMES["Name"] = "drops"
import twixt.sim.show.show
if "show" in sys.argv:
    config_of = twixt.sim.show.show.config_of
    twixt.sim.show.show.config_of = lambda *given: (__import__("drops"), config_of(*given))[1]
try:
    twixt.show(twixt.Scene([twixt.Sphere()]), viewer=False) if "show" in sys.argv else twixt.Name
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("way", ["front door", "show"])
def test_ctrl_c_that_python_dropped_in_an_import_of_ours_is_raised_in_the_users_script(
    tmp_path: Path, way: str
) -> None:
    (tmp_path / "drops.py").write_text(DROPS)
    code = SCRIPT.format(house=twixt.__path__[0], folder=str(tmp_path))
    ended = subprocess.run([sys.executable, "-P", "-c", code, way], capture_output=True, text=True, timeout=60)
    # Python did drop it; while a view opens, it is held back instead.
    assert ("Exception ignored in" in ended.stderr) == (way == "front door")
    assert (ended.returncode, ended.stdout) == (0, "interrupted\n"), ended.stderr


def test_where_ctrl_c_has_a_meaning_of_the_users_own_nothing_is_raised() -> None:
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append("theirs"))
    try:
        with raising_dropped_ctrl_c():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert came == ["theirs"]


def test_whom_signals_wake_already_they_wake_further() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing)
    try:
        with contextlib.suppress(KeyboardInterrupt), CtrlCRecorder() as ctrl_c:
            assert not was_dropped()
            signal.raise_signal(signal.SIGINT)
        assert not ctrl_c.was_received
        assert signal.set_wakeup_fd(before) == writing
        assert os.read(reading, 8) == bytes([signal.SIGINT])
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def interrupted_at(call: Callable[[], object], number: int) -> bool:
    """Calls it on a thread, and raises KeyboardInterrupt in it before its `number`-th instruction; False if it ends
    before. The thread keeps what an exception between two instructions may leave of the interpreter's own state."""
    count, raised = 0, False

    def trace(frame: FrameType, event: str, _argument: object) -> object:
        nonlocal count, raised
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == number:
                raised = True
                raise KeyboardInterrupt
        return trace

    def traced() -> None:
        sys._getframe().f_trace_opcodes = (
            True  # CPython 3.12 asks before it traces whether any frame wants instructions
        )
        sys.settrace(trace)
        try:
            call()
        except (KeyboardInterrupt, RuntimeError):  # a lock's __exit__ raises the other where the lock is not held
            pass
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=traced)
    thread.start()
    thread.join()
    return raised


def is_set_without_waiting(event: InterruptibleEvent | threading.Event) -> bool:
    setter = threading.Thread(target=event.set, daemon=True)
    setter.start()
    setter.join(5)
    return not setter.is_alive() and event.wait(5)


def stuck_after(make: Callable[[], InterruptibleEvent | threading.Event], name: str) -> list[int]:
    """Instructions at which an interrupt of the call leaves an event that no thread can set any more."""
    stuck, number, goes_on = [], 0, True
    while goes_on:
        number, event = number + 1, make()
        call = partial(event.wait, 0.001) if name == "wait" else getattr(event, name)
        goes_on = interrupted_at(call, number)
        if not is_set_without_waiting(event):
            stuck.append(number)
            goes_on = False
    assert number > 5
    return stuck


@pytest.mark.parametrize("name", ["wait", "set", "clear"])
def test_an_event_can_be_set_wherever_a_signal_ended_a_call_of_it(name: str) -> None:
    assert stuck_after(InterruptibleEvent, name) == []


def test_a_thread_that_waits_is_woken_by_the_set_after_one_that_a_signal_ended() -> None:
    number, goes_on, asleep = 0, True, []
    while goes_on:
        number, event = number + 1, InterruptibleEvent()
        waiting = threading.Thread(target=event.wait, daemon=True)
        waiting.start()
        goes_on = interrupted_at(event.set, number)
        event.set()
        waiting.join(5)
        asleep += [number] * waiting.is_alive()
        goes_on = goes_on and not asleep
    assert number > 5
    assert asleep == []


def test_a_negative_timeout_is_no_wait() -> None:
    assert not InterruptibleEvent().wait(-1)


def test_an_event_of_the_standard_library_cannot() -> None:
    assert stuck_after(threading.Event, "wait")


def test_a_set_event_wakes_all_threads_that_wait() -> None:
    event, woken = InterruptibleEvent(), []
    waiting = [threading.Thread(target=lambda: woken.append(event.wait(60))) for _ in range(3)]
    for thread in waiting:
        thread.start()
    event.set()
    for thread in waiting:
        thread.join(60)
    assert woken == [True, True, True]


def test_a_cleared_event_is_waited_for_again() -> None:
    event = InterruptibleEvent()
    event.set()
    assert event.wait(0)
    event.clear()
    assert not event.is_set
    assert not event.wait(0.001)
    event.set()
    event.set()
    assert event.wait()
