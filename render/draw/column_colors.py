"""Colours and stretches that a column of the world gives its bodies: the colour of each value, and rules of blending."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.column_rules import COLOR, SCALE3
from twixt.ipc.scene import Scene
from twixt.ipc.scene.groups import ColorBy


def colors(values: NDArray[np.generic], by: ColorBy) -> NDArray[np.uint8]:
    """A colour for each value, (n, 3). A value that is not a number gets the low colour."""
    firsts = values if values.ndim == 1 else values[:, 0]
    numbers = np.nan_to_num(firsts.astype(np.float32), nan=by.low)
    share = np.clip((numbers - by.low) / (by.high - by.low), 0.0, 1.0)[:, None]
    low, high = np.array(by.low_color), np.array(by.high_color)
    return np.rint(255 * (low + (high - low) * share)).astype(np.uint8)


def rules_of_drawn(scene: Scene) -> tuple[str, str]:
    """Rules of the column that colours the bodies or their parts, and of `scale3`; `linear` for one that the scene does
    not have."""
    name = COLOR if scene.color_by is None else scene.color_by.column
    return scene.columns.get(name, "linear"), scene.columns.get(SCALE3, "linear")
