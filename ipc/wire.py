"""Messages over the session connection: a kind with a few fields, perhaps raw bytes, perhaps descriptors.

The one idea: whatever arrives was written by another process and is checked before it is believed. A
message is a fixed header (magic, format, lengths, number of descriptors), a JSON object with its `kind`,
then raw bytes. Every length has a limit that the receiver sets and checks before it keeps a byte.

Always: damaged, oversized or foreign input raises `WireError`, never anything else and never a hang; the
first six bytes (magic, format) mean the same in every format, so that two versions can say so to each
other; a descriptor is closed unless a message took it. Not done here: waiting, and whom to believe.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from twixt.ipc import fork
from twixt.ipc.errors import TwixtError

# What both sides must share: this framing and the messages' fields. Raised with every change of either.
FORMAT = 1
MAGIC = b"TWXT"
HEADER = struct.Struct("<4sHHII")  # magic, format, descriptors, JSON bytes, raw bytes
# A message from a viewer: the largest is a command, some 200 bytes.
VIEWER_JSON_LIMIT = 4096
# A message from physics: the largest JSON is the report's blocks, some 10 KiB; the largest raw part a
# scene, 2 bytes a body and some 150 a distinct shape: 12 MB with a million bodies and every shape used.
HOST_JSON_LIMIT = 1 << 20
HOST_RAW_LIMIT = 64 << 20
DESCRIPTORS_LIMIT = 2
# That came ahead of the messages that they belong to.
PENDING_DESCRIPTORS_LIMIT = 8
# How JSON writes either half of a character beyond the first 65536. Whole ones are written as two such.
SURROGATE = b"\\ud"
# Bytes taken from the kernel at once.
RECEIVE_BYTES = 1 << 16
# Never wait, and never die of a reader that has gone.
SEND_FLAGS = getattr(socket, "MSG_DONTWAIT", 0) | getattr(socket, "MSG_NOSIGNAL", 0)


class WireError(TwixtError):
    """What arrived is no message of this format."""


class FormatMismatch(WireError):
    """The other side speaks another format."""


class Message(NamedTuple):
    """One message as it arrived. Who takes `descriptors` closes them."""

    kind: str
    fields: dict[str, Any]
    raw: bytes = b""
    descriptors: tuple[int, ...] = ()


def encode(kind: str, fields: dict[str, Any] | None = None, raw: bytes = b"", descriptors: int = 0) -> bytes:
    """The message's bytes. Raises WireError where no receiver would take it."""
    try:
        text = json.dumps({**(fields or {}), "kind": kind}, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f"a {kind} message must be made of what JSON knows ({error})") from error
    if len(text) > HOST_JSON_LIMIT or len(raw) > HOST_RAW_LIMIT:
        raise WireError(
            f"a {kind} message may hold {HOST_JSON_LIMIT} bytes of JSON and {HOST_RAW_LIMIT} raw ones, "
            f"got {len(text)} and {len(raw)}"
        )
    return HEADER.pack(MAGIC, FORMAT, descriptors, len(text), len(raw)) + text + raw


