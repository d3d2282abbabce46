"""Events that were received and are not due yet.

Always: each event is returned at most once, in the order in which it was emitted, by the first call whose draw time has
reached its instant. Events of an older world than the drawn one are dropped. Pure: reads no clock.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.events import NO_EVENTS, EventBatch

# Largest number of events that are held: 8 MiB. Of more events, the oldest are dropped and counted as lost.
MOST_HELD = 131_072


class EventQueue:
    """Events of one simulation. attached_at: number of the newest event when the viewer attached. Of the events up to
    it, those before the first draw time are not returned.

    lost: number of events that were dropped because too many were held. reset: number of events that were dropped
    because their world was reset before they were drawn.
    """

    def __init__(self, attached_at: int) -> None:
        self.lost = self.reset = 0
        self._attached_at: int | None = attached_at  # None after the first call of `due`
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
            self.lost += self._drop(min(self._held - MOST_HELD, len(self._batches[0].records)))

    def due(self, draw_time_ns: int, world_epoch: int) -> NDArray[np.void]:
        """Removes and returns the events that are due when the world of `world_epoch` is drawn at `draw_time_ns`: (k,)
        of dtype EVENT, in their order."""
        if not self._batches:
            self._attached_at = None
            return NO_EVENTS
        found: list[NDArray[np.void]] = []
        while self._batches:
            first, records = self._batches[0]
            older = _leading(records["world_epoch"] < world_epoch)
            self.reset += self._drop(older)
            records = records[older:]
            count = _leading((records["world_epoch"] == world_epoch) & (records["sim_time_ns"] <= draw_time_ns))
            if count:
                self._drop(count)
                kept = records[:count]
                if self._attached_at is not None and first + older <= self._attached_at:
                    numbers = np.arange(first + older, first + older + count)
                    kept = kept[(numbers > self._attached_at) | (kept["sim_time_ns"] == draw_time_ns)]
                found.append(kept)
            if count < len(records):
                break
        self._attached_at = None
        return found[0] if len(found) == 1 else np.concatenate(found) if found else NO_EVENTS

    def _drop(self, count: int) -> int:
        """Removes the first `count` events of the first batch. Returns `count`."""
        first, records = self._batches[0]
        if count == len(records):
            self._batches.popleft()
        elif count:
            self._batches[0] = EventBatch(first + count, records[count:])
        self._held -= count
        return count


def _leading(holds: NDArray[np.bool_]) -> int:
    """Number of the leading values that are True."""
    return len(holds) if holds.all() else int(np.argmin(holds))
