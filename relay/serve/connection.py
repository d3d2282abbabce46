"""Connections of pages: each is dropped if it sends too much, or for a newer one if it does not say hello."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import time
from collections import OrderedDict
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.protocol import State

from twixt.relay.serve import tcp

# Largest number of connections that have not said hello yet. The oldest of them is dropped for a new one.
MOST_OPENING = 64
# Largest number of bytes that a connection may send before its hello, and in a second after it. One that sends more is
# dropped: the library answers pings and collects fragments before anybody counts messages. A page that sends too many
# messages is not read for so long that it stays below.
MOST_OPENING_BYTES, MOST_BYTES_PER_S = 16 << 10, 512 << 10
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
    """A connection that counts its bytes. OPENING: all connections without a hello."""

    OPENING: Opening
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
        super().data_received(data[: max(0, left)])
        if left < len(data) and self.protocol.state in (State.CONNECTING, State.OPEN):  # else it closes by itself
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._number = number_of(transport)
        tcp.set_up(transport)


def number_of(transport: asyncio.BaseTransport) -> int:
    """Number of the connection's descriptor; -1 if it is closed."""
    return int(transport.get_extra_info("socket").fileno())
