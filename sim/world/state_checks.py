"""Checks states of a world for values that cannot be drawn, for motion lost to float32, and for shapes too small to be
seen.

A check of a million bodies at once would delay a step visibly. So each check covers one chunk of `CHUNK` bodies, and a
later step checks the next chunk. Single values are checked only if a sum of squares is not finite.

Always: the checks change nothing. Each body is checked once in every `CHECK_INTERVAL_S` of simulated time. With very
many bodies, one chunk is checked after every step, and a round takes longer. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Mesh, Scene
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE

# Largest distance from the origin, in metres, at which viewers draw anything. The square of a larger distance would
# overflow.
FARTHEST = 1e30
# Simulated time in which every body is checked once, in s. With very many bodies a round takes longer.
CHECK_INTERVAL_S = 0.5
# Number of bodies that are checked after one step. The check takes about 60 microseconds. For more bodies numpy would
# split the dot products among threads.
CHUNK = 8192
# Number of 32-bit numbers in a record.
NUMBERS = 16


class CheckedField(NamedTuple):
    """One field of a body's record that the checks cover."""

    name: str
    places: range  # Indices of the field's 32-bit numbers in the record. Empty if its numbers have fewer than 32 bits.
    flags: int  # The check covers only bodies that have all of these flags.
    outcome: str  # Consequence for a body whose value is not finite; text for the warning.


NOT_DRAWN, UNUSED, UNROTATED = "it is not drawn", "it is ignored", "it is drawn without rotation"
FIELDS = (
    CheckedField("position", range(3), VISIBLE, NOT_DRAWN),
    CheckedField("orientation", range(4, 8), VISIBLE, NOT_DRAWN),
    CheckedField("scale", range(0), VISIBLE, NOT_DRAWN),
    CheckedField("velocity", range(8, 11), VISIBLE | HAS_VELOCITY, UNUSED),
    CheckedField("angular_velocity", range(12, 15), VISIBLE | HAS_ANGULAR_VELOCITY, UNUSED),
)
ZERO_ORIENTATION = CheckedField("orientation", range(4, 8), VISIBLE, UNROTATED)
GIVE_IDENTITY = "give (0, 0, 0, 1), x y z w, for no rotation"


def way_out_in(place: str) -> str:
    """Advice for a user whose numbers are not finite. place: name of the user's code that writes the numbers."""
    return f"look in {place} for a division by zero"


class FiniteCheck:
    """Check of one world's bodies, one chunk at a time.

    way_out: advice about numbers that are not finite, for the error text; made by `way_out_in`. name_of: function that
    returns a body's name from its row; by default the name is the row itself.
    """

    def __init__(self, way_out: str, name_of: Callable[[int], object] = int) -> None:
        self._way_out, self._name_of = way_out, name_of
        self._next = 0

    def steps_until_next(self, count: int, dt_s: float) -> int:
        """Number of steps until the check of the next chunk is due. count: number of bodies. dt_s: length of a step,
        in s."""
        chunks = max(1, math.ceil(count / CHUNK))
        return max(1, math.ceil(CHECK_INTERVAL_S / chunks / dt_s))

    def check_next(self, bodies: NDArray[np.void], tick: int) -> str:
        """Checks the next chunk of bodies. Returns an error text about the first body that cannot be drawn, or an
        empty text.

        bodies: records of dtype `BODY` in the state after step number `tick`.
        """
        start = self._next if self._next < len(bodies) else 0
        self._next = start + CHUNK
        return self._fault(bodies, start, tick)

    def check_all(self, bodies: NDArray[np.void], tick: int) -> str:
        """Checks all bodies at once. Returns an error text as `check_next` does."""
        faults = (self._fault(bodies, start, tick) for start in range(0, len(bodies), CHUNK))
        return next(filter(None, faults), "")

    def _fault(self, bodies: NDArray[np.void], start: int, tick: int) -> str:
        part = bodies[start : start + CHUNK]
        for field in FIELDS:
            with np.errstate(all="ignore"):
                if _are_finite(part, field.name, field.places):
                    continue
                is_fine = (np.abs(part[field.name]) < FARTHEST).reshape(len(part), -1).all(axis=1)
            if fault := self._first(part, start, tick, field, is_fine):
                return fault
        # There are usually few such bodies. The numbers x, y and z are checked only for these.
        without = part["orientation"][:, 3] == 0
        if without.any():
            without[without] = ~part["orientation"][without].any(axis=1)
        return self._first(part, start, tick, ZERO_ORIENTATION, ~without) if without.any() else ""

    def _first(
        self, part: NDArray[np.void], start: int, tick: int, field: CheckedField, is_fine: NDArray[np.bool_]
    ) -> str:
        """Text about the first body in `part` that has the field's flags and is False in `is_fine`. Empty if there is
        no such body."""
        wrong = np.flatnonzero(~is_fine & ((part["flags"] & field.flags) == field.flags))
        if not len(wrong):
            return ""
        value = np.array2string(part[field.name][wrong[0]], separator=", ")
        way_out = GIVE_IDENTITY if field is ZERO_ORIENTATION else self._way_out
        return (
            f"body {self._name_of(start + wrong[0])} has the {field.name} {value} after step {tick}; {field.outcome}; "
            f"{way_out}"
        )


