"""Repeats small messages of a page's stream on its control connection, while TCP loses packets.

After a lost packet, TCP holds back all later bytes of a connection until the packet was sent again: for a round trip or
more, and for some 250 ms if nothing follows it soon. A message that is sent on both connections is late only if both
lose it. That costs a small packet a message, so it is done only while packets are lost, and only for messages that fit
into one packet.

Always: the messages on the other connection are in the order of the stream, and none is sent there while an earlier one
is neither acknowledged nor repeated. So what a page received with the highest number needs nothing that is missing.
Reads no clock.
"""

from __future__ import annotations

from collections import deque

# Largest message that is repeated, in bytes: with the heads of WebSocket, TLS, TCP and IP, it fits into a packet of
# 1,500 bytes.
MOST_BYTES = 1350
# Time after a lost packet for which messages are repeated. At 0.1 % and 60 packets a second, one is lost in 17 s.
LOSSY_NS = 60_000_000_000


class Repeats:
    """Decides which messages are sent on the other connection."""

    def __init__(self) -> None:
        # (number, message) of those that are neither acknowledged nor repeated; None for a large message
        self._waiting: deque[tuple[int, bytes | None]] = deque()
        self._retransmissions = 0
        self._lossy_until_ns: int | None = None

    def sent(self, number: int, message: bytes) -> None:
        """Counts a message that was sent on the stream. Numbers increase."""
        self._waiting.append((number, message if len(message) <= MOST_BYTES else None))

    def acknowledged(self, number: int) -> None:
        """Counts all messages up to `number` as received by the page."""
        while self._waiting and self._waiting[0][0] <= number:
            self._waiting.popleft()

    def take(self, retransmissions: int, now_ns: int) -> list[bytes]:
        """The messages to send on the other connection now. retransmissions: number of packets that TCP has sent again
        so far, on both connections."""
        if retransmissions > self._retransmissions:
            self._retransmissions, self._lossy_until_ns = retransmissions, now_ns + LOSSY_NS
        if self._lossy_until_ns is None or now_ns > self._lossy_until_ns:
            return []
        messages = [message for _, message in self._waiting if message is not None]
        if len(messages) < len(self._waiting):
            return []
        self._waiting.clear()
        return messages
