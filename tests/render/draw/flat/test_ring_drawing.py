"""Rings alone, by their pixels."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Camera, Scene
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.quality import FULL
from twixt.render.draw.scene_renderer import SceneRenderer

SIZE_PX = 320, 240
BACKGROUND = 0.4
SCENE = Scene([], ground_z=None, background=(BACKGROUND,) * 3, camera=Camera((0, -10, 0), (0, 0, 0)))
ONE = np.ones(1)


@pytest.fixture(scope="module")
def window() -> OffscreenWindow:
    return OffscreenWindow(SIZE_PX)


def drawn(window: OffscreenWindow, *rings: tuple, scene: Scene = SCENE, level=FULL) -> np.ndarray:
    """A picture with these rings, each the arguments of `SceneRenderer.rings`, (h, w, 3)."""
    renderer = SceneRenderer(window.context, scene)
    renderer.level = level
    assert scene.camera is not None
    window.screen.use()
    renderer.draw([], OrbitCamera.from_camera(scene.camera).matrices(SIZE_PX), (0, 0, *SIZE_PX))
    for each in rings:
        renderer.rings(*each)
    renderer.finish()
    return renderer.read_pixels().astype(int)


def ring(radius_px: float, position=(0.0, 0.0, 0.0), alpha: float = 1.0, line_px: float = 2.0) -> tuple:
    return np.array([position]), radius_px * ONE, alpha * ONE, line_px


@pytest.mark.parametrize("radius_px", [4, 8, 20, 64, 110])
def test_a_ring_is_a_round_white_line_between_two_dark_ones(window, radius_px):
    picture = drawn(window, ring(radius_px))[..., 0]
    y, x = np.mgrid[: SIZE_PX[1], : SIZE_PX[0]]
    away = np.abs(np.hypot(x - 159.5, y - 119.5) - radius_px)
    assert picture[away < 0.5].min() > 240
    assert picture[(away > 1.8) & (away < 2.4)].max() < round(BACKGROUND * 255) - 20
    assert (picture[away > 4.2] == picture[0, 0]).all()


def test_a_ring_fades_with_its_opacity(window):
    middles = [drawn(window, ring(20, alpha=alpha))[119, 139:141, 0].max() for alpha in (0.0, 0.25, 0.5, 1.0)]
    assert middles[0] == round(BACKGROUND * 255)
    assert (np.diff(middles) > 20).all()


def test_a_ring_whose_middle_is_outside_the_picture_is_cut(window):
    picture = drawn(window, ring(60, position=(7.2, 0, 0)))[..., 0]
    bright = np.nonzero(picture > 240)[1]
    assert len(bright) > 30
    assert bright.min() > 250


@pytest.mark.parametrize("position", [(0, -10.5, 0), (0, -30, 0), (np.nan, 0, 0), (0, np.inf, 0)])
def test_a_place_behind_the_eye_or_not_finite_is_left_out(window, position):
    assert np.array_equal(drawn(window, ring(20, position)), drawn(window))


def test_no_rings_are_no_trouble(window):
    nothing = np.zeros((0, 3)), np.zeros(0), np.zeros(0), 2.0
    assert np.array_equal(drawn(window, nothing), drawn(window))


def test_rings_have_their_size_also_in_a_picture_that_is_drawn_smaller_and_enlarged(window):
    plain = drawn(window)
    whole = (drawn(window, ring(40)) != plain).any(axis=2)
    small = (drawn(window, ring(40), level=FULL._replace(scale=0.5)) != plain).any(axis=2)
    for axis in (0, 1):
        assert small.any(axis=axis).sum() == pytest.approx(whole.any(axis=axis).sum(), abs=5)
