"""Corrections: no jump for the eye, whoever reads which snapshots."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.snapshot import (
    CORRECTED_NS,
    CORRECTION,
    CORRECTION_TAU_NS,
    NO_OFFSET,
    OVER_AFTER_TAU,
    corrected,
    new_bodies,
    remainder,
    turn_between,
    visual,
)

NO_TURN = (0.0, 0.0, 0.0, 1.0)
TURN_90 = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))
TURN_90_ABOUT_X = (math.sin(math.pi / 4), 0.0, 0.0, math.cos(math.pi / 4))
# By 90 degrees about x, then about z: a third of a turn about the diagonal.
FIRST_X_THEN_Z = (0.5, 0.5, 0.5, 0.5)
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


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {CORRECTION: np.ones((2, 7), np.float32)},
        {CORRECTED_NS: np.zeros(2, np.int64)},
        columns_of(np.ones((2, 3)), [0, 0]),
        columns_of(np.ones((2, 7)), [[0], [0]]),
        columns_of(np.ones((2, 3)), [[0], [0]]),
    ],
    ids=["none", "offsets alone", "times alone", "narrow offsets", "wide times", "both of another shape"],
)
def test_columns_that_are_not_those_of_corrections_patch_no_row(columns: dict[str, np.ndarray]):
    bodies = new_bodies(2)
    patch = visual(bodies, columns, 5)
    assert patch.rows.tolist() == []
    assert patch.records.tolist() == []
    bodies[patch.rows] = patch.records  # as who draws them does
    assert bodies.tobytes() == new_bodies(2).tobytes()


@pytest.mark.parametrize(("count", "offsets", "times"), [(2, 5, 5), (5, 2, 5), (5, 5, 2), (2, 5, 4)])
def test_only_bodies_with_an_offset_and_a_time_are_patched(count: int, offsets: int, times: int):
    columns = columns_of(np.tile((1, 0, 0, *NO_TURN), (offsets, 1)), np.zeros(times))
    patch = visual(new_bodies(count), columns, 0)
    assert patch.rows.tolist() == [0, 1]
    assert patch.records["position"].tolist() == [[1, 0, 0]] * 2


def test_at_the_instant_of_a_correction_velocities_are_the_true_ones():
    bodies = new_bodies(2)
    bodies["velocity"], bodies["angular_velocity"] = (1, 2, 3), (0, 0, 4)
    records = visual(bodies, columns_of([(5, 6, 7, *TURN_90), (5, 6, 7, *NO_TURN)], [9, 10]), 9).records
    assert records["velocity"].tolist() == [[1, 2, 3]] * 2
    assert records["angular_velocity"] == pytest.approx(np.array([[0, 0, 4]] * 2))


@pytest.mark.filterwarnings("error")
def test_a_body_that_is_not_finite_or_too_far_away_stays_so_in_silence():
    bodies = new_bodies(3)
    bodies["position"][:, 0] = math.inf, math.nan, np.finfo(np.float32).max
    bodies["orientation"][0], bodies["angular_velocity"][0] = math.inf, math.inf
    drawn = visual(bodies, columns_of([(1e38, 0, 0, *TURN_90)] * 3, [0] * 3), 0).records
    assert not np.isfinite(drawn["position"][:, 0]).any()
    assert not np.isfinite(drawn["orientation"][0]).all()


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


def test_one_row_stands_for_all_wherever_it_is():
    many_times = corrected((2, 0, 0, *NO_TURN), [0, TAU], TAU, (1, 0, 0), NO_TURN)
    assert many_times[:, 0] == pytest.approx([1 + 2 / math.e, 3])
    many_turns = corrected(NO_OFFSET, 0, 7, (1, 0, 0), [TURN_90, TURN_90_ABOUT_X])
    assert many_turns[:, 0].tolist() == [1, 1]
    assert many_turns[:, 3:] == pytest.approx(np.array([TURN_90, TURN_90_ABOUT_X]))


@pytest.mark.filterwarnings("error")
def test_offsets_too_large_to_keep_count_as_none_in_silence():
    rows = corrected(NO_OFFSET, 0, 0, [(1e39, 0, 0), (-math.inf, 0, 0), (math.nan, 0, 0), (1, 0, 0)], TURN_90)
    assert rows[:3].tolist() == [list(NO_OFFSET)] * 3
    assert rows[3] == pytest.approx([1, 0, 0, *TURN_90])


def test_turns_about_different_axes_follow_each_other():
    """What is left of the older correction turns what the newer one has turned."""
    kept = corrected((0, 0, 0, *TURN_90), 5, 5, (0, 0, 0), TURN_90_ABOUT_X)
    assert kept[0, 3:] == pytest.approx(FIRST_X_THEN_Z)
    assert turn_between(FIRST_X_THEN_Z, TURN_90_ABOUT_X)[0] == pytest.approx(TURN_90)
    drawn = visual(posed((0, 0, 0), TURN_90_ABOUT_X), columns_of([(0, 0, 0, *TURN_90)], [5]), 5).records
    assert drawn["orientation"][0] == pytest.approx(FIRST_X_THEN_Z)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("given", "is_turn"),
    [
        ((0, 0, 3, 3), TURN_90),
        (np.array([0, 0, 1e30, 1e30], np.float32), TURN_90),
        ((0, 0, 1e-9, 1e-9), TURN_90),
        ((0, 0, 0, 0), NO_TURN),
        ((0, 0, 1e200, 1e200), NO_TURN),
        ((0, 0, math.inf, 1), NO_TURN),
        ((0, 0, math.nan, 1), NO_TURN),
    ],
    ids=["long", "long, of single precision", "short", "no length", "no finite length", "infinite", "no number"],
)
def test_turns_of_any_length_are_turns_and_others_are_none(given: tuple[float, ...], is_turn: tuple[float, ...]):
    back = np.multiply(is_turn, (-1, -1, -1, 1))
    assert turn_between(given, NO_TURN)[0] == pytest.approx(is_turn)
    assert turn_between(NO_TURN, given)[0] == pytest.approx(back)
    kept = corrected(NO_OFFSET, 0, 0, (1, 0, 0), given)
    assert kept[0] == pytest.approx([1, 0, 0, *is_turn])


def test_turns_of_different_lengths_are_each_their_own():
    before = np.array([(0, 0, 3, 3), (1e-3, 0, 0, 1e-3), (0, 0, 0, 0)])
    assert turn_between(before, NO_TURN) == pytest.approx(np.array([TURN_90, TURN_90_ABOUT_X, NO_TURN]))


def test_between_orientations_that_are_the_same_is_no_turn():
    same = np.array([TURN_90, TURN_90_ABOUT_X, FIRST_X_THEN_Z])
    assert turn_between(same, same) == pytest.approx(np.tile(NO_TURN, (3, 1)))


def test_an_offset_is_over_all_at_once():
    offsets, over_ns = np.array([(1, 0, 0, *TURN_90)]), round(OVER_AFTER_TAU * TAU)
    assert remainder(offsets, np.array([0]), over_ns).tolist() == [list(NO_OFFSET)]
    assert remainder(offsets, np.array([0]), over_ns + 5 * TAU).tolist() == [list(NO_OFFSET)]
    assert remainder(offsets, np.array([0]), over_ns - 1)[0, 0] == pytest.approx(math.exp(-OVER_AFTER_TAU))


def test_an_offset_is_whole_up_to_its_own_time():
    offsets = np.array([(1.0, 0, 0, *NO_TURN)])
    for now in (-TAU, 0):
        assert remainder(offsets, np.array([0]), now)[0, 0] == 1.0


def test_an_offset_decays_by_the_nanosecond_however_late_it_is():
    late = 2**60 + 1  # where the nearest floats are hundreds of nanoseconds apart
    left = remainder(np.array([(1.0, 0, 0, *NO_TURN)]), np.array([late]), late + 99)[0, 0]
    assert left == pytest.approx(math.exp(-99 / TAU), rel=1e-12)


def test_turns_decay_the_short_way_round_each_about_its_own_axis():
    offsets = np.zeros((4, 7))
    offsets[:, 3:] = TURN_90, np.negative(TURN_90), TURN_90_ABOUT_X, (0, 0, 1, 0)
    left = remainder(offsets, np.zeros(4, np.int64), TAU)[:, 3:]
    quarter, half = math.pi / 4 / math.e, math.pi / 2 / math.e
    about_z, about_x = (0, 0, math.sin(quarter), math.cos(quarter)), (math.sin(quarter), 0, 0, math.cos(quarter))
    assert left == pytest.approx(np.array([about_z, about_z, about_x, (0, 0, math.sin(half), math.cos(half))]))
