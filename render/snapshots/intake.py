"""Takes in snapshots: passes each snapshot from the channel to the GPU ring, the history and the clock.

Each unread snapshot is uploaded once, directly from the shared memory. After the upload, it is validated. If the writer
overwrote the snapshot during the upload, the upload is discarded. The snapshot's marks and vertices, if it has any, are
copied at the same time.

A snapshot is entered into the history only after it is completely in its GPU slot. No other module reads snapshots from
the channel.

Some snapshots must be changed before they are drawn: those with corrections, and those in which a column gives the
bodies' colours. They are prepared once, on a private copy. Colours and `scale3` are blended by the rules of their
columns. For the rules `linear` and `none`, the shaders blend the prepared values. For any other rule, numpy blends the
column, and the colours are computed from the blended column in each frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.rules import SCALE3
from twixt.ipc.scene import Scene
from twixt.ipc.scene.groups import colors
from twixt.ipc.snapshot import BODY, CORRECTION, HAS_COLOR, VERTEX_BYTES, Snapshot, visual
from twixt.render.draw.frame.snapshot_ring import gpu_slots, is_large

if TYPE_CHECKING:
    from twixt.ipc.plan import Plan
    from twixt.ipc.ring.layout import Layout
    from twixt.ipc.ring.mapped_segment import SnapshotView
    from twixt.ipc.scene import Camera
    from twixt.ipc.scene.groups import ParentLog
    from twixt.ipc.session.link import Link
    from twixt.ipc.snapshot import Head
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.events.viewer_events import ViewerEvents
    from twixt.render.snapshots.history import History

# Largest number of bytes that are uploaded in one frame. The newest snapshot is always uploaded. For software rendering
# the number is smaller. Measured with a simulation loop that publishes 100,000 bodies twice per frame: with the smaller
# number, the loop was slowed by 1 to 2 % less, and the picture was drawn at 60 fps instead of 53.
BYTE_BUDGET, SOFTWARE_BYTE_BUDGET = 64 << 20, 8 << 20
# Shortest time between two polls of the link to the simulation. Most frames are longer than this, so polls are skipped
# only if the viewer draws many hundred frames per second.
PATIENCE_NS = 4_000_000
# Number of intervals between publishes that are kept for the overlay.
KEPT_INTERVALS = 240
# Largest number of snapshots that wait until their scene arrives. Scenes arrive by a socket, usually within 1 ms. A
# scene with large meshes may take longer. Then the snapshots are drawn with the current scene.
MOST_WAITING = 16


class IntakeResult(NamedTuple):
    """What one frame received from the simulation."""

    steps: int = 0  # number of ticks by which the newest snapshot has advanced
    is_news: bool = False  # True if a snapshot, a plan, a scene or an event arrived; each of these changes the picture

    def and_then(self, later: IntakeResult) -> IntakeResult:
        """Combines the results of two calls in one frame."""
        return IntakeResult(self.steps + later.steps, self.is_news or later.is_news)


NOTHING = IntakeResult()


class SnapshotAwaitingScene(NamedTuple):
    """Head and copy of a snapshot whose scene has not arrived yet."""

    head: Head
    snapshot: Snapshot


class IntakeStage(Protocol):
    """The attributes and methods of the stage (`render/scene/stage.py`) that the intake uses."""

    scene: Scene
    history: History
    renderer: SceneRenderer
    events: ViewerEvents | None

    @property
    def needs_copies(self) -> bool: ...
    def set_scene(self, scene: Scene, parents: ParentLog = (), version: int = 0) -> None: ...
    def begin_scene(self, head: Head) -> None: ...
    def set_camera(self, camera: Camera | None) -> None: ...
    def replan(self, plan: Plan) -> None: ...
    def add(self, snapshot: Snapshot) -> Snapshot | None: ...
    def observe(self, head: Head) -> None: ...


class Intake:
    """Passes the snapshots of one simulation to one stage. byte_budget: see `BYTE_BUDGET`. link: connection to the
    simulation. publish_intervals_ms: the last intervals between publishes, in ms. Of snapshots that were not received,
    the mean is taken. before: intake of the simulation that was drawn before. The worlds of the new simulation count as newer
    than all worlds of the earlier simulation, as after a reset."""

    def __init__(
        self, link: Link, stage: IntakeStage, byte_budget: int = BYTE_BUDGET, before: Intake | None = None
    ) -> None:
        self.link, self._stage, self._byte_budget = link, stage, byte_budget
        self._scene_version, self._cameras = link.scene_version, link.received.cameras
        self._newest_tick = 0
        self._count = len(link.scene.shapes)  # number of bodies of the last snapshot
        self._vertices = 0  # number of vertices of the deforming bodies of the last snapshot
        self._limit_slots()
        self.make_room()
        self._waiting: deque[SnapshotAwaitingScene] = deque()
        self._entered_version = 0  # newest scene version of all snapshots in the history
        self._waived_version = 0  # snapshots do not wait for scenes up to this version
        self._world_epoch: int | None = None
        self._worlds_before = 0  # number of worlds of earlier simulations; it is added to each world epoch
        self.newest: Head | None = None
        self.publish_intervals_ms: deque[float] = deque(maxlen=KEPT_INTERVALS)
        if before is not None:
            self._worlds_before = max(before._world_epoch or 0, before.plan.world_epoch) + 1
            self.newest = before.newest
        self._events = stage.events
        if self._events is not None:
            self._events.worlds_before = self._worlds_before
        self._replan(link.plan())

    def make_room(self) -> bool:
        """Allocates memory in a slot for the next large snapshot, before this snapshot is read. Call this after a
        frame.

        The first access to new memory takes several times as long as copying. During this time, the writer might
        overwrite the snapshot. Returns False if nothing had to be done.
        """
        count, slot, renderer = self._count, self._stage.history.spare, self._stage.renderer
        if not is_large(count * BODY.itemsize) or slot is None or renderer.is_written(slot, count):
            return False
        # np.zeros itself uses no memory, because all pages of its array map to the kernel's zero page.
        renderer.upload(slot, np.zeros(count, BODY).view(np.uint8).data, count)
        return True

    def receive(self) -> IntakeResult:
        """Receives everything new from the simulation. Each frame calls this as late as possible. If a frame has spare
        time, it also calls this once earlier."""
        result = self._receive()
        if self._events is not None and self._events.receive():
            result = result.and_then(IntakeResult(0, True))
        return result

    def _receive(self) -> IntakeResult:
        link, stage = self.link, self._stage
        link.poll(PATIENCE_NS)
        is_news = False
        if link.scene_version != self._scene_version:
            self._scene_version = link.scene_version
            stage.set_scene(link.scene, link.received.parents, link.scene_version)
            self._limit_slots()
            is_news = True
        if link.received.cameras != self._cameras:
            self._cameras = link.received.cameras
            stage.set_camera(link.scene.camera)
            is_news = True
        plan = link.plan()
        if plan.number != self.plan.number:
            self._replan(plan)
            is_news = True
        if not link.has_unread and not self._waiting:
            return IntakeResult(0, True) if is_news else NOTHING
        steps = 0
        while self._waiting and self._is_scene_there(self._waiting[0].head):
            steps += self._enter(self._waiting.popleft())
            is_news = True
        if link.has_unread:
            for view in self._unread():
                is_news = True
                head = view.head
                if not self._waiting and (head.scene_version <= self._scene_version or self._is_scene_there(head)):
                    steps += self._enter(view)
                elif (copied := view.copy()) is not None:
                    self._waiting.append(SnapshotAwaitingScene(head, copied))
        return IntakeResult(steps, is_news)

    def _is_scene_there(self, head: Head) -> bool:
        """True if the snapshot's scene has arrived, or if snapshots no longer wait for this scene."""
        if len(self._waiting) >= MOST_WAITING or self.link.ended is not None:
            self._waived_version = max(self._waived_version, head.scene_version)
        return head.scene_version <= max(self._scene_version, self._waived_version)

    def _enter(self, found: SnapshotView | SnapshotAwaitingScene) -> int:
        """Enters a snapshot into the history. Returns the number of ticks from the previous newest snapshot to this
        one."""
        stage, head = self._stage, found.head
        if self._worlds_before:
            head = head._replace(world_epoch=head.world_epoch + self._worlds_before)
        if head.world_epoch != self._world_epoch:
            self._world_epoch = head.world_epoch
            self._newest_tick = head.tick
        if head.scene_version > self._entered_version:
            self._entered_version = head.scene_version
            stage.begin_scene(head)
        slot = stage.history.slot_for(head)
        if slot is None:  # this snapshot will not be drawn, but the clock needs its times
            stage.observe(head)
            return 0
        if not self._upload(found, slot, head):
            stage.history.discard(slot)
            return 0
        stage.observe(head)
        steps = max(0, head.tick - self._newest_tick)
        if steps and self.newest is not None:
            self.publish_intervals_ms.append((head.published_ns - self.newest.published_ns) / steps / 1e6)
        self._newest_tick = head.tick
        self.newest = head
        return steps

    def _replan(self, plan: Plan) -> None:
        self.plan: Plan = plan._replace(world_epoch=plan.world_epoch + self._worlds_before)
        self._stage.replan(self.plan)

    def _limit_slots(self) -> None:
        stage = self._stage
        size = stage.renderer.record_count(self._count) * BODY.itemsize + self._vertices * VERTEX_BYTES
        stage.history.limit(gpu_slots(size))

    def _unread(self) -> Iterator[SnapshotView]:
        """Yields the unread snapshots, oldest first. For the first snapshot of a new size, memory is allocated. If
        newer snapshots arrive during the allocation, the first snapshot is skipped, because it has been overwritten or
        soon will be."""
        for view in self.link.unread(self._byte_budget):
            if view.head.count != self._count or view.head.vertices != self._vertices:
                self._count, self._vertices = view.head.count, view.head.vertices
                self._limit_slots()
                if self.make_room():
                    is_newer = False
                    for newer in self._unread():
                        is_newer = True
                        yield newer
                    if is_newer:
                        return
            yield view

    def _upload(self, view: SnapshotView | SnapshotAwaitingScene, slot: int, head: Head) -> bool:
        """Uploads a snapshot into a slot, and enters it into the history. If an interpolation method or a column rule
        needs a copy, the snapshot is copied before the upload. Returns False if the snapshot was overwritten during the
        upload."""
        stage, count = self._stage, head.count
        if isinstance(view, SnapshotAwaitingScene):
            copied: Snapshot | None = view.snapshot
        elif not stage.needs_copies and is_drawn_as_published(stage.scene, view.columns):
            stage.renderer.upload(slot, view.bodies, count, arrays_of(view.part_columns, view.layout))
            if SCALE3 in view.columns:
                stage.renderer.upload_scale3(slot, np.frombuffer(view.columns[SCALE3], "<f4").reshape(count, 3))
            (marks, texts), vertices = view.copied_marks(), view.copied_vertices()
            stage.renderer.upload_surfaces(slot, vertices, view.bodies)
            if is_valid := view.is_valid():
                stage.history.commit(slot, head, marks, None, texts)
            return is_valid
        else:
            copied = view.copy()
        if copied is None:
            return False
        snapshot = as_drawn(replace(copied, world_epoch=head.world_epoch), stage.scene)
        stage.renderer.upload(slot, snapshot.bodies.view("u1").data, count, snapshot.part_columns)
        if SCALE3 in snapshot.columns:
            stage.renderer.upload_scale3(slot, np.asarray(snapshot.columns[SCALE3], np.float32))
        stage.renderer.upload_surfaces(slot, snapshot.vertices, snapshot.bodies)
        stage.history.commit(slot, head, snapshot.marks, stage.add(snapshot), snapshot.texts)
        return True


