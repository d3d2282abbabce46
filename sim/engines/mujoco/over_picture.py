"""Texts, images and figures over the picture, from MuJoCo's terms: font scales, places of a grid, rectangles, arrays.

Always: what fits is shown; of images and figures that are too large together, the first are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction import overlay_figures
from twixt.ipc.interaction.overlay_figures import MOST_FIGURES, OverlayFigure, OverlayLine
from twixt.ipc.interaction.overlay_images import MOST_BYTES, MOST_IMAGES, OverlayImage
from twixt.ipc.interaction.overlay_texts import LARGEST, PLACES, SMALLEST, OverlayText
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjrRect, MjvFigure

# MuJoCo's font scale at which its letters are as high as the overlay's.
OWN_FONT_PERCENT = 100
# What an axis that grows to its points has beyond them: a share of the y axis, half a bar of the x axis.
MARGIN_SHARE, HALF_BAR = 0.05, 0.5


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


def overlay_figures_of(figures: Iterable[tuple[MjrRect, MjvFigure]]) -> tuple[list[OverlayFigure], int]:
    """Figures of `set_figures`, and the number of those that are left out."""
    given = [(viewport, figure) for viewport, figure in figures if viewport.width > 0 and viewport.height > 0]
    found: list[OverlayFigure] = []
    room = overlay_figures.MOST_BYTES
    for viewport, figure in given:
        made = _figure_of(viewport, figure)
        room -= sum(line.points.nbytes for line in made.lines)
        if room < 0 or len(found) == MOST_FIGURES:
            break
        found.append(made)
    return found, len(given) - len(found)


def _figure_of(viewport: MjrRect, figure: MjvFigure) -> OverlayFigure:
    names, colors, numbers = figure.linename, np.clip(np.nan_to_num(figure.linergb), 0, 1).tolist(), figure.linedata
    lines = []
    for line, count in enumerate(figure.linepnt.tolist()):
        if count > 0:
            points = numbers[line, : 2 * min(count, len(numbers[line]) // 2)].reshape(-1, 2)
            lines.append(OverlayLine(points, names[line].decode(errors="replace"), tuple(colors[line])))
    all_points = np.concatenate([line.points for line in lines] or [np.zeros((0, 2))])
    x_range, y_range = (_range(figure, axis, all_points[:, axis]) for axis in (0, 1))
    rect = viewport.left, viewport.bottom, viewport.width, viewport.height
    are_bars, has_legend = bool(figure.flg_barplot), bool(figure.flg_legend)
    return OverlayFigure(rect, lines, figure.title, figure.xlabel, x_range, y_range, are_bars, has_legend)


def _range(figure: MjvFigure, axis: int, values: NDArray[Any]) -> tuple[float, float] | None:
    """Range of an axis: the figure's, which grows to that of the points where `flg_extend` says so; of the y axis around
    zero with `flg_symmetric`. None, for that of the points, where the figure has none."""
    low, high = figure.range[axis].tolist()
    if not low < high:
        return None
    if len(values) and figure.flg_extend:
        least, most = float(values.min()), float(values.max())
        more = MARGIN_SHARE * (most - least) if axis else HALF_BAR if figure.flg_barplot else 0.0
        low, high = min(low, least - more), max(high, most + more)
    if axis == 1 and figure.flg_symmetric:
        high = max(abs(low), abs(high))
        low = -high
    return low, high
