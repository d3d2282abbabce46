"""ShapesInTime: which scene's shapes are drawn at which time; no drawing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from twixt.ipc.scene import Box, Compound, Mesh, Part, Scene, Shape, Sphere
from twixt.ipc.scene.shape_list import ShapeList
from twixt.ipc.snapshot import Head
from twixt.render.scene.shapes_in_time import ShapesInTime, differ_in_shapes_alone
from twixt.render.snapshots.history import History

RED, GREEN, BLUE = (Scene([Sphere(0.5, color)] * 2) for color in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
COLUMN = {"columns": {"color": "linear"}, "part_columns": ("color",)}
CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]


def head(at_ns: int, version: int, world_epoch: int = 0) -> Head:
    return Head(
        tick=at_ns, sim_time_ns=at_ns, due_ns=at_ns, dt_ns=10, count=2, scene_version=version, world_epoch=world_epoch
    )


def held(*heads: Head) -> History:
    history = History(8)
    for one in heads:
        slot = history.slot_for(one)
        assert slot is not None
        history.commit(slot, one)
    return history


def test_scenes_are_shown_one_after_the_other_each_from_its_first_snapshot_on() -> None:
    shapes, history = ShapesInTime(ShapeList.of(RED.shapes)), held(head(0, 1))
    assert shapes.add_scene(RED, GREEN, 2, history)
    shapes.begin(head(10, 2), history)
    assert shapes.add_scene(GREEN, BLUE, 3, history)
    assert shapes.own is GREEN.shapes, "no snapshot of the newest scene has come"
    shapes.begin(head(20, 3), history)
    shown = []
    for at_ns in range(0, 25, 5):
        shapes.show(at_ns, history, "linear", False)
        shown.append(shapes.shown)
    assert [shown.index(one) for one in shown] == [0, 0, 2, 2, 4]
    assert shown[0] is RED.shapes
    assert shown[4] is BLUE.shapes
    assert not shapes.coming


def test_a_scene_that_came_alone_is_shown_once_the_picture_stands_still_and_one_between_is_left_out() -> None:
    shapes, history = ShapesInTime(ShapeList.of(RED.shapes)), held(head(0, 1))
    assert shapes.add_scene(RED, GREEN, 2, history)
    assert shapes.add_scene(GREEN, BLUE, 3, history)
    assert shapes.await_snapshot
    assert not shapes.show(0, history, "linear", False), "its snapshot may come"
    assert shapes.show(0, history, "linear", True)
    assert shapes.shown is BLUE.shapes
    assert not shapes.are_begun


def test_the_newest_snapshot_and_the_first_of_another_world_are_shown_with_their_own() -> None:
    for method, world_epoch, is_shown in (("linear", 0, False), ("latest", 0, True), ("linear", 1, True)):
        shapes, history = ShapesInTime(ShapeList.of(RED.shapes)), held(head(20, 1))
        shapes.add_scene(RED, GREEN, 2, history)
        first = head(30, 2, world_epoch)
        shapes.begin(first, history)
        slot = history.slot_for(first)
        assert slot is not None
        history.commit(slot, first)
        assert shapes.show(25, history, method, False) == is_shown


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (RED, RED),
        (RED, Scene([*RED.shapes, Box()])),
        (Scene([Compound([Part(Box())])] * 2), Scene([Compound([Part(Box())] * 2)] * 2)),
        (Scene([Compound([Part(Box())])] * 2), Scene([Box()] * 2)),
        (replace(RED, **COLUMN), replace(GREEN, **COLUMN)),
        (RED, replace(GREEN, **COLUMN)),
        (RED, Scene([Mesh(CORNERS, [(0, 1, 2)], deforms=True)] * 2)),
    ],
    ids=["same", "more", "parts", "no parts", "coloured parts", "coloured anew", "deforms"],
)
def test_shapes_that_do_not_change_or_lie_otherwise_on_the_gpu_are_shown_at_once(before: Scene, after: Scene) -> None:
    shapes = ShapesInTime(ShapeList.of(before.shapes))
    assert not shapes.add_scene(before, after, 2, held(head(0, 1)))
    assert shapes.shown is after.shapes


@pytest.mark.parametrize("other", [Sphere(0.6, (1, 0, 0)), Box((1, 1, 1))])
def test_without_snapshots_all_is_shown_at_once(other: Shape) -> None:
    shapes = ShapesInTime(ShapeList.of(RED.shapes))
    assert not shapes.add_scene(RED, Scene([other]), 2, held())
    assert shapes.add_scene(Scene([other]), RED, 3, held(head(0, 2)))


def test_scenes_that_differ_in_shapes_alone_are_told_from_others() -> None:
    assert differ_in_shapes_alone(RED, GREEN)
    assert not differ_in_shapes_alone(RED, replace(GREEN, brightness=0.5))
    assert not differ_in_shapes_alone(RED, replace(GREEN, parents={1: 0}))
