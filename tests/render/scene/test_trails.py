"""Trails: the last second of drawn positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.scene.trails import MOST_BODIES, MOST_DOTTED, MOST_FRAMES, Trails, trail_rows

FRAME_NS = 16_666_667


def moved(trails: Trails, frames: int, first: int = 0, epoch: int = 0, visible: bool = True) -> None:
    """Adds frames in which body i is at (frame, i, 0)."""
    count = len(trails.rows)
    for frame in range(first, first + frames):
        at = np.column_stack([np.full(count, frame), trails.rows, np.zeros(count)])
        trails.add(frame * FRAME_NS, at, np.full(count, visible), np.full(count, epoch))


def test_the_last_second_is_kept_and_fades_with_age() -> None:
    trails = Trails(np.arange(2))
    moved(trails, 150)
    dots = trails.dots()
    assert dots.positions.dtype == np.float64
    assert dots.colors.dtype == np.uint8
    assert sorted(set(dots.positions[:, 0])) == list(range(90, 150))
    assert len(dots.positions) == 2 * 60
    newest_first = np.argsort(-dots.positions[:, 0], kind="stable")
    alpha = dots.colors[newest_first, 3].astype(int)
    assert alpha[0] == 255
    assert (np.diff(alpha) <= 0).all()
    assert alpha[-1] < 10


def test_each_body_has_a_colour_of_its_own() -> None:
    trails = Trails(np.arange(3), colors=np.arange(9).reshape(3, 3))
    moved(trails, 5)
    dots = trails.dots()
    colors = {tuple(color[:3]) for color in dots.colors}
    assert len(colors) == 3
    for body in range(3):
        assert len({tuple(color[:3]) for color in dots.colors[dots.positions[:, 1] == body]}) == 1


def test_a_frame_that_drew_the_same_instant_gives_the_same_dot() -> None:
    once, twice = Trails(np.arange(1)), Trails(np.arange(1))
    moved(once, 10)
    for frame in range(10):
        for present_ns in (2 * frame * FRAME_NS, (2 * frame + 1) * FRAME_NS):
            twice.add(present_ns, np.array([[frame, 0, 0]]), np.array([True]), np.array([0]))
    np.testing.assert_array_equal(once.dots().positions, twice.dots().positions)


def test_a_picture_that_stands_keeps_its_trails() -> None:
    trails = Trails(np.arange(2))
    moved(trails, 30)
    before = trails.dots()
    for frame in range(30, 1000):
        trails.add(frame * FRAME_NS, np.array([[29, 0, 0], [29, 1, 0]]), np.ones(2, bool), np.zeros(2, int))
    for was, now in zip(before, trails.dots(), strict=True):
        np.testing.assert_array_equal(was, now)


def test_a_body_at_rest_has_no_dots() -> None:
    trails = Trails(np.arange(2))
    for frame in range(300):
        trails.add(frame * FRAME_NS, np.array([[frame, 0, 0], [7, 1, 0]]), np.ones(2, bool), np.zeros(2, int))
    assert set(trails.dots().positions[:, 1]) == {0}


def test_of_many_bodies_those_that_went_furthest_have_dots() -> None:
    trails = Trails(trail_rows(1000))
    for frame in range(10):
        at = np.column_stack([frame * trails.rows, trails.rows, np.zeros(len(trails.rows))])
        trails.add(frame * FRAME_NS, at, np.ones(len(at), bool), np.zeros(len(at), int))
    assert set(trails.dots().positions[:, 1]) == set(trails.rows[-MOST_DOTTED:])


def test_of_many_bodies_that_go_equally_far_no_more_have_dots() -> None:
    trails = Trails(trail_rows(1000))
    for frame in range(10):
        at = np.column_stack([np.full(len(trails.rows), frame), trails.rows, np.zeros(len(trails.rows))])
        trails.add(frame * FRAME_NS, at, np.ones(len(at), bool), np.zeros(len(at), int))
    assert len(set(trails.dots().positions[:, 1])) == MOST_DOTTED


def test_a_cut_takes_that_bodys_trail_away_and_no_others() -> None:
    trails = Trails(np.arange(2))
    moved(trails, 20)
    trails.add(20 * FRAME_NS, np.array([[90, 0, 0], [20, 1, 0]]), np.ones(2, bool), np.array([1, 0]))
    dots = trails.dots().positions
    assert set(dots[:, 1]) == {1}
    assert len(dots) == 21
    trails.add(21 * FRAME_NS, np.array([[91, 0, 0], [21, 1, 0]]), np.ones(2, bool), np.array([1, 0]))
    dots = trails.dots().positions
    assert sorted(dots[dots[:, 1] == 0][:, 0]) == [90, 91], "its new trail begins where it came to"


def test_a_correction_is_no_cut() -> None:
    trails = Trails(np.arange(1))
    moved(trails, 10)
    moved(trails, 10, first=10, epoch=0x1_0000)
    assert len(trails.dots().positions) == 20


def test_what_is_hidden_or_not_finite_leaves_no_dot() -> None:
    trails = Trails(np.arange(3))
    moved(trails, 5, visible=False)
    for frame in (5, 6):
        at = np.array([[np.nan, 0, 0], [1e300, 1, frame], [frame, 2, 0]])
        trails.add(frame * FRAME_NS, at, np.ones(3, bool), np.zeros(3, int))
    assert sorted(trails.dots().positions.tolist()) == [[5, 2, 0], [6, 2, 0]]


def test_clearing_forgets_all() -> None:
    trails = Trails(np.arange(3))
    moved(trails, 30)
    trails.clear()
    assert len(trails.dots().positions) == 0
    moved(trails, 2, first=500)
    assert len(trails.dots().positions) == 6


def test_however_fast_frames_come_the_dots_are_bounded() -> None:
    trails = Trails(np.arange(1))
    for frame in range(3 * MOST_FRAMES):
        trails.add(frame * 1000, np.array([[frame, 0, 0]]), np.array([True]), np.array([0]))
    positions = trails.dots().positions[:, 0]
    assert sorted(positions) == list(range(2 * MOST_FRAMES, 3 * MOST_FRAMES))


def test_a_world_without_bodies_has_no_trails() -> None:
    trails = Trails(trail_rows(0))
    moved(trails, 3)
    assert len(trails.dots().positions) == 0


@pytest.mark.parametrize("count", [1, 64])
def test_a_small_world_trails_every_body(count: int) -> None:
    assert trail_rows(count).tolist() == list(range(count))


@given(st.integers(0, 2_000_000), st.integers(1, 200))
def test_rows_are_always_distinct_within_the_world_and_evenly_chosen(count: int, most: int) -> None:
    rows = trail_rows(count, most)
    assert min(count, (most + 1) // 2) <= len(rows) <= most
    gaps = np.diff(rows)
    assert (gaps > 0).all()
    assert not len(rows) or (rows[0] == 0 and rows[-1] < count)
    assert not len(gaps) or gaps.max() == gaps.min()


def test_trails_go_on_when_others_come() -> None:
    trails = Trails(trail_rows(2))
    moved(trails, 20)
    more = trails.of(trail_rows(5))
    moved(more, 2, first=20)
    rows, counts = np.unique(more.dots().positions[:, 1], return_counts=True)
    assert dict(zip(rows.tolist(), counts.tolist(), strict=True)) == {0: 22, 1: 22, 2: 2, 3: 2, 4: 2}
    more.add(22 * FRAME_NS, np.array([[22, 0, 0], [22, 1, 0]]), np.ones(2, bool), np.zeros(2, int))
    assert set(more.dots().positions[:, 1]) == {0, 1, 2, 3, 4}, "those that are not there yet hold nobody up"


@pytest.mark.parametrize("count", [MOST_BODIES + 1, 1000])
def test_another_body_does_not_change_which_of_many_are_watched(count: int) -> None:
    assert set(trail_rows(count)) <= set(trail_rows(count + 1))
