"""Contains views of arrays. The views report writes to velocities, visibility and positions. Also keeps the visual
offsets of corrected bodies.

A view reports a write by `a[...] = v` or by `a += v`, and a write by a numpy function whose `out` it is. Other
operations return plain arrays.

Always: a copy of a view reports nothing. Writes by C code directly into the memory are not detected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.ring.layout import ColumnForm
from twixt.ipc.snapshot import (
    CORRECTED_NS,
    CORRECTION,
    HAS_ANGULAR_VELOCITY,
    HAS_VELOCITY,
    NO_OFFSET,
    OFFSET_WIDTH,
    corrected,
)
from twixt.sim.world.columns import Column, Columns

FLAGS = {"velocity": HAS_VELOCITY, "angular_velocity": HAS_ANGULAR_VELOCITY}


class TrackedArray(np.ndarray):
    """A view of a field of the bodies. on_write: function that is called before a write, with the array or with the
    part of it that will be written."""

    on_write: Callable[[NDArray[Any]], object] | None = None

    def __array_finalize__(self, obj: Any) -> None:
        self.on_write = getattr(obj, "on_write", None)

    def __setitem__(self, key: Any, value: Any) -> None:
        _report(self)
        plain(self)[key] = value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        for target in outs or (inputs[:1] if method == "at" else ()):
            _report(target)
        given = _untracked_ufunc(ufunc, method, inputs, options)
        # Python assigns the result of `a += v` to `a`. So the result must be the same array.
        return outs[0] if len(outs) == 1 else given


def plain(value: Any) -> Any:
    """For a tracked array: a plain array with the same memory. Returns other values unchanged."""
    return value.view(np.ndarray) if isinstance(value, TrackedArray | VisibilityMask) else value


def _untracked_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Calls the numpy function with plain arrays in place of tracked ones."""
    plains = {name: tuple(map(plain, value)) if name == "out" else plain(value) for name, value in options.items()}
    return getattr(ufunc, method)(*map(plain, inputs), **plains)


def _report(target: Any) -> None:
    if isinstance(target, TrackedArray) and target.on_write is not None:
        target.on_write(target)


