"""This module makes the scene and the light of a MuJoCo model. A body has the same index in the scene and in the
model.

The geoms and sites of a body become parts of the body, with constant poses. So a snapshot contains only the poses of
bodies, which are MuJoCo's `xpos` and `xquat`.

Always: the scene has `model.nbody` shapes, followed by the shapes of skins and flexes (`model_surfaces.py`). Body 0 is
the world. Lengths are in metres.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidType, text_of
from twixt.ipc.scene import Camera, Compound, Part, Scene, Texture, Vector
from twixt.ipc.scene.shapes import Shape
from twixt.sim.engines.mujoco.model.geom_shapes import FoundParts, ModelParts, PartMaker, ShowOptions
from twixt.sim.engines.mujoco.model.model_camera import default_camera, scene_camera
from twixt.sim.engines.mujoco.model.model_surfaces import surface_shapes
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
    """Returns the scene of a model, for `twixt.show` and `publish(view, data)`.

    A body has the same index in the scene and in MuJoCo. If the world body has no plane and no height field, a grid on
    the ground is shown. For an example see `publish`.

    Args:
        model: The model.
        opt: Options whose `geomgroup`, `sitegroup` and flags select the shown geoms and sites and their appearance. By
            default the options of MuJoCo's own viewer, which shows groups 0 to 2.
        camera: Camera of the scene. By default the camera of MuJoCo's own viewer.
        maker: Object that stores the meshes. Pass the same object for each scene of a model, to reuse meshes.
        labels: Texts of marks.

    Returns:
        The scene.

    Raises:
        TwixtError: `model` is not an `MjModel`.
    """
    if not isinstance(model, mujoco.MjModel):
        raise InvalidType(f"scene(model) takes a mujoco.MjModel, got {text_of(model)}")
    maker = PartMaker(model) if maker is None else maker
    return shown_scene(model, ShowOptions.of(mujoco.MjvOption() if opt is None else opt, model), maker, camera, labels)


def shown_scene(
    model: MjModel, shown: ShowOptions, maker: PartMaker, camera: Camera | None, labels: Sequence[str] = ()
) -> Scene:
    """Returns the scene of a model's shown geoms and sites."""
    return scene_of(model, found_parts(model, maker, shown), maker, camera, labels, shown)


def found_parts(model: MjModel, maker: PartMaker, shown: ShowOptions) -> tuple[FoundParts, FoundParts]:
    """Returns the geoms that are shown, and the sites that are shown."""
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
    shown: ShowOptions,
) -> Scene:
    """Returns the scene of these parts of a model. shown: settings for materials and sky."""
    camera = scene_camera(model, default_camera(model)) if camera is None else camera
    parts_of: list[list[Part]] = [[] for _ in range(model.nbody)]
    for body, _, part in chain.from_iterable(of_a_kind.parts for of_a_kind in found):
        parts_of[body].append(part)
    sky = maker.sky if shown.shows_sky else None
    return Scene(
        shapes=[*[_shape(parts) for parts in parts_of], *surface_shapes(model, maker, shown.shows_materials)],
        camera=camera,
        labels=labels,
        ground_z=None if _has_ground(model) else 0.0,
        **_lit(model, sky),
    )


def lit_scene(scene: Scene, model: MjModel) -> Scene:
    """Returns the same scene with the model's current light."""
    return replace(scene, **_lit(model, scene.background if isinstance(scene.background, Texture) else None))


def _lit(model: MjModel, sky: Texture | None) -> dict[str, Any]:
    """Light and background of a scene."""
    lit, background = light(model), Scene().background
    # The background is dimmed by the same factor as the bodies. So the contrast between the bodies and the background
    # stays the same.
    if not isinstance(background, Texture):
        red, green, blue = (min(lit.brightness, 1.0) * part for part in background)
        background = red, green, blue
    return {"light": lit.towards, "brightness": lit.brightness, "background": background if sky is None else sky}


def _shape(parts: list[Part]) -> Shape:
    """Returns the shape of a body with these parts. If there is a single part at the body's own pose, returns the
    part's shape. Otherwise returns a compound."""
    if len(parts) == 1 and parts[0].position == NOWHERE and parts[0].orientation == NO_TURN:
        return parts[0].shape
    return Compound(parts)


def _has_ground(model: MjModel) -> bool:
    kinds = {int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)}
    of_the_world = model.geom_type[model.geom_bodyid == 0]
    return not kinds.isdisjoint(of_the_world.tolist())


