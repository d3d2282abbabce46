"""Where a framebuffer keeps its pixels, only changed areas are filled: each frame is as if drawn whole."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.displays.rigs import sway, xvfb
from tests.render.draw.conftest import SIZE_PX, WHOLE
from twixt.ipc.scene import Box, Capsule, Material, Plane, Scene, Sphere, Texture
from twixt.ipc.snapshot import BODY, HAS_VELOCITY, VISIBLE
from twixt.render.draw.flat.rectangles import Rectangle
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import FULL, LEVELS
from twixt.render.draw.software.background_cache import (
    TRIED,
    KeepingTrial,
    apart,
    areas_of,
    around,
    contains,
    grown,
    meet,
)
from twixt.render.draw.software.kept_pixels import Pixels

NEAR, FAR = OrbitCamera(distance_m=14.0, target=(0.0, 0.0, 0.5)), OrbitCamera(distance_m=18.0, azimuth_rad=1.0)
OUTLINE = ((-2.0, -2.0, 0.0), (2.0, 2.0, 2.0))
BALLS = Scene([Sphere(0.3, (0.9, 0.4, 0.2))], ground_z=0.0, outline=OUTLINE)
SHAPES = Scene([Box((0.5, 0.9, 0.3)), Capsule(0.2, 0.6), Sphere(0.3)], ground_z=0.0, outline=OUTLINE)
FLOOR = Scene(
    [Plane((8, 6), (0.5, 0.6, 0.7), Material(Texture.checker(size_px=64), (4, 3))), Box((0.4, 0.4, 0.4)), Sphere(0.3)]
)
ROOT = Path(__file__).parents[4]
PANELS = Rectangle(8, 6, 120, 60), Rectangle(300, 8, 392, 50)


def bodies_at(step, count=8, floor=False):
    random = np.random.default_rng(3)
    bodies = np.zeros(count, BODY)
    place = random.uniform((-1.5, -1.5, 0.3), (1.5, 1.5, 1.2), (count, 3))
    velocity = random.normal(scale=0.6, size=(count, 3)) * (1, 1, 0.2)
    bodies["position"], bodies["velocity"] = place + velocity * 0.05 * step, velocity
    bodies["orientation"], bodies["scale"] = (0.3, 0.2, 0.1, 0.9), 1
    bodies["flags"], bodies["color"] = VISIBLE | HAS_VELOCITY, 255
    if floor:
        bodies[0] = np.zeros((), BODY)
        bodies["orientation"][0], bodies["scale"][0] = (0, 0, 0, 1), 1
        bodies["flags"][0], bodies["color"][0] = VISIBLE, 255
    return bodies


class Both:
    """A renderer that relies on the framebuffer's pixels, and one that draws each frame whole into another."""

    def __init__(self, studio, scene, glass=False):
        self.context = studio.context
        self.targets = [
            self.context.framebuffer([self.context.renderbuffer(SIZE_PX, 4)], self.context.depth_renderbuffer(SIZE_PX))
            for _ in range(2)
        ]
        self.renderers = []
        for target in self.targets:
            target.use()
            self.renderers.append(studio.renderer(scene))
        self.kept, self.whole = self.renderers
        self.kept._background.cache._is_faster = True
        self.whole._background.cache = None
        self.step, self.floor, self.glass = 0, glass or scene is FLOOR, glass

    def frame(self, camera=NEAR, panels=PANELS, over=None, ahead=False, step=1, method="hermite"):
        """Draws a frame of both, and panels over it, and compares them. over: draws more, unannounced."""
        self.step += step
        older, newer = (bodies_at(self.step + more, floor=self.floor) for more in (0, 1))
        for bodies in (older, newer) if self.glass else ():
            bodies["color"][0, 3] = 100
        pixels = []
        for renderer, target in zip(self.renderers, self.targets, strict=True):
            target.use()
            if ahead:
                renderer.prepare_background()
            for slot, bodies in enumerate((older, newer)):
                renderer.upload(slot, memoryview(bodies).cast("B"), len(bodies))
            layer = Layer(0, 1, alpha=0.5, gap_s=0.05, method=method)
            renderer.draw([layer], camera.matrices(SIZE_PX), WHOLE)
            if panels is not None:
                renderer.mark_covered(panels)
                for left, top, right, bottom in panels:
                    shade = self.step % 5 / 5
                    target.clear(shade, 0.2, 0.9, viewport=(left, SIZE_PX[1] - bottom, right - left, bottom - top))
            renderer.finish()
            if over is not None:
                over(target)
            pixels.append(renderer.read_pixels())
        np.testing.assert_array_equal(*pixels)

    def settle(self, **how):
        for _ in range(TRIED + 4):
            self.frame(**how)

    def release(self):
        for renderer in self.renderers:
            renderer.release()
        for target in self.targets:
            target.release()


