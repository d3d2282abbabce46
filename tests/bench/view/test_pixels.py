"""Bodies, markers and background of pictures whose pixels are known."""

from __future__ import annotations

import numpy as np

from bench.view.codes import BODY_BITS, CODE_OF, MARKER_BITS, colors_of
from bench.view.pixels import CELL_PX, NEAR_PX, Pixels, body_pixels, changed_background, marker_pixels

SIZE_PX = (64, 48)
SKY = 43 << 16 | 46 << 8 | 51


def color_of(number: int, bits: tuple[int, int, int] = BODY_BITS) -> int:
    red, green, blue = (int(channel) for channel in colors_of(np.array([number]), bits)[0])
    return red << 16 | green << 8 | blue


def picture(*patches: tuple[int, int, int, int, int]) -> Pixels:
    """Sky with patches of one colour: left, top, right, bottom, colour."""
    pixels = np.full(SIZE_PX[::-1], SKY, np.uint32)
    for left, top, right, bottom, color in patches:
        pixels[top:bottom, left:right] = color
    return pixels


def test_the_pixels_of_each_body_and_the_box_around_all_are_found() -> None:
    found = body_pixels(picture((10, 20, 14, 23, color_of(3)), (30, 5, 31, 6, color_of(8))))
    assert found.pixels[CODE_OF[[3, 8]]].tolist() == [12, 1]
    assert found.pixels.sum() == 13
    assert found.box.tolist() == [10, 5, 31, 23]
    assert not found.on_border.any()
    assert np.argwhere(found.cells).tolist() == [[0, 3], [20 // CELL_PX, 1]]


def test_a_body_in_an_outermost_row_or_column_is_on_the_border() -> None:
    width, height = SIZE_PX
    for left, top in ((0, 9), (9, 0), (width - 1, 9), (9, height - 1)):
        found = body_pixels(picture((left, top, left + 1, top + 1, color_of(5)), (20, 20, 30, 30, color_of(6))))
        assert np.flatnonzero(found.on_border).tolist() == [CODE_OF[5]]
    assert not body_pixels(picture((1, 1, width - 1, height - 1, color_of(5)))).on_border.any()


def test_a_picture_without_bodies_has_no_box() -> None:
    found = body_pixels(picture((9, 9, 12, 12, color_of(0, MARKER_BITS))))
    assert found.box.tolist() == [0, 0, 0, 0]
    assert not found.pixels.any()


def test_markers_have_the_mean_of_their_pixels_unless_the_border_cuts_them() -> None:
    whole, cut, body = (10, 20, 14, 23), (0, 30, 3, 33), (40, 40, 44, 44)
    found = marker_pixels(
        picture((*whole, color_of(7, MARKER_BITS)), (*cut, color_of(2, MARKER_BITS)), (*body, color_of(7)))
    )
    assert found.code.tolist() == [CODE_OF[7]]
    assert found.place.tolist() == [[12.0, 21.5]]
    assert found.pixels.tolist() == [12]


def test_only_background_counts_as_changed() -> None:
    before = picture((10, 20, 14, 23, color_of(3)))
    moved = picture((12, 20, 16, 23, color_of(3)))
    near = body_pixels(before).near | body_pixels(moved).near
    assert changed_background(before, moved, near) == 0
    with_line = picture((12, 20, 16, 23, color_of(3)), (30, 0, 31, 48, 62 << 16 | 67 << 8 | 75))
    assert changed_background(before, with_line, near) == SIZE_PX[1]
    with_marker = picture((12, 20, 16, 23, color_of(3)), (40, 9, 42, 10, color_of(1, MARKER_BITS)))
    assert changed_background(before, with_marker, near) == 2
    mixed = picture((12, 20, 16, 23, color_of(3)), (40, 9, 42, 10, 200 << 16 | 90 << 8 | 51))
    assert changed_background(before, mixed, near) == 0


def test_pixels_near_a_body_are_not_compared() -> None:
    near = body_pixels(picture((20, 20, 21, 21, color_of(3)))).near
    rows, columns = np.nonzero(near)
    assert (rows.min(), rows.max() + 1) == (columns.min(), columns.max() + 1) == (20 - NEAR_PX, 21 + NEAR_PX)
    assert near.sum() == (2 * NEAR_PX + 1) ** 2
