"""Shows a curtain of beads in the wind, and a ball that swings through it. It is simulated by the classic method for
cloth.

The state of a bead is its current and its previous position (Verlet 1967). Threads connect neighbouring beads. Each
thread is brought to its fixed length again and again: both its ends are moved. There are four sets of threads. No two
threads of a set share a bead, so all threads of a set are moved at the same time (Jakobsen 2001, "Advanced Character
Physics"; Provot 1995 for cloth). Some beads of the upper edge are pinned.

What to look for: waves run smoothly through the cloth, even if physics is slow (`--slow-physics 40`). With
`--interpolation none` the beads move in visible steps.

`--set cloth=True` draws the curtain as a surface through its beads. The beads are then hidden.

Always: the same seed and the same steps give the same bytes on every processor (`reproducible_math.py`). Velocities
are the displacements in the last substep, divided by the duration of the substep.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidValue
from twixt.ipc.scene import Box, Camera, Mesh, Scene, Sphere
from twixt.sim.reproducible_math import decayed, dot, sin_cos, uniform
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.surfaces import Surfaces
from twixt.sim.world.world import World

Floats = NDArray[np.float64]

GRAVITY_M_S2 = 9.81
# Length of the longest substep, in seconds. It is half a step at 60 Hz. RELAXATIONS is the number of times that the
# threads are moved in a substep. With these values, threads stretch by at most a few percent, and one core is fast
# enough.
SUBSTEP_S = 1 / 120
RELAXATIONS = 12
# Rate in 1/s at which air drag makes a bead's velocity decay.
AIR_HZ = 0.35
SPACING_M = 0.15
BEAD_M = 0.068
TOP_M = 3.6
PIN_EVERY = 6  # In the upper edge, every sixth bead and both corners are pinned.
HUNG_WIDTH = 0.86  # Width of the hung curtain, as a share of the cloth's width. A share below 1 makes folds.
# Largest acceleration of a bead by the normal wind, in m/s^2. It acts along y. The wind consists of two sine waves
# that travel along the cloth. Its average is zero.
GUST_M_S2 = 3.4
GUST_PERIODS_S = (2.9, 1.7)
GUST_WAVES = (1.3, 2.6)  # Radians of the two sine waves per metre of cloth.
MOST_WIND = 20.0  # Strongest wind, as a multiple of the normal wind. In this wind the cloth only flaps.
BALL_M = 0.42
BALL_PERIOD_S = 5.0
BALL_WAY_M = 1.35
BALL_HEIGHT_M = 1.75
# Colours of the beads, 0..255.
TOP_COLOR, BOTTOM_COLOR = (250, 214, 120), (214, 74, 92)
PIN_COLOR = (245, 245, 240)
CLOTH_COLOR = (0.84, 0.42, 0.38)
BALL_COLOR = (0.40, 0.56, 0.80)
ROD_M = (0.05, 0.05)
ROD_COLOR = (0.45, 0.47, 0.52)


class Verlet(World):
    """A curtain of beads in the wind, with Verlet integration, threads of fixed length, and pins. cloth: True to draw
    the curtain as a surface."""

    dt = 1 / 60

    def __init__(
        self, columns: int = 24, rows: int = 20, wind: float = 1.0, seed: int = 0, cloth: bool = False
    ) -> None:
        if not (2 <= columns <= 200 and 2 <= rows <= 200):
            raise InvalidValue(f"columns and rows must be from 2 to 200, got {columns} and {rows}")
        if not abs(wind) <= MOST_WIND:
            raise InvalidValue(f"wind must be from {-MOST_WIND:g} to {MOST_WIND:g} (1 is a breeze), got {wind:g}")
        self.columns, self.rows, self.wind = columns, rows, wind
        beads = columns * rows
        # The bodies are the beads, the ball, the rod from which the pinned beads hang, and the cloth if it is drawn.
        self.bodies = Bodies(beads + 2 + cloth)
        rod_m = HUNG_WIDTH * SPACING_M * (columns - 1) + 0.4
        self.scene = Scene(
            [
                *[Sphere(BEAD_M, (1.0, 1.0, 1.0))] * beads,
                Sphere(BALL_M, BALL_COLOR),
                Box((rod_m, *ROD_M), ROD_COLOR),
                *([_cloth(rows, columns)] if cloth else []),
            ],
            camera=Camera(eye=(2.6, -6.4, 2.8), target=(0.0, 0.0, 2.55), fov_y_deg=38.0),
            pattern=True,
        )
        self.pinned = np.zeros((rows, columns), bool)
        self.pinned[0, ::PIN_EVERY] = self.pinned[0, -1] = True
        # Mobility of each bead: 0 for a pinned bead, 1 for any other bead.
        self.gives = np.where(self.pinned, 0.0, 1.0)
        shade = np.linspace(0, 1, rows)[:, None, None]
        color = np.broadcast_to(np.array(TOP_COLOR) * (1 - shade) + np.array(BOTTOM_COLOR) * shade, (rows, columns, 3))
        color = np.where(self.pinned[..., None], PIN_COLOR, color).reshape(-1, 3)
        self.bodies.color[:beads, :3] = color.astype(np.uint8)
        if cloth:
            self.surfaces = Surfaces(self.scene)
            self.bodies.visible[:beads] = False
        self.threads = [Threads(self.gives, axis, first) for axis in (0, 1) for first in (0, 1)]
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Hangs the curtain up again, in folds. The phases of the gusts and the small random displacements of the
        beads depend on `seed`."""
        random = np.random.default_rng(seed)
        self.gust_turns = random.random(len(GUST_PERIODS_S))
        self.time_s = 0.0
        column, row = np.arange(self.columns), np.arange(self.rows)
        self.position = np.empty((3, self.rows, self.columns))
        self.position[0] = HUNG_WIDTH * SPACING_M * (column - (self.columns - 1) / 2)
        fold = math.sqrt(1 - HUNG_WIDTH * HUNG_WIDTH) * SPACING_M
        self.position[1] = fold * (np.abs(column % PIN_EVERY - PIN_EVERY / 2) - PIN_EVERY / 2)
        self.position[2] = TOP_M - SPACING_M * row[:, None]
        self.position[1] += uniform(random, -0.01, 0.01, (self.rows, self.columns)) * self.gives
        self.before, self.before_s = self.position.copy(), SUBSTEP_S  # The previous positions, and the time since then.
        self.ball, self.ball_speed = self._ball_at(0.0)
        self.bodies.teleport(slice(self.rows * self.columns + 2), (0.0, 0.0, TOP_M))
        self._write()

    def step(self, dt: float) -> None:
        """Advances the curtain and the ball by `dt` seconds."""
        substeps = max(1, math.ceil(dt / SUBSTEP_S - 1e-9))
        h = dt / substeps
        for _ in range(substeps):
            self.time_s += h
            self._move(h)
            for _ in range(RELAXATIONS):
                for threads in self.threads:
                    threads.tighten(self.position)
            self._keep_out()
        self._write()

    def stretch(self) -> float:
        """Largest elongation of a thread, as a share of the thread's fixed length."""
        along = [np.diff(self.position, axis=axis) for axis in (1, 2)]
        lengths = [np.sqrt(dot(offset, offset)) for offset in along]
        return float(max(length.max() for length in lengths) / SPACING_M - 1)

    def diagnostics(self) -> dict[str, float]:
        """Figures for the overlay: the largest elongation of a thread, in % of the thread's length."""
        return {"stretch_percent": 100 * self.stretch()}

    def _move(self, h: float) -> None:
        # The beads move by time-corrected Verlet integration (Dummer 2005), because the last substep may have had
        # another duration.
        moved = (self.position - self.before) * (decayed(AIR_HZ, h) * (h / self.before_s))
        both = h * ((h + self.before_s) / 2)
        moved[2] -= GRAVITY_M_S2 * both
        moved[1] += self._wind() * both
        self.before, self.before_s = self.position, h
        self.position = self.position + moved * self.gives

    def _wind(self) -> Floats:
        blowing = np.zeros((self.rows, self.columns))
        for period_s, wave, turns in zip(GUST_PERIODS_S, GUST_WAVES, self.gust_turns, strict=True):
            along = wave * self.position[0] + 0.6 * self.position[2]
            blowing += sin_cos(self.time_s / period_s + turns - along / (2 * np.pi)).sin
        return self.wind * GUST_M_S2 * blowing / len(GUST_PERIODS_S)

    def _keep_out(self) -> None:
        """Moves the ball, and pushes beads out of the ball."""
        self.ball, self.ball_speed = self._ball_at(self.time_s)
        offset = self.position - self.ball[:, None, None]
        distance = np.sqrt(dot(offset, offset))
        reach = BALL_M + BEAD_M
        self.position += offset * (np.maximum(reach / np.maximum(distance, 1e-9) - 1, 0.0) * self.gives)

    def _ball_at(self, time_s: float) -> tuple[Floats, Floats]:
        """Position and velocity of the swinging ball at a simulated time, (3,) each."""
        rate = 2 * np.pi / BALL_PERIOD_S
        across, along = sin_cos(time_s / BALL_PERIOD_S), sin_cos(time_s / BALL_PERIOD_S / 2.7)
        place = np.array([0.55 * along.sin, -BALL_WAY_M * across.cos, BALL_HEIGHT_M])
        speed = np.array([0.55 * rate / 2.7 * along.cos, BALL_WAY_M * rate * across.sin, 0.0])
        return place, speed

    def _write(self) -> None:
        beads = self.rows * self.columns
        self.bodies.position[:beads] = self.position.reshape(3, -1).T
        self.bodies.velocity[:beads] = ((self.position - self.before) / self.before_s).reshape(3, -1).T
        self.bodies.position[beads], self.bodies.velocity[beads] = self.ball, self.ball_speed
        if self.surfaces is not None:
            self.surfaces[beads + 2] = self.position.reshape(3, -1).T


