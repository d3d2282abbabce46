"""Places that the panels leave free: moved no further than needed, and never onto each other."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.draw.flat.rectangles import Rectangle
from twixt.render.overlay.program_pictures import KEYS_HEIGHT, clear_places, panel_places

SIZE_PX = (800, 600)
PANELS = panel_places(SIZE_PX, 1.0)
KEYS = round(KEYS_HEIGHT)


def at(left: int, top: int, width: int, height: int) -> Rectangle:
    return Rectangle(left, top, left + width, top + height)


def overlap(one: Rectangle, other: Rectangle) -> bool:
    across = min(one.right_px, other.right_px) - max(one.left_px, other.left_px)
    down = min(one.bottom_px, other.bottom_px) - max(one.top_px, other.top_px)
    return across > 0 and down > 0


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        (at(300, 250, 100, 100), at(300, 250, 100, 100)),  # free
        (at(0, 500, 100, 100), at(0, 500 - KEYS, 100, 100)),  # over the keys
        (at(0, 0, 100, 100), at(0, 224, 100, 100)),  # below the frames' panel
        (at(250, 100, 100, 100), at(272, 100, 100, 100)),  # beside it
        (at(0, 0, 800, 600), at(0, 0, 800, 600)),  # no room
    ],
)
def test_a_rectangle_moves_the_least_way_that_clears_the_panels(wanted: Rectangle, placed: Rectangle) -> None:
    assert clear_places((wanted,), PANELS, SIZE_PX) == (placed,)
    assert clear_places((wanted,), (), SIZE_PX) == (wanted,)


def test_rows_that_were_apart_stay_apart() -> None:
    rows = tuple(at(left, top, 160, 120) for top in (480, 360) for left in (0, 160))
    placed = clear_places(rows, PANELS, SIZE_PX)
    assert placed[:2] == tuple(at(left, 480 - KEYS, 160, 120) for left in (0, 160))
    assert placed[2:] == tuple(at(left, 360 - KEYS, 160, 120) for left in (0, 160))


def test_one_over_the_other_stays_over_it() -> None:
    pair = at(300, 300, 100, 100), at(320, 320, 20, 20)
    assert clear_places(pair, PANELS, SIZE_PX) == pair


@given(
    st.lists(
        st.builds(at, st.integers(-50, 800), st.integers(-50, 600), st.integers(1, 400), st.integers(1, 300)),
        max_size=6,
    )
)
def test_always_each_is_clear_or_where_it_was_wanted(wanted: list[Rectangle]) -> None:
    placed = clear_places(tuple(wanted), PANELS, SIZE_PX)
    for one, got in zip(wanted, placed, strict=True):
        assert (got.right_px - got.left_px, got.bottom_px - got.top_px) == (
            one.right_px - one.left_px,
            one.bottom_px - one.top_px,
        )
        if got != one:
            assert not any(overlap(got, panel) for panel in PANELS)
    for (first, second), (one, other) in zip(combinations(wanted, 2), combinations(placed, 2), strict=True):
        if other != second and not overlap(first, second):
            assert not overlap(one, other)
