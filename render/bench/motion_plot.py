"""The picture of `twixt bench motion`: two motions as they were drawn, frame by frame, by some methods.

A dot is what one frame shows, the pale line is where the body truly was: dots off the line are errors, dots unevenly
spaced are unevenness one sees. Ten snapshots a second, drawn at 60 frames a second. Readable at 800 px.
Needs matplotlib, imported when a picture is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.bench.motion import SECONDS, TROUBLES, Recorded, Stage
from twixt.render.measure.figure import FONT_PT, INK, empty_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN, HEIGHT_IN = 8.0, 4.6  # 800 px
METHODS = ("none", "linear", "catmull", "hermite", "auto")
TROUBLE = "ahead 10 Hz"
# Simulated seconds: of the bounce, one impact and what is around it; of the circle, once round.
BOUNCE_S, ROUND_S = (4.6, 5.0), (3.4, 4.4)
# Of the floor, what is shown (metres).
BELOW_M = 0.1
TRUE, DRAWN, KNOWN, FLOOR = "#9fd3b0", "#2a78c2", "#d62728", "#dddddd"


class Way(NamedTuple):
    """One body in the plane of its motion: (f, 2) each, metres."""

    true: NDArray[np.floating]
    drawn: NDArray[np.floating]
    snapshots: NDArray[np.floating]


def picture(recorded: Recorded, path: str, seed: int = 0) -> None:
    """Saves the picture. recorded: body 0 bounces in the plane of x and z, body 1 runs round in that of x and y."""
    figure = empty_figure(WIDTH_IN, HEIGHT_IN)
    stage = Stage(recorded)
    axes = figure.subplots(2, len(METHODS))
    for column, method in enumerate(METHODS):
        bounce, circle = (_way(stage, method, seed, *how) for how in ((0, 2, BOUNCE_S), (1, 1, ROUND_S)))
        upper, lower = axes[:, column]
        upper.axhspan(-1.0, 0.0, color=FLOOR, linewidth=0)
        upper.set_title(method, fontsize=FONT_PT + 2, color=INK)
        _draw(upper, bounce)
        _draw(lower, circle)
        upper.set_ylim(-BELOW_M, bounce.true[:, 1].max() + BELOW_M)
        lower.set_aspect("equal")
    for one, name in zip(axes[:, 0], ("a bounce", "a circle"), strict=True):
        one.set_ylabel(name, fontsize=FONT_PT, color=INK)
    figure.legend(
        *axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=FONT_PT, frameon=False
    )
    save(figure, path)


def _way(stage: Stage, method: str, seed: int, body: int, up: int, span_s: tuple[float, float]) -> Way:
    rows = stage.rows(TROUBLES[TROUBLE].trace(seed, SECONDS))
    shown = stage.show(rows, method, seed)
    truth, (begin_ns, end_ns) = stage.truth, (round(second * 1e9) for second in span_s)
    sim_ns = np.array([row.sim_ns for row in rows])

    def within(times_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (times_ns >= begin_ns) & (times_ns <= end_ns)

    plane = (0, up)
    return Way(
        truth.states.position[within(truth.times_ns), body][:, plane],
        shown.places.position[within(shown.asked_ns), body][:, plane],
        truth.at(sim_ns[within(sim_ns)]).position[:, body][:, plane],
    )


def _draw(axes: Axes, way: Way) -> None:
    axes.plot(*way.true.T, color=TRUE, linewidth=3, label="where it truly was")
    axes.plot(*way.snapshots.T, "o", color="none", markeredgecolor=KNOWN, markersize=8, label="a snapshot of it")
    axes.plot(*way.drawn.T, "-o", color=DRAWN, linewidth=0.6, markersize=2.6, label="drawn, one dot a frame")
    axes.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
