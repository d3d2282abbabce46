"""The world `verlet`: threads, pins, wind and ball."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.sim.worlds.verlet import BALL_M, BEAD_M, SUBSTEP_S, Verlet

DT = 1 / 60


def run(world: Verlet, steps: int) -> Verlet:
    for _ in range(steps):
        world.step(DT)
    return world


@pytest.mark.parametrize("seed", [0, 1])
def test_threads_keep_their_length_and_no_bead_is_inside_the_ball(seed: int) -> None:
    world = Verlet(seed=seed)
    for _ in range(20):
        run(world, 15)
        assert world.stretch() < 0.15
        distance = np.linalg.norm(world.position - world.ball[:, None, None], axis=0)
        assert distance.min() > BALL_M + BEAD_M - 1e-9
    assert np.isfinite(world.bodies.position).all()


def test_pinned_beads_never_move_and_the_rest_do() -> None:
    world = Verlet()
    start = world.position.copy()
    run(world, 120)
    moved = np.linalg.norm(world.position - start, axis=0)
    assert (moved[world.pinned] == 0).all()
    assert (moved[~world.pinned] > 0).all()
    assert moved.max() > 0.3


def test_without_wind_and_ball_the_curtain_comes_to_hang_still() -> None:
    world = Verlet(columns=8, rows=6, wind=0.0)
    run(world, 600)
    assert np.abs(world.bodies.velocity[:48]).max() < 0.2
    assert np.abs(world.position[1]).max() < 0.2


def test_velocities_are_those_by_which_the_beads_moved() -> None:
    world = Verlet()
    run(world, 30)
    beads = world.rows * world.columns
    last = ((world.position - world.before) / SUBSTEP_S).reshape(3, -1).T
    assert world.bodies.velocity[:beads] == pytest.approx(last, abs=1e-5)
    before = world.bodies.position.copy()
    speed = world.bodies.velocity.copy()
    world.step(DT)
    after = world.bodies.velocity
    # The displacement in a step is the mean velocity of both ends times dt, except for the threads' corrections.
    error = np.linalg.norm(world.bodies.position - before - (speed + after) / 2 * DT, axis=1)
    assert np.median(error) < 0.2 * np.median(np.linalg.norm(after, axis=1) * DT)
    assert error[beads] < 1e-4


@pytest.mark.parametrize("settings", [{"columns": 1}, {"rows": 0}, {"rows": 201}])
def test_a_cloth_that_is_none_is_refused(settings: dict[str, int]) -> None:
    with pytest.raises(TwixtError, match="columns and rows must be from 2 to 200"):
        Verlet(**settings)


@pytest.mark.parametrize("wind", [21.0, -1e9, np.nan, np.inf])
def test_a_wind_that_is_none_is_refused(wind: float) -> None:
    with pytest.raises(TwixtError, match="wind must be from -20 to 20"):
        Verlet(wind=wind)


def test_the_beads_go_on_as_fast_when_steps_become_longer_or_shorter() -> None:
    world = Verlet(columns=8, rows=6, wind=0.0)
    for _ in range(25):
        world.step(0.004)
    for dt in (0.004, 0.008, 0.004):
        before = np.linalg.norm(world.bodies.velocity[:48], axis=1).mean()
        world.step(dt)
        assert 1 < np.linalg.norm(world.bodies.velocity[:48], axis=1).mean() / before < 1.1


def test_the_cloth_is_a_surface_through_the_beads_which_are_hidden():
    world, beads = Verlet(columns=8, rows=6, cloth=True), 48
    for _ in range(5):
        world.step(1 / 60)
        assert world.surfaces is not None
        assert (world.surfaces[beads + 2] == world.bodies.position[:beads]).all()
    assert world.bodies.visible.tolist() == [False] * beads + [True] * 3
    assert world.bodies.position[beads + 2].tolist() == [0, 0, 0]
    world.reset(0)
    assert world.bodies.position[beads + 2].tolist() == [0, 0, 0]
    bare = Verlet(columns=8, rows=6)
    bare.reset(0)
    assert (world.bodies.records[: beads + 2]["position"] == bare.bodies.records["position"]).all()
