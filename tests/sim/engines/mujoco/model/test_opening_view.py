"""Camera with which a model opens that is run without code."""

from __future__ import annotations

import math

import numpy as np
import pytest

from twixt.ipc.scene import Camera
from twixt.sim.engines.mujoco.model.model_camera import default_camera, scene_camera
from twixt.sim.engines.mujoco.model.opening_view import FILL, opening_view

mujoco = pytest.importorskip("mujoco")

FREE = "<freejoint/>"
CART = '<joint type="slide" axis="1 0 0" range="-2 2" limited="true"/>'
PLANAR = '<joint type="slide" axis="1 0 0"/><joint type="hinge" axis="0 1 0"/>'
HINGE = '<joint type="hinge" axis="0 1 0"/>'


def model_of(joints: str, more: str = "", extent: float = 8.0, size: float = 0.3) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><statistic extent="{extent}" center="0 0 0"/><worldbody>
        <geom type="plane" size="9 9 1"/><body name="first" pos="1 2 1">{joints}
        <geom size="{size}"/><body pos="0 0 -0.4">{HINGE}<geom size="0.1"/></body></body>{more}
        </worldbody></mujoco>"""
    )


def usual(model: mujoco.MjModel) -> Camera:
    return scene_camera(model, default_camera(model))


def filled(camera: Camera, radius: float) -> float:
    """Share of the picture's height that a ball at the camera's target has, without perspective."""
    return radius / (math.dist(camera.eye, camera.target) * math.tan(math.radians(camera.fov_y_deg) / 2))


@pytest.mark.parametrize("joints", [FREE, PLANAR], ids=["free", "planar"])
def test_a_body_that_can_go_anywhere_fills_two_thirds_and_is_followed(joints: str) -> None:
    model = model_of(joints)
    camera = opening_view(model)
    assert (camera.body, camera.turns) == (1, False)
    # By its two balls: 0.8 m high, seen from 45 degrees above.
    assert filled(camera, (0.4 + 0.4 * math.sqrt(0.5)) / 2) == pytest.approx(FILL, rel=0.01)
    forward, before = np.subtract(camera.target, camera.eye), np.subtract(usual(model).target, usual(model).eye)
    assert forward / np.linalg.norm(forward) == pytest.approx(before / np.linalg.norm(before))


def test_mujocos_own_camera_is_kept_where_it_frames_the_bodies() -> None:
    model = model_of(FREE, extent=0.8)
    model.stat.center[:] = 1, 2, 0.9
    assert opening_view(model) == usual(model)


def test_a_body_that_would_be_cut_off_is_seen_whole() -> None:
    model = model_of(FREE, extent=0.5)
    camera = opening_view(model)
    assert camera.body == 1
    assert math.dist(camera.eye, camera.target) > math.dist(usual(model).eye, usual(model).target)


def test_what_turns_about_a_place_is_framed_with_its_reach_and_not_followed() -> None:
    camera = opening_view(model_of(HINGE))
    assert camera.body is None
    assert camera.target == pytest.approx((1, 2, 1))
    assert filled(camera, 0.5) < FILL
    near = model_of(HINGE, extent=0.5)
    assert opening_view(near) == usual(near)


def test_a_cart_on_rails_is_seen_from_mujocos_own_camera() -> None:
    model = model_of(CART)
    assert opening_view(model) == usual(model)


def test_several_bodies_are_framed_together() -> None:
    other = f'<body pos="-1 2 1">{FREE}<geom size="0.3"/></body>'
    camera = opening_view(model_of(FREE, other, extent=6))
    assert camera.body is None
    assert camera.target[0] == pytest.approx(0, abs=0.05)
    with_arm = model_of(FREE, f'<body pos="-1 2 1">{HINGE}<geom size="0.3"/></body>', extent=6)
    assert opening_view(with_arm) == usual(with_arm)


def test_the_largest_tree_of_a_far_larger_model_is_followed() -> None:
    other = f'<body pos="-40 2 1">{FREE}<geom size="0.3"/></body>'
    assert opening_view(model_of(FREE, other, extent=60)).body == 1


def test_a_model_in_which_nothing_moves_is_framed_by_its_bodies() -> None:
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><statistic extent="5"/><worldbody><geom type="plane" size="9 9 1"/><geom size="0.2" pos="1 0 0"/>'
        "</worldbody></mujoco>"
    )
    camera = opening_view(model)
    assert camera.target == pytest.approx((1, 0, 0))
    assert filled(camera, 0.2) == pytest.approx(FILL)


def test_an_empty_model_and_one_that_is_not_finite_have_a_camera() -> None:
    empty = mujoco.MjModel.from_xml_string("<mujoco/>")
    assert opening_view(empty) == usual(empty)
    broken = model_of(FREE)
    broken.qpos0[:] = np.nan
    broken.geom_pos[:] = np.nan
    assert np.isfinite(opening_view(broken).eye).all()
