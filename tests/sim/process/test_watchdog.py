"""Signals that end a run: the first one counts, later ones have no effect."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from twixt.ipc.process import fork
from twixt.ipc.process.interrupts import Terminated
from twixt.sim.process.watchdog import ENDING_SIGNALS, Watchdog

HEARD_AT_ONCE = {signal.SIGINT, signal.SIGTERM}


@contextmanager
def watching() -> Iterator[Watchdog]:
    watchdog = Watchdog(None, lambda: None)
    watchdog.begin()
    try:
        yield watchdog
    finally:
        watchdog.end()


@contextmanager
def delivered_together() -> Iterator[None]:
    """Blocks signals, so that those sent inside are delivered together at the end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD_AT_ONCE)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD_AT_ONCE)


def test_of_two_signals_at_once_one_raises_and_the_other_cuts_nothing() -> None:
    tidied = []
    with watching() as watchdog:
        with pytest.raises((KeyboardInterrupt, Terminated)):
            try:
                with delivered_together():
                    os.kill(os.getpid(), signal.SIGTERM)
                    os.kill(os.getpid(), signal.SIGINT)
            finally:
                for step in range(1000):
                    tidied.append(step)
        assert watchdog.signal in HEARD_AT_ONCE
    assert len(tidied) == 1000


def test_a_signal_that_python_tells_of_when_the_run_has_ended_by_one_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_value))
    late, other = OSError("Signal 15 ignored due to race condition"), OSError("another")
    with watching(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    for error in (late, other):
        sys.unraisablehook(SimpleNamespace(exc_value=error))  # type: ignore[arg-type]
    assert told == [other]


def test_a_signal_that_comes_while_signals_are_let_go_is_known_and_cuts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, set_wakeup_fd = signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd

    def and_then_it_comes(fd: int) -> int:
        previous = set_wakeup_fd(fd)
        signal.raise_signal(signal.SIGTERM)
        return previous

    watchdog = Watchdog(None, lambda: None)
    watchdog.begin()
    monkeypatch.setattr(signal, "set_wakeup_fd", and_then_it_comes)
    watchdog.end()
    assert watchdog.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_signals_did_before_they_do_again_afterwards(number: signal.Signals) -> None:
    before = ENDING_SIGNALS[number]
    inherited = signal.signal(number, before)  # under nohup, for one, a hangup is ignored
    try:
        with watching():
            assert signal.getsignal(number) != before
        assert signal.getsignal(number) == before
    finally:
        signal.signal(number, inherited)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_meaning_that_the_world_gives_a_signal_stays_through_its_forks_and_ends_no_run(
    number: signal.Signals,
) -> None:
    came, before = [], signal.getsignal(number)
    try:
        with watching() as watchdog:
            signal.signal(number, lambda *_: came.append(number))
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
            signal.raise_signal(number)
            assert came == [number]
            assert watchdog.signal is None
        signal.raise_signal(number)
        assert came == [number, number]
    finally:
        signal.signal(number, before)


def test_a_child_forked_by_another_thread_ends_of_its_own_signals_and_the_run_of_none_of_them() -> None:
    with watching() as watchdog:
        ready, writing = os.pipe()

        def fork_and_terminate() -> None:
            child = os.fork()
            if not child:
                os.write(writing, b"r" if signal.set_wakeup_fd(-1) == -1 else b"w")
                signal.pause()
            said.append(os.read(ready, 1))
            os.kill(child, signal.SIGTERM)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

        said: list[bytes] = []
        codes: list[int] = []
        thread = threading.Thread(target=fork_and_terminate)
        thread.start()
        thread.join(60)
        os.close(ready)
        os.close(writing)
        assert (said, codes) == ([b"r"], [-signal.SIGTERM])
        assert watchdog.signal is None


def test_a_signal_that_comes_while_the_main_thread_forks_cuts_no_fork_and_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with watching() as watchdog:
        with monkeypatch.context() as forking:
            forking.setattr(fork, "is_forking", lambda: True)
            signal.raise_signal(signal.SIGTERM)
        assert watchdog.signal == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):  # a long step is interrupted nevertheless
            threading.Event().wait(60)
        assert watchdog.signal == signal.SIGTERM


def test_signals_are_heard_where_a_thousand_descriptors_are_open() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2048:
        pytest.skip(f"a process may have {hard} descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    with contextlib.ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1030):
            opened.enter_context(open(os.devnull))
        with watching() as watchdog:
            watchdog._theirs.send(bytes([signal.SIGTERM]))
            with pytest.raises(KeyboardInterrupt):
                threading.Event().wait(60)
            assert watchdog.signal == signal.SIGTERM


def test_a_child_that_the_world_starts_has_the_signals_as_they_were() -> None:
    with watching():
        child = subprocess.Popen(["sleep", "1000"])
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == -signal.SIGTERM
