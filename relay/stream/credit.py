"""Credit of one page's stream: how many messages may be sent that the page has not acknowledged.

Always: a stopped page receives at most `window` messages that it had not acknowledged, whatever the link buffers.
Reads no clock: every instant is passed in, in ns of one clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

# Messages that every link may have on the way: one that travels, and one that the page has but did not draw yet.
LEAST_WINDOW = 2
# The acknowledged bytes per second are counted over this time.
RATE_SPAN_NS = 1_000_000_000


class Sent(NamedTuple):
    """A message that is not acknowledged."""

    number: int
    size_bytes: int
    sent_ns: int


class Credit:
    """Decides when the next message of one page's stream may be sent.

    Attributes:
        window: Messages that may be on the way at once.
        late: Messages so far whose acknowledgement came late.
    """

    def __init__(self) -> None:
        self.window = LEAST_WINDOW
        self.late = 0
        self._unacknowledged: deque[Sent] = deque()
        self._newest = 0
        self._arrived: deque[tuple[int, int]] = deque()  # (instant, bytes) of acknowledgements within RATE_SPAN_NS

    @property
    def unacknowledged(self) -> int:
        """Number of messages on the way."""
        return len(self._unacknowledged)

    def may_send(self, now_ns: int) -> bool:
        """Whether the window has room for one more message."""
        return len(self._unacknowledged) < self.window

    def sent(self, number: int, size_bytes: int, now_ns: int) -> None:
        """Counts a message that is handed to the socket. Numbers increase."""
        self._newest = number
        self._unacknowledged.append(Sent(number, size_bytes, now_ns))

    def acknowledged(self, number: int, now_ns: int) -> None:
        """Counts all messages up to `number` as applied by the page.

        Raises ValueError for a number that was not sent. A number that was acknowledged before has no effect.
        """
        if not 0 < number <= self._newest:
            raise ValueError(f"acknowledged message {number}, but the last message sent is {self._newest}")
        size_bytes = 0
        while self._unacknowledged and self._unacknowledged[0].number <= number:
            size_bytes += self._unacknowledged.popleft().size_bytes
        if size_bytes:
            self._arrived.append((now_ns, size_bytes))

    def round_trip(self, trip_ns: int, now_ns: int) -> None:
        """Takes the round trip of a small message on the control connection."""

    def publish_interval(self, interval_ns: int) -> None:
        """Sets the wall time between two snapshots of the simulation."""

    def bytes_per_second(self, now_ns: int) -> float:
        """Bytes per second that the page acknowledged in the last second."""
        while self._arrived and now_ns - self._arrived[0][0] > RATE_SPAN_NS:
            self._arrived.popleft()
        return sum(size for _, size in self._arrived) * 1e9 / RATE_SPAN_NS
