from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import (
    Box,
    Camera,
    Capsule,
    ColorBy,
    Compound,
    Cylinder,
    Ellipsoid,
    Group,
    Material,
    Mesh,
    Part,
    Plane,
    Scene,
    SceneError,
    Sphere,
    Texture,
)
from twixt.ipc.scene.camera import height_at_target
from twixt.ipc.scene.groups import rows_of_groups, rows_of_parents
from twixt.ipc.scene.scene import packed_scene, shape_list, unpacked_scene

FULL = Scene(
    [
        Sphere(0.1),
        Sphere(0.1, color=(1, 0, 0)),
        Box((1, 2, 3)),
        Plane((4, 5)),
        Capsule(0.2, 3.0, color=(0, 0, 1)),
        Cylinder(0.3, 0.01),
        Ellipsoid((3, 2, 1)),
    ],
    camera=Camera(
        eye=(1, 2, 3),
        target=(0, 1, 0),
        fov_y_deg=50,
        body=2,
        orthographic_height=2.5,
        up=(1, 0, 0.5),
        principal_point=(0.5, -1),
        locked=True,
    ),
    pattern=True,
    labels=["left", "größer", "\n", ""],
    ground_z=-1.5,
    outline=((-1.0, -1.0, 0.0), (1.0, 1.0, 2.0)),
    background=(0.1, 0.2, 0.3),
    light=(0, 0, 1),
    brightness=0.5,
    look="flat",
    parents={1: 0, 2: 1},
    groups={"late": Group(bodies=[3, 0], interpolation="none", delay_ms=80.0), "own": Group((2,), "my_blend:Ease")},
    columns={"heat": "linear", "frame": "my_rules:pick", "glow": "linear"},
    part_columns=["glow"],
    color_by=ColorBy("heat", low=-1, high=4, low_color=(0, 0, 0), high_color=(1, 1, 1)),
)


