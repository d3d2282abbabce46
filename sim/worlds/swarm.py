"""Up to a million bodies in a spiral galaxy: measures the cost of many bodies that cost little to move.

Bodies form flocks of up to a thousand, one for each ring of `galaxy.py`. One product of small matrices computes a
flock's records from the floats that its bodies keep, directly in the memory that viewers read. A step only advances
time.

What to look for: bodies on curved paths at all speeds, none of which jerks or cuts a corner. Compare
`--interpolation none`, `linear` and `hermite` at `--physics-hz 10`. `--set count=1000000`: 64 MB a snapshot. The
diameter of a body falls with their number: in a picture of 800x600 from 18 px for a thousand to 3 px for a million.

Always: `write_bodies` writes every byte of every record; the state is a formula of simulated time and seed. A step is
1/60 s; with more than `MANY` bodies 1/30 s.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.constructor_settings import check_count
from twixt.sim.world.world import FormulaWorld
from twixt.sim.worlds.galaxy import COLOR, CORE_M, DISC_M, FIRST_TURN, HEIGHT, KEPT, ONE, WORDS, Rings

Float32s = NDArray[np.float32]

MOST = 1_000_000
# 16 MB a snapshot: larger ones at sixty a second would keep a core busy with memory traffic alone.
MANY = 250_000
# Memory of a body: its record in `bodies` and in four slots of shared memory, the floats it keeps, and its colour.
BODY_BYTES = 5 * BODY.itemsize + 4 * KEPT + 4
# Enough flocks that single rings are not visible; few enough that the fixed cost of each product is negligible.
FLOCKS_MIN, FLOCKS_MAX = 64, 1024
BODIES_PER_FLOCK = 800
# Bodies written at a time: 256 kB of records stay in a core's second-level cache between the passes over them.
CHUNK = 4096

# Spread of bodies around their ring: in distances between rings, and the least as a share of the disc's radius.
BLUR, BLUR_MIN_SHARE = 1.5, 0.02
THICK_M, BULGE_M, BULGE_RADIUS_M = 0.05, 0.475, 1.1
HIGHEST = 2.5  # greatest height of a body, in thicknesses of the disc there
# Colours by distance from the centre, in shares of the disc's radius; each body has its own brightness.
STOPS = (0.0, 0.16, 0.34, 0.6, 1.0)
STOP_COLORS = ((255, 240, 205), (255, 206, 130), (240, 130, 150), (110, 140, 250), (70, 190, 235))
DARKEST = 0.6
BACKGROUND = (0.035, 0.04, 0.065)

DIAMETER_PX, DIAMETER_POWER, HEIGHT_PX = 18.0, -0.26, 600
EYE_M, TARGET_M = (0.0, -16.3, 9.8), (0.0, -0.9, -0.3)
FOV_Y_DEG = 32.0


class Swarm(FormulaWorld):
    """A galaxy of up to a million bodies, for measuring the cost of many."""

    def __init__(self, count: int = 10_000, seed: int = 0) -> None:
        check_count(count, MOST, "bodies", BODY_BYTES)
        self.dt = 1 / 60 if count <= MANY else 1 / 30
        flocks = min(count, max(FLOCKS_MIN, min(FLOCKS_MAX, count // BODIES_PER_FLOCK)))
        self._size = -(-count // flocks)
        self._cuts = 0
        self.bodies = Bodies(count)
        self.scene = _scene(count)
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Returns to simulated time 0; `seed` decides every body's position, colour and spin."""
        random = np.random.default_rng(seed)
        count = len(self.bodies)
        self._cuts = (self._cuts + 1) & CONTINUITY_MASK
        self.rings = Rings(-(-count // self._size), self._cuts, random)
        flock = np.arange(count) // self._size
        self._kept = _kept(flock, self.rings.radius, random)
        self._color = _colors(flock, self.rings.radius, random)
        self.time_ns = 0

    def write(self) -> None:
        """Writes nothing: a step only advances time."""

    def write_bodies(self, records: NDArray[np.void]) -> None:
        """Writes the bodies at `time_s` into `records` (n,), dtype `BODY`, with any content before."""
        matrices = self.rings.matrices(self.time_s)
        floats = records.view(np.float32).reshape(-1, WORDS)
        words = floats.view(np.uint32)
        size, count = self._size, len(records)
        flocks = max(1, CHUNK // size)
        for first in range(0, len(matrices), flocks):
            begin, end = first * size, min((first + flocks) * size, count)
            whole = (end - begin) // size
            last = begin + whole * size
            kept = self._kept[begin:last].reshape(whole, size, KEPT)
            np.matmul(kept, matrices[first : first + whole], out=floats[begin:last].reshape(whole, size, WORDS))
            if last < end:
                np.matmul(self._kept[last:end], matrices[first + whole], out=floats[last:end])
            words[begin:end, COLOR] = self._color[begin:end]


def _kept(flock: NDArray[np.intp], radius: NDArray[np.float64], random: np.random.Generator) -> Float32s:
    """Floats that bodies keep, (n, 8): position in the ring, 1, first orientation. flock: (n,) of each body."""
    count = len(flock)
    blur = np.gradient(radius) if len(radius) > 1 else np.array([CORE_M])
    blur = np.maximum(BLUR * blur, BLUR_MIN_SHARE * DISC_M)
    thick = THICK_M + BULGE_M * np.exp(-((radius / BULGE_RADIUS_M) ** 2))
    angle = random.random(count, np.float32) * np.float32(2 * math.pi)
    away = radius.astype(np.float32).take(flock)
    away += blur.astype(np.float32).take(flock) * (2 * random.random(count, np.float32) - 1)
    turn = random.standard_normal((count, 4), np.float32)
    turn /= np.sqrt(np.einsum("ij,ij->i", turn, turn))[:, None]
    kept = np.empty((count, KEPT), np.float32)
    kept[:, 0] = away * np.cos(angle)
    kept[:, 1] = away * np.sin(angle)
    kept[:, HEIGHT] = random.standard_normal(count, np.float32).clip(-HIGHEST, HIGHEST)
    kept[:, HEIGHT] *= thick.astype(np.float32).take(flock)
    kept[:, ONE] = 1.0
    kept[:, FIRST_TURN] = turn
    return kept


def _colors(flock: NDArray[np.intp], radius: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.uint32]:
    """Every body's rgba as one word, (n,)."""
    shade = random.random(len(flock), np.float32) * np.float32(1 - DARKEST) + np.float32(DARKEST)
    color = np.full((len(flock), 4), 255, np.uint8)
    for channel, levels in enumerate(zip(*STOP_COLORS, strict=True)):
        color[:, channel] = np.interp(radius / DISC_M, STOPS, levels).astype(np.float32).take(flock) * shade
    return color.view(np.uint32).ravel()


def _scene(count: int) -> Scene:
    px_per_m = HEIGHT_PX / 2 / math.tan(math.radians(FOV_Y_DEG / 2)) / math.dist(EYE_M, TARGET_M)
    diameter_m = DIAMETER_PX * (count / 1000) ** DIAMETER_POWER / px_per_m
    return Scene(
        [Sphere(diameter_m / 2, (1.0, 1.0, 1.0))],
        camera=Camera(eye=EYE_M, target=TARGET_M, fov_y_deg=FOV_Y_DEG),
        ground=None,
        background=BACKGROUND,
        pattern=True,
    )