@pytest.fixture(params=["balls", "shapes", "floor"])
def both(studio, request, monkeypatch):
    monkeypatch.setattr("twixt.render.draw.software.background_cache.MOST_SHARE", 1.0)
    made = Both(studio, {"balls": BALLS, "shapes": SHAPES, "floor": FLOOR}[request.param])
    yield made
    made.release()


@pytest.fixture
def copied_px(monkeypatch):
    """Numbers of pixels that are copied from kept pictures."""
    copied = []

    def counted(name):
        restore = getattr(Pixels, name)

        def laid(pixels, areas, *how, **more):
            listed = areas if name == "restore_areas" else [areas]
            copied.append(sum(width * height for *_, width, height in listed))
            restore(pixels, areas, *how, **more)

        monkeypatch.setattr(Pixels, name, laid)

    counted("restore")
    counted("restore_areas")
    return copied


def test_once_it_is_known_to_keep_its_pixels_less_than_all_of_it_is_filled(both, copied_px):
    both.settle()
    for _ in range(12):
        copied_px.clear()
        both.frame()
        assert 0 < sum(copied_px) < 0.9 * SIZE_PX[0] * SIZE_PX[1]


@pytest.mark.parametrize("ahead", [False, True])
def test_whatever_changes_each_frame_is_as_if_it_were_drawn_whole(both, ahead):
    both.settle(ahead=ahead)
    for step in (1, 1, 0, 0, 3, -9, 1, 1):
        both.frame(step=step, ahead=ahead)
    for level in (*LEVELS[1:], FULL, LEVELS[-1], FULL):
        for renderer in both.renderers:
            renderer.level = level
        both.frame(ahead=ahead)
        both.frame(ahead=ahead)
    for camera in (FAR, FAR, FAR, FAR, NEAR, NEAR, NEAR, NEAR):
        both.frame(camera, ahead=ahead)
    for panels in (PANELS[:1], (), (), PANELS, None, None, PANELS, (), (Rectangle(150, 90, 260, 200),), ()):
        both.frame(panels=panels, ahead=ahead)


def test_a_plane_that_is_seen_through_is_whole_where_a_panel_was(studio, monkeypatch):
    monkeypatch.setattr("twixt.render.draw.software.background_cache.MOST_SHARE", 1.0)
    both = Both(studio, Scene([Plane((8, 6), (0.5, 0.6, 0.7)), Sphere(0.3)], ground_z=-0.5), glass=True)
    for left in (*[20] * (TRIED + 6), 220, 230, 20):
        both.frame(panels=(Rectangle(left, 150, left + 80, 200),))
    both.release()


def test_another_outline_is_not_seen_beside_the_old_one(both):
    both.settle()
    scene = both.kept.scene
    for outline in (((-1, -1, 0), (1, 1, 1)), None, OUTLINE):
        for renderer in both.renderers:
            renderer.set_scene(Scene(scene.shapes, ground_z=scene.ground_z, outline=outline))
        for _ in range(4):
            both.frame()


def test_dots_lines_and_unannounced_panels_leave_nothing_behind(both):
    both.settle()

    def line(renderer, target):
        target.use()
        renderer.lines([(-3, 0, 1)], [(3, 1, 2)], (255, 0, 0, 255))

    for _ in range(2):
        for renderer, target in zip(both.renderers, both.targets, strict=True):
            target.use()
            bodies = bodies_at(both.step, floor=both.floor)
            for slot in (0, 1):
                renderer.upload(slot, memoryview(bodies).cast("B"), len(bodies))
            renderer.draw([Layer(0, 1, alpha=0.5, gap_s=0.05)], NEAR.matrices(SIZE_PX), WHOLE)
            line(renderer, target)
            renderer.mark_covered(())
            renderer.finish()
        both.frame()
    both.frame(panels=None, over=lambda target: target.clear(1.0, 0.0, 1.0))
    for _ in range(3):
        both.frame()


