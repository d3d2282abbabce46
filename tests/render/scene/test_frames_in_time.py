"""Frames in time: which methods get which snapshots, and what a change of parents leaves as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from twixt.ipc.scene.groups import ParentEntry
from twixt.ipc.snapshot import Snapshot, new_bodies
from twixt.render.interpolation import create
from twixt.render.interpolation.poses import in_frames_of
from twixt.render.scene.frames_in_time import MOST_PAST, FramesInTime, SceneParents

MS = 1_000_000
# Body 2 rests at x = 0, on 0 at first, then on 1, then free.
LOG = (ParentEntry(1, {2: 0}), ParentEntry(2, {2: 1}), ParentEntry(3, {}))
OFF = {1: -2.0, 2: 3.0, 3: 0.0}


def snapshot(at_ms: int, scene_version: int, tick: int = 0, x: float = 0.0, world_epoch: int = 0) -> Snapshot:
    bodies = new_bodies(3)
    bodies["position"][:, 0] = 2.0, -3.0, OFF[scene_version] + x
    return Snapshot(at_ms * MS, bodies, tick=tick, world_epoch=world_epoch, scene_version=scene_version)


def frames(name: str = "linear") -> FramesInTime:
    made = FramesInTime(SceneParents(LOG, 3), None, create)
    made.use(frozenset([name]))
    return made


def x_at(made: FramesInTime, at_ms: float) -> float:
    (method,) = made.methods_at(round(at_ms * MS)).values()
    return float(made.in_world(method.sample(round(at_ms * MS)), round(at_ms * MS)).position[2, 0])


def test_without_a_change_snapshots_are_passed_on_as_they_are() -> None:
    made = frames()
    snapshots = [snapshot(10 * k, 1) for k in range(5)]
    for each in snapshots:
        made.add(each)
    (method,) = made.newest.values()
    assert all(held is given for held, given in zip(method.snapshots, snapshots, strict=True))


def test_each_interval_has_the_parents_of_its_snapshots() -> None:
    made = frames()
    for k, version in enumerate((1, 1, 2, 2, 3, 3)):
        made.add(snapshot(10 * k, version))
    assert [x_at(made, at_ms) for at_ms in np.arange(0, 60, 2.5)] == pytest.approx([0.0] * 24, abs=1e-6)


def test_a_body_that_moves_meanwhile_goes_straight_from_one_place_to_the_other() -> None:
    made = frames()
    for k, version in enumerate((1, 1, 2, 2)):
        made.add(snapshot(10 * k, version, x=float(k)))
    assert [x_at(made, at_ms) for at_ms in (5, 12, 18, 20, 25)] == pytest.approx([0.5, 1.2, 1.8, 2.0, 2.5], abs=1e-6)


def test_between_both_scenes_it_rests_though_its_parent_turns() -> None:
    made = frames()
    parents = SceneParents(LOG, 3).rows
    for k, version in enumerate((1, 1, 2, 2)):
        world = snapshot(10 * k, 3)  # all three in the world
        world.bodies["orientation"][0] = 0, 0, np.sin(k / 2), np.cos(k / 2)
        own = in_frames_of(world.bodies, parents[2], parents[version - 1])
        made.add(replace(world, bodies=own, scene_version=version))
    assert [x_at(made, at_ms) for at_ms in (10, 13, 15, 17, 20, 25)] == pytest.approx([0.0] * 6, abs=1e-6)


def test_one_that_comes_late_is_drawn_by_its_own_parents() -> None:
    made = frames()
    for at_ms, version in ((0, 1), (20, 1), (30, 2), (40, 2), (10, 1), (50, 2)):
        made.add(snapshot(at_ms, version))
    assert [x_at(made, at_ms) for at_ms in range(0, 60, 5)] == pytest.approx([0.0] * 12, abs=1e-6)


def test_a_newer_state_of_the_same_instant_takes_its_place_with_its_own_parents() -> None:
    made = frames()
    for at_ms, version, tick in ((0, 1, 0), (10, 1, 1), (10, 2, 2), (20, 2, 3), (20, 3, 4), (20, 1, 5)):
        made.add(snapshot(at_ms, version, tick))
    assert [x_at(made, at_ms) for at_ms in (0, 5, 9.9, 10, 15, 20, 25)] == pytest.approx([0.0] * 7, abs=1e-6)


def test_another_world_begins_with_the_parents_of_its_first_snapshot() -> None:
    made = frames()
    for at_ms, version in ((0, 1), (10, 2)):
        made.add(snapshot(at_ms, version))
    made.add(snapshot(0, 3, world_epoch=1))
    made.add(snapshot(0, 1, tick=9))  # of the world before
    made.add(snapshot(10, 1, world_epoch=1))
    assert [x_at(made, at_ms) for at_ms in (0, 5, 10)] == pytest.approx([0.0] * 3, abs=1e-6)


def test_frames_that_are_behind_what_is_drawn_go() -> None:
    made = frames("auto")
    for k in range(4 * MOST_PAST):
        made.add(snapshot(10 * k, 1 + k % 3, tick=k))
        assert x_at(made, 10 * k - 15) == pytest.approx(0.0, abs=1e-6)
        assert len(made._frames) < 8
