"""Light and background of a scene made from a model, so that it looks about as in MuJoCo's renderer.

The one idea: twixt has one light of constant strength, and the higher it stands, the brighter is the ground. So its
height is chosen such that a level floor is as bright as the model's own lights and MuJoCo's headlight make it, within
what looks right; its direction on the map is that of the model's lights.

Always: the background is the mean colour of the model's sky below the horizon, which is what is seen beside a floor;
and twixt's own without a sky.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from twixt.ipc.scene import Color, Scene, Vector
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel

# Share of the headlight's diffuse light that a level floor gets where the camera looks down by 45 degrees.
HEADLIGHT_SHARE = 0.7
# Factor on the colour of a level floor, least and most: at less the light would stand at the horizon, at more white
# burns out. (`render/draw/glsl/light.py` gives 0.75 to 1.22.)
LEAST_BRIGHTNESS, MOST_BRIGHTNESS = 0.85, 1.08
# That shader's squared brightness of a level floor without sun, the sun's part, and its wrap past the terminator.
SKY, SUN, WRAP = 0.56, 0.92, 0.15
# Sides of a sky that show the horizon; the others are above and below.
LEVEL_SIDES, ALL_SIDES = (0, 1, 4, 5), 6
# Pixels along a side from which a sky's mean colour is taken.
SKY_SAMPLES = 50


def light(model: MjModel) -> Vector:
    """Direction towards the light, unit vector."""
    towards = -model.light_dir0.astype(float) * (model.light_active != 0)[:, None]
    strength = np.nan_to_num(model.light_diffuse.mean(axis=1)) if model.nlight else np.zeros(0)
    coming = np.nan_to_num(towards) * strength[:, None]
    head = model.vis.headlight
    of_head, ambient = np.mean(head.diffuse), np.mean(head.ambient)
    if not head.active:
        of_head = ambient = np.float32(0)
    level = float(ambient + HEADLIGHT_SHARE * of_head + np.maximum(coming[:, 2], 0).sum())
    brightness = min(max(level, LEAST_BRIGHTNESS), MOST_BRIGHTNESS) if level == level else MOST_BRIGHTNESS
    height = (math.sqrt((brightness**2 - SKY) / SUN) - WRAP) / (1 - WRAP)
    x, y = (coming[:, :2].sum(axis=0) + of_head * np.array(Scene().light[:2])).tolist()
    across, reach = math.hypot(x, y), math.sqrt(1 - height**2)
    if not across > 0:
        x, y, across = *Scene().light[:2], math.hypot(*Scene().light[:2])
    return x / across * reach, y / across * reach, height


def background(model: MjModel) -> Color:
    """Mean colour of the model's sky below the horizon; a scene's own background without one."""
    skies = np.flatnonzero(model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX))
    if not len(skies):
        return Scene().background
    sky = int(skies[0])
    channels, start = int(model.tex_nchannel[sky]), int(model.tex_adr[sky])
    height, width = int(model.tex_height[sky]), int(model.tex_width[sky])
    pixels = model.tex_data[start : start + height * width * channels].reshape(-1, width, width, channels)
    sides = pixels[list(LEVEL_SIDES)] if len(pixels) == ALL_SIDES else pixels
    every = max(1, width // SKY_SAMPLES)
    lower = sides[:, width // 2 :: every, ::every, : 3 if channels >= 3 else 1]
    red, green, blue = np.broadcast_to(lower.mean(axis=(0, 1, 2)) / 255, 3).tolist()
    return red, green, blue
