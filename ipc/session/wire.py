"""This module encodes, sends and receives the session's messages. It also has a viewer's connection to its simulation.

A message begins with a fixed header (magic, format, number of descriptors, lengths). A JSON object with the message's
`kind` follows, then raw bytes. The receiver has a limit for every length, and checks it as soon as the header is
complete.

Always: input that is damaged, too large or from another program raises `WireError` and no other error. Receiving never
blocks. The first six bytes (magic, format) have the same meaning in every format. So each side can recognize a message
of another version. Descriptors that belong to no message are closed. Not here: the meaning of messages (`link`,
`service`), the check of the peer's user (`listener`).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork
from twixt.ipc.session import listener
from twixt.ipc.system import memory, names, wakes
from twixt.ipc.system.interface import WakeReceiver

# Version of the header and of the messages' fields. The version must be equal on both sides. Increase it with every
# change of the header or of a field.
FORMAT = 5
MAGIC = b"TWXT"
HEADER = struct.Struct("<4sHHII")  # magic, format, number of descriptors, number of JSON bytes, number of raw bytes
# Longest JSON from a viewer, in bytes. A viewer's largest message is a command of about 200 bytes.
VIEWER_JSON_LIMIT = 4096
# Largest number of JSON bytes, and largest number of raw bytes, in a message from the physics process. The largest
# JSON has the report's blocks, about 10 KiB. The largest raw bytes are those of a scene: 2 bytes per body and about
# 150 bytes per distinct shape. So a million bodies with every shape take 12 MB.
HOST_JSON_LIMIT = 1 << 20
HOST_RAW_LIMIT = 64 << 20
DESCRIPTORS_LIMIT = 2
# Largest number of descriptors that are held for messages that are not complete yet.
PENDING_DESCRIPTORS_LIMIT = 8
# First characters of the JSON escape of a UTF-16 surrogate, \ud800 to \udfff. JSON writes a character above U+FFFF as
# two surrogates.
SURROGATE = b"\\ud"
# Largest number of bytes that one call reads from the kernel.
RECEIVE_BYTES = 1 << 16


class WireError(TwixtError):
    """Received bytes are no valid message, or a message cannot be encoded."""


class FormatMismatch(WireError):
    """The other side uses another format."""


class Message(NamedTuple):
    """A received message. The receiver owns `descriptors` and must close them."""

    kind: str
    fields: dict[str, Any]
    raw: bytes = b""
    descriptors: tuple[int, ...] = ()


def encode(kind: str, fields: dict[str, Any] | None = None, raw: bytes = b"", descriptors: int = 0) -> bytes:
    """Return the bytes of a message. descriptors: number of descriptors that are sent with the message. Raises
    WireError if JSON cannot encode `fields`, or if a length exceeds its limit."""
    try:
        text = json.dumps({**(fields or {}), "kind": kind}, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f"a {kind} message must contain only JSON values ({error})") from error
    if len(text) > HOST_JSON_LIMIT or len(raw) > HOST_RAW_LIMIT:
        raise WireError(
            f"a {kind} message must have at most {HOST_JSON_LIMIT} JSON bytes and {HOST_RAW_LIMIT} raw bytes, "
            f"got {len(text)} and {len(raw)}"
        )
    return HEADER.pack(MAGIC, FORMAT, descriptors, len(text), len(raw)) + text + raw


def _plain(value: Any) -> Any:
    """Return a replacement for a value that JSON cannot encode. numpy values become Python numbers or lists. Any other
    value becomes `str(value)`."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


