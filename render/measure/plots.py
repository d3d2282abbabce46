"""Draws the frame-pacing plot (frame intervals, drawn motion, animation errors), and defines the style of all plots.

The panels of the plot share the time axis. The strip below the panels has one stroke per frame, like the overlay's
strip. The plot is readable at a width of 900 px. The plot shows the values of `run_figures`; no figure is computed
here.

Always: errors are TwixtErrors that say what the user can do. matplotlib is imported only when a plot is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError, install_command
from twixt.render.measure.frame_rows import FrameRow, FrameTable
from twixt.render.measure.run_figures import BAD_ERROR_MS, Measured, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DPI = 100
INK, RULE = "#333333", "#e2e2e2"
FONT_PT = 9


def empty_figure(width_in: float, height_in: float) -> Figure:
    """Makes a matplotlib figure that needs no screen. Raises TwixtError if matplotlib is not installed or has no
    writable folder."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise TwixtError(
            f"a plot needs matplotlib, which is not installed; install it with: {install_command('matplotlib')}"
        ) from None
    except OSError as error:
        raise TwixtError(
            f"matplotlib cannot be loaded: {error.strerror or 'it has no writable folder'}; "
            "set MPLCONFIGDIR to a writable folder"
        ) from error
    figure = Figure(figsize=(width_in, height_in), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_figure(width_in: float, height_in: float, rows: int = 1, **how: Any) -> tuple[Figure, list[Axes]]:
    """Makes a matplotlib figure with `rows` panels below each other. The panels have no borders at the top and right.
    how: further arguments of matplotlib's `subplots`."""
    figure = empty_figure(width_in, height_in)
    axes: list[Axes] = list(figure.subplots(rows, 1, squeeze=False, **how)[:, 0])
    for one in axes:
        one.tick_params(labelsize=FONT_PT - 1, colors=INK)
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
    return figure, axes


def save(figure: Figure, path: str) -> None:
    """Writes the figure to the file `path`. The ending of `path` chooses the format, PNG by default. Raises TwixtError
    if the file cannot be written."""
    try:
        figure.savefig(path, format=os.path.splitext(path)[1][1:] or "png", facecolor="white")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).split("(")[0].strip()
        raise TwixtError(
            f"cannot write the plot {path!r}: {reason}; for --plot, name a .png file in an existing folder"
        ) from None


WIDTH_IN = 9.0  # 900 px wide
# Largest number of strokes in the strip below the panels. A stroke narrower than 1.5 px could fall between two pixels
# and disappear.
STRIP_STROKES = 500
# Length in seconds of the excerpts that a plot compares. In a longer excerpt, single frames could not be
# distinguished.
COMPARED_SECONDS = 4.0
EVERYTHING = slice(None)
MOVED, STOOD, GUESSED, IDEAL = "#2a78c2", "#d62728", "#e8a317", "#9fd3b0"
LONGEST_TITLE = 110  # number of characters that fit into the width of the plot

Rows: TypeAlias = FrameTable | Iterable[FrameRow]


def frame_pacing(rows: Rows, path: str, title: str = "", swap_blocks: bool | None = None) -> None:
    """Saves the plot of one run. The ending of `path` chooses the format, PNG by default. Raises TwixtError if the
    plot cannot be made."""
    measured = measure(FrameTable.of(rows), swap_blocks=swap_blocks)
    figure, axes = new_figure(WIDTH_IN, 6.4, 4, height_ratios=(2.2, 2.2, 1.6, 0.35))
    _share_time(axes)
    _intervals(axes[0], measured)
    _steps(axes[1], measured)
    _errors(axes[2], measured)
    _strip(axes[3], measured)
    _head(axes[0], title, measured)
    save(figure, path)


def compared(a: Rows, b: Rows, path: str, titles: tuple[str, str], seconds: float = COMPARED_SECONDS) -> None:
    """Saves a plot that compares the motion drawn in two runs, frame by frame. One run is above the other, on the same
    scales.

    The plot shows `seconds` from the middle of each run. titles: a title for each run, such as ("without
    interpolation", "with interpolation"). Raises TwixtError if the plot cannot be made.
    """
    runs = [measure(FrameTable.of(rows)) for rows in (a, b)]
    excerpts = [_middle(run, seconds) for run in runs]
    shown = [run.motion.shown_ms[excerpt] for run, excerpt in zip(runs, excerpts, strict=True)]
    figure, axes = new_figure(WIDTH_IN, 6.0, 4, height_ratios=(2.2, 0.35, 2.2, 0.35))
    for run, excerpt, title, over in zip(runs, excerpts, titles, (0, 2), strict=True):
        _share_time(axes[over : over + 2])
        _steps(axes[over], run, excerpt, top=_top(np.concatenate(shown)))
        _strip(axes[over + 1], run, excerpt)
        _head(axes[over], title, run)
    save(figure, path)


def _summary(measured: Measured) -> str:
    frames, motion = measured.sections["frames"], measured.sections["motion"]
    texts = [f"{frames['mean_fps']:.1f} fps" if frames.get("mean_fps") else ""]
    if motion.get("distinct_share") is not None:
        texts.append(f"{motion['distinct_share']:.0%} new pictures")
    p99 = motion.get("animation_error_ms", {}).get("p99")
    if p99 is not None:
        texts.append(f"animation error p99 {p99:.2f} ms")
    return ", ".join(text for text in texts if text)


