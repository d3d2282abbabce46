"""The world `spinners`: orientations, angular velocities, and tips as children."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY
from twixt.sim.worlds.spinners import TIP_M, Spinners

# Error of an angle from a quaternion in float32, radians.
ROUNDING_RAD = 1e-6


def angle_between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Smallest rotation angles between orientations (n, 4), radians."""
    along = np.minimum(np.abs((first.astype(float) * second).sum(axis=1)), 1.0)
    return 2 * np.arccos(along)


@settings(max_examples=25)
@given(
    st.lists(st.floats(-1000, 1000), min_size=1, max_size=6),
    st.floats(1e-3, 1.0),
    st.integers(1, 40),
)
def test_the_orientation_is_always_that_of_the_simulated_time(turns: list[float], dt: float, steps: int) -> None:
    world = Spinners(turns=",".join(map(repr, turns)))
    for _ in range(steps):
        world.step(dt)
    expected = world.orientation_at(steps * round(dt * 1e9) / 1e9)
    assert np.abs(world.bodies.orientation[: 2 * len(turns)] - expected).max() < ROUNDING_RAD


def test_each_turns_as_often_in_a_step_as_was_set() -> None:
    world = Spinners(turns="0.25,3")
    start = world.orientation_at(0)
    assert angle_between(world.orientation_at(world.dt), start) == pytest.approx([np.pi / 2, 0] * 2, abs=1e-6)
    third = world.orientation_at(world.dt / 6)  # a twelfth of three turns and a half
    assert angle_between(third, start)[1::2] == pytest.approx([np.pi] * 2, abs=1e-6)


def test_angular_velocities_are_those_of_the_orientations() -> None:
    world = Spinners()
    world.step(world.dt)
    h = 1e-6
    before, after = world.orientation_at(world.dt - h), world.orientation_at(world.dt + h)
    # For a small rotation, the vector part of (after x inverse of before) is half the rotation vector.
    vector = before[:, 3:] * after[:, :3] - after[:, 3:] * before[:, :3] - np.cross(after[:, :3], before[:, :3])
    vector *= np.sign((before * after).sum(axis=1, keepdims=True))
    assert world.bodies.angular_velocity[: len(vector)] == pytest.approx(vector / h, rel=1e-4, abs=1e-4)
    assert (world.bodies.records["flags"] & HAS_ANGULAR_VELOCITY).all()
    assert (world.bodies.records["flags"] & HAS_VELOCITY).all()


def test_the_tips_are_children_that_never_move() -> None:
    world = Spinners(turns="1,2")
    assert world.scene.parents == {4: 0, 5: 1}
    world.step(world.dt)
    assert world.bodies.position[4:] == pytest.approx(np.tile(TIP_M, (2, 1)))
    assert world.bodies.orientation[4:].tolist() == [[0, 0, 0, 1]] * 2
    assert (world.bodies.angular_velocity[4:] == 0).all()


def test_a_reset_cuts_and_begins_again() -> None:
    world = Spinners()
    world.step(0.1)
    before = world.bodies.epoch.copy()
    world.reset(0)
    assert (world.bodies.epoch != before).all()
    assert world.bodies.orientation[:12] == pytest.approx(world.orientation_at(0))


@pytest.mark.parametrize("turns", ["", "fast", "1,,2", "nan", "1e9", ",".join(["1"] * 101)])
def test_turns_that_are_none_are_refused(turns: str) -> None:
    with pytest.raises(TwixtError, match=r"such as 0\.25,1,3; got"):
        Spinners(turns=turns)