def _plain(value: Any) -> Any:
    """What JSON has no word for: numpy numbers and arrays as plain ones, anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


class Inbox:
    """Puts messages together from the pieces that a stream delivers.

    Holds at most one message beyond what `feed` got, and closes its unclaimed descriptors in `close`.
    """

    def __init__(self, json_limit: int, raw_limit: int = 0, descriptors_limit: int = 0) -> None:
        self._limits = json_limit, raw_limit, descriptors_limit
        self._bytes = bytearray()
        self._descriptors: list[int] = []

    def feed(self, piece: bytes, descriptors: Sequence[int] = ()) -> list[Message]:
        """Take a piece in; the messages that it completes. Raises WireError."""
        self._descriptors.extend(descriptors)
        if len(self._descriptors) > PENDING_DESCRIPTORS_LIMIT:
            raise WireError(f"{len(self._descriptors)} descriptors came that no message claims")
        self._bytes += piece
        complete: list[Message] = []
        try:
            while (message := self._next()) is not None:
                complete.append(message)
        except WireError:
            for message in complete:  # nobody hears of them
                close_all(message.descriptors)
            raise
        return complete

    def _next(self) -> Message | None:
        if self._bytes[:4] != MAGIC[: len(self._bytes)]:
            raise WireError("the other side does not speak twixt's channel; is the name taken by another program?")
        if len(self._bytes) >= 6 and (theirs := int.from_bytes(self._bytes[4:6], "little")) != FORMAT:
            raise FormatMismatch(
                f"the other side speaks channel format {theirs}, this one format {FORMAT}; "
                "use the same version of twixt for the simulation and the viewer"
            )
        if len(self._bytes) < HEADER.size:
            return None
        _, _, descriptors, json_bytes, raw_bytes = HEADER.unpack_from(self._bytes)
        for got, limit in zip((json_bytes, raw_bytes, descriptors), self._limits, strict=True):
            if got > limit:
                raise WireError(
                    f"a message of {json_bytes} + {raw_bytes} bytes with {descriptors} descriptors is over "
                    f"the limits {self._limits}"
                )
        end = HEADER.size + json_bytes + raw_bytes
        if len(self._bytes) < end:
            return None
        kind, fields = _parse(bytes(self._bytes[HEADER.size : HEADER.size + json_bytes]))
        if descriptors > len(self._descriptors):
            raise WireError(f"{kind} announced {descriptors} descriptors, {len(self._descriptors)} came")
        raw = bytes(self._bytes[end - raw_bytes : end])
        taken, self._descriptors = tuple(self._descriptors[:descriptors]), self._descriptors[descriptors:]
        del self._bytes[:end]
        return Message(kind, fields, raw, taken)

    def close(self) -> None:
        """Close what nobody took."""
        close_all(self._descriptors)
        self._descriptors.clear()
        self._bytes.clear()


def _parse(text: bytes) -> tuple[str, dict[str, Any]]:
    try:
        fields = json.loads(text)
        if SURROGATE in text.lower():  # half a character, which no window, terminal or file takes
            fields = json.loads(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
        kind = fields.pop("kind")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WireError(f"a message that is no JSON object with a kind ({type(error).__name__})") from error
    if not isinstance(fields, dict) or not isinstance(kind, str):
        raise WireError(f"a message's kind must be text, got {kind!r}")
    return kind, fields


def whole_number(fields: dict[str, Any], name: str) -> int:
    """The field as an integer that fits 64 bits. Raises WireError."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        raise WireError(f"{name} must be a whole number of 64 bits, got {str(value)[:40]!r}")
    return value


def receive(
    connection: socket.socket, inbox: Inbox, descriptors_limit: int = 0, piece_bytes: int = RECEIVE_BYTES
) -> list[Message] | None:
    """What has arrived, up to `piece_bytes` of it, without waiting; None at the end of the stream. Raises WireError.

    Descriptors beyond the limit are closed by the kernel; with a limit of 0 that is all of them.
    """
    try:
        if descriptors_limit:
            piece, came = _receive_with_descriptors(connection, descriptors_limit)
        else:
            piece, came = connection.recv(piece_bytes, socket.MSG_DONTWAIT), []
    except BlockingIOError:
        return []
    except OSError:
        return None
    if not piece:
        close_all(came)
        return None
    return inbox.feed(piece, came)


def _receive_with_descriptors(connection: socket.socket, limit: int) -> tuple[bytes, list[int]]:
    flags = socket.MSG_DONTWAIT | getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    came = array.array("i")
    piece, ancillary, _, _ = connection.recvmsg(RECEIVE_BYTES, socket.CMSG_SPACE(limit * came.itemsize), flags)
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            came.frombytes(content[: len(content) - len(content) % came.itemsize])
    return piece, list(came)


class Outgoing:
    """One message on its way, sent as far as the socket takes it. Owns its descriptors."""

    def __init__(self, content: bytes, descriptors: Sequence[int] = ()) -> None:
        self._rest = memoryview(content)
        self._descriptors = list(descriptors)

    def send(self, connection: socket.socket) -> bool:
        """Send without waiting; True when all of it has left. Raises OSError when nobody is there."""
        while self._rest:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", self._descriptors))]
            try:
                sent = connection.sendmsg([self._rest], rights if self._descriptors else [], SEND_FLAGS)
            except BlockingIOError:
                return False
            self.close()
            self._rest = self._rest[sent:]
        return True

    def close(self) -> None:
        """Close this side's copy of the descriptors."""
        with fork.LOCK:  # in a child they may be another's by then
            close_all(self._descriptors)
            self._descriptors.clear()


def close_all(descriptors: Sequence[int]) -> None:
    """Close each. In a forked child the memory's own hook may have been there before."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
