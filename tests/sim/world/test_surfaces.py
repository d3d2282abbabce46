"""Surfaces of a world as its step writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.surfaces import unpacked
from twixt.ipc.snapshot import MARK
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.state_checks import way_out_in
from twixt.sim.world.surfaces import Surfaces
from twixt.sim.world.world import World, state_hash
from twixt.sim.world.world_guard import check_world

TRIANGLE = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], float)
SHEET = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], float)
SCENE = Scene(
    [
        Mesh(TRIANGLE, [(0, 1, 2)], deforms=True),
        Sphere(),
        Mesh(SHEET, [(0, 1, 2), (0, 2, 3)], deforms=True),
    ]
)


class Flag(World):
    """A sheet that rises by a metre a step."""

    def __init__(self) -> None:
        self.bodies, self.scene = Bodies(3), SCENE
        self.surfaces = Surfaces(self.scene)

    def step(self, dt: float) -> None:
        assert self.surfaces is not None
        self.surfaces[2][:, 2] += 1


def test_each_body_has_its_rest_shape_until_it_is_written() -> None:
    surfaces = Surfaces(SCENE)
    assert list(surfaces) == [0, 2]
    assert (surfaces[0] == TRIANGLE).all()
    assert (surfaces[2] == SHEET).all()
    surfaces[2][:, 2] = 7
    surfaces[0] = TRIANGLE * 2
    assert surfaces.vertices.tolist() == [*(TRIANGLE * 2).tolist(), *[[x, y, 7] for x, y, _ in SHEET.tolist()]]
    marks = np.zeros(2, MARK)
    extras = surfaces.after(marks)
    assert extras.vertices == 7
    assert (unpacked(extras.records[2:], 7) == surfaces.vertices).all()


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda s: s[1], r"only the bodies that deform have surfaces, 0, 2; got 1"),
        (lambda s: s["a"], r"only the bodies that deform have surfaces, 0, 2; got 'a'"),
        (
            lambda s: s.__setitem__(0, SHEET),
            r"surfaces\[0\] must be numbers of shape \(3, 3\), got float64 of .*\(4, 3\)",
        ),
        (lambda s: s.__setitem__(0, [["x"] * 3] * 3), r"surfaces\[0\] must be numbers of shape \(3, 3\), got <U1"),
        (lambda s: s.__setitem__(0, [[1, 2], [3]]), r"surfaces\[0\] must be numbers of shape \(3, 3\), got list"),
        (
            lambda s: Surfaces(Scene([Sphere()])),
            r"needs a scene in which a body deforms; make its shape Mesh\(\.\.\., d",
        ),
        (lambda s: Surfaces([SHEET]), r"Surfaces needs a Scene, got list; such as Surfaces\(self.scene\)"),
    ],
)
def test_what_is_wrong_is_refused_in_words(use: Any, words: str) -> None:
    surfaces = Surfaces(SCENE)
    before = surfaces.vertices.copy()
    with pytest.raises(TwixtError, match=words):
        use(surfaces)
    assert (surfaces.vertices == before).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e20])
def test_a_vertex_that_cannot_be_drawn_is_named(value: float) -> None:
    surfaces = Surfaces(SCENE)
    assert surfaces._fault(3, way_out_in("Flag.step")) == ""
    surfaces[2][1, 0] = value
    fault = surfaces._fault(3, way_out_in("Flag.step"))
    assert fault.startswith("vertex 1 of the surface of body 2 is at [")
    assert fault.endswith("after step 3; that body is not drawn; look in Flag.step for a division by zero")


def test_surfaces_are_part_of_the_state_that_is_hashed() -> None:
    one, other = Flag(), Flag()
    assert state_hash(one) == state_hash(other)
    one.step(0.1)
    assert state_hash(one) != state_hash(other)
    other.step(0.1)
    assert state_hash(one) == state_hash(other)
    other.surfaces = None  # type: ignore[assignment]
    assert state_hash(one) != state_hash(other)


def test_a_world_whose_surfaces_are_not_those_of_its_scene_is_refused() -> None:
    check_world(Flag())
    world = Flag()
    world.surfaces = [SHEET]  # type: ignore[assignment]
    with pytest.raises(
        TwixtError, match=r"Flag.surfaces must be a Surfaces, got list; set self.surfaces = Surfaces\(self"
    ):
        check_world(world)
    world = Flag()
    world.scene = Scene([Sphere(), Sphere(), SCENE.shapes[2]])
    with pytest.raises(
        TwixtError, match=r"Flag.surfaces was made for the bodies \[0, 2\], but of its 3 bodies \[2\] deform; set"
    ):
        check_world(world)
    world.surfaces = Surfaces(world.scene)
    check_world(world)
