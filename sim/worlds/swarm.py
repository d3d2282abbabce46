"""Up to a million bodies that flow round as a spiral galaxy, cheaper to step than to publish.

One idea: flocks whose state is linear in numbers that never change. A flock is a ring of the galaxy, some hundred
to a thousand bodies; each body keeps its place in the ring (x, y, z), a 1, and its first orientation (4), and one
8 x 16 matrix per flock and instant takes these eight floats to the sixteen of a record: a product of small matrices
straight into the memory that is published. All that is done once per flock, not once per body, is plain formulas.

The arms are a wave of density, not a thing: rings are nested ellipses, each turned a little against the next, and
bodies go round on them, inner ones faster, through arms that turn slowly as a whole (Kalnajs 1973). Rings breathe,
and lean over one after the other, as waves that run outward.

What to look for: bodies on curved ways at all speeds, none of which jerks or cuts its corner: `--physics-hz 10`
and `--interpolation none`, `linear`, `hermite` in turn. `--set count=1000000` is what the ways in and out carry.

Always: `write_bodies` writes every byte of every record, whatever was there; the state is a formula of the
simulated time and the seed. Steps are 1/60 s, above `MANY` bodies 1/30 s.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim.bodies import Bodies
from twixt.sim.worlds.formula import FormulaWorld

Floats = NDArray[np.float64]

MOST = 1_000_000
# 64 MB a snapshot: at 60 of them a second a core would do nothing else.
MANY = 250_000
# Bytes that a body takes here: its record, what it keeps (`KEPT` floats), its colour.
KEPT = 8
BODY_BYTES = BODY.itemsize + 4 * KEPT + 4
# Enough that rings are not seen as such; more cost time where bodies are few.
FLOCKS_MIN, FLOCKS_MAX = 64, 1024
BODIES_PER_FLOCK = 160
# Bodies written at a time: 256 kB of records stay in a core's second-level cache between the passes over them.
CHUNK = 4096

DISC_M = 6.0
CORE_M = 0.55
DISC_SCALE = 0.34  # of the surface's exponential fall with the radius, as a share of the disc
# Ellipses: how much shorter across than along, and by how much the last is turned against the first.
FLATTENING = 0.2
TWIST_RAD = 2.3 * math.pi
PATTERN_HZ = 0.012  # the arms as a whole
SPEED_M_S = 1.3  # of bodies in the disc: almost the same at all radii, as in galaxies
BREATH, BREATH_HZ, BREATH_WAVES = 0.045, 0.11, 1.3
LEAN_RAD, LEAN_HZ, LEAN_WAVES = 0.11, 0.035, 0.8
THICK_M, BULGE_M = 0.10, 0.95
SPIN_MIN_HZ, SPIN_MAX_HZ = 0.05, 0.4

# A body's diameter in a picture of 800x600 is this many pixels at a thousand, and falls with their number.
DIAMETER_PX, DIAMETER_POWER = 18.0, -0.26
EYE_M = (0.0, -14.2, 8.6)
FOV_Y_DEG = 32.0
BACKGROUND = (0.035, 0.04, 0.065)

# The words of a record, in floats, and what a body keeps, by place.
POSITION, EPOCH, ORIENTATION, VELOCITY, FLAGS, SPIN, COLOR = (
    slice(0, 3),
    3,
    slice(4, 8),
    slice(8, 11),
    11,
    slice(12, 15),
    15,
)
PLACE, ONE, TURN = slice(0, 3), 3, slice(4, 8)


class Swarm(FormulaWorld):
    """A galaxy of up to a million bodies, for measuring what many cost."""

    def __init__(self, count: int = 10_000, seed: int = 0) -> None:
        check_count(count)
        self.count = count
        self.dt = 1 / 60 if count <= MANY else 1 / 30
        self.flocks = min(count, max(FLOCKS_MIN, min(FLOCKS_MAX, count // BODIES_PER_FLOCK)))
        self.flock_size = -(-count // self.flocks)
        self.flocks = -(-count // self.flock_size)
        self.cuts = 0
        self.bodies = Bodies(count)
        self.scene = _scene(count)
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Simulated time 0; `seed` decides every body's place, colour and spin."""
        random = np.random.default_rng(seed)
        self.ring = Rings(self.flocks, random)
        self.kept = _kept(self.count, self.flock_size, self.ring, random)
        self.color = _colors(self.count, self.flock_size, self.ring, random)
        self.time_ns = 0
        self.cuts = (self.cuts + 1) & CONTINUITY_MASK
        self.write()

    def write(self) -> None:
        """Nothing: records are written where they are to go."""

    def write_bodies(self, records: NDArray[np.void]) -> None:
        """Fills `records` (n,), dtype `BODY`, that may hold anything before."""
        matrices = self.ring.matrices(self.time_s)
        size = self.flock_size
        words = records.view(np.uint32).reshape(-1, 16)
        floats = records.view(np.float32).reshape(-1, 16)
        step = max(1, CHUNK // size)
        for first in range(0, self.flocks, step):
            begin, end = first * size, min((first + step) * size, self.count)
            whole = (end - begin) // size
            last = begin + whole * size
            if whole:
                np.matmul(
                    self.kept[begin:last].reshape(whole, size, KEPT),
                    matrices[first : first + whole],
                    out=floats[begin:last].reshape(whole, size, 16),
                )
            if last < end:
                np.matmul(self.kept[last:end], matrices[first + whole], out=floats[last:end])
            words[begin:end, EPOCH] = self.cuts
            words[begin:end, COLOR] = self.color[begin:end]


class Rings:
    """The flocks: (f,) each, from the middle outward."""

    def __init__(self, count: int, random: np.random.Generator) -> None:
        share = (np.arange(count) + 0.5) / count
        self.radius = CORE_M * 0.25 + DISC_M * _radius_of(share)
        self.outward = self.radius / DISC_M
        self.speed = SPEED_M_S / (self.radius + CORE_M)
        self.start = random.uniform(0, 2 * math.pi, count)
        self.axis = random.standard_normal((count, 3))
        self.axis /= np.linalg.norm(self.axis, axis=1, keepdims=True)
        self.spin = 2 * math.pi * random.uniform(SPIN_MIN_HZ, SPIN_MAX_HZ, count)
        self.spin_start = random.uniform(0, 2 * math.pi, count)
        flags = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
        scale = random.uniform(0.85, 1.15, count).astype(np.float16).view(np.uint16).astype(np.uint32)
        self._matrices = np.zeros((count, KEPT, 16), np.float32)
        # Bits of a float that is neither tiny nor infinite: one times it, plus zeros, are the same bits.
        self._matrices[:, ONE, FLAGS] = (scale << np.uint32(16) | np.uint32(flags)).view(np.float32)
        self._matrices[:, ONE, SPIN] = self.axis * self.spin[:, None]

    def matrices(self, time_s: float) -> NDArray[np.float32]:
        """What takes a kept row to a record's sixteen floats at a simulated time, (f, 8, 16)."""
        out = self._matrices
        way, turn_rate = TWIST_RAD * self.outward + 2 * math.pi * PATTERN_HZ * time_s, 2 * math.pi * PATTERN_HZ
        around = self.start + self.speed * time_s
        breath_rate, lean_rate = 2 * math.pi * BREATH_HZ, 2 * math.pi * LEAN_HZ
        breath = breath_rate * time_s - 2 * math.pi * BREATH_WAVES * self.outward
        size, size_rate = 1 + BREATH * np.sin(breath), BREATH * breath_rate * np.cos(breath)
        # In its plane: turn by `around`, flatten, turn by `way`; columns are the images of x and y.
        cw, sw, ca, sa = np.cos(way), np.sin(way), np.cos(around), np.sin(around)
        flat = 1 - FLATTENING * np.minimum(1.0, 2.2 * self.outward)
        shape = np.array([[cw * ca - sw * flat * sa, -cw * sa - sw * flat * ca],
                          [sw * ca + cw * flat * sa, -sw * sa + cw * flat * ca]])  # fmt: skip
        plane = size * shape
        turned = np.stack((-plane[1], plane[0]))
        passed = np.stack((plane[:, 1], -plane[:, 0]), axis=1)
        speed = size_rate * shape + turn_rate * turned + self.speed * passed
        # Heights are linear in x and y: a plane that leans, ever another way.
        lean = lean_rate * time_s - 2 * math.pi * LEAN_WAVES * self.outward
        slope = LEAN_RAD * self.outward * np.stack((np.cos(lean), np.sin(lean)))
        slope_rate = lean_rate * np.stack((-slope[1], slope[0]))
        height = slope[0] * plane[0] + slope[1] * plane[1]
        height_rate = slope_rate[0] * plane[0] + slope_rate[1] * plane[1] + slope[0] * speed[0] + slope[1] * speed[1]
        out[:, 0:2, 0:2] = plane.transpose(2, 1, 0)
        out[:, 0:2, 8:10] = speed.transpose(2, 1, 0)
        out[:, 0:2, 2] = height.T
        out[:, 0:2, 10] = height_rate.T
        out[:, 2, 2] = size
        out[:, 2, 10] = size_rate
        half = (self.spin_start + self.spin * time_s) / 2
        x, y, z = (self.axis * np.sin(half)[:, None]).T
        w = np.cos(half)
        # The product (x, y, z, w) q of quaternions, as a matrix that a row q is multiplied by.
        out[:, TURN, ORIENTATION] = np.array([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z], [x, y, z, w]]).transpose(
            2, 0, 1
        )
        return out


