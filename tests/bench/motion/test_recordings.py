"""Recordings of worlds: fine, faithful, and of bodies where they are to be seen."""

from __future__ import annotations

import numpy as np
import pytest

from bench.motion.recordings import FINE, PICTURED, SNAPSHOT_HZ, SUBJECTS, Known, record, subjects
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import World
from twixt.sim.worlds.find import load_world

HZ = SNAPSHOT_HZ * FINE


def test_a_recording_holds_every_state_of_the_very_steps() -> None:
    recorded = record(load_world("balls", [("count", "5")]), 0.1).states
    world = load_world("balls", [("count", "5")])
    assert [state.sim_time_ns for state in recorded] == [round(tick * 1e9 / HZ) for tick in range(HZ // 10 + 1)]
    for state in recorded[1:]:
        world.step(1 / HZ)
        assert state.bodies.tobytes() == world.bodies.records.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_subject_can_be_recorded_and_moves(name: str) -> None:
    states = SUBJECTS[name].record(0.05).states
    assert len(states) == round(0.05 * HZ) + 1
    assert any(state.bodies["position"].tobytes() != states[0].bodies["position"].tobytes() for state in states) or any(
        state.bodies["orientation"].tobytes() != states[0].bodies["orientation"].tobytes() for state in states
    )


def test_without_velocities_all_else_is_the_same() -> None:
    plain, bare = (SUBJECTS[name].record(0.2).states for name in ("circles", "circles, no velocities"))
    for one, other in zip(plain, bare, strict=True):
        assert one.bodies["position"].tobytes() == other.bodies["position"].tobytes()
        assert (one.bodies["flags"] & HAS_VELOCITY).any()
        assert not (other.bodies["flags"] & (HAS_VELOCITY | HAS_ANGULAR_VELOCITY)).any()


def test_a_seed_makes_another_recording() -> None:
    first, second, again = (
        SUBJECTS["teleporters"].record(0.05, seed).states[-1].bodies.tobytes() for seed in (0, 1, 0)
    )
    assert first == again != second


def test_an_unknown_world_is_refused_with_those_there_are() -> None:
    with pytest.raises(TwixtError, match=r"--world must be one of: circles; .*; got 'nowhere'"):
        subjects(["circles", "nowhere"])
    assert list(subjects(["balls"])) == ["balls"]
    assert list(subjects([])) == list(SUBJECTS)


def test_the_pictured_motions_keep_to_their_formulas() -> None:
    states = PICTURED.record(6.5).states
    position = np.array([state.bodies["position"] for state in states], float)
    velocity = np.array([state.bodies["velocity"] for state in states], float)
    life = np.array([state.bodies["epoch"][0] for state in states])
    assert position[:, 0, 2].min() > -1e-6
    assert len(np.unique(life)) == 3, "dropped three times"
    np.testing.assert_allclose(np.linalg.norm(position[:, 1, :2], axis=1), Known.CIRCLE_RADIUS_M, rtol=1e-6)
    # Where no impact or drop lies between, the mean velocity of two states leads from one to the other.
    moved, led = np.diff(position, axis=0), (velocity[1:] + velocity[:-1]) / 2 / HZ
    smooth = np.linalg.norm(np.diff(velocity, axis=0), axis=2) < 0.1
    assert smooth.mean() > 0.99
    np.testing.assert_allclose(moved[smooth], led[smooth], atol=2e-6)
    impacts = np.flatnonzero(~smooth[:, 0] & (np.diff(life) == 0))
    after = velocity[impacts + 1, 0, 2]
    np.testing.assert_allclose(after / -velocity[impacts, 0, 2], Known.RESTITUTION, atol=0.02)


class Corrected(World):
    """One body, moved a metre by a correction half-way."""

    def __init__(self) -> None:
        self.bodies, self.scene, self.steps = Bodies(1), Scene([Sphere()]), 0

    def step(self, dt: float) -> None:
        self.steps += 1
        if self.steps == HZ // 20:
            self.bodies.correct(0, (1.0, 0.0, 0.0))


def test_a_corrected_body_is_recorded_where_it_is_to_be_seen() -> None:
    x = np.array([state.bodies["position"][0, 0] for state in record(Corrected(), 1.0).states])
    assert x[0] == 0.0
    assert x[-1] == pytest.approx(1.0, abs=1e-3)
    assert np.abs(np.diff(x)).max() < 0.02, "it glides there"
