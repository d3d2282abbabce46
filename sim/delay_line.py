"""Snapshots under way: copies that wait until they may be seen, as on a link to a world elsewhere.

One idea: each waits for its due instant and its own delay, but none overtakes another. Always: they leave in the
order in which they came; copies never hold more than `MOST_BYTES` (one more is lost then, as on a full link); what
was promised for an instant is never put off. Pure: instants come in, no clock is read, nothing is published here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.plan import Plan
from twixt.ipc.snapshot import Head

# Copies under way: as much as a ring of snapshots holds, and ten seconds of the fastest publishing that is usual.
MOST_BYTES = 256 * 1024 * 1024
MOST_SNAPSHOTS = 2048


@dataclass
class UnderWay:
    """One snapshot's copy, and the instant at which it may be seen."""

    head: Head
    bodies: NDArray[np.void]
    columns: dict[str, NDArray[Any]]
    delay_ns: int | None
    release_ns: int

    @property
    def bytes(self) -> int:
        """What the copy holds."""
        return self.bodies.nbytes + sum(rows.nbytes for rows in self.columns.values())


class DelayLine:
    """What is under way, oldest first."""

    def __init__(self, most_bytes: int = MOST_BYTES, most: int = MOST_SNAPSHOTS) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._under_way: deque[UnderWay] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._under_way)

    @property
    def next_release_ns(self) -> int | None:
        """The instant of the oldest; None when nothing is under way."""
        return self._under_way[0].release_ns if self._under_way else None

    def add(
        self,
        head: Head,
        bodies: NDArray[np.void],
        columns: Mapping[str, NDArray[Any]],
        delay_ns: int | None,
        are_private: bool = False,
    ) -> bool:
        """Copies a snapshot that may be seen `delay_ns` after its due instant; None: with the one before it.

        are_private: nobody else has these bodies, they need no copy. False: it is lost, the line is full.
        """
        size = bodies.nbytes + sum(rows.nbytes for rows in columns.values())
        if self._under_way and (len(self) >= self._most or self._bytes + size > self._most_bytes):
            return False
        release_ns = head.due_ns + (delay_ns or 0)
        if self._under_way:
            before_ns = self._under_way[-1].release_ns
            release_ns = before_ns if delay_ns is None else max(release_ns, before_ns)
        copies = {name: rows.copy() for name, rows in columns.items()}
        self._under_way.append(UnderWay(head, bodies if are_private else bodies.copy(), copies, delay_ns, release_ns))
        self._bytes += size
        return True

    def take(self, now_ns: int) -> Iterator[UnderWay]:
        """Those that may be seen by `now_ns`, oldest first; each is out of the line when it is given."""
        while self._under_way and self._under_way[0].release_ns <= now_ns:
            yield self._pop()

    def take_all(self) -> Iterator[UnderWay]:
        """All of them, oldest first, whatever the instant."""
        while self._under_way:
            yield self._pop()

    def replan(self, plan: Plan) -> None:
        """Simulated time falls due as `plan` says from now on: what is due earlier than before leaves earlier."""
        before_ns: int | None = None
        for one in self._under_way:
            due_ns = plan.due_ns(one.head.sim_time_ns)
            if one.delay_ns is None:
                one.release_ns = one.release_ns if before_ns is None else before_ns
            elif due_ns is not None:
                wanted_ns = min(one.release_ns, due_ns + one.delay_ns)
                one.release_ns = wanted_ns if before_ns is None else max(wanted_ns, before_ns)
            before_ns = one.release_ns

    def clear(self) -> None:
        """What is under way is of a world that is no more."""
        self._under_way.clear()
        self._bytes = 0

    def _pop(self) -> UnderWay:
        one = self._under_way.popleft()
        self._bytes -= one.bytes
        return one
