"""The bodies of a world, as arrays that a step writes into and the publisher copies out of.

One structured array of `BODY` records (`records`) and a view of it per field. Spawn, despawn, teleport and
correct keep the epochs, by which a viewer knows which of two snapshots' bodies it may blend.

Always: `records` has dtype `BODY` and `len(bodies)` rows; an index once given out means the same body until
that body is despawned. A view taken before a `spawn` that grew the array is a view of the old one: take views
where they are used, do not keep them. Does not step, publish, or read a clock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import (
    BODY,
    CONTINUITY_MASK,
    CORRECTION_STEP,
    HAS_ANGULAR_VELOCITY,
    HAS_VELOCITY,
    VISIBLE,
    new_bodies,
)

CORRECTIONS_MASK = 0xFFFF_FFFF ^ CONTINUITY_MASK
# Spare records when the array grows, as a share of its length: spawning one by one copies each body a few times.
GROWTH = 0.5


class Bodies:
    """`count` visible bodies at the origin. Metres, radians, seconds; quaternions xyzw.

    Fields are arrays of n rows: `position` (3), `orientation` (4), `velocity` (3), `angular_velocity` (3),
    `scale`, `color` (4, 0..255), `epoch`. Write into them, or assign to them whole: `bodies.position = p`.
    """

    def __init__(self, count: int) -> None:
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            raise TwixtError(f"Bodies(count) must be a whole number >= 0, got {count!r}")
        self._storage = new_bodies(int(count))
        self._given_flags = 0
        self._free: list[int] = []
        self._take_views(int(count))

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> NDArray[np.void]:
        """All fields of all bodies, dtype `BODY`, shape (n,)."""
        return self._records

    @property
    def position(self) -> NDArray[np.float32]:
        """Metres, shape (n, 3)."""
        return self._views["position"]

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._assign("position", value)

    @property
    def orientation(self) -> NDArray[np.float32]:
        """Unit quaternions xyzw, shape (n, 4)."""
        return self._views["orientation"]

    @orientation.setter
    def orientation(self, value: ArrayLike) -> None:
        self._assign("orientation", value)

    @property
    def velocity(self) -> NDArray[np.float32]:
        """m/s, shape (n, 3). From the first touch on it counts as given, for all bodies."""
        self._give(HAS_VELOCITY)
        return self._views["velocity"]

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._give(HAS_VELOCITY)
        self._assign("velocity", value)

    @property
    def angular_velocity(self) -> NDArray[np.float32]:
        """rad/s in the world frame, shape (n, 3). From the first touch on it counts as given, for all bodies."""
        self._give(HAS_ANGULAR_VELOCITY)
        return self._views["angular_velocity"]

    @angular_velocity.setter
    def angular_velocity(self, value: ArrayLike) -> None:
        self._give(HAS_ANGULAR_VELOCITY)
        self._assign("angular_velocity", value)

    @property
    def scale(self) -> NDArray[np.float16]:
        """Uniform scale of each body's shape, shape (n,)."""
        return self._views["scale"]

    @scale.setter
    def scale(self, value: ArrayLike) -> None:
        self._assign("scale", value)

    @property
    def color(self) -> NDArray[np.uint8]:
        """rgba, 0..255, shape (n, 4)."""
        return self._views["color"]

    @color.setter
    def color(self, value: ArrayLike) -> None:
        self._assign("color", value)

    @property
    def epoch(self) -> NDArray[np.uint32]:
        """Shape (n,). A world that writes a jump into `position` itself adds 1 here for that body."""
        return self._views["epoch"]

    @epoch.setter
    def epoch(self, value: ArrayLike) -> None:
        self._assign("epoch", value)

    @property
    def visible(self) -> NDArray[np.bool_]:
        """Which bodies are drawn, shape (n,), a copy. Assign the whole, or use `spawn` and `despawn`."""
        return (self._views["flags"] & VISIBLE) != 0

    @visible.setter
    def visible(self, value: ArrayLike) -> None:
        shown = np.broadcast_to(np.asarray(value, bool), (len(self),))
        flags = self._views["flags"]
        changed = shown != ((flags & VISIBLE) != 0)
        flags[:] = np.where(shown, flags | VISIBLE, flags & ~np.uint16(VISIBLE))
        self._cut(changed)

    def teleport(
        self, i: Any, position: ArrayLike, orientation: ArrayLike | None = None, scale: ArrayLike | None = None
    ) -> None:
        """Moves body `i` (or an index array of bodies) with a cut: no viewer slides it there."""
        self._place(i, position, orientation)
        if scale is not None:
            self._views["scale"][i] = scale
        self._cut(i)

    def correct(self, i: Any, position: ArrayLike, orientation: ArrayLike | None = None) -> None:
        """Moves body `i` (or an index array of bodies) by a small fix that the eye should not notice."""
        self._place(i, position, orientation)
        epoch = self._views["epoch"]
        old = epoch[i]
        # The high half counts round without touching the low one, nor overflowing on the way.
        room = np.uint32(CORRECTIONS_MASK) - (old & np.uint32(CORRECTIONS_MASK))
        epoch[i] = np.where(room, old + np.minimum(room, np.uint32(CORRECTION_STEP)), old & np.uint32(CONTINUITY_MASK))

    def spawn(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        scale: float = 1.0,
        color: ArrayLike = (255, 255, 255, 255),
    ) -> int:
        """A new body's index: that of a despawned one if there is any, else one more at the end."""
        i = self._free.pop() if self._free else self._append()
        epoch = self._views["epoch"][i]
        self._storage[i] = new_bodies(1)[0]
        self._views["epoch"][i] = epoch
        self._views["flags"][i] = VISIBLE | self._given_flags
        if velocity is not None:
            self.velocity[i] = velocity
        if angular_velocity is not None:
            self.angular_velocity[i] = angular_velocity
        self._views["color"][i] = color
        self.teleport(i, position, orientation, scale)
        return i

    def despawn(self, i: int) -> None:
        """Body `i` is no more drawn; its index is given out again by a later `spawn`. Twice is harmless."""
        i = range(len(self))[i]
        if not self._views["flags"][i] & VISIBLE:
            return
        self._views["flags"][i] &= np.uint16(0xFFFF ^ VISIBLE)
        self._cut(i)
        self._free.append(i)

    def _place(self, i: Any, position: ArrayLike, orientation: ArrayLike | None) -> None:
        self._views["position"][i] = position
        if orientation is not None:
            self._views["orientation"][i] = orientation

    def _cut(self, i: Any) -> None:
        epoch = self._views["epoch"]
        old = epoch[i]
        cuts = ((old & np.uint32(CONTINUITY_MASK)) + np.uint32(1)) & np.uint32(CONTINUITY_MASK)
        epoch[i] = (old & np.uint32(CORRECTIONS_MASK)) | cuts

    def _give(self, flag: int) -> None:
        if not self._given_flags & flag:
            self._given_flags |= flag
            self._views["flags"][:] |= np.uint16(flag)

    def _assign(self, name: str, value: ArrayLike) -> None:
        # `bodies.position += v` writes through the view, then assigns that same view.
        if value is not self._views[name]:
            self._views[name][...] = value

    def _append(self) -> int:
        count = len(self)
        if count == len(self._storage):
            grown = new_bodies(count + 1 + int(count * GROWTH))
            grown[:count] = self._storage
            self._storage = grown
        self._take_views(count + 1)
        return count

    def _take_views(self, count: int) -> None:
        self._records = self._storage[:count]
        self._views: dict[str, NDArray[Any]] = {name: self._records[name] for name in BODY.names or ()}