SKY = Scene([Sphere(), Box()], background=Texture(np.arange(6 * 2 * 2 * 3, dtype=np.uint8).reshape(6, 2, 2, 3)))
TETRAHEDRON, ITS_FACES = [(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
PARTS = Scene(
    [
        Mesh(TETRAHEDRON, ITS_FACES),
        Compound([Part(Sphere(0.1)), Part(Mesh(TETRAHEDRON, ITS_FACES, "smooth", (1, 0, 0)), (1, 2, 3), (0, 0, 3, 4))]),
        Compound([]),
        Compound([Part(Box(), orientation=(1, 1, 1, 1)), Part(Mesh(TETRAHEDRON, ITS_FACES, "smooth", (1, 0, 0)))]),
        Sphere(),
    ]
)


def told(scene: Scene) -> dict[str, Any]:
    """All that a scene says, comparable."""
    names = [name for name in scene.__dataclass_fields__ if name != "shapes"]
    return {name: getattr(scene, name) for name in names} | {"index": shape_list(scene).rows.tolist()}


@pytest.mark.parametrize(
    "scene", [FULL, PARTS, Scene(), SKY, Scene([Sphere()] * 300)], ids=["all", "parts", "nothing", "sky", "shapes"]
)
def test_a_viewer_receives_the_whole_scene(scene: Scene) -> None:
    received = unpacked_scene(packed_scene(scene).to_bytes())
    assert told(received) == told(scene)
    assert packed_scene(received).to_bytes() == packed_scene(scene).to_bytes()


@given(
    st.dictionaries(st.integers(0, 30), st.integers(0, 30), max_size=12),
    st.lists(st.integers(0, 40), unique=True, max_size=12),
    st.integers(0, 40),
)
def test_parents_and_groups_always_arrive_as_they_were_said_and_a_circle_never(
    parents: dict[int, int], bodies: list[int], count: int
) -> None:
    def depth(body: int) -> int:
        steps = 0
        while body in parents and steps <= len(parents):
            body, steps = parents[body], steps + 1
        return steps

    groups = {"some": Group(bodies[::2]), "others": Group(bodies[1::2], "none")}
    if any(depth(body) > len(parents) for body in parents):
        with pytest.raises(SceneError, match="cycle"):
            Scene(parents=parents)
        return
    received = unpacked_scene(packed_scene(Scene([Sphere()], parents=parents, groups=groups)).to_bytes())
    assert received.parents == parents
    assert received.groups == groups
    expected = [parents[body] if body in parents and parents[body] < count else -1 for body in range(count)]
    assert rows_of_parents(received.parents, count).tolist() == expected
    assert rows_of_parents(received.parents, count).dtype == np.int32
    rows = rows_of_groups(received.groups, count).tolist()
    assert rows == [bodies.index(body) % 2 if body in bodies else -1 for body in range(count)]


ORTHOGRAPHIC = (
    "Camera.orthographic_height must be the height of the picture in metres, > 0, or None for perspective, got"
)
WRONG_POINT = (
    "Camera.principal_point must be two numbers from -1 to 1, shares of the picture's height from its middle, got {}"
)
WRONG_UP = "Camera.up must not be 0 and not point along the line of sight, got {}; leave it out for z up"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"eye": None}, "Camera.eye must be three finite numbers, got None"),
        ({"eye": "abc"}, "Camera.eye must be three finite numbers, got 'abc'"),
        ({"target": (0, 0)}, "Camera.target must be three finite numbers, got (0, 0)"),
        (
            {"eye": (1, 1, 1), "target": (1, 1, 1)},
            "Camera.eye and Camera.target must differ, got (1.0, 1.0, 1.0) for both",
        ),
        ({"up": (0, 1)}, "Camera.up must be three finite numbers, got (0, 1)"),
        ({"up": (0, 0, 0)}, WRONG_UP.format("(0.0, 0.0, 0.0)")),
        ({"up": (-3, 4, -2.5)}, WRONG_UP.format("(-3.0, 4.0, -2.5)")),
        ({"fov_y_deg": "wide"}, "Camera.fov_y_deg must be a finite number, got 'wide'"),
        ({"fov_y_deg": 0.99}, "Camera.fov_y_deg must be from 1 to 170, got 0.99"),
        ({"fov_y_deg": 171}, "Camera.fov_y_deg must be from 1 to 170, got 171.0"),
        ({"body": -2}, "Camera.body must be indices of bodies, whole numbers >= 0, got -2"),
        ({"principal_point": (0, 1.01)}, WRONG_POINT.format("(0, 1.01)")),
        ({"principal_point": (0, 0, 0)}, WRONG_POINT.format("(0, 0, 0)")),
        ({"principal_point": float("nan")}, WRONG_POINT.format("nan")),
        ({"principal_point": (float("nan"), 0)}, WRONG_POINT.format("(nan, 0)")),
        ({"orthographic_height": 0}, f"{ORTHOGRAPHIC} 0"),
        ({"orthographic_height": "yes"}, f"{ORTHOGRAPHIC} 'yes'"),
        ({"orthographic_height": float("inf")}, f"{ORTHOGRAPHIC} inf"),
        ({"orthographic_height": True}, f"{ORTHOGRAPHIC} True"),
        ({"orthographic_height": np.bool_(False)}, f"{ORTHOGRAPHIC} np.False_"),
    ],
)
def test_a_camera_that_sees_nothing_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SceneError) as refused:
        Camera(**wrong)
    assert str(refused.value) == said


@pytest.mark.parametrize("fov_y_deg", [1, 170])
def test_a_camera_may_be_as_narrow_and_as_wide_as_it_says(fov_y_deg: float) -> None:
    assert Camera(fov_y_deg=fov_y_deg).fov_y_deg == fov_y_deg


