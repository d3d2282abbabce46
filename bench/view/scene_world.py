"""Base class of the scenes that `python -m bench view` shows.

Each body has its own colour, see `codes`. Markers on the ground show how the camera moves. They are marks, so a camera
that shows all bodies does not have to show them.

Always: the state is a function of simulated time alone, `SceneWorld.state_at`. Random numbers come from the seed.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.view.codes import CODE_OF, COUNT, MARKER_BITS, colors_of
from twixt.ipc.scene import Box, Capsule, Cylinder, Scene, Sphere
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.marks import Marks
from twixt.sim.world.world import World

# Thickness of a marker, in metres. A flat marker on the ground hides no body above the ground.
MARKER_THICK_M = 0.004
Floats = NDArray[np.float64]
Shape = Box | Capsule | Cylinder | Sphere


class SceneState(NamedTuple):
    """State of n bodies at one simulated time. life: number of births or jumps of each body so far."""

    position: Floats  # metres, (n, 3)
    shown: NDArray[np.bool_]  # True for each body that is visible, (n,)
    life: NDArray[np.int64]


class SceneWorld(World):
    """Base class of the scenes. A scene has the shapes of its bodies, the markers, and `position_at`.

    bounded_from_s: from this simulated time on, the bodies stay within bounds that they have already reached, so the
    camera can stand still. None if the bounds change until the end. jumps: True if a new life of a visible body is a
    jump, False if it is a birth. is_lone: True if there are only one or two bodies, so the box around them is small or
    thin.
    """

    dt = 1 / 60
    bounded_from_s: ClassVar[float | None] = None
    jumps: ClassVar[bool] = False
    is_lone: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        shapes = self.make()
        self.count = len(shapes)
        self.time_ns = 0
        self.state = self.state_at(0.0)
        # With one shape for all, bodies can be born one after the other.
        self.scene = Scene(shapes[:1] if len(set(shapes)) == 1 else shapes, ground_z=self.ground_z(), look="unlit")
        self.marks = Marks()
        self.markers, size_m = self.marker_places()
        numbers = np.arange(len(self.markers))
        assert max(self.count, len(numbers)) <= COUNT
        size = (size_m, size_m, MARKER_THICK_M)
        self.marks.add("box", self.markers, size=size, color=colors_of(numbers, MARKER_BITS), ids=numbers)
        born = np.flatnonzero(self.state.shown)
        self.bodies = Bodies(0)
        self.row = np.full(self.count, -1)
        for body in born:
            self._spawn(int(body))

    def make(self) -> list[Shape]:
        """Draws the random numbers of the scene. Returns the shapes of all bodies."""
        raise NotImplementedError

    def position_at(self, time_s: float) -> Floats:
        """Positions of all bodies, in metres, (n, 3)."""
        raise NotImplementedError

    def life_at(self, time_s: float) -> NDArray[np.int64]:
        """Number of births or jumps of each body so far, (n,)."""
        return np.zeros(self.count, np.int64)

    def shown_at(self, time_s: float) -> NDArray[np.bool_]:
        return np.ones(self.count, bool)

    def ground_z(self) -> float | None:
        return 0.0

    def marker_places(self) -> tuple[Floats, float]:
        """Centres of the markers, (m, 3), and the edge of a marker, both in metres."""
        raise NotImplementedError

    def state_at(self, time_s: float) -> SceneState:
        """Returns the exact state at a simulated time in seconds."""
        return SceneState(self.position_at(time_s), self.shown_at(time_s), self.life_at(time_s))

    @property
    def codes(self) -> NDArray[np.int64]:
        """Code of each body's colour, (n,)."""
        return CODE_OF[: self.count]

    def step(self, dt: float) -> None:
        """Advances the bodies by `dt` seconds."""
        self.time_ns += round(dt * 1e9)
        before, now = self.state, self.state_at(self.time_ns / 1e9)
        self.state = now
        renewed = before.shown & now.shown & (now.life != before.life)
        born = now.shown & ~before.shown
        gone = before.shown & ~now.shown
        if not self.jumps:
            born, gone = born | renewed, gone | renewed
        for body in np.flatnonzero(gone):
            self.bodies.despawn(int(self.row[body]))
        for body in np.flatnonzero(born):
            self._spawn(int(body))
        stays = np.flatnonzero(now.shown & ~born & ~renewed)
        self.bodies.position[self.row[stays]] = now.position[stays]
        if self.jumps and renewed.any():
            self.bodies.teleport(self.row[renewed], now.position[renewed])

    def _spawn(self, body: int) -> None:
        color = colors_of(np.array([body]))[0]
        self.row[body] = self.bodies.spawn(self.state.position[body], color=color)


def lattice(x: tuple[float, float, float], y: tuple[float, float, float], z: float = 0.0) -> Floats:
    """Points (x, y, z) of a lattice, (n, 3). x, y: first and last coordinate, and the distance between two points."""
    along = [np.arange(first, last + step / 2, step) for first, last, step in (x, y)]
    points = np.stack(np.meshgrid(*along), axis=-1).reshape(-1, 2)
    return np.column_stack([points, np.full(len(points), z)])
