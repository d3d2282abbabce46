"""Chase: from the pose drawn last to the newest snapshot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import MS, at, bytes_of, method_of
from twixt.ipc.errors import TwixtError
from twixt.render.interpolation import create


def x_of(method, time_ms):
    return float(method.sample(round(time_ms * MS)).position[0, 0])


def test_goal_ahead_of_the_draw_time_is_reached_at_its_own_instant():
    method = method_of("chase", at(0, 0), at(10 * MS, 10))
    assert x_of(method, 5) == pytest.approx(5)
    method.add(at(20 * MS, 35))
    assert x_of(method, 5) == pytest.approx(5)
    assert x_of(method, 12.5) == pytest.approx(20)
    assert x_of(method, 20) == 35
    assert x_of(method, 90) == 35


def test_goal_behind_the_draw_time_is_reached_after_the_usual_gap_or_chase_ms():
    for chase_ms, half_way_ms in ((None, 5), (40, 20)):
        method = method_of("chase", at(0, 0), at(10 * MS, 0), chase_ms=chase_ms)
        x_of(method, 25)
        method.add(at(20 * MS, 8))
        assert [x_of(method, 25 + part * half_way_ms) for part in (0, 1, 2, 9)] == pytest.approx([0, 4, 8, 8])


@pytest.mark.parametrize("ahead_ms", [-3, 1, 5, 30, 49, 70])
def test_a_body_never_waits_for_its_next_goal_however_little_ahead_of_the_draw_time_that_comes(ahead_ms):
    """Steps of 50 ms, drawn at 60 Hz: what is reached at once stands for two frames of three."""
    method, drawn, k = create("chase"), [], 0
    for frame in range(120):
        draw_ms = frame * 1000 / 60
        while k * 50 <= draw_ms + ahead_ms:
            method.add(at(k * 50 * MS, float(k)))
            k += 1
        drawn.append(x_of(method, draw_ms) if k else 0.0)
    steps = np.diff(drawn[12:])
    assert steps.min() > 0.15, "three frames a snapshot: a third of the way each, but where two goals come in one frame"
    assert steps.max() < 0.6


def test_chase_ms_may_be_none_at_all_or_longer_than_the_usual_reach():
    method = method_of("chase", at(0, 0), at(10 * MS, 0), chase_ms=0)
    x_of(method, 25)
    method.add(at(20 * MS, 8))
    assert x_of(method, 25) == 8
    assert method_of("chase", at(0, 0), chase_ms=700).reach_ns == 700 * MS
    for wrong in (-1, math.nan, math.inf):
        with pytest.raises(TwixtError, match=r"chase_ms must be a finite number >= 0, or None.*got"):
            create("chase", chase_ms=wrong)


def test_every_way_begins_where_the_last_one_was_left():
    method = method_of("chase", at(0, 0), at(10 * MS, 1))
    drawn, time_ms = x_of(method, 10), 10.0
    for k in range(2, 30):
        before = x_of(method, time_ms)
        method.add(at(10 * k * MS, math.sin(k)))
        assert x_of(method, time_ms) == pytest.approx(before, abs=1e-6)
        time_ms += 10
        drawn = x_of(method, time_ms)
    assert abs(drawn) <= 1


def test_long_silence_does_not_stretch_the_move_after_it():
    method = method_of("chase", *(at(10 * k * MS, 0) for k in range(4)))
    x_of(method, 40)
    method.add(at(5000 * MS, 10))
    assert x_of(method, 2500) == 0
    assert x_of(method, 4990) == 0
    assert x_of(method, 4995) == pytest.approx(5)
    assert x_of(method, 5000) == 10


def test_snapshot_that_comes_late_is_no_goal():
    method = method_of("chase", at(0, 0), at(10 * MS, 0))
    x_of(method, 12)
    method.add(at(20 * MS, 8))
    method.add(at(15 * MS, -99))
    assert x_of(method, 17) == pytest.approx(4)


def test_body_spawned_in_between_appears_at_its_instant_where_it_is():
    method = method_of("chase", at(0, [0]), at(10 * MS, [1]))
    x_of(method, 8)
    method.add(at(20 * MS, [2, 50]))
    assert len(method.sample(19 * MS)) == 1
    assert method.sample(20 * MS).position[:, 0].tolist() == [2, 50]


def test_discrete_columns_and_visibility_are_those_of_the_draw_time_and_others_go_with_the_body():
    def shown(k, flags):
        columns = {"frame": np.array([k]), "heat": np.array([float(k)])}
        return at(10 * k * MS, k, flags=flags, columns=columns)

    method = method_of("chase", shown(0, 1), shown(1, 0))
    method.sample(6 * MS)
    method.add(shown(2, 1))
    seen = [method.sample(t * MS) for t in (6, 9, 10, 19, 20)]
    assert [poses.columns["frame"][0] for poses in seen] == [0, 0, 1, 1, 2]
    assert [bool(poses.visible[0]) for poses in seen] == [True, True, False, False, True]
    assert [poses.columns["heat"][0] for poses in seen] == pytest.approx([0.6, 0.9, 1, 1.9, 2])


def test_what_the_caller_does_to_the_poses_does_not_come_back():
    method = method_of("chase", at(0, 0), at(10 * MS, 0, columns={"heat": np.array([1.0])}))
    poses = method.sample(15 * MS)
    poses.position[:] = 99
    poses.columns["heat"][:] = 99
    method.add(at(20 * MS, 0, columns={"heat": np.array([1.0])}))
    poses = method.sample(15 * MS)
    assert (poses.position[0, 0], poses.columns["heat"][0]) == (0, 1)


@given(
    st.lists(st.tuples(st.integers(1, 80), st.floats(-100, 100, width=32), st.integers(0, 30)), min_size=2, max_size=12)
)
def test_a_new_snapshot_never_makes_a_body_jump(rows):
    method, snapshot_ms, draw_ms = create("chase"), 0, 0
    for gap_ms, x, draw_gap_ms in rows:
        snapshot_ms += gap_ms
        draw_ms += draw_gap_ms
        before = method.sample(draw_ms * MS)
        method.add(at(snapshot_ms * MS, x))
        after = method.sample(draw_ms * MS)
        if len(before):
            assert after.position[0] == pytest.approx(before.position[0], abs=1e-4)
        assert bytes_of(method.sample(draw_ms * MS)) == bytes_of(after)
