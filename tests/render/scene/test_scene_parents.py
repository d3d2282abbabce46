"""Parents by the scene of a snapshot, and the ancestors that bodies have by any of these scenes."""

from __future__ import annotations

import numpy as np

from twixt.ipc.scene.groups import ParentEntry
from twixt.render.scene.frames_in_time import SceneParents, merged_parents

LOG = (ParentEntry(2, {1: 0, 2: 1}), ParentEntry(5, {2: 3, 4: 3}), ParentEntry(9, {2: 3, 4: 3, 8: 7}))


def test_a_snapshot_has_the_parents_of_the_newest_scene_up_to_its_own() -> None:
    parents = SceneParents(LOG, 5)
    assert [parents.index(version) for version in (1, 2, 4, 5, 8, 99)] == [0, 0, 0, 1, 1, 1]
    assert parents.rows[0].tolist() == [-1, 0, 1, -1, -1]
    assert parents.rows[1].tolist() == [-1, -1, 3, -1, 3]


def test_scenes_that_differ_in_bodies_that_are_not_there_are_one() -> None:
    assert len(SceneParents(LOG, 5).rows) == 2
    assert len(SceneParents(LOG, 9).rows) == 3


def test_all_ancestors_are_found_by_any_of_the_scenes() -> None:
    assert SceneParents(LOG[:1], 5).with_ancestors(np.array([2])).tolist() == [0, 1, 2]
    assert SceneParents(LOG, 5).with_ancestors(np.array([2])).tolist() == [0, 1, 2, 3]
    assert SceneParents(LOG, 5).with_ancestors(np.array([0, 4, 7])).tolist() == [0, 3, 4, 7]


def test_a_body_is_a_child_if_it_is_one_in_any_scene() -> None:
    assert dict(merged_parents(LOG)) == {1: 0, 2: 1, 4: 3, 8: 7}
    assert merged_parents(LOG[:1]) is LOG[0].parents
