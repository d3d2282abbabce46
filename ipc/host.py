"""The simulation's side of the channel: publish, and let others look.

The one idea: the stepping thread writes shared memory and sets values; one daemon thread (`Reception`)
does everything that has to do with viewers. So no viewer can make a step late, and viewers are answered
while the user's own step never returns.

Always: `publish` costs its copy, plus one look at an empty queue; it never waits for a viewer. A forked
child finds its copy of the host ended, and keeps neither memory nor connections alive.
Not here: when to publish, and what a command does.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import fork, memory
from twixt.ipc.commands import Command
from twixt.ipc.door import Door
from twixt.ipc.errors import TwixtError
from twixt.ipc.guest import call_guarded
from twixt.ipc.layout import MAX_CAPACITY, Layout
from twixt.ipc.plan import Plan
from twixt.ipc.reception import Reception
from twixt.ipc.ring import OpenSlot, RecordsKept, RingWriter, Stored
from twixt.ipc.room import NoRoom
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import Head

ENDINGS = ("ended", "crashed", "interrupted")


class HostEnded(TwixtError):
    """Something to be published after the end, or in a forked child."""


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
        self._plan_number = 0
        self._columns = dict(columns or {})
        self._ended = False
        self._ending = threading.Lock()
        self._writing = threading.RLock()  # whoever writes, and the end
        self._segment = threading.Lock()  # `_memory` changes hands, or its descriptor is copied
        layout = Layout.for_bodies(capacity, self._columns)
        self._memory = memory.create(layout.segment_bytes)
        self._writer = RingWriter(self._memory, layout)
        self._writer.write_scene_version(1)
        self._reception = Reception(door, self)
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
        return self._writer.layout.capacity

    @property
    def scene_version(self) -> int:
        """Of the scene last written; starts at 1."""
        return self.scene[0]

    @property
    def is_ended(self) -> bool:
        """Nothing can be published any more."""
        return self._ended

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

    def publish(self, head: Head, bodies: NDArray[np.void], columns: Mapping[str, NDArray[np.generic]] = {}) -> int:
        """Make a snapshot visible; returns the instant, `published_ns`, which is stamped here.

        bodies: BODY records, shape (n,); n beyond the capacity moves to a larger segment first.
        """
        with self._writing:
            self._require_running()
            if len(bodies) > self._writer.layout.capacity:
                self.reserve(len(bodies))
            published_ns = self._writer.publish(head, bodies, columns)
        self._reception.wake_waiting()
        return published_ns

    def publish_in_place(
        self, head: Head, write: Callable[[NDArray[np.void]], object], columns: Mapping[str, NDArray[np.generic]] = {}
    ) -> int:
        """As `publish`, of `head.count` bodies that `write` puts into the slot itself, without a copy.

        write: fills the records it is given, which hold anything before, whole, and keeps nothing of them. What it
        raises, and RecordsKept where it keeps a view, leaves the last snapshots as they were.
        """
        with self.begin(head.count) as slot:
            write(slot.records)
            if slot.is_kept:
                raise RecordsKept
            slot.head, slot.columns = head, columns
        assert slot.published_ns is not None
        return slot.published_ns

    def begin(self, count: int) -> OpenSlot:
        """The next snapshot's slot, to be written in place: see `OpenSlot`. The end of its block raises HostEnded where
        the host ended meanwhile."""
        with self._writing:
            self._require_running()
            if count > self._writer.layout.capacity:
                self.reserve(count)
            slot = self._writer.begin(count)
        slot.complete = self._complete
        return slot

    @property
    def latest(self) -> int:
        """The number of the last snapshot published, 0 for none."""
        with self._writing:
            self._require_running()
            return self._writer.latest

    def newest(self) -> Stored | None:
        """The newest snapshot where it lies, to be read before the next is published; None before the first."""
        with self._writing:
            self._require_running()
            return next(iter(self._writer.last_two()[-1:]), None)

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        """What every snapshot carries beside its bodies: name -> (dtype, values per body)."""
        return self._columns

    def reserve(self, count: int) -> None:
        """Room for `count` bodies, for twice as many as now where there is so much. Else raises NoRoom, and goes on."""
        with self._writing:
            self._require_running()
            if count <= self.capacity:
                return
            ample = max(count, min(2 * self.capacity, MAX_CAPACITY))
            try:
                self._move(ample)
            except (NoRoom, memory.SharedMemoryError):
                if ample == count:
                    raise
                self._move(count)

    def set_columns(self, columns: Mapping[str, tuple[str, int]]) -> None:
        """From the next snapshot on these columns; moves to another segment, where the last two have new ones zero."""
        with self._writing:
            self._require_running()
            before, self._columns = self._columns, dict(columns)
            try:
                self._move(self.capacity)
            except BaseException:
                self._columns = before
                raise

    def write_plan(self, plan: Plan) -> None:
        """Replace the plan; viewers that wait are woken."""
        with self._writing:
            self._require_running()
            self._writer.write_plan(plan)
            self._plan_number = plan.number
        self._reception.wake_waiting()

    def write_scene(self, scene: Scene) -> int:
        """Replace the scene for all viewers, those to come included. Returns its version."""
        packed = scene.to_bytes()
        with self._writing:
            self._require_running()
            version = self.scene[0] + 1
            self.scene = version, packed
            self._writer.write_scene_version(version)
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
            if self._ended:
                return
            self._ended = True
        atexit.unregister(self.end)
        self._door.give_back()
        self._reception.end(kind, message)
        self._door.close()
        with self._writing, self._segment:
            self._writer.close()

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`: this copy has ended, whatever locks the parent's threads held."""
        self._ended = True
        self._ending, self._writing, self._segment = threading.Lock(), threading.RLock(), threading.Lock()
        atexit.unregister(self.end)

    # Asked by the reception, on the daemon thread.

    def describe_to_guest(self) -> dict[str, Any]:
        return call_guarded(self._describe) or {}

    def segment_for_guest(self) -> tuple[dict[str, Any], int]:
        with self._segment:
            return {"size": self._memory.size}, os.dup(self._memory.read_only_fd())

    def has_newer(self, number: int, plan_number: int) -> bool:
        with self._segment:
            return not self._ended and (self._writer.latest > number or self._plan_number > plan_number)

    def report_for_guest(self) -> dict[str, Any] | None:
        return call_guarded(self.on_report)

    def guest_gone(self, owned: bool, was_last: bool) -> None:
        if owned:
            call_guarded(self.on_owned_viewer_gone)
        if was_last:
            call_guarded(self.on_all_viewers_gone)

    def _complete(self, slot: OpenSlot) -> int:
        with self._writing:
            self._require_running()
            published_ns = slot.writer.complete(slot)
        self._reception.wake_waiting()
        return published_ns

    def _move(self, capacity: int) -> None:
        """On to a segment for `capacity` bodies and the columns of now."""
        old_writer = self._writer
        layout = Layout.for_bodies(capacity, self._columns)
        new_memory = memory.create(layout.segment_bytes)
        try:
            new_writer = RingWriter.grown(new_memory, layout, old_writer)
        except BaseException:
            new_memory.close()
            raise
        with self._segment:
            self._memory, self._writer = new_memory, new_writer
            old_writer.set_successor()
            old_writer.close()

    def _require_running(self) -> None:
        if self._ended:
            raise HostEnded(
                f'the simulation "{self.name}" has ended in this process; publish before Host.end, '
                "and in the process that made the host"
            )