def _intervals(axes: Axes, measured: Measured) -> None:
    timing = measured.timing
    seconds = _seconds(measured)
    if np.isfinite(timing.planned_ms).any():
        label = "whole refreshes, as planned" if timing.swap_blocks else "as paced (swap does not block)"
        axes.plot(seconds, timing.planned_ms, color=IDEAL, linewidth=3, drawstyle="steps-mid", label=label)
    _dots(axes, seconds, timing.interval_ms, INK)
    axes.set_ylim(0, _top(np.r_[timing.interval_ms, timing.planned_ms]))
    _style_axes(axes, "frame interval\nms")


def _steps(axes: Axes, measured: Measured, excerpt: slice = EVERYTHING, top: float | None = None) -> None:
    seconds, moved = _seconds(measured)[excerpt], measured.motion
    step_ms, ideal_ms, stood = moved.shown_ms[excerpt], moved.ideal_ms[excerpt], _stood(measured)[excerpt]
    axes.plot(seconds, ideal_ms, color=IDEAL, linewidth=3, label="even motion")
    _dots(axes, seconds, np.where(stood, np.nan, step_ms), MOVED)
    _dots(axes, seconds, np.where(stood, step_ms, np.nan), STOOD)
    top = top or _top(np.r_[step_ms, ideal_ms])
    axes.set_ylim(min(-0.05 * top, 1.1 * float(np.nanmin(np.r_[step_ms, 0.0]))), top)
    _style_axes(axes, "motion drawn\nms of display time")


def _errors(axes: Axes, measured: Measured) -> None:
    error_ms = measured.motion.error_ms
    axes.axhspan(-BAD_ERROR_MS, BAD_ERROR_MS, color=IDEAL, alpha=0.15, linewidth=0, label=f"within {BAD_ERROR_MS:g} ms")
    _dots(axes, _seconds(measured), error_ms, INK)
    reach = max(2 * BAD_ERROR_MS, 1.2 * float(np.nanmax(np.abs(np.r_[error_ms, 0.0]))))
    axes.set_ylim(-reach, reach)
    _style_axes(axes, "animation error\nms of display time")


def _strip(axes: Axes, measured: Measured, excerpt: slice = EVERYTHING) -> None:
    """Draws the strip below the panels, with one stroke per frame. Rare kinds of frames are drawn last, and no stroke
    is too thin, so every frame is visible."""
    from matplotlib.patches import Patch

    seconds = _seconds(measured)[excerpt]
    stood = _stood(measured)[excerpt]
    guessed = measured.timing.frames.is_text("mode", "extrapolated")[excerpt] & ~stood
    drawn = measured.motion.drawn[excerpt]
    thinnest = (seconds[-1] - seconds[0]) / STRIP_STROKES if len(seconds) > 1 else 1.0
    widths = np.diff(seconds, append=seconds[-1:] + thinnest)
    shown = []
    for name, colour, mask in (
        ("moved", MOVED, drawn & ~stood & ~guessed),
        ("moved by extrapolation", GUESSED, guessed),
        ("stood still", STOOD, stood),
    ):
        if mask.any():
            strokes = [(at, max(width, thinnest)) for at, width in zip(seconds[mask], widths[mask], strict=True)]
            axes.broken_barh(strokes, (0, 1), facecolor=colour, linewidth=0, antialiased=False)
            shown.append(Patch(color=colour, label=f"{name}: {int(mask.sum())} frames"))
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.set_xlabel("seconds", fontsize=FONT_PT, color=INK)
    axes.set_ylabel("the picture", fontsize=FONT_PT, color=INK, rotation=0, ha="right", va="center")
    if shown:
        axes.legend(
            handles=shown, loc="upper left", bbox_to_anchor=(0, -0.5), ncols=3, fontsize=FONT_PT - 1, frameon=False
        )


def _stood(measured: Measured) -> NDArray[np.bool_]:
    return measured.motion.running & (measured.motion.step_ms == 0)


def _share_time(panels: list[Axes]) -> None:
    """Makes the panels share one time axis, with labels only under the last panel."""
    for one in panels[:-1]:
        one.sharex(panels[-1])
        one.tick_params(labelbottom=False)


def _style_axes(axes: Axes, name: str) -> None:
    axes.set_ylabel(name, fontsize=FONT_PT, color=INK)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize=FONT_PT - 1, frameon=True, framealpha=0.85, edgecolor="none")


def _head(axes: Axes, title: str, measured: Measured) -> None:
    """Sets the title and, below the title, a summary of the run."""
    shown = title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 3] + "..."
    shown = shown.encode("utf-8", "backslashreplace").decode()  # a file name may contain any bytes
    axes.set_title(shown, loc="left", fontsize=FONT_PT + 2, color=INK, pad=19, parse_math=False)
    axes.annotate(_summary(measured), (0, 1), (0, 5), "axes fraction", "offset points", fontsize=FONT_PT, color=INK)


def _dots(axes: Axes, seconds: NDArray[Any], values: NDArray[Any], colour: str) -> None:
    size = 3.0 if len(seconds) < 400 else 2.0 if len(seconds) < 1500 else 1.2
    axes.plot(seconds, values, linestyle="none", marker="o", markersize=size, markeredgewidth=0, color=colour)


def _seconds(measured: Measured) -> NDArray[np.float64]:
    present_ns = measured.timing.present_ns
    return (present_ns - present_ns[0]) / 1e9 if len(present_ns) else np.zeros(0)


def _middle(measured: Measured, seconds: float) -> slice:
    """Frames of the middle `seconds` of a run."""
    at = _seconds(measured)
    if not len(at):
        return slice(0, 0)
    first = max(0.0, (at[-1] - seconds) / 2)
    return slice(int(np.searchsorted(at, first)), int(np.searchsorted(at, first + seconds)))


def _top(values: NDArray[Any]) -> float:
    finite = values[np.isfinite(values)]
    return 1.3 * float(finite.max()) if len(finite) and finite.max() > 0 else 1.0
