"""A viewer's connection to its simulation: messages out without waiting, messages in as they come.

The one idea: both directions have a bounded queue, so that a viewer goes on drawing whatever physics'
side does. The kernel ends the stream when physics dies, and that end is an answer like any other.

Always: nothing but `connect` and `sleep_until` waits, and these no longer than told. One thread uses a
line. Not here: what the messages mean (`link`).
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import time
from collections import deque
from typing import Any

from twixt.ipc import door, fork, wire

# Messages that wait for room in the socket. Physics' thread empties it within milliseconds, unless it is stopped.
UNSENT_LIMIT = 256


class Line:
    """Not connected yet; `connect` does that."""

    def __init__(self) -> None:
        door.check_system()
        self._unsent: deque[wire.Outgoing] = deque()
        self._inbox = wire.Inbox(wire.HOST_JSON_LIMIT, wire.HOST_RAW_LIMIT, wire.DESCRIPTORS_LIMIT)
        self._poller = select.poll()
        self._wake: int | None = None
        with fork.LOCK:
            self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            fork.guard(self)

    def connect(self, name: str, timeout_s: float) -> None:
        """Connect to the simulation of that name. Raises TwixtError if there is none."""
        door.connect(self._connection, name, timeout_s)
        self._poller.register(self._connection, select.POLLIN)

    def take_wake(self, descriptor: int) -> None:
        """The pipe through which wakes come; a copy of it is kept. Raises WireError where it is none, or a second one."""
        if self._wake is not None or not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise wire.WireError("the simulation must hand out one pipe to wake its viewer by; restart it")
        with fork.LOCK:
            self._wake = os.dup(descriptor)
        os.set_blocking(self._wake, False)
        self._poller.register(self._wake, select.POLLIN)

    def woken(self) -> bool:
        """A wake has come since the last call."""
        if self._wake is None:
            return False
        try:
            return bool(os.read(self._wake, 64))
        except OSError:
            return False

    def say(self, kind: str, fields: dict[str, Any] | None = None) -> bool:
        """Send when there is room; False when hundreds wait for it already."""
        if len(self._unsent) >= UNSENT_LIMIT:
            return False
        self._unsent.append(wire.Outgoing(wire.encode(kind, fields)))
        self.flush()
        return True

    def flush(self) -> None:
        """Send what fits."""
        with contextlib.suppress(OSError):  # nobody is there: the end of the stream says so
            while self._unsent and self._unsent[0].send(self._connection):
                self._unsent.popleft()

    def hear(self) -> list[wire.Message] | None:
        """What has come, without waiting; None at the end of the stream. Raises WireError."""
        self.flush()
        return wire.receive(self._connection, self._inbox, wire.DESCRIPTORS_LIMIT)

    def has_news(self) -> bool:
        """There is something to `hear`, or a wake. About a microsecond."""
        return bool(self._poller.poll(0)) or bool(self._unsent)

    def sleep_until(self, deadline_ns: int) -> bool:
        """Sleep until there is something to do; False when the time was over before."""
        left_ns = deadline_ns - time.perf_counter_ns()
        if left_ns <= 0:
            return False
        if self._unsent:
            self._poller.modify(self._connection, select.POLLIN | select.POLLOUT)
        # In whole ms, rounded up: a wait that ends early would ask the kernel in circles.
        self._poller.poll(-(-left_ns // 1_000_000))
        self._poller.modify(self._connection, select.POLLIN)
        return True

    @property
    def peer_pid(self) -> int | None:
        """The process at the other end; None where nobody says."""
        try:
            return door.peer_pid(self._connection)
        except OSError:  # it is closed
            return None

    def fileno(self) -> int:
        """Readable when there is something to `hear`."""
        return self._connection.fileno()

    @property
    def wake_fileno(self) -> int | None:
        """Readable when a wake has come; None where there is no pipe for wakes."""
        return self._wake

    def close(self) -> None:
        """Close all."""
        with fork.LOCK:
            self._connection.close()
            if self._wake is not None:
                os.close(self._wake)
                self._wake = None
        self._inbox.close()
        self._unsent.clear()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.close()