def check_count(count: int) -> None:
    """Raises TwixtError for what is no number of bodies, before any memory is taken."""
    if not 1 <= count <= MOST:
        need = f" (they would need {count * BODY_BYTES / 2**30:,.1f} GiB here, and {64 * count / 2**30:,.1f} GiB a snapshot)"
        raise TwixtError(f"count must be from 1 to {MOST} bodies, got {count}{need if count > MOST else ''}")


def _radius_of(share: Floats) -> Floats:
    """The radius, as a share of the disc's, within which a share of the bodies is: exponential disc, cut off at 1."""
    radius = np.linspace(0, 1, 513)
    mass = 1 - (1 + radius / DISC_SCALE) * np.exp(-radius / DISC_SCALE)
    return np.interp(share, mass / mass[-1], radius)


def _kept(count: int, size: int, ring: Rings, random: np.random.Generator) -> NDArray[np.float32]:
    """What bodies keep, (n, 8): place in the ring, 1, first orientation."""
    kept = np.empty((count, KEPT), np.float32)
    flock = np.arange(count) // size
    # Rings overlap their neighbours, or they were seen as rings.
    blur = np.gradient(ring.radius) if len(ring.radius) > 1 else np.array([CORE_M])
    blur = np.maximum(1.5 * blur, 0.02 * DISC_M)
    angle = random.random(count, np.float32) * np.float32(2 * math.pi)
    radius = ring.radius.astype("f4")[flock] + blur.astype("f4")[flock] * (random.random(count, np.float32) * 2 - 1)
    kept[:, 0] = radius * np.cos(angle)
    kept[:, 1] = radius * np.sin(angle)
    thick = (THICK_M + BULGE_M * np.exp(-((ring.radius / 1.1) ** 2))) / 2
    kept[:, 2] = thick.astype("f4")[flock] * random.standard_normal(count, np.float32).clip(-2.5, 2.5)
    kept[:, ONE] = 1.0
    turn = random.standard_normal((count, 4), np.float32)
    turn /= np.sqrt(np.einsum("ij,ij->i", turn, turn))[:, None]
    kept[:, TURN] = turn
    return kept


