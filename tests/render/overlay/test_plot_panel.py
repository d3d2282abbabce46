"""The panel of live plots: what fits, its axes, and what is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import moderngl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.overlay.screen import Frames, plot
from twixt.render.display.input import MouseButton, MouseMove
from twixt.render.overlay.plot_panel import COLORS, LEAST_HEIGHT, MOST_HEIGHT, plot_heights, shown_range

SPACING = 2.0


def test_plots_share_the_height_and_the_last_ones_show_only_their_names() -> None:
    assert plot_heights([0.0], 15, 100) == [100 - 15 - SPACING]
    assert plot_heights([0.0], 15, 1000) == [MOST_HEIGHT]
    assert plot_heights([15.0, None, 0.0], 15, 200) == [pytest.approx(68), 0, pytest.approx(68)]
    assert plot_heights([0.0, 0.0, 0.0], 15, 45 + 2 * (LEAST_HEIGHT + SPACING)) == [LEAST_HEIGHT, LEAST_HEIGHT, 0]
    assert plot_heights([0.0] * 5, 15, 46) == [0, 0, 0]
    assert plot_heights([0.0], 15, 14) == []
    assert plot_heights([0.0], 15, -5) == []


@given(st.lists(st.none() | st.floats(0, 60), max_size=16), st.floats(-10, 2000))
def test_plots_always_fit_into_the_height(legends: list[float | None], room: float) -> None:
    heights = plot_heights(legends, 15, room)
    used = 15 * len(heights)
    for legend, height in zip(legends, heights, strict=False):
        if height:
            assert LEAST_HEIGHT - 1e-6 <= height <= MOST_HEIGHT
            used += (legend or 0.0) + height + SPACING
    assert used <= max(room, 0) + 1e-6


def test_axes_cover_what_is_finite() -> None:
    assert shown_range([]) == (0.0, 1.0)
    assert shown_range([np.array([math.nan, math.nan])]) == (0.0, 1.0)
    assert shown_range([np.array([1.0, math.nan, 3.0]), np.array([2.0, 5.0])]) == (1.0, 5.0)
    assert shown_range([np.array([0.0, 10.0])], 0.1) == (-1.0, 11.0)
    low, high = shown_range([np.array([5.0, 5.0])])
    assert low < 5.0 < high


@pytest.fixture(scope="module")
def context() -> moderngl.Context:
    return moderngl.create_standalone_context(require=330, backend="egl")


@pytest.fixture
def frames(context: moderngl.Context) -> Iterator[Frames]:
    made = Frames(context)
    made._picture.write(bytes(made.behind.size))  # a black picture, whose colours are no series'
    yield made
    made.overlay.close()


def drawn_in(frames: Frames, color: tuple[float, float, float], **changed: Any) -> np.ndarray:
    """Where the left column below the panel of frames has this colour, (rows, columns) bool."""
    frames.frames(12, **changed)
    pixels = frames.pixels()[230:, :290]
    return (np.abs(pixels - 255 * np.array(color)) < 24).all(axis=2)


def longest_gap(drawn: np.ndarray) -> int:
    """The longest run of columns in which nothing is drawn."""
    at = np.flatnonzero(drawn.any(axis=0))
    return int(np.diff(at, prepend=-1, append=drawn.shape[1]).max()) - 1


def test_each_series_is_drawn_in_its_colour_and_a_gap_is_not(frames: Frames) -> None:
    values = np.linspace(0.0, 1.0, 200)
    broken = np.where((np.arange(200) > 80) & (np.arange(200) < 120), math.nan, 1 - values)
    shown = (plot(rising=values, falling=broken),)
    for color in COLORS[:2]:
        assert not drawn_in(frames, color).any()
    rising, falling = (drawn_in(frames, color, plots=shown) for color in COLORS[:2])
    below_the_legend = slice(20, None)
    assert longest_gap(rising[below_the_legend, 60:250]) < 5
    assert 25 < longest_gap(falling[below_the_legend, 60:250]) < 60


def test_a_plot_folds_by_a_click_and_stays_folded_while_it_goes_on(frames: Frames) -> None:
    values = np.linspace(0.0, 1.0, 200)
    shown = {"plots": (plot(speed=values),)}
    line = drawn_in(frames, COLORS[0], **shown)
    assert line.sum() > 200
    (panel,) = [pane for pane in frames.overlay._shown_panes if pane.left_px < 20 and 200 < pane.top_px < 400]
    at = MouseMove(panel.left_px + 40, panel.top_px + 12, 0)
    for events in ((at,), (MouseButton("left", True, 0),), (MouseButton("left", False, 0),), (MouseMove(400, 300, 0),)):
        frames.frame(*events, **shown)
    for length in (200, 150):
        assert not drawn_in(frames, COLORS[0], plots=(plot(speed=values[:length]),)).any()


@pytest.mark.parametrize(
    "shown",
    [
        (),
        (plot(),),
        (plot(a=[]),),
        (plot(a=[1.0]),),
        (plot(a=[math.nan] * 3),),
        (plot("##", **{"##": [1.0, 1.0], "%s %d": [1e30, -1e30]}),),
        (plot("x" * 60, **{"y" * 60: [1.0, 2.0]}),),
        tuple(plot(f"plot {n}", **{f"s{i}": [n, i] for i in range(4)}) for n in range(16)),
    ],
    ids=["none", "no series", "no points", "one point", "only gaps", "odd names", "long names", "many"],
)
@pytest.mark.parametrize("size_px", [(800, 600), (480, 360), (160, 120), (16, 16), (1283, 797)])
def test_any_plots_are_drawn_at_any_size(frames: Frames, shown: Any, size_px: tuple[int, int]) -> None:
    frames.resize(size_px)
    frames.frames(12, plots=shown)
    for pane in frames.overlay._shown_panes:
        if min(size_px) >= 120:
            assert pane.left_px + pane.width_px <= size_px[0]
            assert pane.top_px + pane.height_px <= size_px[1]


def test_the_legend_has_the_newest_values(frames: Frames) -> None:
    def picture(value: float) -> np.ndarray:
        frames.frames(12, plots=(plot(a=[0.0, 100.0, value]),))
        return frames.pixels()

    assert (picture(10.0) != picture(20.0)).any()


def test_plots_are_laid_out_at_the_panels_rate_alone(frames: Frames) -> None:
    shown = {"plots": (plot(a=[0.0, 1.0]),)}
    frames.frames(30, **shown)
    assert 9 <= frames.frames(60, **shown) <= 12
