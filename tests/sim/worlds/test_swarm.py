"""The world `swarm`: places, velocities and records of its bodies."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim.world.world_guard import check_writes_all
from twixt.sim.worlds.find import load_world
from twixt.sim.worlds.swarm import MANY, Swarm


def at(world: Swarm, time_s: float) -> np.ndarray:
    """The records at a simulated time, in memory of their own."""
    world.time_ns = round(time_s * 1e9)
    records = np.zeros(len(world.bodies), BODY)
    world.write_bodies(records)
    return records


@pytest.fixture(scope="module")
def swarm() -> Swarm:
    return Swarm(5000, seed=3)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3000), st.floats(0, 1e4))
def test_every_byte_of_every_record_is_always_written(count: int, time_s: float) -> None:
    world = Swarm(count)
    clean = at(world, time_s)
    dirty = np.full(count * BODY.itemsize, 0xFF, np.uint8).view(BODY)
    world.write_bodies(dirty)
    assert dirty.tobytes() == clean.tobytes()
    assert (clean["flags"] == VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY).all()
    assert (clean["epoch"] & CONTINUITY_MASK == 1).all()
    assert (clean["color"][:, 3] == 255).all()
    assert np.abs(clean["scale"].astype(float) - 1).max() < 0.2
    check_writes_all(world)


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 1e4))
def test_velocities_are_always_those_of_the_positions(swarm: Swarm, time_s: float) -> None:
    h = 0.01
    before, now, after = (at(swarm, time_s + offset)["position"].astype(float) for offset in (-h, 0, h))
    velocity = at(swarm, time_s)["velocity"]
    assert np.abs((after - before) / (2 * h) - velocity).max() < 2e-3
    assert np.abs(now).max() < 8
    assert np.linalg.norm(velocity, axis=1).max() < 2.5


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 1e4))
def test_orientations_are_always_unit_and_turn_as_the_angular_velocities_say(swarm: Swarm, time_s: float) -> None:
    h = 0.01
    before, after = (at(swarm, time_s + offset)["orientation"].astype(float) for offset in (-h, h))
    assert np.abs(np.linalg.norm(before, axis=1) - 1).max() < 1e-5
    # For a small rotation, the vector part of (after x inverse of before) is half the rotation vector.
    vector = before[:, 3:] * after[:, :3] - after[:, 3:] * before[:, :3] - np.cross(after[:, :3], before[:, :3])
    assert np.abs(vector / h - at(swarm, time_s)["angular_velocity"]).max() < 1e-3


@pytest.mark.parametrize(("count", "diameter_px"), [(1000, 18), (10_000, 9.9), (100_000, 5.4), (1_000_000, 3.0)])
def test_bodies_are_as_large_in_the_picture_as_the_opening_says(count: int, diameter_px: float) -> None:
    scene = load_world("swarm", (("count", str(count)),)).scene
    camera = scene.camera
    assert camera is not None
    px_per_m = 300 / math.tan(math.radians(camera.fov_y_deg / 2)) / math.dist(camera.eye, camera.target)
    (shape,) = shape_list(scene).table
    assert 2 * shape.radius * px_per_m == pytest.approx(diameter_px, rel=0.01)  # type: ignore[union-attr]


@pytest.mark.parametrize("count", [1, 1000, 60_000])
def test_all_bodies_stay_in_a_picture_of_four_by_three(count: int) -> None:
    world = Swarm(count)
    camera = world.scene.camera
    assert camera is not None
    eye, target = np.array(camera.eye), np.array(camera.target)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, (0, 0, 1))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    half_height = math.tan(math.radians(camera.fov_y_deg / 2))
    for time_s in np.linspace(0, 90, 31):
        offset = at(world, time_s)["position"] - eye
        depth = offset @ forward
        assert (np.abs(offset @ right) / depth / half_height).max() < 0.98 * 4 / 3
        assert (np.abs(offset @ up) / depth / half_height).max() < 0.98


def test_a_step_lets_time_pass_and_touches_no_body(swarm: Swarm) -> None:
    before = swarm.bodies.records.tobytes()
    swarm.time_ns = 0
    for _ in range(10):
        swarm.step(swarm.dt)
    assert swarm.bodies.records.tobytes() == before
    assert swarm.time_ns == 10 * round(swarm.dt * 1e9)


def test_writing_takes_no_memory_that_grows_with_the_bodies() -> None:
    world = Swarm(100_000)
    records = world.bodies.records
    world.write_bodies(records)
    tracemalloc.start()
    try:
        world.write_bodies(records)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < records.nbytes / 10


def test_a_reset_cuts_every_body_and_begins_again() -> None:
    world = Swarm(100, seed=1)
    first = at(world, 0)
    world.reset(1)
    again = at(world, 0)
    assert (first["epoch"] != again["epoch"]).all()
    assert np.array_equal(first["position"], again["position"])


def test_many_bodies_take_longer_steps() -> None:
    assert Swarm(1000).dt == 1 / 60
    assert Swarm(MANY + 1).dt == 1 / 30


@pytest.mark.parametrize("count", [0, -1, 2.5])
def test_a_count_that_is_none_is_refused(count: int) -> None:
    with pytest.raises(TwixtError, match="from 1 to 1000000 bodies, got"):
        Swarm(count)


@pytest.mark.parametrize(("count", "need"), [("1e9", "339,508 MiB"), ("1e300", "got far more")])
def test_more_than_can_be_is_refused_with_what_it_would_need(count: str, need: str) -> None:
    with pytest.raises(TwixtError, match=need):
        load_world("swarm", (("count", count),))
