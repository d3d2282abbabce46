"""Background and grid are kept as a picture while the camera stands: the same pixels, whatever changes."""

from __future__ import annotations

from ctypes import c_uint
from types import SimpleNamespace

import numpy as np
import pytest

from twixt.ipc.scene import Box, Material, Plane, Scene, Texture
from twixt.ipc.snapshot import BODY, HAS_VELOCITY, VISIBLE
from twixt.render.draw.frame import context as gl_context
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.software import background_cache, kept_pixels
from twixt.render.draw.software.background_cache import BackgroundCache

NEAR, FAR = OrbitCamera(distance_m=6.0), OrbitCamera(distance_m=17.0, azimuth_rad=1.0)
GROUND = Scene([Box((1, 1, 1), (0.9, 0.2, 0.2))], ground_z=0.0)
WIDTH, HEIGHT = 400, 300
BETWEEN = Layer(0, 1, alpha=0.5, gap_s=0.1)


def one_box(z=0.5):
    bodies = np.zeros(1, BODY)
    bodies["position"], bodies["orientation"] = (0, 0, z), (0, 0, 0, 1)
    bodies["scale"], bodies["flags"], bodies["color"] = 1, VISIBLE, 255
    return bodies


class Kept:
    """A renderer whose backdrop is laid down wherever it may be, and one that draws it each time."""

    cleared_to = 1.0  # depth, by others
    layer = Layer(0)

    def __init__(self, studio, scene=GROUND):
        self.studio = studio
        self.laid, self.drawn = studio.renderer(scene), studio.renderer(scene)
        self.laid._background.cache._is_faster = True
        self.drawn._background.cache = None
        self.move(0.5)

    def move(self, z):
        for renderer in (self.laid, self.drawn):
            renderer.upload(0, memoryview(one_box(z)).cast("B"), 1)

    def set_scene(self, scene):
        for renderer in (self.laid, self.drawn):
            renderer.set_scene(scene)

    def compare(self, camera, viewports=((0, 0, WIDTH, HEIGHT),), ahead=False):
        """Draws both, the first with what it may do ahead; they are alike to the last bit."""
        pixels = []
        for renderer in (self.laid, self.drawn):
            self.studio.framebuffer.use()
            self.studio.framebuffer.clear(1.0, 0.0, 1.0, 1.0, depth=self.cleared_to)
            if ahead:
                renderer.prepare_background()
            for viewport in viewports:
                renderer.draw([self.layer], camera.matrices(viewport[2:]), viewport)
            renderer.finish()
            pixels.append(renderer.read_pixels())
        np.testing.assert_array_equal(*pixels)

    @property
    def filled(self):
        return sum(kept.is_filled for kept in self.laid._background.cache._kept.values())


@pytest.fixture
def both(studio):
    kept = Kept(studio)
    yield kept
    kept.laid.release()
    kept.drawn.release()


FLOOR = Scene(
    [Plane((8, 6), (0.5, 0.6, 0.7), Material(Texture.checker(size_px=64), (4, 3))), Box((1, 1, 1), (0.9, 0.2, 0.2)), Plane((1, 1))],
    ground_z=None,
)  # fmt: skip


def floor_and_box(box_z=0.2, floor_z=0.0):
    """A box that stands in a floor, and a small plane in the air."""
    bodies = np.concatenate([one_box(floor_z), one_box(box_z), one_box(1.5)])
    bodies["position"][1:, 0] = 0.5, -1.0
    return bodies


class KeptFloor(Kept):
    """The same with a floor between two snapshots, which may move in the second."""

    cleared_to = 0.2
    layer = BETWEEN

    def __init__(self, studio):
        super().__init__(studio, FLOOR)

    def move(self, z, floor_z=0.0):
        for renderer in (self.laid, self.drawn):
            for slot, bodies in enumerate((floor_and_box(z), floor_and_box(z + 0.3, floor_z))):
                renderer.upload(slot, memoryview(bodies).cast("B"), len(bodies))

    @property
    def keeps_depth(self):
        kept = self.laid._background.cache._kept.values()
        return [one.pixels is not None and one.pixels.has_depth for one in kept if one.is_filled]


@pytest.fixture
def floor(studio):
    kept = KeptFloor(studio)
    yield kept
    kept.laid.release()
    kept.drawn.release()


