"""Labels: words at a position in the world, projected to a position on the picture.

Pure: positions and a camera in, pixels out. `render/overlay/imgui_context.py` draws the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.camera import CameraMatrices

Viewport = tuple[int, int, int, int]  # left, bottom, width, height: pixels of the framebuffer, as OpenGL counts them


# From a picture's border to its headline, in units of text size.
MARGIN = 8.0
HEADLINE = (255, 255, 255, 255)
# Most labels of marks, and of a user's function, in a frame: more than can be read, and each is laid out anew.
MOST_LABELS = 500


class Label(NamedTuple):
    """Words in the world."""

    position: tuple[float, float, float]  # metres
    text: str
    color: tuple[int, int, int, int]  # rgba, 0..255


class PlacedLabel(NamedTuple):
    """Words on the picture."""

    x_px: float  # from the left of the framebuffer
    y_px: float  # from its top
    text: str
    color: tuple[int, int, int, int]
    within_px: tuple[float, float, float, float] | None = None  # left, top, right, bottom of the picture it belongs to


def labels_of(marks: NDArray[np.void], texts: Sequence[str]) -> list[Label]:
    """Labels of marks (m,) of dtype `MARK`, at their positions: `texts[i]` for the label i + 1, nothing for a number
    without a text. At most MOST_LABELS."""
    if not texts or not len(marks):
        return []
    numbers = marks["label"]
    rows = np.flatnonzero((numbers > 0) & (numbers <= len(texts)))[:MOST_LABELS]
    places, named = marks["position"][rows].tolist(), (numbers[rows] - 1).tolist()
    return [Label((x, y, z), texts[at], HEADLINE) for (x, y, z), at in zip(places, named, strict=True)]


def foot(text: str, size_px: tuple[int, int], scale: float) -> PlacedLabel:
    """Words at the bottom left of a window of this size."""
    return PlacedLabel(MARGIN * scale, size_px[1] - 3 * MARGIN * scale, text, HEADLINE)


def head(words: Sequence[str], viewports: Sequence[Viewport], height_px: int, scale: float) -> list[PlacedLabel]:
    """Words at the top left of each picture. height_px: of the framebuffer; scale: its pixels per unit of text size."""
    return [
        PlacedLabel(
            viewport[0] + MARGIN * scale, height_px - viewport[1] - viewport[3] + 2 * MARGIN * scale, text, HEADLINE,
            _border(viewport, height_px),
        )
        for text, viewport in zip(words, viewports, strict=True)
    ]  # fmt: skip


def place(labels: Sequence[Label], camera: CameraMatrices, viewport: Viewport, height_px: int) -> list[PlacedLabel]:
    """Labels whose position is visible to `camera`, placed in `viewport`, farthest first.

    height_px: of the whole framebuffer. Positions that are not finite, or outside the view, are left out.
    """
    if not labels:
        return []
    left, bottom, width, height = viewport
    points = np.ones((len(labels), 4))
    with np.errstate(all="ignore"):
        points[:, :3] = np.subtract([label.position for label in labels], camera.eye) @ camera.view[:3, :3].T
        clip = points @ camera.projection.T
        seen = (np.abs(clip[:, :3]) <= clip[:, 3:]).all(axis=1) & (clip[:, 3] > 0) & np.isfinite(clip).all(axis=1)
        at = (clip[:, :2] / clip[:, 3:] + 1) / 2
    order = np.flatnonzero(seen)
    order = order[np.argsort(points[order, 2], kind="stable")]
    return [
        PlacedLabel(
            left + float(at[i, 0]) * width, height_px - bottom - float(at[i, 1]) * height, labels[i].text,
            labels[i].color, _border(viewport, height_px),
        )
        for i in order.tolist()
    ]  # fmt: skip


def _border(viewport: Viewport, height_px: int) -> tuple[float, float, float, float]:
    left, bottom, width, height = viewport
    return left, height_px - bottom - height, left + width, height_px - bottom
