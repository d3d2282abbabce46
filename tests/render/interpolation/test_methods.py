"""Where bodies are drawn between two snapshots: the numpy reference of the shaders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import FIELDS, MS, at, bytes_of, method_of
from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import CORRECTION_STEP, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, Snapshot, new_bodies
from twixt.render.interpolation import METHODS, create, records_of

# Those that stay within what two or three snapshots around the draw time say.
BETWEEN = ("none", "linear")
TURN_90 = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(TwixtError, match=r"one of auto, hermite, .* or module:Class, got 'liner'"):
        create("liner")


@pytest.mark.parametrize("name", METHODS)
def test_first_frame_is_valid_with_one_snapshot_only(name):
    poses = method_of(name, at(100, [1, 2])).sample(70)
    assert poses.position[:, 0].tolist() == [1, 2]
    assert poses.visible.all()
    assert poses.draw_time_ns == 100


@pytest.mark.parametrize("name", METHODS)
def test_before_any_snapshot_there_are_no_bodies(name):
    poses = create(name).sample(5)
    assert len(poses) == 0
    assert poses.position.shape == (0, 3)
    assert poses.orientation.shape == (0, 4)


def test_none_shows_the_newest_state_at_or_before_the_draw_time():
    method = method_of("none", at(0, 0), at(10, 1), at(20, 2))
    assert [method.sample(t).position[0, 0] for t in (-5, 0, 9, 10, 19, 20, 99)] == [0, 0, 0, 1, 1, 2, 2]


def test_linear_is_straight_between_the_two_and_still_past_the_newest():
    method = method_of("linear", at(0, 0), at(10, 1), at(20, 3))
    assert [method.sample(t).position[0, 0] for t in (0, 5, 10, 15, 20, 30)] == pytest.approx([0, 0.5, 1, 2, 3, 3])


def test_linear_blends_scale_and_colour():
    poses = method_of(
        "linear", at(0, 0, scale=1, color=(0, 0, 0, 255)), at(10, 0, scale=3, color=(100, 0, 0, 55))
    ).sample(5)
    assert poses.scale[0] == 2
    assert poses.color[0].tolist() == [50, 0, 0, 155]


def test_linear_turns_the_shorter_way():
    negated = tuple(-component for component in TURN_90)
    for end in (TURN_90, negated):
        orientation = method_of("linear", at(0, 0), at(10, 0, orientation=end)).sample(5).orientation[0]
        assert np.abs(orientation @ (0, 0, math.sin(math.pi / 8), math.cos(math.pi / 8))) == pytest.approx(1, abs=1e-7)


def test_another_epoch_cuts_at_the_newer_instant():
    method = method_of("linear", at(0, [0, 0], epoch=[1, 1]), at(10, [10, 10], epoch=[1, 2]))
    assert method.sample(9).position[:, 0].tolist() == [9, 0]
    assert method.sample(10).position[:, 0].tolist() == [10, 10]


def test_a_correction_is_no_cut():
    method = method_of("linear", at(0, 0, epoch=1), at(10, 10, epoch=1 + CORRECTION_STEP))
    assert method.sample(5).position[0, 0] == 5


def test_teleport_in_a_snapshot_that_the_viewer_skipped_still_cuts():
    method = method_of("linear", at(0, 0, epoch=7), at(30, 100, epoch=8))  # the one at 20 never came
    drawn = [method.sample(t).position[0, 0] for t in range(0, 40, 3)]
    assert set(drawn) == {0, 100}


def test_body_spawned_in_between_appears_at_its_instant_and_never_slides_from_the_origin():
    method = method_of("linear", at(0, [1]), at(10, [1, 50]))
    assert len(method.sample(9)) == 1
    assert method.sample(10).position[1, 0] == 50
    reused = method_of("linear", at(0, [1, 0], flags=[1, 0], epoch=[0, 1]), at(10, [1, 50], epoch=[0, 2]))
    assert reused.sample(9).visible.tolist() == [True, False]
    assert reused.sample(10).visible.tolist() == [True, True]
    assert reused.sample(10).position[1, 0] == 50


def test_body_despawned_in_between_stays_until_the_newer_instant():
    method = method_of("linear", at(0, [1, 50]), at(10, [1]))
    assert len(method.sample(9)) == 2
    assert len(method.sample(10)) == 1


def test_visibility_switches_at_the_newer_instant():
    method = method_of("linear", at(0, 0, flags=1), at(10, 1, flags=0), at(20, 2, flags=1))
    assert [bool(method.sample(t).visible[0]) for t in (0, 9, 10, 19, 20)] == [True, True, False, False, True]


def test_two_short_moves_with_a_rest_between_them_do_not_slide_over_the_rest():
    xs = [0, 1, *[1] * 20, 2, 2]
    method = method_of("linear", *(at(k * 10, x) for k, x in enumerate(xs)))
    assert {method.sample(t).position[0, 0] for t in range(10, 210, 3)} == {1}


def test_body_at_rest_does_not_tremble():
    x = 0.1 + 1e-3 / 3
    method = method_of("linear", at(0, x, orientation=TURN_90), at(10, x, orientation=TURN_90))
    assert (
        len({method.sample(t).position.tobytes() + method.sample(t).orientation.tobytes() for t in range(1, 10)}) == 1
    )


def test_disorder_duplicates_and_old_ones_change_nothing():
    ordered = method_of("linear", at(0, 0), at(10, 1), at(20, 4))
    mixed = method_of("linear", at(0, 0), at(20, 4), at(10, 1), at(10, 9), at(-10, 7), at(20, 8))
    for t in range(0, 25):
        assert ordered.sample(t).position.tobytes() == mixed.sample(t).position.tobytes()


def test_newer_world_replaces_all_and_reset_forgets_all():
    method = method_of("linear", at(50, 5), at(0, 1, world_epoch=1), at(60, 6))
    assert method.sample(55).position[0, 0] == 1
    method.reset()
    assert len(method.sample(0)) == 0


def test_body_that_is_not_finite_is_hidden_and_nobody_else_is():
    method = method_of("linear", at(0, [0, math.nan, 0]), at(10, [1, 1, math.inf]))
    poses = method.sample(5)
    assert poses.visible.tolist() == [True, False, True]
    assert poses.position[[0, 2], 0].tolist() == [0.5, 0]


def test_what_is_kept_is_bounded_and_the_newest_stays():
    method = method_of("linear", *(at(k * 10, k) for k in range(500)))
    assert method.sample(4985).position[0, 0] == pytest.approx(498.5)
    assert method.sample(0).position[0, 0] > 400


@given(
    st.sampled_from(BETWEEN),
    st.lists(st.tuples(st.integers(0, 50), st.floats(-1e6, 1e6, width=32), st.integers(0, 2)), min_size=1, max_size=8),
    st.integers(-10, 60),
)
def test_what_is_drawn_is_always_within_the_snapshots(name, rows, draw_time_ns):
    poses = method_of(name, *(at(t, x, epoch=epoch) for t, x, epoch in rows)).sample(draw_time_ns)
    xs = [np.float32(x) for _, x, _ in rows]
    assert min(xs) <= poses.position[0, 0] <= max(xs)


anything = st.floats(width=32)
bodies_rows = st.lists(
    st.tuples(anything, anything, anything, anything, st.floats(width=16), st.integers(0, 7), st.integers(0, 2)),
    max_size=4,
)
events = st.lists(st.tuples(st.integers(0, 400), st.booleans(), bodies_rows), max_size=8)


def snapshot_of(time_ns, rows):
    bodies = new_bodies(len(rows))
    for body, (x, turn, speed, spin, scale, flags, epoch) in zip(bodies, rows, strict=True):
        body["position"], body["orientation"][:2] = (x, 1, -x), (turn, spin)
        body["velocity"], body["angular_velocity"] = (speed, 0, x), (spin, turn, 0)
        body["scale"], body["flags"], body["epoch"] = scale, flags, epoch
    return Snapshot(time_ns, bodies, {"heat": bodies["velocity"][:, 0].copy(), "frame": bodies["epoch"].astype("i2")})


@pytest.mark.parametrize("name", METHODS)
@given(events)
def test_whatever_comes_poses_are_always_drawable_and_the_same_when_sampled_twice(name, events):
    """Not finite, denormal, huge; differing counts and epochs; duplicates, disorder; any draw time."""
    method = create(name)
    for time_ms, is_draw, rows in events:
        if not is_draw:
            method.add(snapshot_of(time_ms * MS, rows))
            continue
        poses = method.sample(time_ms * MS)
        for later_ms in (7, 300):
            method.sample((time_ms + later_ms) * MS)
        assert bytes_of(method.sample(time_ms * MS)) == bytes_of(poses)
        assert np.isfinite(poses.position[poses.visible]).all()
        assert np.isfinite(poses.scale[poses.visible]).all()
        assert (np.abs(np.linalg.norm(poses.orientation, axis=1) - 1) < 1e-5).all()
        assert len({len(getattr(poses, field)) for field in FIELDS}) == 1
        assert {column.dtype.str for column in poses.columns.values()} <= {"<f4", "<i2"}


@pytest.mark.parametrize("name", METHODS)
@given(st.integers(0, 40), st.integers(1, 40))
def test_a_body_at_rest_among_moving_ones_never_moves(name, silence, gap_ms):
    x = np.float32(0.1)
    method = create(name)
    for k in range(4):
        method.add(at(k * gap_ms * MS, [x, k], orientation=TURN_90))
        method.sample(k * gap_ms * MS)
    poses = method.sample((3 * gap_ms + silence) * MS)
    assert poses.position[0].tolist() == [x, 0, 0]
    assert poses.orientation[0] == pytest.approx(TURN_90, abs=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_a_new_world_is_one_clean_cut(name):
    method = method_of(name, at(0, 0), at(10 * MS, 1), at(20 * MS, 2))
    method.sample(25 * MS)
    method.add(at(0, 70, world_epoch=1))
    assert method.sample(0).position[0, 0] == 70
    method.add(at(30 * MS, 5))
    assert method.sample(0).position[0, 0] == 70


@pytest.mark.parametrize("name", METHODS)
def test_teleported_body_is_drawn_at_both_ends_and_nowhere_between(name):
    snapshots = [at(k * 10 * MS, 0 if k < 3 else 100, epoch=0 if k < 3 else 1, flags=1) for k in range(6)]
    method, drawn = create(name), set()
    for k, snapshot in enumerate(snapshots):
        method.add(snapshot)
        drawn |= {float(method.sample((10 * k + part - 5) * MS).position[0, 0]) for part in range(0, 10, 3)}
    assert drawn == {0, 100}


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"latest"}))
def test_viewer_that_comes_late_shows_a_body_half_way_at_once(name):
    poses = method_of(name, at(10 * MS, 0), at(20 * MS, 1)).sample(15 * MS)
    assert poses.position[0, 0] == (0 if name == "none" else pytest.approx(0.5, abs=0.1 if name == "kalman" else 1e-6))


def test_latest_shows_the_newest_whatever_the_draw_time():
    method = method_of("latest", at(0, 0), at(10, 1, columns={"heat": np.array([3.0])}))
    for draw_time in (-5, 0, 3, 99):
        poses = method.sample(draw_time)
        assert (poses.position[0, 0], poses.draw_time_ns, poses.columns["heat"][0]) == (1, 10, 3)


@pytest.mark.parametrize(("old", "new"), [(1, -1), (-2, 3), (1, math.inf)])
def test_scale_that_changes_its_sign_switches_at_the_newer_instant(old, new):
    method = method_of("linear", at(0, 0, scale=old), at(10, 0, scale=new), at(20, 0, scale=1))
    assert [method.sample(t).scale[0] for t in (0, 5, 9, 10)] == [old, old, old, new]


def test_scale_grows_from_zero():
    assert method_of("linear", at(0, 0, scale=0), at(10, 0, scale=2)).sample(5).scale[0] == 1


def test_hidden_bodies_that_are_not_finite_are_counted():
    method = method_of("linear", at(0, [0, math.nan, math.nan, 0], flags=[1, 1, 0, 1], scale=[1, 1, 1, math.inf]))
    poses = method.sample(0)
    assert poses.visible.tolist() == [True, False, False, False]
    assert poses.not_finite == 2


def test_poses_become_records_that_draw_the_same():
    poses = method_of("linear", at(0, [1, 2], scale=0.5, flags=[1, 0], orientation=TURN_90, color=7)).sample(0)
    records = records_of(poses)
    assert records["position"][:, 0].tolist() == [1, 2]
    assert (records["flags"] & (VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY)).tolist() == [VISIBLE, 0]
    assert records["scale"].tolist() == [0.5, 0.5]
    assert (records["color"] == 7).all()
    assert records["orientation"][0] == pytest.approx(TURN_90)


def test_sampling_changes_no_snapshot():
    snapshot = at(0, [0, 1])
    before = snapshot.bodies.tobytes()
    poses = method_of("linear", snapshot, at(10, [1, 2])).sample(0)
    poses.position[:] = 99
    assert snapshot.bodies.tobytes() == before
