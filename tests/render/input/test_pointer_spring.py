"""The spring between a body and the pointer: brings it there and holds it, also when it acts late."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest

from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Part, Sphere
from twixt.render.input.pointer import mass_of, pulled, rotation_between, turned

TARGET = np.array([1.0, 0.5, 0.0])


@pytest.mark.parametrize("assumed", [0.3, 1.0, 2.0])
def test_a_body_comes_to_the_pointer_though_forces_are_three_frames_late(assumed: float) -> None:
    place, velocity, dt = np.zeros(3), np.zeros(3), 1 / 60
    late = deque([np.zeros(3)] * 3)
    farthest = 0.0
    for _ in range(600):
        late.append(pulled(assumed, place, TARGET, velocity, place).force)
        velocity = velocity + late.popleft() * dt  # of 1 kg
        place = place + velocity * dt
        farthest = max(farthest, float(np.linalg.norm(place)))
    assert place == pytest.approx(TARGET, abs=1e-3)
    assert farthest < 1.5 * np.linalg.norm(TARGET)


def test_a_force_beside_the_middle_turns() -> None:
    grip = pulled(1.0, np.array([0.0, 1, 0]), np.array([1.0, 1, 0]), np.zeros(3), np.zeros(3))
    assert grip.torque == pytest.approx(np.cross((0, 1, 0), grip.force))
    assert grip.force[0] > 0
    assert not pulled(1.0, TARGET, TARGET, np.zeros(3), np.zeros(3)).force.any()


def test_a_body_that_was_cut_elsewhere_is_not_braked() -> None:
    one, other = (pulled(1.0, np.zeros(3), TARGET, np.array([speed, 0, 0]), np.zeros(3)).force for speed in (0, 1e6))
    assert (one == other).all()


def test_rotations_between_orientations_are_the_shortest() -> None:
    def about_z(angle: float) -> np.ndarray:
        return np.array([0, 0, math.sin(angle / 2), math.cos(angle / 2)])

    assert rotation_between(about_z(0.3), about_z(1.0)) == pytest.approx((0, 0, 0.7))
    assert rotation_between(about_z(1.0), -about_z(0.3)) == pytest.approx((0, 0, -0.7))
    assert rotation_between(about_z(0.0), about_z(5.0)) == pytest.approx((0, 0, 5 - 2 * math.pi))
    assert not rotation_between(about_z(1.0), about_z(1.0)).any()
    assert turned(1.0, 1.0, np.array([0, 0, 0.5]), np.zeros(3)).torque[2] > 0


def test_masses_are_those_of_water_in_the_shapes() -> None:
    for shape, litres in (
        (Box((0.1, 0.1, 0.1)), 1.0),
        (Sphere(0.1), 4 / 3 * math.pi),
        (Ellipsoid((0.2, 0.2, 0.2)), 4 / 3 * math.pi),
        (Cylinder(0.1, 0.1), math.pi),
        (Capsule(0.1, 0.1), math.pi * 7 / 3),
        (Compound([Part(Box((0.1, 0.1, 0.1)), (1, 0, 0))] * 2), 2.0),
    ):
        assert mass_of(shape) == pytest.approx(litres), shape
        assert mass_of(shape, 2.0) == pytest.approx(8 * litres)
