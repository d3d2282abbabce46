"""Children placed by their parents' drawn pose: distances kept, any depth, rings, and broken parents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import FIELDS, MS, at, method_of
from twixt.ipc.snapshot import VISIBLE, new_bodies
from twixt.render.interpolation.poses import Poses, compose, poses_of
from twixt.render.interpolation.quaternion import exp, normalized, rotate

QUARTER = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))


def still(positions, orientations=(0, 0, 0, 1), **fields) -> Poses:
    bodies = new_bodies(len(positions))
    bodies["position"], bodies["orientation"] = positions, orientations
    for name, value in fields.items():
        bodies[name] = value
    return poses_of(0, bodies)


@pytest.mark.parametrize("field", ["position", "orientation", "scale"])
def test_children_of_a_parent_that_cannot_be_drawn_are_hidden_and_counted_with_theirs(field):
    bodies = new_bodies(4)
    bodies["position"] = (1, 0, 0)
    bodies[field][0] = np.nan
    poses = compose(poses_of(0, bodies), np.array([-1, 0, 1, -1]))
    assert poses.visible.tolist() == [False, False, False, True]
    assert poses.not_finite == 3


def test_a_child_is_turned_and_moved_by_its_parent():
    poses = compose(still([(10, 0, 0), (1, 0, 0)], [QUARTER, QUARTER]), np.array([-1, 0]))
    assert poses.position[1] == pytest.approx([10, 1, 0], abs=1e-6)
    assert poses.orientation[1] == pytest.approx([0, 0, 1, 0], abs=1e-6)


def test_children_of_a_body_turning_at_10_hz_keep_their_distance_where_a_straight_way_in_the_world_wobbles():
    hz, gap_ms, arm = 10.0, 1000 / 60, np.array([[0.0, 1.5, 0.4]])
    spin = np.array([[0.0, 0, 2 * math.pi * hz]])
    as_child, in_world = method_of("linear"), method_of("linear")
    for k in range(4):
        turned = exp(spin * k * gap_ms / 1000)
        bodies = {"orientation": [turned[0], (0, 0, 0, 1)]}
        as_child.add(at(k * gap_ms * MS, [0, 0], position=[(5, 6, 7), arm[0]], **bodies))
        world = [(5, 6, 7), np.array((5, 6, 7)) + rotate(turned, arm)[0]]
        in_world.add(at(k * gap_ms * MS, [0, 0], position=world))
    length = np.linalg.norm(arm)
    kept, wobbling = [], []
    for time_ns in range(0, int(3 * gap_ms * MS), 1_111_111):
        child = compose(as_child.sample(time_ns), np.array([-1, 0])).position.astype(float)
        world = in_world.sample(time_ns).position.astype(float)
        kept.append(abs(np.linalg.norm(child[1] - child[0]) - length))
        wobbling.append(abs(np.linalg.norm(world[1] - world[0]) - length))
    assert max(kept) <= 1e-5
    # 60 degrees a step: the chord of the circle runs 13 % of its radius further in.
    assert max(wobbling) > 0.18, f"straight in the world: {max(wobbling):.3f} m off; as a child: {max(kept):.1e} m"


def test_children_at_any_depth_and_in_any_order_of_rows():
    # Row 2 is the root, 0 its child, 3 the child of 0, 1 of 3; each a metre further along its parent's turned x.
    parents = np.array([2, 3, -1, 0], np.int32)
    poses = compose(still([(1, 0, 0)] * 4, QUARTER), parents)
    assert poses.position[[2, 0, 3, 1]] == pytest.approx(
        np.array([(1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0)]), abs=1e-6
    )


def test_a_chain_of_a_hundred_adds_up():
    parents = np.arange(-1, 99)
    assert compose(still([(1, 0, 0)] * 100), parents).position[-1].tolist() == [100, 0, 0]


def test_without_parents_the_poses_themselves_come_back():
    poses = still([(1, 2, 3)])
    for parents in (np.array([-1]), np.zeros(0, np.int32), np.array([7])):
        assert compose(poses, parents) is poses


def test_scale_colour_and_visibility_are_the_childs_own():
    poses = still([(1, 0, 0), (1, 0, 0)], scale=[3, 1], color=[(1, 2, 3, 4), (5, 6, 7, 8)], flags=[0, VISIBLE])
    placed = compose(poses, np.array([-1, 0]))
    assert placed.position[1].tolist() == [2, 0, 0]
    assert placed.visible.tolist() == [False, True]
    assert placed.scale.tolist() == [3, 1]
    assert placed.color[1].tolist() == [5, 6, 7, 8]


def test_children_and_grandchildren_of_a_place_that_is_not_finite_are_hidden_and_counted():
    poses = compose(still([(math.nan, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0)]), np.array([-1, 0, 1, -1]))
    assert poses.visible.tolist() == [False, False, False, True]
    assert poses.not_finite == 3


def test_a_ring_of_parents_does_not_hang_and_leaves_its_bodies():
    poses = compose(still([(1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0)]), np.array([1, 0, 0, -1]))
    assert poses.position[:, 0].tolist() == [1, 2, 3, 4]
    assert compose(still([(1, 0, 0), (2, 0, 0)]), np.array([0, -1])).position[:, 0].tolist() == [1, 2]


def test_composing_changes_nothing_given():
    poses, parents = still([(1, 0, 0), (1, 0, 0)]), np.array([-1, 0])
    compose(poses, parents)
    assert poses.position.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert parents.tolist() == [-1, 0]


anything = st.floats(width=32)


@given(
    st.lists(st.tuples(st.tuples(*[anything] * 3), st.tuples(*[anything] * 4), st.integers(-3, 8)), max_size=6),
    st.integers(0, 8),
)
def test_whatever_comes_what_is_visible_is_always_drawable(rows, length):
    bodies = new_bodies(len(rows))
    for body, (position, orientation, _) in zip(bodies, rows, strict=True):
        body["position"], body["orientation"] = position, orientation
    parents = np.array([parent for *_, parent in rows], np.int64)[:length]
    poses = compose(poses_of(0, bodies), parents)
    assert np.isfinite(poses.position[poses.visible]).all()
    assert np.linalg.norm(normalized(poses.orientation) - poses.orientation, axis=1) == pytest.approx(0, abs=1e-6)
    assert np.count_nonzero(poses.visible) + poses.not_finite == len(rows)
    assert all(len(getattr(poses, field)) == len(rows) for field in FIELDS)
