"""Arrays of colours that convert the values written into them.

As everywhere, numbers of dtype uint8 are from 0 to 255, all others are from 0 to 1: `color[i] = (1, 0, 0)` and
`color[i] = np.uint8([255, 0, 0])` write the same red. `Bodies.color` and the part column `color` are such arrays.

Always: reading gives the stored numbers, bytes in `Bodies.color`. A copy converts nothing that is written into it. C
code that writes directly into the memory bypasses the conversion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidValue
from twixt.ipc.scene.checks import check_colors, color_bytes
from twixt.ipc.snapshot import HAS_COLOR
from twixt.sim.array_arguments import array_of
from twixt.sim.world.body_fields import colors_of, finite_colors, rgba

# Numbers of the four channels: red, green, blue, alpha.
CHANNELS = np.arange(4, dtype=np.uint8)
ALPHA = 3


class ColorRows(NamedTuple):
    """Colours, and the flags that a write of colours sets.

    name: for errors. colors: (n, 4), bytes, or float32 from 0 to 1. flags: flags of the bodies' records, (n,). A write
    of red, green or blue sets HAS_COLOR there. None if the colours are not those of bodies.
    """

    name: str
    colors: NDArray[Any]
    flags: NDArray[np.uint16] | None = None

    def view(self) -> ColorArray:
        """The colours as an array whose writes are converted."""
        view: ColorArray = self.colors.view(ColorArray)
        view.rows = self
        return view

    def write(self, part: NDArray[Any], key: Any, value: ArrayLike) -> None:
        """Writes `part[key] = value`. part: a plain view of `colors`. Raises TwixtError for values that are no
        colours."""
        values = array_of(self.name, value)
        if not check_colors(self.name, values):
            is_color = values.shape[-1:] in ((3,), (4,))
            values = finite_colors(values if is_color else values[..., None]).reshape(values.shape)
        if values.shape[-1:] == (3,) and _is_rgba(part, key):
            opaque = np.full((*values.shape[:-1], 4), 255 if values.dtype == np.uint8 else 1, values.dtype)
            opaque[..., :3] = values
            values = opaque
        try:
            part[key] = in_type_of(part, values)
        except ValueError as error:
            raise InvalidValue(
                f"{self.name} takes (r, g, b) or (r, g, b, a), or as many numbers as are written: {error}"
            ) from error
        if self.flags is not None and part.size:
            self._mark(self.flags, part, key)

    def _mark(self, flags: NDArray[np.uint16], part: NDArray[Any], key: Any) -> None:
        """Marks the bodies whose red, green or blue is in `part[key]`.

        A step along an axis of `part` is a number of rows and a number of channels. They give two arrays of the
        shape of `part`: the flags of each number's body, and each number's channel.
        """
        row_bytes = self.colors.strides[0]
        start = part.__array_interface__["data"][0] - self.colors.__array_interface__["data"][0]
        steps = [round(step / row_bytes) for step in part.strides]
        within = [step - rows * row_bytes for step, rows in zip(part.strides, steps, strict=True)]
        channels = as_strided(CHANNELS[start % row_bytes :], part.shape, within)
        if (channels[key] < ALPHA).any():
            own = as_strided(flags[start // row_bytes :], part.shape, [rows * flags.strides[0] for rows in steps])
            own[key] |= np.uint16(HAS_COLOR)


class ColorArray(np.ndarray):
    """A view of colours. `colors[i] = (1, 0, 0)` writes red, and so do views of the view. rows: the colours that the
    view belongs to."""

    rows: ColorRows | None = None

    def __array_finalize__(self, obj: Any) -> None:
        rows = getattr(obj, "rows", None)
        is_copy = rows is not None and self.size and not np.may_share_memory(_plain(self), rows.colors)
        self.rows = None if is_copy else rows

    def __setitem__(self, key: Any, value: Any) -> None:
        part = _plain(self)
        if self.rows is None or part.dtype != self.rows.colors.dtype:
            part[key] = _plain(value)
        else:
            self.rows.write(part, key, value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        for target in outs or (inputs[:1] if method == "at" else ()):
            if isinstance(target, ColorArray) and target.rows is not None and target.dtype == np.uint8:
                raise InvalidValue(
                    f"{target.rows.name} cannot be changed in place by {ufunc.__name__}, since it holds bytes; "
                    "change numbers from 0 to 1 and assign them: color[:, :3] = 0.5 * (color[:, :3] / 255)"
                )
        plains = {
            name: tuple(map(_plain, given)) if name == "out" else _plain(given) for name, given in options.items()
        }
        answer = getattr(ufunc, method)(*map(_plain, inputs), **plains)
        return outs[0] if len(outs) == 1 else answer

    def fill(self, value: Any) -> None:
        """Writes one number into all channels."""
        self[...] = value

    def copy(self, *args: Any, **options: Any) -> Any:
        """A plain copy."""
        return _plain(self).copy(*args, **options)

    def astype(self, *args: Any, **options: Any) -> Any:
        """A plain copy in another type."""
        return _plain(self).astype(*args, **options)


def in_type_of(target: NDArray[Any], colors: NDArray[Any]) -> NDArray[Any]:
    """Colours that were checked, in the type of `target`: bytes, or numbers from 0 to 1."""
    if target.dtype == np.uint8:
        return color_bytes(colors)
    return colors / 255 if colors.dtype == np.uint8 else np.clip(colors, 0, 1)


def part_colors_of(field: str, value: ArrayLike, count: int, dtype: Any) -> NDArray[Any]:
    """Colours of `count` parts for a column of this type, bytes or float32, (count, 4). `value` is one colour for all
    parts or one for each. Raises TwixtError."""
    if np.dtype(dtype) == np.uint8:
        return rgba(field, value, count, each="parts").values
    colors = colors_of(field, value, count, "parts")
    check_colors(field, colors)
    made = np.ones((count, 4), dtype)
    made[:, : colors.shape[-1]] = in_type_of(made, colors)
    return made


def _is_rgba(part: NDArray[Any], key: Any) -> bool:
    """True if the last axis of `part[key]` is red, green, blue, alpha."""
    if part.shape[-1:] != (4,) or part.strides[-1] != part.itemsize:
        return False
    channels = np.broadcast_to(CHANNELS, part.shape)[key]
    return bool(channels.shape[-1:] == (4,) and (channels == CHANNELS).all())


def _plain(value: Any) -> Any:
    """For an array of colours: a plain array with the same memory. Returns other values unchanged."""
    return value.view(np.ndarray) if isinstance(value, ColorArray) else value
