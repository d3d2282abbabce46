"""Pictures of one state of a model, by twixt's drawing and by MuJoCo's own offscreen renderer, from the same camera.

The one idea: colours can stand for bodies. Each of twixt's bodies is drawn unlit in a colour that is its number, and
MuJoCo's segmentation is turned into the same numbers, so that the two pictures can be compared pixel by pixel.

Always: labels are 0 where nothing, a plane or the sky is seen, else the number of the body and 1; skins and flexes
follow the bodies. Pictures are (height, width, 3) u1, labels (height, width) i4, the top row first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import moderngl
import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera, Compound, Part, Plane, Scene
from twixt.ipc.snapshot import BODY, NO_MARKS, NO_VERTICES, new_bodies
from twixt.render.draw.frame.camera import OrbitCamera, carried
from twixt.render.draw.frame.layers import Layer, SurfacePair
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.model.model_camera import default_camera, scene_camera
from twixt.sim.engines.mujoco.model.model_scene import scene
from twixt.sim.engines.mujoco.model.model_surfaces import ModelSurfaces
from twixt.sim.world.surfaces import Surfaces

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int32]
# Share of its own colour that a geom has in MuJoCo's renderer without any light.
AMBIENT = 0.3
# Geoms of a model that MuJoCo draws, at most.
MOST_GEOMS = 20_000
NO_TURN = 0.0, 0.0, 0.0, 1.0
BLACK = (0.0, 0.0, 0.0)


class Seen(NamedTuple):
    """One state as one renderer draws it. labels: numbers of bodies. colors: unlit. objects: numbers of geoms and the
    like, where the renderer tells them; else the labels."""

    labels: Labels
    colors: Pixels
    objects: Labels


class State(NamedTuple):
    """records: of dtype BODY, (n,). vertices: of all deforming bodies, (v, 3). marks: of dtype MARK. part_columns: as of a
    snapshot."""

    scene: Scene
    records: NDArray[np.void]
    vertices: NDArray[np.float32]
    marks: NDArray[np.void] = NO_MARKS
    part_columns: Mapping[str, NDArray[Any]] = {}


class TwixtPictures:
    """Draws states of models with twixt's own drawing, in one offscreen context."""

    def __init__(self, size_px: tuple[int, int]) -> None:
        self.size_px = size_px
        self.context = moderngl.create_standalone_context(require=330, backend="egl")
        buffers = self.context.renderbuffer(size_px, 4), self.context.depth_renderbuffer(size_px)
        self._framebuffer = self.context.framebuffer([buffers[0]], buffers[1])

    def seen(self, model: Any, data: Any, camera: Any = None) -> Seen:
        """Labels and unlit colours. camera: an MjvCamera or a Camera, by default the one with which viewers open the
        model."""
        return self.seen_state(_state(model, data, camera))

    def seen_state(self, state: State) -> Seen:
        """Labels and unlit colours of a state, without its marks."""
        state = state._replace(marks=NO_MARKS, part_columns={})
        plain = dataclasses.replace(state.scene, look="unlit", ground_z=None, background=BLACK, pattern=False)
        colors = self.picture(state._replace(scene=plain))
        rgb = self.picture(state._replace(scene=_labelled(plain))).astype(np.int32)
        labels = rgb[..., 0] << 16 | rgb[..., 1] << 8 | rgb[..., 2]
        return Seen(labels, colors, labels)

    def shown(self, model: Any, data: Any, camera: Any = None) -> Pixels:
        """The state as the viewer shows it."""
        return self.picture(_state(model, data, camera))

    def picture(self, state: State) -> Pixels:
        """A scene with its bodies and surfaces."""
        scene, records = state.scene, state.records
        with self.context:
            self._framebuffer.use()
            renderer = SceneRenderer(self.context, scene, 3, len(records))
            renderer.upload_records(0, records, state.part_columns)
            renderer.upload_surfaces(0, state.vertices, records)
            orbit = OrbitCamera.for_scene(scene, records, self.size_px[0] / self.size_px[1])
            matrices, whole = orbit.matrices(self.size_px), (0, 0, *self.size_px)
            body = None if scene.camera is None else scene.camera.body
            if scene.camera is not None and body is not None:
                turn = records["orientation"][body] if scene.camera.rotates_with_body else np.array(NO_TURN)
                matrices = carried(matrices, records["position"][body], turn)
            layer = Layer(0, surfaces=SurfacePair(0, None, 0.0))
            renderer.draw([layer], matrices, orbit.around_axis(whole), state.marks, clip=whole)
            renderer.finish()
            pixels = renderer.read_pixels()
            renderer.release()
        return pixels

    def release(self) -> None:
        """Gives the context back."""
        self.context.release()


