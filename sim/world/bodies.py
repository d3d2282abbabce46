"""Bodies of a world: arrays that a step writes and the publisher copies.

`Bodies` has one structured array of `BODY` records (`records`), one view of it per field, and the world's own columns.
Spawn, despawn, teleport and correct change the epochs. A viewer blends a body between two snapshots only if its epoch
did not change.

Always: `records` has dtype `BODY` and `len(bodies)` rows; an index means the same body until that body is despawned.
A `spawn` may reallocate the array, and older views then show the old array. So create views where they are used, and
do not store them. Does not step, publish, or read a clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config.rules import is_finite
from twixt.ipc.errors import TwixtError, text_of
from twixt.ipc.ring.layout import ColumnForm
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import BODY, VISIBLE, new_bodies, turn_between
from twixt.sim.world.body_fields import count_corrections, cut, renew, rgba, without_mask
from twixt.sim.world.columns import Column, Columns, checked_columns, require_bodies
from twixt.sim.world.tracking import (
    Corrections,
    LostSums,
    WrittenVelocities,
    plain,
    visibility_mask,
)

# Spare records when the array grows, as a share of its length. With them, spawning one by one copies a body few times.
GROWTH = 0.5
# Lost sums are recorded, in an occasional step, for at most this many bodies. The recording needs 128 bytes per body.
MOST_SUMMED = 32_768
WHITE = (255, 255, 255, 255)


class Bodies:
    """`count` visible bodies at the origin. Metres, radians, seconds; quaternions xyzw.

    Positions and velocities are float32: the spacing of positions is 0.06 mm at x = 1,000 m and 0.5 m at 5,400,000 m.
    A body moves in multiples of this spacing. An in-place addition of less than half the spacing is lost. To avoid
    this, subtract an origin near the bodies (the first body, a map's tile) from all positions, and integrate in your
    own float64 arrays that you copy into `position`. A visible loss is reported once. If a world adds to single
    numbers or selected bodies (`position[mask] += v`), the loss is reported only if `velocity` is given.

    Fields are arrays of n rows: `position` (3), `orientation` (4), `velocity` (3), `angular_velocity` (3),
    `scale`, `color` (4, 0..255), `epoch`. Write into them, or assign to all rows: `bodies.position = p`.
    columns: the world's own values of each body, by name; see `Column`. scene: the world's scene, needed for columns
    with a row for each part. Raises TwixtError for an invalid declaration, and, before it allocates memory, for more
    bodies than fit.
    """

    def __init__(self, count: int, columns: Mapping[str, Column] | None = None, scene: Scene | None = None) -> None:
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            raise TwixtError(f"Bodies(count) must be a whole number >= 0, got {text_of(count)}")
        declared = checked_columns(columns)
        require_bodies(int(count), declared)
        self._storage = new_bodies(int(count))
        self._written = WrittenVelocities()
        self._free: dict[int, None] = {}  # rows of despawned bodies; the last is reused first
        self._columns = Columns(declared, int(count), scene)
        self._corrections: Corrections | None = None
        self._sums: LostSums | None = None  # None: not recording
        self._make_views(int(count))

    def __len__(self) -> int:
        return len(self._records)

    def __getstate__(self) -> dict[str, Any]:
        """State for copy and pickle, without the views, because a copy creates views of its own records."""
        return self.__dict__ | {"_records": len(self), "_views": {}, "_sums": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_views(state["_records"])

    @property
    def records(self) -> NDArray[np.void]:
        """All fields of all bodies, dtype `BODY`, shape (n,)."""
        self._written.detect()
        return self._records

    @property
    def position(self) -> NDArray[np.float32]:
        """Metres, shape (n, 3)."""
        return self._views["position"] if self._sums is None else self._sums.view

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._assign("position", value)

    @property
    def orientation(self) -> NDArray[np.float32]:
        """Unit quaternions xyzw, shape (n, 4)."""
        return self._views["orientation"]

    @orientation.setter
    def orientation(self, value: ArrayLike) -> None:
        self._assign("orientation", value)

    @property
    def velocity(self) -> NDArray[np.float32]:
        """m/s, shape (n, 3). The first write marks velocities as given, for all bodies. Reading does not."""
        return self._written.view("velocity")

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._written.mark("velocity")
        self._assign("velocity", value)

    @property
    def angular_velocity(self) -> NDArray[np.float32]:
        """rad/s in the world frame, shape (n, 3). The first write marks it as given, as for `velocity`."""
        return self._written.view("angular_velocity")

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._written.mark("angular_velocity")
        self._assign("angular_velocity", value)

    @property
    def scale(self) -> NDArray[np.float16]:
        """Uniform scale of each body's shape, shape (n,)."""
        return self._views["scale"]

    @scale.setter
    def scale(self, value: ArrayLike) -> None:
        self._assign("scale", value)

    @property
    def color(self) -> NDArray[np.uint8]:
        """rgba, 0..255, shape (n, 4). A body with alpha below 255 is transparent; with alpha 0 it is not drawn. Assign
        one colour for all bodies or one for each, in the formats of `View.publish`."""
        return self._views["color"]

    @color.setter
    def color(self, value: ArrayLike) -> None:
        if value is not self._views["color"]:
            self._views["color"][...] = rgba("Bodies.color", value, len(self)).values

    @property
    def epoch(self) -> NDArray[np.uint32]:
        """Epochs, shape (n,). If you write a jump into `position` yourself, add 1 to the epoch of that body."""
        return self._views["epoch"]

    @epoch.setter
    def epoch(self, value: ArrayLike) -> None:
        self._assign("epoch", value)

    @property
    def columns(self) -> Columns:
        """The world's own columns by name, shape (n,) or (n, width): `bodies.columns["heat"][i] = 1.0`."""
        return self._columns

    @property
    def column_layout(self) -> dict[str, ColumnForm]:
        """Forms of `published_columns`, by name."""
        own = self._columns.layout
        return own if self._corrections is None else own | self._corrections.layout

    def note_lost_sums(self) -> None:
        """Starts to record in-place additions to `position` that are too small to change it; `lost_sums` ends this."""
        if len(self) <= MOST_SUMMED:
            self._sums = LostSums(self._views["position"])

    def lost_sums(self) -> NDArray[np.float64] | None:
        """Additions lost since `note_lost_sums`, metres, (n, 3); None if not recorded. Ends the recording."""
        sums, self._sums = self._sums, None
        return None if sums is None else sums.end()

    def published_columns(self, sim_time_ns: int, count: int | None = None) -> dict[str, NDArray[Any]]:
        """Columns to publish with the first `count` `records` (None: all) at `sim_time_ns`, by name, as views.

        They are the world's own columns and, after the first `correct`, the visual offsets. Corrections made since the
        last call get the time `sim_time_ns`.
        """
        own = self._columns.published(count)
        if self._corrections is None:
            return own
        offsets = self._corrections.published(sim_time_ns)
        return own | {name: rows[: len(self) if count is None else count] for name, rows in offsets.items()}

    @property
    def visible(self) -> NDArray[np.bool_]:
        """Visibility, shape (n,). `visible[i] = False` hides body i; unlike `despawn`, it does not free the index for
        reuse. `visible[i] = True` restores a despawned body."""
        return visibility_mask((self._views["flags"] & VISIBLE) != 0, self)

    @visible.setter
    def visible(self, value: ArrayLike) -> None:
        shown = np.broadcast_to(np.asarray(value, bool), (len(self),))
        flags = self._views["flags"]
        changed = shown != ((flags & VISIBLE) != 0)
        flags[:] = np.where(shown, flags | VISIBLE, flags & ~np.uint16(VISIBLE))
        self._cut(changed)
        for i in [i for i in self._free if shown[i]]:
            del self._free[i]

    def teleport(
        self, i: Any, position: ArrayLike, orientation: ArrayLike | None = None, scale: ArrayLike | None = None
    ) -> None:
        """Moves body `i` (or an index array) with a cut, so that viewers do not blend the old and new positions."""
        self._cut(i)  # first, so that no body is moved without a cut if a value below is invalid
        self._place(i, position, orientation)
        if scale is not None:
            self._views["scale"][i] = scale

    def correct(
        self,
        i: Any,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        cut_beyond: float | None = None,
    ) -> None:
        """Moves body `i` (or an index array) by a small correction without a visible jump.

        Viewers draw the body at first in its old pose. The offset from the new pose then decays within a few tenths
        of a second of simulated time. cut_beyond: metres; a body that moves further is teleported instead. Raises
        TwixtError for a negative `cut_beyond`.
        """
        if cut_beyond is not None and not (is_finite(cut_beyond) and cut_beyond >= 0):
            raise TwixtError(
                f"correct(cut_beyond) must be metres >= 0, or None for no limit, got {text_of(cut_beyond)}"
            )
        rows = np.atleast_1d(np.arange(len(self))[i])
        before = self._records[rows]
        self._place(i, position, orientation)
        after = self._records[rows]
        with np.errstate(all="ignore"):  # a body with values that are not finite is not drawn and needs no offset
            moved = before["position"].astype(np.float64) - after["position"]
            near = np.ones(len(rows), bool) if cut_beyond is None else ~(np.linalg.norm(moved, axis=1) > cut_beyond)
        self._cut(rows[~near])
        rows = rows[near]
        if not len(rows):
            return
        if self._corrections is None:
            corrections = Corrections()
            corrections.resize(len(self), len(self._storage))
            self._corrections = corrections
        self._corrections.add(rows, moved[near], turn_between(before["orientation"], after["orientation"])[near])
        count_corrections(self._views["epoch"], rows)

    def spawn(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        scale: ArrayLike = 1.0,
        color: ArrayLike = WHITE,
    ) -> Any:
        """Adds a body and returns its index. The index of a despawned body is reused; otherwise the array grows.

        With m positions, (m, 3), it adds m bodies and returns an array of indices. Each other argument then has either
        one row per body or one row for all. Raises TwixtError for more bodies than fit into memory and for invalid
        colours.
        """
        rows = np.shape(position)[:-1]
        free_rows = self._free_rows(math.prod(rows))
        i: Any = np.array(free_rows, np.int64).reshape(rows) if rows else free_rows[0]
        views = self._views
        renew(self._records, i, self._written.flags)  # hidden until all values are accepted
        self._free |= dict.fromkeys(reversed(free_rows))
        self._columns.begin(i)
        for name, value in (("velocity", velocity), ("angular_velocity", angular_velocity)):
            if value is not None:
                views[name][i] = value
                self._written.mark(name)
        if color is not WHITE:
            views["color"][i] = rgba("color", color, len(free_rows)).values.reshape((*rows, 4))
        self.teleport(i, position, orientation, scale)
        views["flags"][i] |= np.uint16(VISIBLE)
        for row in free_rows:
            del self._free[row]
        return i

    def despawn(self, i: Any) -> None:
        """Removes body `i` (or an index array); a later `spawn` reuses the index. Ignores bodies already removed."""
        if isinstance(i, int | np.integer):
            gone = [range(len(self))[i]]
        else:
            gone = list(dict.fromkeys(np.atleast_1d(np.arange(len(self))[i]).tolist()))
        gone = [row for row in gone if row not in self._free]
        if not gone:
            return
        self._free |= dict.fromkeys(gone)
        rows = gone[0] if len(gone) == 1 else gone
        self._views["flags"][rows] &= np.uint16(0xFFFF ^ VISIBLE)
        self._cut(rows)

    def _place(self, i: Any, position: ArrayLike, orientation: ArrayLike | None) -> None:
        self._write("position", i, "position", position)
        if orientation is not None:
            self._write("orientation", i, "orientation", orientation)

    def _write(self, name: str, rows: Any, called: str, value: ArrayLike) -> None:
        """Converts values to a field's type and writes them at `rows`. called: name of the values in errors."""
        self._views[name][rows] = plain(without_mask(called, value))

    def _cut(self, i: Any) -> None:
        cut(self._views["epoch"], i)
        if self._corrections:
            self._corrections.cut(i)

    def _assign(self, name: str, value: ArrayLike) -> None:
        # `bodies.position += v` writes through the view, then assigns that same view.
        if plain(value) is not self._views[name]:
            self._write(name, ..., f"Bodies.{name}", value)

    def _free_rows(self, count: int) -> list[int]:
        """Free indices: first those of despawned bodies, latest first, then new ones at the end of the array."""
        old, begin = min(count, len(self._free)), len(self)
        if count > old:
            self._append(count - old)
        return [*(self._free.popitem()[0] for _ in range(old)), *range(begin, len(self))]

    def _append(self, more: int) -> None:
        count = len(self)
        if count + more > len(self._storage):
            capacity = count + more + int(count * GROWTH)
            require_bodies(capacity, self._columns.declared)
            grown = new_bodies(capacity)
            grown[:count] = self._storage[:count]
            self._storage = grown
        self._make_views(count + more)

    def _make_views(self, count: int) -> None:
        self._records = self._storage[:count]
        self._columns.resize(count, len(self._storage))
        if self._corrections:
            self._corrections.resize(count, len(self._storage))
        self._views: dict[str, NDArray[Any]] = {name: self._records[name] for name in BODY.names or ()}
        self._written.attach(self._views)
        self._sums = None  # it refers to the old records
