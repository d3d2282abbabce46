"""Pictures side by side in one framebuffer."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, upload
from tests.render.draw.test_scene_renderer import WHITE, bodies_at, dark
from twixt.ipc.scene import Box, Scene, Sphere, Texture
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import LEVELS, LIT_LEVELS

HALF_PX = SIZE_PX[0] // 2, SIZE_PX[1]
LEFT, RIGHT = (0, 0, *HALF_PX), (HALF_PX[0], 0, *HALF_PX)


def crowd(rng, count=40):
    bodies = bodies_at(*rng.normal(0, 1.5, (count, 3)))
    bodies["orientation"] = rng.normal(size=(count, 4))
    return bodies


@pytest.fixture
def renderer(studio):
    scene = Scene([Sphere(0.4), Box((0.6, 0.6, 0.6)), Sphere(1.2)] * 14, outline=((-2, -2, 0), (2, 2, 2)))
    renderer = studio.renderer(scene)
    rng = np.random.default_rng(0)
    upload(renderer, 0, crowd(rng))
    upload(renderer, 1, crowd(rng))
    yield renderer
    renderer.release()


def marked(renderer):
    renderer.points([(0, 0, 0), (1, 1, 1)], (255, 0, 0, 255), 7)
    renderer.lines([(-3, -3, 0)], [(3, 3, 2)], (0, 255, 0, 255))


def assert_alike(first, second):
    # The same numbers after another rounding: a pixel's place in the framebuffer is part of its ray.
    assert np.abs(first.astype(int) - second).max() <= 2


def test_a_picture_in_a_part_is_the_picture_of_that_size_shifted(studio, renderer):
    found = []
    for left_px, bottom_px in ((0, SIZE_PX[1] - 120), (37, 50)):
        studio.framebuffer.use()
        camera = OrbitCamera(distance_m=5).matrices((160, 120))
        renderer.draw([Layer(0, 1, alpha=0.4)], camera, (left_px, bottom_px, 160, 120))
        marked(renderer)
        renderer.finish()
        found.append(renderer.read_pixels()[:120, left_px : left_px + 160])
    assert_alike(*found)


def test_nothing_outside_the_part_is_touched(studio, renderer):
    studio.framebuffer.use()
    studio.framebuffer.clear(1.0, 0.0, 1.0, 1.0)
    renderer.draw([Layer(0, 1, alpha=0.4)], OrbitCamera(distance_m=3).matrices(HALF_PX), RIGHT)
    marked(renderer)
    renderer.finish()
    pixels = renderer.read_pixels()
    assert pixels.shape == (SIZE_PX[1], SIZE_PX[0], 3)
    assert (pixels[:, : HALF_PX[0]] == (255, 0, 255)).all()
    assert not (pixels[:, HALF_PX[0] :] == (255, 0, 255)).all(axis=2).any()


def test_each_half_has_its_own_layers_camera_and_shape(studio, renderer):
    cameras = OrbitCamera(distance_m=6), OrbitCamera(distance_m=12, azimuth_rad=1.0)
    layers = [Layer(0, 1, alpha=0.7, method="none")], [Layer(0, 1, alpha=0.7)]
    alone = []
    for camera, layer in zip(cameras, layers, strict=True):
        studio.framebuffer.use()
        renderer.draw(layer, camera.matrices(HALF_PX), LEFT)
        renderer.finish()
        alone.append(renderer.read_pixels())
    studio.framebuffer.use()
    for camera, layer, viewport in zip(cameras, layers, (LEFT, RIGHT), strict=True):
        renderer.draw(layer, camera.matrices(HALF_PX), viewport)
    renderer.finish()
    assert_alike(renderer.read_pixels(), np.hstack(alone))


def test_a_sphere_in_a_half_is_as_round_as_in_the_whole(studio):
    renderer = studio.renderer(dark([Sphere(1.0, WHITE)]))
    upload(renderer, 0, bodies_at((0, 0, 0)))
    studio.framebuffer.use()
    renderer.draw([Layer(0)], OrbitCamera(distance_m=10).matrices(HALF_PX), RIGHT)
    renderer.finish()
    lit = renderer.read_pixels()[:, HALF_PX[0] :, 0] > 127
    rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    assert abs(len(rows) - len(columns)) <= 1
    assert abs(columns.mean() + 0.5 - HALF_PX[0] / 2) <= 0.5


def test_the_whole_is_drawn_again_after_halves(studio, renderer):
    studio.framebuffer.use()
    whole = studio.draw(renderer, Layer(0, 1, alpha=0.2))
    for viewport in (LEFT, RIGHT):
        renderer.draw([Layer(0)], OrbitCamera().matrices(HALF_PX), viewport)
    renderer.finish()
    np.testing.assert_array_equal(studio.draw(renderer, Layer(0, 1, alpha=0.2)), whole)


PART = 60, 90, 160, 120
MAGENTA = (255, 0, 255)


def whole_framebuffer(studio):
    """Its pixels, the bottom row first."""
    width, height = SIZE_PX
    return np.frombuffer(studio.framebuffer.read(components=3, alignment=1), np.uint8).reshape(height, width, 3)


def part_of(pixels):
    left, bottom, width, height = PART
    return pixels[bottom : bottom + height, left : left + width]


@pytest.fixture
def cloud(studio):
    """So many small spheres, below a sky, that software OpenGL draws them by a cheaper program."""
    bodies = bodies_at(*np.random.default_rng(0).normal(0, 0.7, (20_000, 3)))
    renderer = studio.renderer(Scene([Sphere(0.02)] * len(bodies), ground_z=None, background=SKY), capacity=len(bodies))
    upload(renderer, 0, bodies)
    upload(renderer, 1, bodies)
    yield renderer
    renderer.release()


SKY = Texture.gradient((0.1, 0.2, 0.9), (0.9, 0.3, 0.1))


@pytest.mark.parametrize("kind", ["renderer", "cloud"])
@pytest.mark.parametrize("level", [*LEVELS, *LIT_LEVELS], ids=lambda level: level.name)
@pytest.mark.parametrize(
    ("point", "orthographic", "around"),
    [
        ((0.25, -0.25), False, (60, 30, 220, 180)),
        ((-0.25, 0.125), True, (0, 90, 220, 150)),
        ((-1.0, 0.0), False, (-180, 90, 400, 120)),
    ],
)
def test_a_picture_off_its_centre_is_cut_out_of_a_larger_one(studio, request, kind, level, point, orthographic, around):
    renderer = request.getfixturevalue(kind)
    renderer.level = level
    camera = OrbitCamera(distance_m=5, roll_rad=0.4, orthographic=orthographic, principal_point=point)
    larger = replace(camera, principal_point=(0.0, 0.0))
    larger.fov_y_deg = 2 * math.degrees(math.atan(math.tan(math.radians(camera.fov_y_deg) / 2) * around[3] / PART[3]))
    assert camera.around_axis(PART) == around
    layer = Layer(0, 1, alpha=0.4)
    for _ in range(3):  # what is kept of a picture comes into the later ones
        studio.framebuffer.use()
        studio.framebuffer.clear(1.0, 0.0, 1.0, 1.0)
        renderer.draw([layer], camera.matrices(PART[2:]), around, clip=PART)
        marked(renderer)
        renderer.finish()
        found = whole_framebuffer(studio).copy()
        outside = (found == MAGENTA).all(axis=2)
        part_of(outside)[:] = True
        assert outside.all()
    assert renderer.read_pixels().shape == (PART[1] + PART[3], PART[0] + PART[2], 3)
    studio.framebuffer.use()
    renderer.draw([layer], larger.matrices(around[2:]), around)
    marked(renderer)
    renderer.finish()
    wanted = part_of(whole_framebuffer(studio))
    assert len(np.unique(wanted.reshape(-1, 3), axis=0)) > 50 * level.scale**2
    assert_alike(part_of(found), wanted)
