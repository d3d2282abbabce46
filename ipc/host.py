"""The simulation's side of the channel: publish, and let others look.

The one idea: the stepping thread writes shared memory and sets values; one daemon thread (`Reception`)
does everything that has to do with viewers. So no viewer can make a step late, and viewers are answered
while the user's own step never returns.

Always: `publish` costs its copy, plus one look at an empty queue; it never waits for a viewer, nor for memory
(`segments`). A forked child finds its copy of the host ended, and keeps neither memory nor connections alive.
Not here: when to publish, and what a command does.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import fork, memory
from twixt.ipc.commands import Command
from twixt.ipc.door import Door
from twixt.ipc.growth import Made
from twixt.ipc.guest import call_guarded
from twixt.ipc.layout import Layout
from twixt.ipc.plan import Plan
from twixt.ipc.reception import Reception
from twixt.ipc.ring import OpenSlot, RecordsKept, Stored
from twixt.ipc.scene import Scene
from twixt.ipc.segments import Segments
from twixt.ipc.snapshot import Head

ENDINGS = ("ended", "crashed", "interrupted")


class Host:
    """What viewers of `door` see from now on. Publish from one thread at a time; the rest from any.

    capacity: bodies that fit without growing. columns: name -> (dtype, values per body).
    describe: what viewers are told of the simulation when they attach, as `Link.description`.

    Hooks, None or called on the daemon thread; they may end the host:
    `on_report` -> the report's blocks; `on_owned_viewer_gone`: the viewer that this simulation started
    has gone; `on_all_viewers_gone`: the last of those attached has.
    """

    def __init__(
        self,
        door: Door,
        scene: Scene,
        capacity: int,
        columns: Mapping[str, tuple[str, int]] | None = None,
        describe: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self.on_report: Callable[[], dict[str, Any]] | None = None
        self.on_all_viewers_gone: Callable[[], object] | None = None
        self.on_owned_viewer_gone: Callable[[], object] | None = None
        self.scene = 1, scene.to_bytes()
        self._door, self._describe = door, describe
        self._ending = threading.Lock()
        layout = Layout.for_bodies(capacity, columns)
        made = Made(memory.create(layout.segment_bytes), layout)
        self._reception = Reception(door, self)
        poke, wake = self._reception.look_again, self._reception.wake_waiting
        self._segments = Segments(door.name, made, columns or {}, poke, wake)
        self._segments.write_scene_version(1)
        self.late = self._segments.aside.late  # what was visible only when there was room
        fork.guard(self)
        atexit.register(self.end, "ended", "the simulation's process has exited")
        self._reception.start()

    @property
    def name(self) -> str:
        """The name under which viewers find it."""
        return self._door.name

    @property
    def capacity(self) -> int:
        """Bodies that fit without growing."""
        return self._segments.capacity

    @property
    def dropped(self) -> int:
        """Snapshots that waited for room until another took their place."""
        return self._segments.aside.dropped

    @property
    def scene_version(self) -> int:
        """Of the scene last written; starts at 1."""
        return self.scene[0]

    @property
    def is_ended(self) -> bool:
        """Nothing can be published any more."""
        return self._segments.is_ended

    @property
    def viewers(self) -> int:
        """How many are attached now."""
        return self._reception.viewers

    @property
    def viewer_came(self) -> threading.Event:
        """Set when a viewer has attached."""
        return self._reception.viewer_came

    @property
    def lead_ns(self) -> int:
        """How far into the future the viewers attached now show their frames, at most; 0 when there are none."""
        return self._reception.lead_ns

    @property
    def commands_refused(self) -> int:
        """Commands beyond what a viewer may have waiting."""
        return self._reception.commands.refused

    def publish(
        self, head: Head, bodies: NDArray[np.void], columns: Mapping[str, NDArray[np.generic]] = {}
    ) -> int | None:
        """Make a snapshot visible; returns the instant, `published_ns`, which is stamped here, None where it has to wait
        for room.

        bodies: BODY records, shape (n,). Raises NoRoom where there is no room for them, and was none.
        """
        return self._segments.publish(head, bodies, columns)

    def publish_in_place(
        self, head: Head, write: Callable[[NDArray[np.void]], object], columns: Mapping[str, NDArray[np.generic]] = {}
    ) -> int | None:
        """As `publish`, of `head.count` bodies that `write` puts into the slot itself, without a copy.

        write: fills the records it is given, which hold anything before, whole, and keeps nothing of them. What it
        raises, and RecordsKept where it keeps a view, leaves the last snapshots as they were.
        """
        with self.begin(head.count) as slot:
            write(slot.records)
            if slot.is_kept:
                raise RecordsKept
            slot.head, slot.columns = head, columns
        return slot.published_ns

    def begin(self, count: int, shown: int | None = None) -> OpenSlot:
        """The next snapshot's slot, to be written in place: see `OpenSlot`. The end of its block raises HostEnded where
        the host ended meanwhile. shown: only so many of its bodies, the first, are published; the slot is private then.
        """
        return self._segments.begin(count, shown)

    def has_taken(self, slot: OpenSlot) -> bool:
        """Whether its snapshot is complete, also where an interruption came before anybody was told."""
        return self._segments.has_taken(slot)

    def newest(self) -> Stored | None:
        """The newest snapshot where it lies, to be read before the next is published; None before the first."""
        return self._segments.newest()

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        """What every snapshot carries beside its bodies: name -> (dtype, values per body)."""
        return self._segments.columns

    def reserve(self, count: int) -> None:
        """Room for `count` bodies, for twice as many as now where there is so much; what does not fit yet waits until it
        is there. Raises NoRoom or SharedMemoryError where it cannot be, or could not be made; asked again, it tries
        again."""
        self._segments.reserve(count)

    def await_room(self, timeout_s: float) -> bool:
        """Waits until nothing waits for room, for whoever has nothing more to publish; False where something still does."""
        return self._segments.await_room(timeout_s)

    def set_columns(self, columns: Mapping[str, tuple[str, int]]) -> None:
        """From the next snapshot on these columns; moves to another segment, where the last two have new ones zero."""
        self._segments.set_columns(columns)

    def write_plan(self, plan: Plan) -> None:
        """Replace the plan; viewers that wait are woken."""
        self._segments.write_plan(plan)

    def write_scene(self, scene: Scene) -> int:
        """Replace the scene for all viewers, those to come included. Returns its version."""
        packed = scene.to_bytes()
        with self._segments.writing:
            self._segments.require_running()
            version = self.scene[0] + 1
            self.scene = version, packed
            self._segments.write_scene_version(version)
        self._reception.look_again()
        return version

    def set_status(self, status: dict[str, Any]) -> None:
        """Tell viewers; JSON-able. Each gets the latest, 5 times a second at most."""
        self._reception.set_status(dict(status))

    def drain_commands(self) -> list[Command]:
        """What viewers asked for since the last call. Never waits."""
        return self._reception.commands.drain()

    def wait_command(self, timeout_s: float) -> bool:
        """Sleep until there is a command to drain (True), or the host has ended (True), or the time is over."""
        return self._reception.commands.wait(timeout_s)

    def end(self, kind: str = "ended", message: str = "") -> None:
        """Give the name back, tell the viewers, close everything. The first call counts; from any thread or hook."""
        if kind not in ENDINGS:
            raise ValueError(f"a simulation's end must be one of {', '.join(ENDINGS)}, got {kind!r}")
        with self._ending:
            if self._segments.is_ended:
                return
            self._segments.is_ended = True
        atexit.unregister(self.end)
        self._door.give_back()
        self._reception.end(kind, message)
        self._door.close()
        self._segments.close()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`: this copy has ended, whatever locks the parent's threads held."""
        self._segments.close_in_child()
        self._ending = threading.Lock()
        atexit.unregister(self.end)

    # Asked by the reception, on the daemon thread.

    def describe_to_guest(self) -> dict[str, Any]:
        return call_guarded(self._describe) or {}

    def segment_for_guest(self) -> tuple[dict[str, Any], int]:
        return self._segments.handed_out()

    def has_newer(self, number: int, plan_number: int) -> bool:
        return self._segments.has_newer(number, plan_number)

    def report_for_guest(self) -> dict[str, Any] | None:
        return call_guarded(self.on_report)

    def guest_gone(self, owned: bool, was_last: bool) -> None:
        if owned:
            call_guarded(self.on_owned_viewer_gone)
        if was_last:
            call_guarded(self.on_all_viewers_gone)

    def work(self) -> bool:
        return self._segments.work()
