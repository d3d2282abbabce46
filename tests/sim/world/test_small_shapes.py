"""Shapes that nobody could see are named; small ones that are seen are not."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Box, Compound, Mesh, Part, Scene, Shape, Sphere
from twixt.sim.world.state_checks import small_shape

CORNERS, FACES = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], float), [(0, 1, 2)]


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (Sphere(5e-10), "1e-09"),
        (Box((1e-12, 1e-12, 1e-12)), "1.7e-12"),
        (Compound([Part(Sphere(2e-10), (2e-10, 0, 0))]), "8e-10"),
        (Mesh(CORNERS * 1e-10, FACES), "2e-10"),
    ],
)
def test_a_shape_of_a_nanometre_is_named_with_its_body(shape: Shape, size: str) -> None:
    kind = type(shape).__name__
    told = small_shape(Scene([Sphere(), Sphere(), shape, shape]))
    assert told.startswith(f"the {kind} of body 2 is {size} m across")
    assert "give lengths in a larger unit" in told


def test_shapes_that_are_seen_are_not_named() -> None:
    assert small_shape(Scene([Sphere(2e-9), Compound([]), Sphere(1e9), Mesh(CORNERS * 1e-8, FACES)])) == ""
    assert small_shape(Scene()) == ""