@pytest.mark.parametrize(("given", "kept"), [(None, None), (3, 3.0), (np.float32(0.5), 0.5)])
def test_an_orthographic_camera_keeps_the_height_of_its_picture(given: Any, kept: float | None) -> None:
    height = Camera((10, 0, 0), (0, 0, 0), fov_y_deg=90, orthographic_height=given).orthographic_height
    assert (height, type(height)) == (kept, type(kept))


def test_the_height_at_the_target_is_that_of_the_angle_of_view() -> None:
    assert height_at_target((10, 0, 0), (0, 0, 0), 90) == pytest.approx(20)


RANGE = "each from 0 to 1, or np.uint8(...) from 0 to 255"
COLOR = f"must be (red, green, blue), {RANGE}"
CORNERS = "Scene.outline must be two corners, ((x, y, z), (x, y, z)), or None, got"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"shapes": None}, "Scene.shapes must be one shape per body, such as [Sphere()] * 3, got None"),
        ({"camera": "front"}, "Scene.camera must be Camera(eye, target), or None for all bodies, got 'front'"),
        ({"ground_z": "floor"}, "Scene.ground_z must be a finite number, got 'floor'"),
        ({"ground_z": float("nan")}, "Scene.ground_z must be a finite number, got nan"),
        ({"outline": 3}, f"{CORNERS} 3"),
        ({"outline": "ab"}, f"{CORNERS} 'ab'"),
        ({"outline": ((0, 0, 0),)}, f"{CORNERS} ((0, 0, 0),)"),
        ({"outline": (1, 2)}, "a corner of Scene.outline must be three finite numbers, got 1"),
        ({"outline": ((0, 0, 0), "abc")}, "a corner of Scene.outline must be three finite numbers, got 'abc'"),
        ({"background": "red"}, f"Scene.background {COLOR}, got 'red'"),
        ({"background": None}, f"Scene.background {COLOR}, or a Texture, got None"),
        ({"brightness": -0.1}, "Scene.brightness must be from 0 to 4, got -0.1"),
        ({"brightness": float("nan")}, "Scene.brightness must be a finite number, got nan"),
        ({"light": 3}, "Scene.light must be three finite numbers, got 3"),
        ({"light": (0, 0, 0)}, "Scene.light must not be the zero vector; it points towards the light"),
        ({"look": "nice"}, 'Scene.look must be "lit", "flat" or "unlit", got \'nice\''),
        ({"look": None}, 'Scene.look must be "lit", "flat" or "unlit", got None'),
        ({"labels": "left"}, 'Scene.labels must be texts, such as ("left", "right"), got \'left\''),
        ({"labels": 3}, 'Scene.labels must be texts, such as ("left", "right"), got 3'),
        ({"labels": ["a" * 999]}, "Scene.labels must be texts of up to 200 characters, got '" + 39 * "a"),
        ({"labels": ["a", 3]}, "Scene.labels must be texts of up to 200 characters, got 3"),
        (
            {"labels": ["\ud800"]},
            "Scene.labels must be texts that can be written in UTF-8: 'utf-8' codec can't encode "
            "character '\\ud800' in position 0: surrogates not allowed",
        ),
        ({"color_by": "heat"}, "Scene.color_by must be ColorBy(column, low, high), got 'heat'"),
        ({"parents": [0, 1]}, "Scene.parents must map a child to its parent, such as {1: 0}, got [0, 1]"),
        ({"groups": 3}, 'Scene.groups must map names to groups, such as {"hand": Group([4, 5])}, got 3'),
        ({"columns": {3: "linear"}}, "Scene.columns must map the names of columns to rules, got 3"),
        ({"columns": ["heat"]}, 'Scene.columns must map columns to rules, such as {"heat": "linear"}, got [\'heat\']'),
        (
            {"columns": {"frame": "none", "heat": "cubic"}},
            "the rule of column 'heat' must be one of linear, angle, none, latest, or your own module:function, got 'cubic'",
        ),
    ],
)
def test_a_scene_that_cannot_be_drawn_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SceneError) as refused:
        Scene(**wrong)
    assert str(refused.value) == said


