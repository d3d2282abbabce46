"""Keeps the bodies of a view from publish to publish. Fields that the user passes are checked and written. All other
fields keep their values.

A loop usually passes the same fields of the same bodies. If all other bytes of the slot are up to date, only the
passed fields are written, chunk by chunk, directly into the slot. Otherwise the fields are written into private
records, and all records are copied into the slot.

Always: a publish that raises changes nothing. A body keeps its record for as long as it exists. A record without a
body is not visible. Bodies that appear, disappear or are listed in `cut` are not blended with their last state. A
publish that was interrupted (Ctrl-C in a notebook) has no effect, except that its cuts are applied in the next
publish. The module `publishing` makes the snapshot visible.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidValue, unknown_argument
from twixt.ipc.ring.layout import PART_ROWS
from twixt.ipc.ring.segments import HostRing
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.scene.mark_texts import TEXT_RECORD
from twixt.ipc.snapshot import (
    HAS_ANGULAR_VELOCITY,
    HAS_COLOR,
    HAS_VELOCITY,
    NO_MARKS,
    RECORD,
    VISIBLE,
    new_bodies,
)
from twixt.sim.array_arguments import array_of
from twixt.sim.publish.limits import BodyLimit
from twixt.sim.publish.matching import Match, RecordsById, RecordsByIndex
from twixt.sim.world import body_fields
from twixt.sim.world.body_fields import BLOCKS, FieldWriter, blocks_of
from twixt.sim.world.columns import Columns, require_bodies

NO_KEYS: NDArray[Any] = np.zeros(0, np.int64)
# `body` of a mark that is attached to a body that does not exist.
NO_BODY = 0xFFFF_FFFF


class _SlotContents(NamedTuple):
    """Says which bytes of a slot are up to date. All its bytes are up to date for `version`, except those of the
    fields in `targets`. targets: for each field, its blocks in the slot, shape (n,)."""

    version: object
    targets: dict[str, NDArray[Any]]


class BodyState(NamedTuple):
    """State of the bodies of one snapshot, without their records. The object never changes: a new state replaces it."""

    matcher: RecordsByIndex | RecordsById | None = None
    used: int = 0  # Number of records that have a body or had one.
    bodies: int = 0  # Number of bodies that exist now.
    fields: tuple[str, ...] = ()  # Fields that were passed in the last publish.
    version: object = None  # A new object after bytes outside `fields` have changed.
    newer_in_snapshot: tuple[str, ...] = ()  # Fields whose newest values are only in the newest snapshot.
    # True for velocities, angular velocities and colours that were passed.
    given: tuple[bool, bool, bool] = (False, False, False)
    whole: OpenSlot | None = None  # All records and columns, if viewers get only the first records.


class ShownBodies:
    """Tick, time, columns, records and state of the newest snapshot of a view, and of the publish that has begun but
    not ended.

    A publish sets the next values (`next_state`, `next_slot`, `next_columns`). After its slot is complete, `complete`
    makes them the current values. After an interruption `is_under_way` is still True. Then `settle` completes the
    publish if its slot was complete. Otherwise `settle` reverts the publish.

    - shapes: number of shapes in the scene.
    - body_limit: limit on the number of bodies that viewers get.
    - tick: tick of the next snapshot.
    - sim_time_ns: simulated time of the last snapshot.
    - records: dtype `BODY`; there are none before `allocate`. In the fields in `state.newer_in_snapshot`, the records
      may be older than the newest snapshot.
    - not_drawable: fields in which the last write put a value that cannot be drawn.
    - is_being_published: True during `View.publish`.
    - given_s: the last `sim_time` that the user passed, in seconds.
    """

    def __init__(self, ring: HostRing, columns: Columns, shapes: int, body_limit: BodyLimit) -> None:
        self.tick = 0
        self.sim_time_ns: int | None = None
        self.columns, self.shapes = columns, shapes
        self.records = _hidden(0)
        self.state = BodyState(version=object())
        # Ids or indices of bodies that are still to be cut. The list is emptied after a publish has cut them.
        self.cut_keys = NO_KEYS
        self.is_under_way = False
        self.next_state = self.state
        self.next_slot: OpenSlot | None = None
        self.next_columns: Mapping[str, NDArray[Any]] = {}
        self.not_drawable: tuple[str, ...] = ()
        self.is_being_published = False
        self.given_s: float | None = None
        self._ring, self._body_limit, self._writer = ring, body_limit, FieldWriter()

    def allocate(self, capacity: int) -> None:
        """Allocate records for `capacity` bodies (above 0), before the first `write`."""
        self.records = _hidden(capacity)

    def complete(self) -> None:
        """Make the next values the current ones. Call this after the slot is complete. If the call is interrupted, it
        may be repeated."""
        head = self.next_slot.head  # type: ignore[union-attr]  # a publish is under way
        self.tick, self.sim_time_ns, self.state = head.tick + 1, head.sim_time_ns, self.next_state
        if self.next_columns:
            self.columns._write(self.next_columns)
            self.next_columns = {}
        self.cut_keys = NO_KEYS
        self.next_slot, self.is_under_way = None, False

    def settle(self) -> None:
        """Finish a publish that was interrupted. If its slot was complete, complete the publish. Otherwise restore
        records and columns from the newest snapshot."""
        if self.next_slot is not None and self._ring.is_committed(self.next_slot):
            return self.complete()
        if len(self.records):
            self._restore(len(self.records))
        self.next_columns, self.next_slot, self.is_under_way = {}, None, False

    def _restore(self, count: int) -> None:
        newest, state = self._ring.newest(), self.state
        if newest is not None and (whole := state.whole) is not None:
            newest = newest._replace(bodies=whole.records, columns=dict(whole.columns))
        self.columns._resize(count, count)
        self.records = _hidden(count)
        if newest is not None:
            self.records.view(RECORD)[: state.used] = newest.bodies.view(RECORD)[: state.used]
            for name, column in self.columns.items():
                kept = min(self.columns._rows_of(name, state.used), len(newest.columns[name]))
                column[:kept] = newest.columns[name][:kept].reshape(column[:kept].shape)
        self.state = state._replace(newer_in_snapshot=())

    def fit_columns(self) -> None:
        """Declare the columns to the channel, if an interruption has prevented this."""
        if self.columns._layout != self._ring.columns:
            self._ring.set_columns(self.columns._layout)

    def name_of(self, record: int) -> object:
        """Id of the body that had this record in the last write. Without ids, the record's number."""
        matcher = self.next_state.matcher
        return matcher.id_of(record) if isinstance(matcher, RecordsById) else record

    def rows_by_id(self) -> NDArray[np.int64] | None:
        """The record of each row that the last write got with ids. None without ids."""
        matcher = self.next_state.matcher
        return np.arange(self.next_state.used)[matcher.rows] if isinstance(matcher, RecordsById) else None

    def exact_positions(self, value: ArrayLike | None) -> NDArray[Any] | None:
        """Positions in the type in which the last write got them, one row per record. The row of a record without a
        body is NaN. None if no positions were passed, or if they were float32: a record then has the same precision."""
        if value is None:
            return None
        passed, state = array_of("position", value), self.next_state
        if passed.ndim == 1:  # the row of the only body
            passed = passed[None]
        if passed.dtype == np.float32:
            return None
        rows = state.matcher.rows if state.matcher is not None else slice(0, len(passed))
        if isinstance(rows, slice) and len(passed) == state.used:
            return passed
        exact = np.full((state.used, 3), np.nan)
        exact[rows] = passed
        return exact

    def record_count(self, fields: Mapping[str, ArrayLike], ids: ArrayLike | None) -> int:
        """Number of records that a `write` of these fields would use. Raises TwixtError for fields that `write`
        refuses, and also if there are ids."""
        if ids is not None:
            raise InvalidValue(
                "surfaces cannot be combined with ids, because they are named by the index of their bodies; leave one out"
            )
        return max(self.state.used, _count_of(fields, None, self.state, self.shapes))

    def write(
        self,
        fields: Mapping[str, ArrayLike],
        columns: Mapping[str, ArrayLike] | None,
        visible: ArrayLike | None,
        ids: ArrayLike | None,
        cut: ArrayLike | None,
        marks: NDArray[np.void] = NO_MARKS,
        w_first: bool = False,
    ) -> OpenSlot:
        """Write the bodies, their columns and their marks into a slot, and return the slot open. The arguments are
        those of `View.publish`; w_first: True if orientations are wxyz. The caller must publish the slot, then call
        `complete`. Raises TwixtError."""
        state = self.state
        if not (is_repeated := tuple(fields) == state.fields):
            require_known_fields(fields)
        count = _count_of(fields, ids, state, self.shapes)
        own = {} if columns is None else self.columns._converted(columns, count)
        if ids is not None:
            _require_bodies_alone(own, self.columns)
        shown = None if visible is None else body_fields.checked_mask("visible", visible, count)
        jumped = None if cut is None else body_fields.checked_places("cut", cut, count)
        is_repeated = (
            is_repeated
            and count == state.bodies
            and ids is None
            and visible is None
            and state.whole is None
            and not ((jumped is not None and jumped.size) or self.cut_keys.size)
        )
        mark_count = 0 if marks is NO_MARKS else len(marks)
        opened = self._repeated(fields, count, mark_count, w_first) if is_repeated else None
        if opened is not None:
            if state.newer_in_snapshot is not state.fields:
                state = state._replace(newer_in_snapshot=state.fields)
            self.next_state, self.next_slot, self.is_under_way = state, opened, True
            if own:
                self.columns._write(own)
        else:
            version = state.version if is_repeated else object()
            opened = self._written_anew(fields, own, shown, ids, jumped, count, mark_count, version, w_first)
        if self.columns.declared:
            opened.columns = self.columns._published(self.next_state.used)
        if mark_count:
            opened.write_marks(marks if ids is None else self._at_records(marks))
        return opened

    def _at_records(self, marks: NDArray[np.void]) -> NDArray[np.void]:
        """Marks whose body is an index of a record. In `marks` it is an index of a row that was passed with ids."""
        attached = np.flatnonzero((marks["body"] > 0) & (marks["kind"] != TEXT_RECORD))
        if not len(attached):
            return marks
        records: Any = self.rows_by_id()
        numbers = np.append(records + 1, NO_BODY)
        marks = marks.copy()
        marks["body"][attached] = numbers[np.minimum(marks["body"][attached] - 1, len(records))]
        return marks

    def _repeated(self, fields: Mapping[str, ArrayLike], count: int, marks: int, w_first: bool) -> OpenSlot | None:
        """A slot in which only `fields` are newly written, because the last publish passed the same fields. None if
        other bytes of the slot are outdated."""
        state, columns = self.state, self.columns
        parts = columns._part_count(state.used) if columns.declared else 0
        opened = self._ring.begin(state.used, marks=marks, parts=parts)
        try:
            contents = opened.tag
            if not isinstance(contents, _SlotContents) or contents.version is not state.version:
                opened.abort()
                return None
            self.not_drawable = self._writer.write(fields, count, contents.targets, w_first)
        except BaseException:
            opened.abort()
            raise
        return opened

    def _written_anew(
        self,
        fields: Mapping[str, ArrayLike],
        own: Mapping[str, NDArray[Any]],
        shown: NDArray[np.bool_] | None,
        ids: ArrayLike | None,
        jumped: NDArray[np.int64] | None,
        count: int,
        marks: int,
        version: object,
        w_first: bool,
    ) -> OpenSlot:
        """A slot with a copy of all records, in which `fields` are newly written. version: see `BodyState`."""
        blocks: dict[str, NDArray[Any]] = {}
        self.not_drawable = self._writer.write(fields, count, blocks, w_first)
        if count > len(self.records):
            require_bodies(count, self.columns.declared)
        most = max(count, self.state.used)
        fitting = self._body_limit.allowed(most, time.perf_counter_ns(), marks)
        match, matcher = self._matched(ids, count)
        if jumped is not None or self.cut_keys.size:
            jumped = self._all_cut(jumped, ids, count)
        self.next_slot, self.is_under_way = None, True
        self._fetch_newer()
        used = self._apply_match(match)
        for field in fields:
            blocks_of(field, self.records)[match.rows] = blocks[field]
        self.columns._write(own, match.rows)
        if jumped is not None:
            body_fields.cut(self.records["epoch"], np.arange(used)[match.rows][jumped])
        given = ("velocity" in fields, "angular_velocity" in fields, "color" in fields)
        self._flag(match, shown, given)

        state = BodyState(matcher, used, count, tuple(fields), version, (), given)
        parts = self.columns._part_count(used)
        opened = self._ring.begin(used, fitting if fitting < most + marks else None, marks, parts)
        try:
            opened.tag = None
            opened.records.view(RECORD)[...] = self.records[:used].view(RECORD)
            opened.tag = _SlotContents(version, {field: blocks_of(field, opened.records) for field in fields})
        except BaseException:
            opened.abort()
            raise
        if fitting < most:
            state = state._replace(whole=opened)
        self.next_state, self.next_slot = state, opened
        return opened

    def _matched(self, ids: ArrayLike | None, count: int) -> tuple[Match, RecordsByIndex | RecordsById]:
        """The records of the bodies, and the matcher as it is after this publish."""
        matcher = self.state.matcher or (RecordsByIndex() if ids is None else RecordsById(self.shapes))
        matcher = matcher.copy()
        if isinstance(matcher, RecordsByIndex):
            return matcher.match(count), matcher
        return matcher.match(ids), matcher  # type: ignore[arg-type]  # `_count_of` has checked that there are ids

    def _fetch_newer(self) -> None:
        """Copy fields from the newest snapshot into the records, if the snapshot has newer values."""
        state = self.state
        newest = self._ring.newest() if state.newer_in_snapshot else None
        if newest is not None:
            for field in state.newer_in_snapshot:
                blocks_of(field, self.records)[: state.used] = blocks_of(field, newest.bodies)

    def _all_cut(self, jumped: NDArray[np.int64] | None, ids: ArrayLike | None, count: int) -> NDArray[np.int64] | None:
        """Indices of all bodies that must be cut, including those of publishes that were interrupted."""
        if self.cut_keys.size:
            keys = np.arange(count) if ids is None else np.asarray(ids)
            before = np.flatnonzero(np.isin(keys, self.cut_keys))
            jumped = before if jumped is None else np.union1d(before, jumped)
        if jumped is not None and jumped.size:
            self.cut_keys = jumped if ids is None else np.asarray(ids)[jumped]
        return jumped

    def _apply_match(self, match: Match) -> int:
        """Cut the records of removed bodies and reset the records of new bodies. Returns the number of records used."""
        used = self.state.used
        if match.gone.size:
            body_fields.cut(self.records["epoch"], match.gone)
        if match.spawned.size:
            used = max(used, int(match.spawned.max()) + 1)
            have = len(self.records)
            if used > have:
                larger = _hidden(max(used, have + have // 2))
                larger.view(RECORD)[:have] = self.records.view(RECORD)
                self.records = larger
                self.columns._resize(len(larger), len(larger))
            body_fields.renew(self.records, match.spawned)
            self.columns._begin(match.spawned)
        return used

    def _flag(self, match: Match, shown: NDArray[np.bool_] | None, given: tuple[bool, bool, bool]) -> None:
        """Write the flags for visible bodies, known velocities and given colours. Cut bodies that appear or disappear.
        A colour that was given stays given."""
        stays = not (match.spawned.size or match.gone.size)
        if shown is None and stays and given == self.state.given:
            return
        flags = self.records["flags"]
        was_visible = flags & VISIBLE
        is_visible = was_visible.copy()
        is_visible[match.spawned] = VISIBLE
        bits: Any = (HAS_VELOCITY if given[0] else 0) | (HAS_ANGULAR_VELOCITY if given[1] else 0)
        bits |= HAS_COLOR if given[2] else flags[match.rows] & HAS_COLOR
        seen = is_visible[match.rows] if shown is None else VISIBLE * shown
        flags[:] = 0
        flags[match.rows] = bits | seen
        body_fields.cut(self.records["epoch"], (flags & VISIBLE) != was_visible)


def _hidden(count: int) -> NDArray[np.void]:
    records = new_bodies(count)
    records["flags"] = 0
    return records


def _require_bodies_alone(own: Mapping[str, NDArray[Any]], columns: Columns) -> None:
    for name in own:
        if columns.declared[name].per == PART_ROWS:
            raise InvalidValue(
                f"the part column {name!r} cannot be combined with ids, because its rows are those of bodies by index; "
                "leave ids out, or publish columns of bodies"
            )


def _count_of(passed: Mapping[str, ArrayLike], ids: ArrayLike | None, state: BodyState, shapes: int = 0) -> int:
    if (ids is not None) != isinstance(state.matcher, RecordsById) and state.matcher is not None:
        raise InvalidValue("ids must be given in every publish or in none, because bodies are matched by their ids")
    if ids is not None:
        return body_fields.length("ids", ids)
    for field in ("position", "orientation", "velocity", "angular_velocity"):
        if field in passed:
            return body_fields.length(field, passed[field], shapes == 1 and state.bodies <= 1)
    return state.bodies


def require_known_fields(fields: Iterable[str]) -> None:
    """Raises UnknownArgument for a field whose name is not a parameter of `View.publish`."""
    for name in fields:
        if name not in BLOCKS:
            known = [*BLOCKS, "quat", "visible", "ids", "cut", "columns", "marks", "surfaces", "sim_time"]
            raise unknown_argument("View.publish", name, known)
