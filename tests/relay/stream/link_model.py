"""Simulation of one page's stream: a publisher, the server's credit, a link with TCP in both directions, and a page.

A direction of a TCP connection is a queue without a limit (the socket's buffer and the routers'), served at the link's
bandwidth or at TCP's congestion window a round trip, whichever is slower. Its packets arrive after the delay and the
jitter, in order: a late packet delays the packets after it. A lost packet arrives one round trip later, and a
retransmission that is lost again after a retransmission timeout. The congestion window is CUBIC's (RFC 9438).

Reads no clock: the simulation has its own time in ns, and its random numbers have a seed.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

MS = 1_000_000
S = 1_000_000_000
PACKET_BYTES = 1_448
FRAME_NS = 16_666_667
ACK_BYTES = 60
PIECE_BYTES = 256 * 1024
LEAST_TIMEOUT_NS = 200 * MS
# CUBIC: window after a loss, and growth in packets a second cubed.
CUBIC_BETA, CUBIC_C = 0.7, 0.4
FIRST_PACKETS = 10


@dataclass(frozen=True)
class Link:
    """A link, and what the publisher and the page do.

    Attributes:
        bandwidth: Bytes per second at an instant in ns.
        stops: Spans in ns in which the page neither reads nor draws.
        hidden: Spans in ns in which the page reads but draws no frame.
        pieces: Pieces of contents of 256 KiB, in turns with the snapshots from the fifth second.
        detour_ns: Further delay of each direction from the tenth second.
    """

    delay_ns: int = 80 * MS
    jitter_ns: int = 0
    bandwidth: Callable[[int], float] = lambda now_ns: 125e6
    loss: float = 0.0
    rate_hz: float = 60
    size_bytes: int = 20_000
    frame_ns: int = FRAME_NS
    stops: tuple[tuple[int, int], ...] = ()
    hidden: tuple[tuple[int, int], ...] = ()
    pieces: int = 0
    detour_ns: int = 0
    seconds: float = 30
    seed: int = 1


class CreditLike(Protocol):
    window: int

    def may_send(self, now_ns: int) -> bool: ...
    def sent(self, number: int, now_ns: int) -> None: ...
    def acknowledged(self, number: int, now_ns: int) -> None: ...
    def publish_interval(self, interval_ns: int) -> None: ...


class Direction:
    """One direction of a TCP connection."""

    def __init__(self, link: Link, rng: random.Random) -> None:
        self._link = link
        self._rng = rng
        self._free_ns = 0.0  # when the last packet has left
        self._arrival_ns = 0.0
        self._packets = float(FIRST_PACKETS)  # congestion window
        self._before_loss: float | None = None  # congestion window at the last loss; None: slow start
        self._loss_ns = 0.0
        self._trip_ns = 2 * link.delay_ns + 2 * MS

    def send(self, size_bytes: int, now_ns: int) -> int:
        """Returns when the whole message arrives."""
        left = size_bytes
        jitter = self._rng.uniform(-1, 1) * self._link.jitter_ns
        while left > 0:
            packet = min(left, PACKET_BYTES)
            left -= packet
            self._send_packet(packet, now_ns, jitter)
        return int(self._arrival_ns)

    def _send_packet(self, size_bytes: int, now_ns: int, jitter_ns: float) -> None:
        link, rng = self._link, self._rng
        start = max(self._free_ns, now_ns)
        self._grow(start, is_busy=self._free_ns > now_ns)
        speed = min(link.bandwidth(int(start)), self._packets * PACKET_BYTES * S / self._trip_ns)
        self._free_ns = start + size_bytes * S / speed
        delay = link.delay_ns + jitter_ns + (link.detour_ns if now_ns > 10 * S else 0)
        if link.loss and rng.random() < link.loss:
            delay += self._trip_ns
            while rng.random() < link.loss:
                delay += max(LEAST_TIMEOUT_NS, 2 * self._trip_ns)
            if start - self._loss_ns > self._trip_ns:
                self._before_loss, self._loss_ns = self._packets, start
                self._packets = max(2.0, self._packets * CUBIC_BETA)
        self._arrival_ns = max(self._arrival_ns, self._free_ns + delay)

    def _grow(self, now_ns: float, is_busy: bool) -> None:
        if not is_busy:
            return
        if self._before_loss is None:
            self._packets = min(self._packets + 1, 1e5)
            return
        top = self._before_loss
        to_top_s = (top * (1 - CUBIC_BETA) / CUBIC_C) ** (1 / 3)
        since_s = (now_ns - self._loss_ns) / S
        cubic = CUBIC_C * (since_s - to_top_s) ** 3 + top
        reno = top * CUBIC_BETA + 0.53 * since_s * S / self._trip_ns
        self._packets = max(self._packets, min(1e5, max(cubic, reno)))


@dataclass
class Outcome:
    """What was published, sent and received: instants in ns by the snapshot's index (None: not sent)."""

    link: Link
    published: list[int] = field(default_factory=list)
    sent: list[int | None] = field(default_factory=list)
    arrived: list[int | None] = field(default_factory=list)
    windows: list[tuple[int, int]] = field(default_factory=list)  # (instant, window) at each publish

    def _later(self, after_s: float, until_s: float) -> Iterator[int]:
        return (i for i, ns in enumerate(self.published) if after_s * S <= ns < until_s * S)

    def share(self, after_s: float = 3, until_s: float = 1e9) -> float:
        """Share of the snapshots published in a span that were sent."""
        chosen = [self.sent[i] is not None for i in self._later(after_s, until_s)]
        return sum(chosen) / len(chosen)

    def ages_ms(self, after_s: float = 3, until_s: float = 1e9) -> list[float]:
        """Sorted ages at arrival of the snapshots published in a span."""
        arrived = ((self.arrived[i], self.published[i]) for i in self._later(after_s, until_s))
        return sorted((at - published) / MS for at, published in arrived if at is not None)

    def window_range(self, after_s: float = 3, until_s: float = 1e9) -> list[int]:
        """Sorted windows in a span."""
        return sorted(window for ns, window in self.windows if after_s * S <= ns < until_s * S)

    def target_age_ms(self, bytes_per_second: float) -> float:
        """Twice the sum of one-way delay, transmission, interval and frame."""
        link = self.link
        return 2 * (link.delay_ns + (link.size_bytes / bytes_per_second + 1 / link.rate_hz) * S + link.frame_ns) / MS


