"""Memory of copies that nobody has any more, for the next ones: new memory is slow to touch for the first time.

The one idea: an array that only this store refers to is free, whoever had it. Views, buffers and slices of an array
refer to it as well, so what is still looked at is never written.

Always: a few arrays are kept at most, none of them large. Used by one thread.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY

# A pair that somebody holds, and the one that is made meanwhile; of larger ones the copy itself takes longer.
MOST_KEPT, LARGEST_BYTES = 4, 4 << 20
# The store's list, and the argument of the question itself.
OWN_REFERENCES = 2


class Spare:
    """Arrays of bodies, each given out again when it is free."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.void]] = []

    def take(self, count: int) -> NDArray[np.void]:
        """`count` records, dtype `BODY`, holding anything."""
        arrays = self._arrays
        for index in range(len(arrays)):  # a name for an array would be a reference to it
            if len(arrays[index]) == count and sys.getrefcount(arrays[index]) == OWN_REFERENCES:
                return arrays[index]
        made = np.empty(count, BODY)
        if made.nbytes <= LARGEST_BYTES:
            self._arrays = [*arrays[1 - MOST_KEPT :], made]
        return made
