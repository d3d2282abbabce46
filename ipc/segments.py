"""What a host publishes into: the segment there is, the next one, and the snapshot that waits for it.

The one idea: a snapshot goes into the segment that there is, or, where it has too little room, aside, until the
service thread has made a larger one. Who publishes moves into that; the service thread, where nobody does any more.

Always: publishing costs its copy and never waits for memory: the next segment is asked for from three quarters full.
Interrupted anywhere (Ctrl-C), the
next call finds all of a step done, or none of it. Not here: how a segment is made (`growth`), who looks at it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc import memory
from twixt.ipc.aside import NO_NUMBER, Late, NewestAside, Partly, Waiting
from twixt.ipc.errors import TwixtError
from twixt.ipc.growth import Growth, Made
from twixt.ipc.layout import Layout
from twixt.ipc.plan import Plan
from twixt.ipc.ring import OpenSlot, RingWriter, Stored
from twixt.ipc.slot import Aside
from twixt.ipc.snapshot import RECORD, Head


class HostEnded(TwixtError):
    """Something to be published after the end, or in a forked child."""


class Segments:
    """Published into by one thread at a time; `work` is the service thread's, the rest anybody's.

    name: of the simulation. made: the segment to begin with. look_again: tells the service thread that there is work;
    wake_waiting: called when a snapshot or a plan is visible.
    """

    def __init__(
        self,
        name: str,
        made: Made,
        columns: Mapping[str, tuple[str, int]],
        look_again: Callable[[], object],
        wake_waiting: Callable[[], object],
    ) -> None:
        self.writing = threading.RLock()  # whoever writes, and the end
        self.is_ended = False
        self.columns = dict(columns)
        self._name, self._look_again, self._wake_waiting = name, look_again, wake_waiting
        self._handing = threading.Lock()  # `memory` changes hands, or its descriptor is copied
        self.memory = made.memory
        self.writer = RingWriter(made.memory, made.layout)
        self._plan_number = 0
        self._old: deque[RingWriter] = deque()  # to be closed by the service thread
        self._left: RingWriter | None = None  # of the segment before, to be told of its successor
        self.aside = NewestAside()
        self._ask_above, self._first_count = self.capacity * 3 // 4, self.capacity
        self.growth = Growth(look_again)
        self._rests = threading.Event()  # the service thread makes no segment

    @property
    def capacity(self) -> int:
        return self.writer.layout.capacity

    def publish(self, head: Head, bodies: NDArray[np.void], columns: Mapping[str, NDArray[np.generic]]) -> int | None:
        """See `Host.publish`."""
        with self.writing:
            if self.is_ended:
                self.require_running()
            if len(bodies) > self._ask_above and len(bodies) != self._first_count:
                self._look_ahead(len(bodies))
            if len(bodies) <= self.writer.layout.capacity:
                published_ns = self.writer.publish(head, bodies, columns)
                if self.aside.slot is not None:
                    self.aside.drop()
            else:
                published_ns = None
        if published_ns is None:
            with self.begin(len(bodies)) as slot:
                slot.records.view(RECORD)[...] = bodies.view(RECORD)
                slot.head, slot.columns = head, columns
            return slot.published_ns
        self._wake_waiting()
        return published_ns

    def begin(self, count: int, shown: int | None = None) -> OpenSlot:
        """See `Host.begin`."""
        with self.writing:
            if self.is_ended:
                self.require_running()
            if shown is not None and shown < count:
                slot = OpenSlot(Partly(self._show_part, shown), NO_NUMBER, count, Aside())
            else:
                if count > self._ask_above and count != self._first_count:
                    self._look_ahead(count)
                if count > self.writer.layout.capacity:
                    return OpenSlot(Waiting(self._take_aside), self.writer.latest + 1, count, Aside())
                slot = self.writer.begin(count)
        slot.complete = self._complete
        return slot

    def has_taken(self, slot: OpenSlot) -> bool:
        """See `Host.has_taken`."""
        with self.writing:
            self.require_running()
            return slot.is_taken or (not isinstance(slot.writer, Waiting) and self.writer.latest >= slot.number)

    def newest(self) -> Stored | None:
        """See `Host.newest`."""
        with self.writing:
            self.require_running()
            if (aside := self.aside.waiting(self.writer.latest)) is not None:
                return Stored(aside.number, aside.head, aside.records, dict(aside.columns))
            return next(iter(self.writer.last_two()[-1:]), None)

    def reserve(self, count: int) -> None:
        """See `Host.reserve`."""
        with self.writing:
            self.require_running()
            if count > self.capacity:
                self._look_ahead(count)
                error, self.growth.error = self.growth.error, None
                if error is not None and count > self.capacity:
                    raise error

    def await_room(self, timeout_s: float) -> bool:
        """See `Host.await_room`."""
        ends_s = time.monotonic() + timeout_s
        while self.aside.slot is not None and not self.is_ended and self.growth.error is None:
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                break
            self._rests.clear()
            self._look_again()
            self._rests.wait(left_s)
        return self.aside.slot is None

    def set_columns(self, columns: Mapping[str, tuple[str, int]]) -> None:
        """See `Host.set_columns`."""
        with self.writing:
            self.require_running()
            self._leave()
            before, self.columns = self.columns, dict(columns)
            self.growth.forget()
            try:
                layout = Layout.for_bodies(self.capacity, columns)
                self._move(Made(memory.create(layout.segment_bytes), layout))
            except BaseException:
                self.columns = before
                raise

    def write_plan(self, plan: Plan) -> None:
        """Replace the plan; viewers that wait are woken."""
        with self.writing:
            self.require_running()
            self.writer.write_plan(plan)
            self._plan_number = plan.number
        self._wake_waiting()

    def write_scene_version(self, version: int) -> None:
        """Viewers see in the segment that there is another scene."""
        with self.writing:
            self.require_running()
            self.writer.write_scene_version(version)

    def has_newer(self, number: int, plan_number: int) -> bool:
        """Whether there is more to see than a viewer has seen."""
        with self._handing:
            return not self.is_ended and (self.writer.latest > number or self._plan_number > plan_number)

    def handed_out(self) -> tuple[dict[str, Any], int]:
        """What a viewer is told of the segment that there is, and a descriptor of it, which is the caller's."""
        with self._handing:
            return {"size": self.memory.size}, os.dup(self.memory.read_only_fd())

    def work(self) -> bool:
        """A piece of what there is to do; True when more is to be done at once. On the service thread."""
        while self._old:
            self._old.popleft().close()
        more = self.growth.work()
        if self.growth.ready is not None and self.aside.slot is not None:
            self._show_aside()
        if not more:
            self._rests.set()
        return more

    def close(self) -> None:
        """After the service thread's end; `is_ended` is set."""
        with self.writing, self._handing:
            self.growth.close()
            for writer in (*self._old, self.writer):
                writer.close()

    def close_in_child(self) -> None:
        """Nothing can be written here, whatever locks the parent's threads held."""
        self.is_ended = True
        self.writing, self._handing = threading.RLock(), threading.Lock()

    def require_running(self) -> None:
        """Raises HostEnded."""
        if self.is_ended:
            raise HostEnded(
                f'the simulation "{self._name}" has ended in this process; publish before Host.end, '
                "and in the process that made the host"
            )

    def _complete(self, slot: OpenSlot) -> int | None:
        with self.writing:
            self.require_running()
            published_ns = slot.writer.complete(slot)
            if self.aside.slot is not None:
                self.aside.drop()
        self._wake_waiting()
        return published_ns

    def _look_ahead(self, count: int) -> None:
        """Moves into the next segment where `count` bodies need it and it is there; asks for it where it is not."""
        self._leave()
        growth, ready = self.growth, self.growth.ready
        if count > self.capacity and ready is not None:
            self._move(ready)
        capacity = self.capacity
        if count > capacity:
            if growth.error is None:  # else told first, by `reserve`
                growth.ask(capacity, self.columns, count)
        elif count > self._ask_above:
            growth.ask(capacity, self.columns)
            self._ask_above = capacity

    def _take_aside(self, slot: OpenSlot) -> None:
        with self.writing:
            self.require_running()
            self.writer.check(slot.head, slot.count, slot.columns)
            self.aside.take(slot, self.writer.latest)
        if self.growth.ready is not None or slot.count <= self.capacity:
            self._show_aside()

    def _show_part(self, slot: OpenSlot, shown: int) -> int:
        writer = self.writer
        slot.columns = {name: rows.copy() for name, rows in slot.columns.items()}
        slot.drop()
        if self.aside.slot is not None:
            self.aside.drop()
        slot.number = writer.latest + 1
        columns = {name: rows[:shown] for name, rows in slot.columns.items()}
        published_ns = writer.publish(slot.head, slot.records[:shown], columns)
        writer.forget_source()
        return published_ns

    def _show_aside(self) -> None:
        """What waits is visible where it fits by now. On any thread."""
        with self.writing:
            aside = None if self.is_ended or self.writer.is_open else self.aside.waiting(self.writer.latest)
            if aside is None:
                return
            begin_ns, ready = time.perf_counter_ns(), self.growth.ready
            if aside.count > self.capacity and ready is not None:
                self._move(ready)
            if aside.count > self.capacity:  # there was not room for so many: who comes next asks again
                return
            published_ns = self.writer.publish(aside.head, aside.records, aside.columns)
            self.writer.forget_source()
            self.aside.shown(Late(aside.head, published_ns, time.perf_counter_ns() - begin_ns))
        self._wake_waiting()

    def _move(self, made: Made) -> None:
        """On to the segment `made`, which holds what the one before holds."""
        old_writer = self.writer
        if made.memory is not self.memory:
            try:
                new_writer = RingWriter.grown(made.memory, made.layout, old_writer)
            except Exception:
                self.growth.take(made)
                made.memory.close()
                raise
            with self._handing:
                self._left = old_writer
                self.memory, self.writer = made.memory, new_writer
        self.growth.take(made)
        self._ask_above, self._first_count = self.capacity * 3 // 4, -1
        self._leave()

    def _leave(self) -> None:
        """Viewers of the segment before ask for this one: said again where an interruption came between."""
        left, ready = self._left, self.growth.ready
        if ready is not None and ready.memory is self.memory:
            self.growth.take(ready)
        if left is not None and left is not self.writer:
            left.set_successor()
            self._old.append(left)  # to give so much memory back takes long, too
            self._left = None
            self._look_again()
