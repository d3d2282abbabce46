"""Limits publishing: the number of snapshots per second, the share of wall time that publishing takes, and the number
of bodies and marks that fit into shared memory.

Always: in any interval of t seconds, at most t x publish_hz + `BURST` snapshots may be published. `Accumulator` never
loses or gains time: number of periods x period + remaining time = all time added. The limits do not change the bodies
and states of the world. The code reads no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.quantiles import median
from twixt.ipc.ring.budget import NoRoom
from twixt.ipc.ring.segments import HostRing
from twixt.ipc.system.interface import SharedMemoryError

# Number of snapshots that may be published without delay after a pause: the first two snapshots for a viewer, and one
# more. A burst also lets a world that steps at exactly `publish_hz` sometimes publish a little early.
BURST = 3
# Limits of publishing if the user sets no rate. Publishing takes at most the share SHARE of the wall time. At most
# USUAL_HZ states are published per second. The rate never falls below LEAST_HZ. At this rate motion still looks even.
# The cost of a publish is the median of the last COSTS publishes. This cost must be measured in the user's loop. After
# a step the cache is cold, and a publish costs ten times as much as with a warm cache.
USUAL_HZ, LEAST_HZ, SHARE, COSTS = Config.publish_hz, 15.0, 0.01, 9
# Time from a refused request for memory to the next request, in ns.
RETRY_NS = 1_000_000_000


class Accumulator:
    """Adds up pieces of time, and counts the whole periods of `period_ns` in their sum."""

    def __init__(self, period_ns: int) -> None:
        if period_ns <= 0:
            raise TwixtError(f"a period must be > 0 ns, got {period_ns!r}")
        self.period_ns = period_ns
        self.left_over_ns = 0

    def add(self, elapsed_ns: int) -> int:
        """Adds time. Returns the number of periods of `period_ns` that are now complete. The remaining time is kept
        for the next call."""
        count, self.left_over_ns = divmod(self.left_over_ns + elapsed_ns, self.period_ns)
        return count


class PublishLimit:
    """Allows at most `publish_hz` snapshots per second of wall time, with bursts of up to `BURST` snapshots. The class
    reads no clock."""

    def __init__(self, publish_hz: float) -> None:
        self._accumulator = Accumulator(max(1, round(1e9 / publish_hz)))
        self._allowed = BURST
        self._seen_ns: int | None = None

    @property
    def period_ns(self) -> int:
        """The shortest mean interval between two snapshots, in ns."""
        return self._accumulator.period_ns

    def ready_ns(self, now_ns: int) -> int:
        """The earliest instant, at or after `now_ns`, at which the next snapshot may be published."""
        self._pass_time(now_ns)
        return now_ns if self._allowed else now_ns + self.period_ns - self._accumulator.left_over_ns

    def record(self, now_ns: int) -> None:
        """Counts a snapshot that is published at the instant `now_ns`."""
        self._pass_time(now_ns)
        self._allowed = max(0, self._allowed - 1)

    def _pass_time(self, now_ns: int) -> None:
        elapsed_ns = 0 if self._seen_ns is None else max(0, now_ns - self._seen_ns)
        self._seen_ns = now_ns
        self._allowed += self._accumulator.add(elapsed_ns)
        if self._allowed >= BURST:
            self._allowed = BURST
            self._accumulator.left_over_ns = 0


def one_percent_period_ns(costs_ns: Sequence[int]) -> int:
    """Interval between states in ns. It is so long that publishing takes the share `SHARE` of it. The interval is
    limited, so that the rate is between `LEAST_HZ` and `USUAL_HZ`. The function is pure.

    costs_ns: durations of the last publishes, in ns.
    """
    wanted_ns = median(costs_ns) / SHARE if costs_ns else 0.0
    return round(min(max(wanted_ns, 1e9 / USUAL_HZ), 1e9 / LEAST_HZ))


class PublishGate:
    """Decides when a loop publishes that offers more states than viewers need. The class reads no clock.

    publish_hz: largest number of states per second. If it is None, the cost of publishing limits the rate; see
    `one_percent_period_ns`. next_ns: earliest instant of the next publish.
    """

    def __init__(self, publish_hz: float | None, now_ns: int) -> None:
        self.next_ns = now_ns
        self._period_ns = round(1e9 / (publish_hz or USUAL_HZ))
        self._costs_ns: deque[int] | None = None if publish_hz else deque(maxlen=COSTS)

    def record(self, now_ns: int) -> None:
        """Counts a state that is published at the instant `now_ns`. The instants at which states may be published form
        a grid. So the mean rate is publish_hz. If states are published late, at most one missed period is made up."""
        self.next_ns = max(self.next_ns, now_ns - self._period_ns) + self._period_ns

    def record_cost(self, begin_ns: int, end_ns: int) -> None:
        """Records that a publish took from `begin_ns` to `end_ns`."""
        if self._costs_ns is not None:
            self._costs_ns.append(end_ns - begin_ns)
            self._period_ns = one_percent_period_ns(self._costs_ns)

    def restart(self, now_ns: int) -> None:
        """Counts a state that was published at an instant outside the grid of allowed instants. The grid starts again
        at this instant: the next state is due one period later."""
        self.next_ns = now_ns + self._period_ns


class BodyLimit:
    """Limits the number of published bodies and marks to the available shared memory.

    warn: function that is called once, with a text for the user, if memory is short.
    """

    def __init__(self, ring: HostRing, warn: Callable[[str], object]) -> None:
        self._ring, self._warn = ring, warn
        self._has_warned, self._retry_ns = False, 0
        # True after a request was refused, while `capacity` is still below the number of bodies and marks.
        self._is_short = False

    def allowed(self, bodies: int, now_ns: int, marks: int = 0) -> int:
        """Number of records that may be published. The records are `bodies` bodies, followed by `marks` marks. Usually
        all records are published, even while a larger segment is still being allocated. If a request for memory was
        refused, at most the current capacity is published."""
        count = bodies + marks
        if count <= self._ring.capacity:
            self._is_short = False
            return count
        if now_ns >= self._retry_ns:
            try:
                self._ring.reserve(count)
                if not self._is_short:
                    return count
            except (NoRoom, SharedMemoryError) as error:
                self._retry_ns, self._is_short = now_ns + RETRY_NS, True
                self._warn_once(bodies, marks, error)
        return min(count, self._ring.capacity)

    def _warn_once(self, bodies: int, marks: int, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            of = f"{bodies:,} bodies" + (f" and {marks:,} marks" if marks else "")
            self._warn(f"viewers are shown {self._ring.capacity:,} of {of}, because memory is insufficient: {error}")
