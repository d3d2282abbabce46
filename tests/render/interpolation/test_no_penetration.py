"""No ball is drawn into a floor or a wall: `auto` on worlds of bounces, and what `hermite` would have drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.interpolation.bouncing import (
    RADIUS_M,
    between_walls,
    bounces,
    deepest,
    down_a_slope,
    snapshots_of,
)
from twixt.ipc.snapshot import Snapshot
from twixt.sim.worlds.balls import Balls

pytestmark = pytest.mark.slow

UP = np.array([0.0, 0.0, 1.0])
# Of its radius a ball may be drawn deeper in a wall than physics has it in the two snapshots around.
MOST = 0.01
BODIES = 150


def judge(snapshots, normal=UP, radius=RADIUS_M, reach=0.0, hermite_at_least=0.04):
    """Asserts that auto keeps out of the wall where hermite does not."""
    auto, hermite = ((deepest(name, snapshots, normal, reach) / radius).max() for name in ("auto", "hermite"))
    figures = f"deepest beyond physics' own, of the radius: auto {auto:.3%}, hermite {hermite:.3%}"
    assert auto <= MOST, figures
    assert hermite >= hermite_at_least, f"this world would prove nothing: {figures}"


@pytest.mark.parametrize(("seed", "rocking_deg"), [(0, 0.0), (1, 36.0)])
def test_balls_at_rest_and_bouncing_at_20_hz_are_never_drawn_into_the_floor(seed, rocking_deg):
    hz, seconds = 20, 10
    world = Balls(count=120, seed=seed, rocking_deg=rocking_deg)
    radius = world.bodies.scale.astype(float)
    snapshots = []
    for k in range(hz * seconds + 1):
        snapshots.append(Snapshot(k * 1_000_000_000 // hz, world.bodies.records.copy()))
        world.step(1 / hz)
    judge(snapshots, radius=radius, reach=radius, hermite_at_least=0.1)


def falling(restitution, seed=0, slope=0.0, across_m_s=0.0, hz=20):
    """Snapshots of bodies that bounce on a plane leaning over by `slope`, and its normal."""
    random = np.random.default_rng(seed)
    heights, speeds = random.uniform(0, 0.7, BODIES) ** 2, random.uniform(-2, 2, BODIES) * random.random(BODIES)
    e = random.uniform(*restitution, BODIES)
    normal, along = np.array([math.sin(slope), 0, math.cos(slope)]), np.array([math.cos(slope), 0, -math.sin(slope)])
    states = (
        (z[:, None] * normal + across_m_s * k / hz * along, v[:, None] * normal + across_m_s * along)
        for k, (z, v) in enumerate(bounces(heights, speeds, e, 1 / hz, 3 * hz))
    )
    return snapshots_of(states, hz), normal


@pytest.mark.parametrize("restitution", [(1.0, 1.0), (0.8, 1.0), (0.3, 0.8), (0.0, 0.3), (0.0, 0.0)])
def test_exact_bounces_from_elastic_to_dead_with_many_in_one_interval_stay_above_the_floor(restitution):
    judge(falling(restitution)[0])


def test_bounces_seen_ten_times_a_second_stay_above_the_floor():
    judge(falling((0.0, 1.0), hz=10)[0])


def test_bodies_that_bounce_along_a_slope_at_3_m_s_stay_above_it():
    judge(*falling((0.0, 1.0), slope=0.4, across_m_s=3.0))


def test_bodies_that_hop_and_slide_down_slopes_with_friction_stay_above_them():
    judge(snapshots_of(down_a_slope(BODIES, 0.05, 40, seed=3), 20))


def test_bodies_between_two_walls_stay_between_them():
    random = np.random.default_rng(5)
    places, speeds, width_m = random.uniform(0, 1, BODIES), random.uniform(-12, 12, BODIES), 1.0
    states = between_walls(places, speeds, width_m, 0.05, 60)
    snapshots = snapshots_of(((x[:, None] * UP, v[:, None] * UP) for x, v in states), 20)
    judge(snapshots)
    for snapshot in snapshots:
        snapshot.bodies["position"][:, 2] -= width_m
    judge(snapshots, -UP)


@settings(max_examples=15)
@given(st.floats(0.0, 0.02), st.floats(-0.5, 0.3), st.floats(0.0, 1.0), st.floats(0.0, 2.0))
def test_whatever_small_bounces_come_a_ball_is_never_drawn_into_the_floor(height, speed, restitution, across):
    """A whole neighbourhood of each: the worst is a matter of where in an interval the bounces fall."""
    spread = np.linspace(0.0, 1.0, 40)
    heights, speeds = height + 0.01 * spread, speed - 0.2 * spread[::-1]
    states = bounces(heights, speeds, np.full(40, restitution), 0.05, 12)
    sideways = np.array([across, 0, 0])
    snapshots = snapshots_of(
        ((z[:, None] * UP + sideways * k * 0.05, v[:, None] * UP + sideways) for k, (z, v) in enumerate(states)), 20
    )
    assert deepest("auto", snapshots, UP).max() <= MOST * RADIUS_M
