"""The snapshots on the GPU: a ring of buffers that hold the records exactly as shared memory held them.

The one idea: a snapshot is uploaded once, straight from the mapping, into the slot that the history chose;
a frame then names the slots it is drawn from. Which bytes are behind a slot is all that is known here; which
snapshot belongs in it, and whether it was torn, is the caller's. Slots beyond the ring hold poses made elsewhere.

Always: a slot's buffer holds at least as many records as the largest snapshot seen when it was written, so that
an older and a newer snapshot of different size can be read side by side. Growing doubles the capacity and touches
only the slot that is written: the pair being drawn stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import BODY, VISIBLE
from twixt.render.draw.detail import sampled_rows
from twixt.render.draw.extent import Extent, extent_of
from twixt.render.draw.pose import (
    RECORD_FIELDS,
    RECORD_FORMAT,
    SCALE_FIELDS,
    SCALE_FORMAT,
    SHAPE_ATTRIBUTES,
    SHAPE_FORMAT,
    STRETCH_FIELDS,
    STRETCH_FORMAT,
)

STRETCH_BYTES = 12
OPAQUE = 255
# Of more bodies a sample is looked at for colours with alpha: a byte of each of 32,768 records takes 0.02 ms.
MOST_LOOKED_AT = 1 << 15
# Of so many all are kept beside the GPU.
FEW = 512
NO_BODIES = np.zeros(0, BODY)
# Vertex arrays kept. A few for each pair of slots; which slots make a pair changes as the ring is thinned.
MOST_VERTEX_ARRAYS = 512


class SnapshotRing:
    """`slots` buffers of records and what extra slots were asked for, and the vertex arrays over them."""

    def __init__(self, context: moderngl.Context, slots: int, capacity: int) -> None:
        self._context = context
        self._capacity = max(capacity, 1)
        self._records: dict[int, moderngl.Buffer] = {}
        self._stretches: dict[int, moderngl.Buffer] = {}
        self._counts: dict[int, int] = {}
        self._few: dict[int, NDArray[np.void]] = {}
        self._samples: dict[int, NDArray[np.void]] = {}
        self._extents: dict[int, Extent | None] = {}
        self._stretched: dict[int, int] = {}  # rows of `scale3` that belong to the slot's snapshot
        self._vertex_arrays: dict[tuple[object, ...], moderngl.VertexArray] = {}
        self.slots = slots
        self.has_alpha = False  # a visible body came with a colour that asks to be seen through

    @property
    def capacity(self) -> int:
        """Records that a slot written from now on has room for."""
        return self._capacity

    def count(self, slot: int) -> int:
        """Bodies of the snapshot last uploaded into the slot; 0 when none was."""
        return self._counts.get(slot, 0)

    def sample(self, slot: int) -> NDArray[np.void]:
        """Some records of the slot, dtype `BODY`, evenly out of all: `sampled_rows` of detail.py."""
        return self._samples.get(slot, NO_BODIES)

    def few(self, slot: int) -> NDArray[np.void] | None:
        """All records of the slot, dtype `BODY`, where they are few enough to be looked at one by one."""
        return self._few.get(slot)

    def extent(self, slot: int) -> Extent | None:
        """Where the slot's bodies are; None where that is not known."""
        return self._extents.get(slot)

    @property
    def filled(self) -> Iterator[int]:
        """The slots that hold bodies, in the order in which they first did."""
        return (slot for slot, count in self._counts.items() if count)

    def is_stretched(self, slot: int) -> bool:
        """Whether each body of the slot has a scale along its own axes."""
        return self._stretched.get(slot, 0) >= self.count(slot) > 0

    def upload(self, slot: int, records: memoryview | bytes, count: int) -> None:
        """Copies `count` records into the slot; `records` may lie in shared memory and is not kept."""
        while self._capacity < count:
            self._capacity *= 2
        buffer = self._room(self._records, slot, BODY.itemsize)
        if count:
            buffer.write(records)
        self._counts[slot] = count
        bodies = np.frombuffer(records, BODY, count)
        self._samples[slot] = bodies[sampled_rows(count)].copy()
        if count <= FEW:
            self._few[slot] = bodies.copy()
        else:
            self._few.pop(slot, None)
        self.has_alpha = self.has_alpha or _has_alpha(bodies if count <= MOST_LOOKED_AT else self._samples[slot])
        self._extents[slot] = extent_of(bodies)
        self._stretched[slot] = 0

    def upload_stretch(self, slot: int, scale3: NDArray[np.floating]) -> None:
        """Copies the rows' scales along their own axes, (n, 3), of the snapshot uploaded last into the slot."""
        if scale3.ndim != 2 or scale3.shape[1] != 3:
            raise TwixtError(f"scale3 must be three numbers a body, shape (n, 3), got {scale3.shape}")
        rows = scale3[: self.count(slot)]
        buffer = self._room(self._stretches, slot, STRETCH_BYTES)
        if len(rows):
            buffer.write(np.ascontiguousarray(rows, np.float32))
        self._stretched[slot] = len(rows)

    def vertex_array(
        self,
        key: tuple[object, ...],
        program: moderngl.Program,
        shape_rows: moderngl.Buffer,
        indices: moderngl.Buffer | None,
        slots: tuple[int, int, int],
        stretched: bool = False,
    ) -> moderngl.VertexArray:
        """The program's inputs for these slots (older, newer, before). key: one for each program and set of indices."""
        key = (*slots, stretched and self.is_stretched(slots[1]), *key)
        array = self._vertex_arrays.pop(key, None)
        if array is None:
            content: list[tuple[object, ...]] = [(shape_rows, SHAPE_FORMAT, *SHAPE_ATTRIBUTES)]
            for slot, role in zip(slots, ("older", "newer", "before"), strict=True):
                content.append((self._records[slot], RECORD_FORMAT, *_named(role, RECORD_FIELDS)))
                content.append((self._records[slot], SCALE_FORMAT, *_named(role, SCALE_FIELDS)))
                if stretched and role != "before":
                    buffer = self._stretches[slot if self.is_stretched(slot) else slots[0]]
                    content.append((buffer, STRETCH_FORMAT, *_named(role, STRETCH_FIELDS)))
            # An attribute that a program has no use for is passed over.
            array = self._context.vertex_array(
                program, content, index_buffer=indices, index_element_size=4, skip_errors=True
            )
            if len(self._vertex_arrays) >= MOST_VERTEX_ARRAYS:
                self._vertex_arrays.pop(next(iter(self._vertex_arrays))).release()
        self._vertex_arrays[key] = array  # the last to be given up
        return array

    def reads_beyond(self, slot: int, count: int) -> bool:
        """Whether the slot's buffer is too small to be read for `count` bodies."""
        buffer = self._records.get(slot)
        return buffer is None or buffer.size < count * BODY.itemsize

    def forget_vertex_arrays(self) -> None:
        """Makes all vertex arrays anew when next asked for: shapes or indices have changed."""
        for array in self._vertex_arrays.values():
            array.release()
        self._vertex_arrays.clear()

    def release(self) -> None:
        """Gives the GPU memory back."""
        self.forget_vertex_arrays()
        for buffers in (self._records, self._stretches):
            for buffer in buffers.values():
                buffer.release()
            buffers.clear()
        self._counts.clear()
        self._samples.clear()
        self._few.clear()
        self._extents.clear()
        self._stretched.clear()

    def _room(self, buffers: dict[int, moderngl.Buffer], slot: int, row_bytes: int) -> moderngl.Buffer:
        """The slot's buffer, with room for as many rows as any snapshot has."""
        buffer = buffers.get(slot)
        if buffer is None or buffer.size < self._capacity * row_bytes:
            for key in [key for key in self._vertex_arrays if slot in key[:3]]:
                self._vertex_arrays.pop(key).release()
            if buffer is not None:
                buffer.release()
                del buffers[slot]
            buffer = buffers[slot] = self._new_buffer(self._capacity * row_bytes)
        return buffer

    def _new_buffer(self, size_bytes: int) -> moderngl.Buffer:
        held = sum(buffer.size for kept in (self._records, self._stretches) for buffer in kept.values())
        self._context.error  # noqa: B018  # forgets an older one
        try:
            buffer = self._context.buffer(reserve=size_bytes, dynamic=True)
        except moderngl.Error:
            buffer = None
        if buffer is None or self._context.error == "GL_OUT_OF_MEMORY":
            mib = 1 / (1 << 20)
            raise TwixtError(
                f"the graphics card has no room for a snapshot of {self._capacity:,} bodies: {size_bytes * mib:.0f} MiB "
                f"beside the {held * mib:.0f} MiB that hold others; run with fewer bodies"
            )
        return buffer


def _has_alpha(bodies: NDArray[np.void]) -> bool:
    alpha = bodies["color"][:, 3]
    return bool(len(alpha) and alpha.min() < OPAQUE and (alpha[(bodies["flags"] & VISIBLE) != 0] < OPAQUE).any())


def _named(role: str, fields: tuple[str, ...]) -> list[str]:
    return [f"{role}_{field}" for field in fields]