def _cloth(rows: int, columns: int) -> Mesh:
    """Makes the cloth as a surface. The surface has a vertex at each bead, row by row from the top."""
    corner = np.arange(rows * columns).reshape(rows, columns)
    here, right, below, beyond = (
        part.ravel() for part in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:])
    )
    faces = np.concatenate([np.stack([here, below, beyond], axis=1), np.stack([here, beyond, right], axis=1)])
    row, column = np.divmod(np.arange(rows * columns), columns)
    flat = np.stack([SPACING_M * column, np.zeros(len(row)), -SPACING_M * row], axis=1)
    return Mesh(flat, faces, "smooth", CLOTH_COLOR, deforms=True)


class Threads:
    """Every second thread along one axis of the cloth. No two of these threads share a bead, so all of them can be
    tightened at the same time."""

    def __init__(self, gives: Floats, axis: int, first: int) -> None:
        here = [slice(None), slice(None)]
        there = [slice(None), slice(None)]
        count = (gives.shape[axis] - first) // 2
        here[axis] = slice(first, first + 2 * count, 2)
        there[axis] = slice(first + 1, first + 2 * count, 2)
        self.here, self.there = (slice(None), *here), (slice(None), *there)
        one, other = gives[tuple(here)], gives[tuple(there)]
        both = np.maximum(one + other, 1e-9)
        self.share, self.other_share = one / both, other / both

    def tighten(self, position: Floats) -> None:
        """Moves both ends of each thread so that the thread has the length SPACING_M. position: positions of all
        beads, (3, rows, columns), which are changed in place."""
        one, other = position[self.here], position[self.there]
        offset = other - one
        length = np.sqrt(dot(offset, offset))
        offset *= 1 - SPACING_M / length
        one += self.share * offset
        other -= self.other_share * offset
