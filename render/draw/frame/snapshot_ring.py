"""Keeps snapshots on the GPU, in a ring of buffers. The buffers contain the same bytes as the records in shared memory.

The history chooses a slot for each snapshot. A snapshot is uploaded once, directly from shared memory into this slot.
Each frame then names the slots from which it is drawn. This module knows only the bytes in a slot. The caller knows
which snapshot is in a slot. The caller also checks whether the snapshot was overwritten while it was read. Slots beyond
the ring contain poses computed by the CPU. This module also makes the vertex arrays over these buffers.

Always: when a slot is written, its buffer has room for the largest snapshot so far. So an older and a newer snapshot of
different sizes can be read side by side. For a larger snapshot, the capacity doubles. But only the buffer of the
written slot is replaced, so the two snapshots that are being drawn stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import BODY, RECORD

Made = TypeVar("Made")
Make = Callable[[NDArray[np.void]], Any]  # this function receives the records of a snapshot, dtype `BODY`
# moderngl's format of one `BODY` record. The scale is read from the record a second time, as a half float.
RECORD_FORMAT, RECORD_FIELDS = "4u 4f 4u 4u /v", ("place", "orientation", "motion", "spin")
SCALE_FORMAT, SCALE_FIELDS = "46x 1f2 16x /v", ("scale",)
STRETCH_FORMAT, STRETCH_FIELDS = "3f /v", ("stretch",)
# Format of a body's shape row, see shape_rows.py.
SHAPE_FORMAT, SHAPE_ATTRIBUTES = "4f 4f1 /v", ("shape_form", "shape_color")
# Format of a part's pose in its body's frame, see shape_rows.py.
PLACE_FORMAT, PLACE_ATTRIBUTES = "3f 4f /v", ("local_position", "local_orientation")

STRETCH_BYTES = 12
# Limits on the number of snapshots on the GPU. If the playback clock is late, a picture needs snapshots that are five
# or six snapshots older than the newest. Many new snapshots in a short time must not displace these older snapshots.
MOST_SLOTS, LEAST_SLOTS = 64, 4
GPU_BYTES = 256 << 20
# Largest number of slots for large snapshots, which are those of LARGE_BYTES or more. The kernel clears the memory of
# each new slot, which takes 2 ms for 100,000 bodies. So there are fewer slots, and a slot gets its memory before the
# snapshot is read.
MOST_LARGE_SLOTS = 16
LARGE_BYTES = 4 << 20
# Least number of records in a slot's sample. If the slot has fewer records, all are in the sample. A sample has less
# than twice this number. The share of large spheres in the sample has an error of a few percent.
SAMPLED = 128
# If a snapshot has at most this many records, all of them are copied to main memory.
FEW = 512
NO_BODIES = np.zeros(0, BODY)
NO_ROWS = np.zeros(0, np.uint32)
OPAQUE = 255  # alpha of a colour that is not transparent
# If there are more bodies than this, all colours are searched for alpha only if the sample has a transparent colour.
# Reading one byte of each record takes 0.02 ms for 32,768 records, and 5 ms for a million records.
MOST_LOOKED_AT = 1 << 15
# Largest number of cached vertex arrays. Each pair of slots needs a few vertex arrays. The pairs change when old
# snapshots are dropped from the ring.
MOST_VERTEX_ARRAYS = 512


class TransparentRows(NamedTuple):
    """Numbers of the transparent rows, ascending, (m,) u4, and copies of their records, (m,) of dtype `BODY`."""

    rows: NDArray[np.uint32]
    records: NDArray[np.void]


@dataclass(slots=True)
class _Slot:
    """A snapshot on the GPU, and some of its records in main memory.

    records, stretches: GPU buffers, at least as large as the data last written. written: largest number of records that
    were written into the buffer. count: number of records. stretched: number of rows of this snapshot's `scale3`.
    sample: some of the records. few_records: all records, if there are at most FEW. transparent: None if no row is
    transparent. planes: records of the rows `plane_rows`. attached: result of each attached function for all records.
    """

    records: moderngl.Buffer | None = None
    stretches: moderngl.Buffer | None = None
    written: int = 0
    count: int = 0
    stretched: int = 0
    sample: NDArray[np.void] = field(default_factory=lambda: NO_BODIES)
    few_records: NDArray[np.void] | None = None
    transparent: TransparentRows | None = None
    planes: NDArray[np.void] = field(default_factory=lambda: NO_BODIES)
    plane_rows: NDArray[np.uint32] | None = None
    attached: dict[Make, Any] = field(default_factory=dict)

    @property
    def buffers(self) -> list[moderngl.Buffer]:
        """GPU buffers of the slot."""
        return [buffer for buffer in (self.records, self.stretches) if buffer is not None]


_EMPTY = _Slot()


class SnapshotRing:
    """GPU buffers for `slots` slots, and for further slots that are in use. Also the vertex arrays that read these
    buffers."""

    def __init__(self, context: moderngl.Context, slots: int, capacity: int) -> None:
        self._context = context
        self._capacity = max(capacity, 1)
        self._slots: dict[int, _Slot] = {}
        self._vertex_arrays: dict[tuple[object, ...], moderngl.VertexArray] = {}
        self._attached: list[Make] = []
        self.slots = slots
        self.transparent_shapes = NO_ROWS  # numbers of the rows with a transparent shape, ascending
        self.plane_rows = NO_ROWS  # numbers of the rows that are planes, ascending; empty if there are too many

    @property
    def capacity(self) -> int:
        """Number of records for which a slot will have room after it is written again."""
        return self._capacity

    def count(self, slot: int) -> int:
        """Returns the number of bodies in the snapshot last uploaded into the slot, or 0 if the slot is empty."""
        return self._slots.get(slot, _EMPTY).count

    def is_written(self, slot: int, count: int) -> bool:
        """Returns True if the memory of the slot's buffer was already written for at least `count` records."""
        return self._slots.get(slot, _EMPTY).written >= count

    def sample(self, slot: int) -> NDArray[np.void]:
        """Returns evenly spaced records of the slot, dtype `BODY`. Their rows are those of `sampled_rows`."""
        return self._slots.get(slot, _EMPTY).sample

    def few_records(self, slot: int) -> NDArray[np.void] | None:
        """Returns all records of the slot, dtype `BODY`. Returns None if there are more than FEW records."""
        return self._slots.get(slot, _EMPTY).few_records

    def attach(self, make: Make) -> None:
        """Registers a function that is called with the records of each snapshot that is uploaded from now on.
        `attached` returns the function's result."""
        self._attached.append(make)

    def attached(self, slot: int, make: Callable[[NDArray[np.void]], Made]) -> Made | None:
        """Returns the result of `make` for the slot's records, or None if the slot is empty."""
        return self._slots.get(slot, _EMPTY).attached.get(make)

    def transparent(self, slot: int) -> TransparentRows | None:
        """Returns the transparent rows of the slot, or None if no row is transparent."""
        return self._slots.get(slot, _EMPTY).transparent

    def planes(self, slot: int) -> NDArray[np.void]:
        """Returns the records of the slot's rows `plane_rows`; none if `plane_rows` has changed after the upload."""
        held = self._slots.get(slot, _EMPTY)
        return held.planes if held.plane_rows is self.plane_rows else NO_BODIES

    @property
    def filled(self) -> Iterator[int]:
        """The slots that contain bodies, in the order in which they were first filled."""
        return (slot for slot, held in self._slots.items() if held.count)

    def is_stretched(self, slot: int) -> bool:
        """Returns True if each body of the slot has three scales, one along each of the body's own axes."""
        held = self._slots.get(slot, _EMPTY)
        return held.stretched >= held.count > 0

    def upload(self, slot: int, records: memoryview | bytes, count: int) -> None:
        """Copies `count` records into the slot. `records` may be in shared memory; it is not used after the call.

        Raises TwixtError if the GPU has no memory left.
        """
        while self._capacity < count:
            self._capacity *= 2
        held = self._slots.setdefault(slot, _Slot())
        older, held.records = held.records, None
        buffer = held.records = self._with_room(older, slot, BODY.itemsize)
        bodies = np.frombuffer(records, BODY, count)
        if count:
            buffer.write(records)
        held.written = max(count, held.written) if buffer is older else count
        held.count, held.stretched = count, 0
        held.sample = bodies[sampled_rows(count)].copy()
        held.few_records = bodies.copy() if count <= FEW else None
        held.transparent = transparent_of(bodies, held.sample, self.transparent_shapes)
        held.attached = {make: make(bodies) for make in self._attached}
        held.plane_rows, held.planes = self.plane_rows, NO_BODIES
        if len(self.plane_rows):
            held.planes = bodies[self.plane_rows[: np.searchsorted(self.plane_rows, np.uint32(count))]]

    def upload_stretch(self, slot: int, scale3: NDArray[np.floating]) -> None:
        """Copies scales along the bodies' own axes, (n, 3), into the slot. They belong to the snapshot that was last
        uploaded into the slot.

        Raises TwixtError if `scale3` has another shape, or if the GPU has no memory left.
        """
        if scale3.ndim != 2 or scale3.shape[1] != 3:
            raise TwixtError(f"scale3 must be three numbers a body, shape (n, 3), got {scale3.shape}")
        held = self._slots.setdefault(slot, _Slot())
        rows = scale3[: held.count]
        older, held.stretches = held.stretches, None
        buffer = held.stretches = self._with_room(older, slot, STRETCH_BYTES)
        if len(rows):
            buffer.write(np.ascontiguousarray(rows, np.float32))
        held.stretched = len(rows)

    def read(self, slot: int) -> tuple[NDArray[np.void], NDArray[np.float32] | None]:
        """Returns all records of the slot, dtype `BODY`, and the scales along the bodies' own axes, or None if there
        are no scales. Waits for OpenGL if there are more than FEW records. The arrays are valid only for a short time,
        so copy them to keep them."""
        held = self._slots.get(slot, _EMPTY)
        records = _read(held.records, BODY, held.count) if held.few_records is None else held.few_records
        if not self.is_stretched(slot):
            return records, None
        return records, _read(held.stretches, np.dtype("<f4"), 3 * held.count).reshape(-1, 3)

    def rearrange(
        self,
        rows_of: Callable[[int], NDArray[np.intp]] | None,
        changed: Callable[[NDArray[np.void]], NDArray[np.void]] | None = None,
        slots: Container[int] | None = None,
    ) -> None:
        """Replaces the records of slots. rows_of: function of the number of records in a slot; it returns the rows that
        the slot contains from now on. If `rows_of` is None, all rows stay. changed: function that returns the new
        values of these records. If `changed` is None, the values stay. slots: the slots to change. If `slots` is None,
        all slots are changed.

        Reads the records back from OpenGL and waits for this. Raises TwixtError if the GPU has no memory left.
        """
        for slot, held in list(self._slots.items()):
            if slots is not None and slot not in slots:
                continue
            records, stretches = self.read(slot)
            if rows_of is not None:
                rows = rows_of(held.count)
                records = np.ascontiguousarray(records).view(RECORD)[rows].view(BODY)
                stretches = None if stretches is None else stretches[rows]
            records = records if changed is None else changed(records)
            self.upload(slot, records.view(np.uint8).data, len(records))
            if stretches is not None:
                self.upload_stretch(slot, stretches)

    def vertex_array(
        self,
        key: tuple[object, ...],
        program: moderngl.Program,
        shape_rows: moderngl.Buffer,
        indices: moderngl.Buffer | None,
        slots: tuple[int, int, int],
        stretched: bool = False,
        places: moderngl.Buffer | None = None,
    ) -> moderngl.VertexArray:
        """Returns a vertex array with the program's inputs for these slots (older, newer, before). The first call makes
        it.

        key: identifies the program and its indices. places: poses of parts in the frames of their bodies.
        """
        key = (*slots, stretched and self.is_stretched(slots[1]), *key)
        array = self._vertex_arrays.pop(key, None)
        if array is None:
            content: list[tuple[object, ...]] = [(shape_rows, SHAPE_FORMAT, *SHAPE_ATTRIBUTES)]
            if places is not None:
                content.append((places, PLACE_FORMAT, *PLACE_ATTRIBUTES))
            for slot, role in zip(slots, ("older", "newer", "before"), strict=True):
                held = self._slots[slot]
                content.append((held.records, RECORD_FORMAT, *_named(role, RECORD_FIELDS)))
                content.append((held.records, SCALE_FORMAT, *_named(role, SCALE_FIELDS)))
                if stretched and role != "before":
                    buffer = self._slots[slot if self.is_stretched(slot) else slots[0]].stretches
                    content.append((buffer, STRETCH_FORMAT, *_named(role, STRETCH_FIELDS)))
            array = vertex_array(self._context, program, content, index_buffer=indices, index_element_size=4)
            if len(self._vertex_arrays) >= MOST_VERTEX_ARRAYS:
                self._vertex_arrays.pop(next(iter(self._vertex_arrays))).release()
        self._vertex_arrays[key] = array  # the array that was used last is evicted last
        return array

    def reads_beyond(self, slot: int, count: int) -> bool:
        """Returns True if the slot's buffer is too small to be read for `count` bodies."""
        buffer = self._slots.get(slot, _EMPTY).records
        return buffer is None or buffer.size < count * BODY.itemsize

    def forget_vertex_arrays(self) -> None:
        """Releases all vertex arrays. Call it when shapes or indices have changed."""
        for array in self._vertex_arrays.values():
            array.release()
        self._vertex_arrays.clear()

    def release(self) -> None:
        """Releases the GPU memory."""
        self.forget_vertex_arrays()
        for held in self._slots.values():
            for buffer in held.buffers:
                buffer.release()
        self._slots.clear()

    def _with_room(self, buffer: moderngl.Buffer | None, slot: int, row_bytes: int) -> moderngl.Buffer:
        """Returns `buffer` if it has room for `capacity` rows. Otherwise releases it and returns a larger buffer."""
        if buffer is not None and buffer.size >= self._capacity * row_bytes:
            return buffer
        for key in [key for key in self._vertex_arrays if slot in key[:3]]:
            self._vertex_arrays.pop(key).release()
        if buffer is not None:
            buffer.release()
        return self._new_buffer(self._capacity * row_bytes)

    def _new_buffer(self, size_bytes: int) -> moderngl.Buffer:
        held = sum(buffer.size for held in self._slots.values() for buffer in held.buffers)
        self._context.error  # noqa: B018  # clears an older error
        try:
            buffer = self._context.buffer(reserve=size_bytes, dynamic=True)
        except moderngl.Error:
            buffer = None
        if buffer is None or self._context.error == "GL_OUT_OF_MEMORY":
            mib = 1 / (1 << 20)
            raise TwixtError(
                f"the GPU has no memory for a snapshot of {self._capacity:,} bodies: "
                f"{size_bytes * mib:.0f} MiB "
                f"in addition to {held * mib:.0f} MiB for other snapshots; use fewer bodies"
            )
        return buffer


