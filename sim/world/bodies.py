"""Holds the bodies of a world as arrays. A step of the world writes them, and the publisher copies them.

The module `body_arrays` has the arrays. Spawn, despawn, teleport and correct change the epochs. Viewers blend a body
between two snapshots only if its epoch is the same in both.

Always: an index means the same body until that body is despawned. A `spawn` may reallocate the arrays. This module does
not step a world, publish, or read a clock.
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
from twixt.ipc.rotation import XYZW, QuatOrder, in_xyzw
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import HAS_COLOR, VISIBLE, new_bodies, turn_between
from twixt.sim.world.body_arrays import BodyArrays
from twixt.sim.world.body_fields import count_corrections, cut, renew, rgba
from twixt.sim.world.columns import Column, Columns, checked_columns, require_bodies
from twixt.sim.world.tracking import Corrections, visibility_mask

# When the array of records grows, it gets spare records. Their number is this share of the array's length. With spare
# records, adding bodies one by one copies each record only a few times.
GROWTH = 0.5
# Names one body or several: an index, a slice, an array of indices, or an array of one bool per body.
BodyIndex = int | slice | ArrayLike


@closed_attributes({})
@named_arguments
class Bodies(BodyArrays):
    """The bodies of a world. Units are metres, radians and seconds; quaternions are xyzw.

    At first, `count` visible bodies are at the origin. `len(bodies)` is the number of bodies n. Despawned bodies are
    included.

    The fields are arrays with one row for each body: `position` (n, 3), `orientation` (n, 4), `velocity` (n, 3),
    `angular_velocity` (n, 3), `scale` (n,), `color` (n, 4), `epoch` (n,). Write into these arrays, or assign all rows
    at once: `bodies.position = p`. A single row, such as (3,) for `position`, is assigned to all bodies.

    Positions and velocities are float32. Neighbouring float32 positions are 0.06 mm apart at x = 1,000 m, and 0.5 m
    apart at 5,400,000 m. A body moves in multiples of the spacing of float32 numbers at its position. If you add less
    than half the spacing to a position in place, the addition is lost. To avoid this, subtract an origin near the
    bodies from all positions, such as the position of the first body or of a map tile. Or integrate in your own
    float64 arrays, and copy them into `position`. A visible loss of motion is reported once. If a world adds to single
    numbers or to selected bodies (`position[mask] += v`), the loss is reported only if the world also writes
    `velocity`.

    Args:
        count: Number of bodies, >= 0.
        columns: The world's own values of each body, by name. See `Column`.
        scene: The world's scene. Pass it only if a column has one row for each part of a body.

    Raises:
        TwixtError: The declaration of a column is invalid, or there are more bodies than fit into memory. twixt checks
            the number of bodies before it allocates memory.

    Examples:
        ```python
        import numpy as np
        from twixt import Bodies

        bodies = Bodies(100)
        bodies.position[:, 0] = np.arange(100)
        bodies.color[0] = (1, 0, 0)
        bodies.teleport(0, (0, 0, 5))
        new = bodies.spawn((1, 2, 3), velocity=(0, 0, 1))
        bodies.despawn(new)
        ```
    """

    def __init__(self, count: int, columns: Mapping[str, Column] | None = None, scene: Scene | None = None) -> None:
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            raise refusal(count, int, np.integer)(f"Bodies(count) must be a whole number >= 0, got {text_of(count)}")
        declared = checked_columns(columns)
        require_bodies(int(count), declared)
        super().__init__(int(count), Columns(declared, int(count), scene))
        self._free: dict[int, None] = {}  # Rows of despawned bodies; the row that was added last is reused first.

    @property
    def visible(self) -> NDArray[np.bool_]:
        """Mask of the visible bodies, bool (n,).

        `visible[i] = False` hides body i. Unlike `despawn`, hiding a body does not free the index i for reuse.
        `visible[i] = True` restores a despawned body.
        """
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
        """Moves body `i`, or several bodies, with a cut: viewers do not blend the old and the new position.

        Args:
            i: Index of a body, a slice, an array of m indices, or an array of one bool per body.
            position: New positions in metres, (3,) or (m, 3).
            orientation: New unit quaternions, (4,) or (m, 4). By default the orientation is unchanged.
            scale: New scale, a number or (m,). By default the scale is unchanged.
            quat: Order of `orientation`, "xyzw" or "wxyz".

        Raises:
            IndexError: A body does not exist.
            ValueError: The shape of an argument is wrong.
        """
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
        """Moves body `i`, or several bodies, by a small correction without a visible jump.

        Right after the correction, viewers draw the body in its old pose. The drawn offset from the new pose then
        decays exponentially: 37 % of the offset is left after 0.1 s of simulated time, and 5 % after 0.3 s.

        Args:
            i: As in `teleport`.
            position: New positions in metres, (3,) or (m, 3).
            orientation: New unit quaternions, (4,) or (m, 4). By default the orientation is unchanged.
            max_distance: Largest distance of a correction, in metres. A body that moves further is teleported instead.
                None for no limit.
            quat: Order of `orientation`, "xyzw" or "wxyz".

        Raises:
            TwixtError: `max_distance` is negative or not finite.
            IndexError: A body does not exist.
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
        """Adds a body, or m bodies if `position` has m rows.

        The index of a despawned body is reused. If no body is despawned, the arrays grow. After the arrays have grown,
        read them again from the object. If `position` has m rows, each other argument has either m rows or one row for
        all m bodies.

        Args:
            position: Position in metres, (3,) or (m, 3).
            orientation: Unit quaternions, (4,) or (m, 4). By default the body is not rotated.
            velocity: Velocity in m/s, (3,) or (m, 3). By default zero.
            angular_velocity: Angular velocity in rad/s, in the world frame, (3,) or (m, 3). By default zero.
            scale: Factor by which the shape is enlarged, a number or (m,).
            color: As in `Bodies.color`. If it is None, the body has only the colour of its shape.
            quat: Order of `orientation`, "xyzw" or "wxyz".

        Returns:
            The index of the body, or an array of m indices.

        Raises:
            TwixtError: There are more bodies than fit into memory, or a colour is invalid.
        """
        orientation = in_xyzw(orientation, quat)
        rows = np.shape(position)[:-1]
        free_rows = self._free_rows(math.prod(rows))
        i: Any = np.array(free_rows, np.int64).reshape(rows) if rows else free_rows[0]
        views = self._views
        renew(self._records, i, self._written.flags)  # The body stays hidden until all values are accepted.
        self._free |= dict.fromkeys(reversed(free_rows))
        self._columns._begin(i)
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
        """Removes body `i`, or several bodies. A later `spawn` reuses the index.

        Bodies that are already removed are ignored.

        Args:
            i: As in `teleport`.

        Raises:
            IndexError: A body does not exist.
        """
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

    def _cut(self, i: Any) -> None:
        cut(self._views["epoch"], i)
        if self._corrections:
            self._corrections.cut(i)

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
