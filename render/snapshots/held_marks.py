"""Marks of the held snapshots, and those drawn between two of them.

The one idea: marks lie beside the history under the number of their snapshot's GPU slot, sorted once when they come;
the match of a pair is kept while the same pair is drawn.

Always: of a slot that is filled again the old marks are gone. Touches no GPU, and reads no clock.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import NO_MARKS
from twixt.render.interpolation.marks import Matched, blended, drawable, matched
from twixt.render.snapshots.history import HeldSnapshot, Pair


class HeldMarks:
    """Marks by the slot of their snapshot; slots without marks have no entry."""

    def __init__(self) -> None:
        self._by_slot: dict[int, NDArray[np.void]] = {}
        self._matched: tuple[NDArray[np.void], NDArray[np.void], Matched] | None = None  # of the pair drawn last

    def __bool__(self) -> bool:
        return bool(self._by_slot)

    def put(self, slot: int, marks: NDArray[np.void]) -> None:
        """Takes the marks of the snapshot that was uploaded into `slot`: (m,) of dtype `MARK`, the caller's own."""
        if len(marks):
            self._by_slot[slot] = drawable(marks)
        else:
            self._by_slot.pop(slot, None)

    def clear(self) -> None:
        """Drops all marks."""
        self._by_slot.clear()
        self._matched = None

    def of(self, held: HeldSnapshot) -> NDArray[np.void]:
        """Marks of one snapshot, (m,) sorted by key."""
        return self._by_slot.get(held.slot, NO_MARKS)

    def between(self, pair: Pair) -> NDArray[np.void]:
        """Marks drawn at the pair's draw time, (m,) of dtype `MARK`."""
        older = self.of(pair.previous)
        if pair.next is None:
            return older
        newer = self.of(pair.next)
        if self._matched is None or self._matched[0] is not older or self._matched[1] is not newer:
            self._matched = older, newer, matched(older["key"], newer["key"])
        return blended(older, newer, self._matched[2], pair.alpha)
