"""Snapshots published as a whole: as a copy, or by a function that writes the records in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from twixt.ipc.ring.host_segments import HostRing
from twixt.ipc.ring.layout import part_count
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.snapshot import NO_MARKS, Head

NO_COLUMNS: Mapping[str, Any] = {}


def begin(ring: HostRing | RingWriter, count: int, columns: Mapping[str, Any], marks: int) -> OpenSlot:
    if isinstance(ring, HostRing):
        return ring.begin(count, marks=marks, parts=part_count(columns, ring.columns))
    return ring.begin(count, marks)


def publish(
    ring: HostRing | RingWriter,
    head: Head,
    bodies: np.ndarray,
    columns: Mapping[str, Any] = NO_COLUMNS,
    marks: np.ndarray = NO_MARKS,
) -> int | None:
    """Publishes a copy of these records; returns the instant at which they became visible, None if they wait."""
    with begin(ring, len(bodies), columns, len(marks)) as slot:
        slot.write(bodies, marks)
        slot.head, slot.columns = head, columns
    return slot.published_ns


def publish_in_place(
    ring: HostRing | RingWriter,
    head: Head,
    write: Callable[[np.ndarray], object],
    columns: Mapping[str, Any] = NO_COLUMNS,
    marks: np.ndarray = NO_MARKS,
) -> int | None:
    """As `publish`, of `head.count` bodies that `write` writes into the slot itself."""
    with begin(ring, head.count, columns, len(marks)) as slot:
        write(slot.records)
        if len(marks):
            slot.write_marks(marks)
        slot.head, slot.columns = head, columns
    return slot.published_ns
