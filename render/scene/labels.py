"""Places labels. A label is a text at a position in the world. The position is projected to the picture.

The functions are pure: their inputs are positions and a camera, their outputs are positions in pixels.
`render/overlay/imgui_context.py` draws the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.overlay import OverlayText
from twixt.ipc.scene.mark_texts import text_of_label
from twixt.ipc.snapshot import MARK_KINDS
from twixt.render.draw.frame.camera import CameraMatrices

Viewport = tuple[int, int, int, int]  # left, bottom, width, height in px, from the framebuffer's bottom left


# Distance from the border of a picture to the text at its top, in units of text size.
MARGIN = 8.0
# LINE is the height of one line of the overlay's text. COLUMN_GAP is the gap between two columns of text. Both are in
# units of text size.
LINE, COLUMN_GAP = 18.0, 12.0
HEADLINE = (255, 255, 255, 255)
# In each frame, at most this many labels of marks are drawn, at most this many of bodies, and at most this many of the
# user's function. So many are more than anyone can read. The limit exists because the layout of each label takes time
# in every frame.
MOST_LABELS = 500
# A label is beside its body, but at most this share of the picture's height to the right of the body's centre. So the
# label of the ground is in the picture, too.
MOST_BESIDE = 0.25
TEXT_KIND = tuple(MARK_KINDS).index("text")
# Range of the size of a text, as a multiple of the usual size.
TEXT_SIZES = (0.1, 8.0)


class Label(NamedTuple):
    """A text at a position in the world."""

    position: tuple[float, float, float]  # metres
    text: str
    color: tuple[int, int, int, int]  # rgba, 0..255
    size: float = 1.0  # size of the letters, as a multiple of the overlay's letters
    reach: float = 0.0  # distance in metres from the position to the text, to the right in the picture


class PlacedLabel(NamedTuple):
    """A text at a position on the picture."""

    x_px: float  # distance from the left side of the framebuffer
    y_px: float  # distance from the top of the framebuffer
    text: str
    color: tuple[int, int, int, int]
    within_px: tuple[float, float, float, float] | None = None  # left, top, right, bottom of the picture
    beside: str = ""  # text of a second column, to the right of the first
    size: float = 1.0  # size of the letters, as a multiple of the overlay's letters
    anchor: tuple[float, float] = (0.0, 0.0)  # which share of the width is left of x_px; of the height, above y_px


def labels_of(
    marks: NDArray[np.void], texts: bytes, camera: CameraMatrices, of_scene: Sequence[str] = ()
) -> list[Label]:
    """Makes labels at the positions of marks. If there are more than MOST_LABELS, those nearest to the camera.

    marks: (m,) of dtype `MARK`, in the world's frame. texts, of_scene: as in `text_of_label`. A mark without a text
    gets no label.
    """
    rows = np.flatnonzero(marks["label"])
    if not len(rows):
        return []
    rows = rows[nearest_seen(marks["position"][rows], camera)]
    found = []
    for row in rows.tolist():
        mark = marks[row]
        if text := text_of_label(int(mark["label"]), texts, of_scene):
            x, y, z = mark["position"].tolist()
            if mark["kind"] == TEXT_KIND:
                size = min(max(float(mark["size"][0]), TEXT_SIZES[0]), TEXT_SIZES[1])
                red, green, blue, alpha = mark["color"].tolist()
                found.append(Label((x, y, z), text, (red, green, blue, alpha), size))
            else:
                found.append(Label((x, y, z), text, HEADLINE))
    return found


def nearest_seen(positions: NDArray[np.floating], camera: CameraMatrices, most: int = MOST_LABELS) -> NDArray[np.intp]:
    """Rows of the `most` positions that are in the picture and nearest to the camera. If there are at most `most`
    positions, returns all rows. positions: (n, 3), metres."""
    if len(positions) <= most:
        return np.arange(len(positions))
    points, _, seen = _projected(positions, camera)
    rows = np.flatnonzero(seen)
    return rows[np.argsort(-points[rows, 2], kind="stable")[:most]]


def foot(text: str, size_px: tuple[int, int], scale: float) -> PlacedLabel:
    """Places a text at the bottom left of a window of this size."""
    return PlacedLabel(MARGIN * scale, size_px[1] - 3 * MARGIN * scale, text, HEADLINE)


def head(words: Sequence[str], viewports: Sequence[Viewport], height_px: int, scale: float) -> list[PlacedLabel]:
    """Places a text at the top left of each picture. height_px: height of the framebuffer. scale: number of its pixels
    in one unit of text size."""
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
    """Places texts of the user's program at the borders of a window of this size. Texts for the same place are stacked.

    room: height that panels occupy in the top corners, and height that they occupy at the bottom, in units of text
    size.
    """
    placed: list[PlacedLabel] = []
    lines_at: dict[str, float] = {}
    for text in texts:
        across = 0.0 if "left" in text.place else 1.0 if "right" in text.place else 0.5
        down = 0.0 if "top" in text.place else 1.0 if "bottom" in text.place else 0.5
        end = MARGIN + (room[1] if down == 1 else room[0] if down == 0 and across != 0.5 else 0.0)
        above = lines_at.get(text.place, 0.0)
        lines = 1 + max(text.text.count("\n"), text.value.count("\n"))
        lines_at[text.place] = above + lines * text.size * LINE
        x_px = size_px[0] * across + (MARGIN if across < 0.5 else -MARGIN if across > 0.5 else 0.0) * scale
        y_px = (
            size_px[1] * down
            + (end + above if down < 0.75 else -end - above) * scale
            - (MARGIN * scale * (down == 0.5))
        )
        placed.append(PlacedLabel(x_px, y_px, text.text, HEADLINE, None, text.value, text.size, (across, down)))
    return placed


def place(
    labels: Sequence[Label], camera: CameraMatrices, viewport: Viewport, height_px: int, area: Viewport | None = None
) -> list[PlacedLabel]:
    """Places the labels whose position is visible for `camera` in `viewport`. The label that is farthest from the
    camera is first.

    height_px: height of the whole framebuffer. area: the part of `viewport` that is drawn; by default all of it. Labels
    are left out if their position is not finite or outside the view.
    """
    if not labels:
        return []
    left, bottom, width, height = viewport
    points, clip, seen = _projected(np.array([label.position for label in labels]), camera)
    reach = np.array([label.reach for label in labels])
    with np.errstate(all="ignore"):
        at = (clip[:, :2] / clip[:, 3:] + 1) / 2 * (width, height) + (left, bottom)
        beside = np.minimum(reach * camera.projection[0, 0] / clip[:, 3] * width / 2, MOST_BESIDE * height)
    if area is not None:
        seen &= ((at >= area[:2]) & (at <= np.add(area[:2], area[2:]))).all(axis=1)
    order = np.flatnonzero(seen)
    order = order[np.argsort(points[order, 2], kind="stable")]
    within_px, rows = _border(area or viewport, height_px), order.tolist()
    x_px, y_px = (at[order, 0] + beside[order]).tolist(), (height_px - at[order, 1]).tolist()
    return [
        PlacedLabel(x, y, labels[row].text, labels[row].color, within_px, size=labels[row].size)
        for row, x, y in zip(rows, x_px, y_px, strict=True)
    ]


def _projected(
    positions: NDArray[np.floating], camera: CameraMatrices
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Positions (n, 3), in metres, in the camera's frame and in clip space, (n, 4) each, and the mask (n,) of those in
    the view."""
    points = np.ones((len(positions), 4))
    with np.errstate(all="ignore"):
        points[:, :3] = np.subtract(positions, camera.eye) @ camera.view[:3, :3].T
        clip = points @ camera.projection.T
        seen = (np.abs(clip[:, :3]) <= clip[:, 3:]).all(axis=1) & (clip[:, 3] > 0) & np.isfinite(clip).all(axis=1)
    return points, clip, seen


def _border(viewport: Viewport, height_px: int) -> tuple[float, float, float, float]:
    left, bottom, width, height = viewport
    return left, height_px - bottom - height, left + width, height_px - bottom
