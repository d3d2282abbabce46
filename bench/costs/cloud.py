"""Scene for the measurements of drawing and blending: bodies of one shape that fly through each other.

Always: velocities agree with the positions and orientations, because interpolation methods use them. All bodies are in
view. Their size on the screen is that in the world `swarm` with the same number of bodies: in a picture 600 px high a
diameter of 18 px for a thousand bodies, and 3 px for a million.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.shapes import Shape, Sphere
from twixt.ipc.snapshot import BODY, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, Snapshot
from twixt.render.draw.frame.camera import CameraMatrices, OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.interpolation.quaternion import exp, multiply

INTERVAL_S = 1 / 30
DIAMETER_PX, DIAMETER_POWER, HEIGHT_PX = 18.0, -0.26, 600
REACH_M, SPEED_M_S, SPIN_RAD_S = 1.0, 0.3, 2.0
CAMERA = Camera(eye=(0.0, -4.0, 0.7), target=(0.0, 0.0, 0.0), fov_y_deg=36.0)


def radius_m(count: int) -> float:
    """Radius of each sphere in a cloud of `count` bodies, in metres."""
    diameter_px = DIAMETER_PX * (count / 1000) ** DIAMETER_POWER
    height_m = 2 * math.dist(CAMERA.eye, CAMERA.target) * math.tan(math.radians(CAMERA.fov_y_deg) / 2)
    return diameter_px / HEIGHT_PX * height_m / 2


class Cloud:
    """`count` bodies of `shape` (None: spheres). Three snapshots of them are on the GPU of `window`.

    ground: height of the ground in metres; None for no ground.
    """

    def __init__(self, window: object, count: int, shape: Shape | None = None, ground: float | None = None) -> None:
        self.count, self.shape = count, shape or Sphere(radius_m(count))
        self.scene = Scene([self.shape], ground=ground, camera=CAMERA)
        self.size_px: tuple[int, int] = window.framebuffer_size  # type: ignore[attr-defined]  # see render.display
        self.camera: CameraMatrices = OrbitCamera.from_camera(CAMERA).matrices(self.size_px, self.size_px)
        self.records = [records(count, number) for number in range(3)]
        self.renderer = SceneRenderer(window.context, self.scene, len(self.records) + 1, count)  # type: ignore[attr-defined]
        for slot, bodies in enumerate(self.records):
            self.renderer.upload_records(slot, bodies)
        self._screen = window.screen  # type: ignore[attr-defined]

    @property
    def viewport(self) -> tuple[int, int, int, int]:
        """The whole framebuffer: x, y, width, height in pixels."""
        return (0, 0, *self.size_px)

    def draw(self, alpha: float, method: str = "auto") -> None:
        """Draws a blend of the last two snapshots, and waits until the picture is complete."""
        self._screen.use()
        layer = Layer(1, 2, 0, alpha, INTERVAL_S, INTERVAL_S, method)
        self.renderer.draw([layer], self.camera, self.viewport)
        self.renderer.finish()

    def use_screen(self) -> None:
        """Makes the window's framebuffer the target of drawing. `draw` does this too."""
        self._screen.use()

    def finish(self) -> None:
        """Waits until all drawing is complete."""
        self.renderer.finish()

    def release(self) -> None:
        """Releases the GPU memory."""
        self.renderer.release()


def records(count: int, number: int) -> NDArray[np.void]:
    """Bodies of snapshot `number`, shape (count,), dtype `BODY`."""
    random = np.random.default_rng(0)
    bodies = np.zeros(count, BODY)
    direction = random.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    place = direction * REACH_M * np.cbrt(random.random((count, 1)))
    velocity = random.normal(scale=SPEED_M_S, size=(count, 3))
    spin = random.normal(scale=SPIN_RAD_S, size=(count, 3))
    passed_s = number * INTERVAL_S
    bodies["position"] = place + velocity * passed_s
    bodies["velocity"], bodies["angular_velocity"] = velocity, spin
    first = random.normal(size=(count, 4))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    bodies["orientation"] = multiply(exp(spin * passed_s), first)
    bodies["flags"] = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    bodies["scale"], bodies["color"] = 1.0, 255
    return bodies


def snapshots(count: int, many: int) -> list[Snapshot]:
    """The first `many` snapshots, for interpolation methods in numpy."""
    interval_ns = round(INTERVAL_S * 1e9)
    return [Snapshot(number * interval_ns, records(count, number), tick=number) for number in range(many)]
