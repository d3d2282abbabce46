from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc import config
from twixt.ipc.groups import RESERVED_NAMES
from twixt.ipc.scene import (
    Box,
    Camera,
    Capsule,
    ColorBy,
    Cylinder,
    Ellipsoid,
    Group,
    Plane,
    Scene,
    SceneError,
    Sphere,
)

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
    camera=Camera(eye=(1, 2, 3), target=(0, 1, 0), fov_y_deg=50, body=2),
    ground=-1.5,
    outline=((-1.0, -1.0, 0.0), (1.0, 1.0, 2.0)),
    background=(0.1, 0.2, 0.3),
    light=(0, 0, 1),
    unlit=True,
    parents={1: 0, 2: 1},
    groups={"late": Group(bodies=[3, 0], interpolation="none", delay_ms=80.0), "own": Group((2,), "my_blend:Ease")},
    columns={"heat": "linear", "frame": "my_rules:pick"},
    color_by=ColorBy("heat", low=-1, high=4, low_color=(0, 0, 0), high_color=(1, 1, 1)),
)


def told(scene: Scene) -> dict[str, Any]:
    """All that a scene says, comparable."""
    names = [name for name in scene.__dataclass_fields__ if name not in ("shapes", "shape_index")]
    return {name: getattr(scene, name) for name in names} | {"index": scene.shape_index.tolist()}


