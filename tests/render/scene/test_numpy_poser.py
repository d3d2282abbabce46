import numpy as np
import pytest

from twixt.ipc.scene.groups import ParentEntry
from twixt.ipc.snapshot import Snapshot, new_bodies
from twixt.render.scene.frames_in_time import SceneParents
from twixt.render.scene.groups import Poser, PosingRules

MS = 1_000_000
HALF_TURN_ABOUT_Z = (0.0, 0.0, 1.0, 0.0)


def snapshot(time_ms: int, positions, world_epoch: int = 0) -> Snapshot:
    bodies = new_bodies(len(positions))
    bodies["position"] = positions
    return Snapshot(time_ms * MS, bodies, world_epoch=world_epoch)


def poser(rows=None, parents=None, methods=("linear",)) -> Poser:
    rows = None if rows is None else np.array(rows)
    log = (ParentEntry(1, {child: parent for child, parent in enumerate(parents or ()) if parent >= 0}),)
    made = Poser(rows, PosingRules(None if parents is None else SceneParents(log, len(parents))))
    made.use(frozenset(methods))
    return made


def test_only_its_rows_are_posed():
    some = poser(rows=[1, 3])
    some.add(snapshot(0, [[i, 0, 0] for i in range(5)]))
    some.add(snapshot(10, [[i, 2, 0] for i in range(5)]))
    assert some.poses(5 * MS, "linear").position.tolist() == [[1, 1, 0], [3, 1, 0]]


def test_rows_that_are_not_there_yet_are_left_out():
    some = poser(rows=[1, 9])
    some.add(snapshot(0, [[0, 0, 0], [7, 0, 0]]))
    assert some.poses(0, "linear").position.tolist() == [[7, 0, 0]]


def test_children_are_posed_where_their_parents_carry_them():
    snapshots = snapshot(0, [[10, 0, 0], [1, 0, 0], [0, 0, 2]]), snapshot(10, [[10, 4, 0], [1, 0, 0], [0, 0, 2]])
    grandchild = poser(rows=[2], parents=[-1, 0, 1])
    for each in snapshots:
        each.bodies["orientation"][0] = HALF_TURN_ABOUT_Z
        grandchild.add(each)
    assert grandchild.poses(5 * MS, "linear").position[0] == pytest.approx([9, 2, 2], abs=1e-6)


@pytest.mark.parametrize("parents", [None, [-1, 0]])
def test_a_method_that_is_added_begins_with_the_last_snapshots(parents):
    both = poser(parents=parents, methods=("kalman",))
    both.add(snapshot(0, [[0, 0, 0], [1, 0, 0]]))
    both.add(snapshot(10, [[8, 0, 0], [1, 0, 0]]))
    both.use(frozenset({"none"}))
    assert both.is_ready("none", 5 * MS)
    assert both.poses(5 * MS, "none").position[0, 0] == 0
    assert len(both.poses(5 * MS, "linear")) == 0, "the method before is gone"


def test_a_method_is_ready_when_it_has_seen_two_snapshots_and_the_draw_time():
    fresh = poser()
    fresh.add(snapshot(20, [[0, 0, 0]]))
    assert not fresh.is_ready("linear", 20 * MS)
    fresh.add(snapshot(30, [[0, 0, 0]]))
    assert fresh.is_ready("linear", 20 * MS)
    assert not fresh.is_ready("linear", 19 * MS), "what is drawn lies before all it knows"
    assert not fresh.is_ready("none", 25 * MS), "nobody fed it"


def test_another_world_begins_from_nothing():
    one = poser()
    one.add(snapshot(0, [[0, 0, 0]]))
    one.add(snapshot(10, [[1, 0, 0]]))
    one.add(snapshot(0, [[5, 0, 0]], world_epoch=1))
    assert not one.is_ready("linear", 0)
    assert one.poses(0, "linear").position[0, 0] == 5


def test_before_anything_came_there_are_no_poses():
    assert len(poser(rows=[0], parents=[-1]).poses(0, "linear")) == 0
