"""Pages without a browser: the protocol of docs/wire.md, several pages in one process, with as little work as possible.

A page acknowledges as a real one does: a snapshot at the next of its frames, 60 a second, other messages at once; and
it sends four pings a second. The frames of the pages are spread evenly over an interval. Nothing is decoded but the
instant at which a snapshot was published, so the pages take less of a core than what they measure.

The process follows these commands. An answer comes at once, and the pages are served all the time.

    command                                              effect, fields of the answer
    {"do": "open", "count": 8, "lean": true, "deaf": 1}  opens pages; the last `deaf` of them read nothing
    {"do": "deafen", "page": 0}                          the page does nothing any more, as a stopped browser
    {"do": "wake", "page": 0}                            it goes on; at_ns
    {"do": "figures"}                                    since the last one: arrived_ns and published_ns of the
                                                         snapshots of each page, messages, bytes
    {"do": "close"}                                      closes all pages
"""

from __future__ import annotations

import json
import os
import secrets
import select
import socket
import struct
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.processes import json_writer
from twixt.ipc.snapshot import HEAD
from twixt.relay.stream.messages import CONTROL, HEADER, PROTOCOL, SNAPSHOT, STREAM

FRAME_NS, PING_NS = 16_666_667, 250_000_000
# Longest wait for an answer of the server, in seconds.
PATIENCE_S = 30.0
SCRATCH_BYTES = 1 << 20
# Bytes of each message that are kept. The welcome and the heads of snapshots are shorter.
KEPT_BYTES = 4096
# Opcodes of RFC 6455.
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
PUBLISHED = struct.Struct("<q")
PUBLISHED_AT = HEADER.size + HEAD.fields["published_ns"][1]  # type: ignore[index]


class Message(NamedTuple):
    """A message of a WebSocket. begin: its first bytes."""

    opcode: int
    size_bytes: int
    begin: bytes


class MessageReader:
    """Splits what a server sends on a WebSocket into messages. Pure. Only the first bytes of a message are kept."""

    def __init__(self) -> None:
        self._head = b""
        self._left_bytes: int | None = None  # of the message whose head is known
        self._size_bytes = 0
        self._begin = b""

    def feed(self, data: bytes | memoryview) -> list[Message]:
        """The messages that these bytes complete. Raises ValueError for fragments, which the server never sends."""
        found, at = list[Message](), 0
        while at < len(data):
            if self._left_bytes is None:
                wanted = 2 if len(self._head) < 2 else _head_bytes(self._head)
                taken = bytes(data[at : at + wanted - len(self._head)])
                self._head, at = self._head + taken, at + len(taken)
                if len(self._head) < 2 or len(self._head) < _head_bytes(self._head):
                    continue
                if not self._head[0] & 0x80:
                    raise ValueError("the server sent a message in fragments")
                length = self._head[2:]
                self._size_bytes = int.from_bytes(length) if length else self._head[1]
                self._left_bytes = self._size_bytes
            piece = data[at : at + self._left_bytes]
            if (room := KEPT_BYTES - len(self._begin)) > 0:
                self._begin += bytes(piece[:room])
            at, self._left_bytes = at + len(piece), self._left_bytes - len(piece)
            if not self._left_bytes:
                found.append(Message(self._head[0] & 15, self._size_bytes, self._begin))
                self._head, self._left_bytes, self._begin = b"", None, b""
        return found


def _head_bytes(head: bytes) -> int:
    return 2 + {126: 2, 127: 8}.get(head[1] & 127, 0)


def message_bytes(content: bytes, opcode: int = TEXT) -> bytes:
    """A message of a client, shorter than 64 KiB. The mask is zero, which changes nothing."""
    size = len(content)
    length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + size.to_bytes(2)
    return bytes([0x80 | opcode]) + length + bytes(4) + content