def _are_finite(bodies: NDArray[np.void], name: str, places: range) -> bool:
    """True if all values of a field are finite and their squares do not overflow. If the result is False, each value
    must be checked."""
    if not places:
        return bool(np.isfinite(bodies[name]).all())
    numbers = bodies.view(np.float32).reshape(-1, NUMBERS)
    columns = (numbers[:, place] for place in places)
    return all(float(column.dot(column)) < math.inf for column in columns)  # The comparison is False for a NaN.


# Detects motion lost to float32: bodies far from the origin that move in visible steps, or do not move at all.
#
# A snapshot holds positions as float32. There are 2**23 float32 numbers between 2**n and 2**(n + 1) metres. So the
# spacing of positions is 61 micrometres at 1,000 m and half a metre at 5,400,000 m. From time to time the check looks
# at a sample of the bodies. It finds two kinds of loss:
#
# - Uneven steps. A body moves by less than `FEW_SPACINGS` spacings per publish, and one spacing is a visible share of
#   the body's size. The check sees this in the positions. If it knows the float64 positions, it sees this from the
#   first move on.
# - Standstill. A world adds to float32 positions in place. Steps of less than half a spacing are lost, and the
#   position never changes. The velocities or the added amounts show that the body should have moved.
#
# The check does not find a standstill if neither velocities nor added amounts are known, because such a body looks
# like one at rest. It does not see bodies outside the sample.
#
# Always: at most `MOST_WATCHED` bodies are checked at a time, with a few numpy calls. The check changes nothing. It
# reads no clock.


# Least time between two checks, in steps or publishes, and in seconds. A check takes 0.2 ms if the caches are cold.
LEAST_INTERVAL, LOOK_INTERVAL_S = 32, 0.5
# Largest number of bodies in a sample, and in the chunk from which the sample is chosen. Half of a sample are the
# bodies of the chunk that are farthest from the origin. The other half changes from sample to sample. The limits keep
# the memory of a check below that of a publish.
MOST_WATCHED, MOTION_CHUNK = 64, 1024
# Number of checks after which a new sample is chosen. During so many checks even a slow body moves visibly.
CHECKS_OF_A_SAMPLE = 32
# A body is not checked if all its coordinates are below this, in metres. Its position is then wrong by at most 0.06
# micrometres.
LEAST_DISTANCE = 1.0
# If a body moves by fewer spacings than this in a step, the length of the step is wrong by more than a tenth. The
# motion is then visibly uneven.
FEW_SPACINGS = 10.0
# A loss is reported after this number of checks have found it. A body that jumped without a cut moves in only one
# check. It moves by more than `FEW_SPACINGS`, so the jump is not counted.
CHECKS_TO_REPORT = 3
# A spacing is visible if it is at least this share of a body's size. The rounding error of a position is at most half
# a spacing. This is one pixel for a body 200 pixels wide.
VISIBLE_SHARE = 0.01
# A standstill is reported only if the body should have moved by at least this many spacings.
LEAST_LOST = 3.0
# If float64 positions are known, a body counts as moved if its rounding error changed by at least this share of a
# spacing.
CHANGED_SHARE = 0.25