# The code below chooses the light of a scene that is made from a model. The scene then looks similar to MuJoCo's
# rendering.
#
# Twixt has one light, and one factor for the brightness of bodies. Both are chosen for two surfaces that represent the
# picture: a ball, seen from MuJoCo's default camera, and a level floor. The light's height is chosen to match MuJoCo's
# ratio of floor brightness to ball brightness. Then the factor is chosen to match the ball's brightness. The light's
# azimuth is the azimuth of the sum of the model's lights.
#
# Always: the light is above the horizon. The weight of a spotlight is the fraction of its light that reaches these two
# surfaces. Shadows and highlights are ignored.


# Direction towards the eye of MuJoCo's default camera, which looks along y and down by 45 degrees.
TO_EYE = np.array((0.0, -math.sqrt(0.5), math.sqrt(0.5)))
UP = np.array((0.0, 0.0, 1.0))
# Numbers of `lit_by` in render/draw/glsl/light.py. SKY, SKY_UP and SUN are squares of brightness. SKY: squared
# brightness of a vertical surface without sunlight. SKY_UP: increase for a surface that faces up. SUN: increase by
# sunlight. WRAP: how far sunlight reaches beyond the line between the lit and the dark side.
SKY, SKY_UP, SUN, WRAP = 0.34, 0.22, 0.92, 0.15
# Heights of the light that are tried, as sines of its angle above the horizon.
HEIGHTS = np.linspace(0.1, 0.98, 23)
# Smallest and largest brightness factor. With a smaller factor nothing would be visible. With a larger factor nearly
# everything would be white.
LEAST_BRIGHTNESS, MOST_BRIGHTNESS = 0.3, 2.0
# Brightness above which most colours would be clipped.
WHITE = 1.35
# The model's middle, and points of the floor around it, as multiples of the model's extent.
FLOOR_POINTS = np.array([(0, 0, 0), *((r * math.cos(a), r * math.sin(a), 0) for r in (0.35, 0.7) for a in range(6))])
# Number of sample points on the visible half of the ball.
BALL_POINTS = 400


Rows = NDArray[np.float64]


class Light(NamedTuple):
    """Light of a scene. towards: unit vector in the direction of the light. brightness: factor by which the brightness
    of bodies is multiplied."""

    towards: Vector
    brightness: float


class ModelLights(NamedTuple):
    """Active lights of a model, including the headlight. towards: unit vectors towards the lights, shape (n, 3).
    diffuse: diffuse strength of each light at the model's middle, shape (n,). on_floor: mean strength of each light
    over the floor around the middle, shape (n,). ambient: sum of the ambient strengths."""

    towards: NDArray[np.float64]
    diffuse: NDArray[np.float64]
    on_floor: NDArray[np.float64]
    ambient: float

    @staticmethod
    def of(model: MjModel) -> ModelLights:
        """Reads the model's active lights, in their poses at the start."""
        on = model.light_active != 0
        places, directions = starting_poses(model)
        towards, diffuse = -directions[on], model.light_diffuse[on].mean(axis=1)
        reach = np.array(
            [reaching_shares(model, light, places[light], directions[light]) for light in np.flatnonzero(on).tolist()]
        ).reshape(-1, 2)
        ambient, head = model.light_ambient[on].mean(axis=1).sum(), model.vis.headlight
        if head.active:
            towards, diffuse = np.vstack([towards, TO_EYE]), np.append(diffuse, np.mean(head.diffuse))
            reach = np.vstack([reach, (1.0, 1.0)])
            ambient += np.mean(head.ambient)
        middle, floor = np.nan_to_num(diffuse[:, None] * reach).T
        return ModelLights(np.nan_to_num(towards), middle, floor, float(np.nan_to_num(ambient)))

    def on_ball(self, normals: NDArray[np.float64]) -> float:
        """Returns the mean brightness in MuJoCo's renderer of surfaces with these normals. At brightness 1 a surface
        has exactly its own colour. normals: array of shape (n, 3)."""
        seen = np.maximum(normals @ self.towards.T, 0.0) @ self.diffuse + self.ambient
        return float(np.minimum(seen, WHITE).mean())

    def on_level(self) -> float:
        """Mean brightness of the floor in MuJoCo's renderer."""
        return min(float(np.maximum(self.towards[:, 2], 0.0) @ self.on_floor) + self.ambient, WHITE)