@pytest.mark.parametrize("scene", [FULL, Scene(), Scene([Sphere()] * 300)], ids=["all", "nothing", "shapes"])
def test_a_viewer_receives_the_whole_scene(scene: Scene) -> None:
    received = Scene.from_bytes(scene.to_bytes())
    assert told(received) == told(scene)
    assert received.to_bytes() == scene.to_bytes()


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
        with pytest.raises(SceneError, match="circle"):
            Scene(parents=parents)
        return
    received = Scene.from_bytes(Scene([Sphere()], parents=parents, groups=groups).to_bytes())
    assert received.parents == parents
    assert received.groups == groups
    expected = [parents[body] if body in parents and parents[body] < count else -1 for body in range(count)]
    assert received.parent_rows(count).tolist() == expected
    assert received.parent_rows(count).dtype == np.int32
    rows = received.group_rows(count).tolist()
    assert rows == [bodies.index(body) % 2 if body in bodies else -1 for body in range(count)]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Scene(parents={1: 1}), "1 -> 1"),
        (lambda: Scene(parents={5: 1, 1: 2, 2: 1}), "1 -> 2 -> 1|2 -> 1 -> 2"),
        (lambda: Scene(parents={0: -1}), "whole numbers >= 0, got -1"),
        (lambda: Scene(parents={0: 1.5}), "got 1.5"),  # type: ignore[dict-item]
        (lambda: Scene(parents={"cube": 0}), "got 'cube'"),  # type: ignore[dict-item]
        (lambda: Group([0, True]), "got True"),
        (lambda: Group([4, 2, 4]), "got 4 twice"),
        (lambda: Group([0], interpolation="smoothest"), "one of .*linear.*, module:Class"),
        (lambda: Group([0], interpolation="a b:C"), "got 'a b:C'"),
        (lambda: Group([0], delay_ms=-1), "<= 10000, got -1"),
        (lambda: Group([0], delay_ms=1e300), "<= 10000, got 1e\\+300"),
        (lambda: Group([0], delay_ms="late"), "finite number, got 'late'"),  # type: ignore[arg-type]
        (lambda: Group(4), r"such as \[4, 5\], got 4"),  # type: ignore[arg-type]
        (lambda: Group([0], delay_ms=float("nan")), "got nan"),
        (lambda: Scene(groups={"a": Group([1, 2]), "b": Group([2])}), "got 2 in 'a' and in 'b'"),
        (lambda: Scene(groups={RESERVED_NAMES[0]: Group([1])}), "other than children"),
        (lambda: Scene(groups={"a": [1, 2]}), r"Group\(bodies"),  # type: ignore[dict-item]
        (lambda: Scene(columns={"heat": "cubic"}), "column 'heat' must be one of linear, angle, none, latest"),
        (lambda: Scene(color_by="heat"), r"ColorBy\(column"),  # type: ignore[arg-type]
        (lambda: ColorBy("heat", low=1, high=1), "differ, got 1 and 1"),
        (lambda: ColorBy("heat", high=float("inf")), "high must be a finite number, got inf"),
        (lambda: ColorBy("heat", low_color=(0, 0, 2)), "each from 0 to 1"),
        (lambda: ColorBy(""), "name of a column"),
        (lambda: ColorBy("heat", low="cold"), "low must be a finite number, got 'cold'"),  # type: ignore[arg-type]
        (lambda: ColorBy("heat", low_color=None), "low_color .* got None"),  # type: ignore[arg-type]
        (lambda: Camera(body=-2), "got -2"),
        (lambda: Camera(eye=(1, 1, 1), target=(1, 1, 1)), "eye and Camera.target must differ, got .1.0, 1.0, 1.0. for"),
        (lambda: Camera(fov_y_deg=171), "fov_y_deg must be from 1 to 170, got 171"),
        (lambda: Scene(columns=["heat"]), r"columns must map columns to rules, .*\['heat'\]"),  # type: ignore[arg-type]
        (lambda: Scene(light=(0, 0, 0)), "light must not be the zero vector"),
        (lambda: Camera(eye=None), "Camera.eye must be three finite numbers, got None"),  # type: ignore[arg-type]
        (lambda: Camera(eye="abc"), "Camera.eye must be three finite numbers, got 'abc'"),  # type: ignore[arg-type]
        (lambda: Camera(fov_y_deg="wide"), "fov_y_deg must be a finite number"),  # type: ignore[arg-type]
        (lambda: Scene(Sphere()), r"one shape per body, .* got Sphere\("),  # type: ignore[arg-type]
        (lambda: Scene(None), "one shape per body, .* got None"),  # type: ignore[arg-type]
        (lambda: Scene(camera="front"), r"Camera\(eye, target\), .* got 'front'"),  # type: ignore[arg-type]
        (lambda: Scene(ground="floor"), "Scene.ground must be a finite number, got 'floor'"),  # type: ignore[arg-type]
        (lambda: Scene(ground=float("nan")), "Scene.ground must be a finite number, got nan"),
        (lambda: Scene(outline=(1, 2)), "corner of Scene.outline must be three finite numbers"),  # type: ignore[arg-type]
        (lambda: Scene(outline=((0, 0, 0),)), "two corners"),  # type: ignore[arg-type]
        (lambda: Scene(background="red"), "each from 0 to 1, got 'red'"),  # type: ignore[arg-type]
        (lambda: Scene(background=None), "each from 0 to 1, got None"),  # type: ignore[arg-type]
        (lambda: Scene(light=3), "Scene.light must be three"),  # type: ignore[arg-type]
        (lambda: Scene(parents=[0, 1]), "map a child to its parent"),  # type: ignore[arg-type]
        (lambda: Scene(groups=[Group([1])]), "map names to groups"),  # type: ignore[arg-type]
        (lambda: Scene(columns=["heat"]), "map columns to rules"),  # type: ignore[arg-type]
        (lambda: Sphere("big"), r"Sphere.radius .* \(metres\), got 'big'"),  # type: ignore[arg-type]
        (lambda: Sphere(color="red"), "each from 0 to 1, got 'red'"),  # type: ignore[arg-type]
        (lambda: Box((1, None, 1)), r"Box.size .* got \(1, None, 1\)"),  # type: ignore[arg-type]
        (lambda: Plane(5), "Plane.size must be 2 finite lengths"),  # type: ignore[arg-type]
        (lambda: Capsule(radius=0), r"Capsule.radius must be a finite length > 0 \(metres\), got 0"),
        (lambda: Capsule(length=0), "Capsule.length must be a finite length > 0 .* got 0"),
        (lambda: Capsule(color=(0, 0, 2)), "Capsule.color .* each from 0 to 1"),
        (lambda: Cylinder(radius=float("inf")), "Cylinder.radius .* got inf"),
        (lambda: Cylinder(length=-1), "Cylinder.length .* got -1"),
        (lambda: Cylinder(0.5, (1, 2)), r"Cylinder.length .* got \(1, 2\)"),  # type: ignore[arg-type]
        (lambda: Ellipsoid((1, 0, 1)), r"Ellipsoid.size must be 3 finite lengths > 0 .* got \(1, 0, 1\)"),
        (lambda: Ellipsoid(2.0), "Ellipsoid.size .* got 2.0"),  # type: ignore[arg-type]
        (lambda: Scene([Sphere(), "cube"]), "Sphere, Box, Plane, Capsule, .* got 'cube' for body 1"),  # type: ignore[list-item]
        (lambda: Scene([Sphere()] * 9 + [None] + [Sphere()] * 9), "got None for body 9"),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_drawn_is_refused_where_it_is_said(wrong: Any, said: str) -> None:
    with pytest.raises(SceneError, match=said):
        wrong()


