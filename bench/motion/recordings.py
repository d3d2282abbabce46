"""Records finely stepped worlds. A recording has the true poses at any instant, for comparison with drawn motion.

A world with contacts moves differently at another dt. So each world is recorded once, with `FINE` steps per snapshot
of the highest rate. The snapshots are some of these states, so the motion between two snapshots is known.

Always: states are copies, `1 / (SNAPSHOT_HZ * FINE)` s apart. A body whose visible pose is corrected has this
corrected pose. Between two states, true motion is a straight line and the shortest turn. If a body has a parent, this
motion is in the frame of the parent. If the life of a body changes between two states, the older state holds until the
newer one. A body that does not exist yet is hidden. Worlds are only stepped, without a process, a clock or a schedule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot, new_bodies, visual
from twixt.render.interpolation.poses import compose, poses_of
from twixt.render.interpolation.quaternion import conjugate, exp, log, multiply, normalized
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import World, drawable_scene, filled_bodies
from twixt.sim.worlds.find import load_world

# Highest rate of snapshots. Snapshots at lower rates that divide this rate (30, 20, 10 Hz) are states of the same
# recording.
SNAPSHOT_HZ = 60
# Number of recorded states per snapshot at the highest rate. In 1 ms of free fall, a straight line differs from the
# true path by 1 um.
FINE = 16
# Rate of steps before the recording begins.
WARM_UP_HZ = 240


class Recording(NamedTuple):
    """Recorded states of a world. states: states at even intervals, from simulated time 0."""

    scene: Scene
    states: Sequence[Snapshot]


@dataclass(frozen=True)
class Subject:
    """A world to record. begin_s: simulated seconds before the recording. velocities: True if snapshots have
    velocities."""

    about: str
    world: str
    settings: tuple[tuple[str, str], ...] = ()
    begin_s: float = 0.0
    velocities: bool = True

    def record(self, seconds: float, seed: int = 0) -> Recording:
        """Records `seconds` of simulated time. seed: seed for worlds that accept a seed."""
        world = Known() if self.world == KNOWN else load_world(self.world, self.settings, seed)
        for _ in range(round(self.begin_s * WARM_UP_HZ)):
            world.step(1 / WARM_UP_HZ)
        recording = record(world, seconds)
        return recording if self.velocities else _without_velocities(recording)


# Name of the world `Known`, below.
KNOWN = "known"
# World of the picture. The bounce and the circle are so fast that the interpolation methods differ visibly at ten
# snapshots a second.
PICTURED = Subject("a ball that bounces, and a ball that moves on a circle, 36 degrees in a tenth of a second", KNOWN)
SUBJECTS = {
    "circles": Subject("balls on a circle, 15 degrees in a tenth of a second, and balls that bounce", "circles"),
    "circles, no velocities": Subject(
        "the world `circles`; physics publishes no velocities", "circles", velocities=False
    ),
    "balls": Subject("60 balls pour from side to side in a rocking box", "balls", (("count", "60"),), begin_s=3.0),
    "verlet": Subject("a curtain of 120 beads in the wind", "verlet", (("columns", "12"), ("rows", "10")), begin_s=1.0),
    # `turns` has the numbers of turns per half second. At 20 Hz there is one snapshot per 50 ms. So the last three
    # bodies turn 0.5, 1.5 and 3 times between two snapshots.
    "spinners": Subject("bars and balls that turn 1 to 60 times a second", "spinners", (("turns", "0.5,1.5,5,15,30"),)),
    "wobble": Subject(
        "a cube that turns 2.5 times a second, with balls on its corners. Some balls are children of the cube, some have no parent",
        "wobble",
    ),
    "teleporters": Subject("12 balls that jump between two rails, appear and disappear", "teleporters"),
}


def subjects(names: Sequence[str]) -> Mapping[str, Subject]:
    """Entries of SUBJECTS with these names. If there are no names, returns all entries. Raises TwixtError for an
    unknown name."""
    for name in names:
        if name not in SUBJECTS:
            raise TwixtError(f"--world must be one of: {'; '.join(SUBJECTS)}; got {name!r}")
    return {name: SUBJECTS[name] for name in names or SUBJECTS}


def record(world: World, seconds: float) -> Recording:
    """Steps `world` through `seconds` of simulated time and records every state."""
    hz = SNAPSHOT_HZ * FINE
    states = [_state(world, 0, 0)]
    for tick in range(1, round(seconds * hz) + 1):
        world.step(1 / hz)
        states.append(_state(world, tick, round(tick * 1e9 / hz)))
    return Recording(drawable_scene(world), states)


def _state(world: World, tick: int, sim_time_ns: int) -> Snapshot:
    bodies = filled_bodies(world).records.copy()
    patch = visual(bodies, world.bodies._published_columns(sim_time_ns), sim_time_ns)
    bodies[patch.rows] = patch.records
    return Snapshot(sim_time_ns, bodies, tick=tick, dt_ns=round(1e9 / SNAPSHOT_HZ))


def _without_velocities(recording: Recording) -> Recording:
    keep = np.uint16(0xFFFF ^ (HAS_VELOCITY | HAS_ANGULAR_VELOCITY))
    states = []
    for state in recording.states:
        bodies = state.bodies.copy()
        bodies["flags"] &= keep
        states.append(replace(state, bodies=bodies))
    return recording._replace(states=states)


class Known(World):
    """Motion computed from formulas. Body 0 falls and bounces, drifts along x, and is then teleported back to its
    start. Body 1 moves on a circle.

    The centre of body 0 bounces at z = 0, as if the body had no size.
    """

    GRAVITY_M_S2 = 9.81
    # DROP_M is the height of the fall in metres, and DRIFT_M_S is the speed of the drift. This height makes an impact
    # come shortly before a multiple of 0.1 s, which is a snapshot at 10 Hz. There, an interpolated curve goes below
    # the floor.
    DROP_M, DRIFT_M_S = 2.004, 0.6
    # RESTITUTION is the share of the speed that is left after an impact. BOUNCES is the number of impacts before the
    # ball returns to its start.
    RESTITUTION, BOUNCES = 0.8, 3
    CIRCLE_RADIUS_M, CIRCLE_RAD_S = 0.5, math.pi / 0.5

    def __init__(self) -> None:
        self.bodies = Bodies(2)
        self.scene = Scene([Sphere(radius=0.1)] * 2)
        self._time_s, self._drops = 0.0, 0
        self._write()

    def step(self, dt: float) -> None:
        """Advance by `dt` seconds."""
        self._time_s += dt
        self._write()

    def _write(self) -> None:
        impact_m_s = math.sqrt(2 * self.GRAVITY_M_S2 * self.DROP_M)
        # Duration of each flight between impacts. The first flight is only a fall, half of a full flight.
        speeds = [impact_m_s * self.RESTITUTION**bounce for bounce in range(self.BOUNCES + 1)]
        flights = [speed / self.GRAVITY_M_S2 * (1 if speed == impact_m_s else 2) for speed in speeds]
        drops, since_drop_s = divmod(self._time_s, sum(flights))
        up_m_s, height, since_s = 0.0, self.DROP_M, since_drop_s
        for flight_s, speed in zip(flights, speeds[1:], strict=False):
            if since_s < flight_s:
                break
            since_s, up_m_s, height = since_s - flight_s, speed, 0.0
        height += up_m_s * since_s - self.GRAVITY_M_S2 * since_s**2 / 2
        place = (self.DRIFT_M_S * since_drop_s, 0.0, height)
        if drops != self._drops:
            self._drops = int(drops)
            self.bodies.teleport(0, place)
        angle, radius = self.CIRCLE_RAD_S * self._time_s, self.CIRCLE_RADIUS_M
        across, along, speed = math.cos(angle), math.sin(angle), radius * self.CIRCLE_RAD_S
        self.bodies.position[:] = (place, (radius * across, radius * along, 1.0))
        fall_m_s = up_m_s - self.GRAVITY_M_S2 * since_s
        self.bodies.velocity[:] = ((self.DRIFT_M_S, 0.0, fall_m_s), (-speed * along, speed * across, 0.0))
        self.bodies.orientation[1] = (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))
        self.bodies.angular_velocity[1] = (0.0, 0.0, self.CIRCLE_RAD_S)


Times = NDArray[np.int64]
Flags = NDArray[np.bool_]


class RecordedPoses(NamedTuple):
    """Poses of n bodies at f instants, in the world frame. life: continuity epochs. A body's epoch changes when it is
    spawned, despawned or teleported."""

    position: NDArray[np.floating]  # (f, n, 3), metres
    orientation: NDArray[np.floating]  # (f, n, 4)
    life: NDArray[np.integer]  # (f, n)
    visible: Flags  # (f, n)


class Truth:
    """Arrays over time from a recording. Poses between two states are interpolated linearly, because the states are
    close to each other."""

    def __init__(self, states: Sequence[Snapshot], parent_rows: NDArray[np.int32] | None = None) -> None:
        self.times_ns: Times = np.array([state.sim_time_ns for state in states])
        count = max(len(state.bodies) for state in states)
        bodies = np.zeros((len(states), count), BODY)  # bodies that do not exist yet are hidden
        for index, state in enumerate(states):
            bodies[index, : len(state.bodies)] = state.bodies
        poses = poses_of(0, bodies.reshape(-1))
        shape = len(states), count
        self._parents = parent_rows
        self._own = RecordedPoses(
            poses.position.reshape(*shape, 3),
            poses.orientation.reshape(*shape, 4),
            bodies["epoch"] & CONTINUITY_MASK,
            poses.visible.reshape(shape),
        )
        self.states = self._in_the_world(self._own)
        # Mask of the bodies that move. Bodies at rest look the same with every interpolation method, so they are left
        # out. In some worlds most bodies are at rest.
        self.moves = _changes(self.states.position) | _changes(self.states.orientation) | _changes(self.states.visible)

    @property
    def count(self) -> int:
        """Largest number of bodies in a state."""
        return self.states.life.shape[1]

    def at(self, sim_times_ns: Times) -> RecordedPoses:
        """Poses of all bodies at simulated times. sim_times_ns: these times in ns, shape (f,)."""
        times, own = self.times_ns, self._own
        index = np.clip(np.searchsorted(times, sim_times_ns, side="right") - 1, 0, len(times) - 2)
        share = np.clip((sim_times_ns - times[index]) / (times[index + 1] - times[index]), 0.0, 1.0)[:, None, None]
        share = share * (own.life[index] == own.life[index + 1])[:, :, None]
        start, end = own.position[index].astype(np.float64), own.position[index + 1]
        facing = normalized(own.orientation[index].reshape(-1, 4))
        turn = log(multiply(normalized(own.orientation[index + 1].reshape(-1, 4)), conjugate(facing)))
        turned = multiply(exp(turn * share.reshape(-1, 1)), facing).reshape(own.orientation[index].shape)
        return self._in_the_world(
            RecordedPoses(start + (end - start) * share, turned, own.life[index], own.visible[index])
        )

    def during(self, since_ns: int, until_ns: int) -> slice:
        """Slice of the recorded states that cover the simulated time from since_ns to until_ns."""
        first = np.searchsorted(self.times_ns, since_ns, side="right") - 1
        last = np.searchsorted(self.times_ns, until_ns, side="left")
        return slice(max(0, int(first)), int(last) + 1)

    def _in_the_world(self, own: RecordedPoses) -> RecordedPoses:
        """Converts poses from the frames of the parents to the world frame. Poses are interpolated before this, in the
        frames of the parents. So children of a turning parent have the right distance from it, also between states."""
        if self._parents is None:
            return own
        frames, count = own.life.shape
        parents = np.where(self._parents < 0, -1, count * np.arange(frames)[:, None] + self._parents)
        whole = new_bodies(frames * count)
        whole["position"], whole["orientation"] = own.position.reshape(-1, 3), own.orientation.reshape(-1, 4)
        poses = compose(poses_of(0, whole), parents.reshape(-1))
        return own._replace(
            position=poses.position.reshape(own.position.shape),
            orientation=poses.orientation.reshape(own.orientation.shape),
        )


def _changes(values: NDArray[Any]) -> Flags:
    """Mask of the bodies whose values change over time, shape (n,). values: values of n bodies at f instants, shape
    (f, n, ...)."""
    return (values != values[0]).reshape(*values.shape[:2], -1).any(axis=(0, 2))
