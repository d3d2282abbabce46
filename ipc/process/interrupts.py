"""This module detects Ctrl-C even if a library replaces or drops the KeyboardInterrupt. It also delays Ctrl-C during
short blocks.

If Ctrl-C interrupts the import of a library with C code, the C code may raise another error instead of
KeyboardInterrupt. So Python also writes the number of each signal into a pipe (signal.set_wakeup_fd). Reading this
pipe shows whether Ctrl-C came.

Always: signal handlers are not changed, except for some milliseconds in `delayed_ctrl_c`. Ctrl-C is recorded only in
the main thread, and only if no other code has set a wake-up descriptor for signals.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType

from twixt.ipc.process import fork

_recording: CtrlCRecorder | None = None


class Terminated(BaseException):
    """Raised in the main thread by SIGTERM or SIGHUP."""

    def __init__(self, number: int) -> None:
        self.number = number


def was_dropped() -> bool:
    """True if Ctrl-C came but had no effect. Python drops a KeyboardInterrupt that is raised in one of Python's own
    callbacks, and every import runs such callbacks. Call this function after another handler for Ctrl-C is
    installed."""
    return _recording is not None and _recording.was_received


@contextlib.contextmanager
def raising_dropped_ctrl_c() -> Iterator[None]:
    """Raises KeyboardInterrupt at the end of the block if Ctrl-C came during the block and was dropped.

    twixt puts this block around its own imports in the user's process. The block has no effect if the user has set a
    handler for Ctrl-C or a wake-up descriptor for signals.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    with CtrlCRecorder() as ctrl_c:
        try:
            yield
        except ImportError as error:  # numpy turns a KeyboardInterrupt into an ImportError
            if ctrl_c.was_received:
                raise KeyboardInterrupt from error
            raise
        if ctrl_c.was_received:
            raise KeyboardInterrupt


class InterruptibleEvent:
    """Like `threading.Event`, but safe if a signal's exception interrupts `wait` or `set` at any instruction.

    `threading.Event` has a lock that is written in Python. If a signal's exception comes right after the lock was
    acquired, the lock is never released, and the next `set` waits forever. `SimpleQueue` waits in a single C call, so
    no lock stays acquired.
    """

    def __init__(self) -> None:
        self.is_set = False  # an attribute and not a method, because every publish reads this flag
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        """Ends the current wait. Later waits return immediately until `clear` is called. This method never blocks."""
        if not self.is_set:
            # This line comes before the flag is set. If an exception comes between the two lines, the next `set` runs
            # both lines again.
            self._wakes.put(None)
            self.is_set = True

    def clear(self) -> None:
        """Resets the event. Only the thread that waits may call this method."""
        self.is_set = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._wakes.get_nowait()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until the event is set. Returns False if the event is not set within `timeout_s`. If `timeout_s` is
        None, the wait has no limit."""
        timeout_s = None if timeout_s is None else max(timeout_s, 0.0)
        while not self.is_set:
            try:
                self._wakes.get(timeout=timeout_s)
            except queue.Empty:
                return self.is_set
            self.is_set = True
            self._wakes.put(None)  # wakes the other threads that wait
        return True


@contextlib.contextmanager
def delayed_ctrl_c() -> Iterator[None]:
    """Delays Ctrl-C until the end of the block. The block must take only some ms. In threads other than the main
    thread this has no effect, because only the main thread handles signals."""
    theirs = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(theirs):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    owner_pid = os.getpid()

    def hold(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner_pid:  # this process is a child that another thread forked during the block
            theirs(number, frame)
        came.append((number, frame))

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, theirs)
        if came:
            theirs(*came[0])


class CtrlCRecorder:
    """Records Ctrl-C from the beginning of a `with` block to its end."""

    def __enter__(self) -> CtrlCRecorder:
        global _recording
        self._is_recording = threading.current_thread() is threading.main_thread()
        if not self._is_recording:
            return self
        with fork.LOCK:
            self._reading, self._writing = os.pipe()
            fork.guard(self)
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)
        theirs = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        if theirs == -1:
            _recording = self
        else:
            self._end(theirs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def was_received(self) -> bool:
        """True if Ctrl-C came since this property was last read. Always False if Ctrl-C is not recorded."""
        if not self._is_recording:
            return False
        try:
            return signal.SIGINT in os.read(self._reading, 4096)
        except BlockingIOError:
            return False

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. Stops the recording in a forked child, because signals to the child are not meant
        for its parent."""
        self._end()

    def _end(self, wakeup_fd: int = -1) -> None:
        global _recording
        if not self._is_recording:
            return
        with fork.LOCK:
            self._is_recording = False
            _recording = None if _recording is self else _recording
            restore_wakeup_fd(self._writing, wakeup_fd)
            os.close(self._reading)
            os.close(self._writing)


def restore_wakeup_fd(ours: int, previous: int) -> None:
    """Sets the wake-up descriptor for signals back to `previous`. This has no effect if other code has replaced the
    descriptor `ours` meanwhile."""
    now = signal.set_wakeup_fd(-1)
    try:
        signal.set_wakeup_fd(previous if now == ours else now)
    except (ValueError, OSError):  # the descriptor has been closed meanwhile
        pass
