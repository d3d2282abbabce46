"""This module wakes viewers that wait for a publish, and wakes the service thread.

Always: sending a wake never blocks. If `wake_all` is interrupted (Ctrl-C), the next call of `wake_all` sends the
missed wake. In a forked child both ends of a `SelfPipe` are closed.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque

from twixt.ipc.process import fork
from twixt.ipc.session.viewers import AttachedViewer


class WakeQueue:
    """Viewers that requested a wake. The service thread adds and removes viewers; the publishing thread wakes them."""

    def __init__(self) -> None:
        self._waiting: deque[AttachedViewer] = deque()
        # a viewer that `wake_all` has removed from the queue but may not have woken yet
        self._being_woken: AttachedViewer | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, viewer: AttachedViewer) -> None:
        """Add a viewer, unless the viewer is already in the queue."""
        if viewer not in self._waiting:
            self._waiting.append(viewer)

    def remove(self, viewer: AttachedViewer) -> bool:
        """Remove a viewer. Returns False if the viewer is not in the queue, for example because a publish has woken
        it."""
        try:
            self._waiting.remove(viewer)
        except ValueError:
            return False
        return True

    def wake_all(self) -> None:
        """Send one wake to each viewer in the queue, and empty the queue."""
        if self._being_woken is not None:  # the last call was interrupted before it woke this viewer
            self._being_woken.wake()
            self._being_woken = None
        while self._waiting:
            try:
                self._being_woken = self._waiting[0]
                viewer = self._waiting.popleft()
            except IndexError:  # the service thread has removed the viewer meanwhile
                break
            viewer.wake()
            self._being_woken = None

    def clear(self) -> None:
        """Remove all viewers without waking them. This method is called in a forked child."""
        self._waiting.clear()


class SelfPipe:
    """A pair of sockets. With it, any thread can wake another thread from `poll` (self-pipe trick, D. J.
    Bernstein)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        with fork.LOCK:
            self._reading, self._writing = socket.socketpair()
            fork.guard(self)
        for end in (self._reading, self._writing):
            end.setblocking(False)

    def fileno(self) -> int:
        """Descriptor that is readable after `notify`."""
        return self._reading.fileno()

    def notify(self) -> None:
        """Make `poll` return. If no call of `poll` is running, the next call returns immediately. Any thread may call
        `notify`. It has no effect after `close`."""
        # If the buffer is full, a wake-up is already pending. If the pipe is closed, the thread has ended.
        with self._lock, contextlib.suppress(OSError):
            self._writing.send(b"p")

    def drain(self) -> None:
        """Discard all notifications that were received so far."""
        with contextlib.suppress(BlockingIOError):
            self._reading.recv(4096)

    def close(self) -> None:
        """Close both ends."""
        with self._lock:
            fork.close(self._writing, self._reading)

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. Makes a new lock, because a thread of the parent may have held the old lock."""
        self._lock = threading.Lock()
        self._reading.close()
        self._writing.close()
