"""The scene of a model against MuJoCo's own arithmetic: poses, sizes, colours, camera, what is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import KINDS
from twixt.ipc.scene import (
    Box,
    Camera,
    Capsule,
    Compound,
    Cylinder,
    Ellipsoid,
    Mesh,
    Part,
    Plane,
    Scene,
    Sphere,
    Texture,
)
from twixt.ipc.scene.scene import packed_scene, unpacked_scene
from twixt.sim.engines.mujoco.model.model_camera import scene_camera
from twixt.sim.engines.mujoco.model.model_scene import scene

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def model() -> Any:
    return mujoco.MjModel.from_xml_string(KINDS)


def parts_of(shown: Scene, body: int) -> list[Part]:
    shape = shown.shapes[body]
    return list(shape.parts) if isinstance(shape, Compound) else [Part(shape)]


def geoms_shown(model: Any, body: int) -> list[int]:
    """Those that MuJoCo's own scene shows, in the order of their numbers."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    drawn = mujoco.MjvScene(model, 1000)
    everything = mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), everything, drawn)
    geom = mujoco.mjtObj.mjOBJ_GEOM
    found = sorted(each.objid for each in drawn.geoms[: drawn.ngeom] if each.objtype == geom)
    return [number for number in found if model.geom_bodyid[number] == body]


def test_there_is_one_body_for_each_of_the_models_with_the_same_index(model: Any) -> None:
    assert len(scene(model).shapes) == model.nbody == 3


def test_parts_are_where_mujoco_places_the_geoms_that_it_shows(model: Any) -> None:
    data = mujoco.MjData(model)
    data.qpos[:] = 0.5, 0.5, 0.5, 0.5, 0.5
    mujoco.mj_forward(model, data)
    for body in range(model.nbody):
        geoms = geoms_shown(model, body)
        for number, part in zip(geoms, parts_of(scene(model), body), strict=False):
            turn, local, position = np.zeros(9), np.zeros(9), np.zeros(3)
            x, y, z, w = part.orientation
            mujoco.mju_quat2Mat(turn, data.xquat[body])
            mujoco.mju_quat2Mat(local, [w, x, y, z])
            position = data.xpos[body] + turn.reshape(3, 3) @ part.position
            assert np.allclose(position, data.geom_xpos[number])
            assert np.allclose(turn.reshape(3, 3) @ local.reshape(3, 3), data.geom_xmat[number].reshape(3, 3))


def test_sizes_are_whole_and_lengths_are_of_the_straight_part(model: Any) -> None:
    shapes = [part.shape for part in parts_of(scene(model), 1)]
    ball, pill, egg, can, box, wedge, glass, tip = shapes
    assert isinstance(ball, Sphere)
    assert ball.radius == 0.1
    assert isinstance(pill, Capsule)
    assert (pill.radius, pill.length) == (0.05, 0.4)
    assert isinstance(egg, Ellipsoid)
    assert egg.size == (0.2, 0.4, 0.6)
    assert isinstance(can, Cylinder)
    assert (can.radius, can.length) == (0.1, 0.4)
    assert isinstance(box, Box)
    assert box.size == (0.2, 0.4, 0.6)
    assert isinstance(wedge, Mesh)
    assert isinstance(tip, Box)
    assert tip.size == (0.02, 0.04, 0.06)
    assert isinstance(glass, Sphere)
    assert glass.color == pytest.approx((1, 1, 1, 1 - 0.9**2))


def test_colours_are_those_of_the_material_unless_the_geom_has_its_own(model: Any) -> None:
    ball, pill, egg, *_ = [part.shape for part in parts_of(scene(model), 1)]
    assert ball.color == (1, 0, 0)
    assert pill.color == (0, 1, 0)
    assert egg.color == (0.5, 0.5, 0.5)
    floor = parts_of(scene(model), 0)[0].shape
    assert floor.color == (1, 1, 1)
    assert floor.material.texture == Texture(
        np.kron([[[255, 0, 0], [0, 0, 255]], [[0, 0, 255], [255, 0, 0]]], np.ones((4, 4, 1))).astype(np.uint8)
    )
    assert (floor.material.repeat, floor.material.per_metre) == ((0.5, 0.5), True)  # an infinite plane
    assert ball.material is None


def test_hidden_groups_are_left_out(model: Any) -> None:
    radii = {part.shape.radius for part in parts_of(scene(model), 1) if isinstance(part.shape, Sphere)}
    assert radii == {0.1, 0.8}
    option = mujoco.MjvOption()
    option.geomgroup[3], option.sitegroup[4] = 1, 1
    radii = {part.shape.radius for part in parts_of(scene(model, option), 1) if isinstance(part.shape, Sphere)}
    assert radii == {0.1, 0.7, 0.8, 0.9}


