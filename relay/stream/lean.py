"""Codec *lean* of a snapshot's bodies: 28 bytes a body where angular velocities are given, 22 where not (full: 64).

Positions are integers of 21 bits in the box of a chunk of 256 bodies, orientations have the smallest three components
in 15 bits each, velocities and angular velocities are floats of 16 bits in units of the chunk's largest, and the low
half of an epoch is exact. Colours, scales, flags and the high halves of epochs change seldom: a block has the rows that
changed since the version that the page has. A body whose values do not fit (not finite, no unit quaternion, very fast,
far from the other bodies of its chunk) is sent as its exact record. docs/wire.md has the layout.

The step of a box is one of 16 values for each power of two, and its corner is a multiple of the step. So a body at rest
is decoded to the same position in most snapshots, though the box follows the other bodies.

Always: decode(encode(bodies)) has the exact epochs, colours, scales and flags, and positions within `error_bound_m` of
the originals. Velocities whose flag is not set become 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from twixt.ipc.snapshot import BODY, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, RECORD

CHUNK = 256
# Box of a chunk, for each axis: a position is (first + integer) * step, in metres. `first` is a whole number. The
# exponents are those of the powers of two above the largest velocity and the largest angular velocity.
BOX = np.dtype([("first", "<f8", 3), ("step", "<f4", 3), ("exponents", "<i2", 2)])
HEAD = np.dtype([("count", "<u4"), ("fields", "<u4"), ("exceptions", "<u4"), ("changed", "<u4")])
# Bits of `fields`: which arrays the block has.
VELOCITIES, ANGULAR_VELOCITIES = 1, 2
VELOCITY_BITS = ((VELOCITIES, "velocity"), (ANGULAR_VELOCITIES, "angular_velocity"))

POSITION_BITS = 21
LARGEST_INTEGER = np.uint64((1 << POSITION_BITS) - 1)
# Steps are 16 to 31 times a power of two, of which this is the smallest: steps are normal float32 numbers.
STEP_FRACTION, LEAST_EXPONENT = 32, -120
# The three smallest components of a unit quaternion are at most this.
LARGEST_OF_THREE = np.sqrt(0.5)
# Components are integers from -16,383 to 16,383, so that 0 is exact: a body that is not rotated stays so.
COMPONENT_LIMIT = (1 << 14) - 1
# Largest difference of a squared norm from 1. Float32 makes 2e-7.
NORM_TOLERANCE = 1e-4
# A velocity's 16 bits are a sign, 3 bits of exponent and 12 of mantissa. They are bits of the float32 that is the share
# of the chunk's power of two times 2^-SHARE_EXPONENT: such a float32 has no other exponents.
SHARE_SHIFT, SHARE_BITS, SHARE_EXPONENT = 11, 0x7FFF, 119
# Faster bodies are sent as exact records, in m/s and rad/s.
FASTEST = 65_504.0
# Positions beyond this are sent as exact records: a box around them could exceed float32.
LARGEST_M = 1e30
# A box wider than this has an error above 0.25 mm for each axis. Then bodies beyond half of it from the chunk's median
# are sent as exact records, if they are few: at most this many, or this share of the chunk.
WIDE_M = 1024.0
FEW, FEW_SHARE = 16, 1 / 8

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Seldom(NamedTuple):
    """Fields that change seldom, a row for each body."""

    color: NDArray[np.uint32]
    scale: NDArray[np.uint16]  # bits of the half float
    flags: NDArray[np.uint16]
    corrections: NDArray[np.uint16]  # high half of the epoch

    @classmethod
    def of(cls, bodies: NDArray[np.void]) -> Seldom:
        return cls(
            bodies["color"].copy().view("<u4")[:, 0],
            bodies["scale"].view("<u2").copy(),
            bodies["flags"].copy(),
            (bodies["epoch"] >> 16).astype("<u2"),
        )


SELDOM_BYTES = 10


def error_bound_m(boxes: NDArray[np.void]) -> float:
    """Largest distance between a position and what is decoded, in m. boxes: array of `BOX` records."""
    steps = boxes["step"].astype(np.float64)
    return float(np.sqrt((steps**2).sum(axis=1)).max(initial=0) / 2)


class LeanEncoder:
    """Encodes the bodies of one simulation, once a snapshot for all pages.

    Attributes:
        version: Number of the newest snapshot that was encoded, from 1.
        boxes: Boxes of its chunks, array of `BOX` records.
    """

    def __init__(self) -> None:
        self.version = 0
        self.boxes: NDArray[np.void] = np.zeros(0, BOX)
        self._common = b""
        self._head: NDArray[np.void] = np.zeros(1, HEAD)
        self._seldom = Seldom.of(np.zeros(0, BODY))
        self._changed_in: NDArray[np.int64] = np.zeros(0, np.int64)  # version in which a row last changed
        self._blocks: dict[int, bytes] = {}

    def encode(self, bodies: NDArray[np.void]) -> None:
        """Encodes the bodies of the next snapshot. bodies: contiguous array of `BODY` records, shape (n,)."""
        self.version += 1
        self._blocks.clear()
        self._note_changes(Seldom.of(bodies))
        positions, is_near = _columns(bodies["position"], LARGEST_M)
        words, is_unit = _smallest_three(bodies["orientation"])
        velocities, is_slow = _velocities(bodies["velocity"], bodies["flags"] & HAS_VELOCITY)
        angular, is_turning = _velocities(bodies["angular_velocity"], bodies["flags"] & HAS_ANGULAR_VELOCITY)
        fits = is_near & is_unit & is_slow & is_turning
        self.boxes = _boxes(positions, fits)
        given = [(axis, values) for axis, values in enumerate((velocities, angular)) if values is not None]
        exceptions = np.flatnonzero(~fits)
        arrays = [
            self.boxes,
            _integers(positions, self.boxes, exceptions),
            exceptions.astype("<u4"),
            bodies.view(RECORD)[exceptions],
            words,
            bodies["epoch"].astype("<u2"),
        ]
        arrays += [_shares(values, self.boxes["exponents"][:, axis], exceptions) for axis, values in given]
        self._common = _padded(b"".join(array.tobytes() for array in arrays), 4)
        self._head[0] = (len(bodies), sum(VELOCITY_BITS[axis][0] for axis, _ in given), len(exceptions), 0)

    def block(self, since: int = 0) -> bytes:
        """The encoded bodies for a page that has the rows of the version `since`; 0: it has none."""
        if since not in self._blocks:
            rows = np.flatnonzero(self._changed_in > since)
            count = len(self._changed_in)
            if len(rows) * (SELDOM_BYTES + 4) >= count * SELDOM_BYTES:
                rows = np.arange(count)  # all rows need no indices
            self._head["changed"] = len(rows)
            indices = rows.astype("<u4").tobytes() if len(rows) < count else b""
            seldom = b"".join(array[rows].tobytes() for array in self._seldom)
            self._blocks[since] = _padded(self._head.tobytes() + self._common + indices + seldom, 8)
        return self._blocks[since]

    def _note_changes(self, seldom: Seldom) -> None:
        if len(seldom.color) != len(self._changed_in):
            self._changed_in = np.full(len(seldom.color), self.version)
        else:
            pairs = zip(self._seldom, seldom, strict=True)
            self._changed_in[np.logical_or.reduce([before != now for before, now in pairs])] = self.version
        self._seldom = seldom


class LeanDecoder:
    """Decodes the blocks of one connection, in the order in which they were sent. The reference for `web/wire.js`."""

    def __init__(self) -> None:
        self._seldom = Seldom.of(np.zeros(0, BODY))

    def decode(self, block: bytes) -> NDArray[np.void]:
        """Returns the bodies, array of `BODY` records.

        Raises ValueError if the block is too short, or if it lacks rows that are not known.
        """
        reader = _Reader(block)
        count, fields, exceptions, changed = (int(value) for value in reader.take(1, HEAD)[0])
        boxes = np.repeat(reader.take(-(-count // CHUNK), BOX), CHUNK)[:count]
        packed = reader.take(count, "<u8")
        rows = reader.take(exceptions, "<u4")
        records = reader.take(exceptions, RECORD)
        words = reader.take((count, 3), "<u2")
        epochs = reader.take(count, "<u2").astype("<u4")
        names = [(axis, name) for axis, (bit, name) in enumerate(VELOCITY_BITS) if fields & bit]
        velocities = {name: (reader.take((count, 3), "<u2"), boxes["exponents"][:, axis]) for axis, name in names}
        reader.align(4)
        if exceptions and rows.max() >= count:
            raise ValueError(f"an exception is body {rows.max()} of {count}")
        seldom = self._take_seldom(reader, count, changed)
        bodies = np.zeros(count, BODY)
        integers = np.stack([packed >> np.uint64(axis * POSITION_BITS) & LARGEST_INTEGER for axis in range(3)], 1)
        with np.errstate(invalid="ignore", over="ignore"):
            bodies["position"] = (boxes["first"] + integers.astype(np.float64)) * boxes["step"].astype(np.float64)
        bodies["orientation"] = _quaternions(words)
        for name, (shares, exponents) in velocities.items():
            bits = (shares & SHARE_BITS).astype("<u4") << SHARE_SHIFT | (shares & ~np.uint16(SHARE_BITS)).astype(
                "<u4"
            ) << 16
            with np.errstate(over="ignore", under="ignore"):
                bodies[name] = np.ldexp(bits.view("<f4"), exponents.astype(np.int32)[:, None] + SHARE_EXPONENT)
        bodies["epoch"] = epochs | seldom.corrections.astype("<u4") << 16
        bodies["flags"] = seldom.flags
        bodies["scale"] = seldom.scale.view("<f2")
        bodies["color"] = np.ascontiguousarray(seldom.color).view("u1").reshape(-1, 4)
        bodies.view(RECORD)[rows] = records
        return bodies

    def _take_seldom(self, reader: _Reader, count: int, changed: int) -> Seldom:
        if changed > count or (changed < count and count != len(self._seldom.color)):
            raise ValueError(f"{changed} changed rows of {count}, but {len(self._seldom.color)} are known")
        rows = reader.take(changed, "<u4") if changed < count else np.arange(count)
        if changed and rows.max() >= count:
            raise ValueError(f"a changed row is body {rows.max()} of {count}")
        if count != len(self._seldom.color):
            self._seldom = Seldom(*(np.zeros(count, array.dtype) for array in self._seldom))
        for array in self._seldom:
            array[rows] = reader.take(changed, array.dtype)
        return self._seldom


class _Reader:
    """Reads arrays from a block, one after the other."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._at = 0

    def take(self, shape: int | tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        kind = np.dtype(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        if self._at + size > len(self._block):
            raise ValueError(f"the block has {len(self._block)} bytes, but {self._at + size} are needed")
        array = np.frombuffer(self._block, kind, int(np.prod(shape)), self._at).reshape(shape)
        self._at += size
        return array

    def align(self, size: int) -> None:
        self._at += -self._at % size


def _columns(positions: NDArray[np.float32], limit: float) -> tuple[list[Floats], Mask]:
    """The coordinates, (n,) for each axis, and the rows in which all are finite and within the limit."""
    with np.errstate(invalid="ignore"):
        columns = [positions[:, axis].astype(np.float64) for axis in range(3)]
    # NaN compares as False
    return columns, np.logical_and.reduce([np.abs(column) <= limit for column in columns])


def _velocities(values: NDArray[np.float32], given: NDArray[np.integer]) -> tuple[NDArray[np.float32] | None, Mask]:
    """The velocities with 0 where none is given, or None if none is; and the rows whose values fit."""
    is_given = given != 0
    if not is_given.any():
        return None, np.ones(len(values), np.bool_)
    known = values if is_given.all() else np.where(is_given[:, None], values, np.float32(0))
    sizes = np.abs(known)
    if sizes.max() <= FASTEST:  # NaN compares as False
        return known, np.ones(len(values), np.bool_)
    return known, np.logical_and.reduce(sizes <= FASTEST, axis=1)


def _shares(
    values: NDArray[np.float32], exponents: NDArray[np.int16], exceptions: NDArray[np.intp]
) -> NDArray[np.uint16]:
    """The 16 bits of velocities, (n, 3), 0 for the exceptions. Writes the exponents of the chunks."""
    if len(exceptions):
        values = values.copy()
        values[exceptions] = 0
    exponents[:] = np.frexp(np.maximum.reduceat(np.abs(values).ravel(), np.arange(0, values.size, 3 * CHUNK)))[1]
    with np.errstate(under="ignore"):
        units = np.ldexp(np.float32(1), -SHARE_EXPONENT - exponents.astype(np.int32))
        bits = (values * np.repeat(units, CHUNK)[: len(values), None]).view("<u4")
    rounded = (bits & 0x7FFFFFFF) + (1 << SHARE_SHIFT - 1) >> SHARE_SHIFT
    return (np.minimum(rounded, SHARE_BITS) | bits >> 31 << 15).astype("<u2")


def _boxes(positions: list[Floats], fits: Mask) -> NDArray[np.void]:
    """Boxes of the chunks. Clears `fits` of bodies that are far from the others of their chunk."""
    count = len(fits)
    starts = np.arange(0, count, CHUNK)
    boxes = np.zeros(len(starts), BOX)
    if not count:
        return boxes
    lowest, highest = _extent(positions, fits, starts)
    for chunk in np.flatnonzero((highest - lowest).max(axis=0) > WIDE_M):
        rows = np.arange(starts[chunk], min(starts[chunk] + CHUNK, count))
        rows = rows[fits[rows]]
        there = np.stack([column[rows] for column in positions])
        is_far = np.abs(there - np.median(there, axis=1)[:, None]).max(axis=0) > WIDE_M / 2
        if is_far.sum() <= max(FEW, FEW_SHARE * len(rows)):
            fits[rows[is_far]] = False
    if not fits.all():
        lowest, highest = _extent(positions, fits, starts)
    # One integer is left for the corner, which is below the lowest position.
    fractions, exponents = np.frexp((highest - lowest) / float(LARGEST_INTEGER - 1))
    exponents[highest == lowest] = LEAST_EXPONENT
    units = np.ldexp(1.0, np.maximum(exponents, LEAST_EXPONENT)) / STEP_FRACTION
    steps = np.maximum(np.ceil(fractions * STEP_FRACTION), STEP_FRACTION / 2) * units
    boxes["step"] = steps.T
    boxes["first"] = np.floor(lowest / steps).T
    return boxes


def _extent(positions: list[Floats], fits: Mask, starts: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Lowest and highest coordinates of each chunk's bodies that fit, (3, chunks) each; 0 if there are none."""
    is_whole = bool(fits.all())
    known = positions if is_whole else [np.where(fits, column, np.nan) for column in positions]
    lowest = np.stack([np.fmin.reduceat(column, starts) for column in known])
    highest = np.stack([np.fmax.reduceat(column, starts) for column in known])
    return (lowest, highest) if is_whole else (np.nan_to_num(lowest, nan=0.0), np.nan_to_num(highest, nan=0.0))


def _integers(positions: list[Floats], boxes: NDArray[np.void], exceptions: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Packed integers of positions, 21 bits for each axis: x in the lowest bits. 0 for the exceptions."""
    packed = np.zeros(len(positions[0]), "<u8")
    for axis, column in enumerate(positions):
        first, steps = (
            np.repeat(boxes[name][:, axis].astype(np.float64), CHUNK)[: len(column)] for name in ("first", "step")
        )
        scaled = column / steps - first
        scaled[exceptions] = 0
        # Rounds halves up: half to even would depend on the corner.
        packed |= np.floor(scaled + 0.5).astype("<u8") << np.uint64(axis * POSITION_BITS)
    return packed


def _smallest_three(orientations: NDArray[np.float32]) -> tuple[NDArray[np.uint16], Mask]:
    """Words of quaternions, (n, 3), and the rows that are unit quaternions.

    A word has 15 bits of a component, in the order x, y, z, w without the largest. The highest bits of the first two
    words are the index of the largest.
    """
    x, y, z, w = (orientations[:, axis].astype(np.float32) for axis in range(4))
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        squares = x * x + y * y + z * z + w * w
        is_unit = np.abs(squares - 1) <= NORM_TOLERANCE
        squares[~is_unit] = 1
        is_y, is_w = np.abs(y) > np.abs(x), np.abs(w) > np.abs(z)
        first, second = np.where(is_y, y, x), np.where(is_w, w, z)
        is_second = np.abs(second) > np.abs(first)
        scale = np.float32(COMPONENT_LIMIT / LARGEST_OF_THREE)
        factors = np.copysign(scale / np.sqrt(squares), np.where(is_second, second, first))
        three = (np.where(is_second | is_y, x, y), np.where(is_second, y, z), np.where(is_second & is_w, z, w))
        words = np.empty((len(x), 3), "<u2")
        for axis, component in enumerate(three):
            integers = np.rint(component * factors)
            integers[~is_unit] = 0
            words[:, axis] = np.clip(integers, -COMPONENT_LIMIT, COMPONENT_LIMIT) + COMPONENT_LIMIT
    # Index of the largest: its low bit and its high bit.
    words[:, 0] |= np.where(is_second, is_w, is_y).astype("<u2") << 15
    words[:, 1] |= is_second.astype("<u2") << 15
    return words, is_unit


def _quaternions(words: NDArray[np.uint16]) -> Floats:
    """Unit quaternions of `_smallest_three`, (n, 4)."""
    largest = words[:, 0] >> 15 | words[:, 1] >> 15 << 1
    scale = LARGEST_OF_THREE / COMPONENT_LIMIT
    first, second, third = (
        ((words[:, axis] & 0x7FFF).astype(np.float64) - COMPONENT_LIMIT) * scale for axis in range(3)
    )
    rest = np.sqrt(np.maximum(1 - first * first - second * second - third * third, 0))
    return np.stack(
        [
            np.where(largest == 0, rest, first),
            np.where(largest == 0, first, np.where(largest == 1, rest, second)),
            np.where(largest <= 1, second, np.where(largest == 2, rest, third)),
            np.where(largest == 3, rest, third),
        ],
        axis=1,
    )


def _padded(content: bytes, size: int) -> bytes:
    return content + bytes(-len(content) % size)
