"""An offscreen OpenGL context and a picture to draw into, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import moderngl
import numpy as np
import pytest

from twixt.ipc.scene import Scene
from twixt.render.draw.frame.camera import CameraMatrices, OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.scene_renderer import SceneRenderer

SIZE_PX = (400, 300)
WHOLE = (0, 0, *SIZE_PX)


class Studio:
    """Draws snapshots of a scene and answers pixels, (height, width, 3) u1."""

    def __init__(self, context: moderngl.Context) -> None:
        self.context = context
        self.framebuffer = context.framebuffer([context.renderbuffer(SIZE_PX, 4)], context.depth_renderbuffer(SIZE_PX))

    def renderer(self, scene: Scene, slots: int = 4, capacity: int = 1) -> SceneRenderer:
        self.framebuffer.use()
        return SceneRenderer(self.context, scene, slots, capacity)

    def picture(
        self,
        scene: Scene,
        older: np.ndarray,
        newer: np.ndarray | None = None,
        alpha: float = 0.0,
        camera: OrbitCamera | None = None,
        method: str = "linear",
    ) -> np.ndarray:
        renderer = self.renderer(scene)
        upload(renderer, 0, older)
        if newer is not None:
            upload(renderer, 1, newer)
        layer = Layer(0, None if newer is None else 1, alpha=alpha, gap_s=1.0, method=method)
        pixels = self.draw(renderer, layer, camera=camera)
        renderer.release()
        return pixels

    def draw(self, renderer: SceneRenderer, *layers: Layer, camera: OrbitCamera | None = None) -> np.ndarray:
        self.framebuffer.use()
        renderer.draw(layers, matrices(camera), WHOLE)
        renderer.finish()
        return renderer.read_pixels()


def upload(renderer: SceneRenderer, slot: int, bodies: np.ndarray) -> None:
    renderer.upload(slot, memoryview(bodies).cast("B") if len(bodies) else memoryview(b""), len(bodies))


def matrices(camera: OrbitCamera | None = None) -> CameraMatrices:
    return (camera or OrbitCamera(distance_m=10.0)).matrices(SIZE_PX)


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    """One for the tests of a file: programs and their memory go with the context."""
    context = moderngl.create_standalone_context(require=330, backend="egl")
    yield Studio(context)
    context.release()
