"""A sheet laid over a picture: pieces over what does not move are copied, and no pixel differs from blending them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.conftest import SIZE_PX, WHOLE, matrices, upload
from tests.render.draw.flat.test_panel_backdrop import balls
from twixt.ipc.scene import Scene, Sphere
from twixt.render.draw.camera import OrbitCamera
from twixt.render.draw.flat.overlay_sheet import Sheet
from twixt.render.draw.flat.panel_backgrounds import TINT, Rectangle
from twixt.render.draw.frame.layers import Layer

SCENE = Scene([Sphere(0.3)], ground=0.0, outline=((-3, -3, 0), (3, 3, 3)))
APART = (Rectangle(5, 5, 205, 60), Rectangle(240, 10, 390, 90), Rectangle(10, 250, 395, 290))
CROSSING = (Rectangle(5, 5, 205, 60), Rectangle(150, 10, 390, 90))
NEAR, FAR = OrbitCamera(distance_m=9.0), OrbitCamera(distance_m=14.0, azimuth_rad=1.0)


class Laid:
    """One renderer and one sheet; each picture is made twice, with panels copied and with panels blended."""

    def __init__(self, studio):
        self.studio, self.renderer = studio, studio.renderer(SCENE)
        self.sheet, self.copied = Sheet(), 0
        self.draw_sheet(APART, 0)

    def draw_sheet(self, rectangles, shade):
        self.studio.framebuffer.use()
        with self.sheet.drawing(SIZE_PX, rectangles, TINT):
            self.studio.context.fbo.clear(0.1 * shade, 0.2, 0.3, 0.5, viewport=(20, 260, 30, 20))

    def compare(self, bodies, camera=NEAR):
        upload(self.renderer, 0, bodies)
        pixels = []
        for beneath in (self.renderer._panels, None):
            self.studio.framebuffer.use()
            self.studio.framebuffer.clear(1.0, 0.0, 1.0, 1.0)
            self.renderer.draw([Layer(0)], matrices(camera), WHOLE)
            self.sheet.lay(SIZE_PX, beneath)
            self.renderer.finish()
            if beneath is not None:
                self.copied = len(self.sheet._still._to_lay)
            self.sheet.settle()
            pixels.append(self.renderer.read_pixels())
        np.testing.assert_array_equal(*pixels)


@pytest.fixture
def laid(studio):
    laid = Laid(studio)
    yield laid
    laid.sheet.release()
    laid.renderer.release()


def test_balls_move_and_panels_stay(laid):
    copied = []
    for seed in range(12):
        laid.compare(balls(5, seed))
        copied.append(laid.copied)
    assert copied[0] == 0
    assert sum(copied) > 0, "nothing was ever copied"


def test_another_sheet_other_panels_or_another_camera_are_seen_at_once(laid):
    nothing, copied = balls(0, 0), 0
    for shade, rectangles in ((0, APART), (1, APART), (1, CROSSING), (2, APART[:1]), (3, APART)):
        laid.draw_sheet(rectangles, shade)
        for camera in (NEAR, NEAR, FAR, FAR, NEAR):
            laid.compare(nothing, camera)
            copied += laid.copied
    assert copied > 0, "nothing was ever copied"


def test_rectangles_that_cross_each_other_are_blended(laid):
    laid.draw_sheet(CROSSING, 0)
    for _ in range(3):
        laid.compare(balls(0, 0))
        assert laid.copied == 0


def test_a_frame_without_a_picture_gets_no_pixels_of_an_older_one(laid):
    laid.renderer._background.cache._is_faster = True  # whatever this machine finds
    for _ in range(3):
        laid.compare(balls(0, 0))
    assert laid.copied > 0
    pixels = []
    for beneath in (laid.renderer.panel_backdrop, None):
        laid.studio.framebuffer.use()
        laid.studio.context.clear(0.5, 0.0, 0.0, 1.0)
        laid.sheet.lay(SIZE_PX, beneath)
        laid.sheet.settle()
        pixels.append(laid.studio.framebuffer.read(components=3))
    assert pixels[0] == pixels[1]
