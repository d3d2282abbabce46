"""A body whose parent changes is drawn where it is in the world, in every frame; real host, socket, intake and drawing.

`python -m tests.render.scene.test_changed_parents` prints the table of what is drawn.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.publishing import publish
from tests.render.scene.changing import (
    BODY,
    CHANGED_AT,
    CHILD,
    FRAMES,
    RATES_HZ,
    SIZE_PX,
    SNAPSHOTS,
    START_NS,
    WIDE_PX,
    Rig,
    Situation,
)
from twixt.ipc.scene import Camera
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.input.picking import SeenBodies
from twixt.render.snapshots.intake import MOST_WAITING

SHADED, BY_NUMPY = (
    ("none", "linear", "hermite", "auto"),
    ("catmull", "quadratic", "extrapolate", "kalman", "latest", "chase"),
)
ON_BODY = Camera((0, -20, 0), (0, 0, 0), body=BODY)


@pytest.fixture(scope="module")
def small_window() -> OffscreenWindow:
    return OffscreenWindow(SIZE_PX)


@pytest.fixture(scope="module")
def wide_window() -> OffscreenWindow:
    return OffscreenWindow(WIDE_PX)


def drawn_x(window: OffscreenWindow, situation: Situation, method: str, frames: int = FRAMES, **settings) -> np.ndarray:
    """Drawn x of the body and of its child, in every frame, (frames, 2)."""
    rig = Rig(window, situation, method)
    found = []
    try:
        rig.stage.choose(**rig.settings | settings)
        for frame in range(frames * (SNAPSHOTS - 2) + 1):
            rig.frame(frame / frames)
            if rig.published >= 2:
                found.append(posed(rig, rig.stage.main))
    finally:
        rig.close()
    return np.array(found)


def posed(rig: Rig, picture) -> list[float]:
    """Drawn x of the body and of its child, of what goes to the GPU."""
    ring = rig.stage.renderer._bodies.ring
    part = next(part for part in picture._groups if part.definition.group == "children")
    records = ring.few_records(part.pose_slot)
    return (records["position"] + records["velocity"])[[BODY, CHILD], 0].tolist()


def rests(x: np.ndarray, at: float = 0.0) -> bool:
    return bool(np.abs(x - (at, at + 0.5)).max() < 1e-5)


@pytest.mark.parametrize("method", [*SHADED, *BY_NUMPY])
@pytest.mark.parametrize("late", [False, True], ids=["scene first", "snapshot first"])
@pytest.mark.parametrize("is_cut", [False, True], ids=["", "cut"])
def test_a_body_at_rest_whose_parent_changes_rests_in_every_frame(small_window, method, late, is_cut):
    x = drawn_x(small_window, Situation(20, is_cut, late=late), method)
    assert rests(x), x


@pytest.mark.parametrize("is_chain", [False, True], ids=["", "chain of three"])
@pytest.mark.parametrize("moves", [False, True], ids=["", "moving parents"])
@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_so_it_does_at_every_rate_with_moving_parents_and_in_chains(small_window, rate_hz, moves, is_chain):
    for method, is_cut in (("auto", False), ("linear", True), ("catmull", False), ("chase", True)):
        x = drawn_x(small_window, Situation(rate_hz, is_cut, moves, is_chain), method)
        assert rests(x), (method, x)


@pytest.mark.parametrize("method", ["linear", "auto", "latest", "catmull"])
@pytest.mark.parametrize("late", [False, True], ids=["scene first", "snapshot first"])
@pytest.mark.parametrize(("before", "after"), [(None, 2), (0, None)], ids=["gets a parent", "is set free"])
def test_a_body_that_gets_its_first_parent_or_loses_it_rests_too(wide_window, before, after, late, method):
    situation = Situation(20, moves=True, late=late, before=before, after=after, x=1.5)
    rig = Rig(wide_window, situation, method)
    columns, seen = [], []
    try:
        rig.stage.choose(**rig.settings)
        rig.stage.main.watch("test", None)
        for frame in range(3 * (SNAPSHOTS - 2) + 1):
            rig.frame(frame / 3, WIDE_PX)
            rig.stage.renderer.finish()
            red = rig.stage.renderer.read_pixels()[:, :, 0] > 127
            columns.append(float(np.flatnonzero(red.any(axis=0)).mean()))
            seen.append(rig.stage.main.watched("test").position[[BODY, CHILD], 0])
    finally:
        rig.close()
    assert np.abs(np.array(seen) - (1.5, 2.0)).max() < 1e-5, seen
    assert np.ptp(columns) == 0, columns
    assert columns[0] == pytest.approx(WIDE_PX[0] / 2 + 1.5 * WIDE_PX[1] / (2 * 20 * np.tan(np.pi / 8)), abs=1)


@pytest.mark.parametrize("method", ["linear", "auto"])
def test_one_that_moves_goes_on_where_only_the_gpu_has_the_snapshots_before(wide_window, method):
    columns = {}
    for after in (None, 2):
        rig = Rig(wide_window, Situation(before=None, after=after, x=-2.0, speed=0.8, others=False), method)
        try:
            rig.stage.choose(**rig.settings)
            columns[after] = []
            for frame in range(4 * (SNAPSHOTS - 2) + 1):
                rig.frame(frame / 4, WIDE_PX)
                rig.stage.renderer.finish()
                red = rig.stage.renderer.read_pixels()[:, :, 0] > 127
                columns[after].append(float(np.flatnonzero(red.any(axis=0)).mean()))
        finally:
            rig.close()
    assert columns[2] == pytest.approx(columns[None], abs=0.6)
    assert columns[None][-1] - columns[None][0] > 30


def test_bodies_that_are_no_children_any_more_are_drawn_by_the_gpu_again(small_window):
    rig = Rig(small_window, Situation(before=0, after=None), "auto")
    try:
        rig.stage.choose(**rig.settings)
        for frame in range(SNAPSHOTS - 1):
            rig.frame(frame)
            children = next(part for part in rig.stage.main._groups if part.definition.group == "children")
        assert BODY in children.definition.rows
        rig.stage.history.limit(3)  # old snapshots go
        for _ in range(3):
            rig.publish()
            rig.frame(rig.published - 2)
        children = next(part for part in rig.stage.main._groups if part.definition.group == "children")
        assert children.definition.rows.tolist() == [1, 3, CHILD]
        assert len(rig.stage._parents) == 1
    finally:
        rig.close()


@pytest.mark.parametrize("late", [False, True], ids=["scene first", "snapshot first"])
def test_both_halves_trails_the_camera_on_it_and_the_hand_see_it_rest(small_window, late):
    rig = Rig(small_window, Situation(late=late, x=1.5, camera=ON_BODY), "auto")
    eyes, halves, picked = [], [], []
    try:
        rig.stage.choose(**rig.settings | {"split": True, "trails": True})
        seen = SeenBodies(rig.stage, rig.link)
        for frame in range(FRAMES * (SNAPSHOTS - 2) + 1):
            rig.frame(frame / FRAMES)
            if rig.published >= 2:
                halves += [posed(rig, picture) for picture in rig.stage.pictures]
                eyes.append(rig.stage.view.matrices(rig.stage.main, (24, 36), SIZE_PX).eye[0])
                picked.append(seen.one(BODY).position[0, 0])
        dots = [len(trails.dots().positions) for trails in rig.stage._trails.of_picture.values()]
    finally:
        rig.close()
    assert rests(np.array(halves), 1.5)
    assert np.abs(np.array(eyes) - 1.5).max() < 1e-5
    assert np.abs(np.array(picked) - 1.5).max() < 1e-5
    assert dots == [0, 0], "bodies that rest leave no trail"


def test_a_snapshot_waits_for_its_scene_and_not_for_ever(small_window):
    rig = Rig(small_window, Situation(late=True), "linear")
    try:
        for _ in range(CHANGED_AT + 1):
            rig.publish()
            rig.intake.receive()
        assert rig.intake.newest.tick == CHANGED_AT - 1
        while rig.published < CHANGED_AT + MOST_WAITING:
            rig.publish()
            rig.intake.receive()
        assert rig.intake.newest.tick == CHANGED_AT - 1
        rig.publish()
        rig.intake.receive()
        assert rig.intake.newest.tick == rig.published - 1, "a scene that takes so long must not stop the picture"
        assert not rig.intake._waiting
    finally:
        rig.close()


def test_a_snapshot_of_a_scene_that_was_never_sent_by_itself_is_composed_with_its_parents(small_window):
    """Scenes 2 and 3 are written before the socket is served: the viewer gets the newest alone."""
    rig = Rig(small_window, Situation(before=0, after=2), "none")
    try:
        rig.stage.choose(**rig.settings)
        rig.frame(0)
        rig.is_held = True
        parents = (0, 2, 0, None)
        for parent in parents[1:]:
            rig.situation = Situation(before=parent)
            rig.host.write_scene(rig.situation.scene(0))
            k = rig.published
            bodies = rig.situation.bodies(0)
            publish(rig.host.ring, rig.head(k), bodies)
            rig.published += 1
            rig.intake.receive()
        rig.is_held = False
        rig.await_scene()
        log = rig.link.received.parents
        assert [entry.parents.get(BODY) for entry in log] == list(parents)
        rig.stage.main.watch("test", np.array([BODY, CHILD], np.intp))
        for snapshots in range(1, rig.published):
            rig.window.screen.use()
            rig.stage.draw(START_NS + round(snapshots * rig.gap_ns), SIZE_PX)
            assert rests(rig.stage.main.watched("test").position[:, 0])
    finally:
        rig.close()


def test_a_viewer_that_comes_after_the_scene_changed_draws_older_snapshots_by_their_own(small_window):
    rig = Rig(small_window, Situation(), "linear")
    for _ in range(CHANGED_AT):
        rig.publish()
    rig.host.write_scene(rig.situation.scene(CHANGED_AT))
    late = Rig(small_window, Situation(), "linear", host=rig.host)
    try:
        late.stage.choose(**late.settings)
        late.published = SNAPSHOTS
        late.frame(CHANGED_AT - 1)
        assert late.link.scene_version == 2
        assert rests(np.array([posed(late, late.stage.main)]))
    finally:
        late.link.close()
        rig.close()


if __name__ == "__main__":
    window = OffscreenWindow(SIZE_PX)
    for method, *situation in itertools.product((*SHADED, *BY_NUMPY), RATES_HZ, *[(False, True)] * 4):
        x = drawn_x(window, Situation(*situation), method)[:, 0]
        words = [word for word, on in zip(("cut", "moving", "chain", "late"), situation[1:], strict=True) if on]
        print(f"{method:8} {situation[0]:4} Hz {' '.join(words):22} {x.min():+.3f} .. {x.max():+.3f}")