def test_a_scene_of_nothing_but_defaults_has_a_ground_and_light_and_draws_all_bodies() -> None:
    scene = Scene()
    assert (len(scene.shapes), scene.camera, scene.ground_z, scene.outline) == (0, None, 0.0, None)
    assert scene.light[2] > 0
    assert (scene.look, scene.pattern) == ("lit", False)
    assert (scene.parents, scene.groups, scene.columns, scene.color_by) == ({}, {}, {}, None)


def test_corners_may_come_from_anywhere() -> None:
    corners = ((-1.0, -1.0, 0.0), (1.0, 1.0, 2.0))
    assert Scene(outline=iter(corners)).outline == corners  # type: ignore[arg-type]
    assert Scene(outline=np.array(corners)).outline == corners  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (
            Scene(parents={1: 7}),
            "Scene.parents must name bodies that exist, 0 to 2, got 7; add that body, or name another",
        ),
        (
            Scene(parents={3: 0}),
            "Scene.parents must name bodies that exist, 0 to 2, got 3; add that body, or name another",
        ),
        (
            Scene(groups={"near": Group([1]), "far": Group([9, 0])}),
            "group 'far' must name bodies that exist, 0 to 2, got 9; add that body, or name another",
        ),
        (
            Scene(camera=Camera(body=3)),
            "Camera.body must name bodies that exist, 0 to 2, got 3; add that body, or name another",
        ),
    ],
)
def test_bodies_that_are_not_there_are_refused_once_their_number_is_known(scene: Scene, said: str) -> None:
    scene.check_bodies(10)
    with pytest.raises(SceneError) as refused:
        scene.check_bodies(3)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    "scene", [Scene(), Scene(camera=Camera()), Scene(groups={"none yet": Group([])})], ids=["bare", "camera", "group"]
)
def test_a_scene_that_names_no_body_is_right_for_no_bodies(scene: Scene) -> None:
    scene.check_bodies(0)


def test_bodies_beyond_the_last_shape_use_that_one() -> None:
    scene = Scene([Sphere(1), Sphere(2), Sphere(1)])
    assert shape_list(scene).rows_for(2).tolist() == [0, 1]
    assert shape_list(scene).rows_for(5).tolist() == [0, 1, 0, 0, 0]
    assert shape_list(Scene([Sphere(1), Sphere(2)])).rows_for(4).tolist() == [0, 1, 1, 1]
    assert shape_list(Scene()).rows_for(2).tolist() == [0, 0]


def test_a_parent_that_is_not_there_is_none() -> None:
    scene = Scene(parents={1: 3, 2: 0, 5: 1})
    assert rows_of_parents(scene.parents, 3).tolist() == [-1, -1, 0]
    assert rows_of_parents(scene.parents, 4).tolist() == [-1, 3, 0, -1]


def test_rows_are_of_the_type_that_drawing_uploads() -> None:
    assert shape_list(FULL).rows_for(9).dtype == np.uint16
    assert rows_of_parents(FULL.parents, 9).dtype == np.int32
    assert rows_of_groups(FULL.groups, 9).dtype == np.int32


def test_changing_parents_and_groups_afterwards_does_not_change_the_scene() -> None:
    parents, groups = {1: 0}, {"late": Group([1])}
    scene = Scene(parents=parents, groups=groups)
    parents[0] = 1
    groups["late"] = Group([7])
    assert scene.parents == {1: 0}
    assert scene.groups == {"late": Group([1])}


