"""Figures of a program over the picture of its viewers: lines or bars with axes, each in a rectangle of the window.

They travel as images do, once a call: a viewer gets the newest, and a late viewer has them too.
Always: an `OverlayFigure` is checked when it is made, from a program's call or from a message; points that are not
finite are left out; all points together take at most `MOST_BYTES`, and texts are cut to `LONGEST_TEXT` characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.overlay_images import Rect, checked_rect
from twixt.ipc.shapes.shape_checks import Color, color_or_none, set_field, text_of

# Figures at once, lines of one, and bytes of all points.
MOST_FIGURES, MOST_LINES, MOST_BYTES = 16, 100, 4 << 20
LONGEST_TEXT = 100
# Largest coordinate: beyond it a figure has no readable numbers.
LARGEST = 1e30

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class OverlayLine:
    """A line of a figure. points: (n, 2), x and y. name: for the legend; empty for none. color: (red, green, blue), 0
    to 1; None for one that differs from its neighbours'. Raises TwixtError."""

    points: NDArray[np.float64]
    name: str = ""
    color: Color | None = None

    def __init__(self, points: ArrayLike, name: str = "", color: Color | None = None) -> None:
        try:
            found = np.array(points, np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.ndim != 2 or found.shape[1] != 2:
            raise TwixtError(f"points of a line must be numbers (n, 2), got shape {np.shape(found)}")
        set_field(self, "points", found[(np.abs(found) <= LARGEST).all(axis=1)])
        set_field(self, "name", _checked_text("name of a line", name))
        set_field(self, "color", color_or_none("color of a line", color))


@dataclass(frozen=True, eq=False)
class OverlayFigure:
    """A figure over the picture. rect: left, bottom, width, height in pixels of the window, from its lower left corner.
    x_range, y_range: of the axes; None for that of the points. are_bars: the points are bars, else they are joined.
    has_legend: names of lines are shown. Raises TwixtError."""

    rect: Rect
    lines: Sequence[OverlayLine]
    title: str = ""
    x_label: str = ""
    x_range: Range | None = None
    y_range: Range | None = None
    are_bars: bool = False
    has_legend: bool = True

    def __post_init__(self) -> None:
        set_field(self, "rect", checked_rect("rect of a figure", self.rect))
        lines = tuple(self.lines) if isinstance(self.lines, Iterable) else (self.lines,)
        if len(lines) > MOST_LINES or not all(isinstance(line, OverlayLine) for line in lines):
            raise TwixtError(
                f"lines of a figure must be at most {MOST_LINES} OverlayLine, got {text_of(self.lines)[:40]}"
            )
        set_field(self, "lines", lines)
        for name in ("title", "x_label"):
            set_field(self, name, _checked_text(f"{name} of a figure", getattr(self, name)))
        for name in ("x_range", "y_range"):
            set_field(self, name, _checked_range(f"{name} of a figure", getattr(self, name)))
        for name in ("are_bars", "has_legend"):
            set_field(self, name, bool(getattr(self, name)))


def checked_figures(name: str, figures: Any) -> list[OverlayFigure]:
    """The figures that a program gave as `name`. Raises TwixtError for anything else, and for too many points."""
    found = list(figures) if isinstance(figures, Iterable) else [figures]
    for figure in found:
        if not isinstance(figure, OverlayFigure):
            raise TwixtError(f"{name} takes a list of OverlayFigure, got {text_of(figure)[:40]}")
    size = sum(line.points.nbytes for figure in found for line in figure.lines)
    if len(found) > MOST_FIGURES or size > MOST_BYTES:
        most = f"{MOST_FIGURES} figures and {MOST_BYTES // 16:,} points"
        raise TwixtError(f"{name} takes {most} at most, got {len(found)} and {size // 16:,}")
    return found


def as_message(figures: Iterable[OverlayFigure]) -> tuple[dict[str, Any], bytes]:
    """Fields and raw bytes of a message with these figures, for `from_message`."""
    shown = list(figures)
    fields = {
        "figures": [
            [
                figure.rect, figure.title, figure.x_label, figure.x_range, figure.y_range, figure.are_bars,
                figure.has_legend, [[line.name, line.color, len(line.points)] for line in figure.lines],
            ]
            for figure in shown
        ]
    }  # fmt: skip
    return fields, b"".join(line.points.tobytes() for figure in shown for line in figure.lines)


def from_message(fields: dict[str, Any], raw: bytes) -> tuple[OverlayFigure, ...]:
    """The figures of `as_message`. Raises TwixtError for anything else."""
    rows = fields.get("figures")
    if not isinstance(rows, list) or len(rows) > MOST_FIGURES or len(raw) % 16:
        raise TwixtError(f"figures must be a list of at most {MOST_FIGURES}, got {type(rows).__name__}")
    points, start, found = np.frombuffer(raw).reshape(-1, 2), 0, []
    for row in rows:
        try:
            *values, given = row
            lines = []
            for name, color, count in given:
                if type(count) is not int or not 0 <= count <= len(points) - start:
                    raise TwixtError(f"a line of {text_of(count)[:20]} points came with {len(points) - start}")
                lines.append(OverlayLine(points[start : start + count], name, color))
                start += count
            rect, title, x_label, x_range, y_range, are_bars, has_legend = values
            found.append(OverlayFigure(rect, lines, title, x_label, x_range, y_range, are_bars, has_legend))
        except (TypeError, ValueError) as error:
            raise TwixtError(f"a figure came that is damaged ({str(error)[:100]})") from error
    return tuple(found)


def _checked_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TwixtError(f"{name} must be text, got {text_of(value)[:40]}")
    return value[:LONGEST_TEXT]


def _checked_range(name: str, value: Any) -> Range | None:
    if value is None:
        return None
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not -LARGEST <= low < high <= LARGEST:
        raise TwixtError(f"{name} must be two numbers, the lower one first, got {text_of(value)[:40]}")
    return low, high