@pytest.mark.parametrize("ahead", [False, True])
def test_a_floor_that_stands_still_is_kept_and_hides_what_is_below_it(floor, ahead):
    for z in (-0.4, 0.0, 0.4, 0.8):
        floor.move(z)
        floor.compare(NEAR, ahead=ahead)
    assert floor.keeps_depth == [True]
    for camera in (FAR, FAR, NEAR, NEAR, NEAR):
        floor.compare(camera, ahead=ahead)


def test_a_floor_that_moves_is_drawn_where_it_is(floor):
    for floor_z in (0.0, 0.0, 0.0, 0.3, 0.3, 0.3, 0.0, 0.0, 0.5):
        floor.move(0.2, floor_z)
        floor.compare(NEAR, ahead=True)


def test_a_floor_with_a_velocity_is_not_kept(floor):
    for renderer in (floor.laid, floor.drawn):
        for slot in (0, 1):
            bodies = floor_and_box()
            bodies["velocity"][0] = 0, 0, 3.0
            bodies["flags"] |= HAS_VELOCITY
            renderer.upload(slot, memoryview(bodies).cast("B"), len(bodies))
    for _ in range(4):
        floor.layer = Layer(0, 1, alpha=0.3, gap_s=0.1, method="hermite")
        floor.compare(NEAR)
    assert floor.keeps_depth == []


def test_another_scene_another_floor(floor):
    for shapes in (FLOOR.shapes, [Plane((4, 4), (0.9, 0.9, 0.1)), *list(FLOOR.shapes)[1:]], FLOOR.shapes):
        for ground in (None, -0.5):
            floor.set_scene(Scene(shapes, ground_z=ground))
            for z in (0.2, 0.3, 0.4):
                floor.move(z)
                floor.compare(NEAR, ahead=True)


def test_a_floor_whose_depth_cannot_be_copied_is_drawn_and_a_ground_is_kept(floor, monkeypatch):
    monkeypatch.setattr(kept_pixels, "DEPTH_FORMATS", {})
    for z in (0.2, 0.3, 0.4, 0.5):
        floor.move(z)
        floor.compare(NEAR, ahead=True)
    assert floor.keeps_depth == []
    floor.set_scene(Scene([Box((1, 1, 1))] * 3, ground_z=0.0))
    for _ in range(3):
        floor.compare(NEAR, ahead=True)
    assert floor.keeps_depth == [False]


def test_bodies_move_before_a_kept_backdrop(both):
    for z in (0.5, 0.6, 0.8, 1.0, 1.2):
        both.move(z)
        both.compare(NEAR)
    assert both.filled == 1


def test_what_others_cleared_depth_to_is_not_the_backdrops(both):
    both.cleared_to = 0.3
    for _ in range(4):
        both.compare(NEAR)


def test_what_was_laid_ahead_is_not_laid_again(both, monkeypatch):
    for z in (0.5, 0.6, 0.8):
        both.move(z)
        both.compare(NEAR, ahead=True)
    backdrop, laid = both.laid._background.cache, []
    copy = backdrop._copy
    monkeypatch.setattr(backdrop, "_copy", lambda *what: (laid.append(1), copy(*what)))
    both.move(1.0)
    both.compare(NEAR, ahead=True)
    assert len(laid) == 1
    both.compare(NEAR)
    assert len(laid) == 2


def test_what_was_laid_ahead_for_nothing_is_not_seen(both):
    for camera in (NEAR, NEAR, NEAR, FAR, FAR, FAR, NEAR):
        both.compare(camera, ahead=True)
    halves = ((0, 0, 199, HEIGHT), (201, 0, 199, HEIGHT))
    for _ in range(4):
        both.compare(NEAR, halves, ahead=True)
    for scene in (Scene(GROUND.shapes, ground_z=-0.5), GROUND, Scene(GROUND.shapes, ground_z=None)):
        for _ in range(3):
            both.compare(NEAR, ahead=True)
        both.set_scene(scene)
        both.compare(NEAR, ahead=True)


def test_a_frame_that_was_not_drawn_takes_what_was_laid_for_it_with_it(both):
    for _ in range(3):
        both.compare(NEAR)
    both.laid.prepare_background()
    both.laid.finish()
    both.compare(NEAR)


def test_another_camera_another_backdrop(both):
    for camera in (NEAR, NEAR, NEAR, FAR, NEAR, FAR, FAR, FAR, NEAR):
        both.compare(camera)