@pytest.mark.parametrize("method", [None, *config.INTERPOLATIONS, "my_blend:Ease", "my.blend:Ease"])
def test_a_group_takes_any_method_of_the_run_or_one_of_the_users(method: str | None) -> None:
    assert Group([0], method).interpolation == method


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (Scene(parents={1: 7}), "Scene.parents .* 0 to 2, got 7"),
        (Scene(parents={3: 0}), "Scene.parents .* got 3"),
        (Scene(groups={"far": Group([0, 9])}), "group 'far' .* got 9"),
        (Scene(camera=Camera(body=3)), "Camera.body .* got 3"),
    ],
)
def test_bodies_that_are_not_there_are_refused_once_their_number_is_known(scene: Scene, said: str) -> None:
    scene.check_bodies(10)
    with pytest.raises(SceneError, match=said):
        scene.check_bodies(3)


def test_bodies_beyond_the_last_shape_use_that_one() -> None:
    scene = Scene([Sphere(1), Sphere(2), Sphere(1)])
    assert scene.shape_rows(2).tolist() == [0, 1]
    assert scene.shape_rows(5).tolist() == [0, 1, 0, 0, 0]
    assert Scene([Sphere(1), Sphere(2)]).shape_rows(4).tolist() == [0, 1, 1, 1]
    assert Scene().shape_rows(2).tolist() == [0, 0]


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
        ground=np.float32(-1),
        outline=(np.zeros(3), np.ones(3)),
        background=np.array([0.1, 0.2, 0.3]),
        light=np.array([0, 0, 1]),
        unlit=np.bool_(True),
        groups={"late": Group([0], delay_ms=np.int64(20))},
        color_by=ColorBy("heat", low=np.float32(0), high=np.int32(2)),
    )
    assert told(Scene.from_bytes(scene.to_bytes())) == told(scene)


def test_numpy_indices_are_indices() -> None:
    rows = np.arange(3)
    scene = Scene(parents={rows[1]: rows[0]}, groups={"all": Group(rows)}, camera=Camera(body=rows[2]))
    assert told(Scene.from_bytes(scene.to_bytes())) == told(scene)


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
        lambda head: head | {"groups": None},
        lambda head: head | {"color_by": {"no_column": 1}},
        lambda head: head | {"columns": {"heat": "cubic"}},
        lambda head: {key: value for key, value in head.items() if key != "columns"},
    ],
)
def test_a_damaged_scene_is_refused_in_words(damage: Any) -> None:
    head, _, indices = FULL.to_bytes().partition(b"\n")
    packed = json.dumps(damage(json.loads(head))).encode() + b"\n" + indices
    with pytest.raises(SceneError):
        Scene.from_bytes(packed)


def test_parents_and_groups_of_many_bodies_stay_small_on_their_way() -> None:
    count = 100_000
    scene = Scene(
        [Sphere()],
        parents={child: 0 for child in range(1, count)},
        groups={"rest": Group(range(1, count))},
    )
    assert len(scene.to_bytes()) < 13 * count
