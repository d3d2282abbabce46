"""Rows of dots, lines or rings in a growing buffer, with positions relative to the eye."""

from __future__ import annotations

import moderngl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Vector
from twixt.render.draw.frame.frame_block import FRAME_BINDING

# Number of rows in a new buffer. When more rows are needed, the number of rows is doubled.
LEAST_CAPACITY = 1024
ORIGIN = (0.0, 0.0, 0.0)

FINITE_GLSL = """
// Compares bits, in which NaN is above all numbers, because compilers may invert a comparison of values with NaN.
bool is_finite(vec3 v) {
    return all(lessThan(floatBitsToUint(v) & 0x7FFFFFFFu, uvec3(0x7F800000u)));
}
"""


class FlatRows:
    """Rows in a growing buffer. One program draws them. flags: moderngl's enable flags beside BLEND."""

    flags = moderngl.DEPTH_TEST

    def __init__(self, context: moderngl.Context, program: moderngl.Program, row: np.dtype, layout: str) -> None:
        self.program = program
        self._context, self._row, self._layout = context, row, layout
        self._buffer: moderngl.Buffer | None = None
        self._vertex_array: moderngl.VertexArray | None = None
        self.count = 0  # number of rows that were set last
        program["Frame"].binding = FRAME_BINDING  # type: ignore[union-attr]

    def draw(self) -> None:
        """Draws the rows that were set last."""
        if self.count and self._vertex_array is not None:
            self._vertex_array.render(moderngl.POINTS, vertices=self.count)

    def _set(self, rows: NDArray[np.void]) -> None:
        self.count = len(rows)
        if not self.count:
            return
        if self._buffer is None or self._buffer.size < rows.nbytes:
            capacity = LEAST_CAPACITY
            while capacity < self.count:
                capacity *= 2
            if self._buffer is not None and self._vertex_array is not None:
                self._vertex_array.release()
                self._buffer.release()
            self._buffer = self._context.buffer(reserve=capacity * self._row.itemsize, dynamic=True)
            names = self._row.names or ()
            self._vertex_array = self._context.vertex_array(self.program, [(self._buffer, self._layout, *names)])
        self._buffer.write(rows)


def places_from_eye(name: str, values: ArrayLike, eye: Vector) -> NDArray[np.float32]:
    """Returns positions relative to the eye, (n, 3), in metres. Raises TwixtError for a wrong shape."""
    places = np.asarray(values)
    if places.size == 0:
        return np.zeros((0, 3), np.float32)
    if places.ndim != 2 or places.shape[1] != 3:
        raise TwixtError(f"{name} must be three numbers a row, shape (n, 3), got {places.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        if places.dtype != np.float32:
            return (places.astype(np.float64) - eye).astype(np.float32)
        # The eye is subtracted in the same two steps as in the shaders of bodies.
        high = np.array(eye, np.float32)
        return (places - high) - (np.array(eye) - high).astype(np.float32)
