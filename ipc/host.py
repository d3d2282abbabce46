"""The simulation's side of the channel: publish, and let others look.

The one idea: the stepping thread writes shared memory and sets values; one daemon thread (`Reception`)
does everything that has to do with viewers. So no viewer can make a step late, and viewers are answered
while the user's own step never returns.

Always: `publish` costs its copy, plus one look at an empty queue; it never waits for a viewer, nor for memory: the next
segment is made by the daemon thread from three quarters full (`growth`). A snapshot that jumps beyond what there is
waits aside until its segment is ready, the newest one; those that it replaced count as `dropped`. A forked child finds its copy of the host ended, and keeps neither memory nor connections alive.
Not here: when to publish, and what a command does.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import fork, memory
from twixt.ipc.commands import Command
from twixt.ipc.door import Door
from twixt.ipc.errors import TwixtError
from twixt.ipc.growth import Growth, Made
from twixt.ipc.guest import call_guarded
from twixt.ipc.layout import Layout
from twixt.ipc.plan import Plan
from twixt.ipc.reception import Reception
from twixt.ipc.ring import OpenSlot, RecordsKept, RingWriter, Stored
from twixt.ipc.scene import Scene
from twixt.ipc.slot import Aside
from twixt.ipc.snapshot import RECORD, Head

ENDINGS = ("ended", "crashed", "interrupted")


class HostEnded(TwixtError):
    """Something to be published after the end, or in a forked child."""


class Late(NamedTuple):
    """A snapshot that was published by the daemon thread, and what that took."""

    head: Head
    published_ns: int
    cost_ns: int


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
        self._old: deque[RingWriter] = deque()  # to be closed by the daemon thread
        self._left: RingWriter | None = None  # of the segment before, to be told of its successor
        self._aside: OpenSlot | None = None  # the newest snapshot, for which there is no room yet
        self.dropped = 0
        self.late: deque[Late] = deque()  # what was visible only when there was room
        self._ask_above, self._first_count = capacity * 3 // 4, capacity
        self._reception = Reception(door, self)
        self._growth = Growth(self._reception.look_again)
        self._rests = threading.Event()  # the daemon thread makes no segment
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

    def publish(
        self, head: Head, bodies: NDArray[np.void], columns: Mapping[str, NDArray[np.generic]] = {}
    ) -> int | None:
        """Make a snapshot visible; returns the instant, `published_ns`, which is stamped here, None where it has to wait
        for room.

        bodies: BODY records, shape (n,). Raises NoRoom where there is no room for them, and was none.
        """
        with self._writing:
            self._require_running()
            if len(bodies) > self._ask_above and len(bodies) != self._first_count:
                self._look_ahead(len(bodies))
            if len(bodies) <= self._writer.layout.capacity:
                published_ns = self._writer.publish(head, bodies, columns)
                if self._aside is not None:
                    self._drop_aside()
            else:
                published_ns = None
        if published_ns is None:
            with self.begin(len(bodies)) as slot:
                slot.records.view(RECORD)[...] = bodies.view(RECORD)
                slot.head, slot.columns = head, columns
            return slot.published_ns
        self._reception.wake_waiting()
        return published_ns

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

    def begin(self, count: int) -> OpenSlot:
        """The next snapshot's slot, to be written in place: see `OpenSlot`. The end of its block raises HostEnded where
        the host ended meanwhile."""
        with self._writing:
            self._require_running()
            if count > self._ask_above and count != self._first_count:
                self._look_ahead(count)
            if count > self._writer.layout.capacity:
                return OpenSlot(_Waiting(self), self._writer.latest + 1, count, Aside())
            slot = self._writer.begin(count)
        slot.complete = self._complete
        return slot

    def has_taken(self, slot: OpenSlot) -> bool:
        """Whether its snapshot is complete, also where an interruption came before anybody was told."""
        with self._writing:
            self._require_running()
            return slot.is_taken or (not isinstance(slot.writer, _Waiting) and self._writer.latest >= slot.number)

    def newest(self) -> Stored | None:
        """The newest snapshot where it lies, to be read before the next is published; None before the first."""
        with self._writing:
            self._require_running()
            aside = self._waiting()
            if aside is not None:
                return Stored(aside.number, aside.head, aside.records, dict(aside.columns))
            return next(iter(self._writer.last_two()[-1:]), None)

    @property
    def columns(self) -> dict[str, tuple[str, int]]:
        """What every snapshot carries beside its bodies: name -> (dtype, values per body)."""
        return self._columns

    def reserve(self, count: int) -> None:
        """Room for `count` bodies, for twice as many as now where there is so much; what does not fit yet waits until it
        is there. Raises NoRoom or SharedMemoryError where it cannot be, or could not be made; asked again, it tries
        again."""
        with self._writing:
            self._require_running()
            if count > self.capacity:
                self._look_ahead(count)
                error, self._growth.error = self._growth.error, None
                if error is not None and count > self.capacity:
                    raise error

    def await_room(self, timeout_s: float) -> bool:
        """Waits until nothing waits for room, for whoever has nothing more to publish; False where something still does."""
        ends_s = time.monotonic() + timeout_s
        while self._aside is not None and not self._ended and self._growth.error is None:
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                break
            self._rests.clear()
            self._reception.look_again()
            self._rests.wait(left_s)
        return self._aside is None

    def set_columns(self, columns: Mapping[str, tuple[str, int]]) -> None:
        """From the next snapshot on these columns; moves to another segment, where the last two have new ones zero."""
        with self._writing:
            self._require_running()
            self._leave()
            before, self._columns = self._columns, dict(columns)
            self._growth.forget()
            try:
                layout = Layout.for_bodies(self.capacity, self._columns)
                self._move(Made(memory.create(layout.segment_bytes), layout))
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
            self._growth.close()
            for writer in (*self._old, self._writer):
                writer.close()

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

    def work(self) -> bool:
        while self._old:
            self._old.popleft().close()
        more = self._growth.work()
        if self._growth.ready is not None and self._aside is not None:
            self._show_aside()
        if not more:
            self._rests.set()
        return more

    def _complete(self, slot: OpenSlot) -> int | None:
        with self._writing:
            self._require_running()
            published_ns = slot.writer.complete(slot)
            if self._aside is not None:
                self._drop_aside()
        self._reception.wake_waiting()
        return published_ns

    def _look_ahead(self, count: int) -> None:
        """Moves into the next segment where `count` bodies need it and it is there; asks for it where it is not."""
        self._leave()
        growth, ready = self._growth, self._growth.ready
        if count > self.capacity and ready is not None:
            self._move(ready)
        capacity = self.capacity
        if count > capacity:
            if growth.error is None:  # else told first, by `reserve`
                growth.ask(capacity, self._columns, count)
        elif count > self._ask_above:
            growth.ask(capacity, self._columns)
            self._ask_above = capacity

    def _show_aside(self) -> None:
        """What waits is visible where it fits by now. On any thread."""
        with self._writing:
            aside = None if self._ended or self._writer.is_open else self._waiting()
            if aside is None:
                return
            begin_ns, ready = time.perf_counter_ns(), self._growth.ready
            if aside.count > self.capacity and ready is not None:
                self._move(ready)
            if aside.count > self.capacity:  # there was not room for so many: who comes next asks again
                return
            published_ns = self._writer.publish(aside.head, aside.records, aside.columns)
            self._writer.forget_source()
            self._aside = None
            self.late.append(Late(aside.head, published_ns, time.perf_counter_ns() - begin_ns))
        self._reception.wake_waiting()

    def _waiting(self) -> OpenSlot | None:
        """The snapshot that waits for room, newer than all in the ring."""
        aside = self._aside
        return aside if aside is not None and aside.number > self._writer.latest else None

    def _drop_aside(self) -> None:
        """A newer one is in the ring."""
        self._aside, self.dropped = None, self.dropped + 1

    def _take_aside(self, slot: OpenSlot) -> None:
        with self._writing:
            self._require_running()
            self._writer.check(slot.head, slot.count, slot.columns)
            slot.columns = {name: rows.copy() for name, rows in slot.columns.items()}
            slot.head = slot.head._replace(count=slot.count)
            slot.drop()
            slot.number = self._writer.latest + 1  # one that waited before it may be visible since its block began
            before = self._aside
            # No call from here on: an interruption comes before all of it, or after.
            slot.is_taken = True
            self._aside = slot
            if before is not None:
                self.dropped += 1
        if self._growth.ready is not None or slot.count <= self.capacity:
            self._show_aside()

    def _move(self, made: Made) -> None:
        """On to the segment `made`, which holds what the one before holds."""
        old_writer = self._writer
        if made.memory is not self._memory:
            try:
                new_writer = RingWriter.grown(made.memory, made.layout, old_writer)
            except Exception:
                self._growth.take(made)
                made.memory.close()
                raise
            with self._segment:
                self._left = old_writer
                self._memory, self._writer = made.memory, new_writer
        self._growth.take(made)
        self._ask_above, self._first_count = self.capacity * 3 // 4, -1
        self._leave()

    def _leave(self) -> None:
        """Viewers of the segment before ask for this one: said again where an interruption came between."""
        left, ready = self._left, self._growth.ready
        if ready is not None and ready.memory is self._memory:
            self._growth.take(ready)
        if left is not None and left is not self._writer:
            left.set_successor()
            self._old.append(left)  # to give so much memory back takes long, too
            self._left = None
            self._reception.look_again()

    def _require_running(self) -> None:
        if self._ended:
            raise HostEnded(
                f'the simulation "{self.name}" has ended in this process; publish before Host.end, '
                "and in the process that made the host"
            )


class _Waiting:
    """Takes snapshots for which there is no room yet: see `OpenSlot`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def complete(self, opened: OpenSlot) -> None:
        self._host._take_aside(opened)

    def forget(self, opened: OpenSlot) -> None:
        """It was nobody's yet."""