class LostMotion:
    """Check for lost motion in one view or world. scene: function that returns the scene of the view or world."""

    def __init__(self, scene: Callable[[], Scene]) -> None:
        self._scene = scene
        self._looks = self._rounds = 0
        self._tick, self._time_s = 0, 0.0
        # Sizes of the bodies at `_rows`, computed when they are first needed.
        self._size: NDArray[np.float64] | None = None
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)

    def check(
        self,
        bodies: NDArray[np.void],
        tick: int,
        time_s: float,
        exact: NDArray[Any] | None = None,
        name_of: Callable[[int], object] = int,
        added: NDArray[np.float64] | None = None,
    ) -> str:
        """Checks the bodies after step or publish number `tick`. Returns a warning about the first body that loses its
        motion, or an empty text.

        bodies: records of dtype `BODY`, shape (n,). time_s: simulated time in seconds. exact: the user's float64
        positions, (n, 3), or None if only float32 positions are known. name_of: function that returns a body's name
        from its row. added: amounts that one step added to the positions without changing them, in metres, (n, 3), or
        None if they are not known.
        """
        self._looks += 1
        rows = self._rows
        if not len(rows) or rows[-1] >= len(bodies) or self._looks % CHECKS_OF_A_SAMPLE == 0:
            rows, self._size = self._choice(bodies), None
        if len(rows) and np.array_equal(rows, self._rows):
            with np.errstate(all="ignore"):
                row, text = self._compare(bodies, tick, time_s, exact, added)
            if text:
                return f"body {name_of(row)} {text}"
        else:
            self._watch(bodies, rows, tick, exact)
        self._tick, self._time_s = tick, time_s
        return ""

    def _choice(self, bodies: NDArray[np.void]) -> NDArray[np.int64]:
        """Rows of the bodies in the next sample, in ascending order."""
        sweep, chunk = divmod(self._rounds, max(1, -(-len(bodies) // MOTION_CHUNK)))
        start = chunk * MOTION_CHUNK
        self._rounds += 1
        part = bodies[start : start + MOTION_CHUNK]
        farthest = _farthest(part["position"])
        far = np.flatnonzero((farthest >= LEAST_DISTANCE) & (part["flags"] & VISIBLE != 0))
        if len(far) > MOST_WATCHED:
            half = MOST_WATCHED // 2
            order = np.argpartition(farthest[far], -half)
            others, stride = np.sort(order[:-half]), -(-(len(far) - half) // half)
            far = far[np.sort(np.concatenate((order[-half:], others[sweep % stride :: stride])))]
        return far + start

    def _watch(self, bodies: NDArray[np.void], rows: NDArray[np.int64], tick: int, exact: NDArray[Any] | None) -> None:
        """Starts a sample of the bodies at `rows`."""
        self._rows = rows[:0]  # The sample stays empty until the method ends, because Ctrl-C may interrupt the method.
        self._epoch = bodies["epoch"][rows]
        self._position = bodies["position"][rows]
        self._exact = _rows_of(exact, rows)
        self._since = np.full(len(rows), tick)
        self._moves, self._is_moving = np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
        self._lost, self._stands = np.zeros((len(rows), 3)), np.zeros(len(rows), np.int64)
        self._still = self._position
        self._rows = rows

    def _compare(
        self,
        bodies: NDArray[np.void],
        tick: int,
        time_s: float,
        exact: NDArray[Any] | None,
        added: NDArray[np.float64] | None,
    ) -> tuple[int, str]:
        rows = self._rows
        position, epoch = bodies["position"][rows], bodies["epoch"][rows]
        spacings = np.spacing(np.abs(position))
        spacing = spacings.max(axis=1)
        if self._has_moved(position, epoch, spacing, tick, _rows_of(exact, rows)):
            ready = np.flatnonzero(self._moves >= CHECKS_TO_REPORT)
            sizes = self._sizes(bodies)[ready]
            seen = ready[(sizes > 0) & (spacing[ready] >= VISIBLE_SHARE * sizes)]
            if len(seen):
                first = seen[0]
                return int(rows[first]), (
                    f"at {_place(position[first])} moves in steps of {spacing[first]:.2g} m: snapshots hold positions "
                    "as float32, which has no finer steps so far from the origin; subtract an origin near the bodies "
                    "from all positions"
                )
            # These bodies are not reported, because a spacing is too small a share of their size.
            self._moves[ready] = -CHECKS_OF_A_SAMPLE
        if exact is not None and exact.dtype != np.float32:
            return 0, ""
        velocity = np.where((bodies["flags"][rows] & HAS_VELOCITY != 0)[:, None], bodies["velocity"][rows], 0)
        if added is not None and time_s > self._time_s:
            sums = added[rows]
            velocity = np.where(sums != 0, sums * ((tick - self._tick) / (time_s - self._time_s)), velocity)
        if self._has_stood(position, spacings, velocity, tick, time_s):
            lost = np.abs(self._lost)
            ready = np.flatnonzero((self._stands >= CHECKS_TO_REPORT) & (lost >= LEAST_LOST * spacings).any(axis=1))
            sizes = self._sizes(bodies)[ready]
            seen = ready[(sizes > 0) & (lost[ready].max(axis=1) >= VISIBLE_SHARE * sizes)]
            if len(seen):
                first = seen[0]
                axis = int(lost[first].argmax())
                return int(rows[first]), (
                    f"at {_place(position[first], axis)} does not move, although its velocity is "
                    f"{velocity[first, axis]:.2g} m/s: a step adds less than half the spacing of float32 there, "
                    f"{spacings[first, axis]:.2g} m; keep positions in float64 and assign them, or subtract an origin "
                    "near the bodies from all positions"
                )
        return 0, ""

    def _has_moved(
        self,
        position: NDArray[np.float32],
        epoch: NDArray[np.uint32],
        spacing: NDArray[np.float32],
        tick: int,
        exact: NDArray[np.float64] | None,
    ) -> bool:
        """Counts, for each body, the checks that found uneven motion. True if a count has reached CHECKS_TO_REPORT."""
        if exact is None or self._exact is None:
            moved = np.abs(position - self._position).max(axis=1)
            is_moved = moved > 0
        else:
            moved = np.abs(exact - self._exact).max(axis=1)
            rounding, before = position - exact, self._position - self._exact
            is_moved = np.abs(rounding - before).max(axis=1) >= CHANGED_SHARE * spacing
        is_even = moved >= FEW_SPACINGS * spacing * (tick - self._since)
        is_cut = epoch != self._epoch
        is_uneven = is_moved & ~is_even & ~is_cut
        self._moves += is_uneven & (self._is_moving | (moved <= FEW_SPACINGS * spacing))
        self._moves[is_even | is_cut] = 0
        self._is_moving = is_uneven
        is_new = is_moved | is_even | is_cut
        if is_new.any():
            self._position = np.where(is_new[:, None], position, self._position)
            self._since[is_new] = tick
        if exact is None or self._exact is None:
            self._exact = exact
        else:
            self._exact = np.where(is_new[:, None], exact, self._exact)
        self._epoch = epoch
        return bool((self._moves >= CHECKS_TO_REPORT).any())

    def _has_stood(
        self,
        position: NDArray[np.float32],
        spacings: NDArray[np.float32],
        velocity: NDArray[np.float32],
        tick: int,
        time_s: float,
    ) -> bool:
        """Adds up the distances that bodies at rest should have moved at their velocities. True if a body has been at
        rest for CHECKS_TO_REPORT checks."""
        passed_s, steps = time_s - self._time_s, tick - self._tick
        step = np.abs(velocity) * (passed_s / max(1, steps))
        is_lost = (position == self._still) & (step > 0) & (step < 0.5 * spacings)
        self._lost = np.where(is_lost, self._lost + velocity * passed_s, 0.0)
        self._stands = np.where(is_lost.any(axis=1), self._stands + 1, 0)
        self._still = position
        return bool((self._stands >= CHECKS_TO_REPORT).any())

    def _sizes(self, bodies: NDArray[np.void]) -> NDArray[np.float64]:
        """Diameters of the bodies in the sample, in metres. The diameter of a body without a shape is 0."""
        if self._size is None:
            scene, rows = self._scene(), self._rows
            shapes, places = np.unique(shape_list(scene).rows_for(int(rows[-1]) + 1)[rows], return_inverse=True)
            reach = np.array(
                [shape_list(scene).table[shape].reach if shape_list(scene).table else 0.0 for shape in shapes]
            )
            self._size = 2 * reach[places] * bodies["scale"][rows]
        return self._size


def _farthest(position: NDArray[np.float32]) -> NDArray[np.float32]:
    """Largest absolute coordinate of each position, shape (n,)."""
    farthest, other = np.abs(position[:, 0]), np.abs(position[:, 1])
    np.maximum(farthest, other, out=farthest)
    np.abs(position[:, 2], out=other)
    return np.maximum(farthest, other, out=farthest)


def _rows_of(exact: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
    return None if exact is None or exact.dtype == np.float32 else exact[rows].astype(np.float64)


def _place(position: NDArray[np.float32], axis: int | None = None) -> str:
    axis = int(np.abs(position).argmax()) if axis is None else axis
    return f"{'xyz'[axis]} = {position[axis]:,.10g} m"


# Warns about shapes that are too small to be seen, such as molecules whose size is given in metres.


# Smallest size of a shape that gives no warning, in metres. A camera can come as close as 1e-7 m to its target
# (`render/draw/frame/camera.py`). At that distance a sphere below this size is only a few pixels wide.
SMALLEST_M = 1e-9
# Largest number of shapes that are checked, and of vertices that are checked in a mesh. The limits are needed because
# the check delays the first frame.
MOST_SHAPES, MOST_VERTICES = 256, 4096


def small_shape(scene: Scene) -> str:
    """Warning about the first shape of `scene` that is too small to be seen. Empty if there is no such shape. Pure."""
    for place, shape in enumerate(shape_list(scene).table[:MOST_SHAPES]):
        if isinstance(shape, Mesh) and len(shape.vertices) > MOST_VERTICES:
            continue
        if 0 < shape.reach < SMALLEST_M:
            body = int((shape_list(scene).rows == place).argmax())
            return (
                f"the {type(shape).__name__} of body {body} is {2 * shape.reach:.2g} m across, and a camera comes no "
                "nearer than 1e-07 m: it is too small to be seen; give lengths in a larger unit, such as nanometres"
            )
    return ""
