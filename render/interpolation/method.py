"""The base class of all interpolation methods. It stores snapshots and finds the two around a draw time. This module
also contains the methods `linear`, `none` and `latest`.

An interpolation method overrides `blend` if it needs only two snapshots, `blend_at` if it also needs their neighbours,
and `beyond` if it can draw times after the newest snapshot. For all methods, the user's columns are blended here, by
their rules.

Always: previous.sim_time_ns <= draw time < next.sim_time_ns, or there is no next snapshot and `beyond` computes the
poses. For each simulated time, only the snapshot with the newest tick is stored. It is never blended with snapshots
that it replaced. The first snapshot of a newer world epoch removes all older snapshots. If the same time is sampled
twice, the results are identical.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import Snapshot, has_color
from twixt.render.interpolation.blending import (
    Rule,
    array_of,
    blend_columns,
    blend_part_columns,
    blend_world_columns,
    call_users,
    find,
    read_rules,
    straight,
)
from twixt.render.interpolation.poses import FARTHEST, Poses, may_be_blended, no_poses, poses_of
from twixt.render.interpolation.quaternion import normalized, slerp

# As many snapshots are stored as fit into KEPT_BYTES. But at least KEPT_LEAST are stored, for a blend over three
# intervals, and at most KEPT_MOST.
KEPT_BYTES = 256 << 20
KEPT_LEAST = 4
KEPT_MOST = 64
# Longest time beyond the newest snapshot for which motion is predicted, in ns of simulated time. If no snapshot arrives
# for longer, the simulation has stalled, and a prediction is no longer useful.
PREDICTED_NS = 250_000_000
# The usual time between snapshots is the median of this many times. One or two lost snapshots do not change the median.
# If the rate of snapshots changes, the median soon follows.
GAPS = 8


class Method:
    """Stores snapshots, ordered by simulated time."""

    # Longest time after the newest snapshot that the method can draw, in ns of simulated time.
    reach_ns: int = 0

    def __init__(self, rules: Mapping[str, Rule] | None = None) -> None:
        self._snapshots: list[Snapshot] = []
        self._times: list[int] = []
        self._began_at: Sequence[int] = ()  # set when the first snapshot is dropped; see `began_at`
        self._world_epoch: int | None = None
        self.rules = rules or {}

    @property
    def snapshots(self) -> Sequence[Snapshot]:
        """The stored snapshots, oldest first."""
        return self._snapshots

    @property
    def usual_gap_ns(self) -> int:
        """Median of the simulated times between the last snapshots, in ns; 0 if fewer than two snapshots are stored."""
        times = self._times[-GAPS - 1 :]
        gaps = sorted(later - earlier for earlier, later in pairwise(times))
        return gaps[len(gaps) // 2] if gaps else 0

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Rules of the user's columns, see blending.py. The key is the name of the column. The rules may be set at any
        time."""
        return self._rules

    @rules.setter
    def rules(self, rules: Mapping[str, Rule]) -> None:
        self._blenders = read_rules(rules)
        self._rules = dict(rules)

    def add(self, snapshot: Snapshot) -> None:
        """Adds a snapshot. The snapshot is ignored if it is already stored, if it belongs to an older world, or if it
        is older than all stored snapshots.

        If it has the same simulated time as a stored snapshot and a newer tick, it replaces the stored snapshot.
        """
        self.take(snapshot)

    def take(self, snapshot: Snapshot) -> int | None:
        """Adds a snapshot like `add`. Returns the snapshot's index in `snapshots`, or None if the snapshot was
        ignored."""
        if self._world_epoch is None or snapshot.world_epoch > self._world_epoch:
            self.reset()
            self._world_epoch = snapshot.world_epoch
        elif snapshot.world_epoch < self._world_epoch:
            return None
        index = bisect_left(self._times, snapshot.sim_time_ns)
        if self.replaces(snapshot):
            self._snapshots[index] = snapshot
            return index
        if index < len(self._times) and (index == 0 or self._times[index] == snapshot.sim_time_ns):
            return None
        self._snapshots.insert(index, snapshot)
        self._times.insert(index, snapshot.sim_time_ns)
        size = snapshot.bodies.nbytes + sum(column.nbytes for column in snapshot.columns.values())
        excess = len(self._times) - max(KEPT_LEAST, min(KEPT_MOST, KEPT_BYTES // max(1, size)))
        if excess > 0:
            self._began_at = began_at(self)
            del self._snapshots[:excess], self._times[:excess]
            index -= excess
        return index

    def replaces(self, snapshot: Snapshot) -> bool:
        """True if a snapshot of the same simulated time is stored and this one has a newer state."""
        index = bisect_left(self._times, snapshot.sim_time_ns)
        if snapshot.world_epoch != self._world_epoch or index == len(self._times):
            return False
        return self._times[index] == snapshot.sim_time_ns and snapshot.tick > self._snapshots[index].tick

    def sample(self, draw_time_ns: int) -> Poses:
        """Poses of all bodies at `draw_time_ns`, or at the nearest time that can be drawn. If no snapshot has been
        added yet, there are no poses."""
        if not self._snapshots:
            return no_poses()
        index = self.index_at(draw_time_ns)
        start = self._times[index]
        if draw_time_ns <= start:
            return self._with_columns(self.at(index), index, 0.0)
        if index + 1 == len(self._times):
            return self._with_columns(self.beyond(draw_time_ns), index, 0.0)
        alpha = (draw_time_ns - start) / (self._times[index + 1] - start)
        return self._with_columns(self.blend_at(index, alpha, draw_time_ns), index, alpha)

    def reset(self) -> None:
        """Removes all snapshots."""
        self._snapshots.clear()
        self._times.clear()
        self._began_at = ()
        self._world_epoch = None

    def index_at(self, draw_time_ns: int) -> int:
        """Index of the newest snapshot at or before the draw time; 0 if all snapshots are later."""
        return max(0, bisect_right(self._times, draw_time_ns) - 1)

    def at(self, index: int) -> Poses:
        """Poses of the bodies at the time of `snapshots[index]`."""
        return poses_of(self._times[index], self._snapshots[index].bodies)

    def blend_at(self, index: int, alpha: float, draw_time_ns: int) -> Poses:
        """Poses of the bodies between `snapshots[index]` and the next snapshot. alpha: share of the time between the
        two that has passed, 0 < alpha < 1."""
        return self.blend(self._snapshots[index], self._snapshots[index + 1], alpha, draw_time_ns)

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        """Poses of the bodies between the snapshots `previous` and `following`. alpha: share of the time between the
        two that has passed, 0 < alpha < 1."""
        raise NotImplementedError(f"{type(self).__name__} has no blend(previous, following, alpha, draw_time_ns)")

    def beyond(self, draw_time_ns: int) -> Poses:
        """Poses of the bodies at a draw time after the newest snapshot. By default, the bodies stay where they are in
        the newest snapshot."""
        return self.at(len(self._snapshots) - 1)

    def _with_columns(self, poses: Poses, index: int, alpha: float) -> Poses:
        previous = self._snapshots[index]
        if not (previous.columns or previous.part_columns or previous.world_columns):
            return poses
        following = self._snapshots[index + 1] if index + 1 < len(self._snapshots) else previous
        newest, rules = self._snapshots[-1], self._blenders
        return replace(
            poses,
            columns=blend_columns(previous, following, newest, alpha, rules, len(poses)),
            part_columns=blend_part_columns(previous, following, newest, alpha, rules),
            world_columns=blend_world_columns(previous, following, newest, alpha, rules),
        )


# The methods `linear`, `none` and `latest`. `linear` blends two snapshots linearly. The other two draw published
# states.
#
# `linear` blends positions, scales and colours by lerp, and orientations by slerp. A body is blended only if it has the
# same epoch in both snapshots. A new epoch means that the body was spawned, despawned or moved elsewhere between the
# snapshots. If a body is not blended, its older state is drawn until the newer snapshot's instant. This also happens if
# its newer state is not finite. A scale that would cross zero is not blended either. Methods with other curves override
# only `positions` or `orientations`.
#
# `none` draws the newest state at or before the draw time, like a simple viewer. `latest` draws the newest state of
# all, whatever the draw time is. It has the least delay and does not smooth the motion.


def began_at(method: Method) -> Sequence[int]:
    """Simulated times, in ns, of the first two snapshots since the last reset, even if they are no longer stored."""
    return method._began_at or method._times[:2]


class Linear(Method):
    """Blends by lerp, and orientations by the shortest slerp."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        poses = poses_of(draw_time_ns, previous.bodies)
        lasting = may_be_blended(previous.bodies, following.bodies)
        if not lasting.any():
            return poses
        # Usually all bodies can be blended. In this case, no records are copied.
        is_all = len(poses) == len(following.bodies) and bool(lasting.all())
        rows = slice(None) if is_all else np.flatnonzero(lasting)
        old, new = previous.bodies[rows], following.bodies[rows]
        gap_s = (following.sim_time_ns - previous.sim_time_ns) * 1e-9
        poses.position[rows] = self.positions(old, new, alpha, gap_s)
        poses.orientation[rows] = self.orientations(old, new, alpha, gap_s)
        poses.scale[rows] = straight(old["scale"], new["scale"], alpha, keep_sign=True, dtype=np.float32)
        poses.color[rows] = self.colors(old, new, alpha)
        return poses

    def colors(self, old: NDArray[np.void], new: NDArray[np.void], alpha: float) -> NDArray[np.uint8]:
        """Colours of m bodies, (m, 4), rgba. old, new: records of the bodies in the two snapshots. If the colour of a
        body is given in only one of them, it has its old colour."""
        blended = straight(old["color"], new["color"], alpha)
        keeps = has_color(old) != has_color(new)
        return np.where(keeps[:, None], old["color"], blended) if keeps.any() else blended

    def positions(
        self, old: NDArray[np.void], new: NDArray[np.void], alpha: float, gap_s: float
    ) -> NDArray[np.floating]:
        """Positions of m bodies, (m, 3), metres. old, new: records of the bodies in the two snapshots. gap_s: simulated
        time between the snapshots, in seconds."""
        return straight(old["position"], new["position"], alpha, dtype=np.float64)

    def orientations(
        self, old: NDArray[np.void], new: NDArray[np.void], alpha: float, gap_s: float
    ) -> NDArray[np.floating]:
        """Orientations of m bodies, (m, 4), unit quaternions xyzw. The parameters are the same as those of
        `positions`."""
        return slerp(old["orientation"], new["orientation"], alpha)


class Nearest(Method):
    """Shows each snapshot unchanged until the time of the next snapshot."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        return poses_of(draw_time_ns, previous.bodies)


class Latest(Method):
    """Shows the newest snapshot unchanged. The draw time and the columns of the poses are those of this snapshot."""

    def sample(self, draw_time_ns: int) -> Poses:
        if not self._snapshots:
            return no_poses()
        newest = len(self._snapshots) - 1
        return self._with_columns(self.at(newest), newest, 0.0)


# This adapter calls a user-defined interpolation method, `module:Class`. It checks the method's results, and names the
# method in errors.
#
# The class needs the methods add(snapshot), sample(draw_time_ns) and reset(). If a snapshot has the same `sim_time_ns`
# as an earlier snapshot, it replaces the earlier one. The result of `sample` must have `position` (n, 3) and
# `orientation` (n, 4). It may have `scale` (n,), `color` (n, 4), `visible` (n,), `columns` and `draw_time_ns`. If one
# of these is missing, it is taken from the snapshot at or before the draw time. The class may have `reach_ns`, the
# longest time beyond the newest snapshot that it can draw. If a result after the newest snapshot has no `draw_time_ns`,
# the requested time is used.
#
# The returned poses have the shapes and types of `Poses`, and their orientations have unit length. Bodies whose values
# are not finite are hidden.


VERBS = ("add", "sample", "reset")


class UserMethod(Nearest):
    """Gives a user-defined interpolation method the interface of `Method`. Raises TwixtError for every error of the
    user's class.

    named_by: the setting, such as a flag, with which the user named the method.
    """

    def __init__(self, reference: str, named_by: str = "interpolation") -> None:
        super().__init__()
        self._name = reference
        kind = find(reference, named_by, "my_methods:Springy", "class {name} with add, sample and reset")
        if not isinstance(kind, type):
            raise TwixtError(f"{named_by}: {reference} must be a class with {', '.join(VERBS)}, got {kind!r}")
        missing = [verb for verb in VERBS if not callable(getattr(kind, verb, None))]
        if missing:
            raise TwixtError(
                f"{named_by}: {reference} has no {' and no '.join(missing)}; a method needs add(snapshot), "
                "sample(draw_time_ns) and reset()"
            )
        self._users = call_users(f"{reference}.__init__", kind)
        reach_ns = getattr(self._users, "reach_ns", 0)
        if not isinstance(reach_ns, int) or reach_ns < 0:
            raise TwixtError(f"{reference}.reach_ns must be whole nanoseconds >= 0, got {reach_ns!r}")
        self.reach_ns = reach_ns

    def add(self, snapshot: Snapshot) -> None:
        if self.take(snapshot) is not None:
            call_users(f"{self._name}.add", self._users.add, snapshot)

    def reset(self) -> None:
        super().reset()
        call_users(f"{self._name}.reset", self._users.reset)

    def sample(self, draw_time_ns: int) -> Poses:
        if not self._snapshots:
            return no_poses()
        if isinstance(self._users, Method) and self._users.rules != self.rules:
            self._users.rules = self.rules
        answer = call_users(f"{self._name}.sample", self._users.sample, draw_time_ns)
        published = super().sample(draw_time_ns)
        position = self._array(answer, "position", (None, 3))
        count = len(position)
        orientation = self._array(answer, "orientation", (count, 4))
        scale = self._array(answer, "scale", (count,), _rows(published.scale, count, 1.0))
        color = self._array(answer, "color", (count, 4), _rows(published.color, count, 255))
        visible = self._array(answer, "visible", (count,), _rows(published.visible, count, True))
        with np.errstate(over="ignore", invalid="ignore"):
            position, scale = position.astype(np.float64), scale.astype(np.float32)
            drawable = (np.abs(position) < FARTHEST).all(axis=1) & np.isfinite(scale)
            drawable &= np.isfinite(orientation.astype(np.float64)).all(axis=1)
            color = np.clip(np.nan_to_num(color), 0, 255).astype(np.uint8)
        visible = visible.astype(bool)
        return Poses(
            self._draw_time_of(answer, draw_time_ns),
            position=position,
            orientation=normalized(orientation).astype(np.float32),
            scale=scale,
            color=color,
            visible=visible & drawable,
            columns=self._columns_of(answer) or published.columns,
            not_finite=int(np.count_nonzero(visible & ~drawable)),
            epoch=_rows(published.epoch, count, 0),
            drawable=drawable,
            part_columns=published.part_columns,
            world_columns=published.world_columns,
            has_color=_rows(published.has_color, count, False) | (color[:, :3] != 255).any(axis=1),
        )

    def _draw_time_of(self, answer: Any, asked_ns: int) -> int:
        held_ns = min(max(asked_ns, self._times[0]), self._times[-1] + self.reach_ns)
        draw_time_ns = self._field(answer, "draw_time_ns", held_ns)
        if not isinstance(draw_time_ns, int | np.integer):
            rule = f"{self._name}.sample must return poses with draw_time_ns in whole nanoseconds"
            raise TwixtError(f"{rule}, got {draw_time_ns!r}")
        return int(draw_time_ns)

    def _columns_of(self, answer: Any) -> dict[str, NDArray[Any]]:
        columns = self._field(answer, "columns", None)
        rule = f"{self._name}.sample must return poses with columns as arrays by name"
        if columns is None:
            return {}
        if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
            raise TwixtError(f"{rule}, got {type(columns).__name__}")
        arrays = {name: array_of(values, f"{rule}; of {name!r}") for name, values in columns.items()}
        for name, array in arrays.items():
            if not array.ndim:
                raise TwixtError(f"{rule}, a row for each body, got {array.tolist()!r} for {name!r}")
        return arrays

    def _field(self, answer: Any, name: str, default: Any) -> Any:
        return call_users(f"{self._name}.sample's {name}", getattr, answer, name, default)

    def _array(
        self, answer: Any, field: str, shape: tuple[int | None, ...], default: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        value = self._field(answer, field, default)
        if value is None:
            value = default
        rule = f"{self._name}.sample must return poses with {field} {_shape_text(shape)}"
        if value is None:
            raise TwixtError(f"{rule}, got {type(answer).__name__} without it")
        array = array_of(value, f"{rule}, of numbers")
        if array.dtype.kind not in "fiub":
            raise TwixtError(f"{rule}, of numbers, got {array.dtype}")
        if array.ndim != len(shape) or any(w not in (None, h) for w, h in zip(shape, array.shape, strict=True)):
            raise TwixtError(f"{rule}, got {_shape_text(array.shape)}")
        return array.copy()


def _rows(published: NDArray[Any], count: int, more: Any) -> NDArray[Any]:
    """Returns `count` rows: first the published rows, then rows filled with the value `more`."""
    rows = np.full((count, *published.shape[1:]), more, published.dtype)
    both = min(count, len(published))
    rows[:both] = published[:both]
    return rows


def _shape_text(shape: tuple[int | None, ...]) -> str:
    return (
        "(" + ", ".join("n" if size is None else str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"
    )