class Inbox:
    """Assembles messages from the pieces that a stream delivers.

    Between calls of `feed`, an Inbox has at most one incomplete message. json_limit, raw_limit: largest number of JSON
    bytes and of raw bytes in a message. descriptors_limit: largest number of descriptors in a message.
    """

    def __init__(self, json_limit: int, raw_limit: int = 0, descriptors_limit: int = 0) -> None:
        self._limits = json_limit, raw_limit, descriptors_limit
        self._bytes = bytearray()
        self._descriptors: list[int] = []

    def feed(self, piece: bytes, descriptors: Sequence[int] = ()) -> list[Message]:
        """Add a piece of the stream and return the messages that the piece completes. Raises WireError for an invalid
        message."""
        self._descriptors.extend(descriptors)
        if len(self._descriptors) > PENDING_DESCRIPTORS_LIMIT:
            raise WireError(f"{len(self._descriptors)} descriptors arrived that belong to no message")
        self._bytes += piece
        complete: list[Message] = []
        try:
            while (message := self._next()) is not None:
                complete.append(message)
        except WireError:
            for message in complete:  # the caller does not get these messages, so their descriptors are closed here
                close_all(message.descriptors)
            raise
        return complete

    def _next(self) -> Message | None:
        if self._bytes[:4] != MAGIC[: len(self._bytes)]:
            raise WireError("the other side is not twixt; another program may use the name, so choose another name")
        if len(self._bytes) >= 6 and (theirs := int.from_bytes(self._bytes[4:6], "little")) != FORMAT:
            raise FormatMismatch(
                f"the other side uses channel format {theirs}, this side format {FORMAT}; "
                "use the same version of twixt for the simulation and the viewer"
            )
        if len(self._bytes) < HEADER.size:
            return None
        _, _, descriptors, json_bytes, raw_bytes = HEADER.unpack_from(self._bytes)
        for got, limit in zip((json_bytes, raw_bytes, descriptors), self._limits, strict=True):
            if got > limit:
                raise WireError(
                    f"a message of {json_bytes} + {raw_bytes} bytes with {descriptors} descriptors exceeds "
                    f"the limits {self._limits}"
                )
        end = HEADER.size + json_bytes + raw_bytes
        if len(self._bytes) < end:
            return None
        kind, fields = _parse(bytes(self._bytes[HEADER.size : HEADER.size + json_bytes]))
        if descriptors > len(self._descriptors):
            raise WireError(f"a {kind} message must have {descriptors} descriptors, got {len(self._descriptors)}")
        raw = bytes(self._bytes[end - raw_bytes : end])
        owned, self._descriptors = tuple(self._descriptors[:descriptors]), self._descriptors[descriptors:]
        del self._bytes[:end]
        return Message(kind, fields, raw, owned)

    def close(self) -> None:
        """Close the descriptors that belong to no complete message, and drop an incomplete message."""
        close_all(self._descriptors)
        self._descriptors.clear()
        self._bytes.clear()


