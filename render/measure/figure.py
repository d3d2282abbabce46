"""What all pictures drawn with matplotlib share: how a figure is opened, what it looks like, how it is saved.

Imports matplotlib when a figure is asked for, not before. Always: what goes wrong is a TwixtError with the way out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from twixt.ipc.errors import TwixtError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 100
INK, RULE = "#333333", "#e2e2e2"
FONT_PT = 9


def empty_figure(width_in: float, height_in: float) -> Figure:
    """A figure that needs no screen. Raises TwixtError where matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise TwixtError(
            "a plot needs matplotlib, which is not installed; install it with: pip install 'twixt[plot]'"
        ) from None
    figure = Figure(figsize=(width_in, height_in), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_figure(width_in: float, height_in: float, rows: int = 1, **how: Any) -> tuple[Figure, list[Axes]]:
    """A figure with `rows` panels below each other, without frames. how: as for matplotlib's `subplots`."""
    figure = empty_figure(width_in, height_in)
    axes: list[Axes] = list(figure.subplots(rows, 1, squeeze=False, **how)[:, 0])
    for one in axes:
        one.tick_params(labelsize=FONT_PT - 1, colors=INK)
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
    return figure, axes


def save(figure: Figure, path: str) -> None:
    """Writes it, in the format of the name's ending, PNG by default. Raises TwixtError."""
    try:
        figure.savefig(path, format=os.path.splitext(path)[1][1:] or "png", facecolor="white")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).split("(")[0].strip()
        raise TwixtError(
            f"cannot write the plot {path!r}: {reason}; give --plot a .png file in a folder that exists"
        ) from None
