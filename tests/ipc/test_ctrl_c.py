from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest

import twixt
from twixt.ipc.ctrl_c import NotedCtrlC, is_unheard


def test_ctrl_c_is_known_even_where_somebody_made_another_error_of_it() -> None:
    with NotedCtrlC() as ctrl_c:
        assert not ctrl_c.came
        with pytest.raises(ImportError):
            try:
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(60)
            except KeyboardInterrupt:
                raise ImportError from None
        assert ctrl_c.came
        assert not ctrl_c.came


def test_ctrl_c_that_python_dropped_is_still_to_be_heard_once() -> None:
    assert not is_unheard()
    with NotedCtrlC():
        assert not is_unheard()
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(60)
        assert is_unheard()
        assert not is_unheard()
    assert not is_unheard()


def test_other_signals_are_none_and_nothing_stays_open() -> None:
    before = set(os.listdir("/proc/self/fd"))
    previous = signal.signal(signal.SIGUSR1, lambda _number, _frame: None)
    try:
        with NotedCtrlC() as ctrl_c:
            os.kill(os.getpid(), signal.SIGUSR1)
            assert not ctrl_c.came
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert signal.set_wakeup_fd(-1) == -1
    assert set(os.listdir("/proc/self/fd")) == before


def test_elsewhere_than_in_the_main_thread_nothing_is_noted() -> None:
    said = []

    def ask() -> None:
        with NotedCtrlC() as ctrl_c:
            said.append(ctrl_c.came)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert said == [False]


DROPPED = """
import contextlib, os, signal, sys, threading
sys.path.insert(0, {house!r})
from twixt.ipc.ctrl_c import NotedCtrlC
from twixt.sim.watch import Watch
with NotedCtrlC():
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(60)
    watch = Watch(None, lambda: print("it ended under the step", flush=True))
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
