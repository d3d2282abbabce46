"""Events that were received and are not due yet.

Always: each event is returned at most once, in the order in which it was emitted, by the first call whose draw time has
reached its instant. Events of an older world than the drawn one are removed. Pure: reads no clock.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.events import NO_EVENTS, EventBatch

# Largest number of events that are held: 8 MiB. Of more events, the oldest are removed and counted as lost.
MOST_HELD = 131_072


class EventQueue:
    """Events of one simulation. attached_at: number of the newest event when the viewer attached. Events up to this
    number are in the past if the first draw time is after them. Past events are removed and not counted. Later events
    are all returned, also those from before the first draw time.

    lost: number of events that were removed because too many were held. reset: number of events that were removed
    because their world was reset before they were drawn.
    """

    def __init__(self, attached_at: int) -> None:
        self.lost = self.reset = 0
        self._attached_at = attached_at  # 0 after the first call of `due`
        self._batches: deque[EventBatch] = deque()
        self._held = 0

    def __len__(self) -> int:
        return self._held

    def add(self, batch: EventBatch) -> None:
        """Adds the next events. They are in the order of world epoch and simulated time."""
        if not len(batch.records):
            return
        self._batches.append(batch)
        self._held += len(batch.records)
        while self._held > MOST_HELD:
            first, records = self._batches[0]
            count = min(self._held - MOST_HELD, len(records))
            self.lost += self._after_attach(first, count)
            self._drop(count)

    def due(self, draw_time_ns: int, world_epoch: int) -> NDArray[np.void]:
        """Removes and returns the events that are due when the world of `world_epoch` is drawn at `draw_time_ns`: (k,)
        of dtype EVENT, in their order."""
        found: list[NDArray[np.void]] = []
        while self._batches:
            first, records = self._batches[0]
            if records["world_epoch"][0] == world_epoch and records["sim_time_ns"][0] > draw_time_ns:
                break
            older = _leading(records["world_epoch"] < world_epoch)
            self.reset += self._after_attach(first, older)
            first, records = first + older, records[older:]
            count = _leading((records["world_epoch"] == world_epoch) & (records["sim_time_ns"] <= draw_time_ns))
            self._drop(older + count)
            if count:
                past = count - self._after_attach(first, count)
                due = records[:count]
                found.append(due[(np.arange(count) >= past) | (due["sim_time_ns"] == draw_time_ns)] if past else due)
            if count < len(records):
                break
        self._attached_at = 0
        return found[0] if len(found) == 1 else np.concatenate(found) if found else NO_EVENTS

    def _after_attach(self, first: int, count: int) -> int:
        """Number of the events `first` to `first + count - 1` that were appended after the viewer attached."""
        return min(count, max(0, first + count - 1 - self._attached_at))

    def _drop(self, count: int) -> None:
        """Removes the first `count` events of the first batch."""
        first, records = self._batches[0]
        if count == len(records):
            self._batches.popleft()
        elif count:
            self._batches[0] = EventBatch(first + count, records[count:])
        self._held -= count


def _leading(holds: NDArray[np.bool_]) -> int:
    """Number of the leading values that are True."""
    return len(holds) if holds.all() else int(np.argmin(holds))
