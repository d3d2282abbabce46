"""Detects Ctrl-C even where a library replaces or drops the KeyboardInterrupt, and delays it in short blocks.

A library's C code that is interrupted during its import raises an error of its own. So Python also writes the signals'
numbers into a pipe (signal.set_wakeup_fd), which is read afterwards.

Always: handlers stay as they are, except for the milliseconds of `delayed_ctrl_c`. Ctrl-C is recorded in the main thread
only, and only if no other wake-up descriptor for signals is set.
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
    """True if Ctrl-C came without an effect: Python drops a KeyboardInterrupt raised in one of its own callbacks, which
    every import runs. Call it after another handler of Ctrl-C is installed."""
    return _recording is not None and _recording.was_received


@contextlib.contextmanager
def raising_dropped_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the block if Ctrl-C came in it and was dropped.

    For blocks of our imports in the user's process. No effect where the user has a handler of Ctrl-C, or another
    wake-up descriptor for signals is set.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    with CtrlCRecorder() as ctrl_c:
        try:
            yield
        except ImportError as error:  # numpy turns a KeyboardInterrupt into one
            if ctrl_c.was_received:
                raise KeyboardInterrupt from error
            raise
        if ctrl_c.was_received:
            raise KeyboardInterrupt


class InterruptibleEvent:
    """As `threading.Event`, but a signal's exception may end `wait` and `set` at any instruction.

    `threading.Event` has a lock written in Python. If a signal raises right after that lock was acquired, it is never
    released, and the next `set` waits forever. `SimpleQueue` waits in one call in C, which leaves nothing locked.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """Ends the present wait, and later ones until `clear`. Never blocks."""
        if not self._is_set:
            self._is_set = True
            self._wakes.put(None)

    def clear(self) -> None:
        """Only for the one thread that waits."""
        self._is_set = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._wakes.get_nowait()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until the event is set; False if it is not after `timeout_s`, None: no limit."""
        while not self._is_set:
            try:
                self._wakes.get(timeout=timeout_s)
            except queue.Empty:
                return self._is_set
            if self._is_set:
                self._wakes.put(None)  # for other threads that wait
        return True


@contextlib.contextmanager
def delayed_ctrl_c() -> Iterator[None]:
    """Delay Ctrl-C until the end of a block of some ms that must not be interrupted. No-op in other threads than the
    main one, which get no signals."""
    theirs = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(theirs):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    owner_pid = os.getpid()

    def hold(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner_pid:  # a child that another thread forked meanwhile
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
        """True if Ctrl-C came since the last call. False where it is not recorded."""
        if not self._is_recording:
            return False
        try:
            return signal.SIGINT in os.read(self._reading, 4096)
        except BlockingIOError:
            return False

    def close_in_child(self) -> None:
        """As `fork.Guarded`: a child has its own signals."""
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
    """Restore the wake-up descriptor that signals had before, unless another has been set since."""
    now = signal.set_wakeup_fd(-1)
    try:
        signal.set_wakeup_fd(previous if now == ours else now)
    except (ValueError, OSError):  # it was closed meanwhile
        pass
