"""The interpolation method `extrapolate`. Between snapshots, bodies move straight. After the newest snapshot, their
motion is predicted by dead reckoning. So drawing never waits for a snapshot.

After the newest snapshot, every body moves by its velocity and turns by its angular velocity. If a snapshot does not
give these velocities, they are measured between the last two snapshots. If these two are too close in time to measure a
speed, an earlier snapshot is used. After PREDICTED_NS all bodies stop. When snapshots arrive again, a drawn body is
usually not at its true pose. Projective velocity blending moves it back (Curtiss Murphy, "Believable Dead Reckoning for
Networked Games", in Eric Lengyel (ed.), Game Engine Gems 2, 2011). With this method, the body continues from its drawn
pose, and its velocity changes gradually into the true velocity. This motion is mixed with the true motion. Here the
share of the true motion starts and ends smoothly, so that speeds do not jump either.

When a snapshot arrives, bodies do not jump, with two exceptions. A body with a new epoch jumps. Bodies also jump if the
snapshot is a newer state of a simulated time that is already stored. This state is shown unchanged, because simulated
time is paused. A body that is at rest in the newest snapshot stays at rest, because predictions are used only where
snapshots are missing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot
from twixt.render.interpolation.blending import straight
from twixt.render.interpolation.hermite import ease
from twixt.render.interpolation.method import PREDICTED_NS, Linear
from twixt.render.interpolation.poses import FARTHEST, Poses, may_be_blended, poses_of
from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized, slerp

Floats = NDArray[np.float64]

# The velocity of a drawn body is measured between two instants. This is the time between them, in ns. In this time, a
# moving body changes its float32 position.
GLANCE_NS = 1_000_000
# Shortest time over which a velocity is measured, as a multiple of the usual time between snapshots. In a shorter time,
# the noise of positions (from float32 or a sensor) has more than twice the effect on the velocity.
SHORTEST_GAP = 0.5
# Largest velocity in m/s, and largest angular velocity in rad/s, that is used. A larger one counts as not given,
# because its square would not fit in float32.
FASTEST = 1e15


@dataclass(frozen=True)
class BodyMotion:
    """Motion of n bodies at one instant."""

    bodies: NDArray[np.void]  # (n,), records of the snapshot at or before this instant
    position: Floats  # (n, 3), metres
    orientation: Floats  # (n, 4), xyzw
    velocity: Floats  # (n, 3), m/s
    spin: Floats  # (n, 3), rad/s, world frame


@dataclass(frozen=True)
class CorrectionBlend:
    """A correction: blends from the drawn motion at `since_ns` to the true motion at `until_ns`. drawn, true: these two
    motions."""

    since_ns: int
    until_ns: int
    drawn: BodyMotion
    true: BodyMotion

    def blend_into(self, poses: Poses, bodies: NDArray[np.void], draw_time_ns: int) -> None:
        """Changes true poses into drawn poses, in place. bodies: records of the snapshot at or before the draw time."""
        drawn, true = self.drawn, self.true
        rows = np.flatnonzero(may_be_blended(drawn.bodies, bodies))
        rows = rows[rows < len(true.bodies)]
        share = (draw_time_ns - self.since_ns) / (self.until_ns - self.since_ns)
        elapsed_s = (draw_time_ns - self.since_ns) * 1e-9
        velocity = straight(drawn.velocity[rows], true.velocity[rows], share)
        spin = straight(drawn.spin[rows], true.spin[rows], share)
        position = straight(drawn.position[rows] + velocity * elapsed_s, poses.position[rows], ease(share))
        orientation = multiply(exp(spin * elapsed_s), normalized(drawn.orientation[rows]))
        near = (np.abs(position) < FARTHEST).all(axis=1)
        poses.position[rows[near]] = position[near]
        poses.orientation[rows] = slerp(orientation, poses.orientation[rows], ease(share))


class Extrapolate(Linear):
    """Predicts motion by dead reckoning while no snapshot arrives. After that, corrects the drawn poses without a
    jump."""

    reach_ns = PREDICTED_NS
    _draw_time_ns: int | None = None
    _correction: CorrectionBlend | None = None
    _stands = False  # True if simulated time is paused: the newest snapshot replaced one of the same time

    def add(self, snapshot: Snapshot) -> None:
        now_ns = self._draw_time_ns
        is_of_world = snapshot.world_epoch == self._world_epoch
        if now_ns is None or not is_of_world or self.replaces(snapshot) or not self._bends(snapshot, now_ns):
            self.take(snapshot)
            return
        last_ns = self._times[-1]
        drawn = self._motion_at(now_ns, self._drawn)
        if self.take(snapshot) is not None:
            # The correction takes as long as the prediction took, so that a large error is not corrected in a hurry.
            back_ns = min(max(now_ns - last_ns, self.usual_gap_ns), PREDICTED_NS)
            self._correction = CorrectionBlend(now_ns, now_ns + back_ns, drawn, self._motion_at(now_ns, super().sample))

    def take(self, snapshot: Snapshot) -> int | None:
        is_replaced = self.replaces(snapshot)
        index = super().take(snapshot)
        if index is not None and index + 1 == len(self._snapshots):
            self._stands = is_replaced
            if is_replaced:
                self._correction = None
        return index

    def sample(self, draw_time_ns: int) -> Poses:
        self._draw_time_ns = draw_time_ns if self._snapshots else None
        return self._drawn(draw_time_ns)

    def reset(self) -> None:
        super().reset()
        self._draw_time_ns = self._correction = None
        self._stands = False

    def beyond(self, draw_time_ns: int) -> Poses:
        newest, last_ns = self._snapshots[-1].bodies, self._times[-1]
        ahead_ns = min(draw_time_ns - last_ns, PREDICTED_NS)
        poses = poses_of(last_ns + ahead_ns, newest)
        if self._stands:
            return poses
        velocity, spin = self._velocities()
        with np.errstate(over="ignore", invalid="ignore"):
            position = newest["position"] + velocity * (ahead_ns * 1e-9)
            near = (np.abs(position) < FARTHEST).all(axis=1)
        poses.position[near] = position[near]
        poses.orientation[:] = multiply(exp(spin * (ahead_ns * 1e-9)), normalized(newest["orientation"]))
        return poses

    def _velocities(self) -> tuple[Floats, Floats]:
        """Linear velocities and angular velocities of the bodies of the newest snapshot, (n, 3) each. If the snapshot
        does not give a velocity, it is measured from an earlier snapshot to the newest one."""
        newest = self._snapshots[-1].bodies
        velocity, spin = np.zeros((len(newest), 3)), np.zeros((len(newest), 3))
        if len(self._snapshots) > 1:
            index = self._index_to_measure_from()
            gap_s = (self._times[-1] - self._times[index]) * 1e-9
            before = self._snapshots[index].bodies
            rows = np.flatnonzero(may_be_blended(before, newest))
            way = newest["position"][rows].astype(np.float64) - before["position"][rows]
            velocity[rows] = way / gap_s
            spin[rows] = _turn(before["orientation"][rows], newest["orientation"][rows]) / gap_s
        for motion, field, flag in (
            (velocity, "velocity", HAS_VELOCITY),
            (spin, "angular_velocity", HAS_ANGULAR_VELOCITY),
        ):
            with np.errstate(invalid="ignore"):
                given = (np.abs(newest[field]) < FASTEST).all(axis=1) & ((newest["flags"] & flag) != 0)
            motion[given] = newest[field][given]
        return velocity, spin

    def _index_to_measure_from(self) -> int:
        """Index of the newest snapshot that is early enough before the last snapshot to measure a velocity between the
        two."""
        far_ns = self.usual_gap_ns * SHORTEST_GAP
        indices = range(len(self._times) - 2, -1, -1)
        return next((index for index in indices if self._times[-1] - self._times[index] >= far_ns), 0)

    def _drawn(self, draw_time_ns: int) -> Poses:
        """Poses that are drawn at `draw_time_ns` if no further snapshot arrives."""
        poses, back = super().sample(draw_time_ns), self._correction
        if back is not None and back.since_ns <= draw_time_ns < back.until_ns:
            back.blend_into(poses, self._snapshots[self.index_at(draw_time_ns)].bodies, draw_time_ns)
        return poses

    def _bends(self, snapshot: Snapshot, now_ns: int) -> bool:
        """True if the true motion at `now_ns` changes when this snapshot is added."""
        index = bisect_left(self._times, snapshot.sim_time_ns)
        after = self._times[index + 1 :] if snapshot.sim_time_ns in self._times else self._times[index:]
        return index > 0 and now_ns > self._times[index - 1] and (len(after) < 2 or now_ns < after[0])

    def _motion_at(self, now_ns: int, sampled: Callable[[int], Poses]) -> BodyMotion:
        bodies = self._snapshots[self.index_at(now_ns)].bodies
        here, soon = sampled(now_ns), sampled(now_ns + GLANCE_NS)
        velocity, spin = np.zeros((len(here), 3)), np.zeros((len(here), 3))
        rows = np.flatnonzero(may_be_blended(bodies, self._snapshots[self.index_at(now_ns + GLANCE_NS)].bodies))
        way = soon.position[rows].astype(np.float64) - here.position[rows]
        velocity[rows] = way / (GLANCE_NS * 1e-9)
        spin[rows] = _turn(here.orientation[rows], soon.orientation[rows]) / (GLANCE_NS * 1e-9)
        return BodyMotion(bodies, here.position.astype(np.float64), here.orientation.astype(np.float64), velocity, spin)


def _turn(start: NDArray[np.floating], end: NDArray[np.floating]) -> Floats:
    """The shortest rotation vectors from the orientations `start` to the orientations `end`, (n, 3)."""
    return log(multiply(normalized(end), conjugate(normalized(start))))
