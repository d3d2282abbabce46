"""The interpolation method `chase`. It moves bodies from the pose that was drawn last towards the newest snapshot. It
is simple, and bodies are drawn slightly late.

Each new snapshot is the target of a new move. The move starts at the pose that was drawn last before the snapshot
arrived. It ends after `chase_ms` of draw time, or at the snapshot's own instant if this is later. So bodies do not
jump, and do not stop before the next target arrives. The method works with any clock.

If a newer state of the same simulated time replaces the newest snapshot, the move ends and the newer state is shown.

If no snapshot arrives for a long time, the next move is still not longer than its normal duration. Sampling stores only
the pose that was drawn last. So if the same time is sampled twice, the results are identical. The snapshot at or before
the draw time determines which bodies have a new epoch and are not blended, which bodies are visible, and the values of
discrete columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidValue
from twixt.ipc.snapshot import Snapshot, has_color
from twixt.render.interpolation.blending import (
    Column,
    alike,
    blend_columns,
    blend_part_columns,
    blend_world_columns,
    rule_of,
)
from twixt.render.interpolation.method import PREDICTED_NS, Linear
from twixt.render.interpolation.poses import Poses, may_be_blended, no_poses, records_of

# If a move to the newest snapshot would be longer than this many usual times between snapshots, no snapshot had arrived
# for a long time. One or two lost snapshots do not count as a long time.
REST_GAPS = 4


class Chase(Linear):
    """Starts a new move whenever a newest snapshot arrives. A snapshot that arrives late, after a newer one, starts no
    move."""

    _drawn: Snapshot | None = None  # the state that was drawn last, as a snapshot with the draw time
    _start: Snapshot | None = None  # state at the start of the current move
    _start_ns = _end_ns = 0

    def __init__(self, chase_ms: float | None = None) -> None:
        super().__init__()
        self.reach_ns = PREDICTED_NS
        self.chase_ms = chase_ms

    @property
    def chase_ms(self) -> float | None:
        """Duration of a move in ms. None means the usual time between snapshots. A move takes longer if its target is
        later."""
        return self._chase_ms

    @chase_ms.setter
    def chase_ms(self, value: float | None) -> None:
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InvalidValue(
                f"chase_ms must be a finite number >= 0, or None for the publish interval, got {value!r}"
            )
        self._chase_ms = value

    def add(self, snapshot: Snapshot) -> None:
        is_replaced = self.replaces(snapshot)
        index = self.take(snapshot)
        if is_replaced and index == len(self._snapshots) - 1:
            self._start = None
            return
        if index is None or index + 1 < len(self._snapshots):
            return
        gap_ns = self.usual_gap_ns
        chase_ns = gap_ns if self._chase_ms is None else round(self._chase_ms * 1e6)
        self.reach_ns = max(PREDICTED_NS, chase_ns)
        self._start = self._drawn
        if self._start is not None:
            self._start_ns, self._end_ns = self._start.sim_time_ns, snapshot.sim_time_ns
            self._end_ns = max(self._end_ns, self._start_ns + chase_ns)
            if self._end_ns - self._start_ns > REST_GAPS * max(gap_ns, chase_ns):
                self._start_ns = self._end_ns - chase_ns

    def sample(self, draw_time_ns: int) -> Poses:
        if not self._snapshots:
            return no_poses()
        life = self._snapshots[self.index_at(draw_time_ns)]
        poses = super().sample(draw_time_ns) if self._start is None else self._on_the_way(life, draw_time_ns)
        bodies = records_of(poses)
        bodies["epoch"] = life.bodies["epoch"]
        self._drawn = Snapshot(
            draw_time_ns,
            bodies,
            _copies(poses.columns),
            part_columns=_copies(poses.part_columns),
            part_bodies=life.part_bodies,
            world_columns=_copies(poses.world_columns),
        )
        return poses

    def reset(self) -> None:
        super().reset()
        self._drawn = self._start = None

    def _on_the_way(self, life: Snapshot, draw_time_ns: int) -> Poses:
        assert self._start is not None
        newest = self._snapshots[-1]
        length_ns = self._end_ns - self._start_ns
        gone_ns = min(max(draw_time_ns - self._start_ns, 0), length_ns)
        alpha = gone_ns / length_ns if length_ns else float(draw_time_ns >= self._end_ns)
        start = self._as_drawn(life, self._start)
        end_ns = max(self._end_ns, newest.sim_time_ns)
        poses = self.blend(start, newest, alpha, max(self._times[0], min(draw_time_ns, end_ns)))
        rules = self._blenders
        return replace(
            poses,
            columns=blend_columns(start, newest, newest, alpha, rules, len(poses)),
            part_columns=blend_part_columns(start, newest, newest, alpha, rules),
            world_columns=blend_world_columns(start, newest, newest, alpha, rules),
        )

    def _as_drawn(self, life: Snapshot, start: Snapshot) -> Snapshot:
        """A copy of the snapshot `life`. In the copy, each body that has the same epoch in `start` has the pose that it
        has in `start`."""
        rows = np.flatnonzero(may_be_blended(start.bodies, life.bodies))
        bodies = life.bodies.copy()
        for field in ("position", "orientation", "scale"):
            bodies[field][rows] = start.bodies[field][rows]
        blended = rows[has_color(start.bodies[rows]) == has_color(life.bodies[rows])]
        bodies["color"][blended] = start.bodies["color"][blended]
        parts = np.flatnonzero(np.isin(life.part_bodies, rows))
        if not np.array_equal(start.part_bodies, life.part_bodies):
            parts = parts[:0]
        return Snapshot(
            life.sim_time_ns,
            bodies,
            self._columns_as_drawn(life.columns, start.columns, rows),
            part_columns=self._columns_as_drawn(life.part_columns, start.part_columns, parts),
            part_bodies=life.part_bodies,
            world_columns=self._columns_as_drawn(life.world_columns, start.world_columns, np.zeros(1, np.intp)),
        )

    def _columns_as_drawn(
        self, columns: Mapping[str, Column], drawn: Mapping[str, Column], rows: NDArray[np.intp]
    ) -> dict[str, Column]:
        """Copies of `columns`. In the rows `rows`, their values are those of `drawn`. Discrete columns do not change.
        rows: ascending."""
        copies = _copies(columns)
        for name, column in copies.items():
            seen = drawn.get(name)
            if seen is not None and alike(column, seen) and rule_of(name, column, self._blenders) != "none":
                known = rows[: np.searchsorted(rows, min(len(seen), len(column)))]
                column[known] = seen[known]
        return copies


def _copies(columns: Mapping[str, Column]) -> dict[str, Column]:
    return {name: np.array(column) for name, column in columns.items()}