def test_another_scene_another_backdrop(both):
    for scene in (
        GROUND,
        Scene(GROUND.shapes, ground_z=-0.5),
        Scene(GROUND.shapes, ground_z=0.0, background=(0.9, 0.9, 0.9)),
        Scene(GROUND.shapes, ground_z=None),
        GROUND,
    ):
        both.set_scene(scene)
        for _ in range(3):
            both.compare(NEAR)


def test_two_halves_are_kept_each_in_its_place(both):
    halves = ((0, 0, 199, HEIGHT), (201, 0, 199, HEIGHT))
    for _ in range(4):
        both.compare(NEAR, halves)
    assert both.filled == 2
    for _ in range(3):
        both.compare(NEAR)
    for height in (100, 120, 140, 160, 180):  # a window that is resized leaves no row of old pictures
        both.compare(NEAR, ((0, 0, WIDTH, height),))
    assert len(both.laid._background.cache._kept) <= 3


def test_it_is_measured_whether_laying_it_down_is_faster(studio):
    renderer = studio.renderer(GROUND)
    renderer.upload(0, memoryview(one_box()).cast("B"), 1)
    assert renderer._background.cache._is_faster is None
    for _ in range(3):
        studio.draw(renderer, Layer(0), camera=NEAR)
    assert renderer._background.cache._is_faster is not None
    renderer.release()


def test_an_error_of_others_does_not_keep_the_copy_from_being_used(studio, monkeypatch):
    clock, backdrop = SimpleNamespace(now_ns=0), BackgroundCache(studio.context)
    monkeypatch.setattr(background_cache, "time", SimpleNamespace(perf_counter_ns=lambda: clock.now_ns))

    def draw():
        clock.now_ns += 1000  # copying takes none
        studio.framebuffer.clear(0.2, 0.4, 0.6, 1.0)

    studio.framebuffer.use()
    for _ in range(3):  # drawn; kept; tried
        gl_context.gl_function("glEnable", c_uint)(0xBAD)
        assert backdrop._is_faster is None
        backdrop.fill(studio.framebuffer, (0, 0, WIDTH, HEIGHT), "key", draw)
    assert backdrop._is_faster is True
    backdrop.release()
    studio.framebuffer.scissor = None


def test_what_was_kept_of_one_framebuffer_is_not_laid_into_another(studio):
    """A window's rows are kept the other way up."""
    backdrop, whole = BackgroundCache(studio.context), (0, 0, WIDTH, HEIGHT)
    backdrop._is_faster = True
    other = studio.context.simple_framebuffer((WIDTH, HEIGHT))
    for framebuffer, shade in ((studio.framebuffer, 51), (other, 102), (studio.framebuffer, 51), (other, 102)):
        framebuffer.use()
        for _ in range(3):
            backdrop.fill(framebuffer, whole, "key", lambda: framebuffer.clear(shade / 255, 0.4, 0.6, 1.0))  # noqa: B023
            assert framebuffer.read(viewport=(5, 5, 1, 1), components=1) == bytes([shade])
        framebuffer.clear()
    assert len(backdrop._kept) == 2
    backdrop.release()
    other.release()
    studio.framebuffer.scissor = None


def test_without_the_functions_it_is_drawn(studio, monkeypatch):
    backdrop, calls = BackgroundCache(studio.context), []
    monkeypatch.setattr(backdrop._gl, "are_there", False)
    for _ in range(3):
        backdrop.fill(studio.framebuffer, (0, 0, WIDTH, HEIGHT), "key", lambda: calls.append(1))
    assert len(calls) == 3


def test_a_framebuffer_that_cannot_be_copied_is_drawn(studio, monkeypatch):
    """The copy fails: nothing of it is seen, and it is not tried again."""
    calls, backdrop = [], BackgroundCache(studio.context)
    blit = backdrop._gl.glBlitFramebuffer
    monkeypatch.setattr(backdrop._gl, "glBlitFramebuffer", lambda *whole: blit(*whole[:-1], 0xBAD))

    def draw():
        calls.append(1)
        studio.framebuffer.clear(0.2, 0.4, 0.6, 1.0)

    studio.framebuffer.use()
    for _ in range(4):
        backdrop.fill(studio.framebuffer, (0, 0, WIDTH, HEIGHT), "key", draw)
        pixel = studio.framebuffer.read(viewport=(5, 5, 1, 1), components=3)
        assert tuple(pixel) == (51, 102, 153)
    assert backdrop._is_faster is False
    assert not backdrop._kept
    studio.framebuffer.scissor = None