def _parse(text: bytes) -> tuple[str, dict[str, Any]]:
    try:
        fields = json.loads(text)
        if SURROGATE in text.lower():  # a surrogate without its second half cannot be encoded as UTF-8
            fields = json.loads(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
        kind = fields.pop("kind")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WireError(f"a message must be a JSON object with a kind ({type(error).__name__})") from error
    if not isinstance(fields, dict) or not isinstance(kind, str):
        raise WireError(f"a message's kind must be text, got {kind!r}")
    return kind, fields


def whole_number(fields: dict[str, Any], name: str) -> int:
    """Return the field `name`, which must fit into a signed 64-bit integer. Raises WireError for any other value."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        raise WireError(f"{name} must be a whole number of 64 bits, got {str(value)[:40]!r}")
    return value


def receive(
    connection: socket.socket, inbox: Inbox, descriptors_limit: int = 0, piece_bytes: int = RECEIVE_BYTES
) -> list[Message] | None:
    """Receive at most `piece_bytes` without waiting. Returns the messages that these bytes complete, or None at the
    end of the stream. Raises WireError for an invalid message.

    If more than `descriptors_limit` descriptors arrive, the kernel closes the additional descriptors.
    """
    try:
        piece, came = memory.receive(connection, piece_bytes, descriptors_limit)
    except BlockingIOError:
        return []
    except OSError:
        return None
    if not piece:
        close_all(came)
        return None
    return inbox.feed(piece, came)


class Outgoing:
    """A message that is being sent, in one or more pieces. This object owns the message's descriptors."""

    def __init__(self, content: bytes, descriptors: Sequence[int] = ()) -> None:
        self._rest = memoryview(content)
        self._descriptors = list(descriptors)

    def send(self, connection: socket.socket) -> bool:
        """Send as many bytes as possible without waiting. Returns True if all bytes are now sent. Raises OSError if
        the other side has disconnected."""
        while self._rest:
            try:
                sent = memory.send(connection, self._rest, self._descriptors)
            except BlockingIOError:
                return False
            self.close()
            self._rest = self._rest[sent:]
        return True

    def close(self) -> None:
        """Close this process' copies of the descriptors."""
        # No fork may happen during this loop. Otherwise the child would close these numbers again, although the
        # numbers may then belong to other files.
        with fork.LOCK:
            close_all(self._descriptors)
            self._descriptors.clear()


def close_all(descriptors: Sequence[int]) -> None:
    """Close all these descriptors. Some of them may be closed already, for example by the memory's fork hook in a
    forked child."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


# A connection of a viewer to its simulation.
#
# Both directions have a queue of limited length, so that a viewer continues to draw whatever the physics process does.
# When the physics process ends, the kernel closes the stream, and `receive` returns None.
#
# Always: only `connect` and `wait_until` wait. They wait no longer than their argument allows. Only one thread may use
# a connection.

# Largest number of messages that are queued while the socket is full. The service thread of the physics process
# empties the socket within milliseconds, unless that process is stopped.
UNSENT_LIMIT = 256


class Connection:
    """A socket to the simulation, and the receiver of wakes. Call `connect` before all other methods."""

    def __init__(self) -> None:
        listener.check_unpatched()
        self._unsent: deque[Outgoing] = deque()
        self._inbox = Inbox(HOST_JSON_LIMIT, HOST_RAW_LIMIT, DESCRIPTORS_LIMIT)
        self._poller = wakes.poller()
        self._wakes: WakeReceiver | None = None
        with fork.LOCK:
            self._socket = names.new_socket()
            fork.guard(self)

    def connect(self, name: str, timeout_s: float) -> None:
        """Connect to the simulation of that name. Raises TwixtError if there is no such simulation."""
        listener.connect(self._socket, name, timeout_s)
        self._poller.register(self._socket, wakes.READABLE)

    def receive_wakes(self, descriptor: int) -> None:
        """Receive wakes through a duplicate of this descriptor. Raises WireError if the descriptor is no pipe, or if
        this method was called before."""
        try:
            if self._wakes is not None:
                raise ValueError
            with fork.LOCK:
                self._wakes = wakes.receiver(descriptor)
        except ValueError:
            raise WireError("the simulation must send one pipe that wakes this viewer; restart it") from None
        self._poller.register(self._wakes, wakes.READABLE)

    def drain_wakes(self) -> bool:
        """True if a wake has arrived since the last call."""
        return self._wakes is not None and self._wakes.drain()

    def send(self, kind: str, fields: dict[str, Any] | None = None) -> bool:
        """Queue a message, and send as much as fits into the socket. If `UNSENT_LIMIT` messages are queued already,
        returns False and queues nothing."""
        if len(self._unsent) >= UNSENT_LIMIT:
            return False
        self._unsent.append(Outgoing(encode(kind, fields)))
        self.flush()
        return True

    def flush(self) -> None:
        """Send as much as fits into the socket."""
        with contextlib.suppress(OSError):  # the simulation has disconnected; the next `receive` reports this
            while self._unsent and self._unsent[0].send(self._socket):
                self._unsent.popleft()

    def receive(self) -> list[Message] | None:
        """Receive a piece of the stream without waiting. Returns the messages that the piece completes, or None at the
        end of the stream. Raises WireError for an invalid message."""
        self.flush()
        return receive(self._socket, self._inbox, DESCRIPTORS_LIMIT)

    def is_readable(self) -> bool:
        """True if a message or a wake can be received, or if messages are queued. A call takes about 1 us."""
        return bool(self._poller.poll(0)) or bool(self._unsent)

    def wait_until(self, deadline_ns: int) -> bool:
        """Sleep until something can be received, a queued message can be sent, or `deadline_ns` is reached. Returns
        False if `deadline_ns` is already over at the call."""
        left_ns = deadline_ns - time.perf_counter_ns()
        if left_ns <= 0:
            return False
        if self._unsent:
            self._poller.modify(self._socket, wakes.READABLE | wakes.WRITABLE)
        # The timeout is rounded up to whole ms. Otherwise the caller would poll in a loop during the last fraction of
        # a ms.
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
        """Descriptor of the socket. It is readable when `receive` has bytes to read."""
        return self._socket.fileno()

    @property
    def wake_fileno(self) -> int | None:
        """Descriptor that is readable when a wake has arrived. None before `receive_wakes`."""
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
        """Implements `fork.Guarded`. Closes the child's copies of the sockets."""
        self.close()
