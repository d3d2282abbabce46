"""Light and background of scenes of models."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Scene
from twixt.sim.engines.mujoco.model_light import LEAST_BRIGHTNESS, MOST_BRIGHTNESS, background, light

mujoco = pytest.importorskip("mujoco")

FLOOR = '<geom type="plane" size="1 1 1" rgba="0.9 0.9 0.9 1"/>'


def model_of(world: str, before: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(f"<mujoco>{before}<worldbody>{FLOOR}{world}</worldbody></mujoco>")


def brightness(towards: tuple[float, float, float]) -> float:
    """Of a level floor, by `render/draw/glsl/light.py`."""
    return float(np.sqrt(0.34 + 0.22 + 0.92 * (towards[2] * 0.85 + 0.15) ** 2))


def test_a_floor_is_as_bright_as_the_models_lights_make_it_within_bounds() -> None:
    dark = light(model_of(""))
    bright = light(model_of('<light diffuse="3 3 3" dir="0 0 -1"/>'))
    between = light(model_of('<light diffuse="0.57 0.57 0.57" dir="0 0 -1"/>'))
    assert brightness(dark) == pytest.approx(LEAST_BRIGHTNESS)
    assert brightness(bright) == pytest.approx(MOST_BRIGHTNESS)
    assert brightness(between) == pytest.approx(0.1 + 0.7 * 0.4 + 0.57)
    assert np.linalg.norm([dark, bright, between], axis=1) == pytest.approx(1)


def test_light_comes_from_where_the_models_light_is() -> None:
    x, y, z = light(model_of('<light diffuse="9 9 9" dir="1 0 -1"/>'))
    assert x < -10 * abs(y)
    assert z > 0


def test_a_light_that_is_off_does_not_count() -> None:
    lamp = '<light diffuse="9 9 9" dir="1 0 -1" active="false"/>'
    assert light(model_of(lamp)) == pytest.approx(light(model_of("")))


def test_without_a_headlight_and_a_light_there_is_a_direction() -> None:
    towards = light(model_of("", '<visual><headlight diffuse="0 0 0" ambient="0 0 0"/></visual>'))
    assert brightness(towards) == pytest.approx(LEAST_BRIGHTNESS)


def test_the_background_is_the_sky_below_the_horizon() -> None:
    sky = '<texture type="skybox" builtin="gradient" rgb1="1 0.5 0" rgb2="0 0.5 0" width="64" height="64"/>'
    red, green, blue = background(model_of("", f"<asset>{sky}</asset>"))
    assert 0.2 < red < 0.45
    assert (green, blue) == pytest.approx((0.5, 0), abs=0.02)
    assert background(model_of("")) == Scene().background
