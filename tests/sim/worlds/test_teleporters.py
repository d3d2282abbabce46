from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import CONTINUITY_MASK, HAS_VELOCITY, VISIBLE
from twixt.sim.worlds.teleporters import (
    BLINKER,
    HOPPER,
    MIDDLE_M,
    RADIUS_M,
    RAIL_LENGTH_M,
    RAILS_M,
    VISIBLE_HEIGHT_M,
    Teleporters,
)

DT = 1 / 60
STEPS = 900


def seen(world: Teleporters) -> np.ndarray:
    """Positions of the visible balls, sorted."""
    records = world.bodies.records[2:]
    return np.sort(records["position"][(records["flags"] & VISIBLE) != 0], axis=0)


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(0, 2**32 - 1), st.lists(st.floats(1e-3, 4.0), max_size=20))
def test_balls_are_always_where_the_simulated_time_says_and_on_a_rail(
    count: int, seed: int, steps_s: list[float]
) -> None:
    world = Teleporters(count, seed)
    time_ns = 0
    for dt in [0.0, *steps_s]:
        if dt:
            world.step(dt)
        time_ns += round(dt * 1e9)
        states = world.states_at(time_ns / 1e9)
        assert np.array_equal(seen(world), np.sort(states.position[states.shown].astype(np.float32), axis=0))
        rows = world.row[states.shown]
        assert np.array_equal(world.bodies.position[rows], states.position[states.shown].astype(np.float32))
        assert np.array_equal(world.bodies.velocity[rows], states.velocity[states.shown].astype(np.float32))
        assert len(set(rows)) == len(rows)
        assert np.isin(states.position[:, 2], RAILS_M).all()
        assert (states.position[:, 1] == 0).all()
        assert (np.abs(states.position[:, 0]) <= RAIL_LENGTH_M / 2 + 1e-9).all()


def test_between_two_snapshots_of_one_life_a_ball_stays_on_its_rail() -> None:
    world = Teleporters()
    before = world.bodies.records.copy()
    cuts = 0
    for _ in range(STEPS):
        world.step(DT)
        now = world.bodies.records.copy()
        same = (before["epoch"] & CONTINUITY_MASK) == (now["epoch"] & CONTINUITY_MASK)
        cuts += int((~same).sum())
        visible = (now["flags"] & VISIBLE) != 0
        assert np.array_equal(before["position"][same & visible, 2], now["position"][same & visible, 2])
        moved = np.abs(now["position"][same, 0] - before["position"][same, 0])
        assert moved.max() < 4.5 * DT
        before = now
    assert cuts > 400


@pytest.mark.parametrize("stride", [2, 3, 6, 7, 13])
def test_a_reader_that_skips_snapshots_still_finds_every_change_of_rail_cut(stride: int) -> None:
    world = Teleporters()
    before = world.bodies.records.copy()
    for step in range(1, STEPS):
        world.step(DT)
        if step % stride:
            continue
        now = world.bodies.records.copy()
        same = (before["epoch"] & CONTINUITY_MASK) == (now["epoch"] & CONTINUITY_MASK)
        assert np.array_equal(before["position"][same, 2], now["position"][same, 2])
        before = now


def test_every_kind_of_jump_is_made() -> None:
    world = Teleporters()
    shown, legs = [world.states.shown], [world.states.leg]
    for _ in range(STEPS):
        world.step(DT)
        shown.append(world.states.shown)
        legs.append(world.states.leg)
    went = np.diff(np.array(shown).astype(int), axis=0)
    assert ((went == 1).any(axis=0) == (world.kind == BLINKER)).all()
    jumps = np.array(legs)[-1] - np.array(legs)[0]
    assert (jumps >= 3).all()
    assert (jumps[world.kind == HOPPER] > 100).all()


@given(st.floats(0, 100), st.floats(0, 0.02))
def test_within_a_leg_the_speed_is_always_the_one_that_is_given(begin_s: float, later_s: float) -> None:
    world = Teleporters()
    before, after = world.states_at(begin_s), world.states_at(begin_s + later_s)
    same = (before.leg == after.leg) & (before.velocity[:, 0] == after.velocity[:, 0])
    moved = after.position - before.position
    assert moved[same] == pytest.approx(before.velocity[same] * later_s, abs=1e-9)


def test_velocities_are_given_for_all() -> None:
    world = Teleporters()
    assert (world.bodies.records["flags"] & HAS_VELOCITY).all()


def test_the_rails_are_far_enough_apart_to_tell_a_ball_between_them() -> None:
    assert RAILS_M[1] - RAILS_M[0] > 10 * RADIUS_M


def test_a_reset_is_the_world_as_it_was_made_but_for_the_cuts() -> None:
    fresh, used = Teleporters(seed=3), Teleporters(seed=8)
    for _ in range(137):
        used.step(DT)
    used.reset(3)
    for world in (fresh, used):
        world.step(DT)
    fields = [name for name in fresh.bodies.records.dtype.names if name != "epoch"]
    shown = fresh.bodies.visible
    assert np.array_equal(used.bodies.visible, shown)
    assert np.array_equal(used.bodies.records[fields][shown], fresh.bodies.records[fields][shown])


@pytest.mark.parametrize("count", [0, -1, 10_001])
def test_a_count_that_is_none_is_refused(count: int) -> None:
    with pytest.raises(TwixtError, match=f"from 1 to 10000 balls, got {count}"):
        Teleporters(count)


def test_the_picture_shows_the_rails_where_the_opening_says() -> None:
    camera = Teleporters().scene.camera
    assert camera is not None
    assert (camera.eye[0], camera.eye[2]) == (camera.target[0], camera.target[2]) == (0, MIDDLE_M)
    height_m = 2 * -camera.eye[1] * math.tan(math.radians(camera.fov_y_deg / 2))
    assert height_m == pytest.approx(VISIBLE_HEIGHT_M)
    assert RAIL_LENGTH_M + 2 * RADIUS_M < VISIBLE_HEIGHT_M * 4 / 3
