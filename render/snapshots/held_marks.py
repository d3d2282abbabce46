"""Marks of the held snapshots, and those drawn between two of them.

The one idea: marks lie beside the history under the number of their snapshot's GPU slot, sorted once when they come;
the match of a pair is kept while the same pair is drawn. Methods that show states as published show their marks too.

Always: an array that is returned is never changed afterwards. Of a slot that is filled again the old marks are gone. Touches no GPU, and reads no clock.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import NO_MARKS
from twixt.render.interpolation.mark_blending import Matched, blended, drawable, matched
from twixt.render.snapshots.history import HeldSnapshot, Pair

# Pairs whose match is kept: one for each picture of a window.
PAIRS = 2


class HeldMarks:
    """Marks by the slot of their snapshot; slots without marks have no entry."""

    def __init__(self) -> None:
        self._by_slot: dict[int, NDArray[np.void]] = {}
        self._matched: list[tuple[NDArray[np.void], NDArray[np.void], Matched]] = []  # of the pairs drawn last

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
        self._matched.clear()

    def of(self, held: HeldSnapshot) -> NDArray[np.void]:
        """Marks of one snapshot, (m,) sorted by key."""
        return self._by_slot.get(held.slot, NO_MARKS)

    def between(self, pair: Pair) -> NDArray[np.void]:
        """Marks drawn at the pair's draw time, (m,) of dtype `MARK`."""
        older = self.of(pair.previous)
        if pair.next is None:
            return older
        newer = self.of(pair.next)
        return blended(older, newer, self._match(older, newer), pair.alpha)

    def _match(self, older: NDArray[np.void], newer: NDArray[np.void]) -> Matched:
        for one, other, match in self._matched:
            if one is older and other is newer:
                return match
        match = matched(older["key"], newer["key"])
        self._matched = [(older, newer, match), *self._matched[: PAIRS - 1]]
        return match
