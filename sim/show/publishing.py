"""Base class of views. It publishes the states of a user's loop as snapshots.

The user may pass bodies field by field (`shown_bodies`); fields that are not passed keep their values. Or the user
writes the records in place (`slot`). Always: publishing never waits, whether viewers are attached or not. The due
instant of a snapshot is the instant at which it is published.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidType, TwixtError, refusal, text_of
from twixt.ipc.plan import Plan
from twixt.ipc.ring.segments import HostEnded
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.rotation import XYZW, QuatOrder, is_w_first
from twixt.ipc.scene.surfaces import NO_EXTRAS, Extras
from twixt.ipc.snapshot import BODY, RECORD, new_bodies
from twixt.ipc.trace.spans import NOT_RECORDED
from twixt.sim.publish.event_buffer import EventBuffer
from twixt.sim.publish.limits import BodyLimit
from twixt.sim.publish.publisher import Meter, Publisher
from twixt.sim.show.loop_warnings import LoopWarnings
from twixt.sim.show.session import ViewerSession
from twixt.sim.show.shown_bodies import ShownBodies, require_known_fields
from twixt.sim.world.columns import Columns
from twixt.sim.world.marks import Marks, extras_of
from twixt.sim.world.surfaces import GivenSurfaces, ShownSurfaces, Surfaces

# Largest simulated time in seconds: 2**63 ns, 292 years.
LONGEST_S = 9.2e9


class BodyFields(TypedDict, total=False):
    """Fields of bodies that `View.publish` accepts by name. A field that is None counts as not passed."""

    position: ArrayLike | None
    orientation: ArrayLike | None
    velocity: ArrayLike | None
    angular_velocity: ArrayLike | None
    scale: ArrayLike | None
    color: ArrayLike | None


class Publishing:
    """Base class of `View`; it publishes states. Only one thread at a time may publish. shapes: number of shapes in the
    scene. capacity: number of bodies for which memory is reserved at first; above 0."""

    def __init__(self, session: ViewerSession, shapes: int, capacity: int, dt_ns: int, columns: Columns) -> None:
        self._session, self._dt_ns = session, dt_ns
        self._host = session.host
        self._capacity = capacity
        plan = Plan(1, 0, time.perf_counter_ns(), 0, 1.0)
        spans = NOT_RECORDED if session.trace is None else session.trace.spans
        # The publisher sets no limit on the rate, because the user's loop sets its own pace.
        self._publisher = Publisher(self._host, plan, None, spans=spans)
        self._surfaces = ShownSurfaces(self._host)
        self._has_slots = False
        self._warnings = LoopWarnings(self._host, session.status, dt_ns)
        self._body_limit = BodyLimit(self._host.ring, self._warnings.warn)
        self._events: EventBuffer = EventBuffer(self._host, self._warnings.warn)
        self._host.on_report = partial(_report_of, self._publisher.meter, self._events)
        self._now = ShownBodies(self._host.ring, columns, shapes, self._body_limit)

    def publish(
        self,
        *,
        quat: QuatOrder = XYZW,
        visible: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        cut: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        marks: Marks | None = None,
        surfaces: GivenSurfaces | None = None,
        sim_time: float | None = None,
        **fields: Unpack[BodyFields],
    ) -> None:
        """Publishes the current state of the bodies. Never waits for a viewer.

        Fields that you do not pass keep their values. But if you do not pass velocities, they become unknown. Without
        `ids`, body i has the i-th shape. With `ids`, a new id k gets shape k if k is a whole number, shape k exists,
        and no other body has shape k. Every other new body gets the free shape of the lowest index. There is no
        gradual correction such as `Bodies.correct`. After `close`, this method does nothing.

        A number that is not finite does not stop the loop. It is reported once, in the terminal and in the overlay. A
        body whose position, orientation or scale is not finite is not drawn. A velocity that is not finite is ignored.
        A colour that is not finite is white. A body with an orientation of zeros is drawn without rotation; this is
        reported once. Positions are float32 (see `Bodies`). A visible loss of motion is reported once.

        Args:
            position: (n, 3), metres. If the scene has one shape and the view has one body, `position` may be one row,
                (3,), and each other field may also be one row.
            orientation: (n, 4), unit quaternions in the order `quat`.
            velocity: (n, 3), m/s.
            angular_velocity: (n, 3), rad/s, in the world frame.
            scale: (n,) or a number, from 0 to 65504. Factor of the shape's size.
            color: (n, 3 or 4), or one colour for all bodies. Numbers from 0 to 1, or np.uint8 from 0 to 255. This
                colour is multiplied by the shape's colour. A shape without a colour has a colour of the palette until
                the first publish with `color`, and is white from then on.
            quat: "xyzw" (SciPy, ROS, PyBullet) or "wxyz" (MuJoCo, Isaac Sim, Blender). A wrong order cannot be
                detected, because the length is 1 in both orders.
            visible: bool, (n,). If it is not passed, visibility is unchanged and new bodies are visible.
            ids: Ids of the bodies, (n,), whole numbers or texts. Pass ids in every publish or in none. The rows may be
                in any order. A new id adds a body, and a missing id removes its body.
            cut: bool, (n,), or indices of bodies that jumped. Bodies with a cut are not blended with their last state.
            columns: Arrays by name, (n,) or (n, width), or one row for all bodies. Columns that you do not pass keep
                their values. Columns per part have one row for each part (`Scene.part_bodies`) and cannot be combined
                with ids. Columns of the world have one row.
            marks: Marks of this state. If you do not pass marks, the state has no marks. You may change the marks
                after the call.
            surfaces: Dict {body: (v, 3)} with the vertices of bodies whose mesh deforms, in metres in the body's own
                frame. If only one body deforms, the array alone is accepted. At first the vertices are the rest
                shapes. Vertices that you do not pass keep their values. Surfaces cannot be combined with ids.
            sim_time: Simulated time in seconds, stored as whole nanoseconds. By default the last simulated time plus
                `dt`. A smaller time than the last restarts the world (a new world epoch). An equal time replaces the
                last state at once, without a blend.

        Raises:
            TwixtError: A shape, type or range is wrong, or another publish has not ended yet.
        """
        if self._session.is_closed:
            return
        w_first = quat is not XYZW and is_w_first(quat)
        for value in fields.values():
            if value is None:
                require_known_fields(fields)
                fields = {  # type: ignore[assignment]
                    name: value for name, value in fields.items() if value is not None
                }
                break
        now = self._now
        if now.is_being_published:
            raise TwixtError(
                "this view is already being published, by another thread or by the code that this call interrupted; "
                "use a lock, so that only one thread publishes at a time"
            )
        now.is_being_published = True
        try:
            if not len(now.records):
                if self._has_slots:
                    self._refuse("publish", "slot")
                now.allocate(self._capacity)
            try:
                if now.is_under_way:
                    now.settle()
                if now.columns.declared:
                    now.fit_columns()
                sim_time_ns = self._time_of(sim_time)
                written = None
                if surfaces is not None or self._surfaces.are_shown:
                    count_of = partial(now.record_count, fields, ids)  # type: ignore[arg-type]
                    written = self._surfaces.written(surfaces, count_of)
                extras = NO_EXTRAS if marks is None and written is None else _extras(marks, written)
                begin_ns = time.perf_counter_ns()
                opened = now.write(
                    fields,  # type: ignore[arg-type]
                    columns,
                    visible,
                    ids,
                    cut,
                    extras.records,
                    w_first,
                )
            except HostEnded:
                if self._session.is_closed:  # Another thread closed the view. In a forked child this is an error.
                    return
                raise
            if now.not_drawable and not self._warnings.is_quiet:
                self._warnings.check_all(opened, now, now.tick)
            if now.tick >= self._warnings.lost_motion_tick:
                exact = now.exact_positions(fields.get("position"))
                self._warnings.check_motion(opened.records, now.tick, sim_time_ns, exact, now.name_of)
            if extras is not NO_EXTRAS:
                self._warnings.check_extras(
                    marks, None if surfaces is None else written, now.tick, now.next_state.bodies
                )
            self._send(sim_time_ns, opened, begin_ns, extras.vertices)
        finally:
            now.is_being_published = False

    @contextmanager
    def slot(
        self,
        count: int,
        *,
        columns: Mapping[str, ArrayLike] | None = None,
        marks: Marks | None = None,
        surfaces: GivenSurfaces | None = None,
        sim_time: float | None = None,
    ) -> Iterator[NDArray[np.void]]:
        """Publishes `count` bodies, which a `with` block writes into shared memory without a copy.

        Body i has the i-th shape. At first the records contain visible white bodies at the origin. Later they contain
        the values of one of the earlier blocks. So if you ever change a field, write this field in every block.
        `flags` and `epoch` are such fields. `color` has bytes from 0 to 255. To give a body the colour white, also set
        `flags` |= HAS_COLOR. Values are not checked, but numbers that are not finite are reported as in `publish`.

        The snapshot becomes visible when the block ends. If the block raises an error, nothing is published. Do not
        store `records` or its fields, because viewers read this memory after the end of the `with` block. If you open
        a second slot inside the block, `records` becomes read-only, and the end of the outer block raises TwixtError.

        Args:
            count: Number of bodies, a whole number >= 0.
            columns: As in `publish`. Columns that you do not pass keep their values.
            marks: As in `publish`.
            surfaces: As in `publish`.
            sim_time: As in `publish`.

        Yields:
            The records to write, dtype `twixt.ipc.snapshot.BODY`, shape (count,).

        Raises:
            TwixtError: `count` is not a whole number >= 0, or the view was published with `publish` before. A view is
                published either with `slot` or with `publish`.

        Examples:
            ```python
            import numpy as np
            import twixt

            with twixt.show(twixt.Scene([twixt.Sphere(0.02)]), dt=1 / 60) as view:
                for t in view.real_time():
                    with view.slot(10_000) as records:
                        records["position"] = np.random.default_rng(0).normal(size=(10_000, 3)) * (1 + t)
            ```
        """
        with SlotBlock(self, count, columns, marks, surfaces, sim_time) as opened:
            yield np.zeros(count, BODY) if opened is None else opened.records

    def _time_of(self, sim_time: float | None) -> int:
        if sim_time is None:
            return 0 if self._now.sim_time_ns is None else self._now.sim_time_ns + self._dt_ns
        if not (isinstance(sim_time, int | float | np.number) and abs(sim_time) < LONGEST_S):
            raise refusal(sim_time, int, float, np.number)(
                f"sim_time must be seconds, a finite number, got {text_of(sim_time)}"
            )
        sim_time_ns = round(sim_time * 1e9)
        now = self._now
        if sim_time_ns == now.sim_time_ns and now.given_s != sim_time:
            self._warnings.check_time(now.given_s, sim_time)
        now.given_s = sim_time
        return sim_time_ns

    def _refuse(self, wanted: str, used: str) -> NoReturn:
        raise TwixtError(f"this view is published with {used}, so {wanted} cannot be used; use only one of the two")

    def _send(self, sim_time_ns: int, opened: OpenSlot, begin_ns: int, vertices: int) -> None:
        """Publish the slot that `_now` has prepared. Restarts the world if simulated time is smaller than before, and
        applies viewers' commands. vertices: number of vertices packed into the slot's last records."""
        now = self._now
        try:
            if now.sim_time_ns is not None and sim_time_ns < now.sim_time_ns:
                plan = self._publisher.plan
                anew = Plan(plan.number + 1, plan.world_epoch + 1, time.perf_counter_ns(), sim_time_ns, 1.0)
                self._publisher.write_plan(anew)
            if self._events.pending:
                self._flush_events(sim_time_ns, opened.count)
            if self._host.commands.has_new.is_set or self._session.status.are_values_stale:
                self._session.apply_commands()
            self._publisher.publish(
                opened,
                tick=now.tick,
                sim_time_ns=sim_time_ns,
                dt_ns=self._dt_ns,
                vertices=vertices,
                begin_ns=begin_ns,
            )
            now.complete()
            if vertices:
                self._surfaces.complete()
        except HostEnded:
            opened.abort()
            if not self._session.is_closed:
                raise

    def _flush_events(self, sim_time_ns: int, bodies: int) -> None:
        """Publishes the events that belong to the state of this time. bodies: number of bodies in it."""
        events, last_ns, dropped = self._events, self._now.sim_time_ns, self._events.dropped
        previous_ns = sim_time_ns if last_ns is None else min(last_ns, sim_time_ns)
        events.flush(previous_ns, sim_time_ns, self._publisher.plan.world_epoch, bodies, self._now.rows_by_id())
        if events.dropped != dropped:
            self._session.status.set_fields(events_dropped=events.dropped)


class SlotBlock:
    """Context manager of `View.slot`, with the same arguments. Its block writes all bodies into the next slot. The
    `with` statement gets the open slot, or None after `close`.
    """

    def __init__(
        self,
        view: Publishing,
        count: int,
        columns: Mapping[str, ArrayLike] | None = None,
        marks: Marks | None = None,
        surfaces: GivenSurfaces | None = None,
        sim_time: float | None = None,
    ) -> None:
        self._view, self._count, self._columns, self._marks = view, count, columns, marks
        self._surfaces, self._sim_time = surfaces, sim_time

    def __enter__(self) -> OpenSlot | None:
        view, count, surfaces, marks = self._view, self._count, self._surfaces, self._marks
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            raise refusal(count, int, np.integer)(
                f"slot(count) must be a whole number of bodies >= 0, got {text_of(count)}"
            )
        if len(view._now.records):
            view._refuse("slot", "publish")
        count, view._has_slots = int(count), True
        now, parts, written = view._now, 0, None
        self._own = {} if self._columns is None else now.columns._converted(self._columns, count)
        self._opened: OpenSlot | None = None
        try:
            if now.is_under_way:
                now.settle()
            self._sim_time_ns = view._time_of(self._sim_time)
            if surfaces is not None or view._surfaces.are_shown:
                written = view._surfaces.written(surfaces, lambda: count)
            self._written = None if surfaces is None else written
            self._extras = extras = NO_EXTRAS if marks is None and written is None else _extras(marks, written)
            if view._session.is_closed:
                return None
            if now.columns.declared:
                now.fit_columns()
                parts = now.columns._part_count(count)
            self._begin_ns = time.perf_counter_ns()
            most = view._body_limit.allowed(count, self._begin_ns, len(extras.records))
            opened = view._host.ring.begin(count, most, len(extras.records), parts)
        except HostEnded:
            if not view._session.is_closed:
                raise
            return None
        self._opened = opened
        if opened.tag != count or opened.mark_count:
            try:
                _fill_new(opened)
            except BaseException:
                opened.abort()
                raise
        return opened

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened, view = self._opened, self._view
        if opened is None:
            return
        if kind is not None:
            return opened.abort()
        now, warnings, extras = view._now, view._warnings, self._extras
        try:
            warnings.check_in_turn(opened, now.tick)
            if now.tick >= warnings.lost_motion_tick:
                warnings.check_motion(opened.records, now.tick, self._sim_time_ns)
            if extras is not NO_EXTRAS:
                warnings.check_extras(self._marks, self._written, now.tick, opened.count)
                opened.write_marks(extras.records)
        except BaseException:
            opened.abort()
            raise
        if now.columns.declared:
            if opened.count > now.columns._room:
                now.columns._resize(opened.count)
            opened.columns = now.columns._published(opened.count) | self._own
        now.next_state, now.next_columns, now.next_slot, now.is_under_way = now.state, self._own, opened, True
        view._send(self._sim_time_ns, opened, self._begin_ns, extras.vertices)


def _report_of(meter: Meter, events: EventBuffer) -> dict[str, Any]:
    """The answer to a viewer that makes a report. It must not refer to the view, which would then never be freed."""
    return {"physics": meter.loop_report(), "events": events.report()}


def _fill_new(opened: OpenSlot) -> None:
    """Fills the records that no block has written yet with visible bodies at the origin."""
    done = opened.tag if isinstance(opened.tag, int) else 0
    if done < opened.count:
        opened.tag = None
        opened.records[done:].view(RECORD)[...] = new_bodies(1).view(RECORD)
        opened.tag = opened.count
    elif opened.mark_count:  # The marks follow the bodies. They overwrite later bodies of an earlier block.
        opened.tag = opened.count


def _extras(marks: Marks | None, surfaces: Surfaces | None) -> Extras:
    if not isinstance(marks, Marks | None):
        raise InvalidType(
            f"publish(marks) must be a Marks, got {type(marks).__name__}; make one with marks = twixt.Marks(), and "
            "fill it with marks.clear() and marks.add(...)"
        )
    return extras_of(marks, surfaces)
