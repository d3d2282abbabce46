"""Light and sky of scenes of models."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Scene, Texture, Vector
from twixt.sim.engines.mujoco.model.model_scene import (
    LEAST_BRIGHTNESS,
    MOST_BRIGHTNESS,
    TO_EYE,
    UP,
    Light,
    ModelLights,
    ball_normals,
    brightness_of,
    combined_light,
    light,
    reaching_shares,
    scene,
    starting_poses,
)

mujoco = pytest.importorskip("mujoco")

FLOOR = '<geom type="plane" size="1 1 1" rgba="0.9 0.9 0.9 1"/>'
OFF = '<visual><headlight diffuse="0 0 0" ambient="0 0 0"/></visual>'


def model_of(world: str, before: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(f"<mujoco>{before}<worldbody>{FLOOR}{world}</worldbody></mujoco>")


def lights_of(*strengths: float, towards: Vector = (0, 0, 1), ambient: float = 0.0) -> ModelLights:
    found = np.array(strengths)
    return ModelLights(np.full((len(found), 3), towards, float), found, found, ambient)


def reach_of(model: mujoco.MjModel) -> tuple[float, float]:
    places, directions = starting_poses(model)
    return reaching_shares(model, 0, places[0], directions[0])


def of_floor(made: Light) -> float:
    return float(made.brightness * brightness_of(UP[None], np.array(made.towards))[0])


def of_ball(made: Light) -> float:
    return float(made.brightness * brightness_of(ball_normals(), np.array(made.towards)).mean())


@pytest.mark.parametrize("strength", [0.3, 0.5, 0.7])
def test_a_ball_is_as_bright_as_the_models_lights_make_it(strength: float) -> None:
    lights = lights_of(strength, strength, towards=(0.6, 0, 0.8), ambient=0.2)
    made = combined_light(lights)
    assert of_ball(made) == pytest.approx(lights.on_ball(ball_normals()))
    assert np.linalg.norm(made.towards) == pytest.approx(1)


def test_a_floor_is_brighter_than_a_ball_where_light_comes_from_above() -> None:
    above, aside = (
        combined_light(lights_of(0.6, ambient=0.3)),
        combined_light(lights_of(0.6, towards=(0.99, 0, 0.14), ambient=0.3)),
    )
    assert of_floor(above) / of_ball(above) > 1.1
    assert of_floor(aside) / of_ball(aside) < 1.05
    assert above.towards[2] > aside.towards[2] > 0


def test_brightness_stays_within_bounds() -> None:
    assert combined_light(lights_of()).brightness == LEAST_BRIGHTNESS
    assert LEAST_BRIGHTNESS < combined_light(lights_of(1000.0)).brightness < MOST_BRIGHTNESS
    dark = light(model_of("", OFF))
    assert np.isfinite(dark.towards).all()
    assert dark.brightness == LEAST_BRIGHTNESS


def test_light_comes_from_where_the_models_light_is() -> None:
    x, y, z = light(model_of('<light diffuse="9 9 9" directional="true" dir="1 0 -1"/>')).towards
    assert x < -10 * abs(y)
    assert z > 0


def test_a_light_that_is_off_does_not_count() -> None:
    lamp = '<light diffuse="9 9 9" dir="1 0 -1" active="false"/>'
    assert light(model_of(lamp)) == light(model_of(""))


def test_the_headlight_lights_what_the_camera_sees() -> None:
    lights = ModelLights.of(model_of(""))
    assert lights.towards.tolist() == [TO_EYE.tolist()]
    assert lights.on_level() == pytest.approx(0.1 + 0.4 * np.sqrt(0.5))
    assert light(model_of("")).brightness < 0.6


def test_a_spot_lights_the_middle_and_less_of_the_floor_around_it() -> None:
    spot = model_of('<light pos="0 0 2" dir="0 0 -1" cutoff="3" exponent="0"/>')
    middle, floor = reach_of(spot)
    assert middle == 1
    assert 0 < floor < 1
    assert reach_of(model_of('<light pos="5 0 2" dir="0 0 -1" cutoff="30"/>')) == (0, 0)
    far = model_of('<light pos="0 0 2" dir="0 0 -1" cutoff="180" exponent="0" attenuation="1 1 0"/>')
    assert reach_of(far)[0] == pytest.approx(1 / 3, rel=0.05)
    assert reach_of(model_of('<light directional="true" pos="50 0 2"/>')) == (1, 1)


@pytest.mark.filterwarnings("error")  # numpy's warnings, in the user's terminal or as exceptions
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize(
    "fields", ["diffuse", "dir", "pos", "ambient", "attenuation", "cutoff", "exponent", "diffuse dir pos ambient"]
)
def test_lights_that_are_not_finite_leave_a_light(fields: str, value: float) -> None:
    model = model_of('<light diffuse="1 1 1" pos="0 0 3" dir="1 0 -1"/>')
    for field in fields.split():
        getattr(model, f"light_{field}")[:] = value
    model.vis.headlight.diffuse[0] = value
    made = light(model)
    assert np.isfinite([*made.towards, made.brightness]).all()


def test_the_background_is_the_models_sky() -> None:
    sky = '<texture type="skybox" builtin="gradient" rgb1="1 0.5 0" rgb2="0 0.5 0" width="64" height="64"/>'
    made = scene(model_of("", f"<asset>{sky}</asset>"))
    assert isinstance(made.background, Texture)
    up, down = made.background.pixels[4].mean(axis=(0, 1)), made.background.pixels[5].mean(axis=(0, 1))
    assert up[0] > 200
    assert down[0] < 55
    assert made.background.pixels[0][:, 0].mean() > made.background.pixels[0][:, -1].mean()


def test_without_a_sky_the_background_is_as_dim_as_the_bodies() -> None:
    dim = scene(model_of(""))
    assert dim.brightness < 0.6
    assert dim.background == pytest.approx(np.multiply(Scene().background, dim.brightness))
    bright = scene(model_of('<light diffuse="9 9 9" dir="0 0 -1" directional="true"/>'))
    assert bright.background == Scene().background
