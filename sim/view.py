"""A view that `twixt.show` opened: fields of bodies come in, snapshots go out.

Bodies come field by field and are kept (`shown`), or their user writes the records where they are to go (`slot`).
Always: publishing never waits, and does not care whether anybody looks. The loop's pace is its own: what is published
is due now. Does not step, pause or reset anything: keys of the viewer that ask for it find nobody here.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.ipc.ring import OpenSlot
from twixt.ipc.segments import HostEnded
from twixt.ipc.snapshot import BODY, RECORD, new_bodies
from twixt.ipc.spans import NOT_RECORDED
from twixt.sim import rows
from twixt.sim.columns import Columns
from twixt.sim.health import Health
from twixt.sim.publisher import Publisher
from twixt.sim.room_to_show import room_of_a_loop
from twixt.sim.showing import Showing
from twixt.sim.shown import ShownBodies

# Longest simulated time there is: 2**63 ns, 292 years.
LONGEST_S = 9.2e9


class View:
    """What `show` returns. One thread at a time publishes; `close` may come from any.

    A view that nobody refers to any more is closed.
    """

    def __init__(self, showing: Showing, shapes: int, capacity: int, dt_ns: int, columns: Columns) -> None:
        self._showing, self._host, self._dt_ns = showing, showing.host, dt_ns
        self.name = self._host.name
        self._shapes, self._capacity, self._columns = shapes, capacity, columns
        plan = Plan(1, 0, time.perf_counter_ns(), 0, 1.0)
        spans = NOT_RECORDED if showing.trace is None else showing.trace.spans
        self._publisher = Publisher(self._host, plan, Config().publish_hz, spans=spans)
        self._tick = 0
        self._sim_time_ns: int | None = None
        self._under_way: OpenSlot | None = None  # while a publish is, and after one that was interrupted
        self._bodies: ShownBodies | None = None
        self._has_slots = self._is_publishing = False
        self._warning, self._health, self._look_tick = "", Health("the loop"), 0
        self._room = room_of_a_loop(self._host)
        weakref.finalize(self, showing.leave).atexit = False

    @property
    def is_open(self) -> bool:
        """Whether the loop is to go on: False after the user closed the window that `show` opened, after `close`, and
        after `seconds` where given. A viewer that crashed, or that has no display, is no reason to end."""
        return not self._showing.is_over

    @property
    def closed_because(self) -> str | None:
        """Why the view has no window, in words; None while it has one, or one is on its way."""
        return self._showing.closed_because

    def reopen(self) -> None:
        """Open a window again, after it was closed or its viewer has crashed; does nothing while there is one.

        `is_open` is True again, and `seconds` are counted anew. Files that were asked for stay the first viewer's.
        Raises TwixtError after `close`.
        """
        self._showing.reopen()

    def publish(
        self,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        color: ArrayLike | None = None,
        visible: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        cut: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        sim_time: float | None = None,
    ) -> None:
        """Show the bodies as they are now. Fields not passed stay as they were, velocities count as not known.

        position (n, 3) m. orientation (n, 4) unit quaternions xyzw. velocity (n, 3) m/s. angular_velocity
        (n, 3) rad/s, world frame. scale (n,) or one for all. color (n, 3 or 4) or one for all: floats from 0 to 1, or
        whole numbers from 0 to 255; none of them above 1 counts to 1 too, (1, 0, 0) is red, but for dtype uint8.
        visible: bool (n,), stays as it was too; a new body is. ids: (n,) whole numbers or texts, in every publish or in
        none; the body `ids[i]` is the same one whatever its place i, a new id appears, a missing one disappears.
        cut: bool (n,) or places of bodies that jumped here and must not be seen sliding. columns: name -> (n,) or
        (n, width), or one row for all; those not passed stay as they were. sim_time: seconds;
        by default `dt` after the one before. Smaller than the one before: the world begins anew. The same: this state
        takes the place of the one before, at once and without a blend, and simulated time stands.

        Raises TwixtError for shapes, types and ranges that are wrong, and while another publish is under way. A number
        that is not finite is told of once, in the terminal and in the overlay: that body is not drawn, a velocity is not
        used, and the loop goes on.

        An id below the number of shapes has the shape of that number, others the lowest that is free;
        without ids, the i-th body has the i-th shape. After `close` nothing is done. Corrections whose visual
        offset decays are made with `Bodies.correct`, in a world; here a body moves or is cut.
        """
        if self._showing.is_closed:
            return
        passed = {}
        if position is not None:
            passed["position"] = position
        if orientation is not None:
            passed["orientation"] = orientation
        if velocity is not None:
            passed["velocity"] = velocity
        if angular_velocity is not None:
            passed["angular_velocity"] = angular_velocity
        if scale is not None:
            passed["scale"] = scale
        if color is not None:
            passed["color"] = color
        if self._is_publishing:
            raise TwixtError(
                "another publish of this view is under way, on another thread or in the line that this one interrupted; "
                "publish from one thread at a time, with a lock around it"
            )
        self._is_publishing = True
        try:
            if self._bodies is None:
                self._require(not self._has_slots, "publish", "slot")
                self._bodies = ShownBodies(self._host, self._shapes, self._capacity, self._columns)
            try:
                self._settle()
                sim_time_ns = self._time_of(sim_time)
                begin_ns = time.perf_counter_ns()
                opened = self._bodies.write(passed, columns or {}, visible, ids, cut)
            except HostEnded:
                if self._showing.is_closed:  # meanwhile, by another thread; in a forked child it is an error
                    return
                raise
            if self._bodies.unwell and not self._warning:
                self._look_at(opened, self._bodies)
            self._send(sim_time_ns, opened, begin_ns)
            self._bodies.was_published()
            self._under_way = None
        finally:
            self._is_publishing = False

    @contextmanager
    def slot(
        self, count: int, *, columns: Mapping[str, ArrayLike] | None = None, sim_time: float | None = None
    ) -> Iterator[NDArray[np.void]]:
        """Show `count` bodies that the block writes into shared memory itself, without a copy:

            with view.slot(100_000) as records:
                records["position"] = state.xyz

        records: dtype `twixt.ipc.snapshot.BODY`, shape (count,), holding what an earlier block wrote, not that of the
        last snapshot, or visible white bodies at the origin: a field that ever changes is to be written in each block,
        flags and epochs included. Nothing is refused; a number that is not finite is told of, as in `publish`. Body i
        has the i-th shape. columns: as in `publish`, one not passed is as it was. A view is published with slots alone,
        or with none.

        Visible when the block ends; not at all where it raises. From then on `records` is read-only; parts of it
        that were taken (`p = records["position"]`) are not, and viewers read them: take them anew in each block.
        What is published inside a block takes its place: `records` is read-only from there, the block's end refused.
        """
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            raise TwixtError(f"slot(count) must be a whole number of bodies >= 0, got {count!r}")
        self._require(self._bodies is None, "slot", "publish")
        count, self._has_slots = int(count), True
        own = rows.checked_columns(columns or {}, self._columns.declared, count)
        try:
            self._settle()
            sim_time_ns = self._time_of(sim_time)
            opened = None
            if not self._showing.is_closed:
                opened = self._host.begin(count, self._room.of(count, time.perf_counter_ns()))
        except HostEnded:
            if not self._showing.is_closed:
                raise
            opened = None
        if opened is None:
            yield np.zeros(count, BODY)
            return
        begin_ns = time.perf_counter_ns()
        try:
            self._prepare(opened)
            yield opened.records
            self._look_in_turn(opened)
        except BaseException:
            opened.drop()
            raise
        self._columns.grow(count)
        opened.columns = {name: column[:count] for name, column in self._columns.items()} | own
        self._send(sim_time_ns, opened, begin_ns)
        for name, values in own.items():
            self._columns[name][:count] = values
        self._under_way = None

    def close(self) -> None:
        """Tell the viewers, close the window, leave nothing behind. May be called again, and from any thread."""
        self._showing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is KeyboardInterrupt:
            self._showing.close("interrupted", "Ctrl-C")
        elif kind is None or not issubclass(kind, Exception):  # exits, generators and tasks that are closed: no error
            self.close()
        else:
            self._showing.crash(f"the loop raised {kind.__name__}: {error}")

    def _time_of(self, sim_time: float | None) -> int:
        if sim_time is None:
            return 0 if self._sim_time_ns is None else self._sim_time_ns + self._dt_ns
        if not (isinstance(sim_time, int | float | np.number) and abs(sim_time) < LONGEST_S):
            raise TwixtError(f"sim_time must be seconds, a finite number, got {sim_time!r}")
        return round(sim_time * 1e9)

    def _require(self, holds: bool, wanted: str, used: str) -> None:
        if not holds:
            raise TwixtError(f"this view is published with {used}, so not with {wanted}; use one of the two alone")

    def _look_at(self, opened: OpenSlot, bodies: ShownBodies) -> None:
        """Says which body cannot be drawn as it was passed."""
        said = Health("the loop", bodies.name_of).look_at_all(opened.records, self._tick)
        if not said and "color" in bodies.unwell:
            said = f"a color is not finite after step {self._tick}; its body is drawn in white"
        self._warn(said)

    def _look_in_turn(self, opened: OpenSlot) -> None:
        if self._tick >= self._look_tick and not self._warning:
            self._look_tick = self._tick + self._health.steps_until_next(opened.count, self._dt_ns / 1e9)
            self._warn(self._health.look(opened.records, self._tick))

    def _warn(self, said: str) -> None:
        """Once, here and in the overlay."""
        if said:
            self._warning = said
            print(f"twixt: {said}", file=sys.stderr, flush=True)
            self._host.set_status({"warning": said})

    def _prepare(self, opened: OpenSlot) -> None:
        """What no block has written yet are visible bodies at the origin."""
        done = opened.mark if isinstance(opened.mark, int) else 0
        if done < opened.count:
            opened.mark = None
            opened.records[done:].view(RECORD)[...] = new_bodies(1).view(RECORD)
            opened.mark = opened.count

    def _send(self, sim_time_ns: int, opened: OpenSlot, begin_ns: int) -> None:
        try:
            plan = self._publisher.plan
            if self._sim_time_ns is not None and sim_time_ns < self._sim_time_ns:
                anew = Plan(plan.number + 1, plan.world_epoch + 1, time.perf_counter_ns(), sim_time_ns, 1.0)
                self._publisher.write_plan(anew)
            self._showing.obey()
            self._under_way = opened
            self._publisher.publish(
                opened,
                tick=self._tick,
                sim_time_ns=sim_time_ns,
                dt_ns=self._dt_ns,
                columns=opened.columns,
                begin_ns=begin_ns,
            )
            self._tick, self._sim_time_ns = opened.head.tick + 1, sim_time_ns
        except HostEnded:
            opened.drop()
            if not self._showing.is_closed:
                raise

    def _settle(self) -> None:
        """A publish before was interrupted: its snapshot is the newest one, or never was."""
        opened = self._under_way
        if opened is not None and self._host.has_taken(opened):
            self._tick, self._sim_time_ns = opened.head.tick + 1, opened.head.sim_time_ns
            if self._has_slots:
                self._columns.grow(opened.count)
                for name, values in opened.columns.items():
                    self._columns[name][: opened.count] = values
        self._under_way = None