class MujocosPictures:
    """Draws states of one model with MuJoCo's own renderer, in an EGL context of its own; `release` gives it back."""

    def __init__(self, model: Any, size_px: tuple[int, int]) -> None:
        import mujoco
        from mujoco.egl import GLContext

        model.vis.global_.offwidth, model.vis.global_.offheight = size_px
        self._model, self._size_px = model, size_px
        self._gl = GLContext(*size_px)
        self._gl.make_current()
        self._scene = mujoco.MjvScene(model, MOST_GEOMS)
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)

    def shown(self, data: Any, camera: Any) -> Pixels:
        """The state as MuJoCo draws it by default."""
        self._update(data, camera)
        return self._drawn()

    def seen(self, data: Any, camera: Any) -> Seen:
        """Labels and unlit colours: no lights, and each geom shines in its own colour."""
        import mujoco

        drawn = self._update(data, camera)
        flags = drawn.flags.copy()
        drawn.flags[:] = 0
        drawn.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = drawn.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
        rgb = self._drawn().astype(np.int32)
        objects = rgb[..., 2] << 16 | rgb[..., 1] << 8 | rgb[..., 0]
        labels = self._labels(objects)
        drawn.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = drawn.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 0
        drawn.flags[mujoco.mjtRndFlag.mjRND_CULL_FACE] = flags[mujoco.mjtRndFlag.mjRND_CULL_FACE]
        drawn.nlight = 0
        for geom in drawn.geoms[: drawn.ngeom]:
            geom.emission, geom.specular, geom.shininess, geom.reflectance = 1 - AMBIENT, 0, 0, 0
        colors = self._drawn()
        drawn.flags[:] = flags
        return Seen(labels, colors, objects)

    def release(self) -> None:
        """Gives the context back."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()

    def _update(self, data: Any, camera: Any) -> Any:
        import mujoco

        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, data, mujoco.MjvOption(), None, camera, everything, self._scene)
        return self._scene

    def _drawn(self) -> Pixels:
        import mujoco

        width, height = self._size_px
        pixels, whole = np.empty((height, width, 3), np.uint8), mujoco.MjrRect(0, 0, width, height)
        self._gl.make_current()
        mujoco.mjr_render(whole, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, whole, self._context)
        return pixels[::-1].copy()

    def _labels(self, objects: Labels) -> Labels:
        """objects: numbers of the scene's geoms and 1, as MuJoCo's segmentation has them."""
        label_of = np.zeros(MOST_GEOMS + 1, np.int32)
        for geom in self._scene.geoms[: self._scene.ngeom]:
            label_of[geom.segid + 1] = _label(self._model, geom.objtype, geom.objid)
        return label_of[np.minimum(objects, MOST_GEOMS)]


def viewers_camera(model: Any) -> Any:
    """The camera with which MuJoCo's own viewer opens the model."""
    return default_camera(model)


def _state(model: Any, data: Any, camera: Any) -> State:
    if not isinstance(camera, Camera):
        camera = scene_camera(model, default_camera(model) if camera is None else camera)
    shown = scene(model, camera=camera)
    poses, skins = BodyPoses(model, data), ModelSurfaces(model, data)
    records = new_bodies(poses.count + skins.count).view(BODY)
    poses.write(records[: poses.count])
    vertices = NO_VERTICES
    if skins.count:
        skins.write_flags(records[poses.count :])
        surfaces = Surfaces(shown)
        for body, places in skins.vertices(poses.present(), skins.copy_flexes()).items():
            surfaces[body] = places
        vertices = surfaces.vertices
    return State(shown, records, vertices)


def _labelled(shown: Scene) -> Scene:
    """The scene with a body's number and 1 as the colour of its parts; planes are black."""
    return dataclasses.replace(shown, shapes=[_relabelled(shape, body + 1) for body, shape in enumerate(shown.shapes)])


def _relabelled(shape: Any, label: int) -> Any:
    if isinstance(shape, Compound):
        return Compound([Part(_relabelled(p.shape, label), p.position, p.orientation) for p in shape.parts])
    label = 0 if isinstance(shape, Plane) else label
    color = tuple((label >> shift & 255) / 255 for shift in (16, 8, 0))
    return dataclasses.replace(shape, color=color, material=None)


def _label(model: Any, kind: int, number: int) -> int:
    """Label of an object of MuJoCo's own scene; 0 for planes and for what is no part of a body."""
    import mujoco

    if kind == mujoco.mjtObj.mjOBJ_GEOM:
        is_plane = model.geom_type[number] == mujoco.mjtGeom.mjGEOM_PLANE
        return 0 if is_plane else int(model.geom_bodyid[number]) + 1
    if kind == mujoco.mjtObj.mjOBJ_SITE:
        return int(model.site_bodyid[number]) + 1
    if kind == mujoco.mjtObj.mjOBJ_SKIN:
        return int(model.nbody) + 1 + number
    return int(model.nbody + model.nskin) + 1 + number if kind == mujoco.mjtObj.mjOBJ_FLEX else 0
