"""Texts of the page's panels and steps of its keys, held to those of the window."""

from __future__ import annotations

import pytest

from tests.web.in_node import run_in_node
from twixt.render.input.keys import TIME_SCALES, next_scale
from twixt.render.measure.amounts import number_text

SCALES = [0.001, *TIME_SCALES, 0.3, 3.0, 1000.0]
NUMBERS = [0.0, 0.004, 0.994, 1.0, 9.994, 9.996, 12.34, 99.94, 99.96, 123.4, -5.5]
SCRIPT = """
const {nextScale, number, onlyInWindow} = await import(WEB + "panel.js");
const head = {
  columns: {scale3: "linear", heat: "mine:blend", frame: "none", other: "mine:other"}, color_by: {column: "heat"},
  groups: [{name: "all", interpolation: null}, {name: "fast", interpolation: "hermite"},
           {name: "slow", interpolation: "kalman"}],
};
answer({
  scales: given.scales.map((scale) => [nextScale(scale, false), nextScale(scale, true)]),
  numbers: given.numbers.map(number), missing: [number(NaN), number(Infinity)],
  only: onlyInWindow(head, ["auto", "hermite", "linear", "none"]),
});
"""


@pytest.fixture(scope="module")
def said() -> dict[str, list[object]]:
    return run_in_node(SCRIPT, {"scales": SCALES, "numbers": NUMBERS})


def test_time_scales_follow_each_other_as_in_the_window(said: dict[str, list[object]]) -> None:
    assert said["scales"] == [[next_scale(scale, False), next_scale(scale, True)] for scale in SCALES]


def test_numbers_have_three_digits_as_in_the_window(said: dict[str, list[object]]) -> None:
    assert said["numbers"] == [number_text(number) for number in NUMBERS]
    assert said["missing"] == ["–", "–"]


def test_functions_that_only_the_window_runs_are_named(said: dict[str, list[object]]) -> None:
    column, group = said["only"]
    assert "mine:blend" in str(column)
    assert "kalman" in str(group)