def test_what_comes_from_numpy_arrives_as_plain_numbers() -> None:
    scene = Scene(
        [
            Sphere(np.float32(0.5), np.array([1, 0, 0.0])),
            Box(np.ones(3)),
            Plane(np.ones(2)),
            Capsule(np.float32(0.5), np.int64(2)),
            Cylinder(np.ones(1), np.float64(1)),
            Ellipsoid(np.ones(3)),
        ],
        camera=Camera(np.array([1.0, 2, 3]), np.zeros(3, np.float32), np.float32(40)),
        ground_z=np.float32(-1),
        outline=(np.zeros(3), np.ones(3)),
        background=np.array([0.1, 0.2, 0.3]),
        light=np.array([0, 0, 1]),
        groups={"late": Group([0], delay_ms=np.int64(20))},
        color_by=ColorBy("heat", low=np.float32(0), high=np.int32(2)),
    )
    assert told(unpacked_scene(packed_scene(scene).to_bytes())) == told(scene)


def test_numpy_indices_are_indices() -> None:
    rows = np.arange(3)
    scene = Scene(parents={rows[1]: rows[0]}, groups={"all": Group(rows)}, camera=Camera(body=rows[2]))
    assert told(unpacked_scene(packed_scene(scene).to_bytes())) == told(scene)


@pytest.mark.parametrize(
    "damage",
    [
        lambda head: head | {"format": 1},
        lambda head: head | {"bodies": head["bodies"] + 1},
        lambda head: head | {"shapes": head["shapes"][:3]},
        lambda head: head | {"shapes": [*head["shapes"][:-1], {"kind": "cone"}]},
        lambda head: head | {"parents": 5},
        lambda head: head | {"members": [1, -1]},
        lambda head: head | {"members": []},
        lambda head: head | {"members": [3]},
        lambda head: head | {"members": [1, 1, 1]},
        lambda head: head | {"groups": None},
        lambda head: head | {"color_by": {"no_column": 1}},
        lambda head: head | {"columns": {"heat": "cubic"}},
        lambda head: {key: value for key, value in head.items() if key != "columns"},
        lambda head: head | {"look": 7},
        lambda head: head | {"camera": head["camera"] | {"orthographic_height": -1}},
        lambda head: head | {"camera": head["camera"] | {"lens": 1}},
    ],
)
def test_a_damaged_scene_is_refused_in_words(damage: Any) -> None:
    head, _, indices = packed_scene(FULL).to_bytes().partition(b"\n")
    packed = json.dumps(damage(json.loads(head))).encode() + b"\n" + indices
    with pytest.raises(SceneError):
        unpacked_scene(packed)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"format": 1}, "this viewer reads scenes of format 12, got format 1"),
        ({"bodies": 8}, "a scene of 8 bodies came with 42 bytes of indices"),
        ({"parents": -1}, "a scene of 7 bodies came with 42 bytes of indices"),
        ({"parents": 4, "members": [-1, 0]}, "a scene of 7 bodies came with 42 bytes of indices"),
        (
            {"shapes": [{"kind": "sphere", "radius": 1, "material": None}] * 6},
            "a scene of 6 shapes came with the shape index 6",
        ),
        ({"shapes": []}, "a scene of 0 shapes came with the shape index 6"),
        ({"shapes": [{"kind": "cone"}]}, "the scene received is damaged ('cone'); restart the simulation"),
    ],
)
def test_a_damaged_scene_says_what_is_wrong_with_it(damage: dict[str, Any], said: str) -> None:
    head, _, indices = packed_scene(FULL).to_bytes().partition(b"\n")
    with pytest.raises(SceneError) as refused:
        unpacked_scene(json.dumps(json.loads(head) | damage).encode() + b"\n" + indices)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    "damage",
    [
        lambda head: head["meshes"][0]["lengths"].__setitem__(0, 5),
        lambda head: head["meshes"][0]["lengths"].__setitem__(0, -1),
        lambda head: head["meshes"][0]["lengths"].__setitem__(1, 1 << 60),
        lambda head: head["meshes"][0]["lengths"].pop(),
        lambda head: head["meshes"][0].update(lengths=3),
        lambda head: head["meshes"][0].update(digest="00" * 16),
        lambda head: head["meshes"].append(head["meshes"][0] | {"digest": "00" * 16}),
        lambda head: head["meshes"].pop(),
        lambda head: head["shapes"][0].update(mesh=7),
        lambda head: head["shapes"][0].update(mesh=-1),
        lambda head: head["shapes"][0].update(mesh=None),
        lambda head: head["shapes"][1]["parts"][0].__setitem__(0, 7),
        lambda head: head["shapes"][1]["parts"][0].__setitem__(0, -1),
        lambda head: head["shapes"][1]["parts"].append([0]),
        lambda head: head["part_shapes"].append({"kind": "compound", "parts": []}),
        lambda head: head.pop("part_shapes"),
    ],
)
def test_a_scene_with_damaged_parts_is_refused(damage: Any) -> None:
    head, _, arrays = packed_scene(PARTS).to_bytes().partition(b"\n")
    said = json.loads(head)
    damage(said)
    with pytest.raises(SceneError):
        unpacked_scene(json.dumps(said).encode() + b"\n" + arrays)


