"""Texts and images over the picture, from MuJoCo's terms: font scales, places of a grid, rectangles, arrays.

Always: what fits is shown; of images that are too large together, the first are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.overlay_images import MOST_BYTES, MOST_IMAGES, OverlayImage
from twixt.ipc.interaction.overlay_texts import LARGEST, PLACES, SMALLEST, OverlayText
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjrRect

# MuJoCo's font scale at which its letters are as high as the overlay's.
OWN_FONT_PERCENT = 100


def overlay_texts(texts: Iterable[tuple[int | None, int | None, str | None, str | None]]) -> list[OverlayText]:
    """Texts of `set_texts`: font scale in percent, place by mjtGridPos, two columns."""
    found = []
    for font, place, left, right in texts:
        size = int(mujoco.mjtFontScale.mjFONTSCALE_150 if font is None else font) / OWN_FONT_PERCENT
        found.append(OverlayText(PLACES[int(place or 0)], left or "", right or "", min(max(size, SMALLEST), LARGEST)))
    return found


def overlay_images(images: Iterable[tuple[MjrRect, Any]]) -> tuple[list[OverlayImage], int]:
    """Images of `set_images`, and the number of those that are left out. Raises ValueError, in MuJoCo's words, for one
    that its rectangle does not fit."""
    given: list[tuple[MjrRect, NDArray[Any]]] = []
    for viewport, image in images:
        wanted, shape = (viewport.height, viewport.width), np.shape(image)[:2]
        if shape != wanted:
            raise ValueError(f"Image shape {shape} does not match target shape {wanted}")
        if 0 not in wanted:
            given.append((viewport, np.asarray(image)))
    found: list[OverlayImage] = []
    room = MOST_BYTES
    for viewport, pixels in given:
        if pixels.size > room or len(found) == MOST_IMAGES:
            break
        room -= pixels.size
        rect = viewport.left, viewport.bottom, viewport.width, viewport.height
        found.append(OverlayImage(rect, pixels.astype(np.uint8, copy=False)))
    return found, len(given) - len(found)
