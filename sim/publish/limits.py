"""Limits of publishing: snapshots per second, and bodies and marks that fit into shared memory.

Always: in any interval of t seconds at most t x publish_hz + `BURST` snapshots may be published. `Accumulator` loses
and gains no period: periods counted x period + left over = all time added. No limit changes the world: its bodies and
states stay the same. Reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable

from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.memory import SharedMemoryError
from twixt.ipc.ring.memory_budget import NoRoom
from twixt.ipc.session.host import Host

# Snapshots that may follow each other at once after a pause: a viewer's first pair and one of lead. It also allows a
# world that steps at exactly `publish_hz` to publish a little early at times.
BURST = 3
# Interval between two requests for memory that was refused.
RETRY_NS = 1_000_000_000


class Accumulator:
    """Counts whole periods of `period_ns` in time that comes in pieces."""

    def __init__(self, period_ns: int) -> None:
        if period_ns <= 0:
            raise TwixtError(f"a period must be > 0 ns, got {period_ns!r}")
        self.period_ns = period_ns
        self.left_over_ns = 0

    def add(self, elapsed_ns: int) -> int:
        """Adds time; returns the number of periods completed with it. The rest counts in the next call."""
        count, self.left_over_ns = divmod(self.left_over_ns + elapsed_ns, self.period_ns)
        return count


class PublishLimit:
    """At most `publish_hz` snapshots per wall second, with bursts of up to `BURST`. Pure."""

    def __init__(self, publish_hz: float) -> None:
        self._accumulator = Accumulator(max(1, round(1e9 / publish_hz)))
        self._allowed = BURST
        self._seen_ns: int | None = None

    @property
    def period_ns(self) -> int:
        """The shortest mean interval between two snapshots."""
        return self._accumulator.period_ns

    def ready_ns(self, now_ns: int) -> int:
        """The earliest instant for the next snapshot: `now_ns`, or later."""
        self._pass_time(now_ns)
        return now_ns if self._allowed else now_ns + self.period_ns - self._accumulator.left_over_ns

    def take(self, now_ns: int) -> None:
        """Counts a snapshot that is published now."""
        self._pass_time(now_ns)
        self._allowed = max(0, self._allowed - 1)

    def _pass_time(self, now_ns: int) -> None:
        elapsed_ns = 0 if self._seen_ns is None else max(0, now_ns - self._seen_ns)
        self._seen_ns = now_ns
        self._allowed += self._accumulator.add(elapsed_ns)
        if self._allowed >= BURST:
            self._allowed = BURST
            self._accumulator.left_over_ns = 0


class BodyLimit:
    """Number of bodies and marks that can be published, limited by shared memory.

    warn: called once with a text for the user if memory does not suffice.
    """

    def __init__(self, host: Host, warn: Callable[[str], object]) -> None:
        self._host, self._warn = host, warn
        self._has_warned, self._retry_ns = False, 0
        self._is_short = False  # a request was refused, and `capacity` has not reached the count since

    def allowed(self, bodies: int, now_ns: int, marks: int = 0) -> int:
        """Number of records to publish, of `bodies` and `marks` together, bodies first: all, also while a larger
        segment is being made; as many as before if there is no memory for them."""
        count = bodies + marks
        if count <= self._host.capacity:
            self._is_short = False
            return count
        if now_ns >= self._retry_ns:
            try:
                self._host.reserve(count)
                if not self._is_short:
                    return count
            except (NoRoom, SharedMemoryError) as error:
                self._retry_ns, self._is_short = now_ns + RETRY_NS, True
                self._warn_once(bodies, marks, error)
        return min(count, self._host.capacity)

    def _warn_once(self, bodies: int, marks: int, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            of = f"{bodies:,} bodies" + (f" and {marks:,} marks" if marks else "")
            self._warn(f"viewers are shown {self._host.capacity:,} of {of}, for there is no room: {error}")
