"""Pictures drawn at half their size and enlarged: the pixels of a small framebuffer, each repeated, at their place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.displays.rigs import Display, sway, xvfb
from tests.render.draw.conftest import upload
from tests.render.draw.test_scene_renderer import bodies_at
from twixt.ipc.scene import Box, Plane, Scene, Sphere
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import FLAT, FULL, LEVELS

HALF = next(level for level in LEVELS if level.scale == 0.5)
ROOT = Path(__file__).parents[4]
MAGENTA = (255, 0, 255)
RED, GREEN = (255, 0, 0, 255), (0, 255, 0, 255)


@pytest.fixture
def renderer(studio):
    """Of a floor with a ball and boxes above it, between two snapshots."""
    scene = Scene(
        [Plane((4.0, 3.0)), Sphere(0.7), Box((0.9, 0.4, 0.5)), Box((0.3, 0.3, 1.5))], outline=((-2, -2, 0), (2, 2, 2))
    )
    renderer = studio.renderer(scene)
    for slot in range(2):
        bodies = bodies_at((0, 0, -0.2), (0.2 * slot, 0, 0.8), (-1.5, 1, 0.5), (1.5, 0.2 * slot, 1.0))
        bodies["orientation"][2:] = 0.3, 0.1, 0.2, 0.927
        upload(renderer, slot, bodies)
    yield renderer
    renderer.release()


def frame_of(context, size_px):
    return context.framebuffer([context.renderbuffer(size_px, 4)], context.depth_renderbuffer(size_px))


def drawn(renderer, target, level, pictures, dot_px=0.0):
    """Pixels of a frame on magenta. pictures: an azimuth, viewport and clip of each."""
    target.use()
    target.clear(1.0, 0.0, 1.0, 1.0)
    renderer.level = level
    for azimuth, viewport, clip in pictures:
        camera = OrbitCamera(distance_m=7, azimuth_rad=azimuth, elevation_rad=0.5).matrices((320, 240))
        renderer.draw([Layer(0, 1, alpha=0.4, gap_s=1.0, method="linear")], camera, viewport, clip=clip)
        if dot_px:
            renderer.points([(0, 0, 1.8), (1, -1.2, 0.7)], RED, dot_px)
            renderer.lines([(-2, -2, 1)], [(2, 2, 1)], GREEN)
    renderer.finish()
    width_px, height_px = target.size
    return np.frombuffer(target.read(components=3, alignment=1), np.uint8).reshape(height_px, width_px, 3)[::-1]


def enlarged(pixels, size_px):
    """Pixels repeated to another size: each shows the one that its middle falls into."""
    columns, rows = (
        np.floor((np.arange(to) + 0.5) * have / to).astype(int)
        for to, have in zip(size_px, pixels.shape[1::-1], strict=True)
    )
    return pixels[rows][:, columns]


@pytest.mark.parametrize("size_px", [(320, 240), (321, 241), (64, 1), (5, 2), (1, 1)], ids=str)
def test_a_half_sized_picture_is_the_flat_one_of_half_the_size_with_each_pixel_repeated(studio, renderer, size_px):
    small_px = (size_px[0] + 1) // 2, (size_px[1] + 1) // 2
    target = frame_of(studio.context, size_px)
    for _ in range(5):  # the background is drawn, kept, compared, copied
        whole = drawn(renderer, target, HALF, [(0.3, (0, 0, *size_px), None)], dot_px=9)
    small = drawn(renderer, frame_of(studio.context, small_px), FLAT, [(0.3, (0, 0, *small_px), None)], dot_px=4.5)
    np.testing.assert_array_equal(whole, enlarged(small, size_px))


def test_halves_of_a_split_frame_reach_their_edges_and_no_further(studio, renderer):
    size_px, left, right = (321, 200), (0, 0, 159, 200), (162, 0, 159, 200)
    target = frame_of(studio.context, size_px)
    for _ in range(5):
        frame = drawn(renderer, target, HALF, [(0.3, left, None), (1.3, right, None)], dot_px=9)
    assert (frame[:, 159:162] == MAGENTA).all()
    for azimuth, (begin, *_) in ((0.3, left), (1.3, right)):
        small = drawn(
            renderer, frame_of(studio.context, (80, 100)), FLAT, [(azimuth, (0, 0, 80, 100), None)], dot_px=4.5
        )
        np.testing.assert_array_equal(frame[:, begin : begin + 159], enlarged(small, (159, 200)))


def test_a_clipped_picture_stands_where_the_full_one_does(studio, renderer):
    target = frame_of(studio.context, (320, 240))
    picture = [(0.3, (-61, 10, 500, 301), (20, 30, 201, 151))]
    middles = []
    for level in (FLAT, HALF):
        frame = drawn(renderer, target, level, picture, dot_px=21)
        outside = frame.copy()
        outside[240 - 181 : 210, 20:221] = MAGENTA
        assert (outside == MAGENTA).all()
        assert not (frame[59:210, 20:221] == MAGENTA).all(axis=2).any()
        middles.append([places.mean() for places in np.nonzero((frame == RED[:3]).all(axis=2))])
    np.testing.assert_allclose(middles[0], middles[1], atol=1.0)


def test_what_is_drawn_once_the_pictures_end_has_every_pixel_of_the_frame(studio, renderer):
    target = frame_of(studio.context, (320, 240))
    target.use()
    renderer.level = HALF
    camera = OrbitCamera(distance_m=7).matrices((320, 240))
    renderer.draw([Layer(0)], camera, (0, 0, 320, 240))
    assert studio.context.fbo is not target
    renderer.end_pictures()
    assert studio.context.fbo is target
    target.clear(1.0, 0.0, 1.0, 1.0, viewport=(7, 5, 1, 3))
    renderer.finish()
    assert np.argwhere((renderer.read_pixels() == MAGENTA).all(axis=2)).tolist() == [[232, 7], [233, 7], [234, 7]]


def test_the_memory_of_small_pictures_is_given_back_with_the_next_frame_without_them(studio, renderer):
    target = frame_of(studio.context, (320, 240))
    before = drawn(renderer, target, FULL, [(0.3, (0, 0, 320, 240), None)])
    for width_px in (320, 300, 280):
        drawn(renderer, target, HALF, [(0.3, (0, 0, width_px, 240), None)])
        assert len(renderer._small._made) == 1
    np.testing.assert_array_equal(drawn(renderer, target, FULL, [(0.3, (0, 0, 320, 240), None)]), before)
    assert not renderer._small._made


def test_a_frame_that_is_cleared_halfway_is_black(studio, renderer):
    target = frame_of(studio.context, (320, 240))
    target.use()
    renderer.level = HALF
    renderer.draw([Layer(0)], OrbitCamera(distance_m=7).matrices((320, 240)), (0, 0, 320, 240))
    renderer.clear()
    renderer.finish()
    assert not renderer.read_pixels().any()


@pytest.mark.display
@pytest.mark.parametrize("rig", [lambda: xvfb(map_screen=True), lambda: sway(60)], ids=["xvfb", "sway"])
def test_a_window_shows_enlarged_pictures_under_text_of_full_size(rig, tmp_path):
    with rig() as display:
        found = window_program(display, tmp_path)
        whole, small, over = (np.load(tmp_path / f"{name}.npy") for name in ("whole", "small", "over"))
        # A window's rows are rasterized from the other end, which rounds otherwise.
        assert np.abs(whole.astype(int) - enlarged(small, whole.shape[1::-1])).max() <= 1
        changed = (over != whole).any(axis=2)
        assert changed[:, 11].sum() == changed.sum() == 20, "a panel of a single column"
        assert not found["errors"]
        if found["screen"]:
            np.testing.assert_array_equal(np.load(tmp_path / "screen.npy"), over)


def window_program(display: Display, folder: Path) -> dict:
    """Runs `small_window_program.py` there; what it prints."""
    program = Path(__file__).with_name("small_window_program.py")
    arguments = [sys.executable, str(program), str(folder), str(display.screen_file or "")]
    done = subprocess.run(
        arguments, env=display.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
