"""One slot on the writer's side: its memory as arrays, and its state while it is written in place.

Always: arrays of a slot keep the memory mapped; a slot that was opened and dropped leaves only half-written bytes,
which no reader accepts. Not here: the sequence words (`writer`).
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
from twixt.ipc.snapshot import BODY, MARK, Head

# numpy copies structured records field by field (330 us for 10,000); as plain words it is one memcpy (20 us).
WORDS = np.dtype("<u8")
# Of the record of a body, and of a mark.
WORDS_PER_RECORD = BODY.itemsize // at.WORD
NO_HEAD = Head()


class RingError(TwixtError):
    """A snapshot that cannot be published."""


def words_of_marks(marks: NDArray[np.void]) -> NDArray[np.uint64]:
    """The words of MARK records, shape (m,). Raises RingError for another array."""
    if not isinstance(marks, np.ndarray) or marks.ndim != 1 or (marks.dtype is not MARK and marks.dtype != MARK):
        raise RingError(f"marks must be a one-dimensional array of MARK records, got {kind_of(marks)}")
    return np.ascontiguousarray(marks).view(WORDS)


def kind_of(value: object) -> str:
    """Type of a value, with dtype and shape of an array, for error texts."""
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


class Slot:
    """Views of one slot, made once.

    By `frombuffer`: its arrays keep the memory mapped, those of `ndarray(buffer=...)` do not.
    number: of the snapshot that is written, or was written last. count, words: bodies that were copied in last, and
    the words of their records.
    """

    def __init__(self, view: memoryview, layout: Layout, slot: int) -> None:
        start = layout.slot_offset(slot)
        self.number = 0
        self.sequence = layout.sequence_word(slot)
        head = layout.head_offset(slot)
        self.head = view[head : head + HEAD_PACKING.size]
        self.published = head // at.WORD + at.PUBLISHED_IN_HEAD
        self.all_words = np.frombuffer(view, WORDS, layout.capacity * WORDS_PER_RECORD, layout.bodies_offset(slot))
        self.columns = {
            name: np.frombuffer(view, dtype, rows * width, start + offset).reshape(rows, width)
            for name, dtype, width, offset, rows in (
                (*column[:4], column.rows(layout.capacity, layout.capacity)) for column in layout.columns
            )
        }
        self.tag: object = None
        self._view, self._records_offset = view, layout.bodies_offset(slot)
        self.count, self.words = 0, self.all_words[:0]

    def resized(self, count: int) -> NDArray[np.uint64]:
        """Sets `count` and returns `words` of that many bodies."""
        self.count, self.words = count, self.all_words[: count * WORDS_PER_RECORD]
        return self.words

    def mark_words(self, count: int, marks: int) -> NDArray[np.uint64]:
        """The words of `marks` marks after `count` bodies."""
        return self.all_words[count * WORDS_PER_RECORD : (count + marks) * WORDS_PER_RECORD]

    def records(self, count: int) -> NDArray[np.void]:
        """The records of `count` bodies, a new array each time."""
        return np.frombuffer(self._view, BODY, count, self._records_offset)

    def marks(self, count: int, marks: int) -> NDArray[np.void]:
        """The records of `marks` marks after `count` bodies, a new array each time."""
        return np.frombuffer(self._view, MARK, marks, self._records_offset + count * BODY.itemsize)


class PrivateSlot:
    """Private memory in place of a slot, for a snapshot that is too large for the segment."""

    tag: object = None

    def records(self, count: int) -> NDArray[np.void]:
        """The records of `count` bodies, all bytes zero."""
        return np.zeros(count, BODY)

    def marks(self, count: int, marks: int) -> NDArray[np.void]:
        """The records of `marks` marks, all bytes zero."""
        return np.zeros(marks, MARK)


class RecordsKept(RingError):
    """A view of a slot's records is left after its block, and could still be used to write."""

    def __init__(self) -> None:
        super().__init__(
            "records written in place must not be kept, nor any part of them: from now on viewers read that memory; "
            "take views anew each time, and copy what is needed later"
        )


class OpenSlot:
    """A slot that is written in place, until it is complete, or dropped without effect.

        with ring.begin(count) as slot:
            slot.records["position"] = ...
            slot.head = Head(...)

    Complete when the block ends, dropped when it raises. A slot that is neither, after an interruption, is used for the
    next snapshot; if its block still runs, its end raises RingError.

    number: of the snapshot. count, mark_count: bodies and marks. part_count: rows of its part columns. head, columns: of
    the snapshot, to be set in the block; `count`, `marks`, `parts` and `published_ns` of `head` are filled in. published_ns: the instant at which it became
    visible; None before.
    is_taken: complete, though it may have to wait for a larger segment before it is visible.
    tag: any value of the caller's about the bytes of this slot; None after they were written in another way.
    complete, forget: called at the end of the block and when the slot is dropped; `complete` returns `published_ns`.
    """

    _marks: NDArray[np.void] | None = None  # until they are written: most snapshots have none

    def __init__(
        self,
        number: int,
        count: int,
        slot: Slot | PrivateSlot,
        complete: Callable[[OpenSlot], int | None],
        forget: Callable[[OpenSlot], None] | None = None,
        mark_count: int = 0,
        part_count: int = 0,
    ) -> None:
        self.number, self.count, self.mark_count, self.part_count = number, count, mark_count, part_count
        self.head = NO_HEAD
        self.columns: Mapping[str, NDArray[np.generic]] = {}
        self.published_ns: int | None = None
        self.is_taken = False
        self.complete = complete
        self._forget, self._slot = forget, slot
        self._records: NDArray[np.void] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return self.drop()
        try:
            self.published_ns = self.complete(self)
        except BaseException:
            self.drop()
            raise

    @property
    def record_count(self) -> int:
        """Number of records that a segment needs room for: those of bodies and marks, and at least as many as parts."""
        return max(self.count + self.mark_count, self.part_count)

    @property
    def records(self) -> NDArray[np.void]:
        """The slot's own memory, shape (count,), dtype BODY, holding an older snapshot or zeros. Read-only once the
        slot is complete or dropped; views taken before are not, see `is_kept`."""
        if self._records is None:
            # An array of its own: it is the base of every view of `records`, so that its references count them.
            self._base = self._slot.records(self.count)
            records = self._base[:]
            self._references = sys.getrefcount(self._base)
            self._records = records
        return self._records

    @property
    def marks(self) -> NDArray[np.void]:
        """As `records`: memory of the marks, shape (mark_count,), dtype MARK."""
        if self._marks is None:
            self._marks = self._slot.marks(self.count, self.mark_count)
        return self._marks

    def write_marks(self, marks: NDArray[np.void]) -> None:
        """Copies MARK records, shape (mark_count,), into the slot. Raises RingError for another dtype."""
        self.marks.view(WORDS)[...] = words_of_marks(marks)

    @property
    def tag(self) -> object:
        """The caller's value about the bytes of the slot."""
        return self._slot.tag

    @tag.setter
    def tag(self, tag: object) -> None:
        self._slot.tag = tag

    @property
    def is_kept(self) -> bool:
        """True if a view of `records` is left that could be used to write. By reference counts: raw pointers are not
        found."""
        if self._records is None:
            return False
        if sys.getrefcount(self._base) > self._references:
            gc.collect()  # views that are garbage do not count
        return sys.getrefcount(self._base) > self._references

    def drop(self) -> None:
        """Ends the writing without publishing. Without effect once complete."""
        if self._records is not None:
            self._records.flags.writeable = False
        if self._marks is not None:
            self._marks.flags.writeable = False
        if self._forget is not None:
            self._forget(self)
