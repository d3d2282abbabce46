"""Dots and lines, checked by their pixels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, WHOLE, matrices, upload
from tests.render.draw.test_scene_renderer import BLUE, bodies_at, centroid_px, dark, lit_px, projected_px
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Sphere
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer

SIDE = OrbitCamera(distance_m=10, azimuth_rad=0, elevation_rad=0)
WHITE = (255, 255, 255, 255)


@pytest.fixture
def renderer(studio):
    renderer = studio.renderer(dark([Sphere(0.5, BLUE)]))
    upload(renderer, 0, bodies_at((0, 0, 0)))
    yield renderer
    renderer.release()


def picture(studio, renderer, *layers, points=(), lines=()):
    studio.framebuffer.use()
    renderer.draw(layers, matrices(SIDE), WHOLE)
    for group in points:
        renderer.points(*group)
    for group in lines:
        renderer.lines(*group)
    renderer.finish()
    return renderer.read_pixels()


@pytest.mark.parametrize("size_px", [1.0, 3.0, 5.0, 12.5])
def test_a_dot_is_round_smooth_of_its_size_and_in_its_place(studio, renderer, size_px):
    for y in np.linspace(0.9, 1.1, 5):
        place = (0, y, 0.7)
        pixels = picture(studio, renderer, points=[([place], WHITE, size_px)])
        assert centroid_px(pixels) == pytest.approx(projected_px(place, SIDE), abs=0.15)
        area = pixels[..., 0].sum() / 255
        assert area == pytest.approx(math.pi * size_px**2 / 4, rel=0.08, abs=0.4)


def test_a_line_is_about_a_pixel_wide_and_runs_from_start_to_end(studio, renderer):
    start, end = (0, -2, -1), (0, 1.5, 1.2)
    pixels = picture(studio, renderer, lines=[([start], [end], WHITE)])
    length_px = math.dist(projected_px(start, SIDE), projected_px(end, SIDE))
    assert pixels[..., 0].sum() / 255 == pytest.approx(length_px, rel=0.05)
    middle = projected_px((0, -0.25, 0.1), SIDE)
    assert centroid_px(pixels) == pytest.approx(middle, abs=0.5)


def test_each_has_its_own_colour_and_faintness(studio, renderer):
    places = [(0, -1, 1), (0, 0, 1), (0, 1, 1)]
    colors = [(255, 0, 0, 255), (0, 255, 0, 128), (0, 0, 255, 0)]
    ends = np.add(places, (0, 0.3, 0))
    for added in ({"points": [(places, colors, 9)]}, {"lines": [(places, ends, colors)]}):
        pixels = picture(studio, renderer, **added)
        assert pixels[..., 0].max() > 150
        assert 75 < pixels[..., 1].max() < 130
        assert pixels[..., 2].max() == 0


def test_bodies_hide_those_behind_them_and_they_hide_nothing(studio, renderer):
    behind, before = (-3, 0, 0), (3, 0, 0)
    across = (0, 0.2, 0)
    for added in (
        lambda place: {"points": [([place], (255, 0, 0, 255), 9)]},
        lambda place: {"lines": [([np.subtract(place, across)], [np.add(place, across)], (255, 0, 0, 255))]},
    ):
        assert picture(studio, renderer, Layer(0), **added(behind))[..., 0].max() == 0
        assert picture(studio, renderer, Layer(0), **added(before))[..., 0].max() > 120
    # A dot drawn before another at the same place, or nearer, does not hide it.
    both = picture(studio, renderer, points=[([before], (255, 0, 0, 255), 5), ([behind], (0, 255, 0, 255), 25)])
    assert both[..., 1].max() == 255
    assert both[SIZE_PX[1] // 2, SIZE_PX[0] // 2, 0] == 0


def test_what_is_not_finite_is_skipped_and_the_rest_is_drawn(studio, renderer):
    good = [(0, -1, 1), (0, 1, 1)]
    bad = [(np.nan, 0, 0), (0, np.inf, 0), (0, 0, -np.inf), (1e39, 0, 0)]
    alone = picture(studio, renderer, points=[(good, WHITE, 5)])
    mixed = picture(studio, renderer, points=[(bad[:2] + good + bad[2:], WHITE, 5)])
    np.testing.assert_array_equal(mixed, alone)
    alone = picture(studio, renderer, lines=[(good[:1], good[1:], WHITE)])
    starts, ends = [*bad, good[0], (0, 0, 0)], [*good, *good, good[1], bad[0]]
    mixed = picture(studio, renderer, lines=[(starts, ends, WHITE)])
    np.testing.assert_array_equal(mixed, alone)


def test_nothing_to_draw_is_drawn(studio, renderer):
    empty = picture(studio, renderer)
    for none in ([], np.zeros((0, 3)), np.zeros((0, 3), np.float32)):
        added = picture(studio, renderer, points=[(none, np.zeros((0, 4), np.uint8), 5)], lines=[(none, none, WHITE)])
        np.testing.assert_array_equal(added, empty)


def test_many_after_few_and_few_after_many_are_all_drawn_and_no_others(studio, renderer):
    rng = np.random.default_rng(0)
    for count in (3, 9216, 5):
        places = np.column_stack([np.zeros(count), rng.uniform(-3, 3, (count, 2))])
        pixels = picture(studio, renderer, points=[(places, WHITE, 1.5)])
        x, y = np.transpose([projected_px(place, SIDE) for place in places]).astype(int)
        assert (pixels[y, x, 0] > 40).all()
        assert lit_px(pixels) <= 4 * count


def test_what_is_outside_the_picture_and_behind_the_eye_leaves_no_pixel(studio, renderer):
    outside = [(0, 9, 0), (0, 0, -9), (30, 0, 0), (-1e9, 0, 0), (9.999, 0, 0)]
    assert picture(studio, renderer, points=[(outside, WHITE, 9)]).max() == 0
    assert picture(studio, renderer, lines=[([(20, -1, 0)], [(12, 1, 0)], WHITE)]).max() == 0


def test_a_line_that_passes_the_eye_is_cut_and_stays_straight(studio, renderer):
    pixels = picture(studio, renderer, lines=[([(-5, 0, 0.5)], [(15, 0, 0.5)], WHITE)])
    x = np.nonzero(pixels[..., 0])[1]
    assert len(x) > 50
    assert abs(x + 0.5 - SIZE_PX[0] / 2).max() <= 1.0


def test_dots_and_lines_before_any_picture_wait_for_none(studio):
    renderer = studio.renderer(dark([]))
    renderer.points([(0, 0, 0)], WHITE, 3)
    renderer.lines([(0, 0, 0)], [(1, 0, 0)], WHITE)
    assert studio.draw(renderer).max() == 0


def test_bad_arrays_are_refused_with_the_rule(studio, renderer):
    for call, message in (
        (lambda: renderer.points([(0, 0)], WHITE, 3), r"shape \(n, 3\), got \(1, 2\)"),
        (lambda: renderer.points([(0, 0, 0)] * 3, [WHITE] * 2, 3), r"shape \(3, 4\) or \(4,\), got \(2, 4\)"),
        (lambda: renderer.points([(0, 0, 0)], WHITE, 0), "> 0, got 0"),
        (lambda: renderer.points([(0, 0, 0)], WHITE, math.nan), "> 0, got nan"),
        (lambda: renderer.lines([(0, 0, 0)], [(0, 0, 0)] * 2, WHITE), "got 1 starts and 2 ends"),
    ):
        with pytest.raises(TwixtError, match=message):
            call()
