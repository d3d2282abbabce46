"""The visual offsets of corrected bodies, kept until a snapshot tells when.

One idea: a step does not know which simulated time its state will be published under, so what it corrects
waits, and gets its time with the next snapshot. Always: right after a correction the body is drawn where it
was drawn before; a body that was cut has no offset. The formulas are those of `twixt.ipc.corrections`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.corrections import CORRECTED_NS, CORRECTION, NO_OFFSET, OFFSET_WIDTH, corrected
from twixt.ipc.snapshot import CONTINUITY_MASK, CORRECTION_STEP
from twixt.sim.columns import Column, Columns

Rows = NDArray[np.int64]

CORRECTIONS_MASK = 0xFFFF_FFFF ^ CONTINUITY_MASK


def count_corrections(epoch: NDArray[np.uint32], rows: Rows) -> None:
    """These bodies' epochs tell of one more correction."""
    old = epoch[rows]
    # The high half counts round without touching the low one, nor overflowing on the way.
    room = np.uint32(CORRECTIONS_MASK) - (old & np.uint32(CORRECTIONS_MASK))
    counted = old + np.minimum(room, np.uint32(CORRECTION_STEP))
    epoch[rows] = np.where(room, counted, old & np.uint32(CONTINUITY_MASK))


class Corrections:
    """Offsets of `count` bodies; `make_room` and `resize` follow those of the bodies."""

    def __init__(self, count: int) -> None:
        offset = Column("f4", OFFSET_WIDTH, rule="none")
        self._kept = Columns({CORRECTION: offset, CORRECTED_NS: Column("i8", rule="none")}, count)
        self._waiting = Columns({CORRECTION: offset}, count)
        self._some_wait = False
        self._published_ns: int | None = None

    @property
    def layout(self) -> dict[str, tuple[str, int]]:
        """name -> (dtype, values per body) of what is published."""
        return self._kept.layout

    def add(self, rows: Rows, moved: NDArray[np.float64], turned: NDArray[np.float64]) -> None:
        """The bodies of `rows` were corrected; moved (m, 3), turned (m, 4): the pose before relative to the new one."""
        offset = self._waiting[CORRECTION]
        offset[rows] = corrected(offset[rows], np.zeros(len(rows), np.int64), 0, moved, turned)
        self._some_wait = True

    def cut(self, rows: Any) -> None:
        """These bodies begin anew where they are."""
        self._kept.begin(rows)
        self._waiting.begin(rows)

    def published(self, sim_time_ns: int) -> dict[str, NDArray[Any]]:
        """The two columns of a snapshot at `sim_time_ns`; corrections that waited were made at that instant."""
        if self._published_ns is not None and sim_time_ns < self._published_ns:  # the world began anew
            self._kept.begin(slice(None))
        self._published_ns = sim_time_ns
        if self._some_wait:
            self._some_wait = False
            waiting, offset, time = self._waiting[CORRECTION], self._kept[CORRECTION], self._kept[CORRECTED_NS]
            rows = np.flatnonzero((waiting != np.array(NO_OFFSET, np.float32)).any(axis=1))
            offset[rows] = corrected(offset[rows], time[rows], sim_time_ns, waiting[rows, :3], waiting[rows, 3:])
            time[rows] = sim_time_ns
            self._waiting.begin(rows)
        return self._kept.published()

    def make_room(self, capacity: int) -> None:
        """Storage for `capacity` bodies."""
        self._kept.make_room(capacity)
        self._waiting.make_room(capacity)

    def resize(self, count: int) -> None:
        """From now on of `count` bodies; new ones are as they are."""
        self._kept.resize(count)
        self._waiting.resize(count)
