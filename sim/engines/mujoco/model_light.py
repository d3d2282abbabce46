"""Light of a scene made from a model, so that it looks about as in MuJoCo's renderer.

The one idea: twixt has one light, and a factor on the brightness of bodies. Two surfaces stand for all of a picture: a
ball, seen as MuJoCo's camera opens, and a level floor. The light's height is chosen such that the floor is as much
brighter than the ball as the model's lights and the headlight make it, and the factor such that the ball is as bright;
the light's direction on the map is that of the model's lights.

Always: the light is above the horizon. Spots count by the share of their light that falls on the two, shadows and
highlights not at all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene, Vector
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel

# Towards the eye of MuJoCo's opening camera, which looks along y and down by 45 degrees.
TO_EYE = np.array((0.0, -math.sqrt(0.5), math.sqrt(0.5)))
UP = np.array((0.0, 0.0, 1.0))
# Brightness of a surface without sun, its change from below to above, the sun's part, and its wrap past the terminator:
# of `lit_by` in render/draw/glsl/light.py, squares.
SKY, SKY_UP, SUN, WRAP = 0.34, 0.22, 0.92, 0.15
# Heights of the light that are tried: sines of its angle above the horizon.
HEIGHTS = np.linspace(0.1, 0.98, 23)
# Least and most factor on the brightness: at less nothing is seen, at more nearly everything is white.
LEAST_BRIGHTNESS, MOST_BRIGHTNESS = 0.3, 2.0
# Brightness at which most colours are cut off.
WHITE = 1.35
# The model's middle, and points of the floor around it, in the model's extents.
FLOOR_POINTS = np.array([(0, 0, 0), *((r * math.cos(a), r * math.sin(a), 0) for r in (0.35, 0.7) for a in range(6))])
# Points of a ball that stand for all that is seen of it.
BALL_POINTS = 400


Rows = NDArray[np.float64]


class Light(NamedTuple):
    """towards: the light, unit vector. brightness: factor on that of bodies."""

    towards: Vector
    brightness: float


class ModelLights(NamedTuple):
    """towards: unit vectors, (n, 3). diffuse: strengths at the model's middle, (n,). on_floor: means of these over the
    floor around it, (n,). ambient: sum of all. The headlight is among them."""

    towards: NDArray[np.float64]
    diffuse: NDArray[np.float64]
    on_floor: NDArray[np.float64]
    ambient: float

    @staticmethod
    def of(model: MjModel) -> ModelLights:
        """The model's active lights, in their poses at the start."""
        on = model.light_active != 0
        places, directions = starting_poses(model)
        towards, diffuse = -directions[on], model.light_diffuse[on].mean(axis=1)
        reach = np.array(
            [reaching(model, light, places[light], directions[light]) for light in np.flatnonzero(on).tolist()]
        ).reshape(-1, 2)
        ambient, head = model.light_ambient[on].mean(axis=1).sum(), model.vis.headlight
        if head.active:
            towards, diffuse = np.vstack([towards, TO_EYE]), np.append(diffuse, np.mean(head.diffuse))
            reach = np.vstack([reach, (1.0, 1.0)])
            ambient += np.mean(head.ambient)
        middle, floor = np.nan_to_num(diffuse[:, None] * reach).T
        return ModelLights(np.nan_to_num(towards), middle, floor, float(np.nan_to_num(ambient)))

    def on_ball(self, normals: NDArray[np.float64]) -> float:
        """Mean brightness of surfaces with these normals, (n, 3), as MuJoCo's renderer shows it: 1 shows their colour."""
        seen = np.maximum(normals @ self.towards.T, 0.0) @ self.diffuse + self.ambient
        return float(np.minimum(seen, WHITE).mean())

    def on_level(self) -> float:
        """Mean brightness of the floor."""
        return min(float(np.maximum(self.towards[:, 2], 0.0) @ self.on_floor) + self.ambient, WHITE)


def starting_poses(model: MjModel) -> tuple[Rows, Rows]:
    """Places of all lights from the origins of their bodies, metres, and directions, (n, 3) along the world's axes, at
    the start. From the model's present arrays: `light_pos0` and `light_dir0` keep the compiler's values."""
    if not model.nlight:
        return np.empty((0, 3)), np.empty((0, 3))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
    return data.light_xpos - data.xpos[model.light_bodyid], data.light_xdir


def reaching(model: MjModel, light: int, place: Rows, direction: Rows) -> tuple[float, float]:
    """Shares of a light's strength that reach the model's middle, and the floor around it on average. place, direction:
    (3,), see `starting_poses`."""
    if model.light_type[light] == int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL):
        return 1.0, 1.0
    # One on a body stands about as far from what it lights as from its body.
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
    """Light of a model's scene."""
    with np.errstate(all="ignore"):  # a model's fields may hold anything
        return folded(ModelLights.of(model))


def folded(lights: ModelLights) -> Light:
    """The one light that stands for these."""
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
    """Brightness of surfaces with these normals, (n, 3), in twixt's light."""
    sun = np.maximum((1 - WRAP) * (normals @ towards) + WRAP, 0.0)
    return np.sqrt(SKY + SKY_UP * normals[:, 2] + SUN * sun**2)


def ball_normals() -> NDArray[np.float64]:
    """Normals of a ball where pixels see it, (n, 3): the same number for each part of its picture's area."""
    turn = np.arange(BALL_POINTS) * math.pi * (3 - math.sqrt(5))  # the sunflower's angle (Vogel 1979)
    radius = np.sqrt((np.arange(BALL_POINTS) + 0.5) / BALL_POINTS)
    right = np.cross(UP, TO_EYE)
    right /= np.linalg.norm(right)
    across, along = radius * np.cos(turn), radius * np.sin(turn)
    facing = np.sqrt(1 - radius**2)
    return np.outer(across, right) + np.outer(along, np.cross(TO_EYE, right)) + np.outer(facing, TO_EYE)
