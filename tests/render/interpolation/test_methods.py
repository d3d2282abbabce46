"""Where bodies are drawn between two snapshots: the numpy reference of the shaders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import CORRECTION_STEP, Snapshot, new_bodies
from twixt.render.interpolation import create

METHODS = ("none", "linear")
TURN_90 = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))


def at(time_ns: int, x, world_epoch: int = 0, **fields) -> Snapshot:
    """A snapshot of bodies along x; other fields of the record by name."""
    x = np.atleast_1d(np.asarray(x, np.float32))
    bodies = new_bodies(len(x))
    bodies["position"][:, 0] = x
    for name, value in fields.items():
        bodies[name] = value
    return Snapshot(time_ns, bodies, world_epoch=world_epoch)


def method_of(name: str, *snapshots: Snapshot):
    method = create(name)
    for snapshot in snapshots:
        method.add(snapshot)
    return method


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(TwixtError, match=r"one of auto, hermite, .* or module:Class, got 'liner'"):
        create("liner")


@pytest.mark.parametrize("name", sorted(METHODS))
def test_first_frame_is_valid_with_one_snapshot_only(name):
    poses = method_of(name, at(100, [1, 2])).sample(70)
    assert poses.position[:, 0].tolist() == [1, 2]
    assert poses.visible.all()
    assert poses.draw_time_ns == 100


@pytest.mark.parametrize("name", sorted(METHODS))
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


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(METHODS)),
    st.lists(st.tuples(st.integers(0, 50), st.floats(-1e6, 1e6, width=32), st.integers(0, 2)), min_size=1, max_size=8),
    st.integers(-10, 60),
)
def test_sampling_twice_always_gives_identical_bytes_within_the_two_snapshots(name, rows, draw_time_ns):
    method = method_of(name, *(at(t, x, epoch=epoch) for t, x, epoch in rows))
    first = method.sample(draw_time_ns)
    method.sample(draw_time_ns + 7)
    second = method.sample(draw_time_ns)
    for field in ("position", "orientation", "scale", "color", "visible"):
        assert getattr(first, field).tobytes() == getattr(second, field).tobytes()
    xs = [np.float32(x) for _, x, _ in rows]
    assert min(xs) <= first.position[0, 0] <= max(xs)
    assert np.linalg.norm(first.orientation[0]) == pytest.approx(1, abs=1e-6)


def test_sampling_changes_no_snapshot():
    snapshot = at(0, [0, 1])
    before = snapshot.bodies.tobytes()
    poses = method_of("linear", snapshot, at(10, [1, 2])).sample(0)
    poses.position[:] = 99
    assert snapshot.bodies.tobytes() == before
