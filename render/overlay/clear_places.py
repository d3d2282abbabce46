"""Places of rectangles of the program that twixt's own panels leave free.

The one idea: a rectangle stays where the program wants it unless a panel is there; then it moves by the least distance
to where neither a panel is nor another rectangle that it did not overlap before. Without such a place it stays.

Pure: rectangles in, rectangles out. The reserved places do not change with what the panels show, so that nothing jumps.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.overlay.panel_layout import PANEL_WIDTH
from twixt.render.overlay.widgets import MARGIN

# Heights of the panels in the corners of the top, without open folds, and of the keys' panel, in units of text size.
TOP_HEIGHT, KEYS_HEIGHT = 216.0, 56.0
# More than any distance in a window, pixels.
LARGEST = 1 << 40


def panel_places(size_px: tuple[int, int], scale: float) -> tuple[Rectangle, ...]:
    """Rectangles that panels without open folds take in a window of this size. scale: pixels per unit of text size."""
    width_px, height_px = size_px
    across = min(round((MARGIN + PANEL_WIDTH) * scale), width_px // 2)
    top, keys = round((MARGIN + TOP_HEIGHT) * scale), round(KEYS_HEIGHT * scale)
    return (
        Rectangle(0, 0, across, top),
        Rectangle(width_px - across, 0, width_px, top),
        Rectangle(0, height_px - keys, width_px, height_px),
    )


@lru_cache(maxsize=4)
def clear_places(
    wanted: tuple[Rectangle, ...], reserved: tuple[Rectangle, ...], size_px: tuple[int, int]
) -> tuple[Rectangle, ...]:
    """The rectangles `wanted`, clear of those `reserved` in a window of this size as far as there is room."""
    placed: list[Rectangle] = []
    for number, one in enumerate(wanted):
        others = (placed[at] for at in range(number) if not _overlap(wanted[at], one))
        placed.append(_nearest(one, [*reserved, *others], size_px))
    return tuple(placed)


def _nearest(wanted: Rectangle, taken: list[Rectangle], size_px: tuple[int, int]) -> Rectangle:
    if not taken:
        return wanted
    left, top, right, bottom = np.array(taken).T[..., None, None]
    width, height = wanted.right_px - wanted.left_px, wanted.bottom_px - wanted.top_px
    across = _tried(wanted.left_px, width, left, right, size_px[0])[:, None]
    down = _tried(wanted.top_px, height, top, bottom, size_px[1])[None, :]
    is_taken = (across < right) & (left < across + width) & (down < bottom) & (top < down + height)
    distance = np.abs(across - wanted.left_px) + np.abs(down - wanted.top_px)
    column, row = np.unravel_index(np.where(is_taken.any(axis=0), LARGEST, distance).argmin(), distance.shape)
    if is_taken[:, column, row].any():
        return wanted
    x, y = int(across[column, 0]), int(down[0, row])
    return Rectangle(x, y, x + width, y + height)


def _tried(
    wanted: int, length: int, starts: NDArray[np.int64], ends: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Starts of a length along one side: the wanted one, and those beside others that lie within the window."""
    beside = np.concatenate([starts.ravel() - length, ends.ravel()])
    return np.append(wanted, beside[(beside >= 0) & (beside <= most - length)])


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    return (
        one.left_px < other.right_px
        and other.left_px < one.right_px
        and one.top_px < other.bottom_px
        and other.top_px < one.bottom_px
    )