def test_a_mesh_of_many_bodies_travels_once() -> None:
    mesh = Mesh(TETRAHEDRON, ITS_FACES)
    arms = [Compound([Part(mesh, (place, 0, 0))]) for place in range(50)]
    alone, often = (
        len(packed_scene(Scene([mesh])).to_bytes()),
        len(packed_scene(Scene([Mesh(TETRAHEDRON, ITS_FACES), *arms, mesh])).to_bytes()),
    )
    assert often - alone < 50 * 120


def test_a_mesh_in_many_colors_and_of_many_materials_travels_once() -> None:
    ground = Mesh.height_field(np.zeros((20, 20)), (1, 1))
    colors = [ground.recolored((0, 0, share / 50), Material(roughness=0.5 + share / 100)) for share in range(50)]
    written = Scene([*colors, Compound([Part(colors[3])])])
    alone, often = len(packed_scene(Scene([ground])).to_bytes()), len(packed_scene(written).to_bytes())
    assert often - alone < 50 * 200
    read = unpacked_scene(packed_scene(written).to_bytes())
    assert read.shapes == written.shapes
    assert len({id(shape.vertices) for shape in shape_list(read).table if isinstance(shape, Mesh)}) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Part(Compound([])), r"Part.shape must be one shape, such as Sphere\(0.1\)"),  # type: ignore[arg-type]
        (lambda: Part(Sphere(), orientation=(0, 0, 0, 0)), "four finite numbers, not all 0"),
        (lambda: Part(Sphere(), position=(0, float("inf"), 0)), "Part.position must be three finite numbers"),
        (lambda: Compound(Part(Sphere())), "Compound.parts must be a list of parts"),  # type: ignore[arg-type]
        (lambda: Compound([Sphere()]), r"Compound.parts must be parts, such as Part\(Sphere\(\)\)"),  # type: ignore[list-item]
    ],
)
def test_what_is_no_part_is_refused_in_words(wrong: Any, said: str) -> None:
    with pytest.raises(SceneError, match=said):
        wrong()


def test_parts_have_unit_orientations_and_a_body_reaches_as_far_as_its_parts() -> None:
    part = Part(Sphere(0.5), (0, 3, 4), (0, 0, 3, 4))
    assert part.orientation == (0, 0, 0.6, 0.8)
    assert Compound([part, Part(Sphere(2))]).reach == 5.5
    assert Compound([]).reach == 0


def test_a_part_keeps_its_orientation_as_xyzw_whatever_order_it_was_given_in() -> None:
    usual, other = Part(Sphere(), orientation=(1, 2, 3, 4)), Part(Sphere(), orientation=(4, 1, 2, 3), quat="wxyz")
    assert other == usual
    assert hash(other) == hash(usual)
    assert repr(other) == repr(usual)
    assert other.orientation == pytest.approx(np.array((1, 2, 3, 4)) / np.sqrt(30))
    assert Part(Sphere(), orientation=np.array((4, 1, 2, 3)), quat="wxyz") == usual
    assert Part(Sphere(), quat="wxyz").orientation == (0, 0, 0, 1)
    scene = Scene([Compound([other])])
    assert unpacked_scene(packed_scene(scene).to_bytes()).shapes == scene.shapes


