"""Frames made with everything that saves time (kept backdrop, sheet) have the pixels of plain ones.

Random worlds, cameras, sizes and panels; what a frame before left in the wrong place is seen here.
"""

from __future__ import annotations

import random

import moderngl
import numpy as np
import pytest

from tests.render.draw.conftest import upload
from tests.render.draw.software.test_picture_bounds import balls, moved
from tests.render.overlay.screen import state_of
from twixt.ipc.scene import Scene, Sphere
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import LEVELS
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.overlay.imgui_context import imgui
from twixt.render.overlay.overlay import Overlay

SIZES_PX = (500, 400), (500, 400), (320, 240), (640, 90), (1, 300)
FRAMES, FRAME_NS = 60, 16_000_000
# Rounding of 8 bits, where colours multiplied by their alpha are laid over.
ROUNDED = 2


@pytest.mark.parametrize("seed", range(3))
def test_random_frames_are_those_drawn_plainly(seed):
    chance, compared = random.Random(seed), 0
    context = moderngl.create_standalone_context(require=330, backend="egl")
    targets = {
        size: context.framebuffer([context.renderbuffer(size, 4)], context.depth_renderbuffer(size))
        for size in SIZES_PX
    }
    targets[SIZES_PX[0]].use()
    scene = Scene([Sphere(0.2)], ground_z=0.0, outline=((-3, -3, 0), (3, 3, 3)))
    saving, plain = (SceneRenderer(context, scene, 4, 6) for _ in range(2))
    saving._background.cache._is_faster, plain._background.cache = True, None  # whatever this machine finds
    now_ns, size_px, camera = 10**15, SIZES_PX[0], OrbitCamera(distance_m=11.0)
    overlay = Overlay(lambda: now_ns)
    for number in range(FRAMES):
        now_ns += FRAME_NS
        if number % 4 == 0:
            older = balls(chance.choice((0, 1, 4)), seed * FRAMES + number)
            for renderer in (saving, plain):
                upload(renderer, 0, older)
                upload(renderer, 1, moved(older, 0.1))
        if chance.random() < 0.08:
            size_px = chance.choice(SIZES_PX)
        if chance.random() < 0.08:
            camera.orbit(chance.uniform(-60, 60), chance.uniform(-60, 60), 400)
        saving.level = plain.level = LEVELS[number * len(LEVELS) // FRAMES]
        layer = Layer(0, 1, alpha=chance.random(), gap_s=0.1, method=chance.choice(("linear", "hermite")))
        has_picture, target, pictures = chance.random() > 0.05, targets[size_px], []
        for renderer in (saving, plain):
            target.use()
            target.clear(1.0, 0.0, 1.0, 1.0)
            if has_picture:
                renderer.draw([layer], camera.matrices(size_px), (0, 0, *size_px))
                renderer.end_pictures()
            if renderer is saving:
                overlay.draw(lambda: state_of(bodies=number), [], size_px, 1.0)  # noqa: B023
            else:
                imgui.set_current_context(overlay._context)
                overlay._draw_straight(size_px)
            renderer.finish()
            pictures.append(np.frombuffer(target.read(components=3, alignment=1), np.uint8).astype(int))
        # A panel that shows for the first time is laid out twice, and its words are there in the first already. A frame
        # that lays out shows the sheet as it was.
        if not overlay._layouts_due and not overlay._is_laid_out:
            compared += 1
            assert np.abs(pictures[0] - pictures[1]).max() <= ROUNDED, f"frame {number}"
    assert compared > FRAMES / 2
    overlay.close()
    context.release()
