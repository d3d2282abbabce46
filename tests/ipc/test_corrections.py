"""Corrections: no jump for the eye, whoever reads which snapshots."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.corrections import (
    CORRECTED_NS,
    CORRECTION,
    CORRECTION_TAU_NS,
    NO_OFFSET,
    corrected,
    turn_between,
    visual,
)
from twixt.ipc.snapshot import new_bodies

NO_TURN = (0.0, 0.0, 0.0, 1.0)
TURN_90 = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))
TAU = CORRECTION_TAU_NS
coordinates = st.floats(-100, 100, width=32)
vectors = st.tuples(coordinates, coordinates, coordinates)
turns = st.tuples(*[st.floats(-1, 1, width=32)] * 4).filter(lambda q: math.hypot(*q) > 0.1).map(np.array)


def columns_of(offsets, times):
    return {CORRECTION: np.array(offsets, np.float32), CORRECTED_NS: np.array(times, np.int64)}


def posed(position, orientation):
    bodies = new_bodies(1)
    bodies["position"], bodies["orientation"] = position, np.array(orientation) / np.linalg.norm(orientation)
    return bodies


def test_offset_is_whole_at_first_and_decays():
    bodies = new_bodies(3)
    columns = columns_of([NO_OFFSET, (1, 0, 0, *TURN_90), NO_OFFSET], [0, 500, 0])
    at_once = visual(bodies, columns, 500)
    assert at_once.rows.tolist() == [1]
    assert at_once.records["position"][0].tolist() == [1, 0, 0]
    assert at_once.records["orientation"][0] == pytest.approx(TURN_90)
    later = visual(bodies, columns, 500 + TAU).records[0]
    assert later["position"] == pytest.approx([math.exp(-1), 0, 0])
    assert 2 * math.asin(later["orientation"][2]) == pytest.approx(math.exp(-1) * math.pi / 2)
    assert len(visual(bodies, columns, 500 + 20 * TAU).rows) == 0


def test_without_corrections_no_row_is_patched():
    bodies = new_bodies(4)
    assert len(visual(bodies, {}, 5).rows) == 0
    assert len(visual(bodies, {"correction": np.zeros((4, 3), np.float32)}, 5).rows) == 0
    assert len(visual(new_bodies(0), columns_of(np.zeros((0, 7)), []), 5).rows) == 0


def test_the_snapshot_itself_is_not_changed():
    bodies = new_bodies(1)
    before = bodies.tobytes()
    visual(bodies, columns_of([(1, 2, 3, *TURN_90)], [0]), 10).records["position"] = 9
    assert bodies.tobytes() == before


@given(vectors, turns, vectors, turns, vectors, turns, st.integers(0, 4 * TAU))
def test_right_after_a_correction_the_visual_pose_is_always_the_one_before(p0, q0, p1, q1, offset, turn, age_ns):
    """Also when an earlier correction had not decayed yet."""
    earlier = corrected(NO_OFFSET, 0, 0, offset, turn)
    now = 1000 + age_ns
    old = posed(p0, q0)
    patch = visual(old, columns_of(earlier, [1000]), now)
    drawn = patch.records if len(patch.rows) else old
    new = posed(p1, q1)
    extra = np.subtract(old["position"], new["position"])
    kept = corrected(earlier, 1000, now, extra, turn_between(old["orientation"], new["orientation"]))
    patch = visual(new, columns_of(kept, [now]), now)
    redrawn = patch.records if len(patch.rows) else new
    assert redrawn["position"] == pytest.approx(drawn["position"], abs=1e-4)
    assert abs(np.sum(redrawn["orientation"] * drawn["orientation"])) == pytest.approx(1, abs=1e-5)


@given(vectors, turns, vectors, st.integers(1_000_000, 5 * TAU))
def test_velocities_are_always_those_of_the_visual_pose(offset, turn, spin, age_ns):
    columns = columns_of(corrected(NO_OFFSET, 0, 0, offset, turn), [0])
    width_ns, width_s = 200_000, 2e-4

    def drawn(time_ns):
        half = np.linalg.norm(spin) * (time_ns - age_ns) * 1e-9 / 2
        axis = np.array(spin) / max(np.linalg.norm(spin), 1e-9)
        body = posed((1, 2, 3), (*(axis * math.sin(half)), math.cos(half)))
        body["angular_velocity"] = spin
        patch = visual(body, columns, time_ns)
        return (patch.records if len(patch.rows) else body)[0]

    before, here, after = drawn(age_ns - width_ns), drawn(age_ns), drawn(age_ns + width_ns)
    measured = (after["position"].astype(float) - before["position"]) / (2 * width_s)
    assert here["velocity"] == pytest.approx(measured, abs=0.01 * np.linalg.norm(offset) * 10 + 0.1)
    half_turn = turn_between(after["orientation"], before["orientation"])[0]
    angle = 2 * math.atan2(np.linalg.norm(half_turn[:3]), abs(half_turn[3])) / (2 * width_s)
    assert np.linalg.norm(here["angular_velocity"]) == pytest.approx(angle, rel=0.02, abs=0.5)


def test_what_is_not_finite_counts_as_no_offset():
    rows = corrected(
        [NO_OFFSET, (math.nan, 0, 0, *NO_TURN)], [0, 0], 1, [(math.inf, 0, 0), (1, 0, 0)], [NO_TURN, NO_TURN]
    )
    assert rows[0].tolist() == list(NO_OFFSET)
    assert rows[1, :3].tolist() == [1, 0, 0]
    assert np.isfinite(visual(new_bodies(1), columns_of([(math.inf,) * 7], [0]), 5).records["position"]).all()


def test_many_bodies_at_once_are_each_their_own():
    old = np.tile(NO_OFFSET, (3, 1))
    rows = corrected(old, [0, 0, 0], 7, [(1, 0, 0), (2, 0, 0), (3, 0, 0)], NO_TURN)
    assert rows.dtype == np.float32
    assert rows[:, 0].tolist() == [1, 2, 3]


def test_corrections_in_a_row_add_up_while_they_decay():
    offset, then = corrected(NO_OFFSET, 0, 0, (1, 0, 0), NO_TURN), 0
    for now in range(TAU // 2, 3 * TAU, TAU // 2):
        offset, then = corrected(offset, then, now, (1, 0, 0), NO_TURN), now
    assert offset[0, 0] == pytest.approx(sum(math.exp(-k / 2) for k in range(6)), rel=1e-6)
