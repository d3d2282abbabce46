"""Records expressed in the frames of other parents: the same poses and velocities in the world."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, new_bodies
from twixt.render.interpolation.poses import compose, in_frames_of, poses_of
from twixt.render.interpolation.quaternion import exp, multiply, normalized

BOTH = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
CHAIN, OTHERS, NONE = np.array([-1, 0, 1, -1]), np.array([-1, 3, 1, -1]), np.full(4, -1)
SOON_S = 1e-3


def tumbling(seed: int = 1) -> np.ndarray:
    made, bodies = np.random.default_rng(seed), new_bodies(4)
    for name in ("position", "velocity", "angular_velocity"):
        bodies[name] = made.normal(size=(4, 3))
    bodies["orientation"] = normalized(made.normal(size=(4, 4)))
    bodies["flags"] = BOTH
    return bodies


def soon(bodies: np.ndarray) -> np.ndarray:
    """The records a moment later, each moved in its own frame."""
    later = bodies.copy()
    later["position"] += bodies["velocity"] * np.float32(SOON_S)
    turn = exp(bodies["angular_velocity"].astype(np.float64) * SOON_S)
    later["orientation"] = multiply(turn, bodies["orientation"].astype(np.float64))
    return later


def alike(one: np.ndarray, other: np.ndarray, within_m: float = 1e-5) -> bool:
    """True if positions are equal, and orientations but for their sign."""
    same = np.abs((one["orientation"] * other["orientation"]).sum(axis=1))
    return bool(np.abs(one["position"] - other["position"]).max() < within_m and np.abs(same - 1).max() < 1e-6)


def test_the_same_parents_change_nothing() -> None:
    bodies = tumbling()
    assert in_frames_of(bodies, CHAIN, CHAIN) is bodies
    assert in_frames_of(bodies, CHAIN[:3], CHAIN) is bodies


@pytest.mark.parametrize("wanted", [OTHERS, NONE], ids=["other parents", "none"])
def test_the_pose_in_the_world_stays_and_only_changed_rows_are_written(wanted: np.ndarray) -> None:
    bodies = tumbling()
    moved = in_frames_of(bodies, CHAIN, wanted)
    before, after = compose(poses_of(0, bodies), CHAIN), compose(poses_of(0, moved), wanted)
    assert after.position == pytest.approx(before.position, abs=1e-5)
    same = np.flatnonzero(wanted == CHAIN)
    assert moved[same].tobytes() == bodies[same].tobytes()
    assert alike(in_frames_of(moved, wanted, CHAIN), bodies)


@pytest.mark.parametrize("wanted", [OTHERS, NONE], ids=["other parents", "none"])
def test_velocities_are_those_of_the_motion_in_the_new_frames(wanted: np.ndarray) -> None:
    bodies = tumbling()
    moved = in_frames_of(bodies, CHAIN, wanted)
    later = in_frames_of(soon(bodies), CHAIN, wanted)
    way = (later["position"].astype(np.float64) - moved["position"]) / SOON_S
    assert moved["velocity"] == pytest.approx(way, abs=0.02)
    assert alike(soon(moved), later, 20 * SOON_S**2)
    assert (moved["flags"] == BOTH).all()


def test_velocities_that_do_not_follow_from_what_is_given_are_not_given() -> None:
    bodies = tumbling()
    bodies["flags"] = [VISIBLE | HAS_VELOCITY, BOTH, BOTH, BOTH]  # nobody knows how 0 turns
    moved = in_frames_of(bodies, CHAIN, NONE)
    assert moved["flags"].tolist() == [VISIBLE | HAS_VELOCITY, VISIBLE, VISIBLE, BOTH]


@given(st.lists(st.floats(width=32), min_size=3, max_size=3), st.lists(st.floats(width=32), min_size=4, max_size=4))
def test_whatever_comes_other_bodies_stay(position: list[float], orientation: list[float]) -> None:
    bodies = tumbling()
    bodies["position"][0], bodies["orientation"][0] = position, orientation
    moved = in_frames_of(bodies, CHAIN, OTHERS)
    assert moved[[0, 2, 3]].tobytes() == bodies[[0, 2, 3]].tobytes()
