"""Part and world columns of a world's bodies: declaration, values, and the scene that they belong to."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.scene import Box, ColorBy, Compound, Part, Scene, Sphere
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column, scene_with_columns
from twixt.sim.world.world import World
from twixt.sim.world.world_guard import GuardedWorld, check_world

PAIR = Compound([Part(Box(color=(1, 0, 0))), Part(Sphere(color=(0, 1, 0, 0.5)), (0, 0, 1))])
SCENE = Scene([Sphere(color=(0, 0, 1)), PAIR])
DECLARED = {
    "color": Column("u1", 4, per="part"),
    "scale3": Column("f4", 3, per="part"),
    "visible": Column("bool", per="part"),
    "load": Column("f4", per="part"),
    "wind": Column("f4", 3, per="world"),
}


def made(count: int = 2) -> Bodies:
    return Bodies(count, columns=DECLARED, scene=SCENE)


def test_part_columns_begin_as_the_scene_has_its_parts() -> None:
    columns = made().columns
    assert columns["color"].tolist() == [[0, 0, 255, 255], [255, 0, 0, 255], [0, 255, 0, 128]]
    assert columns["scale3"].tolist() == [[1, 1, 1]] * 3
    assert columns["visible"].tolist() == [True] * 3
    assert columns["load"].tolist() == [0, 0, 0]
    assert columns["wind"].tolist() == [[0, 0, 0]]
    floats = Bodies(2, columns={"color": Column("f4", 4, per="part")}, scene=SCENE).columns["color"]
    assert floats[0].tolist() == [0, 0, 1, 1]


def test_a_spawned_body_brings_the_rows_of_its_parts_and_a_reused_one_begins_afresh() -> None:
    bodies = made()
    bodies.columns["color"][:] = np.uint8(9)
    bodies.columns["wind"][0] = 1, 2, 3
    assert bodies.spawn() == 2
    assert bodies.columns["color"].tolist() == [[9] * 4] * 3 + [[255, 0, 0, 255], [0, 255, 0, 128]]
    bodies.despawn(1)
    bodies.spawn()
    assert bodies.columns["color"].tolist()[:3] == [[9] * 4, [255, 0, 0, 255], [0, 255, 0, 128]]
    assert bodies.columns["wind"].tolist() == [[1, 2, 3]]


def test_the_first_bodies_are_published_with_the_rows_of_their_parts() -> None:
    rows = {name: len(values) for name, values in made(4)._published_columns(0, 2).items()}
    assert rows == {"color": 3, "scale3": 3, "visible": 3, "load": 3, "wind": 1}
    assert made()._column_layout["color"] == ("|u1", 4, "part")


def test_a_copy_has_columns_of_its_own() -> None:
    bodies = made()
    other = copy.deepcopy(bodies)
    other.columns["color"][:] = 1
    assert bodies.columns["color"][0].tolist() == [0, 0, 255, 255]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"color": Column("u1", 4)}, "must not be called 'color'.*per=\"part\""),
        ({"visible": Column("bool", per="world")}, "must not be called 'visible'"),
        ({"position": Column("f4", 3, per="part")}, "must not be called 'position', which every body has"),
        ({"color": Column("u1", 3, per="part")}, '"color" must be Column\\("u1", 4, per="part"\\)'),
        ({"color": Column("f8", 4, per="part")}, '"color" must be'),
        ({"visible": Column("f4", per="part")}, '"visible" must be Column\\("bool"'),
        ({"visible": Column("u1", per="part", rule="latest")}, "without a rule"),
        ({"scale3": Column("f4", 3, per="world")}, "of bodies or parts"),
        ({"scale3": Column("f4", 2, per="part")}, "of bodies or parts"),
    ],
)
def test_wrong_declarations_are_refused(columns: dict[str, Column], said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        Bodies(2, columns=columns, scene=SCENE)


@pytest.mark.parametrize("per", ["", "joint", None, ["part"]])
def test_a_column_is_per_body_part_or_world(per: Any) -> None:
    with pytest.raises(TwixtError, match=r"Column\(per\) must be one of body, part, world, got"):
        Column("f4", per=per)


@pytest.mark.parametrize("scene", [None, "robot"])
def test_part_columns_need_the_scene(scene: Any) -> None:
    with pytest.raises(
        TwixtError, match=r"'color' has a row for each part.*Bodies\(count, columns, scene=self.scene\)"
    ):
        Bodies(2, columns=DECLARED, scene=scene)


def test_visible_is_never_blended_and_the_scene_names_part_columns() -> None:
    scene = scene_with_columns(SCENE, made().columns.declared)
    assert scene.columns["visible"] == "none"
    assert scene.part_columns == ("color", "scale3", "visible", "load")
    assert scene_with_columns(scene, made().columns.declared) is scene


def test_colours_come_from_one_column() -> None:
    declared = {"color": Column("u1", 4, per="part"), "heat": Column("f4"), "load": Column("f4", per="part")}
    with pytest.raises(TwixtError, match="leave one of them out"):
        scene_with_columns(Scene([PAIR], color_by=ColorBy("heat")), declared)
    with pytest.raises(TwixtError, match=r"one value per body \(there are heat\), got 'load'"):
        scene_with_columns(Scene([PAIR], color_by=ColorBy("load")), declared)


class Robots(World):
    def __init__(self) -> None:
        self.scene = SCENE
        self.bodies = made()

    def step(self, dt: float) -> None:
        self.bodies.columns["color"][0, 0] += 1


def test_another_scene_with_the_same_parts_is_taken_and_one_with_others_is_refused() -> None:
    world = Robots()
    check_world(world)
    guard = GuardedWorld(world, lambda: world, 0, lambda said: None)
    world.scene = Scene([Box(), PAIR])
    told = guard.check_step(1)
    assert told is not None
    assert told.part_columns == ("color", "scale3", "visible", "load")
    world.scene = Scene([PAIR, PAIR])
    with pytest.raises(UserCodeCrashed, match=r"part columns of 3 rows.*have 4 parts; .*scene=self.scene"):
        guard.check_step(2)


def test_values_are_assigned_to_all_rows() -> None:
    columns = made().columns
    columns["color"] = np.array([1, 2, 3, 4], "u1")
    assert columns["color"].tolist() == [[1, 2, 3, 4]] * 3
