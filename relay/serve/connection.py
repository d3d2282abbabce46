"""Connections of pages: each is dropped if it sends too much, or for a newer one if it does not say hello.

The library closes a connection with each answer to a request for a file. A browser far away asks for 25 modules, on six
connections at once. So plain requests are answered before the library sees them, and the connection stays for more:
that saves a round trip for each of four requests in a row. The library answers all other requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.streams import StreamReader

from twixt.relay.serve import tcp

# Largest number of connections that have not said hello yet. The oldest of them is dropped for a new one.
MOST_OPENING = 64
# Largest number of bytes that a connection may send before its hello, and in a second after it. One that sends more is
# dropped: the library answers pings and collects fragments before anybody counts messages. A page that sends too many
# messages is not read for so long that it stays below.
MOST_OPENING_BYTES, MOST_BYTES_PER_S = 16 << 10, 512 << 10
# While more connections than this have not said hello, each answer closes its connection.
MOST_KEPT = MOST_OPENING // 2
# A client that has not read so many bytes of its answers gets one more, which closes the connection.
MOST_UNREAD_BYTES = 64 << 10
HEAD_END = b"\r\n\r\n"
# A plain request begins so, and has none of these headers.
PLAIN = b"GET "
OTHER_HEADERS = ("Upgrade", "Content-Length", "Transfer-Encoding", "Expect")
# Sockets of the connections that have not said hello, by the number of their descriptor, the oldest first.
Opening = OrderedDict[int, socket.socket]


class CountedListener(socket.socket):
    """Listens instead of `listening`, and drops the oldest connection without a hello for a new one that is too many.
    Connections count from their first packet, because each handshake of TLS takes 300 KB."""

    def __init__(self, listening: socket.socket, opening: Opening) -> None:
        super().__init__(listening.family, listening.type, listening.proto, listening.detach())
        self._opening, self._dropped = opening, 0
        gc.freeze()  # what was imported needs no collection, which then takes 1 ms

    def accept(self) -> tuple[socket.socket, Any]:
        accepted, address = super().accept()
        opening = self._opening
        opening[accepted.fileno()] = accepted
        opening.move_to_end(accepted.fileno())
        for number in [number for number, one in opening.items() if one.fileno() != number]:  # closed
            del opening[number]
        if len(opening) > MOST_OPENING:
            _, oldest = opening.popitem(last=False)
            with contextlib.suppress(OSError):  # the client has closed it
                oldest.shutdown(socket.SHUT_RDWR)
            self._dropped += 1
            if self._dropped % MOST_OPENING == 0:
                gc.collect()  # else Python keeps the buffers of some 1,000 handshakes
        return accepted, address


class PageConnection(ServerConnection):
    """A connection that counts its bytes. OPENING: all connections without a hello. ANSWER: answers a request for a
    file; None for other requests."""

    OPENING: Opening
    ANSWER: Callable[[Request], Response | None]
    _head: bytes | None = b""  # of a request that is not complete; None if the library reads the connection
    _number = -1
    _read_bytes = 0
    _read_since_s = 0.0

    def allow(self, count: int) -> None:
        """Lets the page send so many bytes more, because the server has asked for them."""
        self._read_bytes -= count

    def data_received(self, data: bytes) -> None:
        is_opening, now_s = self._number in self.OPENING, time.monotonic()
        if not is_opening and now_s - self._read_since_s >= 1:
            self._read_bytes, self._read_since_s = min(0, self._read_bytes), now_s
        left = (MOST_OPENING_BYTES if is_opening else MOST_BYTES_PER_S) - self._read_bytes
        self._read_bytes += len(data)
        if unanswered := self._answer_plain(data[: max(0, left)]):
            super().data_received(unanswered)
        if left < len(data) and self.protocol.state in (State.CONNECTING, State.OPEN):  # else it closes by itself
            self.transport.abort()

    def _answer_plain(self, data: bytes) -> bytes:
        """Answers plain requests. Returns what the library is to read: from the first other request on, everything."""
        if self._head is None:
            return data
        self._head += data
        while (size := self._head.find(HEAD_END) + len(HEAD_END)) >= len(HEAD_END):
            response = self._response(self._head[:size])
            if response is None:
                break
            self.transport.write(response.serialize())
            self._head = self._head[size:]
            self._read_bytes = len(self._head)
        else:
            if PLAIN.startswith(self._head[: len(PLAIN)]):
                return b""
        unanswered, self._head = self._head, None
        return unanswered

    def _response(self, head: bytes) -> Response | None:
        """The answer to a request; None if it is not plain, or if the connection is to be closed with the answer."""
        if len(self.OPENING) > MOST_KEPT or self.transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            return None
        reader = StreamReader()
        reader.feed_data(head)
        try:
            next(Request.parse(reader.read_line))
        except StopIteration as parsed:
            request: Request = parsed.value
        except Exception:  # the library answers that
            return None
        headers = request.headers
        is_plain = head.startswith(PLAIN) and head.partition(b"\r\n")[0].endswith(b" HTTP/1.1")
        wishes = [wish.lower() for wish in headers.get_all("Connection")]
        if not is_plain or wishes not in ([], ["keep-alive"]) or any(one in headers for one in OTHER_HEADERS):
            return None
        response = type(self).ANSWER(request)
        if response is not None:
            del response.headers["Connection"]
        return response

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._number = number_of(transport)
        tcp.set_up(transport)


def number_of(transport: asyncio.BaseTransport) -> int:
    """Number of the connection's descriptor; -1 if it is closed."""
    return int(transport.get_extra_info("socket").fileno())
