"""Host: the simulation's side of the channel, which publishes snapshots and admits viewers.

The one idea: the stepping thread writes shared memory and sets values; a `ServiceThread` does everything on the
sockets. So no viewer delays a step, and viewers are answered even if the user's step never returns.

Always: `publish` costs its copy and one test of an empty queue; it waits neither for a viewer nor for memory
(`host_segments`). In a forked child the copy of the host is ended, and keeps neither memory nor connections alive.
Not here: when to publish, and what a command does.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.commands import Command
from twixt.ipc.plan import Plan
from twixt.ipc.process import fork
from twixt.ipc.ring import memory
from twixt.ipc.ring.growth import SegmentMemory
from twixt.ipc.ring.host_segments import Segments
from twixt.ipc.ring.layout import ColumnForm, Layout, part_count
from twixt.ipc.ring.slot import OpenSlot, RecordsKept
from twixt.ipc.ring.writer import Stored
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.parent_log import appended
from twixt.ipc.session.attached_viewer import WrittenCamera, WrittenScene, call_guarded
from twixt.ipc.session.listener import Listener
from twixt.ipc.session.overlay_messages import WrittenOverlay
from twixt.ipc.session.received_actions import ReceivedActions
from twixt.ipc.session.service_thread import ServiceThread
from twixt.ipc.snapshot import NO_MARKS, Head

ENDINGS = ("ended", "crashed", "interrupted")


class Host:
    """Publishes snapshots to all viewers that connect to `listener`. One thread at a time publishes; other methods may
    be called from any thread.

    capacity: bodies and marks that fit without growing. columns: name -> (dtype, values per row), and
    "part" or "world" as a third value where rows are not of bodies.
    describe: returns the description that a viewer receives when it attaches (`Link.description`).

    on_report: None, or returns the report's blocks; called on the service thread, and may end the host.
    """

    def __init__(
        self,
        listener: Listener,
        scene: Scene,
        capacity: int,
        columns: Mapping[str, ColumnForm] | None = None,
        describe: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self.on_report: Callable[[], dict[str, Any]] | None = None
        self.scene = WrittenScene(1, scene.packed(), 1, appended((), 1, scene.parents))
        self.camera = WrittenCamera(1, scene.camera)
        self.overlays: dict[str, WrittenOverlay] = {}
        self._listener, self._describe = listener, describe
        self._ending = threading.Lock()
        layout = Layout.for_bodies(capacity, columns)
        made = SegmentMemory(memory.create(layout.segment_bytes), layout)
        self._service = ServiceThread(listener, self)
        notify, wake = self._service.notify, self._service.wakes.wake_all
        self._segments = Segments(listener.name, made, columns or {}, notify, wake)
        self._segments.write_scene_version(1)
        self.late = self._segments.waiting.late  # snapshots that were visible only after they had waited for room
        fork.guard(self)
        atexit.register(self.end, "ended", "the simulation's process has exited")
        self._service.start()

    @property
    def name(self) -> str:
        """Name under which viewers attach."""
        return self._listener.name

    @property
    def capacity(self) -> int:
        """Records, of bodies and marks together, that fit without growing."""
        return self._segments.capacity

    @property
    def dropped(self) -> int:
        """Number of snapshots that waited for a larger segment and were replaced by a newer one."""
        return self._segments.waiting.dropped

    @property
    def scene_version(self) -> int:
        """Version of the scene written last; starts at 1."""
        return self.scene.version

    @property
    def is_ended(self) -> bool:
        """True after `end`, and in a forked child."""
        return self._segments.is_ended

    @property
    def viewers(self) -> int:
        """Number of viewers attached."""
        return self._service.viewers

    @property
    def viewer_came(self) -> threading.Event:
        """Event that is set when a viewer attaches."""
        return self._service.viewer_came

    @property
    def lead_ns(self) -> int:
        """Largest lead of the attached viewers: how far in the future their frames are shown. 0 when there are none."""
        return self._service.lead_ns

    @property
    def users(self) -> ReceivedActions:
        """Actions of the viewers' users for the program: events, views, pulls."""
        return self._service.users

    @property
    def commands_refused(self) -> int:
        """Number of commands refused because their viewer had too many in the queue."""
        return self._service.commands.refused

    def publish(
        self,
        head: Head,
        bodies: NDArray[np.void],
        columns: Mapping[str, NDArray[np.generic]] = {},
        marks: NDArray[np.void] = NO_MARKS,
    ) -> int | None:
        """Make a snapshot visible; returns that instant, `published_ns`, or None where it waits for a larger segment.

        bodies: BODY records, shape (n,). columns: those of the host, with a row for each body, for each
        part, or one. marks: MARK records, shape (m,).
        Raises RingError for other ones, NoRoom where memory for a larger segment is short, HostEnded after the end.
        """
        return self._segments.publish(head, bodies, columns, marks)

    def publish_in_place(
        self,
        head: Head,
        write: Callable[[NDArray[np.void]], object],
        columns: Mapping[str, NDArray[np.generic]] = {},
        marks: NDArray[np.void] = NO_MARKS,
    ) -> int | None:
        """As `publish`, of `head.count` bodies that `write` writes into the slot itself, without a copy.

        write: receives records with undefined contents, fills all of them, and keeps no view of them. If it raises, or
        keeps a view (RecordsKept), nothing is published.
        """
        with self.begin(head.count, marks=len(marks), parts=part_count(columns, self.columns)) as slot:
            write(slot.records)
            if slot.is_kept:
                raise RecordsKept
            if len(marks):
                slot.write_marks(marks)
            slot.head, slot.columns = head, columns
        return slot.published_ns

    def begin(self, count: int, shown: int | None = None, marks: int = 0, parts: int = 0) -> OpenSlot:
        """The next snapshot's slot for `count` bodies and `marks` marks, to be written in place: see `OpenSlot`.
        Leaving its block raises HostEnded where the host ended meanwhile. shown: if smaller than `count + marks`, only
        the first `shown` records are published, bodies before marks, from a slot in private memory. parts: rows of its
        part columns. Raises as `publish`.
        """
        return self._segments.begin(count, shown, marks, parts)

    def has_taken(self, slot: OpenSlot) -> bool:
        """True if the slot's snapshot is complete: visible, or waiting for a larger segment. To be called after an
        interruption (Ctrl-C), which may come after completion but before the end of the call."""
        return self._segments.has_taken(slot)

    def newest(self) -> Stored | None:
        """Views of the newest snapshot, to be read before the next publish; None before the first."""
        return self._segments.newest()

    @property
    def columns(self) -> dict[str, ColumnForm]:
        """Columns of every snapshot, as they were given."""
        return self._segments.columns

    def reserve(self, count: int) -> None:
        """Request room for `count` records if they do not fit: for twice the present capacity where memory allows.
        Snapshots that do not fit wait for it. Raises NoRoom or SharedMemoryError where it could not be made;
        the next call requests it again."""
        self._segments.reserve(count)

    def await_room(self, timeout_s: float) -> bool:
        """Wait until no snapshot waits for a larger segment, after the last publish. False where one still waits: after
        `timeout_s`, at the end of the host, or because the segment could not be made."""
        return self._segments.await_room(timeout_s)

    def set_columns(self, columns: Mapping[str, ColumnForm]) -> None:
        """Replace the columns, from the next snapshot on. Moves into a new segment; the last two snapshots are copied
        there, with new columns zero."""
        self._segments.set_columns(columns)

    def write_plan(self, plan: Plan) -> None:
        """Replace the plan; viewers that wait are woken."""
        self._segments.write_plan(plan)

    def write_scene(self, scene: Scene) -> int:
        """Replace the scene for all viewers, present and later. Returns its version."""
        packed = scene.packed()
        with self._segments.writing:
            self._segments.require_running()
            version, camera_version = self.scene.version + 1, self.camera.version + 1
            self.camera = WrittenCamera(camera_version, scene.camera)
            parents = appended(self.scene.parents, version, scene.parents)
            self.scene = WrittenScene(version, packed, camera_version, parents)
            self._segments.write_scene_version(version)
        self._service.notify()
        return version

    def write_camera(self, camera: Camera | None) -> int:
        """Replace the scene's camera for all viewers, present and later; each obeys it, also if it is equal to the one
        before. None frames all bodies. Returns its version."""
        with self._segments.writing:
            self._segments.require_running()
            self.camera = WrittenCamera(self.camera.version + 1, camera)
        self._service.notify()
        return self.camera.version

    def set_status(self, status: dict[str, Any]) -> None:
        """Replace the status, values that JSON can encode. Each viewer gets the latest, at most 5 times a second."""
        self._service.set_status(dict(status))

    def write_overlay(self, kind: str, fields: dict[str, Any], content: bytes) -> None:
        """Replace the images or figures over the picture. kind: one of `overlay_messages.OVERLAYS`. Each viewer gets
        the latest, at most 30 times a second, of figures 10. Never waits."""
        self.overlays = {**self.overlays, kind: WrittenOverlay(fields, content)}
        self._service.overlays_changed()

    def drain_commands(self) -> list[Command]:
        """Commands of viewers since the last call. Never waits."""
        return self._service.commands.drain()

    def wait_command(self, timeout_s: float) -> bool:
        """Sleep until there is a command to drain, or the host has ended: True. False after `timeout_s`."""
        return self._service.commands.wait(timeout_s)

    def end(self, kind: str = "ended", message: str = "") -> None:
        """Free the name, send the end to viewers, close everything. From any thread or hook; only the first call has an
        effect. kind: one of `ENDINGS`, else ValueError."""
        if kind not in ENDINGS:
            raise ValueError(f"a simulation's end must be one of {', '.join(ENDINGS)}, got {kind!r}")
        with self._ending:
            if self._segments.is_ended:
                return
            self._segments.is_ended = True
        atexit.unregister(self.end)
        self._listener.give_back()
        self._service.end(kind, message)
        self._listener.close()
        self._segments.close()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`: this copy is ended. New locks: the parent's threads may have held the old ones."""
        self._segments.close_in_child()
        self._ending = threading.Lock()
        atexit.unregister(self.end)

    # `HostRequests`: called on the service thread.

    def describe_for_viewer(self) -> dict[str, Any]:
        return call_guarded(self._describe) or {}

    def segment_for_viewer(self) -> tuple[dict[str, Any], int]:
        return self._segments.handed_out()

    def has_newer(self, number: int, plan_number: int) -> bool:
        return self._segments.has_newer(number, plan_number)

    def report_for_viewer(self) -> dict[str, Any] | None:
        return call_guarded(self.on_report)

    def work(self) -> bool:
        return self._segments.work()