def test_a_part_that_is_replaced_keeps_its_orientation_or_takes_a_new_one_in_its_order() -> None:
    part = Part(Sphere(), orientation=(0.8, 0.6, 0, 0), quat="wxyz")
    moved = replace(part, position=(1, 0, 0))
    assert moved == Part(Sphere(), (1, 0, 0), (0.6, 0, 0, 0.8))
    assert replace(moved, position=(0, 0, 0)) == replace(part) == copy.deepcopy(part) == part
    assert pickle.loads(pickle.dumps(part)) == part
    assert replace(part, orientation=(0, 0, 0, 1)).orientation == (0, 0, 0, 1)
    assert replace(part, orientation=(0, 0, 0, 1), quat="wxyz").orientation == (0, 0, 1, 0)


def test_an_unknown_order_of_a_part_is_refused() -> None:
    wrong: Any = "wzyx"
    for call in (lambda: Part(Sphere(), quat=wrong), lambda: Part(Sphere(), orientation=(0, 0, 0, 1), quat=wrong)):
        with pytest.raises(TwixtError, match=r'^quat must be "xyzw" or "wxyz", got \'wzyx\'$'):
            call()
    with pytest.raises(SceneError, match="Part.orientation must be a quaternion wxyz, four finite numbers, not all 0"):
        Part(Sphere(), orientation=(0, 0, 0, 0), quat="wxyz")


@pytest.mark.parametrize(
    "packed", [b"", b"\n", b"null\n", b"[]\n", b"\xff\n", b"[" * 100_000], ids=lambda p: repr(p[:5])
)
def test_bytes_that_are_no_scene_are_refused_with_the_way_out(packed: bytes) -> None:
    with pytest.raises(SceneError, match=r"^the scene received is damaged \(.*\); restart the simulation$"):
        unpacked_scene(packed)


def test_what_a_viewer_does_not_know_of_a_shape_is_left_aside() -> None:
    head, _, indices = packed_scene(Scene([Sphere(0.1)])).to_bytes().partition(b"\n")
    said = json.loads(head)
    said["shapes"][0]["shine"] = 0.5
    assert unpacked_scene(json.dumps(said).encode() + b"\n" + indices).shapes == [Sphere(0.1)]


def test_parents_and_groups_of_many_bodies_stay_small_on_their_way() -> None:
    count = 100_000
    scene = Scene(
        [Sphere()],
        parents={child: 0 for child in range(1, count)},
        groups={"rest": Group(range(1, count))},
    )
    assert len(packed_scene(scene).to_bytes()) < 13 * count


def test_a_scene_keeps_columns_of_its_own() -> None:
    given = {"heat": "linear"}
    scene = Scene([Sphere()], columns=MappingProxyType(given))
    given["heat"] = "cubic"
    assert unpacked_scene(packed_scene(scene).to_bytes()).columns == scene.columns == {"heat": "linear"}


def test_the_texture_of_a_background_is_used_again() -> None:
    before, packed = unpacked_scene(packed_scene(SKY).to_bytes()), packed_scene(SKY)
    assert unpacked_scene(packed.to_bytes(packed.contents.keys()), before).background is before.background
    assert before.shapes == SKY.shapes


def test_a_background_that_is_missing_is_refused() -> None:
    head, _, rest = packed_scene(Scene([Sphere()] * 2)).to_bytes().partition(b"\n")
    said = json.loads(head) | {"background": None}
    with pytest.raises(SceneError):
        unpacked_scene(json.dumps(said).encode() + b"\n" + rest)
