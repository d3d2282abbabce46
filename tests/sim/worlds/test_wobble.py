from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.groups import rows_of_groups, rows_of_parents
from twixt.sim.worlds.wobble import AXIS, CHILDREN, CORNERS_M, OWN, Wobble


def placed(quaternion: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors turned by the matrix of a unit quaternion xyzw."""
    x, y, z, w = quaternion.astype(float)
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return vectors @ matrix.T


@pytest.mark.parametrize("rate_hz", [0.0, 2.5, 10.0])
def test_the_balls_of_both_cubes_sit_on_the_same_corners(rate_hz: float) -> None:
    world = Wobble(rate_hz)
    for _ in range(50):
        world.step(1 / 60)
        bodies = world.bodies
        assert np.array_equal(bodies.orientation[0], bodies.orientation[1])
        assert bodies.position[CHILDREN] == pytest.approx(CORNERS_M)
        twin = bodies.position[OWN] - bodies.position[1]
        assert twin == pytest.approx(placed(bodies.orientation[0], CORNERS_M), abs=1e-5)


def test_the_cube_turns_as_often_as_was_set_about_its_axis() -> None:
    world = Wobble(10.0)
    assert np.linalg.norm(AXIS) == pytest.approx(1)
    for _ in range(6):
        world.step(1 / 60)
    full_turn = world.bodies.orientation[0] * np.sign(world.bodies.orientation[0, 3])
    assert full_turn == pytest.approx([0, 0, 0, 1], abs=1e-5)
    assert world.orientation_at(0.025) == pytest.approx([*AXIS * np.sqrt(0.5), np.sqrt(0.5)])
    assert world.bodies.angular_velocity[0] == pytest.approx(2 * np.pi * 10 * AXIS, rel=1e-5)


def test_velocities_are_those_of_the_positions() -> None:
    slow, h = Wobble(2.5), 1e-3
    slow.step(0.1 - h)
    before = slow.bodies.position[OWN].copy()
    slow.step(h)
    velocity = slow.bodies.velocity[OWN].copy()
    slow.step(h)
    assert velocity == pytest.approx((slow.bodies.position[OWN] - before) / (2 * h), rel=0.01, abs=0.05)


def test_only_the_left_balls_have_a_parent_and_only_the_right_ones_are_a_group() -> None:
    scene = Wobble().scene
    assert rows_of_parents(scene.parents, 18).tolist() == [-1, -1, *[0] * 8, *[-1] * 8]
    assert rows_of_groups(scene.groups, 18).tolist() == [-1] * 10 + [0] * 8
    assert scene.groups["own"].interpolation == "linear"


@pytest.mark.parametrize("rate_hz", [-0.1, 10.1])
def test_a_rate_that_is_none_is_refused(rate_hz: float) -> None:
    with pytest.raises(TwixtError, match="from 0 to 10, got"):
        Wobble(rate_hz)
