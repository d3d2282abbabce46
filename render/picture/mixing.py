"""Poses made of other poses: some rows, and a blend of two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import CONTINUITY_MASK
from twixt.render.interpolation.poses import Poses
from twixt.render.interpolation.quaternion import slerp


def taken(poses: Poses, rows: NDArray[np.intp]) -> Poses:
    """Those rows alone."""
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
    """The same in memory of their own."""
    return taken(poses, np.arange(len(poses)))


def blended(poses: Poses, other: Poses, mix: float) -> Poses:
    """`poses` with a share `mix` of where `other` has the same lives of bodies. What is discrete stays as in `poses`."""
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
