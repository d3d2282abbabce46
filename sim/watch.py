"""Sees to it that the physics process ends when it should, even while the user's step never returns.

A daemon thread watches the viewer that belongs to the run, and the signals that ask this process to end. The
loop, which asks `is_due` at every turn, has a moment to end by itself; then the step is interrupted as by
Ctrl-C; then the process exits under it.

Always: from the instant at which the end was due, the process is gone within `GRACE_S` + `LAST_GRACE_S` + `POLL_S`,
whether the step sleeps in C, loops in Python, or swallows every exception. One signal raises in the main thread, the
first; those that follow at once never cut what tidies up after it. A signal to a child that the world forks, in
whichever thread, is the child's own from its first instant: it is neither heard here nor lost there.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from twixt.ipc import ctrl_c, fork
from twixt.sim.viewer_process import ViewerProcess

# How often the viewer's process is looked at, s.
POLL_S = 0.05
# What a healthy loop has to see that it should end, and what an interrupted step has to let go, s.
GRACE_S, LAST_GRACE_S = 0.3, 0.3
# Python's own words for a signal that it ignores because its handler went while the signal was on its way.
RACED = "ignored due to race condition"
# The signals that ask a process to end, and what Python begins with for each.
ENDING_SIGNALS = {
    number: signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if (number := getattr(signal, name, None)) is not None
}


class Terminated(BaseException):
    """Raised in the main thread by SIGTERM or SIGHUP."""

    def __init__(self, number: int) -> None:
        self.number = number


class Watch:
    """Watches from `begin` to `end`. last_words: called before the process exits under a step that hangs."""

    def __init__(self, viewer: ViewerProcess | None, last_words: Callable[[], object]) -> None:
        self.viewer_code: int | None = None  # once the viewer has ended
        self.signal: int | None = None  # once one asked this process to end
        self._viewer, self._last_words = viewer, last_words
        self._has_raised = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="twixt-watch", daemon=True)
        self._previous: dict[int, Any] = {}
        self._previous_fd: int | None = None
        with fork.LOCK:
            self._ours, self._theirs = socket.socketpair()
            fork.guard(self)

    @property
    def is_due(self) -> bool:
        """Whether the run should end."""
        return self.viewer_code is not None or self.signal is not None

    def begin(self) -> None:
        """Call in the main thread; elsewhere signals are left alone and only the viewer is watched."""
        for end in (self._ours, self._theirs):
            end.setblocking(False)
        self._take_signals()
        if ctrl_c.is_unheard():
            self._theirs.send(bytes([signal.SIGINT]))
        self._main = threading.get_ident()
        self._thread.start()

    def end(self) -> None:
        """The loop has let go; nothing is interrupted any more."""
        self._over.set()
        if self.signal is not None:
            _ignore_late_signals()
        self._let_signals_go()
        with contextlib.suppress(OSError):
            self._theirs.send(b"\0")
        self._thread.join()
        fork.close(self._ours, self._theirs)

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`: signals do here what they did before, and nothing is watched."""
        self._over = threading.Event()
        self._over.set()
        self._let_signals_go()
        self._ours.close()
        self._theirs.close()

    def _take_signals(self) -> None:
        """Signals are heard here, whatever the main thread is doing."""
        if threading.current_thread() is not threading.main_thread():
            return
        fork.hold_back(ENDING_SIGNALS)
        self._previous_fd = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        for number, python_s in ENDING_SIGNALS.items():
            # Ignored (nohup) or handled by somebody else: theirs.
            if signal.getsignal(number) == python_s:
                self._previous[number] = signal.signal(number, self._raise)

    def _let_signals_go(self) -> None:
        """Signals do what they did before they were taken."""
        if self._previous_fd is None or threading.current_thread() is not threading.main_thread():
            return
        ctrl_c.restore_wakeup_fd(self._theirs.fileno(), self._previous_fd)
        self._previous_fd = None
        while self._previous:
            number, handler = self._previous.popitem()
            if self._is_ours(number):
                signal.signal(number, handler)
        fork.hold_back(())

    def _raise(self, number: int, frame: object) -> None:
        if not self.is_due:
            self.signal = number
        if self._has_raised or self._over.is_set() or fork.is_forking():
            return
        self._has_raised = True
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def _is_ours(self, number: int) -> bool:
        """Not once the world has given the signal a meaning of its own."""
        return signal.getsignal(number) == self._raise

    def _watch(self) -> None:
        while not self.is_due:
            if self._over.is_set():
                return
            if _is_readable(self._ours, POLL_S):
                asked = [number for number in self._ours.recv(64) if number in ENDING_SIGNALS]
                if asked and self._is_ours(asked[0]):
                    self.signal = asked[0]
            if self._viewer is not None:
                self.viewer_code = self._viewer.poll()
        if self._over.wait(GRACE_S):
            return
        if not self._has_raised:  # one that came while the main thread forked raised nothing
            _interrupt(self._main)
        if self._over.wait(LAST_GRACE_S):
            return
        self._last_words()
        code = exit_code_of(-self.signal if self.signal is not None else self.viewer_code or 0)
        os._exit(code)


def _ignore_late_signals() -> None:
    """A signal that came with the one that ended the run may be told of late, by a thread that had no core since. When
    its handler has gone by then, Python ignores it and says so in a traceback; from now on it does not say so."""
    before = sys.unraisablehook

    def told(unraisable: sys.UnraisableHookArgs) -> None:
        if RACED not in str(unraisable.exc_value):
            before(unraisable)

    sys.unraisablehook = told


def exit_code_of(process_code: int) -> int:
    """What a shell calls a process's code: itself, or 128 + the number of the signal that ended it (negative here)."""
    return process_code if process_code >= 0 else 128 - process_code


def _is_readable(end: socket.socket, timeout_s: float) -> bool:
    poller = select.poll()  # `select.select` knows no descriptor beyond 1023
    poller.register(end, select.POLLIN)
    return bool(poller.poll(round(timeout_s * 1e3)))


def _interrupt(thread_id: int) -> None:
    # A real signal also ends a sleep or a read in C; `interrupt_main` alone would wait for those.
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread_id, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()
