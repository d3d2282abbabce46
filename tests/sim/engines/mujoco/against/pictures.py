"""Pictures of one state of a model, by twixt's drawing and by MuJoCo's own offscreen renderer, from the same camera.

The one idea: colours can stand for bodies. Each of twixt's bodies is drawn unlit in a colour that is its number, and
MuJoCo's segmentation is turned into the same numbers, so that the two pictures can be compared pixel by pixel.

Always: labels are 0 where nothing, a plane or the sky is seen, else the number of the body and 1; skins and flexes
follow the bodies. Pictures are (height, width, 3) u1, labels (height, width) i4, the top row first.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Compound, Part, Plane, Scene
from twixt.ipc.snapshot import BODY, new_bodies
from twixt.render.draw.camera import OrbitCamera, carried
from twixt.render.draw.layers import Layer
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.model_camera import default_camera, scene_camera, tracked_body
from twixt.sim.engines.mujoco.model_scene import scene

os.environ.setdefault("MUJOCO_GL", "egl")

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int32]
# Share of its own colour that a geom has in MuJoCo's renderer without any light.
AMBIENT = 0.3
BLACK = (0.0, 0.0, 0.0)


class Seen(NamedTuple):
    """One state as one renderer draws it. labels: numbers of bodies. colors: unlit."""

    labels: Labels
    colors: Pixels


class TwixtPictures:
    """Draws states of models with twixt's own drawing, in one offscreen context."""

    def __init__(self, size_px: tuple[int, int]) -> None:
        self.size_px = size_px
        self.context = moderngl.create_standalone_context(require=330, backend="egl")
        buffers = self.context.renderbuffer(size_px, 4), self.context.depth_renderbuffer(size_px)
        self._framebuffer = self.context.framebuffer([buffers[0]], buffers[1])

    def seen(self, model: Any, data: Any, camera: Any = None) -> Seen:
        """Labels and unlit colours. camera: an MjvCamera, by default the one with which viewers open the model."""
        shown, records = _state(model, data, camera)
        plain = dataclasses.replace(shown, unlit=True, ground=None, background=BLACK, pattern=False)
        colors = self.picture(plain, records)
        rgb = self.picture(_labelled(plain, model.nbody), records).astype(np.int32)
        return Seen(rgb[..., 0] << 16 | rgb[..., 1] << 8 | rgb[..., 2], colors)

    def shown(self, model: Any, data: Any, camera: Any = None) -> Pixels:
        """The state as the viewer shows it."""
        return self.picture(*_state(model, data, camera))

    def picture(self, scene: Scene, records: NDArray[np.void]) -> Pixels:
        """A scene with its bodies, dtype BODY, (n,)."""
        with self.context:
            self._framebuffer.use()
            renderer = SceneRenderer(self.context, scene, 3, len(records))
            renderer.upload_records(0, records)
            matrices = OrbitCamera.for_scene(scene, records, self.size_px[0] / self.size_px[1]).matrices(self.size_px)
            body = None if scene.camera is None else scene.camera.body
            if body is not None:
                matrices = carried(matrices, records["position"][body], records["orientation"][body])
            renderer.draw([Layer(0)], matrices, (0, 0, *self.size_px))
            renderer.finish()
            pixels = renderer.read_pixels()
            renderer.release()
        return pixels

    def release(self) -> None:
        """Gives the context back."""
        self.context.release()


@contextmanager
def mujocos_renderer(model: Any, size_px: tuple[int, int]) -> Iterator[Any]:
    """MuJoCo's own offscreen renderer for a model."""
    import mujoco

    model.vis.global_.offwidth = max(model.vis.global_.offwidth, size_px[0])
    model.vis.global_.offheight = max(model.vis.global_.offheight, size_px[1])
    renderer = mujoco.Renderer(model, size_px[1], size_px[0], max_geom=20_000)
    try:
        yield renderer
    finally:
        renderer.close()


def mujocos_shown(renderer: Any, data: Any, camera: Any) -> Pixels:
    """The state as MuJoCo draws it by default."""
    renderer.update_scene(data, camera)
    return np.array(renderer.render())


def mujocos_seen(renderer: Any, model: Any, data: Any, camera: Any) -> Seen:
    """Labels and unlit colours of MuJoCo's own picture: no lights, and each geom shines in its own colour."""
    renderer.enable_segmentation_rendering()
    renderer.update_scene(data, camera)
    number, kind = np.moveaxis(renderer.render(), -1, 0)
    renderer.disable_segmentation_rendering()
    renderer.update_scene(data, camera)
    drawn = renderer.scene
    drawn.nlight = 0
    drawn.flags[:] = 0
    for geom in drawn.geoms[: drawn.ngeom]:
        geom.emission, geom.specular, geom.shininess, geom.reflectance = 1 - AMBIENT, 0, 0, 0
    return Seen(_mujocos_labels(model, number, kind), np.array(renderer.render()))


def viewers_camera(model: Any) -> Any:
    """The camera with which MuJoCo's own viewer opens the model."""
    return default_camera(model)


def _state(model: Any, data: Any, camera: Any) -> tuple[Scene, NDArray[np.void]]:
    camera = default_camera(model) if camera is None else camera
    shown = scene(model, camera=scene_camera(model, camera))
    poses = BodyPoses(model, data)
    poses.tracked = tracked_body(model, camera)
    records = new_bodies(poses.count).view(BODY)
    poses.write(records)
    return shown, records


def _labelled(shown: Scene, bodies: int) -> Scene:
    """The scene with a body's number and 1 as the colour of its parts; planes are black."""
    del bodies
    return dataclasses.replace(shown, shapes=[_relabelled(shape, body + 1) for body, shape in enumerate(shown.shapes)])


def _relabelled(shape: Any, label: int) -> Any:
    if isinstance(shape, Compound):
        return Compound([Part(_relabelled(p.shape, label), p.position, p.orientation) for p in shape.parts])
    label = 0 if isinstance(shape, Plane) else label
    return dataclasses.replace(shape, color=tuple((label >> shift & 255) / 255 for shift in (16, 8, 0)))


def _mujocos_labels(model: Any, number: Labels, kind: Labels) -> Labels:
    import mujoco

    kinds, planes = mujoco.mjtObj, model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
    labels = np.zeros(number.shape, np.int32)
    of_kind = {
        int(kinds.mjOBJ_GEOM): np.where(planes, 0, model.geom_bodyid + 1),
        int(kinds.mjOBJ_SITE): model.site_bodyid + 1,
        int(kinds.mjOBJ_SKIN): model.nbody + 1 + np.arange(model.nskin),
        int(kinds.mjOBJ_FLEX): model.nbody + 1 + model.nskin + np.arange(model.nflex),
    }
    for of, table in of_kind.items():
        here = kind == of
        labels[here] = table[number[here]]
    return labels