STOPS = (0.0, 0.16, 0.34, 0.6, 1.0)
STOP_COLORS = ((255, 240, 205), (255, 206, 130), (240, 130, 150), (110, 140, 250), (70, 190, 235))


def _colors(count: int, size: int, ring: Rings, random: np.random.Generator) -> NDArray[np.uint32]:
    """Every body's rgba, as one word each, (n,)."""
    flock = np.arange(count) // size
    color = np.empty((count, 4), np.uint8)
    shade = random.uniform(0.6, 1.0, count).astype(np.float32)
    for channel in range(3):
        levels = np.interp(ring.outward, STOPS, [stop[channel] for stop in STOP_COLORS]).astype("f4")
        color[:, channel] = levels[flock] * shade
    color[:, 3] = 255
    return color.view(np.uint32)[:, 0]


def _scene(count: int) -> Scene:
    away = math.dist(EYE_M, (0, 0, 0))
    focal_px = 300 / math.tan(math.radians(FOV_Y_DEG / 2))
    diameter_px = DIAMETER_PX * (count / 1000) ** DIAMETER_POWER
    return Scene(
        [Sphere(diameter_px / 2 * away / focal_px, (1.0, 1.0, 1.0))],
        camera=Camera(eye=EYE_M, target=(0.0, 0.0, -0.2), fov_y_deg=FOV_Y_DEG),
        ground=None,
        background=BACKGROUND,
    )
