"""Contains the watchdog of the physics process. It ends the process after a signal or after the end of its viewer,
even if a step never returns.

A daemon thread watches the viewer of the run, and the signals that end a process. The loop reads `is_due` in every
turn. After the end becomes due, the loop has `GRACE_S` to end by itself. After this time the step is interrupted, as
by Ctrl-C. If the loop still runs `LAST_GRACE_S` later, the process exits.

Always: after the end becomes due, the process exits within `GRACE_S` + `LAST_GRACE_S` + `POLL_S`. This holds whether
the step sleeps in C, loops in Python, or catches every exception. Only the first signal raises an exception in the
main thread. Later signals never interrupt the clean-up. The world may fork child processes in any thread. A signal to
such a child affects only the child: this process does not receive the signal, and the child does not lose it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from twixt.ipc.errors import exit_code_of
from twixt.ipc.process import fork, interrupts
from twixt.ipc.process.interrupts import InterruptibleEvent, Terminated
from twixt.ipc.system import wakes
from twixt.sim.process.viewer_process import ViewerProcess

# Interval in seconds at which the thread checks whether the viewer's process has ended.
POLL_S = 0.05
# GRACE_S is the time in seconds that the loop has to read `is_due` and end. LAST_GRACE_S is the time in seconds that
# an interrupted step has to return.
GRACE_S, LAST_GRACE_S = 0.3, 0.3
# Part of the message that Python prints if a handler was removed before its signal was delivered.
RACED = "ignored due to race condition"
# The signals that end a process, and Python's initial handler of each signal.
ENDING_SIGNALS = {
    number: signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if (number := getattr(signal, name, None)) is not None
}


class Watchdog:
    """Watches the viewer and the signals between `begin` and `end`. on_exit: function that is called before the
    process exits because a step does not return."""

    def __init__(self, viewer: ViewerProcess | None, on_exit: Callable[[], object]) -> None:
        self.viewer_code: int | None = None  # Exit code of the viewer. None while the viewer runs.
        # The first signal that asked this process to end. None if no signal has arrived.
        self.signal: int | None = None
        self._viewer, self._on_exit = viewer, on_exit
        self._has_raised = False
        self._over = InterruptibleEvent()
        self._thread = threading.Thread(target=self._watch, name="twixt-watch", daemon=True)
        self._previous: dict[int, Any] = {}
        self._previous_fd: int | None = None
        with fork.LOCK:
            self._ours, self._theirs = socket.socketpair()
            fork.guard(self)

    @property
    def is_due(self) -> bool:
        """True if the run must end because the viewer has ended or a signal has arrived."""
        return self.viewer_code is not None or self.signal is not None

    def begin(self) -> None:
        """Starts to watch. If `begin` is called outside the main thread, only the viewer is watched. Signals are not
        watched."""
        for end in (self._ours, self._theirs):
            end.setblocking(False)
        self._install_handlers()
        if interrupts.was_dropped():
            self._theirs.send(bytes([signal.SIGINT]))
        self._main = threading.get_ident()
        self._thread.start()

    def end(self) -> None:
        """Stops watching. Call it after the loop. After this call nothing is interrupted."""
        self._over.set()
        if self.signal is not None:
            _ignore_late_signals()
        self._restore_handlers()
        with contextlib.suppress(OSError):
            self._theirs.send(b"\0")
        self._thread.join()
        fork.close(self._ours, self._theirs)

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. In a forked child, restores the earlier signal handlers and stops watching."""
        self._over = InterruptibleEvent()
        self._over.set()
        self._restore_handlers()
        self._ours.close()
        self._theirs.close()

    def _install_handlers(self) -> None:
        """Sets the signal handlers and the wakeup descriptor. Through this descriptor, signals arrive here even if the
        main thread runs C code."""
        if threading.current_thread() is not threading.main_thread():
            return
        fork.block_during_fork(ENDING_SIGNALS)
        self._previous_fd = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        for number, python_s in ENDING_SIGNALS.items():
            # The handler of a signal is replaced only if it is Python's own handler. It stays if the signal is ignored
            # (nohup) or if other code handles the signal.
            if signal.getsignal(number) == python_s:
                self._previous[number] = signal.signal(number, self._raise)

    def _restore_handlers(self) -> None:
        if self._previous_fd is None or threading.current_thread() is not threading.main_thread():
            return
        interrupts.restore_wakeup_fd(self._theirs.fileno(), self._previous_fd)
        self._previous_fd = None
        while self._previous:
            number, handler = self._previous.popitem()
            if self._is_ours(number):
                signal.signal(number, handler)
        fork.block_during_fork(())

    def _raise(self, number: int, frame: object) -> None:
        if not self.is_due:
            self.signal = number
        if self._has_raised or self._over.is_set or fork.is_forking():
            return
        self._has_raised = True
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def _is_ours(self, number: int) -> bool:
        """True unless the world has set its own handler for the signal."""
        return signal.getsignal(number) == self._raise

    def _watch(self) -> None:
        while not self.is_due:
            if self._over.is_set:
                return
            if _is_readable(self._ours, POLL_S):
                asked = [number for number in self._ours.recv(64) if number in ENDING_SIGNALS]
                if asked and self._is_ours(asked[0]):
                    self.signal = asked[0]
            if self._viewer is not None:
                self.viewer_code = self._viewer.poll()
        if self._over.wait(GRACE_S):
            return
        if not self._has_raised:  # The handler raises nothing if the signal arrived during a fork in the main thread.
            _interrupt(self._main)
        if self._over.wait(LAST_GRACE_S):
            return
        self._on_exit()
        code = exit_code_of(-self.signal if self.signal is not None else self.viewer_code or 0)
        os._exit(code)


def _ignore_late_signals() -> None:
    """Hides the traceback that Python prints if the handler of a signal was removed before the signal was delivered.

    If two signals arrive together, the second may be delivered after the end of the run. A thread that had to wait for
    a processor core then delivers it.
    """
    before = sys.unraisablehook

    def report(unraisable: sys.UnraisableHookArgs) -> None:
        if RACED not in str(unraisable.exc_value):
            before(unraisable)

    sys.unraisablehook = report


def _is_readable(end: socket.socket, timeout_s: float) -> bool:
    poller = wakes.poller()
    poller.register(end, wakes.READABLE)
    return bool(poller.poll(round(timeout_s * 1e3)))


def _interrupt(thread_id: int) -> None:
    # A real signal also interrupts a sleep or a read in C. `interrupt_main` would have no effect until that call
    # returns.
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread_id, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()
