"""The writer fills one slot for each snapshot. A slot object has the slot's memory as arrays, and knows whether the
snapshot is complete.

Always: while an array of a slot exists, the memory stays mapped. Readers do not accept the bytes of an aborted slot,
which may be half-written. Not here: the sequence words (`writer`).
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

# Records are copied as plain words in a single memcpy. This takes 20 us for 10,000 records. numpy would copy
# structured records field by field, which takes 330 us.
WORDS = np.dtype("<u8")
# Number of words in a record. BODY and MARK records have the same size.
WORDS_PER_RECORD = BODY.itemsize // at.WORD
NO_HEAD = Head()
NO_COLUMNS: Mapping[str, NDArray[np.generic]] = {}


class RingError(TwixtError):
    """A snapshot that cannot be published."""


def words_of(records: NDArray[np.void], dtype: np.dtype[np.void]) -> NDArray[np.uint64]:
    """Returns the words of `records`. `records` is an array of shape (n,) and of `dtype`. `dtype` is BODY or MARK.
    Raises RingError for any other array."""
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
    return np.frombuffer(records, WORDS)  # `frombuffer` takes half the time of `records.view`


def kind_of(value: object) -> str:
    """Returns the type of a value for error texts. For an array the text has its dtype and shape."""
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


class OpenSlot:
    """Memory for one snapshot. The caller writes into it until it is committed (published) or aborted (not published).

        with ring.begin(count) as slot:
            slot.records["position"] = ...
            slot.head = Head(...)

    The end of the block commits the slot; an exception in the block aborts the slot. An interruption (Ctrl-C) may
    prevent both; then the next `begin` aborts the slot. A `begin` inside the block also aborts the slot. The end of
    the block then raises RingError.

    number: the snapshot's number. count, mark_count: numbers of bodies and marks. part_count: rows of part columns.
    head, columns: set these in the block. The commit fills in `count`, `marks`, `parts` and `published_ns` of `head`.
    published_ns: the instant at which the snapshot became visible, in ns; None before that instant.
    is_committed: True if the snapshot is complete. A complete snapshot may still wait for a larger segment before it
    is visible. tag: any value by which the caller describes the bytes in this slot; `write` sets `tag` to None.
    commit: function that is called at the end of the block and returns `published_ns`. forget: function that is called
    when the slot is aborted.
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
        """Opens the slot for another snapshot. `tag` does not change."""
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
        """Capacity that a segment needs for this snapshot. It is the number of bodies and marks, or the number of
        parts if there are more parts."""
        return max(self.count + self.mark_count, self.part_count)

    @property
    def records(self) -> NDArray[np.void]:
        """The slot's memory for bodies, an array of shape (count,) and dtype BODY. Before the caller writes, the array
        contains an older snapshot or zeros. The array becomes read-only when the slot is committed or aborted, but
        views made before stay writable (`is_kept`)."""
        if self._records is None:
            # Every view of `records` refers to `_base`, so the reference count of `_base` shows whether views exist.
            self._base = self._new_records()
            records = self._base[:]
            self._references = sys.getrefcount(self._base)
            self._records = records
        return self._records

    @property
    def marks(self) -> NDArray[np.void]:
        """The slot's memory for marks, an array of shape (mark_count,) and dtype MARK. In all other respects this
        array is like `records`."""
        if self._marks is None:
            self._marks = self._new_marks()
        return self._marks

    def write(self, bodies: NDArray[np.void], marks: NDArray[np.void] = NO_MARKS) -> None:
        """Copies BODY records, shape (count,), and MARK records, shape (mark_count,), into the slot. Raises RingError
        for other arrays."""
        words = words_of(bodies, BODY)
        if len(bodies) != self.count:
            raise RingError(f"this slot was opened for {self.count} bodies, got {len(bodies)}")
        self.tag = None
        self.words()[...] = words
        if self.mark_count or len(marks):
            self.write_marks(marks)

    def write_marks(self, marks: NDArray[np.void]) -> None:
        """Copies MARK records, shape (mark_count,), into the slot. Raises RingError for other arrays."""
        if len(marks) != self.mark_count:
            raise RingError(f"this slot was opened for {self.mark_count} marks, got {len(marks)}")
        self.marks.view(WORDS)[...] = words_of(marks, MARK)

    @property
    def is_kept(self) -> bool:
        """True if a writable view of `records` still exists. Views are found by reference counts, so raw pointers are
        not found."""
        if self._records is None:
            return False
        if sys.getrefcount(self._base) > self._references:
            gc.collect()  # deletes unreachable views, because these views must not be counted
        return sys.getrefcount(self._base) > self._references

    def close(self) -> None:
        """Makes the arrays read-only."""
        if self._records is not None:
            self._records.flags.writeable = False
        if self._marks is not None:
            self._marks.flags.writeable = False

    def abort(self) -> None:
        """Ends the writing of the slot without a publish. This has no effect after the commit."""
        self.close()
        if self._forget is not None:
            self._forget(self)

    def words(self) -> NDArray[np.uint64]:
        """The memory of the bodies as words, for a single write. Do not store this array."""
        return self.records.view(WORDS)

    def _new_records(self) -> NDArray[np.void]:
        raise NotImplementedError

    def _new_marks(self) -> NDArray[np.void]:
        raise NotImplementedError


class RingSlot(OpenSlot):
    """A slot of a segment. The object and its views are made only one time, and reused for each snapshot in the slot.

    Arrays are made by `frombuffer`, because that keeps the memory mapped; `ndarray(buffer=...)` would not. sequence:
    index of the sequence word in the segment. published: index of the word for `published_ns`. head_bytes: memory of
    the head. column_rows: all rows of each column, by name.
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
        """Returns the slot's first `count` body records, as a new array at each call."""
        return np.frombuffer(self._view, BODY, count, self._records_offset)

    def stored_marks(self, count: int, marks: int) -> NDArray[np.void]:
        """Returns the `marks` mark records that follow `count` body records, as a new array at each call."""
        return np.frombuffer(self._view, MARK, marks, self._records_offset + count * BODY.itemsize)

    def words(self) -> NDArray[np.uint64]:
        return self._words[: self.count * WORDS_PER_RECORD]

    def _new_records(self) -> NDArray[np.void]:
        return np.frombuffer(self._view, BODY, self.count, self._records_offset)

    def _new_marks(self) -> NDArray[np.void]:
        return self.stored_marks(self.count, self.mark_count)


class PrivateSlot(OpenSlot):
    """A slot in private, zeroed memory, for a snapshot that cannot be written into the segment now."""

    def _new_records(self) -> NDArray[np.void]:
        return np.zeros(self.count, BODY)

    def _new_marks(self) -> NDArray[np.void]:
        return np.zeros(self.mark_count, MARK)
