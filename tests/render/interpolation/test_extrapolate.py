"""Extrapolate: through silence by dead reckoning, and back without a jump."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import MS, at, method_of
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.render.interpolation import create

S = 1_000_000_000
MOVING, TURNING = VISIBLE | HAS_VELOCITY, VISIBLE | HAS_ANGULAR_VELOCITY


def x_of(method, time_ms):
    return float(method.sample(round(time_ms * MS)).position[0, 0])


def angle_of(orientation):
    return 2 * math.atan2(orientation[2], orientation[3])


def turned(angle):
    return (0, 0, math.sin(angle / 2), math.cos(angle / 2))


def test_without_velocities_it_goes_on_along_the_line_of_the_last_two_and_then_holds():
    method = method_of("extrapolate", at(0.9 * S, 1), at(S, 2))
    assert [x_of(method, t) for t in (950, 1000, 1100, 1250, 1300, 9000)] == pytest.approx([1.5, 2, 3, 4.5, 4.5, 4.5])
    assert method.sample(9 * S).draw_time_ns == S + method.reach_ns
    assert method.reach_ns == 250 * MS


def test_a_last_gap_too_short_to_tell_a_speed_is_measured_together_with_those_before():
    even = [at(16 * k * MS, 0.16 * k) for k in range(6)]
    method = method_of("extrapolate", *even, at(80 * MS + MS // 10, 0.802))  # 2 mm off after 0.1 ms: 20 m/s
    assert x_of(method, 330) == pytest.approx(0.802 + 10 * 0.25, rel=0.02)
    method = method_of("extrapolate", *even, at(88 * MS, 0.96))  # half a gap is enough
    assert x_of(method, 138) == pytest.approx(0.96 + 20 * 0.05, rel=0.02)


def test_velocities_are_used_where_they_are_given():
    method = method_of("extrapolate", at(0, [0, 0]), at(100 * MS, [1, 1], velocity=(-3, 0, 0), flags=[MOVING, VISIBLE]))
    assert method.sample(200 * MS).position[:, 0] == pytest.approx([0.7, 2])


def test_turning_goes_on_by_angular_velocity_or_as_the_last_two_turned():
    method = method_of("extrapolate", at(0, 0), at(100 * MS, 0, orientation=turned(0.2)))
    assert angle_of(method.sample(200 * MS).orientation[0]) == pytest.approx(0.4, abs=1e-6)
    method = method_of("extrapolate", at(0, 0, angular_velocity=(0, 0, 5), flags=TURNING))
    assert angle_of(method.sample(100 * MS).orientation[0]) == pytest.approx(0.5, abs=1e-6)


def test_one_snapshot_without_velocities_stands_still():
    assert x_of(method_of("extrapolate", at(0, 5)), 100) == 5


def test_body_that_rests_while_others_move_is_not_led_on():
    method = method_of("extrapolate", at(0, [0, 0]), at(10 * MS, [5, 1]), at(20 * MS, [5, 2]))
    assert method.sample(30 * MS).position[:, 0] == pytest.approx([5, 3])


def test_body_new_in_the_last_snapshot_has_no_line():
    method = method_of("extrapolate", at(0, [0, 0]), at(10 * MS, [1, 70, 9], epoch=[0, 1, 0]))
    assert method.sample(20 * MS).position[:, 0] == pytest.approx([2, 70, 9])


def test_way_back_begins_where_it_was_drawn_and_ends_in_the_truth():
    method = method_of("extrapolate", at(0, 0), at(100 * MS, 1), at(200 * MS, 2))
    assert x_of(method, 350) == pytest.approx(3.5)
    method.add(at(300 * MS, 2))  # it had stopped
    assert x_of(method, 350) == pytest.approx(3.5)
    drawn = [x_of(method, t) for t in range(350, 520, 2)]
    assert np.abs(np.diff(drawn)).max() < 0.05  # as it went, or slower: 10 m/s were 0.02, and the way back is 1.5 m
    assert drawn[-1] == 2


def test_steady_motion_is_the_same_with_and_without_silence():
    method = method_of("extrapolate", at(0, 0), at(100 * MS, 1))
    x_of(method, 150)
    for k in range(2, 6):
        method.add(at(100 * k * MS, k))
        for t in range(100 * k - 50, 100 * k + 50, 7):
            assert x_of(method, t) == pytest.approx(t / 100, abs=2e-3)


def test_speed_too_does_not_jump_on_the_way_back():
    """Projective velocity blending: at first as fast as it was drawn, at last as fast as it truly is."""
    method = method_of("extrapolate", at(0, 0, velocity=(1, 0, 0), flags=MOVING))
    x_of(method, 200)
    method.add(at(100 * MS, 0.1, velocity=(-1, 0, 0), flags=MOVING))
    drawn = [x_of(method, 200 + t) for t in range(0, 30)]
    assert (drawn[1] - drawn[0]) * 1000 == pytest.approx(1, abs=0.05)


def test_turn_comes_back_without_a_jump():
    method = method_of("extrapolate", at(0, 0, angular_velocity=(0, 0, 4), flags=TURNING))
    before = angle_of(method.sample(150 * MS).orientation[0])
    method.add(at(100 * MS, 0, angular_velocity=(0, 0, -4), orientation=turned(0.4), flags=TURNING))
    drawn = [angle_of(method.sample((150 + t) * MS).orientation[0]) for t in range(0, 250)]
    assert drawn[0] == pytest.approx(before, abs=1e-6)
    assert np.abs(np.diff(drawn)).max() < 0.02
    assert drawn[-1] == pytest.approx(0.4 - 4 * 0.25, abs=1e-5)


def test_teleport_during_silence_cuts_at_its_instant_and_leaves_no_streak():
    method = method_of("extrapolate", at(0, 0), at(100 * MS, 1))
    x_of(method, 150)
    method.add(at(200 * MS, 500, epoch=1))
    drawn = [x_of(method, t) for t in range(150, 400, 5)]
    assert all(x < 3 or x == 500 for x in drawn)
    assert x_of(method, 200) == 500


@given(
    st.lists(st.tuples(st.integers(5, 80), st.floats(-1, 1, width=32), st.integers(0, 60)), min_size=3, max_size=14),
    st.booleans(),
)
def test_a_new_snapshot_never_makes_a_body_jump(rows, has_velocity):
    method, snapshot_ms, draw_ms = create("extrapolate"), 0, 0
    for gap_ms, x, draw_gap_ms in rows:
        snapshot_ms += gap_ms
        draw_ms = max(draw_ms, min(draw_ms + draw_gap_ms, snapshot_ms + 250))
        before = method.sample(draw_ms * MS)
        flags = MOVING | HAS_ANGULAR_VELOCITY if has_velocity else VISIBLE
        speed = {"velocity": (x, 0, 0), "angular_velocity": (0, 0, 9 * x)}
        method.add(at(snapshot_ms * MS, x, orientation=turned(3 * x), flags=flags, **speed))
        after = method.sample(draw_ms * MS)
        if len(before) and draw_ms >= method.snapshots[0].sim_time_ns / MS:
            assert after.position[0] == pytest.approx(before.position[0], abs=1e-5)
            assert abs(after.orientation[0] @ before.orientation[0]) == pytest.approx(1, abs=1e-5)


@given(st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=5), st.integers(0, 10_000))
def test_it_never_goes_farther_than_a_quarter_of_a_second(xs, silence_ms):
    method = method_of("extrapolate", *(at(100 * k * MS, x) for k, x in enumerate(xs)))
    speed = abs(xs[-1] - xs[-2]) / 0.1
    assert abs(x_of(method, 100 * (len(xs) - 1) + silence_ms) - xs[-1]) <= speed * 0.25 + 1e-4
