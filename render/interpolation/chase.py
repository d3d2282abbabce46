"""Chase: moves from the last drawn pose towards the newest snapshot. Simple, and slightly late.

Each new snapshot is a new target. The move starts at the pose that was drawn last before the snapshot arrived. It ends
`chase_ms` of draw time later, or at the snapshot's own instant if that is later still. So bodies neither jump nor stop
before the next target arrives. Works with any clock.

If the newest snapshot is replaced by a newer state of the same instant, the move ends and that state is shown.

A move starts no earlier than its own duration before its end, so that a long silence does not stretch the next move.
Sampling stores only the pose drawn last, so sampling twice gives identical bytes. Cuts (a new epoch), visibility and
discrete columns come from the snapshot at or before the draw time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import Snapshot
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

# A target more than this many usual gaps away comes after a rest. One or two lost snapshots do not count as a rest.
REST_GAPS = 4


class Chase(Linear):
    """Starts a new move at every newest snapshot; a late snapshot is not a target."""

    _drawn: Snapshot | None = None  # the state drawn last, as a snapshot at its draw time
    _start: Snapshot | None = None  # start of the current move
    _start_ns = _end_ns = 0

    def __init__(self, chase_ms: float | None = None) -> None:
        super().__init__()
        self.reach_ns = PREDICTED_NS
        self.chase_ms = chase_ms

    @property
    def chase_ms(self) -> float | None:
        """Duration of a move, if the target is not further ahead. None: the usual gap between snapshots."""
        return self._chase_ms

    @chase_ms.setter
    def chase_ms(self, value: float | None) -> None:
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise TwixtError(f"chase_ms must be a finite number >= 0, or None for the usual gap, got {value!r}")
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
        """A copy of the snapshot `life`. Bodies whose epochs are the same in `start` get the poses drawn at
        `start`."""
        rows = np.flatnonzero(may_be_blended(start.bodies, life.bodies))
        bodies = life.bodies.copy()
        for field in ("position", "orientation", "scale", "color"):
            bodies[field][rows] = start.bodies[field][rows]
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
        """Copies of `columns` with the values of `drawn` in these rows (ascending). Discrete columns do not change."""
        copies = _copies(columns)
        for name, column in copies.items():
            seen = drawn.get(name)
            if seen is not None and alike(column, seen) and rule_of(name, column, self._blenders) != "none":
                known = rows[: np.searchsorted(rows, min(len(seen), len(column)))]
                column[known] = seen[known]
        return copies


def _copies(columns: Mapping[str, Column]) -> dict[str, Column]:
    return {name: np.array(column) for name, column in columns.items()}
