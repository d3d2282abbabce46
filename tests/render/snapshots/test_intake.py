"""What a frame does to find out what is new: nothing but a look at shared memory where nothing is."""

from __future__ import annotations

import gc
import select
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.publishing import publish
from tests.render.viewer.test_idle import Viewer, viewer
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.scene.mark_texts import text_of_label
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.scene.surfaces import packed, unpacked
from twixt.ipc.snapshot import BODY, MARK, Head, new_bodies, vertex_records
from twixt.render.draw.frame import snapshot_ring
from twixt.render.draw.frame.layers import SurfacePair
from twixt.render.draw.frame.snapshot_ring import GPU_BYTES, LEAST_SLOTS, MOST_LARGE_SLOTS, MOST_SLOTS, gpu_slots
from twixt.render.draw.meshes.mesh_geometry import VERTEX
from twixt.render.snapshots.history import Pair
from twixt.render.snapshots.intake import (
    PATIENCE_NS,
    SOFTWARE_BYTE_BUDGET,
)
from twixt.sim.world.marks import Marks

__all__ = ["viewer"]

# Far longer than anything that comes over a connection takes.
PATIENCE_S = 60.0


def take_until(viewer: Viewer, condition: Callable[[], object]) -> None:
    """Takes in what comes, as frames do, until that holds. Between two looks it waits for the connection: a thread that
    never waits can keep the interpreter from the one that serves it."""
    ends_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > ends_s:
            pytest.fail(f"not within {PATIENCE_S:g} s")
        select.select(viewer.link.wake_filenos, [], [], 0.001)
        viewer.loop.intake.receive()


