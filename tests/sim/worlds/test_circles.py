from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.sim.worlds.circles import (
    BALL_M,
    BOUNCE_M,
    BOUNCE_PERIOD_S,
    BOUNCE_X_M,
    CIRCLE_HEIGHT_M,
    CIRCLE_M,
    CIRCLE_X_M,
    SIDE_M,
    Circles,
    states_at,
)


def test_both_halves_hold_the_same_motion_side_by_side() -> None:
    world = Circles()
    for step in range(1, 40):
        world.step(world.dt)
        expected = states_at(step / 10)
        for first, side_m in ((0, -SIDE_M), (2, SIDE_M)):
            position = world.bodies.position[first : first + 2] - (side_m, 0, 0)
            assert position == pytest.approx(expected.position, abs=1e-5)
            assert world.bodies.velocity[first : first + 2] == pytest.approx(expected.velocity, abs=1e-4)


@given(st.floats(0, 100))
def test_one_ball_is_always_on_the_circle_and_the_other_between_floor_and_top(time_s: float) -> None:
    circle, bounce = states_at(time_s).position
    assert np.hypot(circle[0] - CIRCLE_X_M, circle[2] - CIRCLE_HEIGHT_M) == pytest.approx(CIRCLE_M)
    assert BALL_M - 1e-9 <= bounce[2] <= BALL_M + BOUNCE_M + 1e-9


@given(st.floats(0.01, 100))
def test_velocities_are_always_those_of_the_positions(time_s: float) -> None:
    h = 1e-5
    if (time_s + h) % BOUNCE_PERIOD_S > 2 * h:
        change = (states_at(time_s + h).position - states_at(time_s - h).position) / (2 * h)
        assert states_at(time_s).velocity == pytest.approx(change, abs=1e-3)


def test_only_the_left_balls_are_drawn_by_a_method_of_their_own() -> None:
    assert {name: (group.bodies, group.interpolation) for name, group in Circles().scene.groups.items()} == {
        "current": ((0, 1), "none")
    }
    assert Circles(left="latest").scene.groups["current"].interpolation == "latest"
    with pytest.raises(TwixtError, match="got 'quick'"):
        Circles(left="quick")


def test_the_dots_lie_on_the_true_paths() -> None:
    world = Circles()
    dots = world.bodies.position[6:]
    assert len(dots) % 2 == 0
    for half, side_m in zip(np.split(dots, 2), (-SIDE_M, SIDE_M), strict=True):
        x, z = half[:, 0] - side_m, half[:, 2]
        on_circle = np.abs(np.hypot(x - CIRCLE_X_M, z - CIRCLE_HEIGHT_M) - CIRCLE_M) < 1e-5
        on_bounce = (np.abs(x - BOUNCE_X_M) < 1e-6) & (z >= BALL_M) & (z <= BALL_M + BOUNCE_M + 1e-6)
        assert (on_circle | on_bounce).all()