def test_a_mesh_has_the_vertices_that_mujoco_draws_in_the_geoms_frame(model: Any) -> None:
    wedge = parts_of(scene(model), 1)[5]
    assert isinstance(wedge.shape, Mesh)
    x, y, z, w = wedge.orientation
    turn, back = np.zeros(9), np.zeros(9)
    mujoco.mju_quat2Mat(turn, [w, x, y, z])
    corners = wedge.shape.vertices @ turn.reshape(3, 3).T + wedge.position
    # The asset's own corners, turned and moved as the model says.
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    quaternion = np.zeros(4)
    mujoco.mju_euler2Quat(quaternion, np.radians([40.0, 50, 60]), "xyz")
    mujoco.mju_quat2Mat(back, quaternion)
    asset = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]) @ back.reshape(3, 3).T + [0, 4, 0]
    found = np.unique(corners.round(5), axis=0)
    assert np.allclose(found, np.unique(asset.round(5), axis=0), atol=2e-5)
    outward = np.cross(*np.diff(wedge.shape.vertices[wedge.shape.faces], axis=1).transpose(1, 0, 2))
    middle = wedge.shape.vertices[wedge.shape.faces].mean(axis=1) - wedge.shape.vertices.mean(axis=0)
    assert (np.einsum("ij,ij->i", outward, middle) > 0).all()


def test_a_height_field_has_its_heights_and_a_base(model: Any) -> None:
    ground = next(part for part in parts_of(scene(model), 0) if isinstance(part.shape, Mesh))
    assert ground.position == (5, 0, 0)
    vertices = ground.shape.vertices
    assert vertices.min(axis=0) == pytest.approx([-2, -1, -0.1])
    assert vertices.max(axis=0) == pytest.approx([2, 1, 0.5])
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hit, normal = np.zeros(1, np.int32), np.zeros(3)
    for x, y in ((-2 / 3, 0.0), (2 / 3, 0.0)):  # MuJoCo's own ray from above, through the hill's points
        down = mujoco.mj_ray(model, data, [5 + x, y, 9], [0, 0, -1], None, 1, -1, hit, normal)
        assert model.geom(int(hit[0])).name == "ground"
        near = vertices[np.argmin(((vertices[:, :2] - (x, y)) ** 2).sum(axis=1))]
        assert 9 - down == pytest.approx(near[2], abs=1e-5)


def test_an_infinite_plane_reaches_far_and_takes_the_place_of_the_grid(model: Any) -> None:
    floor = parts_of(scene(model), 0)[0].shape
    assert isinstance(floor, Plane)
    assert min(floor.size) > 20 * model.stat.extent
    assert scene(model).ground_z is None
    bare = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    assert scene(bare).ground_z == 0