class SummedArray(TrackedArray):
    """A view of positions that passes `a += v` and `a -= v` to `sums`."""

    sums: LostSums | None = None

    def __array_finalize__(self, obj: Any) -> None:
        super().__array_finalize__(obj)
        self.sums = getattr(obj, "sums", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        target = options.get("out", (None,))[0]
        is_sum = ufunc in (np.add, np.subtract) and method == "__call__" and set(options) == {"out"}
        sums = target.sums if is_sum and isinstance(target, SummedArray) and inputs[0] is target else None
        if sums is None or sums.is_over:
            return super().__array_ufunc__(ufunc, method, *inputs, **options)
        before = plain(target).copy()
        given = super().__array_ufunc__(ufunc, method, *inputs, **options)
        sums.note(plain(target), before, plain(inputs[1]), -1.0 if ufunc is np.subtract else 1.0)
        return given


class LostSums:
    """Records in-place additions to positions that were too small to change the positions.

    position: the field `position` of the records, (n, 3) f4. Additions to columns and slices of `view` are recorded,
    because their rows are found from the memory address. An addition to bodies selected by a mask or by indices is not
    recorded, because numpy then adds to a copy.

    Always: the object holds no reference to a view. Such a reference would make a cycle, which the physics process
    frees only in its next long wait.
    """

    def __init__(self, position: NDArray[np.float32]) -> None:
        self._position = position
        self._start, self._bytes = position.__array_interface__["data"][0], position.strides[0] * len(position)
        # Amounts are float64 and positions are float32. So the byte offset of an amount is twice that of its position.
        self._amounts: NDArray[np.float64] | None = np.zeros((len(position), position.strides[0] // position.itemsize))

    @property
    def view(self) -> NDArray[np.float32]:
        """View of the positions. The view records in-place additions."""
        view: SummedArray = self._position.view(SummedArray)
        view.sums = self
        return view

    @property
    def is_over(self) -> bool:
        """True after `end`."""
        return self._amounts is None

    def end(self) -> NDArray[np.float64]:
        """Ends the recording. Call this only once. Returns the lost amounts in metres, (n, 3). An amount is 0 if
        nothing was added to the position, or if the addition changed the position."""
        amounts, self._amounts = self._amounts, None  # The memory is freed even if the world still holds a view.
        assert amounts is not None
        return amounts[:, :3]

    def note(self, part: NDArray[np.float32], before: NDArray[np.float32], added: Any, sign: float) -> None:
        """Records `added` where it did not change `part`. before: values of `part` before the addition. sign: 1.0 for
        an addition, -1.0 for a subtraction."""
        start, amounts = part.__array_interface__["data"][0] - self._start, self._amounts
        if 0 <= start < self._bytes and amounts is not None:
            places = np.ndarray(part.shape, np.float64, amounts, 2 * start, tuple(2 * s for s in part.strides))
            with np.errstate(all="ignore"):
                places += np.where(part == before, np.multiply(added, sign, dtype=np.float64), 0.0)


class WrittenVelocities:
    """Knows which velocity fields the world has written."""

    def __init__(self) -> None:
        self.flags = 0
        self._lent: set[str] = set()  # Names of the fields of which a view was returned but no write was reported.
        self._views: dict[str, NDArray[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_views": {}}

    def attach(self, views: dict[str, NDArray[Any]]) -> None:
        """Sets the views of the bodies' fields."""
        self._views = views

    def view(self, name: str) -> NDArray[np.float32]:
        """View of a velocity field. The view reports writes until the first one is reported."""
        if self.flags & FLAGS[name]:
            return self._views[name]
        self._lent.add(name)
        view: TrackedArray = self._views[name].view(TrackedArray)
        view.on_write = lambda written: self._written(name, written)
        return view

    def mark(self, name: str) -> None:
        """Marks a velocity field as written for all bodies."""
        self._lent.discard(name)
        if not self.flags & FLAGS[name]:
            self.flags |= FLAGS[name]
            self._views["flags"][:] |= np.uint16(FLAGS[name])

    def detect(self) -> None:
        """Marks the velocity fields that have values other than zero. They were written, although no write was
        reported."""
        for name in [name for name in self._lent if self._views[name].any()]:
            self.mark(name)

    def _written(self, name: str, written: NDArray[Any]) -> None:
        if np.may_share_memory(written, self._views[name]):  # The test is False for a copy.
            self.mark(name)


class HasVisible(Protocol):
    """Protocol of objects that hold bodies and a mask of visible bodies."""

    @property
    def visible(self) -> NDArray[np.bool_]: ...

    @visible.setter
    def visible(self, value: ArrayLike) -> None: ...


class VisibilityMask(np.ndarray):
    """Mask of visible bodies. `visible[i] = False` hides body i; `visible &= mask` also works. All other writes to the
    mask raise an error."""

    bodies: HasVisible | None = None

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.bodies is None:
            plain(self)[key] = value
            return
        shown = plain(self.bodies.visible).copy()
        shown[key] = value
        self.bodies.visible = shown
        self._update(shown)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        if len(outs) == 1 and outs[0] is self and self.bodies is not None:  # This happens for `visible &= mask`.
            self.bodies.visible = _untracked_ufunc(ufunc, method, inputs, options | {"out": (plain(self).copy(),)})
            self._update(plain(self.bodies.visible))
            return self
        return _untracked_ufunc(ufunc, method, inputs, options)

    def _update(self, shown: NDArray[np.bool_]) -> None:
        self.setflags(write=True)
        plain(self)[...] = shown[: len(self)]
        self.setflags(write=False)


def visibility_mask(shown: NDArray[np.bool_], bodies: HasVisible) -> VisibilityMask:
    """The mask `shown` as an array whose writes are applied to `bodies`."""
    view: VisibilityMask = shown.view(VisibilityMask)
    view.bodies = bodies
    view.setflags(write=False)
    return view


class Corrections:
    """Visual offsets of bodies that were corrected. Each offset has the simulated time of its correction. A new object
    has no bodies.

    A step does not know at which simulated time its state will be published. So a correction first stays pending. It
    gets the simulated time of the next snapshot. The formulas of the decay are in `twixt.ipc.snapshot`.

    Always: right after a correction, a body is drawn in the same place as before. A body that was cut has no offset.
    """

    def __init__(self) -> None:
        offset = Column("f4", OFFSET_WIDTH, rule="none")
        self._kept = Columns({CORRECTION: offset, CORRECTED_NS: Column("i8", rule="none")}, 0)
        self._waiting = Columns({CORRECTION: offset}, 0)
        self._has_waiting = False
        self._published_ns: int | None = None

    @property
    def layout(self) -> dict[str, ColumnForm]:
        """For each published column, by name: the type of its values and their number per body."""
        return self._kept._layout

    def add(self, rows: NDArray[np.int64], moved: NDArray[np.float64], turned: NDArray[np.float64]) -> None:
        """Adds corrections of the m bodies at `rows`. moved, (m, 3) in metres, and turned, (m, 4) quaternions xyzw,
        are the old pose relative to the new one."""
        offset = self._waiting[CORRECTION]
        offset[rows] = corrected(offset[rows], np.zeros(len(rows), np.int64), 0, moved, turned)
        self._has_waiting = True

    def cut(self, rows: Any) -> None:
        """Removes the offsets of these bodies."""
        self._kept._begin(rows)
        self._waiting._begin(rows)

    def published(self, sim_time_ns: int) -> dict[str, NDArray[Any]]:
        """The two columns of offsets for a snapshot at `sim_time_ns`. Pending corrections get that time."""
        # The simulated time decreases after a reset.
        if self._published_ns is not None and sim_time_ns < self._published_ns:
            self._kept._begin(slice(None))
        self._published_ns = sim_time_ns
        if self._has_waiting:
            self._has_waiting = False
            waiting, offset, time = self._waiting[CORRECTION], self._kept[CORRECTION], self._kept[CORRECTED_NS]
            rows = np.flatnonzero((waiting != np.array(NO_OFFSET, np.float32)).any(axis=1))
            offset[rows] = corrected(offset[rows], time[rows], sim_time_ns, waiting[rows, :3], waiting[rows, 3:])
            time[rows] = sim_time_ns
            self._waiting._begin(rows)
        return self._kept._published()

    def resize(self, count: int, room: int) -> None:
        """Sets the number of bodies, and the number of bodies for which there is storage."""
        self._kept._resize(count, room)
        self._waiting._resize(count, room)
