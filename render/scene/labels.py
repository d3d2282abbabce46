"""Labels: texts at positions in the world, projected to positions on the picture.

Pure: the inputs are positions and a camera, the outputs are pixels. `render/overlay/imgui_context.py` draws the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.overlay import OverlayText
from twixt.render.draw.frame.camera import CameraMatrices

Viewport = tuple[int, int, int, int]  # left, bottom, width, height: pixels of the framebuffer, from the bottom left


# Distance from a picture's border to its headline, in units of text size.
MARGIN = 8.0
# Height of a line of the overlay's text, and the gap between two columns, in units of text size.
LINE, COLUMN_GAP = 18.0, 12.0
HEADLINE = (255, 255, 255, 255)
# Largest number of labels of marks, and of a user's function, in a frame. It is more than anyone can read. The limit
# keeps the cost down, because each label is laid out in every frame.
MOST_LABELS = 500


class Label(NamedTuple):
    """A text in the world."""

    position: tuple[float, float, float]  # metres
    text: str
    color: tuple[int, int, int, int]  # rgba, 0..255


class PlacedLabel(NamedTuple):
    """A text on the picture."""

    x_px: float  # from the left of the framebuffer
    y_px: float  # from the top of the framebuffer
    text: str
    color: tuple[int, int, int, int]
    within_px: tuple[float, float, float, float] | None = None  # left, top, right, bottom of the label's picture
    beside: str = ""  # a second column, to the right of the text
    size: float = 1.0  # size of the letters, as a multiple of the overlay's
    anchor: tuple[float, float] = (0.0, 0.0)  # fraction of the text's width left of x_px, and of its height above y_px


def labels_of(marks: NDArray[np.void], texts: Sequence[str]) -> list[Label]:
    """Labels of marks (m,) of dtype `MARK`, at their positions. A mark with label number i + 1 gets `texts[i]`;
    numbers without a text get no label. At most MOST_LABELS."""
    if not texts or not len(marks):
        return []
    numbers = marks["label"]
    rows = np.flatnonzero((numbers > 0) & (numbers <= len(texts)))[:MOST_LABELS]
    places, named = marks["position"][rows].tolist(), (numbers[rows] - 1).tolist()
    return [Label((x, y, z), texts[at], HEADLINE) for (x, y, z), at in zip(places, named, strict=True)]


def foot(text: str, size_px: tuple[int, int], scale: float) -> PlacedLabel:
    """A text at the bottom left of a window of this size."""
    return PlacedLabel(MARGIN * scale, size_px[1] - 3 * MARGIN * scale, text, HEADLINE)


def head(words: Sequence[str], viewports: Sequence[Viewport], height_px: int, scale: float) -> list[PlacedLabel]:
    """Texts at the top left of each picture. height_px: of the framebuffer; scale: its pixels per unit of text
    size."""
    return [
        PlacedLabel(
            viewport[0] + MARGIN * scale, height_px - viewport[1] - viewport[3] + 2 * MARGIN * scale, text, HEADLINE,
            _border(viewport, height_px),
        )
        for text, viewport in zip(words, viewports, strict=True)
    ]  # fmt: skip


def at_borders(
    texts: Sequence[OverlayText], size_px: tuple[int, int], scale: float, room: tuple[float, float]
) -> list[PlacedLabel]:
    """The program's texts at the borders of a window of this size. Texts at the same place are stacked.

    room: heights that panels occupy in the top corners and at the bottom, in units of text size.
    """
    placed: list[PlacedLabel] = []
    lines_at: dict[str, float] = {}
    for text in texts:
        across = 0.0 if "left" in text.place else 1.0 if "right" in text.place else 0.5
        down = 0.0 if "top" in text.place else 1.0 if "bottom" in text.place else 0.5
        end = MARGIN + (room[1] if down == 1 else room[0] if down == 0 and across != 0.5 else 0.0)
        above = lines_at.get(text.place, 0.0)
        lines = 1 + max(text.left.count("\n"), text.right.count("\n"))
        lines_at[text.place] = above + lines * text.size * LINE
        x_px = size_px[0] * across + (MARGIN if across < 0.5 else -MARGIN if across > 0.5 else 0.0) * scale
        y_px = (
            size_px[1] * down
            + (end + above if down < 0.75 else -end - above) * scale
            - (MARGIN * scale * (down == 0.5))
        )
        placed.append(PlacedLabel(x_px, y_px, text.left, HEADLINE, None, text.right, text.size, (across, down)))
    return placed


def place(
    labels: Sequence[Label], camera: CameraMatrices, viewport: Viewport, height_px: int, area: Viewport | None = None
) -> list[PlacedLabel]:
    """Places the labels whose position `camera` sees in `viewport`, farthest first.

    height_px: of the whole framebuffer. area: the drawn area of `viewport`, by default all of it. Positions that are
    not finite, or outside the view, are left out.
    """
    if not labels:
        return []
    left, bottom, width, height = viewport
    points = np.ones((len(labels), 4))
    with np.errstate(all="ignore"):
        points[:, :3] = np.subtract([label.position for label in labels], camera.eye) @ camera.view[:3, :3].T
        clip = points @ camera.projection.T
        seen = (np.abs(clip[:, :3]) <= clip[:, 3:]).all(axis=1) & (clip[:, 3] > 0) & np.isfinite(clip).all(axis=1)
        at = (clip[:, :2] / clip[:, 3:] + 1) / 2 * (width, height) + (left, bottom)
    if area is not None:
        seen &= ((at >= area[:2]) & (at <= np.add(area[:2], area[2:]))).all(axis=1)
    order = np.flatnonzero(seen)
    order = order[np.argsort(points[order, 2], kind="stable")]
    return [
        PlacedLabel(
            float(at[i, 0]), height_px - float(at[i, 1]), labels[i].text,
            labels[i].color, _border(area or viewport, height_px),
        )
        for i in order.tolist()
    ]  # fmt: skip


def _border(viewport: Viewport, height_px: int) -> tuple[float, float, float, float]:
    left, bottom, width, height = viewport
    return left, height_px - bottom - height, left + width, height_px - bottom