def test_frames_without_news_upload_nothing_and_seldom_ask_the_kernel(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, loop, connection = [], viewer.loop, viewer.link._connection
    is_readable = connection.is_readable
    monkeypatch.setattr(connection, "is_readable", lambda: asked.append(time.perf_counter_ns()) or is_readable())
    monkeypatch.setattr(viewer.link, "unread", lambda _budget: pytest.fail("looked for snapshots where none is new"))
    monkeypatch.setattr(loop.stage.renderer, "upload", lambda *_: pytest.fail("uploaded what was not new"))
    began_ns = time.perf_counter_ns()
    for _ in range(200):
        loop.intake.receive()
    assert len(asked) <= (time.perf_counter_ns() - began_ns) / PATIENCE_NS + 1


def test_a_new_snapshot_and_a_new_scene_are_taken_in_by_the_very_next_frame(viewer: Viewer) -> None:
    loop = viewer.loop
    assert loop.intake.receive() == (0, False)
    viewer.publish()
    assert loop.intake.receive() == (1, True)
    viewer.host.write_scene(Scene([Sphere(0.7)]))
    viewer.publish()
    take_until(viewer, lambda: shape_list(loop.stage.scene).table == (Sphere(0.7),))  # it comes over the connection


def test_where_a_processor_draws_less_is_uploaded_in_a_frame(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = []
    unread = viewer.link.unread
    monkeypatch.setattr(viewer.link, "unread", lambda budget: budgets.append(budget) or unread(budget))
    viewer.publish()
    viewer.loop.intake.receive()
    assert budgets == [SOFTWARE_BYTE_BUDGET]


def test_every_unread_snapshot_is_uploaded_once(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    uploaded = []
    upload = viewer.loop.stage.renderer.upload
    monkeypatch.setattr(
        viewer.loop.stage.renderer, "upload", lambda slot, *rest: (uploaded.append(slot), upload(slot, *rest))
    )
    for count in (1, 3, 0, 2):
        for _ in range(count):
            viewer.publish()
        assert viewer.loop.intake.receive().steps == count
        viewer.loop.frame()
    assert len(uploaded) == 6


@pytest.mark.parametrize("is_copied", [False, True], ids=["straight to the GPU", "through a private copy"])
def test_marks_are_taken_in_with_their_snapshot_and_drawn_between_two(viewer: Viewer, is_copied: bool) -> None:
    stage = viewer.loop.stage
    if is_copied:
        stage.main.watch("test", None)
    assert stage.needs_copies == is_copied
    for keys in ([7, 3], [], [3, 5]):
        marks = np.zeros(len(keys), MARK)
        marks["key"], marks["position"][:, 0] = keys, viewer.tick
        viewer.publish(marks)
        take_until(viewer, lambda: viewer.loop.intake.newest.tick == viewer.tick)  # a larger segment may have to come
    *_, first, none, last = stage.history.entries
    assert [held.marks["key"].tolist() for held in (first, none, last)] == [[3, 7], [], [3, 5]]
    between = Pair(first, last, 0.5, 0).marks()
    assert between["key"].tolist() == [3, 7]
    at_x = between["position"][:, 0].tolist()
    assert at_x == [first.head.tick, first.head.tick - 1], "the one of both is blended, the other stays"


@pytest.mark.parametrize("is_copied", [False, True], ids=["straight to the GPU", "through a private copy"])
def test_texts_are_taken_in_with_their_marks(viewer: Viewer, is_copied: bool) -> None:
    stage, marks = viewer.loop.stage, Marks()
    if is_copied:
        stage.main.watch("test", None)
    for number in range(3):
        marks.clear()
        marks.add("axes", np.zeros((40, 3)), size=1, label=[f"{number} of {at}" for at in range(40)])
        viewer.publish(marks._packed())
        take_until(viewer, lambda: viewer.loop.intake.newest.tick == viewer.tick)
    for number, held in enumerate(stage.history.entries[-3:]):
        found = [text_of_label(int(label), held.texts) for label in held.marks["label"]]
        assert found == [f"{number} of {at}" for at in range(40)]


def test_nothing_of_a_simulation_stays_once_another_is_followed(viewer: Viewer) -> None:
    """Nor does it wait for the garbage collector, which a viewer runs seldom."""
    loop = viewer.loop
    loop.stage.main.watch("test", None)
    for _ in range(3):
        viewer.publish()
        loop.frame()
    before = [weakref.ref(each) for each in (loop.stage, loop.stage.main, loop.intake, loop.input, loop.spare)]
    held = weakref.ref(loop.stage.history.newest.copy)
    world_epoch, view = loop.intake.newest.world_epoch, loop.stage.view.orbit
    assert view is not None
    gc.disable()
    try:
        loop.follow(viewer.link)
        viewer.publish()
        loop.frame()
        assert [each() for each in before] == [None] * len(before)
        assert held() is None
    finally:
        gc.enable()
    assert len(loop.stage.history) == 1
    assert loop.intake.newest.world_epoch > world_epoch
    assert loop.stage.view.orbit is view, "the scene is the same, so the user's view is kept"


@pytest.mark.parametrize("is_copied", [False, True], ids=["straight to the GPU", "through a private copy"])
def test_vertices_are_taken_in_with_their_snapshot_and_drawn_between_two(viewer: Viewer, is_copied: bool) -> None:
    stage, host, sheet = viewer.loop.stage, viewer.host, np.eye(3, dtype=np.float32)
    if is_copied:
        stage.main.watch("test", None)
    host.write_scene(Scene([Mesh(sheet, [(0, 1, 2)], deforms=True)]))
    take_until(viewer, lambda: shape_list(stage.scene).table[0] == Mesh(sheet, [(0, 1, 2)], deforms=True))
    records = np.zeros(vertex_records(3), MARK)
    slots = []
    for size, marks in ((2, 0), (6, 4)):
        viewer.tick += 1
        unpacked(records, 3)[...] = size * sheet
        extras = packed(np.zeros(marks, MARK), records, 3)
        head = Head(tick=viewer.tick, sim_time_ns=viewer.tick * 10_000_000, count=1, vertices=3, marks=marks + 1)
        publish(host.ring, head, viewer.bodies, marks=extras.records)
        take_until(viewer, lambda: viewer.loop.intake.newest.tick == viewer.tick)
        slots.append(stage.history.newest.slot)
        assert len(stage.history.newest.marks) == marks
    viewer.loop.frame()
    drawn = stage.renderer._meshes.surfaces.blended(0, SurfacePair(*slots, 0.25))
    assert drawn is not None
    rows = np.frombuffer(drawn.vertices.read(), VERTEX)["place"]
    assert rows == pytest.approx(3 * sheet, abs=1e-6)


def test_larger_snapshots_later_on_shorten_the_ring(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that begins with one body must not keep 64 snapshots of a million."""
    loop, count, room = viewer.loop, 1000, 5
    monkeypatch.setattr(snapshot_ring, "GPU_BYTES", room * count * BODY.itemsize)
    viewer.bodies = new_bodies(count)
    for _ in range(room + 3):
        viewer.publish()
        loop.frame()
    # The larger segment comes over the connection.
    take_until(viewer, lambda: loop.intake.newest is not None and loop.intake.newest.tick == viewer.tick)
    loop.frame()
    assert loop.stage.renderer._bodies.ring.capacity >= count
    assert 2 <= len(loop.stage.history) <= room


@pytest.mark.parametrize("newer", [0, 20])
def test_the_first_large_snapshot_is_whole_though_memory_for_it_took_long_to_get(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch, newer: int
) -> None:
    """The writer comes round meanwhile: a newer one is read instead, and nothing was torn. If none came, this one."""
    loop, count = viewer.loop, 1000
    monkeypatch.setattr(snapshot_ring, "LARGE_BYTES", count * BODY.itemsize)
    upload, made = loop.stage.renderer.upload, []

    def slow_upload(slot: int, records: memoryview, bodies: int, *columns: Any) -> None:
        upload(slot, records, bodies)
        if bodies == count and not made:
            made.append(slot)
            for _ in range(newer):
                viewer.publish()

    monkeypatch.setattr(loop.stage.renderer, "upload", slow_upload)
    viewer.bodies = new_bodies(count)
    viewer.publish()
    take_until(viewer, lambda: made)  # the larger segment comes over the connection
    assert loop.intake.newest is not None
    assert loop.intake.newest.tick == viewer.tick
    assert viewer.link.counters["retries"] == viewer.link.counters["pairs_failed"] == 0


@pytest.mark.parametrize(
    ("size", "slots"),
    [
        (0, MOST_SLOTS),
        (64, MOST_SLOTS),
        (GPU_BYTES // 40, MOST_LARGE_SLOTS),
        (GPU_BYTES // 10, 10),
        (1 << 40, LEAST_SLOTS),
    ],
)
def test_the_ring_holds_what_fits_within_bounds(size: int, slots: int) -> None:
    assert gpu_slots(size) == slots


def test_the_interval_between_publishes_is_that_of_one_tick(viewer: Viewer) -> None:
    intake = viewer.loop.intake
    first = intake.newest
    assert first is not None
    viewer.publish()
    intake.receive()
    newest = intake.newest
    assert newest is not None
    assert newest.tick == first.tick + 1
    assert intake.publish_intervals_ms[-1] == pytest.approx((newest.published_ns - first.published_ns) / 1e6)
    count = len(intake.publish_intervals_ms)
    intake.receive()
    assert len(intake.publish_intervals_ms) == count, "nothing was published"