def simulate(credit: CreditLike, link: Link) -> Outcome:
    """Runs the stream for `link.seconds`."""
    return _Run(credit, link).outcome


class _Run:
    def __init__(self, credit: CreditLike, link: Link) -> None:
        self._credit = credit
        self._link = link
        rng = random.Random(link.seed)
        self._down = Direction(link, rng)
        self._up = Direction(replace(link, bandwidth=lambda now_ns: 125e6), rng)
        self.outcome = Outcome(link)
        self._events: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = 0
        self._interval_ns = int(S / link.rate_hz)
        self._number = 0
        self._pieces = link.pieces
        self._was_snapshot = False
        self._unsent: int | None = None  # index of the newest snapshot, if it was not sent
        self._applied = self._told = 0
        self._frame_offset_ns = rng.randrange(link.frame_ns)
        self._rng = rng
        credit.publish_interval(self._interval_ns)
        self._at(self._interval_ns, self._publish)
        end = int(link.seconds * S)
        while self._events and self._events[0][0] < end:
            now, _, happen = heapq.heappop(self._events)
            happen(now)

    def _at(self, instant: int, happen: Callable[[int], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (instant, self._order, happen))

    def _publish(self, now: int) -> None:
        outcome = self.outcome
        self._unsent = len(outcome.published)
        outcome.published.append(now)
        outcome.sent.append(None)
        outcome.arrived.append(None)
        self._send(now)
        outcome.windows.append((now, self._credit.window))
        due = self._interval_ns * (len(outcome.published) + 1)
        self._at(max(now + 1, due + self._rng.randrange(1 * MS)), self._publish)

    def _send(self, now: int) -> None:
        """Sends what is new while there is credit: the newest snapshot, in turns with the pieces of contents."""
        while True:
            has_piece = self._pieces > 0 and now > 5 * S
            index = None if has_piece and self._was_snapshot else self._unsent
            if (index is None and not has_piece) or not self._credit.may_send(now):
                return
            self._was_snapshot = index is not None
            if index is None:
                self._pieces -= 1
            else:
                self._unsent = None
                self.outcome.sent[index] = now
            self._send_message(index, PIECE_BYTES if index is None else self._link.size_bytes, now)

    def _send_message(self, index: int | None, size_bytes: int, now: int) -> None:
        self._number += 1
        number = self._number
        self._credit.sent(number, now)
        arrival = self._down.send(size_bytes, now)
        self._at(_after(arrival, self._link.stops), lambda at: self._apply(index, number, at))

    def _apply(self, index: int | None, number: int, now: int) -> None:
        if index is not None:
            self.outcome.arrived[index] = now
        if self._applied == self._told:  # the first since the last acknowledgement
            frame = self._link.frame_ns
            shown = _after(now, self._link.hidden)
            at = shown if shown > now else now + frame - (now - self._frame_offset_ns) % frame
            self._at(_after(at, self._link.stops), self._acknowledge)
        self._applied = number

    def _acknowledge(self, now: int) -> None:
        number = self._told = self._applied
        self._at(self._up.send(ACK_BYTES, now), lambda at: self._acknowledged(number, at))

    def _acknowledged(self, number: int, now: int) -> None:
        self._credit.acknowledged(number, now)
        self._send(now)


def _after(instant: int, spans: tuple[tuple[int, int], ...]) -> int:
    """The instant, or the end of the span that contains it."""
    return next((end for start, end in spans if start <= instant < end), instant)
