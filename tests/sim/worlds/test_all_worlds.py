"""Rules for every built-in world."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim.world.world import World, drawable_scene, filled_bodies, reset_world, state_hash
from twixt.sim.worlds import WORLDS
from twixt.sim.worlds.balls import turned
from twixt.sim.worlds.find import find_world, load_world, make_world

SETTLED_STEPS = 90
EVERY_WORLD = pytest.mark.parametrize("name", sorted(WORLDS))


@EVERY_WORLD
def test_the_same_seed_and_number_of_steps_give_the_same_bytes(name: str) -> None:
    worlds = [load_world(name, (), seed=5) for _ in range(2)]
    for world in worlds:
        for _ in range(SETTLED_STEPS):
            world.step(world.dt)
    assert state_hash(worlds[0]) == state_hash(worlds[1])


@pytest.mark.parametrize("name", ["balls", "swarm", "teleporters", "verlet"])
def test_another_seed_is_another_course(name: str) -> None:
    hashes = set()
    for seed in (1, 2):
        world = load_world(name, (), seed)
        world.step(world.dt)
        hashes.add(state_hash(world))
    assert len(hashes) == 2


@EVERY_WORLD
def test_after_a_reset_it_goes_as_it_went_and_every_body_that_moved_is_cut(name: str) -> None:
    world, fresh = load_world(name, (), seed=5), load_world(name, (), seed=5)
    for _ in range(SETTLED_STEPS):
        world.step(world.dt)
    before = filled_bodies(world).records.copy()
    world.reset(5)  # type: ignore[attr-defined]  # every one of ours has it
    now = filled_bodies(world).records
    moved = (before["position"] != now["position"]).any(axis=1)
    assert (before["epoch"][moved] != now["epoch"][moved]).all()
    for each in (world, fresh):
        for _ in range(10):
            each.step(each.dt)
        filled_bodies(each)
    shown = world.bodies.visible
    assert np.array_equal(shown, fresh.bodies.visible)
    assert np.array_equal(world.bodies.position[shown], fresh.bodies.position[shown])


@EVERY_WORLD
def test_at_another_dt_it_goes_after_a_reset_as_it_went(name: str) -> None:
    world = make_world(find_world(name), (), 5, dt=0.05)
    begun = filled_bodies(world).records.copy()
    went = moved(world)
    assert reset_world(world, 5)
    assert same_where_shown(filled_bodies(world).records, begun)
    assert same_where_shown(moved(world), went)


def moved(world: World) -> NDArray[np.void]:
    """The records ten steps later."""
    for _ in range(10):
        world.step(world.dt)
    return filled_bodies(world).records.copy()


def same_where_shown(one: NDArray[np.void], other: NDArray[np.void]) -> bool:
    """True if the visible bodies are equal in all fields but the epochs."""
    shown = (one["flags"] & VISIBLE) != 0
    fields = [name for name in BODY.names or () if name != "epoch"]
    return all(np.array_equal(one[name][shown], other[name][shown]) for name in fields)


@EVERY_WORLD
def test_it_says_what_to_look_for_and_has_a_camera(name: str) -> None:
    world = load_world(name)
    described = importlib.import_module(WORLDS[name].module).__doc__ or ""
    assert name in ("balls", "metronome") or "What to look for:" in described
    assert type(world).__doc__
    assert world.scene.camera is not None
    drawable_scene(world).check_bodies(len(world.bodies))


@EVERY_WORLD
def test_velocities_are_given_and_those_of_the_positions(name: str) -> None:
    world = load_world(name, (), seed=3)
    flags = filled_bodies(world).records["flags"]
    assert (flags & HAS_VELOCITY).all()
    assert name in ("metronome", "teleporters", "verlet") or (flags & HAS_ANGULAR_VELOCITY).all()
    errors, ways, twists, turns = [], [], [], []
    for _ in range(SETTLED_STEPS):
        before = world.bodies.records.copy()
        position, velocity, epoch = before["position"], before["velocity"], before["epoch"]
        world.step(world.dt)
        filled_bodies(world)
        lasting = (epoch == world.bodies.epoch) & world.bodies.visible
        way = (world.bodies.position - position)[lasting]
        mean = (velocity + world.bodies.velocity)[lasting] / 2 * world.dt
        errors.append(np.linalg.norm(way - mean, axis=1))
        ways.append(np.linalg.norm(way, axis=1))
        turn = (before["angular_velocity"] + world.bodies.angular_velocity).astype(float)[lasting] / 2 * world.dt
        expected = turned(before["orientation"][lasting].T.astype(float), turn.T).T
        along = np.abs((expected * world.bodies.orientation[lasting]).sum(axis=1))
        twists.append(2 * np.arccos(np.minimum(along, 1.0)))
        turns.append(np.linalg.norm(turn, axis=1))
    # On average the displacement follows the mean velocity; contacts, threads and curves change it within a step.
    assert np.mean(np.concatenate(errors)) <= 0.25 * np.mean(np.concatenate(ways)) + 1e-9
    if (flags & HAS_ANGULAR_VELOCITY).all():
        assert np.mean(np.concatenate(twists)) <= 0.25 * np.mean(np.concatenate(turns)) + 1e-3


@EVERY_WORLD
def test_round_bodies_show_their_rotation_but_where_pixels_are_measured(name: str) -> None:
    scene = load_world(name).scene
    assert scene.pattern is (scene.look != "unlit")
