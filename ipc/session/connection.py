"""Connection of a viewer to its simulation: sends and receives messages without waiting.

The one idea: both directions have a bounded queue, so that a viewer continues to draw whatever physics does. The
kernel closes the stream when physics ends; `receive` then returns None.

Always: only `connect` and `wait_until` wait, at most for the time given. One thread uses a connection. Not here: the
meaning of messages (`client`).
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from typing import Any

from twixt.ipc.process import fork
from twixt.ipc.session import listener, wire
from twixt.ipc.system import names, wakes
from twixt.ipc.system.interface import WakeReceiver

# Most messages queued for a full socket. Physics' service thread empties it within ms, unless its process is stopped.
UNSENT_LIMIT = 256


class Connection:
    """A socket to the simulation, and the receiver of its wakes. Not connected before `connect`."""

    def __init__(self) -> None:
        listener.check_unpatched()
        self._unsent: deque[wire.Outgoing] = deque()
        self._inbox = wire.Inbox(wire.HOST_JSON_LIMIT, wire.HOST_RAW_LIMIT, wire.DESCRIPTORS_LIMIT)
        self._poller = wakes.poller()
        self._wakes: WakeReceiver | None = None
        with fork.LOCK:
            self._socket = names.new_socket()
            fork.guard(self)

    def connect(self, name: str, timeout_s: float) -> None:
        """Connect to the simulation of that name. Raises TwixtError if there is none."""
        listener.connect(self._socket, name, timeout_s)
        self._poller.register(self._socket, wakes.READABLE)

    def receive_wakes(self, descriptor: int) -> None:
        """Receive wakes by a duplicate of the descriptor. Raises WireError for another kind of it, or a second one."""
        try:
            if self._wakes is not None:
                raise ValueError
            with fork.LOCK:
                self._wakes = wakes.receiver(descriptor)
        except ValueError:
            raise wire.WireError("the simulation must hand out one pipe to wake its viewer by; restart it") from None
        self._poller.register(self._wakes, wakes.READABLE)

    def take_wake(self) -> bool:
        """True if a wake has come since the last call."""
        return self._wakes is not None and self._wakes.take()

    def send(self, kind: str, fields: dict[str, Any] | None = None) -> bool:
        """Queue a message and send what fits; False where `UNSENT_LIMIT` are queued already."""
        if len(self._unsent) >= UNSENT_LIMIT:
            return False
        self._unsent.append(wire.Outgoing(wire.encode(kind, fields)))
        self.flush()
        return True

    def flush(self) -> None:
        """Send as much as fits into the socket."""
        with contextlib.suppress(OSError):  # the simulation has gone: `receive` reports it
            while self._unsent and self._unsent[0].send(self._socket):
                self._unsent.popleft()

    def receive(self) -> list[wire.Message] | None:
        """Messages completed by the next piece, without waiting; None at the end of the stream. Raises WireError."""
        self.flush()
        return wire.receive(self._socket, self._inbox, wire.DESCRIPTORS_LIMIT)

    def is_readable(self) -> bool:
        """True if a message or a wake can be received, or messages are queued. Costs about 1 us."""
        return bool(self._poller.poll(0)) or bool(self._unsent)

    def wait_until(self, deadline_ns: int) -> bool:
        """Sleep until something can be received or sent, at most until `deadline_ns`; False if that is past already."""
        left_ns = deadline_ns - time.perf_counter_ns()
        if left_ns <= 0:
            return False
        if self._unsent:
            self._poller.modify(self._socket, wakes.READABLE | wakes.WRITABLE)
        # Rounded up to whole ms: rounded down, the last fraction of a ms would be spent polling in a loop.
        self._poller.poll(-(-left_ns // 1_000_000))
        self._poller.modify(self._socket, wakes.READABLE)
        return True

    @property
    def peer_pid(self) -> int | None:
        """Process id of the simulation; None where the system does not report it."""
        try:
            return names.peer_pid(self._socket)
        except OSError:  # the socket is closed
            return None

    def fileno(self) -> int:
        """Descriptor of the socket: readable when `receive` has bytes to read."""
        return self._socket.fileno()

    @property
    def wake_fileno(self) -> int | None:
        """Descriptor that is readable when a wake has come. None before `receive_wakes`."""
        return None if self._wakes is None else self._wakes.fileno()

    def close(self) -> None:
        """Close the socket and the receiver of wakes, and drop queued messages."""
        with fork.LOCK:
            self._socket.close()
            if self._wakes is not None:
                self._wakes.close()
                self._wakes = None
        self._inbox.close()
        self._unsent.clear()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.close()
