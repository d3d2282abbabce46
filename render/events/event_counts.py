"""Number of events a second, by name, over the last second of display time. Pure: reads no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.events import MOST_NAMES

# Time over which events are counted, in ns of display time.
COUNTED_NS = 1_000_000_000
OTHERS = "all other names"


class EventFacts(NamedTuple):
    """Values about events that the panels show. rates: events a second by name. lost: number of events that the viewer
    could not read or hold in time."""

    rates: Mapping[str, int]
    lost: int = 0


class EventCounts:
    """Events of the frames of the last second.

    has_any: True if there ever was an event.
    """

    def __init__(self) -> None:
        self.has_any = False
        self._sums = np.zeros(MOST_NAMES + 1, np.int64)  # by the number of the name
        # present time and counts of the frames with events
        self._frames: deque[tuple[int, NDArray[np.int64]]] = deque()

    def add(self, present_ns: int, due: NDArray[np.void]) -> None:
        """Adds a frame. due: events that the frame was the first to reach, (k,) of dtype EVENT."""
        while self._frames and present_ns - self._frames[0][0] >= COUNTED_NS:
            self._sums -= self._frames.popleft()[1]
        if len(due):
            counts = np.bincount(due["name"], minlength=MOST_NAMES + 1)
            self._sums += counts
            self._frames.append((present_ns, counts))
            self.has_any = True

    @property
    def are_zero(self) -> bool:
        """True if there were no events in the last second."""
        return not self._frames

    def by_name(self, names: Mapping[int, str], most: int) -> dict[str, int]:
        """Events a second by name, the most frequent first. names: names by their numbers. most: largest number of
        entries. If there are more names, the last entry is `OTHERS`."""
        numbers = np.flatnonzero(self._sums)
        numbers = numbers[np.argsort(-self._sums[numbers], kind="stable")].tolist()
        shown = numbers if len(numbers) <= most else numbers[: most - 1]
        found = {names.get(number, "?"): int(self._sums[number]) for number in shown}
        if rest := int(self._sums[numbers[len(shown) :]].sum()):
            found[OTHERS] = found.get(OTHERS, 0) + rest
        return found