def test_a_frame_that_is_cleared_leaves_nothing_behind(both):
    both.settle()
    for renderer, target in zip(both.renderers, both.targets, strict=True):
        target.use()
        renderer.clear()
    both.frame()
    both.frame()


def test_a_framebuffer_that_loses_its_pixels_is_filled_whole(both):
    def lose(target):
        target.clear(0.9, 0.0, 0.9, depth=0.2)

    for _ in range(2 * TRIED):
        both.frame(over=lambda target: None)
        for target in both.targets:
            lose(target)
    assert both.kept._background.cache._trial.keeps is False


def test_a_panel_laid_over_the_middle_when_all_else_is_complete_is_no_lost_picture(both):
    def panel(target):
        target.clear(both.step % 5 / 5, 0.9, 0.2, viewport=(120, 60, 160, 200))

    for _ in range(2 * TRIED):
        both.frame(panels=(Rectangle(120, 40, 280, 240),), over=panel)
    assert both.kept._background.cache._trial.keeps is not False
    both.settle()
    assert both.kept._background.cache._trial.keeps is True


def test_another_framebuffer_of_the_same_name_is_filled_whole(both, studio):
    both.settle()
    for number, target in enumerate(both.targets):
        target.release()
        both.targets[number] = both.context.framebuffer(
            [both.context.renderbuffer(SIZE_PX, 4)], both.context.depth_renderbuffer(SIZE_PX)
        )
        both.targets[number].clear(1.0, 0.0, 1.0)
    both.frame()
    both.frame()


def test_parts_that_are_most_of_a_picture_are_not_worth_it():
    whole = (0, 0, 100, 100)
    assert areas_of([(10, 10, 60, 60), (0, 0, 20, 20)], whole) == ((10, 10, 60, 60), (0, 0, 20, 10), (0, 10, 10, 10))
    assert areas_of([(10, 10, 80, 80)], whole) is None


def test_older_pixels_are_told_from_the_last_frames():
    """Two buffers that take turns: what is read is that of the frame before the last."""
    trial, frames = KeepingTrial(), [bytes([number]) for number in range(10)]
    for number in range(1, 10):
        trial.frame_ended(WHOLE, (), lambda _: frames[number])  # noqa: B023
        trial.frame_begins(lambda _: frames[number - 1])  # noqa: B023
    assert trial.keeps is False


def test_frames_that_do_not_differ_prove_nothing():
    trial = KeepingTrial()
    for _ in range(4 * TRIED):
        trial.frame_ended(WHOLE, (), lambda _: b"same")
        trial.frame_begins(lambda _: b"same")
    assert trial.keeps is None


def test_parts_apart_cover_the_same_pixels_once():
    random = np.random.default_rng(0)
    for _ in range(200):
        corners = random.integers(0, 30, (4, 4))
        areas = [(int(x), int(y), int(w) + 1, int(h) + 1) for x, y, w, h in corners]
        wanted, found = np.zeros((64, 64), int), np.zeros((64, 64), int)
        for left, bottom, width, height in areas:
            wanted[bottom : bottom + height, left : left + width] = 1
        for left, bottom, width, height in apart(areas):
            found[bottom : bottom + height, left : left + width] += 1
        np.testing.assert_array_equal(wanted, found)
        assert apart(areas)[0] == areas[0]
        whole = around(areas[0], areas[1])
        assert contains(whole, areas[0])
        assert contains(whole, areas[1])
        assert meet(areas[0], areas[1]) == (len(apart(areas[:2])) != 2 or apart(areas[:2])[1] != areas[1])
        assert contains((0, 0, 40, 40), grown((5, 5, 3, 3), (0, 0, 40, 40)))


@pytest.mark.display
@pytest.mark.parametrize("rig", [xvfb, partial(sway, 60)])
def test_a_window_keeps_its_pixels_and_its_frames_are_as_if_they_were_drawn_whole(rig):
    with rig() as display:
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "tests.render.draw.software.window_frames"],
            env=display.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, cwd=ROOT,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["wrong"] == 0
    assert found["keeps"] is True
    assert found["in_part"] >= 20
    assert found["black"] == 0
