"""Holds the fields of a world's bodies as arrays: one structured array of `BODY` records (`records`), one view of it
per field, and the world's own columns.

Always: `records` has dtype `BODY` and one row for each body. Bodies that are added may reallocate the array, and older
views then show the old array. So create views where they are used, and do not store them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.ring.layout import ColumnForm
from twixt.ipc.snapshot import BODY, HAS_COLOR, new_bodies
from twixt.sim.array_arguments import without_mask
from twixt.sim.world.body_fields import rgba
from twixt.sim.world.colors import ColorRows
from twixt.sim.world.columns import Columns
from twixt.sim.world.tracking import Corrections, LostSums, WrittenVelocities, plain

# Lost sums are recorded in an occasional step, for at most this many bodies. The recording needs 128 bytes per body.
MOST_SUMMED = 32_768


class BodyArrays:
    """Base class of `Bodies`; it has their fields as arrays. columns: the world's own columns."""

    def __init__(self, count: int, columns: Columns) -> None:
        self._storage = new_bodies(count)
        self._written = WrittenVelocities()
        self._columns = columns
        self._corrections: Corrections | None = None
        self._sums: LostSums | None = None  # None while no lost sums are recorded.
        self._make_views(count)

    def __len__(self) -> int:
        return len(self._records)

    def __getstate__(self) -> dict[str, Any]:
        """State for copy and pickle, without the views. The copy creates views of its own records."""
        return self.__dict__ | {"_records": len(self), "_views": {}, "_sums": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_views(state["_records"])

    @property
    def records(self) -> NDArray[np.void]:
        """All fields of all n bodies, a structured array of dtype `twixt.ipc.snapshot.BODY`, shape (n,)."""
        self._written.detect()
        return self._records

    @property
    def position(self) -> NDArray[np.float32]:
        """Positions of the bodies in metres, float32 (n, 3)."""
        return self._views["position"] if self._sums is None else self._sums.view

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._assign("position", value)

    @property
    def orientation(self) -> NDArray[np.float32]:
        """Orientations of the bodies as unit quaternions xyzw, float32 (n, 4).

        `q[:, [1, 2, 3, 0]]` converts quaternions wxyz.
        """
        return self._views["orientation"]

    @orientation.setter
    def orientation(self, value: ArrayLike) -> None:
        self._assign("orientation", value)

    @property
    def velocity(self) -> NDArray[np.float32]:
        """Velocities of the bodies in m/s, float32 (n, 3).

        Until you write into this array, the velocities of all bodies are unknown. Reading the array does not change
        this.
        """
        return self._written.view("velocity")

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._written.mark("velocity")
        self._assign("velocity", value)

    @property
    def angular_velocity(self) -> NDArray[np.float32]:
        """Angular velocities of the bodies in rad/s, in the world frame, float32 (n, 3).

        Until you write into this array, the angular velocities of all bodies are unknown.
        """
        return self._written.view("angular_velocity")

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._written.mark("angular_velocity")
        self._assign("angular_velocity", value)

    @property
    def scale(self) -> NDArray[np.float16]:
        """Factor by which each body's shape is enlarged in all directions, float16 (n,)."""
        return self._views["scale"]

    @scale.setter
    def scale(self, value: ArrayLike) -> None:
        self._assign("scale", value)

    @property
    def color(self) -> NDArray[np.uint8]:
        """Colours of the bodies as rgba, uint8 (n, 4).

        Write numbers from 0 to 1, or np.uint8 from 0 to 255: `color[i] = (1, 0, 0)`, `color[:, 3] = 0.5`, `color[i] =
        color[j]`. Three numbers are an opaque colour. You may assign one colour for all bodies or one for each body.
        Reading gives bytes. A body with alpha below 255 is transparent. A body with alpha 0 is not drawn.

        The drawn colour is the shape's colour times the body's colour. A shape without a colour has a colour of the
        palette until you write red, green or blue of the body. From then on the shape is white.

        Raises:
            TwixtError: The written values are not colours, or the array is changed by arithmetic in place.
        """
        views = self._views
        return ColorRows("Bodies.color", views["color"], views["flags"]).view()

    @color.setter
    def color(self, value: ArrayLike) -> None:
        self._views["color"][...] = rgba("Bodies.color", value, len(self)).values
        self._views["flags"][:] |= np.uint16(HAS_COLOR)

    @property
    def epoch(self) -> NDArray[np.uint32]:
        """Epochs of the bodies, uint32 (n,).

        Viewers do not blend a body across a change of its epoch. If you write into `position` so that a body jumps,
        add 1 to the epoch of that body. `teleport` writes the position and the epoch.
        """
        return self._views["epoch"]

    @epoch.setter
    def epoch(self, value: ArrayLike) -> None:
        self._assign("epoch", value)

    @property
    def columns(self) -> Columns:
        """The world's own columns by name, each (n,) or (n, width): `bodies.columns["heat"][i] = 1.0`."""
        return self._columns

    @property
    def _column_layout(self) -> dict[str, ColumnForm]:
        """Types and rules of the columns in `_published_columns`, by name."""
        own = self._columns._layout
        return own if self._corrections is None else own | self._corrections.layout

    def _note_lost_sums(self) -> None:
        """Starts to record the in-place additions to `position` that are too small to change it. `_lost_sums` ends the
        recording."""
        if len(self) <= MOST_SUMMED:
            self._sums = LostSums(self._views["position"])

    def _lost_sums(self) -> NDArray[np.float64] | None:
        """Sums of the additions to each position that were lost since `_note_lost_sums`, in metres, (n, 3). Returns
        None if they were not recorded. Ends the recording."""
        sums, self._sums = self._sums, None
        return None if sums is None else sums.end()

    def _published_columns(self, sim_time_ns: int, count: int | None = None) -> dict[str, NDArray[Any]]:
        """Columns to publish with the first `count` of `records` at `sim_time_ns`, by name, as views. A `count` of
        None means all records.

        These are the world's own columns. After the first `correct`, the visual offsets of corrected bodies are added.
        Corrections made since the last call get the time `sim_time_ns`.
        """
        own = self._columns._published(count)
        if self._corrections is None:
            return own
        offsets = self._corrections.published(sim_time_ns)
        return own | {name: rows[: len(self) if count is None else count] for name, rows in offsets.items()}

    def _write(self, name: str, rows: Any, called: str, value: ArrayLike) -> None:
        """Converts values to a field's type and writes them at `rows`. called: the name that an error gives to these
        values."""
        self._views[name][rows] = plain(without_mask(called, value))

    def _assign(self, name: str, value: ArrayLike) -> None:
        # `bodies.position += v` first writes through the view, then assigns that same view to `position`.
        if plain(value) is not self._views[name]:
            self._write(name, ..., f"Bodies.{name}", value)

    def _make_views(self, count: int) -> None:
        self._records = self._storage[:count]
        self._columns._resize(count, len(self._storage))
        if self._corrections:
            self._corrections.resize(count, len(self._storage))
        self._views: dict[str, NDArray[Any]] = {name: self._records[name] for name in BODY.names or ()}
        self._written.attach(self._views)
        self._sums = None  # The recorded sums refer to the old records.
