"""Camera with which a model opens that is run without code."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from tests.sim.engines.mujoco.against.pictures import TwixtPictures
from twixt.ipc.scene import Camera
from twixt.sim.engines.mujoco.model.model_camera import FILL, default_camera, opening_view, scene_camera

mujoco = pytest.importorskip("mujoco")

SIZE_PX = 320, 240
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
    assert (camera.body, camera.rotates_with_body) == (1, False)
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


CLOTH = """<flexcomp name="soft" type="grid" dim="2" count="9 9 1" spacing=".125 .125 .1" pos="0 {at} .5" radius=".005"
    mass=".2">{pin}<edge equality="true"/><contact selfcollide="none"/></flexcomp>"""
HELD, LOOSE = CLOTH.format(at=0.6, pin='<pin id="4"/>'), CLOTH.format(at=0.6, pin="")
ROPE = """<flexcomp name="soft" type="grid" dim="1" count="9 1 1" spacing=".2 .1 .1" pos="0 0 0" radius=".02" mass=".2">
    <pin id="0"/><edge equality="true"/></flexcomp>"""
SPONGE = """<flexcomp name="soft" type="grid" dof="trilinear" dim="3" count="4 4 4" spacing=".3 .3 .3" pos="0 0 0"
    radius=".005" mass="1"><elasticity young="1e4"/></flexcomp>"""
HAND = '<body name="hand" pos="0 0 1"><freejoint/><geom type="box" size=".04 .04 .04"/>{}</body>'
BANNER = """<asset/><deformable><skin name="soft" vertex="0 0 0  2 0 0  2 0 2  0 0 2  0 0 0  2 0 0  2 0 2  0 0 2"
    face="0 1 2  2 3 0  2 1 0  0 3 2"><bone body="hand" bindpos="0 0 0" bindquat="1 0 0 0"
    vertid="0 1 2 3 4 5 6 7" vertweight="1 1 1 1 1 1 1 1"/></skin></deformable>"""
HILL = """<asset><hfield name="hill" nrow="3" ncol="3" size="1 1 .3 .1" elevation="0 0 0 0 1 0 0 0 0"/></asset>"""
WITH_SOFT_PARTS = {
    "a cloth in a hand": (HAND.format(HELD), ""),
    "a cloth beside a hand": (HAND.format("") + LOOSE, ""),
    "a cloth alone": (LOOSE, ""),
    "a rope in a hand": (HAND.format(ROPE), ""),
    "a sponge beside a hand": (HAND.format("") + SPONGE, ""),
    "a cloth that nothing moves": (CLOTH.format(at=3, pin='<pin gridrange="0 0 8 8"/>') + '<geom size=".04"/>', ""),
    "a skin on a hand": (HAND.format(""), BANNER),
    "a hill in a hand": (HAND.format('<geom type="hfield" hfield="hill" pos="0 1 0"/>'), HILL),
    "a hill that nothing moves": ('<geom type="hfield" hfield="hill" pos="0 3 0"/><geom size=".04"/>', HILL),
}


@pytest.fixture(scope="module")
def pictures() -> Iterator[TwixtPictures]:
    made = TwixtPictures(SIZE_PX)
    yield made
    made.release()


def label_of_soft(model: mujoco.MjModel) -> int:
    """Number in `Seen.labels` of the model's skin, flex or height field."""
    if model.nskin + model.nflex:
        return int(model.nbody) + 1
    is_hill = model.geom_type == int(mujoco.mjtGeom.mjGEOM_HFIELD)
    return int(model.geom_bodyid[is_hill][0]) + 1


@pytest.mark.parametrize("extent", [0.2, 2.0, 20.0])
@pytest.mark.parametrize("name", WITH_SOFT_PARTS)
def test_flexes_skins_and_height_fields_are_in_the_picture_as_a_whole(
    pictures: TwixtPictures, name: str, extent: float
) -> None:
    bodies, more = WITH_SOFT_PARTS[name]
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 0"/><statistic extent="{extent}" center="0 0 0"/>{more}<worldbody>
        <geom type="plane" size="20 20 .1"/>{bodies}</worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    labels = pictures.seen(model, data, opening_view(model)).labels
    is_shown = labels > 0
    border = np.concatenate([is_shown[0], is_shown[-1], is_shown[:, 0], is_shown[:, -1]])
    rows, columns = np.flatnonzero(is_shown.any(axis=1)), np.flatnonzero(is_shown.any(axis=0))
    assert not border.any()  # each thing is connected: it is in the picture as a whole, or not at all
    assert (labels == label_of_soft(model)).sum() > 100
    assert max(np.ptp(rows) / SIZE_PX[1], np.ptp(columns) / SIZE_PX[0]) > 0.3
