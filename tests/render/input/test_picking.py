"""Rays against shapes: by numbers, against MuJoCo's own rays, and through pixels of a camera."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from twixt.ipc.scene import Box, Camera, Capsule, Compound, Cylinder, Ellipsoid, Mesh, Part, Plane, Scene, Sphere
from twixt.render.draw.frame.camera import OrbitCamera, carried
from twixt.render.input.picking import MISSED, Ray, distance_to, first_hit, ray_of
from twixt.render.interpolation.poses import Poses

MUJOCO_KINDS = {
    "sphere": ("0.4", Sphere(0.4)),
    "box": ("0.3 0.5 0.2", Box((0.6, 1.0, 0.4))),
    "capsule": ("0.2 0.4", Capsule(0.2, 0.8)),
    "cylinder": ("0.3 0.4", Cylinder(0.3, 0.8)),
    "ellipsoid": ("0.3 0.5 0.2", Ellipsoid((0.6, 1.0, 0.4))),
}
TURN = (0.2, -0.4, 0.5, math.sqrt(1 - 0.45))
TETRAHEDRON = Mesh(np.eye(4, 3) - 0.25, [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)])


def poses(*place: tuple[float, float, float], scale: float = 1.0, columns: Any = None) -> Poses:
    count = len(place)
    return Poses(
        0,
        np.array(place, np.float64),
        np.tile(np.array([0, 0, 0, 1], np.float32), (count, 1)),
        np.full(count, scale, np.float32),
        np.full((count, 4), 255, np.uint8),
        np.ones(count, bool),
        columns or {},
    )


def ray(origin: Any, direction: Any) -> Ray:
    direction = np.array(direction, np.float64)
    return Ray(np.array(origin, np.float64), direction / np.linalg.norm(direction))


@pytest.mark.parametrize("kind", MUJOCO_KINDS)
def test_distances_are_those_of_mujocos_rays(kind: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    size, shape = MUJOCO_KINDS[kind]
    x, y, z, w = TURN
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="{kind}" size="{size}" pos="0.3 -0.2 0.1" quat="{w} {x} {y} {z}"/>'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scene = Scene([Compound([Part(shape, (0.3, -0.2, 0.1), TURN)])])
    random, hits = np.random.default_rng(1), 0
    for _ in range(300):
        origin = random.normal(size=3) * 2
        aimed = ray(origin, random.normal(size=3) * 0.3 - origin)
        geom = np.zeros(1, np.int32)
        wanted = mujoco.mj_ray(model, data, origin, aimed.direction, None, 1, -1, geom)
        found = first_hit(aimed, scene, poses((0, 0, 0)))
        if wanted < 0:
            assert found is None
        else:
            hits += 1
            assert found is not None
            assert found.point == pytest.approx(origin + wanted * aimed.direction, abs=1e-9)
    assert 50 < hits < 300


def test_a_mesh_and_a_rectangle_are_hit_where_they_are_and_nowhere_else() -> None:
    assert distance_to(TETRAHEDRON, ray((-0.25, 0, 0), (1, 0, 0))) > 0
    assert distance_to(TETRAHEDRON, ray((5, 5, 5), (1, 0, 0))) == MISSED
    inside = np.array([0.0, 0.0, 0.0])
    for direction in np.random.default_rng(2).normal(size=(100, 3)):
        aimed = ray(inside - 3 * direction, direction)
        assert distance_to(TETRAHEDRON, aimed) < 3 * np.linalg.norm(direction)
    plane = Plane((2, 4))
    assert distance_to(plane, ray((0.9, 1.9, 3), (0, 0, -1))) == pytest.approx(3)
    assert distance_to(plane, ray((1.1, 1.9, 3), (0, 0, -1))) == MISSED
    assert distance_to(plane, ray((0, 0, 3), (1, 0, 0))) == MISSED


def test_the_nearest_visible_body_is_hit_whatever_their_order() -> None:
    scene = Scene([Sphere(0.5)] * 4)
    seen = poses((9, 0, 0), (3, 0, 0), (6, 0, 0), (-3, 0, 0))
    from_origin = ray((0, 0, 0), (1, 0, 0))
    hit = first_hit(from_origin, scene, seen)
    assert hit is not None
    assert (hit.body, hit.point.tolist()) == (1, [2.5, 0, 0])
    seen.visible[1] = False
    hidden = first_hit(from_origin, scene, seen)
    assert hidden is not None
    assert hidden.body == 2
    assert first_hit(ray((0, 0, 0), (0, 1, 0)), scene, seen) is None
    assert first_hit(from_origin, scene, poses()) is None
    seen.position[2] = np.nan
    beyond = first_hit(from_origin, scene, seen)
    assert beyond is not None
    assert beyond.body == 0


def test_a_scale_and_a_stretch_are_those_of_the_body() -> None:
    scene, aimed = Scene([Box((1, 1, 1))]), ray((-9, 0, 0), (1, 0, 0))
    for seen, wanted in (
        (poses((0, 0, 0), scale=2), -1.0),
        (poses((0, 0, 0), columns={"scale3": np.array([[4.0, 1, 1]])}), -2.0),
        (poses((0, 0, 0), scale=0.5, columns={"scale3": np.array([[4.0, 1, 1]])}), -1.0),
    ):
        hit = first_hit(aimed, scene, seen)
        assert hit is not None
        assert hit.point[0] == pytest.approx(wanted)
    assert first_hit(aimed, scene, poses((0, 0, 0), scale=0)) is None


@pytest.mark.parametrize("orthographic", [None, 5.0])
@pytest.mark.parametrize("on_body", [False, True])
def test_a_ray_goes_through_the_point_that_its_pixel_shows(orthographic: float | None, on_body: bool) -> None:
    camera = OrbitCamera.from_camera(Camera((4, -5, 3), (0.5, 0, 1), 50, orthographic_height=orthographic))
    size_px = (640, 480)
    matrices = camera.matrices(size_px)
    if on_body:
        matrices = carried(matrices, np.array([1.0, 2.0, 0.5]), np.array(TURN, np.float32))
    for point in np.random.default_rng(3).normal(size=(20, 3)):
        clip = matrices.projection.astype(float) @ matrices.view.astype(float) @ [*point, 1]
        x, y = clip[:2] / clip[3]
        found = ray_of(matrices, (0, 0, *size_px), (x + 1) / 2 * 640, (1 - y) / 2 * 480, 480)
        away = point - found.origin
        assert np.linalg.norm(np.cross(away, found.direction)) < 1e-3 * np.linalg.norm(away)
