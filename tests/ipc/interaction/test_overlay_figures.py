"""Figures of a program over the picture: what is sent is received, and what cannot be shown is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.overlay import (
    LONGEST_FIGURE_TEXT,
    MOST_FIGURE_BYTES,
    MOST_FIGURES,
    MOST_LINES,
    OverlayFigure,
    OverlayLine,
    checked_figures,
    figures_as_message,
    figures_from_message,
)

RECT = (1, 2, 300, 200)
LINE = OverlayLine([(0, 1), (2, 3)], "a", (1, 0.5, 0))
FIGURE = OverlayFigure(RECT, [LINE, OverlayLine(np.zeros((0, 2)))], "title", "time, s", (0, 4.5), None, "bars", False)


def told(figure: OverlayFigure) -> tuple[Any, ...]:
    lines = [(line.points.tolist(), line.name, line.color) for line in figure.lines]
    return (figure.rect, lines, figure.title, figure.x_label, figure.x_range, figure.y_range, figure.kind,
            figure.has_legend)  # fmt: skip


def test_figures_are_received_as_they_were_sent() -> None:
    figures = [FIGURE, OverlayFigure(RECT, [LINE])]
    fields, content = figures_as_message(figures)
    received = figures_from_message(json.loads(json.dumps(fields)), content)
    assert [told(figure) for figure in received] == [told(figure) for figure in figures]
    assert told(FIGURE)[1] == [([[0, 1], [2, 3]], "a", (1, 0.5, 0)), ([], "", None)]
    assert figures_from_message(*figures_as_message([])) == ()


def test_points_are_copied_without_those_that_are_not_finite_and_long_names_are_cut() -> None:
    points = np.array([(0, 1), (np.nan, 2), (3, np.inf), (4, 1e31), (5, 6)], np.float32)
    line = OverlayLine(points, "x" * 500)
    points[:] = 0
    assert line.points.tolist() == [[0, 1], [5, 6]]
    assert len(line.name) == LONGEST_FIGURE_TEXT


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rect": (0, 0, 0, 1)}, "rect of a figure"),
        ({"lines": [[(0, 1)]]}, "lines of a figure"),
        ({"lines": 5}, "lines of a figure"),
        ({"lines": [LINE] * (MOST_LINES + 1)}, "lines of a figure must be at most 100"),
        ({"title": 5}, "title of a figure must be text"),
        ({"x_label": None}, "x_label of a figure must be text"),
        ({"x_range": (1, 1)}, "x_range of a figure must be two numbers, the lower one first"),
        ({"y_range": (0, float("inf"))}, "y_range of a figure"),
        ({"y_range": "ab"}, "y_range of a figure"),
        ({"kind": "pie"}, 'kind of a figure must be "lines" or "bars", got .pie.'),
        ({"kind": True}, 'kind of a figure must be "lines" or "bars", got True'),
    ],
)
def test_what_is_no_figure_is_refused(fields: Any, said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        OverlayFigure(**{"rect": RECT, "lines": [LINE], **fields})


@pytest.mark.parametrize("points", [5, "ab", [1, 2], [(1, 2, 3)], [("a", "b")], None, [(1, 2), (3,)]])
def test_what_is_no_line_is_refused(points: Any) -> None:
    with pytest.raises(TwixtError, match="points of a line"):
        OverlayLine(points)
    with pytest.raises(TwixtError, match="color of a line"):
        OverlayLine([(0, 0)], color=(2, 0, 0))


def test_too_many_figures_or_points_are_refused() -> None:
    assert checked_figures("View.set_figures", iter([FIGURE])) == [FIGURE]
    for wrong in (5, "figure", None, [LINE]):
        with pytest.raises(TwixtError, match="View.set_figures takes a list of OverlayFigure, got "):
            checked_figures("View.set_figures", wrong)
    many = OverlayFigure(RECT, [OverlayLine(np.zeros((MOST_FIGURE_BYTES // 16 + 1, 2)))])
    for too_many in ([FIGURE] * (MOST_FIGURES + 1), [many]):
        with pytest.raises(TwixtError, match="at most, got"):
            checked_figures("View.set_figures", too_many)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: 5,
        lambda row: row[:-1],
        lambda row: [*row, 1],
        lambda row: [*row[:-1], 5],
        lambda row: [*row[:-1], [["a", None, 3], ["", None, 0]]],
        lambda row: [*row[:-1], [["a", None, -1]]],
        lambda row: [*row[:-1], [["a", None, True]]],
        lambda row: [*row[:-1], [["a", [5, 5, 5], 2]]],
        lambda row: [[0, 0], *row[1:]],
        lambda row: [row[0], None, *row[2:]],
    ],
)
def test_a_message_that_is_damaged_is_refused(change: Any) -> None:
    fields, content = figures_as_message([FIGURE])
    rows = json.loads(json.dumps(fields))["figures"]
    with pytest.raises(TwixtError):
        figures_from_message({"figures": [change(rows[0])]}, content)
    for wrong in (None, {}, rows * (MOST_FIGURES + 1)):
        with pytest.raises(TwixtError):
            figures_from_message({"figures": wrong}, content)
    with pytest.raises(TwixtError):
        figures_from_message({"figures": rows}, content[:-1])
