"""Slot of one snapshot on the writer's side: its memory as arrays, and its state while it is written in place.

Always: arrays of a slot keep the memory mapped; an aborted slot leaves half-written bytes that no reader accepts. Not
here: the sequence words (`writer`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import layout as at
from twixt.ipc.ring.layout import HEAD_PACKING, Layout
from twixt.ipc.snapshot import BODY, MARK, NO_MARKS, Head

# numpy copies structured records field by field (330 us for 10,000); as plain words it is one memcpy (20 us).
WORDS = np.dtype("<u8")
# The same for bodies and marks.
WORDS_PER_RECORD = BODY.itemsize // at.WORD
NO_HEAD = Head()
NO_COLUMNS: Mapping[str, NDArray[np.generic]] = {}


class RingError(TwixtError):
    """A snapshot that cannot be published."""


def words_of(records: NDArray[np.void], dtype: np.dtype[np.void]) -> NDArray[np.uint64]:
    """The words of `records`, shape (n,), of dtype `BODY` or `MARK`. Raises RingError for another array."""
    if (
        not isinstance(records, np.ndarray)
        or records.ndim != 1
        or not (records.dtype is dtype or records.dtype == dtype)
    ):
        name, kind = ("bodies", "BODY") if dtype is BODY else ("marks", "MARK")
        raise RingError(f"{name} must be a one-dimensional array of {kind} records, got {kind_of(records)}")
    if not (len(records) and records.flags.c_contiguous):
        records = np.ascontiguousarray(records)
        return records.view(WORDS)
    return np.frombuffer(records, WORDS)  # half the time of a view


def kind_of(value: object) -> str:
    """Type of a value, with dtype and shape of an array, for error texts."""
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


class OpenSlot:
    """Memory for one snapshot, written in place until it is committed, or aborted without effect.

        with ring.begin(count) as slot:
            slot.records["position"] = ...
            slot.head = Head(...)

    Committed when the block ends, aborted when it raises. The next `begin` aborts a slot that is neither, after an
    interruption; if its block still runs, the end of the block raises RingError.

    number: of the snapshot. count, mark_count: bodies and marks. part_count: rows of its part columns. head, columns: of
    the snapshot, to be set in the block; `count`, `marks`, `parts` and `published_ns` of `head` are filled in.
    published_ns: the instant at which it became visible; None before.
    is_committed: complete; it may have to wait for a larger segment before it is visible.
    tag: a value of the caller's about the bytes of this slot; `write` sets it to None.
    commit: called at the end of the block; returns `published_ns`. forget: called when the slot is aborted.
    """

    def __init__(
        self,
        commit: Callable[[OpenSlot], int | None],
        forget: Callable[[OpenSlot], None] | None = None,
    ) -> None:
        self.commit, self._forget = commit, forget
        self.tag: object = None
        self.reopen(0, 0)

    def reopen(self, number: int, count: int, mark_count: int = 0, part_count: int = 0) -> None:
        """Opens the slot for another snapshot. The tag is kept."""
        self.number, self.count, self.mark_count, self.part_count = number, count, mark_count, part_count
        self.head, self.columns = NO_HEAD, NO_COLUMNS
        self.published_ns: int | None = None
        self.is_committed = False
        self._records: NDArray[np.void] | None = None
        self._marks: NDArray[np.void] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return self.abort()
        try:
            self.published_ns = self.commit(self)
        except BaseException:
            self.abort()
            raise

    @property
    def record_count(self) -> int:
        """Number of records that a segment needs room for: bodies and marks, and at least the number of parts."""
        return max(self.count + self.mark_count, self.part_count)

    @property
    def records(self) -> NDArray[np.void]:
        """The slot's own memory, shape (count,), dtype BODY, holding an older snapshot or zeros. Read-only once the
        slot is committed or aborted; views made before are not, see `is_kept`."""
        if self._records is None:
            # The base of every view of `records`, so that its references count these views.
            self._base = self._new_records()
            records = self._base[:]
            self._references = sys.getrefcount(self._base)
            self._records = records
        return self._records

    @property
    def marks(self) -> NDArray[np.void]:
        """As `records`: memory of the marks, shape (mark_count,), dtype MARK."""
        if self._marks is None:
            self._marks = self._new_marks()
        return self._marks

    def write(self, bodies: NDArray[np.void], marks: NDArray[np.void] = NO_MARKS) -> None:
        """Copies BODY records, shape (count,), and MARK records, shape (mark_count,), into the slot. Raises RingError
        for others."""
        words = words_of(bodies, BODY)
        if len(bodies) != self.count:
            raise RingError(f"this slot was opened for {self.count} bodies, got {len(bodies)}")
        self.tag = None
        self.words()[...] = words
        if self.mark_count:
            self.write_marks(marks)

    def write_marks(self, marks: NDArray[np.void]) -> None:
        """Copies MARK records, shape (mark_count,), into the slot. Raises RingError for others."""
        self.marks.view(WORDS)[...] = words_of(marks, MARK)

    @property
    def is_kept(self) -> bool:
        """True if a writable view of `records` still exists. By reference counts, which do not cover raw pointers."""
        if self._records is None:
            return False
        if sys.getrefcount(self._base) > self._references:
            gc.collect()  # views that are garbage do not count
        return sys.getrefcount(self._base) > self._references

    def close(self) -> None:
        """Makes the arrays read-only."""
        if self._records is not None:
            self._records.flags.writeable = False
        if self._marks is not None:
            self._marks.flags.writeable = False

    def abort(self) -> None:
        """Ends the writing without publishing. No effect once committed."""
        self.close()
        if self._forget is not None:
            self._forget(self)

    def words(self) -> NDArray[np.uint64]:
        """Memory of the bodies as words, for one write; not to be kept."""
        return self.records.view(WORDS)

    def _new_records(self) -> NDArray[np.void]:
        raise NotImplementedError

    def _new_marks(self) -> NDArray[np.void]:
        raise NotImplementedError


class RingSlot(OpenSlot):
    """A slot of a segment. Its views are made once; it is opened again for each of its snapshots.

    Arrays are made by `frombuffer`, which keeps the memory mapped; `ndarray(buffer=...)` does not.
    sequence, published: indices of words. head_bytes: memory of the head. column_rows: all rows of each column.
    """

    def __init__(
        self,
        view: memoryview,
        layout: Layout,
        slot: int,
        commit: Callable[[OpenSlot], int],
        forget: Callable[[OpenSlot], None],
    ) -> None:
        super().__init__(commit, forget)
        start = layout.slot_offset(slot)
        self.sequence = layout.sequence_word(slot)
        head = layout.head_offset(slot)
        self.head_bytes = view[head : head + HEAD_PACKING.size]
        self.published = head // at.WORD + at.PUBLISHED_IN_HEAD
        self.column_rows = {
            name: np.frombuffer(view, dtype, rows * width, start + offset).reshape(rows, width)
            for name, dtype, width, offset, rows in (
                (*column[:4], column.rows(layout.capacity, layout.capacity)) for column in layout.columns
            )
        }
        self._words = np.frombuffer(view, WORDS, layout.capacity * WORDS_PER_RECORD, layout.bodies_offset(slot))
        self._view, self._records_offset = view, layout.bodies_offset(slot)

    def stored(self, count: int) -> NDArray[np.void]:
        """The records of `count` bodies, a new array each time."""
        return np.frombuffer(self._view, BODY, count, self._records_offset)

    def stored_marks(self, count: int, marks: int) -> NDArray[np.void]:
        """The records of `marks` marks after `count` bodies, a new array each time."""
        return np.frombuffer(self._view, MARK, marks, self._records_offset + count * BODY.itemsize)

    def words(self) -> NDArray[np.uint64]:
        return self._words[: self.count * WORDS_PER_RECORD]

    def _new_records(self) -> NDArray[np.void]:
        return np.frombuffer(self._view, BODY, self.count, self._records_offset)

    def _new_marks(self) -> NDArray[np.void]:
        return self.stored_marks(self.count, self.mark_count)


class PrivateSlot(OpenSlot):
    """A slot in private memory, all bytes zero, for a snapshot that cannot go into the segment now."""

    def _new_records(self) -> NDArray[np.void]:
        return np.zeros(self.count, BODY)

    def _new_marks(self) -> NDArray[np.void]:
        return np.zeros(self.mark_count, MARK)
