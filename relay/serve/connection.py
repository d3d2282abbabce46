"""A WebSocket of a page, which is dropped if it sends too much, or for a newer one if it does not say hello."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import OrderedDict

from websockets.asyncio.server import ServerConnection
from websockets.protocol import State

# Largest number of connections that have not said hello yet. The oldest of them is dropped for a new one.
MOST_OPENING = 64
# Largest number of bytes that a connection may send before its hello, and in a second after it. One that sends more is
# dropped: the library answers pings and collects fragments before anybody counts messages. A page that sends too many
# messages is not read for so long that it stays below.
MOST_OPENING_BYTES, MOST_BYTES_PER_S = 16 << 10, 512 << 10


class PageConnection(ServerConnection):
    """A connection that counts its bytes. OPENING: all connections without a hello, the oldest first."""

    OPENING: OrderedDict[ServerConnection, None]
    _read_bytes = 0
    _read_since_s = 0.0

    def allow(self, count: int) -> None:
        """Lets the page send so many bytes more, because the server has asked for them."""
        self._read_bytes -= count

    def data_received(self, data: bytes) -> None:
        is_opening, now_s = self in self.OPENING, time.monotonic()
        if not is_opening and now_s - self._read_since_s >= 1:
            self._read_bytes, self._read_since_s = min(0, self._read_bytes), now_s
        left = (MOST_OPENING_BYTES if is_opening else MOST_BYTES_PER_S) - self._read_bytes
        self._read_bytes += len(data)
        super().data_received(data[: max(0, left)])
        if left < len(data) and self.protocol.state in (State.CONNECTING, State.OPEN):  # else it closes by itself
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # asyncio does this only for sockets of a known protocol. Otherwise a small snapshot waits in the kernel for the
        # acknowledgement of the one before (Nagle 1984), which is a round trip.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.OPENING[self] = None
        if len(self.OPENING) > MOST_OPENING:
            oldest, _ = self.OPENING.popitem(last=False)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.OPENING.pop(self, None)
        super().connection_lost(exc)
