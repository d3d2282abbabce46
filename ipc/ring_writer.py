"""Physics' side of the ring: each snapshot is one copy into the next slot. It never waits and asks nobody.

Always: nothing is written when something cannot be published; an interrupted publish (Ctrl-C) leaves the
last snapshots complete, and the next publish takes its place; the cost does not depend on readers.
Not here: the order of stores (`sequence`), what the numbers of a head mean.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import layout as at
from twixt.ipc import sequence
from twixt.ipc.fence import Fence, make_fence
from twixt.ipc.layout import HEAD_PACKING, Layout, LayoutError
from twixt.ipc.memory import Memory
from twixt.ipc.plan import Plan
from twixt.ipc.slot import WORDS, WORDS_PER_BODY, OpenSlot, RingError, Slot
from twixt.ipc.snapshot import BODY, Head

NO_WORDS = np.zeros(0, WORDS)


class Stored(NamedTuple):
    """A complete snapshot as it lies in its slot: the arrays are the segment's own memory."""

    number: int
    head: Head
    bodies: NDArray[np.void]
    columns: dict[str, NDArray[np.generic]]


class RingWriter:
    """The one writer of a segment. Used by one thread at a time.

    memory: fresh (zeroed) and at least `layout.segment_bytes` long. now_ns: the clock of `published_ns`.
    """

    def __init__(
        self,
        memory: Memory,
        layout: Layout,
        fence: Fence | None = None,
        now_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if memory.size < layout.segment_bytes:
            raise LayoutError(f"this layout needs {layout.segment_bytes} bytes of memory, got {memory.size}")
        self.layout = layout
        self._memory = memory
        self._fence = fence or make_fence()
        self._now_ns = now_ns
        header = layout.header()
        memory.view[: len(header)] = header
        self._words: sequence.Words = memory.view[: layout.segment_bytes].cast("Q")
        self._slots = [Slot(memory.view, layout, slot) for slot in range(layout.slots)]
        self._opened: OpenSlot | None = None
        self._source: NDArray[np.void] | None = None
        self._source_words = NO_WORDS

    @staticmethod
    def grown(memory: Memory, layout: Layout, old: RingWriter) -> RingWriter:
        """A writer that goes on where `old` stopped, in larger memory or with other columns. Publish in `old` no
        more; when viewers can ask for the new memory, call `old.set_successor()`. In the snapshots taken over,
        columns that are new are zero."""
        if layout.capacity < old.layout.capacity:
            raise LayoutError(
                f"a grown segment holds at least {old.layout.capacity} bodies, got room for {layout.capacity}"
            )
        before = {column[:3] for column in old.layout.columns}
        shared = [column.name for column in layout.columns if column[:3] in before]
        new = RingWriter(memory, layout, now_ns=old._now_ns)
        for stored in old.last_two():
            rows = {name: np.zeros((len(stored.bodies), width), dtype) for name, dtype, width, _ in layout.columns}
            rows |= {name: stored.columns[name] for name in shared}
            new._write(stored.number, stored.head, stored.bodies, rows, stored.head.published_ns)
        new.forget_source()  # a view of the old memory, which is to go
        new._words[at.SCENE_VERSION] = old._words[at.SCENE_VERSION]
        plan = sequence.read_record(old._words, new._fence, at.PLAN_SEQUENCE, len(Plan._fields))
        if plan is not None and plan[0]:
            sequence.write_record(new._words, new._fence, at.PLAN_SEQUENCE, plan[1])
        return new

    @property
    def latest(self) -> int:
        """The number of the last snapshot published, 0 for none."""
        return self._open_words()[at.LATEST]

    @property
    def is_open(self) -> bool:
        """A slot is written in place, or was left so by an interruption."""
        return self._opened is not None

    def publish(self, head: Head, bodies: NDArray[np.void], columns: Mapping[str, NDArray[np.generic]] = {}) -> int:
        """Copy a snapshot into the ring and make it visible; returns the instant, `published_ns`, stamped here.

        bodies: BODY records, shape (n,), n <= capacity. columns: exactly those of the layout, n rows each.
        `count` and `published_ns` of `head` are filled in. Raises before anything is written.
        """
        return self._write(self._next_number(), head, bodies, columns, None)

    def begin(self, count: int) -> OpenSlot:
        """The next snapshot's slot, to be written in place in a `with` block."""
        number = self._next_number()
        self._require_room(count)
        slot = self._slots[number % self.layout.slots]
        sequence.begin_write(self._words, self._fence, slot.sequence, number)
        self._opened = opened = OpenSlot(self, number, count, slot)
        return opened

    def complete(self, opened: OpenSlot) -> int:
        """Make a slot visible, with its head and columns: the end of its block. Returns `published_ns`."""
        if opened is not self._opened:
            raise RingError(
                "while a snapshot was being written in place another was begun, which took its place; "
                "end a slot's block, once, before the next publish"
            )
        words, columns = self._open_words(), opened.columns
        if columns or self.layout.columns:
            self._check_columns(opened.count, columns)
        packed = _packed(opened.head, opened.count)
        slot = self._slots[opened.number % self.layout.slots]
        opened.drop()
        self._copy_columns(slot, opened.count, columns)
        slot.head[:] = packed
        published_ns = words[slot.published] = self._now_ns()
        sequence.end_write(words, self._fence, at.LATEST, slot.sequence, opened.number)
        return published_ns

    def check(self, head: Head, count: int, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Raises RingError for a snapshot that cannot be published, however much room there is."""
        self._check_columns(count, columns)
        _packed(head, count)

    def forget(self, opened: OpenSlot) -> None:
        """`opened` is written no more: others may be published."""
        if opened is self._opened:
            self._opened = None

    def write_plan(self, plan: Plan) -> None:
        """Replace the plan; readers see the old or the new one, whole."""
        number, world_epoch, wall_ns, sim_time_ns, rate = plan
        values = struct.unpack("<5Q", struct.pack("<4qd", number, world_epoch, wall_ns, sim_time_ns, rate))
        sequence.write_record(self._open_words(), self._fence, at.PLAN_SEQUENCE, values)

    def write_scene_version(self, version: int) -> None:
        self._open_words()[at.SCENE_VERSION] = version

    def set_successor(self) -> None:
        """Tell readers to ask for the larger segment. The last word written in this one; an open slot is dropped."""
        if self._opened is not None:
            self._opened.drop()
        self._open_words()[at.SUCCESSOR] = 1

    def last_two(self) -> list[Stored]:
        """The newest complete snapshots, at most two, older first. Views: the next publishes overwrite them."""
        latest = self.latest
        return [self._stored(number) for number in (latest - 1, latest) if number > 0]

    def bodies_of_slot(self, slot: int) -> NDArray[np.void]:
        """All records of a slot, shape (capacity,), whatever it holds now; for tests."""
        return self._slots[slot].bodies.view(BODY)

    def close(self) -> None:
        """Let go of the memory; viewers keep what they have mapped."""
        self._slots = []
        self.forget_source()
        self._words = memoryview(b"").cast("Q")
        self._memory.close()

    def _next_number(self) -> int:
        words = self._open_words()
        if self._opened is not None:  # its block was interrupted, or goes on in vain
            self._opened.drop()
        return sequence.next_number(words, at.LATEST)

    def _open_words(self) -> sequence.Words:
        if self._memory.closed:
            raise RingError(
                "this channel is closed, or belongs to the process that forked this one; "
                "publish in the process that made it"
            )
        return self._words

    def _write(
        self,
        number: int,
        head: Head,
        bodies: NDArray[np.void],
        columns: Mapping[str, NDArray[np.generic]],
        published_ns: int | None,
    ) -> int:
        count = len(records := self._records_of(bodies)) // WORDS_PER_BODY
        if columns or self.layout.columns:
            self._check_columns(count, columns)
        packed = _packed(head, count)
        slot = self._slots[number % self.layout.slots]
        words, target = self._words, slot.target(count)
        sequence.begin_write(words, self._fence, slot.sequence, number)
        slot.mark = None
        target[...] = records
        if columns:
            self._copy_columns(slot, count, columns)
        slot.head[:] = packed
        if published_ns is None:
            published_ns = self._now_ns()
        words[slot.published] = published_ns
        sequence.end_write(words, self._fence, at.LATEST, slot.sequence, number)
        return published_ns

    def _copy_columns(self, slot: Slot, count: int, columns: Mapping[str, NDArray[np.generic]]) -> None:
        for name, rows in slot.columns.items():
            np.copyto(rows[:count], columns[name].reshape(count, rows.shape[1]))

    def _records_of(self, bodies: NDArray[np.void]) -> NDArray[np.uint64]:
        """The words of `bodies`; the same array as last time was checked then."""
        if bodies is self._source:
            return self._source_words
        if (
            not isinstance(bodies, np.ndarray)
            or bodies.ndim != 1
            or (bodies.dtype is not BODY and bodies.dtype != BODY)
        ):
            raise RingError(f"bodies must be a one-dimensional array of BODY records, got {_in_words(bodies)}")
        self._require_room(len(bodies))
        if not bodies.flags.c_contiguous:
            return np.ascontiguousarray(bodies).view(WORDS)
        self._source, self._source_words = bodies, bodies.view(WORDS)
        return self._source_words

    def forget_source(self) -> None:
        """Lets go of the bodies last published."""
        self._source, self._source_words = None, NO_WORDS

    def _require_room(self, count: int) -> None:
        if count > self.layout.capacity:
            raise RingError(f"this segment holds {self.layout.capacity} bodies, got {count}; grow it first")

    def _check_columns(self, count: int, columns: Mapping[str, NDArray[np.generic]]) -> None:
        names = {column.name for column in self.layout.columns}
        if names != set(columns):
            raise RingError(f"columns must be exactly {sorted(names)}, got {sorted(columns)}")
        for name, dtype, width, _ in self.layout.columns:
            rows = columns[name]
            if not (
                isinstance(rows, np.ndarray)
                and rows.dtype == dtype
                and rows.shape[:1] == (count,)
                and rows.size == count * width
            ):
                raise RingError(f"column {name!r} must be {count} rows of {width} x {dtype}, got {_in_words(rows)}")

    def _stored(self, number: int) -> Stored:
        slot = self._slots[number % self.layout.slots]
        head = Head(*HEAD_PACKING.unpack(slot.head))
        columns = {name: rows[: head.count] for name, rows in slot.columns.items()}
        return Stored(number, head, slot.bodies.view(BODY)[: head.count], columns)


def _packed(head: Head, count: int) -> bytes:
    if head.count != count:
        head = head._replace(count=count)
    try:
        return HEAD_PACKING.pack(*head)
    except (struct.error, TypeError) as error:
        raise RingError(
            f"a head's times and counters must be whole numbers of 64 bits, its rate a float ({error}): got {head!r}"
        ) from error


def _in_words(value: object) -> str:
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
