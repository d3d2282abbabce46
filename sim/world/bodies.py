"""Holds the bodies of a world as arrays. A step of the world writes them, and the publisher copies them.

`Bodies` has one structured array of `BODY` records (`records`), one view of it per field, and the world's own columns.
Spawn, despawn, teleport and correct change the epochs. Viewers blend a body between two snapshots only if its epoch is
the same in both.

Always: `records` has dtype `BODY` and `len(bodies)` rows. An index means the same body until that body is despawned. A
`spawn` may reallocate the array, and older views then show the old array. So create views where they are used, and do
not store them. This module does not step a world, publish, or read a clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config.rules import is_finite
from twixt.ipc.errors import named_arguments, refusal, text_of
from twixt.ipc.process.renamed import closed_attributes, former_arguments
from twixt.ipc.ring.layout import ColumnForm
from twixt.ipc.rotation import XYZW, QuatOrder, in_xyzw
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import BODY, HAS_COLOR, VISIBLE, new_bodies, turn_between
from twixt.sim.world.body_fields import count_corrections, cut, renew, rgba, without_mask
from twixt.sim.world.colors import ColorRows
from twixt.sim.world.columns import Column, Columns, checked_columns, require_bodies
from twixt.sim.world.tracking import Corrections, LostSums, WrittenVelocities, plain, visibility_mask

# When the array of records grows, it gets spare records. Their number is this share of the array's length. With spare
# records, adding bodies one by one copies each record only a few times.
GROWTH = 0.5
# Lost sums are recorded in an occasional step, for at most this many bodies. The recording needs 128 bytes per body.
MOST_SUMMED = 32_768
# What names one body or several: an index, a slice, an array of indices, or an array of one bool per body.
BodyIndex = int | slice | ArrayLike


@closed_attributes({})
@named_arguments
class Bodies:
    """The bodies of a world; at first `count` visible bodies at the origin. Units are metres, radians and seconds;
    quaternions are xyzw.

    Positions and velocities are float32. The spacing between neighbouring float32 positions is 0.06 mm at x = 1,000 m
    and 0.5 m at 5,400,000 m. A body moves in multiples of this spacing. If you add less than half the spacing to a
    position in place, the addition is lost. To avoid this, subtract an origin near the bodies (such as the first body,
    or a map's tile) from all positions. Integrate in your own float64 arrays, and copy them into `position`. A loss of
    motion that is visible is reported once. If a world adds to single numbers or to selected bodies (`position[mask]
    += v`), the loss is reported only if the world also writes `velocity`.

    The fields are arrays with one row for each of the n bodies: `position` (3), `orientation` (4), `velocity` (3),
    `angular_velocity` (3), `scale`, `color` (4), `epoch`. Write into these arrays, or assign all rows at once:
    `bodies.position = p`. A single row, such as (3,) for `position`, is assigned to all bodies.

    - columns: the world's own values of each body, by name; see `Column`.
    - scene: the world's scene; needed only for columns with one row for each part of a body.

    Raises TwixtError for an invalid declaration of a column. Raises TwixtError for more bodies than fit into memory,
    before any memory is allocated.
    """

    def __init__(self, count: int, columns: Mapping[str, Column] | None = None, scene: Scene | None = None) -> None:
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            raise refusal(count, int, np.integer)(f"Bodies(count) must be a whole number >= 0, got {text_of(count)}")
        declared = checked_columns(columns)
        require_bodies(int(count), declared)
        self._storage = new_bodies(int(count))
        self._written = WrittenVelocities()
        self._free: dict[int, None] = {}  # Rows of despawned bodies; the row that was added last is reused first.
        self._columns = Columns(declared, int(count), scene)
        self._corrections: Corrections | None = None
        self._sums: LostSums | None = None  # None while no lost sums are recorded.
        self._make_views(int(count))

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
        """All fields of all n bodies, dtype `BODY`, shape (n,)."""
        self._written.detect()
        return self._records

    @property
    def position(self) -> NDArray[np.float32]:
        """Positions of the bodies in metres, shape (n, 3)."""
        return self._views["position"] if self._sums is None else self._sums.view

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._assign("position", value)

    @property
    def orientation(self) -> NDArray[np.float32]:
        """Orientations of the bodies as unit quaternions xyzw, shape (n, 4). `q[:, [1, 2, 3, 0]]` converts quaternions
        wxyz."""
        return self._views["orientation"]

    @orientation.setter
    def orientation(self, value: ArrayLike) -> None:
        self._assign("orientation", value)

    @property
    def velocity(self) -> NDArray[np.float32]:
        """Velocities of the bodies in m/s, shape (n, 3). Until the first write, the velocities of all bodies count as
        unknown. Reading the array does not change this."""
        return self._written.view("velocity")

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._written.mark("velocity")
        self._assign("velocity", value)

    @property
    def angular_velocity(self) -> NDArray[np.float32]:
        """Angular velocities of the bodies in rad/s, in the world frame, shape (n, 3). Until the first write, the
        angular velocities of all bodies count as unknown."""
        return self._written.view("angular_velocity")

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._written.mark("angular_velocity")
        self._assign("angular_velocity", value)

    @property
    def scale(self) -> NDArray[np.float16]:
        """Factor by which each body's shape is enlarged in all directions, shape (n,)."""
        return self._views["scale"]

    @scale.setter
    def scale(self, value: ArrayLike) -> None:
        self._assign("scale", value)

    @property
    def color(self) -> NDArray[np.uint8]:
        """Colours of the bodies as rgba, shape (n, 4), stored as bytes.

        Write numbers from 0 to 1, or np.uint8 from 0 to 255: `color[i] = (1, 0, 0)`, `color[:, 3] = 0.5`,
        `color[i] = color[j]`. Three numbers are an opaque colour. You may assign one colour for all bodies or one for
        each body. Reading gives bytes. A body with alpha below 255 is transparent. A body with alpha 0 is not drawn.

        The drawn colour is the shape's colour times the body's. A shape without a colour counts as white once the
        body's colour is given, that is once its red, green or blue was written. Before, such a body has a colour of the
        palette. Raises TwixtError for other values, and for arithmetic in place.
        """
        views = self._views
        return ColorRows("Bodies.color", views["color"], views["flags"]).view()

    @color.setter
    def color(self, value: ArrayLike) -> None:
        self._views["color"][...] = rgba("Bodies.color", value, len(self)).values
        self._views["flags"][:] |= np.uint16(HAS_COLOR)

    @property
    def epoch(self) -> NDArray[np.uint32]:
        """Epochs of the bodies, shape (n,). Viewers do not blend a body across a change of its epoch. If you write
        into `position` so that a body jumps, add 1 to the epoch of that body."""
        return self._views["epoch"]

    @epoch.setter
    def epoch(self, value: ArrayLike) -> None:
        self._assign("epoch", value)

    @property
    def columns(self) -> Columns:
        """The world's own columns by name; each has shape (n,) or (n, width): `bodies.columns["heat"][i] = 1.0`."""
        return self._columns

    @property
    def _column_layout(self) -> dict[str, ColumnForm]:
        """Types and rules of the columns in `_published_columns`, by name."""
        own = self._columns.layout
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
        own = self._columns.published(count)
        if self._corrections is None:
            return own
        offsets = self._corrections.published(sim_time_ns)
        return own | {name: rows[: len(self) if count is None else count] for name, rows in offsets.items()}

    @property
    def visible(self) -> NDArray[np.bool_]:
        """One bool for each body, True if the body is visible, shape (n,). `visible[i] = False` hides body i. Unlike
        `despawn`, it does not free the index i for reuse. `visible[i] = True` restores a despawned body."""
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

    @named_arguments
    def teleport(
        self,
        i: BodyIndex,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        *,
        quat: QuatOrder = XYZW,
    ) -> None:
        """Moves body `i`, or the bodies of an index array, with a cut: viewers do not blend the old and new
        positions. quat: order of `orientation`, "xyzw" or "wxyz"."""
        orientation = in_xyzw(orientation, quat)
        self._cut(i)  # The epoch changes first, so that no body is moved without a cut if a value below is invalid.
        self._place(i, position, orientation)
        if scale is not None:
            rows: Any = i  # numpy's types accept no sequence as an index
            self._views["scale"][rows] = scale

    @former_arguments({"cut_beyond": "max_distance"})
    @named_arguments
    def correct(
        self,
        i: BodyIndex,
        position: ArrayLike,
        orientation: ArrayLike | None = None,
        max_distance: float | None = None,
        *,
        quat: QuatOrder = XYZW,
    ) -> None:
        """Moves body `i`, or the bodies of an index array, by a small correction without a visible jump.

        Right after the correction, viewers draw the body in its old pose. The drawn offset from the new pose then
        decays within a few tenths of a second of simulated time. max_distance: a distance in metres; a body that moves
        further is teleported instead. quat: order of `orientation`, "xyzw" or "wxyz". Raises TwixtError for a negative
        `max_distance`.
        """
        if max_distance is not None and not (is_finite(max_distance) and max_distance >= 0):
            raise refusal(max_distance, int, float, np.number)(
                f"correct(max_distance) must be metres >= 0, or None for no limit, got {text_of(max_distance)}"
            )
        orientation = in_xyzw(orientation, quat)
        named: Any = i
        rows = np.atleast_1d(np.arange(len(self))[named])
        before = self._records[rows]
        self._place(i, position, orientation)
        after = self._records[rows]
        with np.errstate(all="ignore"):  # A body with values that are not finite is not drawn, so it needs no offset.
            moved = before["position"].astype(np.float64) - after["position"]
            near = np.ones(len(rows), bool) if max_distance is None else ~(np.linalg.norm(moved, axis=1) > max_distance)
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

    @named_arguments
    def spawn(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        scale: ArrayLike = 1.0,
        color: ArrayLike | None = None,
        *,
        quat: QuatOrder = XYZW,
    ) -> Any:
        """Adds a body and returns its index. The index of a despawned body is reused. If there is none, the array
        grows. Without `orientation` the body is not rotated. quat: order of `orientation`, "xyzw" or "wxyz".

        If `position` has m rows, (m, 3), the method adds m bodies and returns an array of m indices. Each other
        argument then has either m rows or one row for all m bodies. color: as in `Bodies.color`; if it is None, the
        body's colour is not given. Raises TwixtError for more bodies than fit into memory and for invalid colours.
        """
        orientation = in_xyzw(orientation, quat)
        rows = np.shape(position)[:-1]
        free_rows = self._free_rows(math.prod(rows))
        i: Any = np.array(free_rows, np.int64).reshape(rows) if rows else free_rows[0]
        views = self._views
        renew(self._records, i, self._written.flags)  # The body stays hidden until all values are accepted.
        self._free |= dict.fromkeys(reversed(free_rows))
        self._columns.begin(i)
        for name, value in (("velocity", velocity), ("angular_velocity", angular_velocity)):
            if value is not None:
                views[name][i] = value
                self._written.mark(name)
        flags = VISIBLE
        if color is not None:
            views["color"][i] = rgba("color", color, len(free_rows)).values.reshape((*rows, 4))
            flags |= HAS_COLOR
        self.teleport(i, position, orientation, scale)
        views["flags"][i] |= np.uint16(flags)
        for row in free_rows:
            del self._free[row]
        return i

    def despawn(self, i: BodyIndex) -> None:
        """Removes body `i`, or the bodies of an index array. A later `spawn` reuses the index. Bodies that are already
        removed are ignored."""
        if isinstance(i, int | np.integer):
            gone = [range(len(self))[i]]
        else:
            named: Any = i
            gone = list(dict.fromkeys(np.atleast_1d(np.arange(len(self))[named]).tolist()))
        gone = [row for row in gone if row not in self._free]
        if not gone:
            return
        self._free |= dict.fromkeys(gone)
        rows = gone[0] if len(gone) == 1 else gone
        self._views["flags"][rows] &= np.uint16(0xFFFF ^ VISIBLE)
        self._cut(rows)

    def _place(self, i: BodyIndex, position: ArrayLike, orientation: ArrayLike | None) -> None:
        self._write("position", i, "position", position)
        if orientation is not None:
            self._write("orientation", i, "orientation", orientation)

    def _write(self, name: str, rows: Any, called: str, value: ArrayLike) -> None:
        """Converts values to a field's type and writes them at `rows`. called: the name that an error gives to these
        values."""
        self._views[name][rows] = plain(without_mask(called, value))

    def _cut(self, i: Any) -> None:
        cut(self._views["epoch"], i)
        if self._corrections:
            self._corrections.cut(i)

    def _assign(self, name: str, value: ArrayLike) -> None:
        # `bodies.position += v` first writes through the view, then assigns that same view to `position`.
        if plain(value) is not self._views[name]:
            self._write(name, ..., f"Bodies.{name}", value)

    def _free_rows(self, count: int) -> list[int]:
        """Free indices. The rows of despawned bodies come first, the latest of them before the others. New rows at the
        end of the array follow."""
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
        self._sums = None  # The recorded sums refer to the old records.
