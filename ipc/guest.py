"""One viewer, as the simulation sees it: its connection, what it was told, what it may still say.

The one idea: what waits for a viewer is one message of each kind, the latest; so a viewer that never
reads (stopped, or broken) costs a bounded amount of memory and no time, whatever is posted to it.

Always: nothing here waits; a message that has begun to leave is finished before the next; the wake has a
pipe of its own, so that the stepping thread may send one without a look at what else is on its way.
Used by the daemon thread alone, but for `wake`, which any thread may call.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from twixt.ipc import fork, wire

# More messages in a second than a viewer has reason for (one wake and one lead a frame at 240 Hz, and its
# user's commands). Beyond them it is not heard until that second is over; its own socket fills up.
MESSAGES_PER_S = 1000
# A command counts as so many: a hundred a second, for keys that repeat and sliders in motion make forty. Reading a
# hundred takes the interpreter from the stepping thread for one or two ms of that second.
COMMAND_COUNTS = 10
# Read at once: some forty commands, so that a flood is noticed after few.
PIECE_BYTES = 4096
SECOND_NS = 1_000_000_000


class House(Protocol):
    """What the simulation tells its guests. Asked on the daemon thread."""

    scene: tuple[int, bytes]

    def describe_to_guest(self) -> dict[str, Any]: ...
    def segment_for_guest(self) -> tuple[dict[str, Any], int]: ...
    def has_newer(self, number: int, plan_number: int) -> bool: ...
    def report_for_guest(self) -> dict[str, Any] | None: ...
    def guest_gone(self, owned: bool, was_last: bool) -> None: ...
    def work(self) -> bool: ...


class Guest:
    """A connection that came in. `attached` once it said hello in our format."""

    def __init__(self, connection: socket.socket, now_ns: int) -> None:
        connection.setblocking(False)
        self.connection = connection
        fork.guard(self)
        self.came_ns = now_ns
        self.attached = False
        self.owned = False
        self.lead_ns = 0
        self.report_number: int | None = None
        self.scene_version = 0
        self.status: dict[str, Any] | None = None
        self.status_ns = -SECOND_NS
        self.deaf_until_ns = 0
        self._second_began_ns = now_ns
        self._said = 0
        self._inbox = wire.Inbox(wire.VIEWER_JSON_LIMIT)
        self._leaving: wire.Outgoing | None = None
        self._waiting: dict[str, wire.Outgoing] = {}
        self._wake: tuple[int, int] | None = None
        self._wake_lock = threading.Lock()  # no byte may go to a descriptor that was closed and given to another

    def post(self, kind: str, content: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send as soon as there is room, instead of an older message of this kind. Takes the descriptors over."""
        if older := self._waiting.get(kind):
            older.close()
        self._waiting[kind] = wire.Outgoing(content, descriptors)

    def flush(self) -> None:
        """Send what fits. Raises OSError when nobody is there."""
        while self._leaving or self._waiting:
            if self._leaving is None:
                self._leaving = self._waiting.pop(next(iter(self._waiting)))
            if not self._leaving.send(self.connection):
                return
            self._leaving = None

    @property
    def has_more(self) -> bool:
        """Something waits for room in the socket."""
        return bool(self._leaving or self._waiting)

    def hear(self, now_ns: int) -> list[wire.Message] | None:
        """What it said, without waiting; None when it has gone, or goes while it is not heard. Raises WireError."""
        if self.deaf_until_ns > now_ns:
            return None
        messages = wire.receive(self.connection, self._inbox, piece_bytes=PIECE_BYTES)
        if messages:
            if now_ns - self._second_began_ns >= SECOND_NS:
                self._second_began_ns, self._said = now_ns, 0
            self._said += sum(COMMAND_COUNTS if message.kind == "command" else 1 for message in messages)
            if self._said > MESSAGES_PER_S:
                self.deaf_until_ns = self._second_began_ns + SECOND_NS
        return messages

    def open_wake(self) -> int:
        """The end of the wake's pipe that the viewer reads; a copy, the caller's to close.

        A pipe wakes in half the time of a socket. Both ends stay open here: without a reader a write would
        be a signal, which kills a process that has asked for that; and a pipe that nobody reads is full, no more.
        """
        self._wake = os.pipe()
        os.set_blocking(self._wake[1], False)
        return os.dup(self._wake[0])

    def wake(self) -> None:
        """One wake, from any thread. Never waits, never raises."""
        with self._wake_lock:
            if self._wake is not None:
                try:
                    os.write(self._wake[1], b"w")
                except OSError:  # full, because nobody reads it
                    pass

    def close(self) -> None:
        """Close all."""
        with self._wake_lock:
            self._close_all()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self._close_all()

    def _close_all(self) -> None:
        with fork.LOCK:
            self.connection.close()
            if self._wake is not None:
                wire.close_all(self._wake)
                self._wake = None
        self._inbox.close()
        for message in (*self._waiting.values(), *((self._leaving,) if self._leaving else ())):
            message.close()
        self._waiting.clear()
        self._leaving = None


def flush_all(guests: Sequence[Guest], patience_ns: int) -> None:
    """Send what waits for them, as far as they read it in time."""
    deadline_ns = time.perf_counter_ns() + patience_ns
    talking = list(guests)
    while True:
        for guest in list(talking):
            with contextlib.suppress(OSError):
                guest.flush()
                if guest.has_more:
                    continue
            talking.remove(guest)
        left_ns = deadline_ns - time.perf_counter_ns()
        if not talking or left_ns <= 0:
            return
        poller = select.poll()
        for guest in talking:
            poller.register(guest.connection, select.POLLOUT)
        poller.poll(-(-left_ns // 1_000_000))


def encode_theirs(kind: str, fields: dict[str, Any], what: str, descriptors: int = 0) -> bytes:
    """A message with something of the user's in it; without that, and their fault shown, where none can carry it."""
    try:
        return wire.encode(kind, fields, descriptors=descriptors)
    except wire.WireError:
        sys.excepthook(*sys.exc_info())
        return wire.encode(kind, {**fields, what: None}, descriptors=descriptors)


def call_guarded(callback: Callable[[], Any] | None) -> Any:
    """A callback's answer, or None where it raises: its fault is shown, and the thread goes on."""
    try:
        return callback() if callback is not None else None
    except Exception:
        sys.excepthook(*sys.exc_info())
        return None
