"""Credit of one page's stream: how many messages may be on the way that the page has not acknowledged.

The window follows the times from sending to acknowledgement. `base` is that time without a queue of our own: the least
median of a round, or what the last probe measured. In a round with the median time t, our messages in the link's queue
are window * (1 - (base + noise) / t), and the window changes so that one message waits there. This is FAST TCP (Wei,
Jin, Low, Hegde 2006) with a target of one message. One waiting message keeps a full link busy, and on a link that is
not full there is none, so the window grows until it is not what limits; then each snapshot is sent as it is published.

- The noise is 1.5 times the mean difference between consecutive times. It separates jitter from a queue: at 80 +- 20 ms
  the median exceeds the least time by 40 ms, which would count as a queue of three messages.
- Base and t are medians of a round, because single times differ by up to a frame of the page and by each lost packet.
- A full link hides the base, through `ssh -L` also from pings. A probe shows it: half of the window for one round, at
  most every 10 s and only if a queue was found. It also finds the base of a longer route.
- No ping is needed: a ping differs from a message by the transmission, the page's frame, and often the queue.
- The delivery rate times the round trip is no good limit: while the window limits, the rate is window / t, so the limit
  only confirms a window that is too small.

`tests/relay/stream/credit_table.py` prints what the window does on simulated links. Real sockets through a forwarder of
20 Mbit/s and 80 ms agree: 64 % of the snapshots, ages of 156 ms (p50) and 188 ms (p99), simulated 162 and 255 ms.

Always: a stopped page receives at most `window` messages that it had not acknowledged, whatever the link buffers.
Reads no clock: every instant is passed in, in ns of one clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from twixt.ipc.quantiles import median

# One message travels while the page holds another until its next frame. Only the first round and probes use 1.
LEAST_WINDOW = 2
# A round lasts until this many messages, or a window of messages, were sent after it began and are acknowledged.
ROUND_MESSAGES = 3
# Mean differences between consecutive times that count as noise. With 1.0, jitter of 20 +- 15 ms costs 1 % of the
# snapshots; with 2.0, a full link's queue is 10 ms longer.
NOISE_FACTOR = 1.5
# Most noise of a single time that is no queue.
MOST_NOISE_NS = 10_000_000
# Each time changes the mean difference by this fraction.
NOISE_GAIN = 1 / 16
# Shortest time between two probes.
PROBE_EVERY_NS = 10_000_000_000
# A probe that finds a base longer by this factor found another route: the window grows as at the start.
NEW_ROUTE = 1.5
# At the start the window doubles each round, while less than this part of a message waits in the queue.
CALM_QUEUE = 0.25
# An acknowledgement is late beyond the base, two intervals and this many mean differences.
LATE_FACTOR = 4


class Sent(NamedTuple):
    """A message that is not acknowledged."""

    number: int
    sent_ns: int


class Credit:
    """Decides when the next message of one page's stream may be sent.

    Attributes:
        window: Messages that may be on the way at once.
        base_ns: Time from sending to acknowledgement without a queue; 0 if it is not known yet.
        late: Messages so far whose acknowledgement came late.
    """

    def __init__(self) -> None:
        self.window = 1  # the first round measures the base
        self.base_ns = 0.0
        self.late = 0
        self._exact_window = 1.0
        self._unacknowledged: deque[Sent] = deque()
        self._newest = 0
        self._interval_ns = 0
        self._difference_ns = 0.0  # mean difference between consecutive times
        self._last_ns = 0
        self._times: list[int] = []  # of this round, in ns
        self._round_after = 0  # the round counts messages with higher numbers
        self._is_limiting = False  # in this round, a message waited for credit
        self._is_starting = True
        self._had_queue = False  # since the last probe
        self._before_probe = 0.0  # the window, while a probe is running; else 0
        self._probed_ns: int | None = None

    @property
    def unacknowledged(self) -> int:
        """Number of messages on the way."""
        return len(self._unacknowledged)

    def publish_interval(self, interval_ns: int) -> None:
        """Sets the wall time between two snapshots of the simulation. 0: not known."""
        self._interval_ns = interval_ns

    def may_send(self, now_ns: int) -> bool:
        """Whether the window has room for one more message. A refusal counts as a message that waits: if there is
        none, the window becomes larger by one than it needs to be."""
        is_free = len(self._unacknowledged) < self.window
        self._is_limiting |= not is_free
        return is_free

    def sent(self, number: int, now_ns: int) -> None:
        """Counts a message that is handed to the socket. Numbers increase."""
        self._newest = number
        self._unacknowledged.append(Sent(number, now_ns))

    def sent_beside(self, number: int) -> None:
        """Counts a message that does not need the window's room."""
        self._newest = number

    def queued_ns(self, time_ns: int) -> float:
        """Part of a time from sending to acknowledgement that is beyond base and noise. The noise is limited, because a
        queue also causes noise."""
        return max(0.0, time_ns - self.base_ns - min(MOST_NOISE_NS, NOISE_FACTOR * self._difference_ns))

    def acknowledged(self, number: int, now_ns: int) -> None:
        """Counts all messages up to `number` as applied by the page.

        Raises ValueError for a number that was not sent. A number that was acknowledged before has no effect.
        """
        if not 0 < number <= self._newest:
            raise ValueError(f"acknowledged message {number}, but the last message sent is {self._newest}")
        message = None
        while self._unacknowledged and self._unacknowledged[0].number <= number:
            message = self._unacknowledged.popleft()
        if message is None:
            return
        # The newest message alone counts: the others waited for it, or for a frame.
        self._take_time(now_ns - message.sent_ns)
        if number <= self._round_after:
            return
        self._times.append(now_ns - message.sent_ns)
        if len(self._times) >= ROUND_MESSAGES and number >= self._round_after + self._exact_window:
            self._end_round(median(self._times), now_ns)
            self._times.clear()
            self._round_after, self._is_limiting = self._newest, False

    def _take_time(self, time_ns: int) -> None:
        last_ns, self._last_ns = self._last_ns or time_ns, time_ns
        # A stop of the page is one long time. It counts no more than its neighbours.
        difference = min(abs(time_ns - last_ns), time_ns, last_ns)
        self._difference_ns += (difference - self._difference_ns) * NOISE_GAIN
        allowed = self.base_ns + 2 * self._interval_ns + LATE_FACTOR * self._difference_ns
        self.late += bool(self.base_ns) and time_ns > allowed

    def _end_round(self, time_ns: float, now_ns: int) -> None:
        """Sets the window after a round with this median time."""
        if self._before_probe:
            self._is_starting = time_ns > NEW_ROUTE * self.base_ns
            self.base_ns = time_ns
            self._exact_window, self._before_probe = self._before_probe, 0.0
        else:
            self.base_ns = min(self.base_ns or time_ns, time_ns)
            self._change_window(time_ns)
            if self._probed_ns is None:
                self._probed_ns = now_ns
            if self._had_queue and now_ns - self._probed_ns > PROBE_EVERY_NS:
                self._had_queue, self._probed_ns = False, now_ns
                self._before_probe, self._exact_window = self._exact_window, max(1.0, self._exact_window // 2)
        self.window = max(1 if self._before_probe else LEAST_WINDOW, int(self._exact_window))

    def _change_window(self, time_ns: float) -> None:
        window = self._exact_window
        unqueued_ns = self.base_ns + NOISE_FACTOR * self._difference_ns
        queued = window * max(0.0, 1 - unqueued_ns / max(time_ns, 1))
        if queued >= 1:
            self._exact_window = max(1.0, window + 1 - queued)
            self._had_queue |= self._is_limiting
            self._is_starting = False
        elif not self._is_limiting:
            self._is_starting = False
        else:
            self._exact_window = window + 1 - queued
            if self._is_starting and queued < CALM_QUEUE:
                needed = unqueued_ns / self._interval_ns + 2 if self._interval_ns else 2 * window
                self._exact_window = max(self._exact_window, min(2 * window, needed))