def gpu_slots(snapshot_bytes: int) -> int:
    """Returns the number of GPU slots if each snapshot has this size in bytes."""
    most = MOST_LARGE_SLOTS if is_large(snapshot_bytes) else MOST_SLOTS
    return min(most, max(LEAST_SLOTS, GPU_BYTES // max(1, snapshot_bytes)))


def is_large(snapshot_bytes: int) -> bool:
    """Returns True if a snapshot of this size is large. A slot then gets its memory before the snapshot is read."""
    return snapshot_bytes >= LARGE_BYTES


def sampled_rows(count: int) -> slice:
    """Returns evenly spaced rows of `count` bodies. The number of rows is below twice SAMPLED."""
    return slice(0, count, max(1, count // SAMPLED))


def transparent_of(
    bodies: NDArray[np.void], sample: NDArray[np.void], of_shapes: NDArray[np.uint32]
) -> TransparentRows | None:
    """Returns the transparent rows of a snapshot, or None if no row has an alpha below 255.

    bodies: (n,) of dtype `BODY`. sample: some of the bodies. of_shapes: rows with a transparent shape, ascending. If a
    snapshot has more than MOST_LOOKED_AT bodies, its records are searched only if a record of the sample is
    transparent.
    """
    alpha = bodies["color"][:, 3]
    looked = alpha if len(bodies) <= MOST_LOOKED_AT else sample["color"][:, 3]
    if not len(looked):
        return None
    rows = of_shapes[: np.searchsorted(of_shapes, np.uint32(len(bodies)))] if len(of_shapes) else NO_ROWS
    if looked.min() < OPAQUE:
        rows = np.union1d(rows, np.flatnonzero(alpha < OPAQUE).astype(np.uint32))
    if not len(rows):
        return None
    return TransparentRows(rows, bodies[rows])


def _read(buffer: moderngl.Buffer | None, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    if buffer is None or not count:
        return np.zeros(0, dtype)
    return np.frombuffer(buffer.read(count * dtype.itemsize), dtype)


def _named(role: str, fields: tuple[str, ...]) -> list[str]:
    return [f"{role}_{field}" for field in fields]


# This code makes vertex arrays for programs that use only some of the inputs in their buffers.
#
# Always: only inputs that the program uses are bound. moderngl's option `skip_errors` is not sufficient. With this
# option, moderngl looks up an unknown name as location -1. If a program reads gl_VertexID, moderngl finds gl_VertexID
# at location -1 and binds it, which is an OpenGL error.


# size of one number in bytes; the key is the digit after the number's type
_BYTES = {"1": 1, "2": 2, "4": 4, "8": 8, "": 4}
_NODE = re.compile(r"(\d+)([fiu])([1248]?)")


def vertex_array(
    context: moderngl.Context, program: moderngl.Program, content: Iterable[tuple[Any, ...]], **options: Any
) -> moderngl.VertexArray:
    """Returns a vertex array of `program`. content, options: as for moderngl's `vertex_array`. Names that the program
    does not use are left out."""
    used = (_used(program, *entry) for entry in content)
    return context.vertex_array(program, [entry for entry in used if len(entry) > 2], **options)


def _used(program: moderngl.Program, buffer: moderngl.Buffer, layout: str, *names: str) -> tuple[Any, ...]:
    """Returns the entry of a buffer. In it, each input that `program` does not use is replaced by padding."""
    nodes, kept, left = [], [], iter(names)
    for node in layout.split():
        found = _NODE.fullmatch(node)
        if found is None:  # the entry is padding, or "/v" or "/i"
            nodes.append(node)
        elif isinstance(program.get(name := next(left), None), moderngl.Attribute):
            nodes.append(node)
            kept.append(name)
        else:
            nodes.append(f"{int(found[1]) * _BYTES[found[3]]}x")
    return buffer, " ".join(nodes), *kept
