"""Up to a million bodies in a spiral galaxy: measures the cost of many bodies that cost little to move.

Bodies form flocks of up to a thousand, one for each ring (`Rings`). One product of small matrices computes a
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
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import FormulaWorld, check_count

# Motion of a spiral galaxy: one small matrix per ring and instant moves all of its bodies.
#
# A body keeps eight floats, which never change: its position in its ring as if that were a circle (x, y, and the
# height z), a 1, and its first orientation. The ring's matrix maps them to the sixteen floats of a record: position,
# velocity, orientation and angular velocity are linear in them.
#
# The arms are a density wave: rings are nested ellipses, each rotated a little against the next. Bodies move along
# them, inner ones faster, through arms that rotate slowly as a whole (Kalnajs 1973). The size and the tilt of the
# rings oscillate, as waves that run outward.
#
# Always: velocities are the derivatives of positions, angular velocities those of orientations; a matrix has no
# subnormal and no infinite number, so that a product copies the numbers that it multiplies by 1. Does not depend on
# the number of bodies.


Floats = NDArray[np.float64]

# Places of the floats that a body keeps, and of the sixteen words of a record.
KEPT = 8
PLANE, HEIGHT, ONE, FIRST_TURN = slice(0, 2), 2, 3, slice(4, 8)
WORDS = 16
X_Y, Z, EPOCH, ORIENTATION, X_Y_SPEED, Z_SPEED = slice(0, 2), 2, 3, slice(4, 8), slice(8, 10), 10
FLAGS_AND_SCALE, ANGULAR_VELOCITY, COLOR = 11, slice(12, 15), 15

DISC_M = 6.0
CORE_M = 0.55
# Density falls exponentially with the radius; this share of the disc's radius is the scale length.
THINS_SHARE = 0.34
# Flattening of the ellipses, reached at this share of the disc's radius; rotation of the outermost against the first.
FLATTENING, FLAT_FROM_SHARE = 0.28, 0.45
TWIST_RAD = 2.3 * math.pi
ARMS_HZ = 0.012
SPEED_M_S = 1.3  # almost the same at all radii of the disc, as in real ones
# Waves that run outward: amplitude (breath: share of the size; lean: slope at the rim), frequency, waves on the disc.
BREATH, BREATH_HZ, BREATHS = 0.045, 0.11, 1.3
LEAN, LEAN_HZ, LEANS = 0.11, 0.035, 0.8
SPIN_HZ = (0.05, 0.4)
EPOCHS_FROM = 0x3F80_0000  # the bits of 1.0
SCALES = (0.85, 1.15)  # of the bodies' shape, by ring


class Rings:
    """`count` rings, from the centre outward, for equal numbers of bodies. radius: (count,) metres.

    epoch: that of all bodies, 0 to 65535.
    """

    def __init__(self, count: int, epoch: int, random: np.random.Generator) -> None:
        self.radius = CORE_M / 4 + DISC_M * _radius_shares(count)
        self._outward = self.radius / DISC_M
        self._speed = SPEED_M_S / (self.radius + CORE_M)
        self._start = random.uniform(0, 2 * math.pi, count)
        self._flat = 1 - FLATTENING * np.minimum(1.0, self._outward / FLAT_FROM_SHARE)
        self._axis = random.standard_normal((count, 3))
        self._axis /= np.linalg.norm(self._axis, axis=1, keepdims=True)
        self._spin = 2 * math.pi * random.uniform(*SPIN_HZ, count)
        self._spin_start = random.uniform(0, 2 * math.pi, count)
        self._matrices = np.zeros((count, KEPT, WORDS), np.float32)
        # Flags and scale are the bits of a float that is neither subnormal nor infinite. The offset EPOCHS_FROM makes
        # the epoch such a float, too: only changes of an epoch matter.
        self._matrices[:, ONE, EPOCH] = np.array(EPOCHS_FROM + epoch, np.uint32).view(np.float32)
        scale = random.uniform(*SCALES, count).astype(np.float16).view(np.uint16).astype(np.uint32)
        flags = np.uint32(VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY)
        self._matrices[:, ONE, FLAGS_AND_SCALE] = (scale << np.uint32(16) | flags).view(np.float32)
        self._matrices[:, ONE, ANGULAR_VELOCITY] = self._axis * self._spin[:, None]

    def matrices(self, time_s: float) -> NDArray[np.float32]:
        """Matrices (count, 8, 16) from kept floats to records at `time_s`. Each call overwrites the array."""
        self._move(time_s)
        self._turn(time_s)
        return self._matrices

    def _move(self, time_s: float) -> None:
        arms_rate, breath_rate, lean_rate = (2 * math.pi * hz for hz in (ARMS_HZ, BREATH_HZ, LEAN_HZ))
        breath = breath_rate * time_s - 2 * math.pi * BREATHS * self._outward
        size, size_rate = 1 + BREATH * np.sin(breath), BREATH * breath_rate * np.cos(breath)
        # In the ring's plane: first rotated by `round_`, then flattened, then rotated by `way`.
        way = TWIST_RAD * self._outward + arms_rate * time_s
        round_ = self._start + self._speed * time_s
        cw, sw, cr, sr, flat = np.cos(way), np.sin(way), np.cos(round_), np.sin(round_), self._flat
        shape = np.array(
            (
                (cw * cr - sw * flat * sr, -cw * sr - sw * flat * cr),
                (sw * cr + cw * flat * sr, -sw * sr + cw * flat * cr),
            )
        )
        place = size * shape
        # The derivative of a rotation is the rotation and a quarter turn: after it (`turned`), or before (`went_on`).
        turned = np.stack((-place[1], place[0]))
        went_on = np.stack((place[:, 1], -place[:, 0]), axis=1)
        speed = size_rate * shape + arms_rate * turned + self._speed * went_on
        lean = lean_rate * time_s - 2 * math.pi * LEANS * self._outward
        slope = LEAN * self._outward * np.stack((np.cos(lean), np.sin(lean)))
        slope_rate = lean_rate * np.stack((-slope[1], slope[0]))
        height = slope[0] * place[0] + slope[1] * place[1]
        climb = slope_rate[0] * place[0] + slope_rate[1] * place[1] + slope[0] * speed[0] + slope[1] * speed[1]
        out = self._matrices
        out[:, PLANE, X_Y] = place.T
        out[:, PLANE, X_Y_SPEED] = speed.T
        out[:, PLANE, Z] = height.T
        out[:, PLANE, Z_SPEED] = climb.T
        out[:, HEIGHT, Z] = size
        out[:, HEIGHT, Z_SPEED] = size_rate

    def _turn(self, time_s: float) -> None:
        half = (self._spin_start + self._spin * time_s) / 2
        x, y, z = (self._axis * np.sin(half)[:, None]).T
        w = np.cos(half)
        # The product (x, y, z, w) q of quaternions, as a matrix by which a row q is multiplied.
        rows = np.array(((w, z, -y, -x), (-z, w, x, -y), (y, -x, w, -z), (x, y, z, w)))
        self._matrices[:, FIRST_TURN, ORIENTATION] = rows.transpose(2, 0, 1)


def _radius_shares(count: int) -> Floats:
    """Radii of rings with equal shares of an exponential disc that ends at 1, (count,), as shares of its radius."""
    radius = np.linspace(0, 1, 513)
    inside = 1 - (1 + radius / THINS_SHARE) * np.exp(-radius / THINS_SHARE)
    return np.interp((np.arange(count) + 0.5) / count, inside / inside[-1], radius)


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
