"""Contains a delay line for snapshots. It holds copies of snapshots until they are released, to simulate a slow link.

Each snapshot has a release instant: its due instant plus its own delay. If this instant is earlier than the release
instant of the previous snapshot, both snapshots are released together.

Always: the snapshot that was added first is released first. A snapshot that would exceed `MOST_BYTES` or
`MOST_SNAPSHOTS` is lost, unless the line is empty. A new plan never makes the release instant of a snapshot later. The
code is pure: it reads no clock and publishes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.plan import Plan
from twixt.ipc.ring.layout import ColumnForm
from twixt.ipc.snapshot import NO_MARKS, Head

# Limits on the copies in a delay line. MOST_BYTES is the size of a ring of snapshots, in bytes. MOST_SNAPSHOTS is the
# number of snapshots that are published in ten seconds at the highest usual rate.
MOST_BYTES = 256 * 1024 * 1024
MOST_SNAPSHOTS = 2048


@dataclass
class DelayedSnapshot:
    """Copy of a snapshot, and the instant at which it is released."""

    head: Head
    bodies: NDArray[np.void]
    columns: dict[str, NDArray[Any]]
    marks: NDArray[np.void]
    delay_ns: int | None
    release_ns: int
    layout: Mapping[str, ColumnForm] | None = None  # Forms of the snapshot's columns, by name.

    @property
    def bytes(self) -> int:
        """Size of the copy, in bytes."""
        return self.bodies.nbytes + self.marks.nbytes + sum(rows.nbytes for rows in self.columns.values())


class DelayLine:
    """Delayed snapshots, in the order in which they are released."""

    def __init__(self, most_bytes: int = MOST_BYTES, most: int = MOST_SNAPSHOTS) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._delayed: deque[DelayedSnapshot] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._delayed)

    @property
    def next_release_ns(self) -> int | None:
        """Release instant of the oldest snapshot. None if the delay line is empty."""
        return self._delayed[0].release_ns if self._delayed else None

    def add(
        self,
        head: Head,
        bodies: NDArray[np.void],
        columns: Mapping[str, NDArray[Any]],
        delay_ns: int | None,
        marks: NDArray[np.void] = NO_MARKS,
        layout: Mapping[str, ColumnForm] | None = None,
    ) -> bool:
        """Adds a copy of a snapshot, which is released `delay_ns` after its due instant. If `delay_ns` is None, the
        copy is released together with the previous snapshot. If the delay line is full, the snapshot is lost and the
        method returns False."""
        size = bodies.nbytes + marks.nbytes + sum(rows.nbytes for rows in columns.values())
        if self._delayed and (len(self) >= self._most or self._bytes + size > self._most_bytes):
            return False
        release_ns = head.due_ns + (delay_ns or 0)
        if self._delayed:
            before_ns = self._delayed[-1].release_ns
            release_ns = before_ns if delay_ns is None else max(release_ns, before_ns)
        copies = {name: rows.copy() for name, rows in columns.items()}
        self._delayed.append(DelayedSnapshot(head, bodies.copy(), copies, marks.copy(), delay_ns, release_ns, layout))
        self._bytes += size
        return True

    def pop_due(self, now_ns: int) -> Iterator[DelayedSnapshot]:
        """Removes and yields the snapshots that are to be released at or before `now_ns`, oldest first."""
        while self._delayed and self._delayed[0].release_ns <= now_ns:
            yield self._pop()

    def pop_all(self) -> Iterator[DelayedSnapshot]:
        """Removes and yields all snapshots, oldest first."""
        while self._delayed:
            yield self._pop()

    def replan(self, plan: Plan) -> None:
        """Applies a new plan to the delayed snapshots. If the plan makes a snapshot due earlier, the snapshot is
        released earlier."""
        before_ns: int | None = None
        for one in self._delayed:
            due_ns = plan.due_ns(one.head.sim_time_ns)
            if one.delay_ns is None:
                one.release_ns = one.release_ns if before_ns is None else before_ns
            elif due_ns is not None:
                wanted_ns = min(one.release_ns, due_ns + one.delay_ns)
                one.release_ns = wanted_ns if before_ns is None else max(wanted_ns, before_ns)
            before_ns = one.release_ns

    def clear(self) -> None:
        """Drops all delayed snapshots. Call this after a reset of the world."""
        self._delayed.clear()
        self._bytes = 0

    def _pop(self) -> DelayedSnapshot:
        one = self._delayed.popleft()
        self._bytes -= one.bytes
        return one
