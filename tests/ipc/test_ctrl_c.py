from __future__ import annotations

import os
import signal
import threading

import pytest

from twixt.ipc.ctrl_c import NotedCtrlC


def test_ctrl_c_is_known_even_where_somebody_made_another_error_of_it() -> None:
    with NotedCtrlC() as ctrl_c:
        assert not ctrl_c.came
        with pytest.raises(ImportError):
            try:
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(20)
            except KeyboardInterrupt:
                raise ImportError from None
        assert ctrl_c.came
        assert not ctrl_c.came


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
