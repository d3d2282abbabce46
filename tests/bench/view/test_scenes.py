"""Scenes without a camera: their states are functions of simulated time, and their bodies are told apart by colour."""

from __future__ import annotations

import numpy as np
import pytest

from bench.view.codes import BODY_BITS, CODE_OF, COUNT, MARKER_BITS, codes_of, colors_of, packed
from bench.view.scene_world import SceneWorld
from bench.view.scenes import SCENES, Fountain
from twixt.sim.world.world import state_hash

by_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)


def stepped(scene: type[SceneWorld], steps: int) -> SceneWorld:
    world = scene()
    for _ in range(steps):
        world.step(world.dt)
    return world


@by_scene
def test_the_state_is_a_function_of_simulated_time_alone(scene: type[SceneWorld]) -> None:
    world, other = stepped(scene, 240), scene()
    assert state_hash(world) == state_hash(stepped(scene, 240))
    state = other.state_at(240 * world.dt)
    np.testing.assert_allclose(world.bodies.position[world.row[state.shown]], state.position[state.shown], atol=1e-5)
    assert np.count_nonzero(world.bodies.visible) == np.count_nonzero(state.shown)


@by_scene
def test_each_visible_body_has_the_colour_of_its_number(scene: type[SceneWorld]) -> None:
    world = stepped(scene, 600)
    shown = np.flatnonzero(world.state.shown)
    np.testing.assert_array_equal(world.bodies.color[world.row[shown], :3], colors_of(shown))
    assert len(set(world.codes[shown])) == len(shown)


@pytest.mark.parametrize("scene", [scene for scene in SCENES.values() if scene.bounded_from_s is not None])
def test_bodies_within_bounds_stay_in_the_box_where_they_were_before(scene: type[SceneWorld]) -> None:
    assert scene.bounded_from_s is not None
    world = scene()

    def box(times_s: np.ndarray) -> np.ndarray:
        states = [world.state_at(t) for t in times_s]
        places = np.concatenate([state.position[state.shown] for state in states])
        return np.array([places.min(axis=0), -places.max(axis=0)])

    before = box(np.arange(0.0, scene.bounded_from_s, 1 / 60))
    assert (box(np.arange(scene.bounded_from_s, 40.0, 1 / 60)) > before - 0.01).all()


def test_bodies_are_born_and_die() -> None:
    world = Fountain()
    lives = [world.state_at(t) for t in np.arange(0.0, 12.0, 1 / 60)]
    shown = np.array([state.shown for state in lives])
    assert 20 < shown[-1].sum() < 50
    assert (np.diff(shown.astype(int), axis=0) == 1).sum() > 200
    assert max(state.life.max() for state in lives) == 2


def test_each_number_has_a_colour_of_its_own_that_gives_its_code() -> None:
    numbers = np.arange(COUNT)
    for bits, other in ((BODY_BITS, MARKER_BITS), (MARKER_BITS, BODY_BITS)):
        red, green, blue = colors_of(numbers, bits).T.astype(np.uint32)
        pixels = red << 16 | green << 8 | blue
        np.testing.assert_array_equal(codes_of(pixels), CODE_OF)
        assert ((pixels & 0x1F1F1F) == packed(bits)).all()
        assert ((pixels & 0x1F1F1F) != packed(other)).all()
    assert len(set(CODE_OF)) == COUNT
