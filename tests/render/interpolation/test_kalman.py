"""Kalman: noisy states become a likely motion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.render.interpolation.snapshots import MS, at, method_of
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.render.interpolation import create
from twixt.render.interpolation.kalman import POSITION_NOISE_M, TURN_NOISE_RAD

GAP_MS = 16
COUNT = 200


def noisy(k, rng, speed=1.0, spin=1.0, noise=1.0):
    """Many bodies that move and turn evenly, as badly measured as the method expects."""
    time_s = k * GAP_MS * 1e-3
    half = (spin * time_s + rng.normal(0, noise * TURN_NOISE_RAD, COUNT)) / 2
    zero = np.zeros(COUNT)
    orientation = np.stack([zero, zero, np.sin(half), np.cos(half)], axis=1)
    x = speed * time_s + rng.normal(0, noise * POSITION_NOISE_M, COUNT)
    return at(k * GAP_MS * MS, x, orientation=orientation)


def errors(poses, time_s, speed=1.0, spin=1.0):
    angle = 2 * np.arctan2(poses.orientation[:, 2], poses.orientation[:, 3])
    off = (angle - spin * time_s + math.pi) % (2 * math.pi) - math.pi
    return np.std(poses.position[:, 0] - speed * time_s), np.std(off)


def followed(count, **options):
    rng, method = np.random.default_rng(1), create("kalman")
    for k in range(count):
        method.add(noisy(k, rng, **options))
    return method


def test_half_of_the_noise_is_left():
    method = followed(120)
    time_ns = 119 * GAP_MS * MS
    position, turn = errors(method.sample(time_ns), time_ns * 1e-9)
    assert position < 0.6 * POSITION_NOISE_M
    assert turn < 0.6 * TURN_NOISE_RAD


def test_silence_is_bridged_better_than_along_the_last_two():
    time_ns = (119 * GAP_MS + 100) * MS
    filtered = errors(followed(120).sample(time_ns), time_ns * 1e-9)
    rng, plain = np.random.default_rng(1), create("extrapolate")
    for k in range(120):
        plain.add(noisy(k, rng))
    unfiltered = errors(plain.sample(time_ns), time_ns * 1e-9)
    assert filtered[0] < unfiltered[0] / 3
    assert filtered[1] < unfiltered[1] / 3
    assert followed(30).sample(10**12).draw_time_ns == 29 * GAP_MS * MS + 250 * MS


def test_body_in_free_fall_lags_by_3_cm():
    method = method_of("kalman", *(at(k * 16_666_667, -4.9 * (k / 60) ** 2) for k in range(121)))
    assert method.sample(120 * 16_666_667).position[0, 0] - -4.9 * 4 == pytest.approx(0.0325, abs=0.005)


def test_turns_through_many_rounds_without_losing_count():
    spin = 20.0
    method = followed(200, spin=spin, noise=0.1)
    time_ns = 199 * GAP_MS * MS
    assert errors(method.sample(time_ns), time_ns * 1e-9, spin=spin)[1] < 0.02


def test_given_velocities_are_measurements_too():
    flags = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    method = method_of("kalman", at(0, 0, velocity=(2, 0, 0), angular_velocity=(0, 0, 30), flags=flags))
    poses = method.sample(100 * MS)
    assert poses.position[0, 0] == pytest.approx(0.2)
    assert 2 * math.atan2(*poses.orientation[0, 2:]) == pytest.approx(3.0)


def test_exact_states_of_even_motion_are_drawn_exactly():
    method = followed(100, noise=0)
    time_ns = 99 * GAP_MS * MS
    assert method.sample(time_ns).position[0, 0] == pytest.approx(time_ns * 1e-9, abs=1e-4)


def test_teleported_body_begins_anew_and_takes_nothing_with_it():
    method = method_of("kalman", *(at(k * 16 * MS, k) for k in range(20)))
    method.add(at(20 * 16 * MS, -500, epoch=1))
    assert method.sample(20 * 16 * MS).position[0, 0] == -500
    assert method.sample(24 * 16 * MS).position[0, 0] == -500


def test_body_that_was_not_finite_for_a_while_begins_anew():
    xs = [0, 1, 2, math.nan, 50, 50]
    method = method_of("kalman", *(at(k * 16 * MS, [x, 1]) for k, x in enumerate(xs)))
    assert method.sample(3 * 16 * MS).visible.tolist() == [False, True]
    assert method.sample(5 * 16 * MS).position[:, 0].tolist() == [50, 1]


def test_snapshot_that_comes_late_is_left_out():
    method = method_of("kalman", at(0, 0), at(32 * MS, 0), at(16 * MS, 99))
    assert [snapshot.sim_time_ns for snapshot in method.snapshots] == [0, 32 * MS]


def test_after_a_long_silence_the_new_state_is_believed():
    method = method_of("kalman", *(at(k * 16 * MS, 0) for k in range(50)))
    method.add(at(100_000 * MS, 5))
    assert method.sample(100_000 * MS).position[0, 0] == pytest.approx(5, abs=1e-3)


def test_what_is_published_is_not_changed():
    snapshot = at(0, [1.0, 2.0])
    before = snapshot.bodies.tobytes()
    method_of("kalman", snapshot, at(16 * MS, [3.0, 4.0])).sample(5 * MS)
    assert snapshot.bodies.tobytes() == before
