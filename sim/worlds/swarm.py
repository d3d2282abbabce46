"""Shows a spiral galaxy of up to a million bodies. Stepping this world costs little. So it measures what many bodies
cost in all other code.

The bodies form flocks of up to about a thousand bodies, one flock for each ring (`Rings`). Each body has eight
constant floats. From these floats, one matrix product computes the records of a flock, directly in the memory that
viewers read. A step only advances simulated time.

What to look for: bodies on curved paths, at all speeds. No body moves in jerks or leaves its curve. Compare
`--interpolation none`, `linear` and `hermite` at `--physics-hz 10`. With `--set count=1000000` a snapshot has 64 MB.
The more bodies there are, the smaller each body is. In a picture of 800x600 the diameter of a body is 18 px for a
thousand bodies and 3 px for a million.

Always: `write_bodies` writes every byte of every record. The state is a formula of simulated time and seed. A step is
1/60 s, or 1/30 s with more than `MANY` bodies.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.settings import check_count
from twixt.sim.world.world import FormulaWorld

# Computes the motion of a spiral galaxy. At each instant, one small matrix for each ring moves all bodies of that
# ring.
#
# Each body has eight constant floats: its position (x, y, and height z) on a circular ring, the number 1, and its
# first orientation. The ring's matrix maps these eight floats to the sixteen floats of a record. This is possible
# because position, velocity, orientation and angular velocity are linear in the eight floats.
#
# The arms of the galaxy are a density wave: the rings are nested ellipses, and each ellipse is rotated a little
# against the next. Bodies move along their rings, faster near the centre. They pass through the arms, which rotate
# slowly as a whole (Kalnajs 1973). The size and the tilt of the rings oscillate in waves that run outward.
#
# Always: velocities are the derivatives of positions, and angular velocities are the derivatives of orientations. A
# matrix contains no subnormal and no infinite number. So a number that the product multiplies by 1 keeps all its bits.
# Matrices do not depend on the number of bodies.


Floats = NDArray[np.float64]

# Number of constant floats of a body; below are the indices of these floats and of the sixteen words of a record.
KEPT = 8
PLANE, HEIGHT, ONE, FIRST_TURN = slice(0, 2), 2, 3, slice(4, 8)
WORDS = 16
X_Y, Z, EPOCH, ORIENTATION, X_Y_SPEED, Z_SPEED = slice(0, 2), 2, 3, slice(4, 8), slice(8, 10), 10
FLAGS_AND_SCALE, ANGULAR_VELOCITY, COLOR = 11, slice(12, 15), 15

DISC_M = 6.0
CORE_M = 0.55
# The density of bodies falls exponentially with the distance from the centre. Over a distance of THINS_SHARE times the
# disc's radius, it falls to 1/e of its value.
THINS_SHARE = 0.34
# FLATTENING is the flattening of the ellipses. It grows from the centre outward, and is complete at the share
# FLAT_FROM_SHARE of the disc's radius. TWIST_RAD is the angle from the innermost to the outermost ellipse, in radians.
FLATTENING, FLAT_FROM_SHARE = 0.28, 0.45
TWIST_RAD = 2.3 * math.pi
ARMS_HZ = 0.012
SPEED_M_S = 1.3  # Speed of the bodies. It is almost the same at all distances from the centre, as in real galaxies.
# Waves that run outward: their amplitude, frequency, and number of wavelengths between the centre and the rim. The
# amplitude BREATH is a share of the size of a ring. The amplitude LEAN is the slope of a ring at the rim.
BREATH, BREATH_HZ, BREATHS = 0.045, 0.11, 1.3
LEAN, LEAN_HZ, LEANS = 0.11, 0.035, 0.8
SPIN_HZ = (0.05, 0.4)
EPOCHS_FROM = 0x3F80_0000  # The number has the bits of the float 1.0.
SCALES = (0.85, 1.15)  # Smallest and largest scale of the bodies. All bodies of a ring have the same scale.


class Rings:
    """`count` rings, in order from the centre outward, with equal numbers of bodies. radius: radius of each ring,
    (count,), in metres."""

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
        # The bits of the flags and the scale form a float that is neither subnormal nor infinite. With the offset
        # EPOCHS_FROM, the bits of the epoch also form such a float. The offset has no other effect, because epochs are
        # only compared for equality.
        self._matrices[:, ONE, EPOCH] = np.array(EPOCHS_FROM + epoch, np.uint32).view(np.float32)
        scale = random.uniform(*SCALES, count).astype(np.float16).view(np.uint16).astype(np.uint32)
        flags = np.uint32(VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY)
        self._matrices[:, ONE, FLAGS_AND_SCALE] = (scale << np.uint32(16) | flags).view(np.float32)
        self._matrices[:, ONE, ANGULAR_VELOCITY] = self._axis * self._spin[:, None]

    def matrices(self, time_s: float) -> NDArray[np.float32]:
        """Returns the matrices, (count, 8, 16), that map constant floats to records at the simulated time `time_s`.
        Each call overwrites the same array."""
        self._move(time_s)
        self._turn(time_s)
        return self._matrices

    def _move(self, time_s: float) -> None:
        arms_rate, breath_rate, lean_rate = (2 * math.pi * hz for hz in (ARMS_HZ, BREATH_HZ, LEAN_HZ))
        breath = breath_rate * time_s - 2 * math.pi * BREATHS * self._outward
        size, size_rate = 1 + BREATH * np.sin(breath), BREATH * breath_rate * np.cos(breath)
        # In the plane of its ring, a body is first rotated by `round_`. Then the ring is flattened. Then the flattened
        # ring is rotated by `way`.
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
        # The derivative of a rotation is the same rotation with an additional quarter turn. For the rotation `way`,
        # the quarter turn is applied last (`turned`). For the rotation `round_`, the quarter turn is applied first
        # (`went_on`).
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
        # Matrix for the quaternion product (x, y, z, w) q. The row q is multiplied by this matrix.
        rows = np.array(((w, z, -y, -x), (-z, w, x, -y), (y, -x, w, -z), (x, y, z, w)))
        self._matrices[:, FIRST_TURN, ORIENTATION] = rows.transpose(2, 0, 1)


def _radius_shares(count: int) -> Floats:
    """Radii of rings, (count,), as shares of the radius of a disc. The rings divide a disc with exponential density
    into equal numbers of bodies."""
    radius = np.linspace(0, 1, 513)
    inside = 1 - (1 + radius / THINS_SHARE) * np.exp(-radius / THINS_SHARE)
    return np.interp((np.arange(count) + 0.5) / count, inside / inside[-1], radius)


Float32s = NDArray[np.float32]

MOST = 1_000_000
# With this number of bodies a snapshot has 16 MB. If sixty larger snapshots were published per second, memory traffic
# alone would keep a core busy.
MANY = 250_000
# Memory for one body, in bytes: its record in `bodies` and in four slots of shared memory, its constant floats, and
# its colour.
BODY_BYTES = 5 * BODY.itemsize + 4 * KEPT + 4
# Limits of the number of flocks. With fewer flocks, single rings would be visible. With more flocks, the fixed cost of
# a product would no longer be negligible.
FLOCKS_MIN, FLOCKS_MAX = 64, 1024
BODIES_PER_FLOCK = 800
# Number of bodies that are written at a time. Their records (256 kB) stay in a core's second-level cache between the
# two passes.
CHUNK = 4096

# BLUR is the spread of bodies around their ring, as a multiple of the distance between two rings. BLUR_MIN_SHARE is
# the least spread, as a share of the disc's radius.
BLUR, BLUR_MIN_SHARE = 1.5, 0.02
THICK_M, BULGE_M, BULGE_RADIUS_M = 0.05, 0.475, 1.1
HIGHEST = 2.5  # Greatest height of a body above the plane of the disc, as a multiple of the disc's local thickness.
# STOPS are distances from the centre, as shares of the disc's radius. At each of these distances the colour of the
# bodies is given. The brightness of each body is random.
STOPS = (0.0, 0.16, 0.34, 0.6, 1.0)
STOP_COLORS = ((255, 240, 205), (255, 206, 130), (240, 130, 150), (110, 140, 250), (70, 190, 235))
DARKEST = 0.6
BACKGROUND = (0.035, 0.04, 0.065)

DIAMETER_PX, DIAMETER_POWER, HEIGHT_PX = 18.0, -0.26, 600
EYE_M, TARGET_M = (0.0, -16.3, 9.8), (0.0, -0.9, -0.3)
FOV_Y_DEG = 32.0


class Swarm(FormulaWorld):
    """A galaxy of up to a million bodies, to measure the cost of many bodies."""

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
        """Sets simulated time to 0. The position, colour and spin of every body depend on `seed`."""
        random = np.random.default_rng(seed)
        count = len(self.bodies)
        self._cuts = (self._cuts + 1) & CONTINUITY_MASK
        self.rings = Rings(-(-count // self._size), self._cuts, random)
        flock = np.arange(count) // self._size
        self._kept = _kept(flock, self.rings.radius, random)
        self._color = _colors(flock, self.rings.radius, random)
        self.time_ns = 0

    def write(self) -> None:
        """Does nothing, because a step only advances simulated time."""

    def write_bodies(self, records: NDArray[np.void]) -> None:
        """Writes the bodies at simulated time `time_s` into `records`, (n,), dtype `BODY`. All earlier content of
        `records` is overwritten."""
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
    """The constant floats of all bodies, (n, 8): position in the ring, the number 1, and first orientation. flock:
    number of each body's flock, (n,). radius: radius of each ring, in metres."""
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
    """RGBA colour of every body, one 32-bit word per body, (n,)."""
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
        ground_z=None,
        background=BACKGROUND,
        pattern=True,
    )
