"""On Linux, each viewer has a pipe for its wakes, and waits by `poll`.

A wake through a pipe takes half the time of a wake through a socket. The stepping thread can write to the pipe while
another thread sends messages on the socket.

Functions and classes without a docstring are described in `interface.Wakes`.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import threading

from twixt.ipc.process import fork

assert sys.platform == "linux"  # type checkers for other systems read no further

READABLE, WRITABLE, GONE = select.POLLIN, select.POLLOUT, select.POLLHUP | select.POLLERR


class PipeSender:
    """Implements `interface.WakeSender`. This object keeps both ends of the pipe open, because a write to a pipe
    without a reader raises SIGPIPE, which may kill the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # The lock prevents a write to a descriptor number that was closed and reused.
        with fork.LOCK:
            self._ends: tuple[int, int] | None = os.pipe()
            fork.guard(self)
        os.set_blocking(self._ends[1], False)

    def wake(self) -> None:
        with self._lock:
            if self._ends is not None:
                try:
                    os.write(self._ends[1], b"w")
                except OSError:  # the pipe is full, so a wake is already pending
                    pass

    def viewer_descriptor(self) -> int:
        assert self._ends is not None
        return os.dup(self._ends[0])

    def close(self) -> None:
        with self._lock:
            self.close_in_child()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. Does not acquire `_lock`, because a thread of the parent may have held the
        lock."""
        with fork.LOCK:
            if self._ends is not None:
                for end in self._ends:
                    os.close(end)
                self._ends = None


class PipeReceiver:
    """Implements `interface.WakeReceiver`."""

    def __init__(self, descriptor: int) -> None:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise ValueError("the descriptor is not a pipe")
        self._end = os.dup(descriptor)
        os.set_blocking(self._end, False)

    def fileno(self) -> int:
        return self._end

    def drain(self) -> bool:
        try:
            return bool(os.read(self._end, 64))
        except OSError:
            return False

    def close(self) -> None:
        os.close(self._end)


def sender() -> PipeSender:
    return PipeSender()


def receiver(descriptor: int) -> PipeReceiver:
    return PipeReceiver(descriptor)


def poller() -> select.poll:
    return select.poll()
