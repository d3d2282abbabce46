"""The writer's side of one slot: its memory as arrays, and what it is while its publisher writes it in place.

Always: arrays of a slot keep the mapping from being closed under them; a slot that was opened and dropped leaves
nothing behind but its half-written bytes, which no reader takes. Not here: the marks around them (`ring_writer`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import layout as at
from twixt.ipc.errors import TwixtError
from twixt.ipc.layout import HEAD_PACKING, Layout
from twixt.ipc.snapshot import BODY, Head

# numpy copies structured records field by field (330 us for 10,000); as plain words it is one memcpy (20 us).
WORDS = np.dtype("<u8")
WORDS_PER_BODY = BODY.itemsize // at.WORD
NO_HEAD = Head()


class RingError(TwixtError):
    """Something that cannot be published."""


class Slot:
    """The views of one slot, made once.

    By `frombuffer`: its arrays keep the mapping from being closed under them, those of `ndarray(buffer=...)` do not.
    """

    def __init__(self, view: memoryview, layout: Layout, slot: int) -> None:
        start = layout.slot_offset(slot)
        self.sequence = layout.sequence_word(slot)
        head = layout.head_offset(slot)
        self.head = view[head : head + HEAD_PACKING.size]
        self.published = head // at.WORD + at.PUBLISHED_IN_HEAD
        self.bodies = np.frombuffer(view, WORDS, layout.capacity * WORDS_PER_BODY, layout.bodies_offset(slot))
        self.columns = {
            name: np.frombuffer(view, dtype, layout.capacity * width, start + offset).reshape(layout.capacity, width)
            for name, dtype, width, offset in layout.columns
        }
        self.mark: object = None
        self._view, self._records_offset = view, layout.bodies_offset(slot)
        self._count, self._target = 0, self.bodies[:0]

    def target(self, count: int) -> NDArray[np.uint64]:
        """Where so many bodies go."""
        if count != self._count:
            self._count, self._target = count, self.bodies[: count * WORDS_PER_BODY]
        return self._target

    def records(self, count: int) -> NDArray[np.void]:
        """So many bodies, an array of its own."""
        return np.frombuffer(self._view, BODY, count, self._records_offset)


class Aside:
    """Memory in a slot's place, of a snapshot for which the ring has no room yet."""

    mark: object = None

    def records(self, count: int) -> NDArray[np.void]:
        """So many bodies, all bytes zero."""
        return np.zeros(count, BODY)


class Keeper(Protocol):
    """Whoever gave out an open slot."""

    def complete(self, opened: OpenSlot) -> int | None: ...
    def forget(self, opened: OpenSlot) -> None: ...


class RecordsKept(RingError):
    """Whoever wrote a slot in place can go on writing it: they still hold a view of it."""

    def __init__(self) -> None:
        super().__init__(
            "records written in place must not be kept, nor any part of them: from now on viewers read that memory; "
            "take views anew each time, and copy what is needed later"
        )


class OpenSlot:
    """A slot that is written in place, until it is complete or dropped; dropped, its snapshot never was.

        with ring.begin(count) as slot:
            slot.records["position"] = ...
            slot.head = Head(...)

    Complete when the block ends, dropped when it raises. Whatever is begun next takes the place of one that is
    neither, as an interruption leaves it; its block, should it still run, is refused at its end.

    number: of the snapshot. count: bodies. head, columns: of the snapshot, to be set in the block; of `head` is filled
    in what `RingWriter.publish` fills in. published_ns: the instant at which it became visible; None before.
    is_taken: complete, though it may have to wait for a larger segment before it is visible.
    mark: what was last said here of this slot's bytes, None when they were written since in another way.
    """

    def __init__(self, writer: Keeper, number: int, count: int, slot: Slot | Aside) -> None:
        self.number, self.count = number, count
        self.head = NO_HEAD
        self.columns: Mapping[str, NDArray[np.generic]] = {}
        self.published_ns: int | None = None
        self.is_taken = False
        self.writer = writer
        self.complete: Callable[[OpenSlot], int | None] = (
            writer.complete
        )  # who else has to do with it puts their own here
        self._slot = slot
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
    def records(self) -> NDArray[np.void]:
        """The slot's own memory, shape (count,), dtype BODY, holding an older snapshot or nothing. Read-only in the
        end; views of it that were taken meanwhile are not, see `is_kept`."""
        if self._records is None:
            # An array of this snapshot's own: it is the base of every view of `records`, so that they can be counted.
            self._base = self._slot.records(self.count)
            records = self._base[:]
            self._references = sys.getrefcount(self._base)
            self._records = records
        return self._records

    @property
    def mark(self) -> object:
        return self._slot.mark

    @mark.setter
    def mark(self, mark: object) -> None:
        self._slot.mark = mark

    @property
    def is_kept(self) -> bool:
        """Whether a view of `records` is left that somebody could write through. Other kinds of pointers are not seen."""
        if self._records is None:
            return False
        if sys.getrefcount(self._base) > self._references:
            gc.collect()  # one in a frame that is garbage harms nobody
        return sys.getrefcount(self._base) > self._references

    def drop(self) -> None:
        """It is written no more. Without effect once complete."""
        if self._records is not None:
            self._records.flags.writeable = False
        self.writer.forget(self)