class WebSocket:
    """A client's connection to the address `ws` of a link."""

    def __init__(self, link: str) -> None:
        where = urlsplit(link)
        self._socket = socket.create_connection((where.hostname, where.port), PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = (
            f"GET {where.path}ws HTTP/1.1\r\nHost: {where.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            if not (received := self._socket.recv(1)):  # the bytes after the head belong to the messages
                break
            answer += received
        if not answer.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(f"the server refused the connection: {answer[:80]!r}")
        self._reader = MessageReader()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, content: bytes, opcode: int = TEXT) -> None:
        self._socket.sendall(message_bytes(content, opcode))

    def tell(self, **fields: Any) -> None:
        self.send(json.dumps(fields).encode())

    def receive(self, scratch: memoryview) -> list[Message]:
        """The messages that what was received completes; waits only if nothing was. Answers pings of the server."""
        size = self._socket.recv_into(scratch)
        if not size:
            raise RuntimeError("the server closed the connection")
        messages = self._reader.feed(scratch[:size])
        for message in messages:
            if message.opcode == PING:
                self.send(message.begin, PONG)
            elif message.opcode == CLOSE:
                raise RuntimeError(f"the server closed the connection: {message.begin[2:].decode()}")
        return messages

    def close(self) -> None:
        self._socket.close()


class PageClient:
    """A page. phase_ns: instant of one of its frames. is_deaf: True while it does nothing.

    arrived_ns, published_ns: of its snapshots, in ns of the machine's clock. messages, bytes: on the stream.
    """

    def __init__(self, link: str, is_lean: bool, phase_ns: int, scratch: memoryview) -> None:
        self.is_deaf = False
        self._phase_ns, self._scratch = phase_ns, scratch
        self._applied = self._acknowledged = self._pings = 0
        self._frame_ns: int | None = None  # of the frame at which a snapshot is acknowledged
        self._ping_ns = time.perf_counter_ns()
        self.stream, self.control = WebSocket(link), WebSocket(link)
        nonce, token = secrets.token_hex(16), link.partition("#")[2]
        hello = {"kind": "hello", "protocol": PROTOCOL, "token": token, "nonce": nonce}
        self.stream.tell(**hello, role=STREAM, have=[], lean=is_lean)
        self.control.tell(**hello, role=CONTROL)
        self.clear()
        self._origin_ns: int | None = None

    def clear(self) -> None:
        """Forgets its figures."""
        self.arrived_ns, self.published_ns = list[int](), list[int]()
        self.messages = self.bytes = 0

    def read_stream(self) -> None:
        """Takes what came on the stream."""
        for message in self.stream.receive(self._scratch):
            now_ns = time.perf_counter_ns()
            if message.opcode == TEXT:
                self._origin_ns = int(json.loads(message.begin)["origin_ns"])
            elif message.opcode == BINARY:
                kind, _codec, _layout, self._applied = HEADER.unpack_from(message.begin)
                self.messages, self.bytes = self.messages + 1, self.bytes + message.size_bytes
                if kind == SNAPSHOT:
                    assert self._origin_ns is not None
                    self.arrived_ns.append(now_ns)
                    self.published_ns.append(PUBLISHED.unpack_from(message.begin, PUBLISHED_AT)[0] + self._origin_ns)
                    self._frame_ns = self._frame_ns or next_frame_ns(now_ns, self._phase_ns)
                elif self._frame_ns is None:
                    self._acknowledge()

    def read_control(self) -> None:
        """Takes what came on the control connection, of which nothing is used."""
        self.control.receive(self._scratch)

    def work(self, now_ns: int) -> int:
        """Acknowledges and pings, if it is time to. Returns the instant at which it is time again."""
        if self._frame_ns is not None and self._frame_ns <= now_ns:
            self._frame_ns = None
            self._acknowledge()
        if self._ping_ns <= now_ns:
            self._ping_ns, self._pings = now_ns + PING_NS, self._pings + 1
            self.control.tell(kind="ping", id=self._pings)
        return self._ping_ns if self._frame_ns is None else min(self._ping_ns, self._frame_ns)

    def close(self) -> None:
        self.stream.close()
        self.control.close()

    def _acknowledge(self) -> None:
        if self._applied > self._acknowledged:
            self._acknowledged = self._applied
            self.control.tell(kind="ack", number=self._applied)


def next_frame_ns(now_ns: int, phase_ns: int) -> int:
    """The first frame after an instant. phase_ns: instant of one of the frames."""
    return now_ns + FRAME_NS - (now_ns - phase_ns) % FRAME_NS


class PageClients:
    """Pages of one link, served by one thread."""

    def __init__(self, link: str) -> None:
        self._link = link
        self._pages: list[PageClient] = []
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))

    def serve(self, *commands: int) -> bool:
        """Serves the pages until something happens. commands: file descriptor. Returns True if a command has come."""
        reading = [page for page in self._pages if not page.is_deaf]
        heard = {page.stream.fileno(): page.read_stream for page in reading}
        heard |= {page.control.fileno(): page.read_control for page in reading}
        now_ns = time.perf_counter_ns()
        due_ns = min((page.work(now_ns) for page in reading), default=now_ns + PING_NS)
        timeout_s = max(0.0, (due_ns - time.perf_counter_ns()) / 1e9)
        ready = select.select([*commands, *heard], [], [], timeout_s)[0]
        for each in ready:
            if each in heard:
                heard[each]()
        return any(each in ready for each in commands)

    def open(self, count: int, lean: bool, deaf: int = 0) -> dict[str, Any]:
        """Opens pages, and waits until each that reads has a snapshot. Raises RuntimeError."""
        begin_ns = time.perf_counter_ns()
        for number in range(count):
            phase_ns = begin_ns + number * FRAME_NS // count
            self._pages.append(PageClient(self._link, lean, phase_ns, self._scratch))
        for page in self._pages[count - deaf :]:
            page.is_deaf = True
        while not all(page.published_ns or page.is_deaf for page in self._pages):
            if time.perf_counter_ns() - begin_ns > PATIENCE_S * 1e9:
                raise RuntimeError(f"no snapshot came within {PATIENCE_S:g} s")
            self.serve()
        return {}

    def deafen(self, page: int) -> dict[str, Any]:
        self._pages[page].is_deaf = True
        return {}

    def wake(self, page: int) -> dict[str, Any]:
        self._pages[page].is_deaf = False
        return {"at_ns": time.perf_counter_ns()}

    def figures(self) -> dict[str, Any]:
        found = {
            "arrived_ns": [page.arrived_ns for page in self._pages],
            "published_ns": [page.published_ns for page in self._pages],
            "messages": sum(page.messages for page in self._pages),
            "bytes": sum(page.bytes for page in self._pages),
        }
        for page in self._pages:
            page.clear()
        return found

    def close(self) -> dict[str, Any]:
        for page in self._pages:
            page.close()
        self._pages.clear()
        return {}


def main(commands: int, link: str) -> None:
    """Runs pages of a link until the file descriptor `commands` is closed."""
    tell, pages, waiting = json_writer(), PageClients(link), b""
    does = {each.__name__: each for each in (pages.open, pages.deafen, pages.wake, pages.figures, pages.close)}
    tell({"ready": True})
    while True:
        if pages.serve(commands):
            if not (read := os.read(commands, 4096)):
                return
            *lines, waiting = (waiting + read).split(b"\n")
            for line in lines:
                command = json.loads(line)
                tell(does[command.pop("do")](**command))
