"""Figures in turns: their medians, how sure their ratio is, and whether it reaches its target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cost_suite import EarlierFigure, change, document, read_earlier
from bench.rows import Row, noise_of, row, times_us, turns
from twixt.ipc.errors import TwixtError

TIMES = st.lists(st.floats(1e-3, 1e6), min_size=8, max_size=40)


def test_each_round_calls_every_work_as_often() -> None:
    called: list[str] = []
    taken = times_us(3, lambda: called.append("a"), lambda: called.append("b"), calls=2)
    assert called == ["a", "a", "b", "b"] * 3
    assert [len(times) for times in taken] == [3, 3]


def test_a_spent_budget_leaves_the_few_rounds_that_a_median_needs() -> None:
    assert [len(times) for times in times_us(9, str, int, budget_s=0.0)] == [3, 3]
    assert list(turns(5, 1e9)) == [0, 1, 2, 3, 4]


def test_noise_is_half_of_what_parts_of_the_run_differ_by() -> None:
    assert noise_of([10, 10, 10, 10, 10, 10, 12, 12], [10] * 8) == pytest.approx(0.1)
    assert noise_of([10.0] * 7, [10.0] * 7) is None


@given(TIMES, st.floats(1e-2, 1e2))
def test_what_slows_both_alike_never_makes_noise(limits: list[float], factor: float) -> None:
    noise = noise_of([factor * limit for limit in limits], limits)
    assert noise == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("target", "reached"),
    [("ratio <= 1.6", True), ("ratio >= 1.6", False), ("over <= 10", True), ("figure <= 29", False), ("", None)],
)
def test_a_target_is_of_the_figure_its_ratio_or_what_it_is_over_the_limit(target: str, reached: bool | None) -> None:
    assert row("publish", "us", [30.0] * 3, "memcpy", [20.0] * 3, target).holds is reached


def test_what_was_not_measured_reaches_and_misses_no_bar() -> None:
    assert Row("publish", "us", None, "memcpy", None, 0, target="figure <= 1").holds is None


@pytest.mark.parametrize(("unit", "ratio", "worse"), [("us", 1.5, 0.5), ("us", 0.5, -0.5), ("fps", 0.5, 1.0)])
def test_of_frames_a_second_more_is_better_of_all_else_less(unit: str, ratio: float, worse: float) -> None:
    now = Row("a", unit, ratio, "b", 1.0, 9, noise=0.01)
    found = change(now, {("a", "b"): EarlierFigure(1.0, 0.01)})
    assert found is not None
    assert found.worse == pytest.approx(worse)
    assert found.is_sure


@pytest.mark.parametrize(("noise", "sure"), [(0.01, True), (0.2, False), (None, False)])
def test_a_change_within_the_noise_of_both_runs_is_not_sure(noise: float | None, sure: bool) -> None:
    found = change(Row("a", "us", 1.13, "b", 1.0, 9, noise=noise), {("a", "b"): EarlierFigure(1.0, noise)})
    assert found is not None
    assert found.is_sure is sure


def test_rows_of_one_run_alone_are_compared_with_nothing() -> None:
    assert change(Row("a", "us", 1.0, "b", 1.0, 9), {}) is None
    assert change(Row("a", "us", None, "b", None, 0), {("a", "b"): EarlierFigure(1.0, None)}) is None


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "earlier.json"
    made = document({"channel": [Row("a", "us", 3.0, "b", 2.0, 9, noise=0.02, target="ratio <= 1")]}, {})
    file.write_text(json.dumps(made))
    assert read_earlier(str(file)) == {("a", "b"): EarlierFigure(1.5, 0.02)}
    assert made["rows"][0]["holds"] is False


@pytest.mark.parametrize("content", [None, "no json", "[]", '{"schema": "another", "rows": []}'])
def test_a_file_that_holds_no_earlier_figures_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "earlier.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(TwixtError, match="make one with: python -m bench --json"):
        read_earlier(str(file))
