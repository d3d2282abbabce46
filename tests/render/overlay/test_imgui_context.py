"""Figures of a program in the pixels of a picture: lines where their numbers say, words where there is room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import moderngl
import numpy as np
import pytest

from twixt.ipc.interaction.overlay import OverlayFigure, OverlayLine
from twixt.render.overlay.imgui_context import FigureOverlay, shown_ranges
from twixt.render.overlay.program_pictures import ProgramPictures

SIZE_PX = (400, 300)
BEHIND = 0.9
RISING = [(x, x) for x in range(11)]


@pytest.fixture(scope="module")
def context() -> moderngl.Context:
    return moderngl.create_standalone_context(require=330, backend="egl")


@pytest.fixture
def pictures(context: moderngl.Context) -> Iterator[ProgramPictures]:
    made = ProgramPictures()
    yield made
    made.release()


def drawn(context: Any, pictures: ProgramPictures, *figures: OverlayFigure, scale: float = 1.0) -> np.ndarray:
    framebuffer = context.simple_framebuffer(SIZE_PX)
    framebuffer.use()
    framebuffer.clear(BEHIND, BEHIND, BEHIND)
    pictures.set_figures_shown(figures, scale)
    pictures.draw(SIZE_PX, ())
    pixels = np.frombuffer(framebuffer.read(), np.uint8).reshape(SIZE_PX[1], SIZE_PX[0], 3)[::-1].astype(int)
    framebuffer.release()
    return pixels


def of_color(picture: np.ndarray, channel: int) -> np.ndarray:
    """Pixels that have far more of this channel than of the others, as (row, column)."""
    others = np.delete(picture, channel, axis=2).max(axis=2)
    return np.argwhere(picture[:, :, channel] - others > 100)


def test_a_rising_line_rises_in_its_rectangle_alone(context: Any, pictures: ProgramPictures) -> None:
    figure = OverlayFigure((100, 50, 200, 150), [OverlayLine(RISING, "", (1, 0, 0))])
    picture = drawn(context, pictures, figure)
    inside = np.zeros(SIZE_PX[::-1], bool)
    inside[300 - 50 - 150 : 300 - 50, 100:300] = True
    assert (picture[~inside] == round(BEHIND * 255)).all()
    assert (picture[inside].max(axis=1) < 255 * BEHIND - 20).mean() > 0.8, "dark behind the line"
    red = of_color(picture, 0)
    assert len(red) > 100
    rows, columns = red.T
    assert np.corrcoef(rows, columns)[0, 1] < -0.99, "up is towards the upper rows"
    falling = OverlayFigure(figure.rect, [OverlayLine(np.array(RISING) * (1, -1), "", (1, 0, 0))])
    rows, columns = of_color(drawn(context, pictures, falling), 0).T
    assert np.corrcoef(rows, columns)[0, 1] > 0.99


def test_bars_stand_on_zero_and_a_range_cuts_what_is_beyond(context: Any, pictures: ProgramPictures) -> None:
    line = OverlayLine([(0, 1), (1, 2), (2, 4)], "", (0, 1, 0))
    bars = OverlayFigure((0, 0, 300, 200), [line], kind="bars")
    green = of_color(drawn(context, pictures, bars), 1)
    heights = np.unique(np.bincount(green[:, 1])[np.bincount(green[:, 1]) > 5])
    assert len(heights) >= 3
    assert heights.max() == pytest.approx(4 * heights.min(), abs=6)
    cut = OverlayFigure((0, 0, 300, 200), [line], kind="bars", x_range=(-0.5, 0.5))
    green = of_color(drawn(context, pictures, cut), 1)
    assert len(np.unique(green[:, 1])) > 100, "one wide bar"


def test_words_are_shown_where_there_is_room(context: Any, pictures: ProgramPictures) -> None:
    def bright(width: int, height: int, **words: Any) -> int:
        picture = drawn(
            context, pictures, OverlayFigure((0, 0, width, height), [OverlayLine(RISING, **words)], "words")
        )
        return int((picture[300 - height :, :width].min(axis=2) > 200).sum())

    assert bright(300, 200) > bright(50, 30) == 0
    assert bright(300, 200, name="name") > bright(300, 200) + 20
    assert bright(120, 60, name="name") == bright(120, 60)


def test_a_figure_is_laid_out_once_and_again_on_a_denser_screen(
    context: Any, pictures: ProgramPictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    layouts: list[float] = []
    draw = FigureOverlay.draw

    def counted(overlay: FigureOverlay, figure: OverlayFigure, size_px: tuple[int, int], scale: float) -> None:
        layouts.append(scale)
        draw(overlay, figure, size_px, scale)

    monkeypatch.setattr(FigureOverlay, "draw", counted)
    figure = OverlayFigure((0, 0, 300, 200), [OverlayLine(RISING)])
    first = drawn(context, pictures, figure)
    figures = pictures._figures.source
    context.simple_framebuffer(SIZE_PX).use()
    for scale in (1.0, 2.0, 2.0):
        pictures.set_figures_shown(figures, scale)  # type: ignore[arg-type]
    assert layouts == [1.0, 2.0]
    assert not np.array_equal(drawn(context, pictures, figure, scale=2.0), first)


@pytest.mark.parametrize(
    ("lines", "more", "expected"),
    [
        ([], {}, ((0, 1), (-0.05, 1.05))),
        ([[(0, 5)]], {}, ((-0.5, 0.5), (4.45, 5.55))),
        ([[(0, 0), (10, 1)], [(20, -1)]], {}, ((0, 20), (-1.1, 1.1))),
        ([[(0, 0), (10, 1)]], {"x_range": (3, 4), "y_range": (-9, 9)}, ((3, 4), (-9, 9))),
        ([[(1, 2), (3, 4)]], {"kind": "bars"}, ((0.33, 3.67), (-0.2, 4.2))),
    ],
)
def test_ranges_are_those_of_the_points_or_of_the_figure(lines: Any, more: Any, expected: Any) -> None:
    figure = OverlayFigure((0, 0, 1, 1), [OverlayLine(line) for line in lines], **more)
    assert np.allclose(shown_ranges(figure), expected)
