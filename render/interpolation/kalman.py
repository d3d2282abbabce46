"""The interpolation method `kalman`. It draws poses that were smoothed by a Kalman filter. Use it for states with
noise, such as those of a robot that is measured.

Each body has one filter. It estimates position and velocity, and orientation and angular velocity, with covariances (R.
E. Kalman 1960). The filter's model is a constant velocity. It is disturbed by an acceleration that is constant between
snapshots (Bar-Shalom, Li, Kirubarajan, "Estimation with Applications to Tracking and Navigation", 2001, 6.3.2). The
error of an orientation is a rotation vector (Lefferts, Markley, Shuster 1982). Published velocities are also used as
measurements. The filtered snapshots are stored and drawn. Bodies move straight between two filtered snapshots. After
the newest one, they move by their filtered velocities, see extrapolate.py.

Results are finite for every body whose published state is finite. A filter restarts if its body is spawned, despawned
or moved elsewhere. A late snapshot is ignored, because a filter only moves forward. If a newer state of the newest
simulated time arrives, it is an edit, not a measurement. It restarts the filters of bodies whose record changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot
from twixt.render.interpolation.extrapolate import FASTEST, Extrapolate, Floats
from twixt.render.interpolation.poses import finite, may_be_blended
from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized

# Standard deviations of the published values. They are typical of an indoor tracker or a robot's odometry. Only the
# ratio of these values to the accelerations below affects the drawn poses. With 60 snapshots per second, half of the
# noise remains, and a body in free fall is drawn 3 cm behind its true place.
POSITION_NOISE_M = 0.02
VELOCITY_NOISE_M_S = 0.1
TURN_NOISE_RAD = 0.04
SPIN_NOISE_RAD_S = 0.2
# Standard deviations of the accelerations between snapshots. The model of constant velocity leaves these accelerations
# out. Examples are a hand, or a robot that starts or turns.
ACCELERATION_M_S2 = 5.0
TURN_ACCELERATION_RAD_S2 = 10.0
# Standard deviations of velocities that are not measured yet. Examples are the velocity of a thrown body and the
# angular velocity of a wheel.
FIRST_SPEED_M_S = 10.0
FIRST_SPIN_RAD_S = 20.0


@dataclass(frozen=True)
class MotionNoise:
    """Standard deviations of a position in m or an angle in rad, and of its velocity and its acceleration."""

    position: float
    velocity: float
    acceleration: float
    first_velocity: float


MOVING = MotionNoise(POSITION_NOISE_M, VELOCITY_NOISE_M_S, ACCELERATION_M_S2, FIRST_SPEED_M_S)
TURNING = MotionNoise(TURN_NOISE_RAD, SPIN_NOISE_RAD_S, TURN_ACCELERATION_RAD_S2, FIRST_SPIN_RAD_S)


@dataclass
class Covariance:
    """For n filters: the variances of position and velocity, and the covariance of the two. They are the same for all
    axes."""

    noise: MotionNoise
    position: Floats  # (n,)
    cross: Floats  # (n,)
    velocity: Floats  # (n,)

    @classmethod
    def initial(cls, noise: MotionNoise, given: NDArray[np.bool_]) -> Covariance:
        """Covariances after the first measurement. given: mask, True for filters whose velocity was measured too."""
        count = len(given)
        velocity = np.where(given, noise.velocity**2, noise.first_velocity**2)
        return cls(noise, np.full(count, noise.position**2), np.zeros(count), velocity)

    def predict(self, gap_s: float) -> None:
        """Adds the uncertainty that a prediction over `gap_s` seconds has."""
        spread = self.noise.acceleration**2 * gap_s**2
        self.position = self.position + 2 * gap_s * self.cross + gap_s**2 * self.velocity + spread * gap_s**2 / 4
        self.cross = self.cross + gap_s * self.velocity + spread * gap_s / 2
        self.velocity = self.velocity + spread

    def position_gains(self) -> tuple[Floats, Floats]:
        """Applies a position measurement. Returns the Kalman gains of position and velocity, (n, 1) each."""
        total = self.position + self.noise.position**2
        share, gain = self.position / total, self.cross / total
        self.position, self.cross, self.velocity = (
            (1 - share) * self.position,
            (1 - share) * self.cross,
            self.velocity - gain * self.cross,
        )
        return share[:, None], gain[:, None]

    def velocity_gains(self, given: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Applies a velocity measurement. Returns the Kalman gains of position and velocity; they are 0 for filters
        without a measured velocity."""
        total = self.velocity + self.noise.velocity**2
        gain, share = np.where(given, self.cross / total, 0.0), np.where(given, self.velocity / total, 0.0)
        self.position, self.cross, self.velocity = (
            self.position - gain * self.cross,
            (1 - share) * self.cross,
            (1 - share) * self.velocity,
        )
        return gain[:, None], share[:, None]

    def copy_rows(self, rows: NDArray[np.intp], other: Covariance) -> None:
        """Copies the rows of `other` into the rows `rows`. other: has one row for each of `rows`."""
        for name in ("position", "cross", "velocity"):
            getattr(self, name)[rows] = getattr(other, name)


@dataclass
class State:
    """Estimated state of n filters."""

    position: Floats  # (n, 3), metres
    velocity: Floats  # (n, 3), m/s
    orientation: Floats  # (n, 4), xyzw
    spin: Floats  # (n, 3), rad/s, world frame
    moving: Covariance
    turning: Covariance

    def copy_rows(self, rows: NDArray[np.intp], other: State) -> None:
        """Copies the rows of `other` into the rows `rows`."""
        for name in ("position", "velocity", "orientation", "spin"):
            getattr(self, name)[rows] = getattr(other, name)[rows]
        self.moving.copy_rows(rows, _rows_of(other.moving, rows))
        self.turning.copy_rows(rows, _rows_of(other.turning, rows))


