"""Arrays of a world's bodies that tell when they are written: velocities, and which bodies are visible.

One idea: an array that is written by `a[...] = v`, by `a += v` or as the `out` of a function of numpy says so; what it
gives away otherwise is plain. Always: a copy tells nothing. Code in C that writes through its buffer is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY

FLAGS = {"velocity": HAS_VELOCITY, "angular_velocity": HAS_ANGULAR_VELOCITY}


class Telling(np.ndarray):
    """A view of a field of the bodies. written: called before it is written, or a part of it."""

    written: Callable[[NDArray[Any]], object] | None = None

    def __array_finalize__(self, obj: Any) -> None:
        self.written = getattr(obj, "written", None)

    def __setitem__(self, key: Any, value: Any) -> None:
        _tell(self)
        plain(self)[key] = value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        for target in outs or (inputs[:1] if method == "at" else ()):
            _tell(target)
        given = _plainly(ufunc, method, inputs, options)
        # `a += v` assigns what comes back: that is `a` still.
        return outs[0] if len(outs) == 1 else given


def plain(value: Any) -> Any:
    """The same memory without a word; other values as they are."""
    return value.view(np.ndarray) if isinstance(value, Telling | Visible) else value


def _plainly(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What numpy makes of it without us."""
    plains = {name: tuple(map(plain, value)) if name == "out" else plain(value) for name, value in options.items()}
    return getattr(ufunc, method)(*map(plain, inputs), **plains)


def _tell(target: Any) -> None:
    if isinstance(target, Telling) and target.written is not None:
        target.written(target)


class Given:
    """Which velocities the world has given: those that it has written."""

    def __init__(self) -> None:
        self.flags = 0
        self._lent: set[str] = set()  # in the world's hands, and not written as far as was seen
        self._views: dict[str, NDArray[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_views": {}}

    def take(self, views: dict[str, NDArray[Any]]) -> None:
        """From now on the bodies' fields are these."""
        self._views = views

    def view(self, name: str) -> NDArray[np.float32]:
        """That field, which tells when it is written as long as that is news."""
        if self.flags & FLAGS[name]:
            return self._views[name]
        self._lent.add(name)
        view: Telling = self._views[name].view(Telling)
        view.written = lambda written: self._written(name, written)
        return view

    def give(self, name: str) -> None:
        """These are given, for all bodies, from now on."""
        self._lent.discard(name)
        if not self.flags & FLAGS[name]:
            self.flags |= FLAGS[name]
            self._views["flags"][:] |= np.uint16(FLAGS[name])

    def look(self) -> None:
        """What was written in a way that tells nothing is seen by its values."""
        for name in [name for name in self._lent if self._views[name].any()]:
            self.give(name)

    def _written(self, name: str, written: NDArray[Any]) -> None:
        if np.may_share_memory(written, self._views[name]):  # no copy
            self.give(name)


class HasVisible(Protocol):
    """What has a mask of what is visible."""

    @property
    def visible(self) -> NDArray[np.bool_]: ...

    @visible.setter
    def visible(self, value: ArrayLike) -> None: ...


class Visible(np.ndarray):
    """Which bodies are visible, bools: `visible[i] = False` hides body i. Read-only to whatever else would write it."""

    bodies: HasVisible | None = None

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.bodies is None:
            plain(self)[key] = value
            return
        shown = plain(self.bodies.visible).copy()
        shown[key] = value
        self.bodies.visible = shown
        self._see(shown)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.get("out", ())
        if len(outs) == 1 and outs[0] is self and self.bodies is not None:  # `visible &= mask`
            self.bodies.visible = _plainly(ufunc, method, inputs, options | {"out": (plain(self).copy(),)})
            self._see(plain(self.bodies.visible))
            return self
        return _plainly(ufunc, method, inputs, options)

    def _see(self, shown: NDArray[np.bool_]) -> None:
        self.setflags(write=True)
        plain(self)[...] = shown[: len(self)]
        self.setflags(write=False)


def visible_of(shown: NDArray[np.bool_], bodies: HasVisible) -> Visible:
    """The mask `shown` of `bodies`, that writes into them."""
    view: Visible = shown.view(Visible)
    view.bodies = bodies
    view.setflags(write=False)
    return view
