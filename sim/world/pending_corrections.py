"""Visual offsets of corrected bodies, each with the simulated time of its correction.

A step does not know the simulated time with which its state will be published. So a correction is kept as pending, and
gets the time of the next snapshot.

Always: right after a correction the body is drawn where it was drawn before; a body that was cut has no offset. The
formulas are those of `twixt.ipc.corrections`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.corrections import CORRECTED_NS, CORRECTION, NO_OFFSET, OFFSET_WIDTH, corrected
from twixt.ipc.ring.layout import ColumnForm
from twixt.ipc.snapshot import CONTINUITY_MASK, CORRECTION_STEP
from twixt.sim.world.columns import Column, Columns

Rows = NDArray[np.int64]

CORRECTIONS_MASK = 0xFFFF_FFFF ^ CONTINUITY_MASK


def count_corrections(epoch: NDArray[np.uint32], rows: Rows) -> None:
    """Counts one more correction in the epochs of the bodies `rows`."""
    old = epoch[rows]
    # The high half wraps around without a change of the low one, and without overflow.
    room = np.uint32(CORRECTIONS_MASK) - (old & np.uint32(CORRECTIONS_MASK))
    counted = old + np.minimum(room, np.uint32(CORRECTION_STEP))
    epoch[rows] = np.where(room, counted, old & np.uint32(CONTINUITY_MASK))


class Corrections:
    """Offsets of `count` bodies. `make_room` and `resize` are called along with those of the bodies."""

    def __init__(self, count: int) -> None:
        offset = Column("f4", OFFSET_WIDTH, rule="none")
        self._kept = Columns({CORRECTION: offset, CORRECTED_NS: Column("i8", rule="none")}, count)
        self._waiting = Columns({CORRECTION: offset}, count)
        self._has_waiting = False
        self._published_ns: int | None = None

    @property
    def layout(self) -> dict[str, ColumnForm]:
        """name -> (dtype, values per body) of the published columns."""
        return self._kept.layout

    def add(self, rows: Rows, moved: NDArray[np.float64], turned: NDArray[np.float64]) -> None:
        """Adds corrections of `rows`. moved (m, 3) metres, turned (m, 4) xyzw: the old pose relative to the new."""
        offset = self._waiting[CORRECTION]
        offset[rows] = corrected(offset[rows], np.zeros(len(rows), np.int64), 0, moved, turned)
        self._has_waiting = True

    def cut(self, rows: Any) -> None:
        """Drops the offsets of these bodies."""
        self._kept.begin(rows)
        self._waiting.begin(rows)

    def published(self, sim_time_ns: int) -> dict[str, NDArray[Any]]:
        """The two columns of a snapshot at `sim_time_ns`; pending corrections get that time."""
        if self._published_ns is not None and sim_time_ns < self._published_ns:  # after a reset
            self._kept.begin(slice(None))
        self._published_ns = sim_time_ns
        if self._has_waiting:
            self._has_waiting = False
            waiting, offset, time = self._waiting[CORRECTION], self._kept[CORRECTION], self._kept[CORRECTED_NS]
            rows = np.flatnonzero((waiting != np.array(NO_OFFSET, np.float32)).any(axis=1))
            offset[rows] = corrected(offset[rows], time[rows], sim_time_ns, waiting[rows, :3], waiting[rows, 3:])
            time[rows] = sim_time_ns
            self._waiting.begin(rows)
        return self._kept.published()

    def make_room(self, capacity: int) -> None:
        """Allocates storage for `capacity` bodies."""
        self._kept.make_room(capacity)
        self._waiting.make_room(capacity)

    def resize(self, count: int) -> None:
        """Sets the number of bodies to `count`."""
        self._kept.resize(count)
        self._waiting.resize(count)