def starting_poses(model: MjModel) -> tuple[Rows, Rows]:
    """Returns the positions and the directions of all lights at the start, along the world's axes. Each array has the
    shape (n, 3). Positions are relative to the origins of the lights' bodies, in metres. Both are computed from the
    current arrays of the model, because `light_pos0` and `light_dir0` still have the compiler's values."""
    if not model.nlight:
        return np.empty((0, 3)), np.empty((0, 3))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
    return data.light_xpos - data.xpos[model.light_bodyid], data.light_xdir


def reaching_shares(model: MjModel, light: int, place: Rows, direction: Rows) -> tuple[float, float]:
    """Returns two fractions of a light's strength: the fraction at the model's middle, and the mean fraction over the
    floor around the middle. place, direction: position and direction of the light from `starting_poses`, shape (3,)
    each."""
    if model.light_type[light] == int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL):
        return 1.0, 1.0
    # For a light on a body, the distance between the light and its body is used as the distance to the lit surfaces.
    is_fixed = model.light_bodyid[light] == 0
    ways = model.stat.extent * FLOOR_POINTS - place + (model.stat.center if is_fixed else 0.0)
    away = np.linalg.norm(ways, axis=1)
    constant, linear, square = model.light_attenuation[light].tolist()
    shares = 1 / np.maximum(constant + linear * away + square * away**2, 1e-6)
    if model.light_type[light] == int(mujoco.mjtLightType.mjLIGHT_SPOT):
        along = np.clip(ways @ direction / np.maximum(away, 1e-9), 0.0, 1.0)
        is_lit = along >= math.cos(math.radians(min(max(float(model.light_cutoff[light]), 0.0), 180.0)))
        shares *= is_lit * along ** float(model.light_exponent[light])
    return float(shares[0]), float(shares.mean())


def light(model: MjModel) -> Light:
    """Returns the light of a model's scene."""
    with np.errstate(all="ignore"):  # the fields of a model may contain any values
        return combined_light(ModelLights.of(model))


def combined_light(lights: ModelLights) -> Light:
    """Returns the one light that replaces these lights."""
    ball = ball_normals()
    floor, body = lights.on_level(), lights.on_ball(ball)
    aside = np.append((lights.towards[:, :2].T @ lights.diffuse) if len(lights.diffuse) else np.zeros(2), 0.0)
    if not np.linalg.norm(aside) > 0:
        aside = np.array((*Scene().light[:2], 0.0))
    aside /= np.linalg.norm(aside)
    towards = HEIGHTS[:, None] * UP + np.sqrt(1 - HEIGHTS**2)[:, None] * aside
    shown = np.array([(brightness_of(UP[None], way)[0], brightness_of(ball, way).mean()) for way in towards])
    floor_share = floor / max(body, 1e-6)
    best = int(np.abs(np.log(shown[:, 0] / shown[:, 1]) - math.log(max(floor_share, 1e-6))).argmin())
    factor = min(max(float(body / shown[best, 1]), LEAST_BRIGHTNESS), MOST_BRIGHTNESS)
    x, y, z = towards[best].tolist()
    return Light((x, y, z), factor)


def brightness_of(normals: NDArray[np.float64], towards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the brightness of surfaces with these normals under twixt's light. normals: array of shape (n, 3)."""
    sun = np.maximum((1 - WRAP) * (normals @ towards) + WRAP, 0.0)
    return np.sqrt(SKY + SKY_UP * normals[:, 2] + SUN * sun**2)


def ball_normals() -> NDArray[np.float64]:
    """Returns the normals of points on the visible half of a ball, an array of shape (n, 3). In the picture of the
    ball these points are evenly distributed."""
    # each point is turned by the golden angle, as in a sunflower (Vogel 1979)
    turn = np.arange(BALL_POINTS) * math.pi * (3 - math.sqrt(5))
    radius = np.sqrt((np.arange(BALL_POINTS) + 0.5) / BALL_POINTS)
    right = np.cross(UP, TO_EYE)
    right /= np.linalg.norm(right)
    across, along = radius * np.cos(turn), radius * np.sin(turn)
    facing = np.sqrt(1 - radius**2)
    return np.outer(across, right) + np.outer(along, np.cross(TO_EYE, right)) + np.outer(facing, TO_EYE)
