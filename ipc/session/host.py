"""The host is the simulation's side of the channel. It publishes snapshots, the scene and the status, and accepts
viewers.

The stepping thread writes shared memory and sets values; a `ServiceThread` does all work on the sockets. So no viewer
delays a step, and viewers get answers even if the user's step never returns.

Always: a publish costs one copy of the snapshot. If no viewer waits, a publish also costs one test of an empty queue.
A publish never waits for a viewer or for memory (`segments`). In a forked child the copy of the host counts as ended,
and has no memory and no connections. Not here: the decision when to publish, and the effect of a command.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.interaction.plots import PlotRecorder
from twixt.ipc.process import fork
from twixt.ipc.ring import events, memory
from twixt.ipc.ring.events import EventWriter
from twixt.ipc.ring.layout import ColumnForm, Layout
from twixt.ipc.ring.memory import SegmentMemory
from twixt.ipc.ring.segments import HostRing
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.groups import appended
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.session.screenshots import ScreenshotRequests
from twixt.ipc.session.service import ServiceThread
from twixt.ipc.session.viewers import WrittenCamera, WrittenOverlay, WrittenScene, call_guarded
from twixt.ipc.system.interface import Listener

ENDINGS = ("ended", "crashed", "interrupted")


class Host:
    """Publishes snapshots to all viewers that connect to `listener`. Only one thread at a time may publish through
    `ring`. Any thread may call the methods of this class.

        with host.ring.begin(count) as slot:
            slot.records["position"] = ...
            slot.head = Head(...)

    capacity: number of bodies and marks that fit into the first segment. columns: the columns of every snapshot, as in
    `HostRing`. describe: function that returns the description that a viewer receives when it attaches
    (`Link.description`).

    ring: object that publishes snapshots and plans. commands: queue of the commands from viewers. actions: events,
    camera views and pulls from the viewers' users, for the program. plots: recorder of live plots. screenshots: pictures
    that the program has requested. viewer_attached: event that is set when a viewer attaches.
    on_report: None, or a function that returns the report's blocks of figures. The service thread calls this function.
    The function may call `end`.
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
        self.scene = WrittenScene(1, packed_scene(scene), 1, appended((), 1, scene.parents))
        self.camera = WrittenCamera(1, scene.camera)
        self.overlays: dict[str, WrittenOverlay] = {}
        self._listener, self._describe = listener, describe
        self._ending = threading.Lock()
        layout = Layout.for_bodies(capacity, columns)
        with contextlib.ExitStack() as made:  # closes all that was made so far if the rest cannot be made
            first = memory.create(layout.segment_bytes)
            made.callback(first.close)
            self._events = EventWriter(memory.create(events.memory_bytes()))
            made.callback(self._events.close)
            self._service = service = ServiceThread(listener, self)
            made.callback(service.end, "crashed", "")
            self.commands, self.actions, self.viewer_attached = (
                service.commands,
                service.actions,
                service.viewer_attached,
            )
            self.plots, self.screenshots = PlotRecorder(service.overlays_changed), ScreenshotRequests(service.notify)
            segment = SegmentMemory(first, layout)
            self.ring = HostRing(listener.name, segment, columns or {}, service.notify, service.wakes.wake_all)
            self.ring.write_scene_version(1)
            fork.guard(self)
            self._service.start()
            atexit.register(self.end, "ended", "the simulation's process has exited")
            made.pop_all()

    @property
    def name(self) -> str:
        """Name by which viewers attach."""
        return self._listener.name

    @property
    def is_ended(self) -> bool:
        """True after `end`, and in a forked child."""
        return self.ring.is_ended

    @property
    def viewers(self) -> int:
        """Number of attached viewers."""
        return self._service.viewers

    @property
    def lead_ns(self) -> int:
        """Largest lead of the attached viewers in ns, or 0 if there are none. The lead of a viewer is the time from
        the drawing of a frame until the display shows this frame."""
        return self._service.lead_ns

    def write_scene(self, scene: Scene) -> int:
        """Replace the scene for all viewers, including viewers that attach later. Returns the scene's version."""
        packed = packed_scene(scene)
        with self.ring.writing:
            self.ring.require_running()
            version, camera_version = self.scene.version + 1, self.camera.version + 1
            self.camera = WrittenCamera(camera_version, scene.camera)
            parents = appended(self.scene.parents, version, scene.parents)
            self.scene = WrittenScene(version, packed, camera_version, parents)
            self.ring.write_scene_version(version)
        self._service.notify()
        return version

    def write_camera(self, camera: Camera | None) -> int:
        """Replace the scene's camera for all viewers, including viewers that attach later. Returns the camera's
        version. Each viewer applies the camera, even if it equals the previous camera. If `camera` is None, viewers
        show all bodies."""
        with self.ring.writing:
            self.ring.require_running()
            self.camera = WrittenCamera(self.camera.version + 1, camera)
        self._service.notify()
        return self.camera.version

    @property
    def appended_events(self) -> int:
        """Number of events that were appended so far; 0 after the end of the host. After an interruption of
        `append_events` it tells whether the events are visible."""
        return self._events.latest

    def append_events(self, records: NDArray[np.void], names: Sequence[str]) -> None:
        """Makes events visible to viewers. Call it before the first snapshot in which they have happened is published.
        After the end of the host, this method does nothing.

        records: (k,) of dtype EVENT, in the order of world epoch and simulated time, never before those of an earlier
        call. names: the names of all events so far, at most MOST_NAMES; `name` in a record is the place of its name,
        counted from 1."""
        with self.ring.writing:
            self._events.add_names(names)
            self._events.append(records)

    def set_status(self, status: dict[str, Any]) -> None:
        """Replace the status. Each viewer gets the latest status, at most 5 times a second. JSON must be able to
        encode the values."""
        self._service.set_status(dict(status))

    def write_overlay(self, kind: str, fields: dict[str, Any], content: bytes) -> None:
        """Replace the images or figures over the picture. kind: one of `messages.OVERLAYS`. Each viewer gets the
        latest images at most 30 times a second, and the latest figures at most 10 times a second. This method never
        waits."""
        self.overlays = {**self.overlays, kind: WrittenOverlay(fields, content)}
        self._service.overlays_changed()

    def end(self, kind: str = "ended", message: str = "") -> None:
        """Free the name, send the end message to viewers, and close all connections and memory. Any thread or exit
        hook may call this method. Only the first call has an effect. Raises ValueError unless `kind` is one of
        `ENDINGS`."""
        if kind not in ENDINGS:
            raise ValueError(f"a simulation's end must be one of {', '.join(ENDINGS)}, got {kind!r}")
        with self._ending:
            if self.ring.is_ended:
                return
            self.ring.is_ended = True
        atexit.unregister(self.end)
        self.plots.close()
        self._listener.free_name()
        self._service.end(kind, message)
        self.screenshots.fail_all("the view was closed before the viewer wrote the picture")
        self._listener.close()
        self.ring.close()
        with self.ring.writing, fork.LOCK:  # `share_events` is called under this lock
            self._events.close()

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. In the child, this copy of the host counts as ended. Makes new locks, because the
        parent's threads may have held the old locks."""
        self.ring.close_in_child()
        self.plots.close()
        self._service.close_in_child()
        self.commands, self.actions = self._service.commands, self._service.actions
        self._ending = threading.Lock()
        atexit.unregister(self.end)

    # The next methods are those of `HostRequests`. The service thread calls these methods.

    def share_events(self) -> tuple[dict[str, Any], int]:
        return {"size": self._events.memory.size}, os.dup(self._events.memory.read_only_fd())

    def describe_for_viewer(self) -> dict[str, Any]:
        return call_guarded(self._describe) or {}

    def report_for_viewer(self) -> dict[str, Any] | None:
        return call_guarded(self.on_report)