class Kalman(Extrapolate):
    """Filters every new snapshot. The property `snapshots` contains the filtered snapshots."""

    _state: State | None = None
    _published: NDArray[np.void] | None = None  # records of the newest snapshot, not filtered

    def add(self, snapshot: Snapshot) -> None:
        if self._world_epoch is not None and snapshot.world_epoch < self._world_epoch:
            return
        known = self._snapshots[-1] if self._snapshots and snapshot.world_epoch == self._world_epoch else None
        is_edit = self.replaces(snapshot)
        if known is not None and not is_edit and snapshot.sim_time_ns <= known.sim_time_ns:
            return
        if known is not None and snapshot.sim_time_ns < known.sim_time_ns:
            return
        state = _first_state(snapshot.bodies)
        if is_edit and self._state is not None and self._published is not None:
            state.copy_rows(np.flatnonzero(_same_records(self._published, snapshot.bodies)), self._state)
        elif known is not None and self._state is not None:
            gap_s = (snapshot.sim_time_ns - known.sim_time_ns) * 1e-9
            # Filtered records have the same epochs as the published records. They are finite if the published records
            # are finite.
            rows = np.flatnonzero(may_be_blended(known.bodies, snapshot.bodies))
            _update(state, self._state, snapshot.bodies, rows, gap_s)
        super().add(replace(snapshot, bodies=_records(snapshot.bodies, state)))
        self._state, self._published = state, snapshot.bodies

    def reset(self) -> None:
        super().reset()
        self._state = self._published = None


def _same_records(old: NDArray[np.void], new: NDArray[np.void]) -> NDArray[np.bool_]:
    """Mask (min(n, m),): True for records whose bytes are all equal."""
    both = min(len(old), len(new))
    old_bytes, new_bytes = (bodies[:both].copy().view("u1").reshape(both, BODY.itemsize) for bodies in (old, new))
    return (old_bytes == new_bytes).all(axis=1)  # type: ignore[no-any-return]


def _given(bodies: NDArray[np.void], field: str, flag: int) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return ((bodies["flags"] & flag) != 0) & (np.abs(bodies[field]) < FASTEST).all(axis=1)


def _first_state(bodies: NDArray[np.void]) -> State:
    moves, turns = _given(bodies, "velocity", HAS_VELOCITY), _given(bodies, "angular_velocity", HAS_ANGULAR_VELOCITY)
    return State(
        bodies["position"].astype(np.float64),
        np.where(moves[:, None], bodies["velocity"], 0.0).astype(np.float64),
        normalized(bodies["orientation"]),
        np.where(turns[:, None], bodies["angular_velocity"], 0.0).astype(np.float64),
        Covariance.initial(MOVING, moves),
        Covariance.initial(TURNING, turns),
    )


def _update(first: State, before: State, bodies: NDArray[np.void], rows: NDArray[np.intp], gap_s: float) -> None:
    """Updates the state `before` with the measurements of a snapshot, and writes the result into the rows `rows` of
    `first`. first: states computed from this snapshot alone. bodies: records of the snapshot."""
    moves = _given(bodies, "velocity", HAS_VELOCITY)[rows]
    moving = _rows_of(before.moving, rows)
    moving.predict(gap_s)
    velocity = before.velocity[rows]
    position = before.position[rows] + velocity * gap_s
    share, gain = moving.position_gains()
    missed = first.position[rows] - position
    position, velocity = position + share * missed, velocity + gain * missed
    gain, share = moving.velocity_gains(moves)
    missed = first.velocity[rows] - velocity
    position, velocity = position + gain * missed, velocity + share * missed

    turns = _given(bodies, "angular_velocity", HAS_ANGULAR_VELOCITY)[rows]
    turning = _rows_of(before.turning, rows)
    turning.predict(gap_s)
    spin = before.spin[rows]
    orientation = multiply(exp(spin * gap_s), before.orientation[rows])
    share, gain = turning.position_gains()
    missed = log(multiply(first.orientation[rows], conjugate(orientation)))
    orientation, spin = multiply(exp(share * missed), orientation), spin + gain * missed
    gain, share = turning.velocity_gains(turns)
    missed = first.spin[rows] - spin
    orientation, spin = multiply(exp(gain * missed), orientation), spin + share * missed
    # A filter restarts if its values are too large to be drawn.
    with np.errstate(invalid="ignore"):
        fine = (np.abs(position) < FASTEST).all(axis=1) & (np.abs(velocity) < FASTEST).all(axis=1)
        fine &= np.isfinite(spin).all(axis=1)
    rows = rows[fine]
    first.position[rows], first.velocity[rows] = position[fine], velocity[fine]
    first.orientation[rows], first.spin[rows] = normalized(orientation[fine]), spin[fine]
    first.moving.copy_rows(rows, _rows_of(moving, fine))
    first.turning.copy_rows(rows, _rows_of(turning, fine))


def _rows_of(covariance: Covariance, rows: Any) -> Covariance:
    return Covariance(covariance.noise, covariance.position[rows], covariance.cross[rows], covariance.velocity[rows])


def _records(bodies: NDArray[np.void], state: State) -> NDArray[np.void]:
    """Copies of the published records in which poses and velocities are replaced by the filtered values."""
    records = bodies.copy()
    rows = np.flatnonzero(finite(bodies))
    records["position"][rows] = state.position[rows]
    records["velocity"][rows] = state.velocity[rows]
    records["orientation"][rows] = state.orientation[rows]
    records["angular_velocity"][rows] = state.spin[rows]
    records["flags"] |= HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    return records
