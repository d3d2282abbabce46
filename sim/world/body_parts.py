"""Counts the parts of a scene's bodies, for columns with one row for each part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidValue
from twixt.ipc.scene import Scene
from twixt.ipc.scene.scene import part_bodies


class BodyParts:
    """Parts of a scene's bodies. They are counted on demand, up to the largest number of bodies requested."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._bodies: NDArray[np.intp] = np.zeros(0, np.intp)
        self._ends: NDArray[np.intp] = np.zeros(1, np.intp)  # Element n is the number of parts of the first n bodies.

    def count(self, bodies: int) -> int:
        """Number of parts of the first `bodies` bodies."""
        if bodies >= len(self._ends):
            self._bodies = part_bodies(self.scene, bodies)
            self._ends = np.searchsorted(self._bodies, np.arange(bodies + 1))
        return int(self._ends[bodies])

    def bodies(self, count: int) -> NDArray[np.intp]:
        return self._bodies[: self.count(count)]


def parts_for(columns: list[str], scene: Scene | None) -> BodyParts | None:
    """The parts of the bodies of `scene`; None if there are no `columns` with one row for each part. Raises TwixtError
    if such columns have no scene."""
    if not columns:
        return None
    if not isinstance(scene, Scene):
        raise InvalidValue(
            f"the column {columns[0]!r} has a row for each part of the scene, got "
            f"{'no scene' if scene is None else type(scene).__name__}; make the scene first, and pass it: "
            "Bodies(count, columns, scene=self.scene)"
        )
    return BodyParts(scene)
