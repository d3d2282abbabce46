"""A body that is nowhere is told of, with the number that says so; healthy ones cost nothing in words."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.sim.bodies import Bodies
from twixt.sim.health import sickness


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -3e38])
@pytest.mark.parametrize(("name", "axis"), [("position", 0), ("position", 2), ("orientation", 3)])
def test_the_first_body_that_is_nowhere_is_named(name: str, axis: int, value: float) -> None:
    bodies = Bodies(50)
    getattr(bodies, name)[7, axis] = value
    getattr(bodies, name)[30, axis] = value
    said = sickness(bodies, 12, "Orbit")
    assert said.startswith(f"body 7 has the {name} [")
    assert "after step 12; it is not drawn; look in Orbit.step for a division by zero" in said


@pytest.mark.parametrize("value", [0.0, -1e19, 9e29])
def test_bodies_that_are_somewhere_are_well(value: float) -> None:
    bodies = Bodies(50)
    bodies.position[:, 1] = value
    assert sickness(bodies, 1, "Orbit") == ""
    assert sickness(Bodies(0), 1, "Orbit") == ""


def test_a_hidden_body_may_be_anywhere() -> None:
    bodies = Bodies(3)
    bodies.position[1] = np.nan
    bodies.despawn(1)
    bodies.position[1] = np.nan
    assert sickness(bodies, 1, "Orbit") == ""
