"""Trails: drawn positions of the last seconds, or of all frames."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.scene.trails import (
    MOST_BODIES,
    MOST_DOTS,
    MOST_DOTTED,
    MOST_FRAMES,
    Trails,
    frame_capacity,
    trail_rows,
)

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
    trails = Trails(np.arange(3), colors=np.arange(1, 13).reshape(3, 4))
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


@pytest.mark.parametrize(("seconds", "frames"), [(0.1, 6), (5.0, 300), (60.0, 2000)])
def test_trails_are_as_long_as_is_asked_for(seconds: float, frames: int) -> None:
    trails = Trails(np.arange(2), seconds)
    moved(trails, 2000)
    dots = trails.dots()
    assert sorted(set(dots.positions[:, 0])) == list(range(2000 - frames, 2000))
    age_s = (1999 - dots.positions[:, 0]) * FRAME_NS / 1e9
    assert dots.colors[:, 3] == pytest.approx(255 * (1 - age_s / seconds), abs=1)


def test_trails_of_all_frames_show_the_whole_path_and_do_not_fade() -> None:
    trails, capacity = Trails(np.arange(64), math.inf), frame_capacity(64)
    for frame in range(5 * capacity):
        moved(trails, 1, first=frame)
        if frame % 100 == 99:
            assert trails.dots().positions[-1, 0] == frame, "the newest frame has its dot"
    dots = trails.dots()
    at = dots.positions[dots.positions[:, 1] == 7][:, 0]
    assert capacity / 2 <= len(at) <= capacity
    assert at[0] == 0
    assert set(np.diff(at)[:-1]) == {8.0}, "evenly thinned"
    assert 0 < at[-1] - at[-2] <= 8
    assert (dots.colors[:, 3] == 255).all()


def test_however_fast_frames_come_the_dots_are_bounded_and_the_trail_is_as_long() -> None:
    trails, capacity = Trails(np.arange(64)), frame_capacity(64)
    frame_ns = 10**9 // (3 * capacity // 2)
    for frame in range(4 * capacity):
        at = np.column_stack([np.full(64, frame), trails.rows, np.zeros(64)])
        trails.add(frame * frame_ns, at, np.ones(64, bool), np.zeros(64, int))
    positions = trails.dots().positions
    assert len(positions) <= MOST_DOTS
    of_one = positions[positions[:, 1] == 7][:, 0]
    assert of_one[0] == pytest.approx(2.5 * capacity, abs=4)
    assert of_one[-1] == 4 * capacity - 1
    assert np.diff(of_one).max() == 2


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9, 64, 65, 256, 1000])
def test_memory_and_dots_are_bounded_for_any_number_of_bodies(count: int) -> None:
    rows = trail_rows(count)
    assert 128 <= frame_capacity(len(rows)) <= MOST_FRAMES
    assert frame_capacity(len(rows)) * min(len(rows), MOST_DOTTED) <= MOST_DOTS
    assert Trails(rows, math.inf)._positions.nbytes <= 0.75 * 2**20


def test_of_bodies_that_stand_and_go_on_each_place_has_one_dot_when_frames_are_left_out() -> None:
    trails, last = Trails(np.arange(64), math.inf), frame_capacity(64) + 1
    moved(trails, last + 1)
    assert trails._stride == 2
    for frame in range(last + 1, last + 20):
        at = np.column_stack([np.full(64, frame), trails.rows, np.zeros(64)])
        at[0, 0] = last  # body 0 stands where it was drawn last
        trails.add(frame * FRAME_NS, at, np.ones(64, bool), np.zeros(64, int))
        places = trails.dots().positions
        assert (places[places[:, 1] == 0][:, 0] == last).sum() == 1
    moved(trails, 3, first=last + 20)
    places = trails.dots().positions
    assert (places[places[:, 1] == 0][:, 0] == last).sum() == 1


def test_dots_have_the_alpha_of_their_body_and_those_that_cannot_be_seen_are_none() -> None:
    trails = Trails(np.arange(3), colors=[(9, 9, 9, 255), (9, 9, 9, 100), (9, 9, 9, 0)])
    moved(trails, 60)
    dots = trails.dots()
    assert set(dots.positions[:, 1]) == {0, 1}
    full, half = (dots.colors[dots.positions[:, 1] == body, 3] for body in (0, 1))
    assert (full.max(), half.max()) == (255, 100)
    assert half == pytest.approx(full * (100 / 255), abs=1)
    trails.colors[:, 3] = 0
    assert len(trails.dots().positions) == 0


def test_many_bodies_that_cannot_be_seen_leave_the_dots_to_the_others() -> None:
    trails = Trails(trail_rows(1000))
    trails.colors[10:, 3] = 0
    moved(trails, 5)
    assert set(trails.dots().positions[:, 1]) == set(trails.rows[:10])


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


def test_long_trails_go_on_when_so_many_come_that_fewer_frames_are_stored() -> None:
    trails = Trails(trail_rows(1), math.inf)
    moved(trails, MOST_FRAMES - 1)
    more = trails.of(trail_rows(64))
    places = more.dots().positions
    assert len(places) <= frame_capacity(64)
    assert (places[0, 0], len(set(np.diff(places[:, 0])))) == (0, 1)
    moved(more, 100, first=MOST_FRAMES - 1)
    places = more.dots().positions
    assert set(places[:, 1]) == set(range(64))
    of_first = places[places[:, 1] == 0][:, 0]
    assert (of_first[0], of_first[-1]) == (0, MOST_FRAMES + 98)
    assert len(places) <= MOST_DOTS


@pytest.mark.parametrize("count", [MOST_BODIES + 1, 1000])
def test_another_body_does_not_change_which_of_many_are_watched(count: int) -> None:
    assert set(trail_rows(count)) <= set(trail_rows(count + 1))
