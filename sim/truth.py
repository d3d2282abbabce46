"""The truth that drawn pictures are held against: a world stepped finely, every state of it kept.

One idea: a world of contacts stepped at another dt is another world. So there is one trajectory, stepped `FINE` times
as finely as the fastest snapshots come; snapshots are some of its states, and what was between them is known.

Always: states are `1 / (SNAPSHOT_HZ * FINE)` apart and in memory of their own; a body that was corrected is where it
is to be seen. No process, no clock, no schedule: worlds are only stepped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from twixt.ipc.corrections import visual
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot
from twixt.sim.bodies import Bodies
from twixt.sim.world import World, drawable_scene, filled_bodies, load_world

# The fastest snapshots; slower ones that divide it (30, 20, 10 Hz) are states of the same recording.
SNAPSHOT_HZ = 60
# States from one of those to the next: what a straight line errs in 1 ms of free fall is 1 um.
FINE = 16
# Worlds are stepped at this before the recording begins.
WARM_UP_HZ = 240


class Recording(NamedTuple):
    """What a world did. states: evenly spaced, from simulated time 0."""

    scene: Scene
    states: Sequence[Snapshot]


@dataclass(frozen=True)
class Subject:
    """A world to be recorded. begin_s: what of it is left out before. velocities: whether the snapshots have them."""

    about: str
    world: str
    settings: tuple[tuple[str, str], ...] = ()
    begin_s: float = 0.0
    velocities: bool = True

    def record(self, seconds: float, seed: int = 0) -> Recording:
        """So much of it. Worlds that have a seed are made with this one."""
        world = Known() if self.world == KNOWN else load_world(self.world, self.settings, seed)
        for _ in range(round(self.begin_s * WARM_UP_HZ)):
            world.step(1 / WARM_UP_HZ)
        recording = record(world, seconds)
        return recording if self.velocities else _without_velocities(recording)


# The world of known motions below.
KNOWN = "known"
# For the picture: circle and bounce at a pace at which ten snapshots a second show the differences.
PICTURED = Subject("a ball that bounces, and one that runs round, 36 degrees in a tenth of a second", KNOWN)
SUBJECTS = {
    "circles": Subject("balls on a circle, 15 degrees in a tenth of a second, and balls that bounce", "circles"),
    "circles, no velocities": Subject("the same; physics publishes no velocities", "circles", velocities=False),
    "balls": Subject("60 balls pour from side to side in a rocking box", "balls", (("count", "60"),), begin_s=3.0),
    "verlet": Subject("a curtain of 120 beads in the wind", "verlet", (("columns", "12"), ("rows", "10")), begin_s=1.0),
    # Turns per half second: half a turn, one and a half, and three in the 50 ms of the snapshots at 20 Hz.
    "spinners": Subject("bars and balls that turn 1 to 60 times a second", "spinners", (("turns", "0.5,1.5,5,15,30"),)),
    "wobble": Subject("a cube turning 2.5 times a second, balls on its corners as children and on their own", "wobble"),
    "teleporters": Subject("12 balls that jump between two rails, come and go", "teleporters"),
}


def subjects(names: Sequence[str]) -> Mapping[str, Subject]:
    """Those of SUBJECTS called `names` (none: all). Raises TwixtError for an unknown one."""
    for name in names:
        if name not in SUBJECTS:
            raise TwixtError(f"--world must be one of: {'; '.join(SUBJECTS)}; got {name!r}")
    return {name: SUBJECTS[name] for name in names or SUBJECTS}


def record(world: World, seconds: float) -> Recording:
    """Steps `world` through `seconds` of simulated time, and keeps every state."""
    hz = SNAPSHOT_HZ * FINE
    states = [_state(world, 0, 0)]
    for tick in range(1, round(seconds * hz) + 1):
        world.step(1 / hz)
        states.append(_state(world, tick, round(tick * 1e9 / hz)))
    return Recording(drawable_scene(world), states)


def _state(world: World, tick: int, sim_time_ns: int) -> Snapshot:
    bodies = filled_bodies(world).records.copy()
    patch = visual(bodies, world.bodies.published_columns(sim_time_ns), sim_time_ns)
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
    """Motions by formula: body 0 falls and bounces, drifting along x, and is put back up; body 1 runs on a circle.

    Balls of no size: the floor is z = 0.
    """

    GRAVITY_M_S2 = 9.81
    # So that one of the impacts comes just before a tenth of a second: there a curve leads below the floor.
    DROP_M, DRIFT_M_S = 2.004, 0.6
    # Of the speed of an impact, what is left after it.
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
        self._write_bounce()
        self._write_circle()

    def _write_bounce(self) -> None:
        impact_m_s = math.sqrt(2 * self.GRAVITY_M_S2 * self.DROP_M)
        # Flights from one impact to the next; the first is a fall, half a flight.
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
        self.bodies.position[0] = place
        self.bodies.velocity[0] = (self.DRIFT_M_S, 0.0, up_m_s - self.GRAVITY_M_S2 * since_s)

    def _write_circle(self) -> None:
        angle, radius = self.CIRCLE_RAD_S * self._time_s, self.CIRCLE_RADIUS_M
        across, along, speed = math.cos(angle), math.sin(angle), radius * self.CIRCLE_RAD_S
        self.bodies.position[1] = (radius * across, radius * along, 1.0)
        self.bodies.velocity[1] = (-speed * along, speed * across, 0.0)
        self.bodies.orientation[1] = (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))
        self.bodies.angular_velocity[1] = (0.0, 0.0, self.CIRCLE_RAD_S)