def arrays_of(columns: Mapping[str, memoryview], layout: Layout) -> dict[str, NDArray[np.generic]]:
    """Converts columns, given as bytes, to arrays (rows,) or (rows, width). The arrays are views: no bytes are
    copied."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for column in layout.columns:
        if column.name in columns:
            values = np.frombuffer(columns[column.name], column.dtype)
            arrays[column.name] = values if column.width == 1 else values.reshape(-1, column.width)
    return arrays


def is_drawn_as_published(scene: Scene, columns: Container[str]) -> bool:
    """True if the records of a snapshot with these columns may be uploaded unchanged."""
    return CORRECTION not in columns and (scene.color_by is None or scene.color_by.column not in columns)


def as_drawn(snapshot: Snapshot, scene: Scene) -> Snapshot:
    """Prepares a snapshot for drawing. The snapshot's bodies are changed in place, so this array must belong to the
    caller. Columns of parts are left out if they do not fit the parts of the scene, for example columns of the previous
    scene."""
    if snapshot.part_columns:
        bodies = scene.part_bodies(len(snapshot.bodies))
        columns = {name: values for name, values in snapshot.part_columns.items() if len(values) == len(bodies)}
        snapshot = replace(snapshot, part_columns=columns, part_bodies=bodies)
    if CORRECTION in snapshot.columns:
        rows, records = visual(snapshot.bodies, snapshot.columns, snapshot.sim_time_ns)
        snapshot.bodies[rows] = records
    if scene.color_by is not None and scene.color_by.column in snapshot.columns:
        snapshot.bodies["color"][:, :3] = colors(snapshot.columns[scene.color_by.column], scene.color_by)
        snapshot.bodies["flags"] |= np.uint16(HAS_COLOR)
    return snapshot