def mujocos_view(model: Any, camera: Any) -> tuple[np.ndarray, np.ndarray]:
    """Place and direction of MuJoCo's own camera: the mean of its two eyes."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    drawn = mujoco.MjvScene(model, 1000)
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL, drawn)
    left, right = drawn.camera
    return (np.array(left.pos) + right.pos) / 2, np.array(left.forward)


def direction(camera: Camera) -> np.ndarray:
    away = np.subtract(camera.target, camera.eye)
    return away / np.linalg.norm(away)


def test_the_camera_is_where_mujocos_own_viewer_begins(model: Any) -> None:
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    place, forward = mujocos_view(model, camera)
    own = scene(model).camera
    assert own is not None
    assert own.eye == pytest.approx(place, abs=1e-4)
    assert direction(own) == pytest.approx(forward, abs=1e-4)
    assert own.fov_y_deg == model.vis.global_.fovy


def test_a_fixed_camera_looks_where_mujocos_does_and_rides_on_its_body() -> None:
    fixed = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><camera name='wall' pos='1 2 3' euler='30 20 0' fovy='60'/>"
        "<body pos='0 0 1'><freejoint/><geom size='1'/><camera name='nose' pos='1 0 0' euler='0 -90 0'/></body>"
        "</worldbody></mujoco>"
    )
    camera = mujoco.MjvCamera()
    camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    wall = scene_camera(fixed, camera)
    place, forward = mujocos_view(fixed, camera)
    assert wall.eye == pytest.approx(place, abs=1e-4)
    assert direction(wall) == pytest.approx(forward, abs=1e-4)
    assert (wall.fov_y_deg, wall.body) == (60, None)
    camera.fixedcamid = 1
    nose = scene_camera(fixed, camera)
    assert nose.body == 1
    place, forward = mujocos_view(fixed, camera)
    assert np.add(nose.eye, (0, 0, 1)) == pytest.approx(place, abs=1e-4)
    assert direction(nose) == pytest.approx(forward, abs=1e-4)


def test_an_orthographic_camera_sees_as_high_as_mujocos() -> None:
    model = mujoco.MjModel.from_xml_string(
        KINDS.replace("<asset>", "<visual><global orthographic='true'/></visual><asset>")
    )
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    drawn = mujoco.MjvScene(model, 1000)
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL, drawn)
    height = drawn.camera[0].frustum_top - drawn.camera[0].frustum_bottom
    assert scene_camera(model, camera).orthographic_height == pytest.approx(height)


def test_the_scene_travels(model: Any) -> None:
    made = scene(model)
    assert unpacked_scene(packed_scene(made).to_bytes()).shapes == made.shapes


def alpha_of(part: Part) -> float:
    """The geom's own alpha: what MuJoCo's renderer lays on twice, but for meshes, whose two sides are drawn."""
    opacity = (*part.shape.color, 1.0)[3]
    return opacity if isinstance(part.shape, Mesh) else 1 - (1 - opacity) ** 0.5


def shown_with(model: Any, flag: str) -> Scene:
    """The scene with a flag that is not as by default."""
    opt = mujoco.MjvOption()
    opt.flags[getattr(mujoco.mjtVisFlag, f"mjVIS_{flag}")] ^= 1
    return scene(model, opt)


def test_what_never_moves_can_be_left_out(model: Any) -> None:
    shown = shown_with(model, "STATIC")
    assert parts_of(shown, 0) == []
    assert len(parts_of(shown, 1)) == len(parts_of(scene(model), 1))


def test_what_moves_can_be_seen_through_as_much_as_the_model_says(model: Any) -> None:
    default, shown = scene(model), shown_with(model, "TRANSPARENT")
    for before, after in zip(parts_of(default, 1), parts_of(shown, 1), strict=True):
        assert after.shape.color[:3] == before.shape.color[:3]
        assert alpha_of(after) == pytest.approx(alpha_of(before) * model.vis.map.alpha)
    assert [part.shape.color for part in parts_of(shown, 0)] == [part.shape.color for part in parts_of(default, 0)]


def test_a_mesh_that_collides_can_be_shown_as_its_hull() -> None:
    # A tetrahedron with a dent: its hull has four faces fewer.
    dented = """
    <mujoco>
      <asset><mesh name="dented" inertia="shell" vertex="0 0 0  1 0 0  0 1 0  0 0 1  0.2 0.2 0.05"
        face="0 1 3  0 3 2  1 2 3  0 4 1  1 4 2  2 4 0"/></asset>
      <worldbody>
        <body><freejoint/><geom type="mesh" mesh="dented"/></body>
        <body><freejoint/><geom type="mesh" mesh="dented" contype="0" conaffinity="0"/></body>
      </worldbody>
    </mujoco>
    """
    model = mujoco.MjModel.from_xml_string(dented)
    hull, mesh = (parts_of(shown_with(model, "CONVEXHULL"), body)[0].shape for body in (1, 2))
    assert isinstance(hull, Mesh)
    assert isinstance(mesh, Mesh)
    assert len(hull.faces) == 4
    assert len(mesh.faces) == 6
    corners = hull.vertices[hull.faces]
    outwards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", outwards, corners.mean(axis=1) - hull.vertices.mean(axis=0)) > 0).all()


def test_what_has_an_impossible_size_place_or_colour_spoils_nothing_else() -> None:
    broken = mujoco.MjModel.from_xml_string(KINDS)
    broken.geom("ball").size[0] = np.nan
    broken.geom("egg").size[1] = -1
    broken.geom("can").pos[0] = np.inf
    broken.geom("box").rgba[:3] = (np.nan, 7, -7)
    broken.geom("pill").rgba[3] = np.nan
    shapes = [part.shape for part in parts_of(scene(broken), 1)]
    assert [type(shape) for shape in shapes] == [Box, Mesh, Sphere, Box]  # box, wedge, glass, tip
    assert shapes[0].color == (0, 1, 0)


def test_a_camera_with_numbers_that_are_not_finite_looks_from_somewhere(model: Any) -> None:
    camera = mujoco.MjvCamera()
    camera.lookat[:] = np.nan, 1, 2
    camera.distance, camera.azimuth, camera.elevation = np.inf, np.nan, -np.inf
    assert scene_camera(model, camera).target == (0, 1, 2)
    camera.lookat[:] = 0
    camera.distance = -1
    assert np.isfinite(scene_camera(model, camera).eye).all()
