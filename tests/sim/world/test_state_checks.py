"""The check reports a body that is not finite with its value, and is silent about finite ones."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.sim.world.bodies import Bodies
from twixt.sim.world.state_checks import CHUNK, FiniteCheck, way_out_in


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -3e38])
@pytest.mark.parametrize(("name", "axis"), [("position", 0), ("position", 2), ("orientation", 3)])
def test_the_first_body_that_is_nowhere_is_named(name: str, axis: int, value: float) -> None:
    bodies = Bodies(50)
    getattr(bodies, name)[7, axis] = value
    getattr(bodies, name)[30, axis] = value
    said = FiniteCheck(way_out_in("Orbit.step")).check_next(bodies.records, 12)
    assert said.startswith(f"body 7 has the {name} [")
    assert "after step 12; it is not drawn; look in Orbit.step for a division by zero" in said


@pytest.mark.parametrize("value", [0.0, -1e19, 9e29])
def test_bodies_that_are_somewhere_are_well(value: float) -> None:
    bodies = Bodies(50)
    bodies.position[:, 1] = value
    assert FiniteCheck(way_out_in("Orbit.step")).check_all(bodies.records, 1) == ""
    assert FiniteCheck(way_out_in("Orbit.step")).check_next(Bodies(0).records, 1) == ""


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_size_that_is_none_is_told_of(value: float) -> None:
    bodies = Bodies(50)
    bodies.scale[7] = value
    said = FiniteCheck(way_out_in("Orbit.step")).check_next(bodies.records, 12)
    assert said.startswith(f"body 7 has the scale {value} after step 12; it is not drawn")


@pytest.mark.parametrize("name", ["velocity", "angular_velocity"])
def test_a_velocity_that_is_none_is_told_of_where_it_is_given(name: str) -> None:
    bodies = Bodies(50)
    bodies.records[name][7, 1] = np.nan
    assert FiniteCheck(way_out_in("Orbit.step")).check_next(bodies.records, 12) == ""
    getattr(bodies, name)[9] = 0.0
    said = FiniteCheck(way_out_in("Orbit.step")).check_next(bodies.records, 12)
    assert said.startswith(f"body 7 has the {name} [")
    assert "it is ignored" in said


def test_a_quaternion_of_zeros_is_named_and_half_a_turn_is_not() -> None:
    bodies = Bodies(50)
    bodies.orientation[3] = (1, 0, 0, 0)
    check = FiniteCheck(way_out_in("Orbit.step"))
    assert check.check_all(bodies.records, 12) == ""
    bodies.orientation[7] = 0
    said = check.check_all(bodies.records, 12)
    assert said == (
        "body 7 has the orientation [0., 0., 0., 0.] after step 12; it is drawn without rotation; give "
        "(0, 0, 0, 1), x y z w, for no rotation"
    )
    bodies.visible[7] = False
    assert check.check_all(bodies.records, 12) == ""


def test_a_body_spawned_with_a_quaternion_of_zeros_is_named() -> None:
    bodies = Bodies(2)
    bodies.spawn((1, 2, 3), orientation=(0, 0, 0, 0))
    assert FiniteCheck(way_out_in("Orbit.step")).check_all(bodies.records, 1).startswith("body 2 has the orientation")


def test_a_hidden_body_may_be_anywhere() -> None:
    bodies = Bodies(3)
    bodies.position[1] = np.nan
    bodies.despawn(1)
    bodies.position[1] = np.nan
    assert FiniteCheck(way_out_in("Orbit.step")).check_all(bodies.records, 1) == ""


@pytest.mark.parametrize("place", [0, CHUNK - 1, CHUNK, 3 * CHUNK - 5])
def test_many_bodies_are_looked_at_in_turn_and_each_within_one_round(place: int) -> None:
    bodies, check = Bodies(3 * CHUNK - 4), FiniteCheck(way_out_in("Orbit.step"))
    for _ in range(4):  # a round, and one more
        assert check.check_next(bodies.records, 1) == ""
    bodies.position[place, 1] = np.inf
    said = [check.check_next(bodies.records, step) for step in range(2, 5)]
    assert sum(map(bool, said)) == 1
    assert f"body {place} has the position" in "".join(said)
    assert f"body {place} has" in check.check_all(bodies.records, 5)


def test_few_bodies_are_looked_at_twice_a_second_and_many_a_part_after_each_step() -> None:
    check = FiniteCheck(way_out_in("Orbit.step"))
    assert check.steps_until_next(0, 0.01) == check.steps_until_next(CHUNK, 0.01) == 50
    assert check.steps_until_next(10 * CHUNK, 0.01) == 5
    assert check.steps_until_next(10**6, 0.01) == check.steps_until_next(64, 2.0) == 1
