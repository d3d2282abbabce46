"""Switches a picture from one interpolation method to another without a jump.

The one idea: for `CHANGE_NS` every body is drawn between its poses by the old and by the new method. The change
begins once the new method has enough snapshots to compute a pose.

Pure: present instants in, a `Blend` out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK
from twixt.render.interpolation.poses import Poses
from twixt.render.interpolation.quaternion import slerp

# Duration of a change: short enough to answer a key, long enough that nothing jumps.
CHANGE_NS = 200_000_000


class Blend(NamedTuple):
    """Method of a frame, or two and the weight between them. mix: weight of `other`, 0 (`method` alone) to 1."""

    method: str
    other: str = ""
    mix: float = 0.0


class MethodChange:
    """The method in use, and the requested one."""

    def __init__(self, method: str) -> None:
        self.method = self._wanted = method
        self._leaving = ""
        self._began_ns = 0
        self._look()

    @property
    def is_under_way(self) -> bool:
        """True while one method replaces another, so that frames differ even at one draw time."""
        return bool(self._leaving)

    def ask(self, method: str) -> None:
        """Requests `method`; the change begins in the first frame in which the method is ready."""
        self._wanted = method
        self._look()

    def blend(self, present_ns: int, is_ready: Callable[[str], bool]) -> Blend:
        """Blend at `present_ns`. is_ready: of a method's name, True if it has enough snapshots to compute poses now."""
        if not self._leaving and self._wanted == self.method:
            return self._plain
        if self._leaving and present_ns - self._began_ns >= CHANGE_NS:
            self._leaving = ""
            self._look()
        if self._wanted != self.method and not self._leaving and is_ready(self._wanted):
            self._leaving, self.method, self._began_ns = self.method, self._wanted, present_ns
            self._look()
        if not self._leaving:
            return self._plain
        left = 1.0 - max(0, present_ns - self._began_ns) / CHANGE_NS
        return Blend(self.method, self._leaving, left * left * (3.0 - 2.0 * left))

    def _look(self) -> None:
        """Recomputes the sets of methods; called at each change only, not in every frame.

        methods: all that this frame or the next may need. in_use: those that the last frame was drawn by.
        """
        self.methods = frozenset(name for name in (self.method, self._wanted, self._leaving) if name)
        self.in_use = frozenset(name for name in (self.method, self._leaving) if name)
        self._plain = Blend(self.method)


def taken(poses: Poses, rows: NDArray[np.intp]) -> Poses:
    """Poses of `rows` alone, as copies."""
    return replace(
        poses,
        position=poses.position[rows],
        orientation=poses.orientation[rows],
        scale=poses.scale[rows],
        color=poses.color[rows],
        visible=poses.visible[rows],
        epoch=poses.epoch[rows],
        drawable=poses.drawable[rows],
        columns={name: values[rows] for name, values in poses.columns.items()},
    )


def copied(poses: Poses) -> Poses:
    """A copy of the poses."""
    return taken(poses, np.arange(len(poses)))


def blended(poses: Poses, other: Poses, mix: float) -> Poses:
    """`poses`, moved towards `other` by the share `mix` (0..1).

    Bodies whose continuity epochs differ, or that are invisible in one of both, stay as in `poses`; so do discrete
    fields and columns.
    """
    both = min(len(poses), len(other))
    position, orientation = poses.position.copy(), poses.orientation.copy()
    scale, color = poses.scale.copy(), poses.color.copy()
    alike = poses.visible[:both] & other.visible[:both]
    alike &= ((poses.epoch[:both] ^ other.epoch[:both]) & CONTINUITY_MASK) == 0
    rows = np.flatnonzero(alike)
    position[rows] += (other.position[rows] - position[rows]) * np.float32(mix)
    orientation[rows] = slerp(orientation[rows], other.orientation[rows], mix)
    scale[rows] += (other.scale[rows] - scale[rows]) * np.float32(mix)
    color[rows] = np.rint(color[rows] + (other.color[rows].astype(np.float32) - color[rows]) * mix)
    return replace(poses, position=position, orientation=orientation, scale=scale, color=color)
