"""The grid of refreshes behind the instants at which swaps come back."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from twixt.render.pacing.grid import RefreshGrid

MS = 1_000_000
PERIOD = 16_666_667


def fed(grid: RefreshGrid, returns: list[int]) -> list[int]:
    """The grid points of `returns`, each of a frame handed over in time for the refresh after the one before."""
    return [grid.add(at_ns, before_ns + 12 * MS) for before_ns, at_ns in pairwise([returns[0] - PERIOD, *returns])]


def test_late_returns_do_not_drag_the_grid_along() -> None:
    grid = RefreshGrid(PERIOD)
    returns = [k * PERIOD for k in range(30)]
    returns[20] += 5 * MS
    points = fed(grid, returns)
    assert points[20] == pytest.approx(20 * PERIOD, abs=1000), "held up, but shown with its refresh"
    assert points[21] == pytest.approx(21 * PERIOD, abs=1000)


def test_a_grid_that_moved_is_followed_after_a_few_returns_and_the_next_time_at_once() -> None:
    grid = RefreshGrid(PERIOD)
    first_ns, second_ns = 4 * MS, 9 * MS
    returns = [k * PERIOD + (first_ns if k >= 20 else 0) + (second_ns - first_ns if k >= 40 else 0) for k in range(60)]
    points = fed(grid, returns)
    assert points[22:40] == pytest.approx(returns[22:40], abs=0.3 * MS)
    assert points[40:] == pytest.approx(returns[40:], abs=0.3 * MS)


def test_an_early_return_moves_the_grid_for_nothing_comes_back_before_its_refresh() -> None:
    grid = RefreshGrid(PERIOD)
    returns = [k * PERIOD - (4 * MS if k >= 20 else 0) for k in range(25)]
    assert fed(grid, returns)[20:] == pytest.approx(returns[20:], abs=0.3 * MS)


def test_a_frame_handed_over_late_and_shown_at_once_moves_the_grid() -> None:
    grid = RefreshGrid(PERIOD)
    fed(grid, [k * PERIOD for k in range(20)])
    late_ns = 20 * PERIOD + 3 * MS
    assert grid.add(late_ns, late_ns - MS) == late_ns


def test_skipped_refreshes_do_not_lengthen_the_period() -> None:
    chance = random.Random(1)
    grid, k = RefreshGrid(round(PERIOD * 1.02)), 0
    for _ in range(100):
        k += 3 if chance.random() < 0.2 else 1
        grid.add(k * PERIOD, k * PERIOD - 3 * MS)
    assert grid.period_ns == pytest.approx(PERIOD, rel=0.002)
    assert grid.mean_period_ns == pytest.approx(PERIOD, rel=0.002)


def test_a_display_of_half_the_rate_is_recognised() -> None:
    grid = RefreshGrid(PERIOD)
    fed(grid, [k * PERIOD for k in range(30)] + [(30 + 2 * k) * PERIOD for k in range(20)])
    assert grid.period_ns == pytest.approx(2 * PERIOD, rel=0.01)


def test_frames_meant_to_take_two_refreshes_do_not_halve_the_rate() -> None:
    grid = RefreshGrid(PERIOD)
    for k in range(0, 80, 2):
        grid.add(k * PERIOD, k * PERIOD - 3 * MS, planned=2)
    assert grid.period_ns == pytest.approx(PERIOD, rel=0.001)


def test_the_period_outlives_a_restart() -> None:
    grid = RefreshGrid(round(PERIOD * 1.02))
    fed(grid, [k * PERIOD for k in range(40)])
    grid.restart()
    assert grid.add(10**12, 10**12 - MS) == 10**12
    assert grid.period_ns == pytest.approx(PERIOD, rel=0.001)


@example(gaps=[1, 30_500_000, 1], period_ms=35)
@given(st.lists(st.integers(1, 80 * MS), min_size=2, max_size=60), st.integers(2, 40))
def test_points_always_grow_and_the_next_is_never_before_what_was_asked(gaps: list[int], period_ms: int) -> None:
    grid, now_ns, points = RefreshGrid(period_ms * MS), 0, []
    for gap in gaps:
        now_ns += gap + MS
        points.append(grid.add(now_ns, now_ns - MS))
        asked_ns = now_ns + gap
        assert 0 <= grid.point_from(asked_ns) - asked_ns < grid.period_ns
    assert all(later > earlier for earlier, later in pairwise(points))


def test_a_refresh_that_the_presents_contradict_is_not_believed_where_a_late_frame_happens_to_fit_it() -> None:
    period_ns = 16_666_667
    grid, now_ns = RefreshGrid(period_ns), 10**9
    for frame in range(600):
        now_ns += period_ns * (2 if frame > 20 and frame % 30 == 0 else 1)
        grid.display_reported(now_ns, 2 * period_ns)
        assert grid.period_ns == period_ns
