"""The snapshots on the GPU: a ring of buffers that hold the records exactly as shared memory held them.

The one idea: a snapshot is uploaded once, straight from the mapping, into the slot that the history chose;
a frame then names two slots. Which bytes are behind a slot is all that is known here; which snapshot
belongs in it, and whether it was torn, is the caller's.

Always: a slot's buffer holds at least as many records as the largest snapshot seen, so that an older and a
newer snapshot of different size can be read side by side. Growing doubles the capacity and touches only the
slot that is written: the pair being drawn stays as it is.
"""

from __future__ import annotations

import moderngl

from twixt.ipc.snapshot import BODY
from twixt.render.draw.pose import (
    NEWER_ATTRIBUTES,
    OLDER_ATTRIBUTES,
    RECORD_FORMAT,
    SHAPE_ATTRIBUTES,
    SHAPE_FORMAT,
)


class SnapshotRing:
    """`slots` buffers of records, and the vertex arrays over pairs of them."""

    def __init__(self, context: moderngl.Context, slots: int, capacity: int) -> None:
        self._context = context
        self._capacity = max(capacity, 1)
        self._buffers: list[moderngl.Buffer | None] = [None] * slots
        self._counts = [0] * slots
        self._vertex_arrays: dict[tuple[str, int, int], moderngl.VertexArray] = {}

    @property
    def capacity(self) -> int:
        """Records that a slot written from now on has room for."""
        return self._capacity

    def count(self, slot: int) -> int:
        """Bodies of the snapshot last uploaded into the slot; 0 when none was."""
        return self._counts[slot]

    def upload(self, slot: int, records: memoryview | bytes, count: int) -> None:
        """Copies `count` records into the slot; `records` may lie in shared memory and is not kept."""
        while self._capacity < count:
            self._capacity *= 2
        buffer = self._buffers[slot]
        if buffer is None or buffer.size < self._capacity * BODY.itemsize:
            self._drop_vertex_arrays_of(slot)
            if buffer is not None:
                buffer.release()
            buffer = self._buffers[slot] = self._context.buffer(reserve=self._capacity * BODY.itemsize, dynamic=True)
        if count:
            buffer.write(records)
        self._counts[slot] = count

    def vertex_array(
        self,
        name: str,
        program: moderngl.Program,
        shape_rows: moderngl.Buffer,
        indices: moderngl.Buffer | None,
        older: int,
        newer: int,
    ) -> moderngl.VertexArray:
        """The program's inputs for this pair of slots. name: of what is drawn; one program and set of indices each."""
        key = (name, older, newer)
        array = self._vertex_arrays.get(key)
        if array is None:
            # An attribute that a program has no use for is passed over.
            array = self._vertex_arrays[key] = self._context.vertex_array(
                program,
                [
                    (self._buffers[older], RECORD_FORMAT, *OLDER_ATTRIBUTES),
                    (self._buffers[newer], RECORD_FORMAT, *NEWER_ATTRIBUTES),
                    (shape_rows, SHAPE_FORMAT, *SHAPE_ATTRIBUTES),
                ],
                index_buffer=indices,
                index_element_size=4,
                skip_errors=True,
            )
        return array

    def reads_beyond(self, slot: int, count: int) -> bool:
        """Whether the slot's buffer is too small to be read for `count` bodies."""
        buffer = self._buffers[slot]
        return buffer is None or buffer.size < count * BODY.itemsize

    def forget_vertex_arrays(self) -> None:
        """Makes all vertex arrays anew when next asked for: shapes or indices have changed."""
        for array in self._vertex_arrays.values():
            array.release()
        self._vertex_arrays.clear()

    def release(self) -> None:
        """Gives the GPU memory back."""
        self.forget_vertex_arrays()
        for slot, buffer in enumerate(self._buffers):
            if buffer is not None:
                buffer.release()
            self._buffers[slot] = None

    def _drop_vertex_arrays_of(self, slot: int) -> None:
        for key in [key for key in self._vertex_arrays if slot in key[1:]]:
            self._vertex_arrays.pop(key).release()
