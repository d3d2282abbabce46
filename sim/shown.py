"""The bodies of a view, kept from publish to publish: what is passed is checked and written, the rest stays.

One idea: a loop passes the same fields of the same bodies again and again. A slot that holds the rest of the records
as it is now needs those fields alone: they are checked and written into it piece by piece, while the piece is in
the cache, and not kept a second time. In any other case fields go into records kept here, and these whole into the slot.

Always: what is refused is refused before anything is changed. A body keeps its record, and its epoch, while it is
there; what appears, disappears or is marked is cut. A publish that did not come to its end (Ctrl-C in a notebook) is
as if it had never been, but for what it marked as cut: the newest snapshot holds all records and columns as they were
before. Publishes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.host import Host
from twixt.ipc.ring import OpenSlot
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, RECORD, VISIBLE
from twixt.sim import rows
from twixt.sim.columns import Columns, require_bodies
from twixt.sim.matching import Match, RecordsById, RecordsByIndex
from twixt.sim.pieces import Pieces, write_all
from twixt.sim.records import FIELDS, Records, blocks_of
from twixt.sim.room_to_show import room_of_a_loop

NO_KEYS: NDArray[Any] = np.zeros(0, np.int64)


class _Ready(NamedTuple):
    """A slot that holds `rest`, whatever is in its `targets`: the fields that are passed again and again, as blocks."""

    rest: object
    targets: dict[str, NDArray[Any]]


class _State(NamedTuple):
    """What is known of the bodies of one snapshot beside their records. Replaced whole, never changed."""

    matcher: RecordsByIndex | RecordsById | None = None
    used: int = 0  # records that some body has or had
    bodies: int = 0  # there now
    fields: tuple[str, ...] = ()  # passed last time
    rest: object = None  # changes when bytes outside `fields` change
    kept_by_host: tuple[str, ...] = ()  # fields that are newer in the newest snapshot than in the records
    given: tuple[bool, bool] = (False, False)
    whole: OpenSlot | None = None  # all records and columns, where viewers are shown only the first


class ShownBodies:
    """Room for `capacity` > 0 bodies to begin with, to be published by `host`; `shapes`: how many the scene has."""

    def __init__(self, host: Host, shapes: int, capacity: int, columns: Columns) -> None:
        self._host, self._shapes, self._columns = host, shapes, columns
        self._records, self._room = Records(capacity), room_of_a_loop(host)
        self._state = _State(rest=object())
        # While a publish is under way, and after one that was interrupted: what holds once its slot is complete.
        self._is_under_way = False
        self._next_slot: OpenSlot | None = None
        self._next_state = self._state
        self._cut_keys = NO_KEYS  # ids, or places, of bodies that jumped in a publish that is not known to be visible
        self.unwell: tuple[str, ...] = ()  # fields of the last write that were not, see `rows.Checked`
        self._pieces = {field: Pieces(field) for field in FIELDS}

    def name_of(self, record: int) -> object:
        """The id of the body that has this record in what was written last; without ids the record's own number."""
        matcher = self._next_state.matcher
        return matcher.id_of(record) if isinstance(matcher, RecordsById) else record

    def write(
        self,
        fields: Mapping[str, ArrayLike],
        columns: Mapping[str, ArrayLike],
        visible: ArrayLike | None,
        ids: ArrayLike | None,
        cut: ArrayLike | None,
    ) -> OpenSlot:
        """The bodies as they are now (see `View.publish`) and their columns, in a slot whose block is to be run. Then
        call `was_published`. Raises TwixtError."""
        if self._is_under_way:
            self._settle()
        state = self._state
        count = self._count_of(fields, ids)
        own = rows.checked_columns(columns, self._columns.declared, count) if columns else {}
        shown = None if visible is None else rows.checked_mask("visible", visible, count)
        jumped = None if cut is None else rows.checked_places("cut", cut, count)
        is_repeated = (
            tuple(fields) == state.fields
            and count == state.bodies
            and ids is None
            and visible is None
            and state.whole is None
            and not ((jumped is not None and jumped.size) or self._cut_keys.size)
        )
        opened = self._repeated(fields, count) if is_repeated else None
        if opened is not None:
            if state.kept_by_host is not state.fields:
                state = state._replace(kept_by_host=state.fields)
            self._next_state, self._next_slot, self._is_under_way = state, opened, True
            self._write_columns(slice(0, count), own)
        else:
            lengths = self._pieces["orientation"].lengths
            with np.errstate(all="ignore"):
                checked = {field: rows.checked(field, value, count, lengths) for field, value in fields.items()}
            if count > len(self._records):
                require_bodies(count, self._columns.declared)
            most = max(count, state.used)
            fitting = self._room.of(most, time.perf_counter_ns())
            matcher = state.matcher or (RecordsByIndex() if ids is None else RecordsById(self._shapes))
            matcher = matcher.copy()
            match = matcher.match(count) if isinstance(matcher, RecordsByIndex) else matcher.match(ids)  # type: ignore[arg-type]
            if jumped is not None or self._cut_keys.size:
                jumped = self._all_cut(jumped, ids, count)
            self._next_slot, self._is_under_way = None, True
            self._fetch_kept()
            used = self._come_and_go(match)
            for field, (values, _) in checked.items():
                self._records.write(field, match.rows, values)
            self.unwell = tuple(field for field, (_, is_well) in checked.items() if not is_well)
            self._write_columns(match.rows, own)
            if jumped is not None:
                self._records.cut(np.arange(used)[match.rows][jumped])
            given = ("velocity" in fields, "angular_velocity" in fields)
            self._flag(match, shown, given)
            rest = state.rest if is_repeated else object()
            state = _State(matcher, used, count, tuple(fields), rest, (), given)
            opened = self._copied(state, fitting if fitting < most else None)
            if fitting < most:
                state = state._replace(whole=opened)
            self._next_state, self._next_slot, self._is_under_way = state, opened, True
        if self._columns:
            opened.columns = {name: column[: state.used] for name, column in self._columns.items()}
        return opened

    def was_published(self) -> None:
        """What was written last is visible, or will be."""
        self._state = self._next_state
        if self._cut_keys.size:
            self._cut_keys = NO_KEYS
        self._next_slot, self._is_under_way = None, False

    def _settle(self) -> None:
        """A publish before was interrupted: its snapshot is the newest one, or never was."""
        if self._next_slot is not None and self._host.has_taken(self._next_slot):
            return self.was_published()
        newest, state = self._host.newest(), self._state
        if newest is not None and (whole := state.whole) is not None:
            newest = newest._replace(bodies=whole.records, columns=dict(whole.columns))
        self._columns.make_room(len(self._records))
        self._columns.resize(len(self._records))
        self._records = Records(len(self._records))
        if newest is not None:
            self._records.bodies.view(RECORD)[: state.used] = newest.bodies.view(RECORD)[: state.used]
            for name, column in self._columns.items():
                column[: state.used] = newest.columns[name][: state.used].reshape(column[: state.used].shape)
        self._state = state._replace(kept_by_host=())
        self._next_slot, self._is_under_way = None, False

    def _repeated(self, fields: Mapping[str, ArrayLike], count: int) -> OpenSlot | None:
        """A slot with these fields, the ones of last time, anew; None where the slot holds other bodies."""
        pieces: list[Pieces] = []
        opened = self._host.begin(self._state.used)
        try:
            ready = opened.mark
            if not isinstance(ready, _Ready) or ready.rest is not self._state.rest:
                opened.drop()
                return None
            for field, value in fields.items():
                pieces.append(piece := self._pieces[field])
                piece.begin(value, count, ready.targets[field])
            with np.errstate(all="ignore"):  # whatever the loop has set: what is too large is refused in words
                write_all(pieces, count)
            self.unwell = ()
            for piece in pieces:
                if not piece.is_well:
                    self.unwell += (piece.field,)
        except BaseException:
            opened.drop()
            raise
        finally:
            for piece in pieces:
                piece.end()
        return opened

    def _copied(self, state: _State, shown: int | None) -> OpenSlot:
        opened = self._host.begin(state.used, shown)
        try:
            opened.mark = None
            records = opened.records
            records.view(RECORD)[...] = self._records.bodies[: state.used].view(RECORD)
            opened.mark = _Ready(state.rest, {field: blocks_of(field, records) for field in state.fields})
        except BaseException:
            opened.drop()
            raise
        return opened

    def _fetch_kept(self) -> None:
        """What the newest snapshot alone has is in the records again."""
        state = self._state
        newest = self._host.newest() if state.kept_by_host else None
        if newest is not None:
            for field in state.kept_by_host:
                blocks_of(field, self._records.bodies)[: state.used] = blocks_of(field, newest.bodies)

    def _write_columns(self, places: Any, own: Mapping[str, NDArray[Any]]) -> None:
        for name, values in own.items():
            self._columns[name][places] = values

    def _count_of(self, passed: Mapping[str, ArrayLike], ids: ArrayLike | None) -> int:
        if (ids is not None) != isinstance(self._state.matcher, RecordsById) and self._state.matcher is not None:
            raise TwixtError("ids must be given in every publish or in none; bodies cannot be matched otherwise")
        if ids is not None:
            return rows.length("ids", ids)
        for field in ("position", "orientation", "velocity", "angular_velocity"):
            if field in passed:
                return rows.length(field, passed[field])
        return self._state.bodies

    def _all_cut(self, jumped: NDArray[np.int64] | None, ids: ArrayLike | None, count: int) -> NDArray[np.int64] | None:
        """The places of all bodies to be cut, those of publishes that came to no end included."""
        if self._cut_keys.size:
            keys = np.arange(count) if ids is None else np.asarray(ids)
            before = np.flatnonzero(np.isin(keys, self._cut_keys))
            jumped = before if jumped is None else np.union1d(before, jumped)
        if jumped is not None and jumped.size:
            self._cut_keys = jumped if ids is None else np.asarray(ids)[jumped]
        return jumped

    def _come_and_go(self, match: Match) -> int:
        """Returns how many records some body has or had."""
        used = self._state.used
        if match.gone.size:
            self._records.cut(match.gone)
        if match.spawned.size:
            used = max(used, int(match.spawned.max()) + 1)
            have = len(self._records)
            if used > have:
                self._records = self._records.grown(max(used, have + have // 2))
                self._columns.make_room(len(self._records))
                self._columns.resize(len(self._records))
            self._records.begin(match.spawned)
            self._columns.begin(match.spawned)
        return used

    def _flag(self, match: Match, shown: NDArray[np.bool_] | None, given: tuple[bool, bool]) -> None:
        """Which bodies are there to be seen, and whether velocities are known; what appears or disappears is cut."""
        stays = not (match.spawned.size or match.gone.size)
        if shown is None and stays and given == self._state.given:
            return
        flags = self._records.bodies["flags"]
        was_visible = flags & VISIBLE
        is_visible = was_visible.copy()
        is_visible[match.spawned] = VISIBLE
        bits = (HAS_VELOCITY if given[0] else 0) | (HAS_ANGULAR_VELOCITY if given[1] else 0)
        seen = is_visible[match.rows] if shown is None else VISIBLE * shown
        flags[:] = 0
        flags[match.rows] = bits | seen
        self._records.cut((flags & VISIBLE) != was_visible)
