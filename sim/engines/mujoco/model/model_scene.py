"""The scene of a MuJoCo model: one body of twixt for each of the model's bodies, with the same index.

The one idea: a body's geoms and sites are its parts, at poses that never change. So only poses of bodies travel in a
snapshot, as MuJoCo has them (`xpos`, `xquat`), and nothing is converted from matrices.

Always: the scene has `model.nbody` shapes, and after them those of skins and flexes (`model_surfaces.py`); body 0 is
the world. Metres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from twixt.ipc.errors import TwixtError, text_of
from twixt.ipc.scene import Camera, Compound, Part, Scene, Texture
from twixt.ipc.shapes.shape import Shape
from twixt.sim.engines.mujoco.model.geom_shapes import FoundParts, ModelParts, PartMaker, ShownParts
from twixt.sim.engines.mujoco.model.model_camera import default_camera, scene_camera
from twixt.sim.engines.mujoco.model.model_surfaces import surface_shapes
from twixt.sim.engines.mujoco.model_light import light
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption

NO_TURN = (0.0, 0.0, 0.0, 1.0)
NOWHERE = (0.0, 0.0, 0.0)


def scene(
    model: MjModel,
    opt: MjvOption | None = None,
    *,
    camera: Camera | None = None,
    maker: PartMaker | None = None,
    labels: Sequence[str] = (),
) -> Scene:
    """The scene of `model`, for `twixt.show` and `publish(view, data)`: body i is MuJoCo's body i.

    opt: its `geomgroup`, `sitegroup` and flags say which geoms and sites are shown, and how; by default groups 0 to 2, as in
    MuJoCo's own viewer. camera: by default as MuJoCo's own viewer frames the model. maker: keeps meshes from scene to scene.
    labels: texts of marks.
    The grid on the ground is shown if nothing of the world itself is a plane or a height field. Raises TwixtError for
    anything but a model.
    """
    if not isinstance(model, mujoco.MjModel):
        raise TwixtError(f"scene(model) takes a mujoco.MjModel, got {text_of(model)}")
    maker = PartMaker(model) if maker is None else maker
    return shown_scene(model, ShownParts.of(mujoco.MjvOption() if opt is None else opt, model), maker, camera, labels)


def shown_scene(
    model: MjModel, shown: ShownParts, maker: PartMaker, camera: Camera | None, labels: Sequence[str] = ()
) -> Scene:
    """The scene of what is shown of a model."""
    return scene_of(model, found_parts(model, maker, shown), maker, camera, labels, shown)


def found_parts(model: MjModel, maker: PartMaker, shown: ShownParts) -> tuple[FoundParts, FoundParts]:
    """The geoms and the sites that are shown."""
    return (
        maker.parts(ModelParts.geoms(model), shown.geomgroup, shown),
        maker.parts(ModelParts.sites(model), shown.sitegroup, shown),
    )


def scene_of(
    model: MjModel,
    found: Sequence[FoundParts],
    maker: PartMaker,
    camera: Camera | None,
    labels: Sequence[str],
    shown: ShownParts,
) -> Scene:
    """The scene of these parts of a model. shown: for its materials and its sky."""
    camera = scene_camera(model, default_camera(model)) if camera is None else camera
    parts_of: list[list[Part]] = [[] for _ in range(model.nbody)]
    for body, _, part in chain.from_iterable(of_a_kind.parts for of_a_kind in found):
        parts_of[body].append(part)
    sky = maker.sky if shown.shows_sky else None
    return Scene(
        shapes=[*[_shape(parts) for parts in parts_of], *surface_shapes(model, maker, shown.shows_materials)],
        camera=camera,
        labels=labels,
        ground=None if _has_ground(model) else 0.0,
        **_lit(model, sky),
    )


def lit_scene(scene: Scene, model: MjModel) -> Scene:
    """The scene in the model's present light."""
    return replace(scene, **_lit(model, scene.background if isinstance(scene.background, Texture) else None))


def _lit(model: MjModel, sky: Texture | None) -> dict[str, Any]:
    """Light and background of a scene."""
    lit, background = light(model), Scene().background
    if not isinstance(background, Texture):  # dimmed like the bodies, so that their contrast stays
        red, green, blue = (min(lit.brightness, 1.0) * part for part in background)
        background = red, green, blue
    return {"light": lit.towards, "brightness": lit.brightness, "background": background if sky is None else sky}


def _shape(parts: list[Part]) -> Shape:
    """One part in the body's own frame is the body's shape; all others make a compound."""
    if len(parts) == 1 and parts[0].position == NOWHERE and parts[0].orientation == NO_TURN:
        return parts[0].shape
    return Compound(parts)


def _has_ground(model: MjModel) -> bool:
    kinds = {int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)}
    of_the_world = model.geom_type[model.geom_bodyid == 0]
    return not kinds.isdisjoint(of_the_world.tolist())
