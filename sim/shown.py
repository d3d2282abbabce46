"""The bodies of a view, kept from publish to publish: what is passed is checked and written, the rest stays.

One idea: a loop passes the same fields of the same bodies again and again. A slot that holds the rest of the records
as it is now needs those fields alone: they are checked and written into it piece by piece, while the piece is in
the cache, and not kept a second time. In any other case fields go into records kept here, and these whole into the slot.

Always: what is refused is refused before anything is changed. A body keeps its record, and its epoch, while it is
there; what appears, disappears or is marked is cut. Publishes nothing.
"""

from __future__ import annotations

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


class _Ready(NamedTuple):
    """A slot that holds `rest`, whatever is in its `targets`: the fields that are passed again and again, as blocks."""

    rest: object
    targets: dict[str, NDArray[Any]]


class ShownBodies:
    """Room for `capacity` > 0 bodies to begin with, to be published by `host`; `shapes`: how many the scene has."""

    def __init__(self, host: Host, shapes: int, capacity: int, columns: Columns) -> None:
        self._host, self._shapes, self._columns = host, shapes, columns
        self._matcher: RecordsByIndex | RecordsById | None = None
        self._records = Records(capacity)
        self._used = 0  # records that some body has or had
        self._count = 0  # bodies there now
        self._fields: tuple[str, ...] = ()  # passed last time
        self.unwell: tuple[str, ...] = ()  # fields of the last write that were not, see `rows.Checked`
        self._rest = object()  # stands for all of the records but `_fields`, as they are
        self._kept_by_host: tuple[str, ...] = ()  # fields that are newer in the newest snapshot than in `_records`
        self._given = (False, False)
        self._pieces = {field: Pieces(field) for field in FIELDS}

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """name -> a row for each record."""
        if not self._columns:
            return {}
        return {name: column[: self._used] for name, column in self._columns.items()}

    def name_of(self, record: int) -> object:
        """The id of the body that has this record; without ids the record's own number."""
        return self._matcher.id_of(record) if isinstance(self._matcher, RecordsById) else record

    def write(
        self,
        fields: Mapping[str, ArrayLike],
        columns: Mapping[str, ArrayLike],
        visible: ArrayLike | None,
        ids: ArrayLike | None,
        cut: ArrayLike | None,
    ) -> OpenSlot:
        """The bodies as they are now (see `View.publish`) in a slot that is to be completed. Raises TwixtError."""
        count = self._count_of(fields, ids)
        own = rows.checked_columns(columns, self._columns.declared, count) if columns else {}
        shown = None if visible is None else rows.checked_mask("visible", visible, count)
        jumped = None if cut is None else rows.checked_places("cut", cut, count)
        is_repeated = (
            tuple(fields) == self._fields
            and count == self._count
            and ids is None
            and visible is None
            and (jumped is None or not jumped.size)
        )
        opened = self._repeated(fields, count) if is_repeated else None
        if opened is not None:
            self._write_columns(slice(0, count), own)
            return opened
        with np.errstate(all="ignore"):
            checked = {field: rows.checked(field, value, count) for field, value in fields.items()}
        if count > len(self._records):
            require_bodies(count, self._columns.declared)
            self._host.reserve(count)
        self._fetch_kept()
        match = self._matched(count, ids)
        self._come_and_go(match)
        for field, (values, _) in checked.items():
            self._records.write(field, match.rows, values)
        self.unwell = tuple(field for field, (_, is_well) in checked.items() if not is_well)
        self._write_columns(match.rows, own)
        if jumped is not None:
            self._records.cut(np.arange(self._used)[match.rows][jumped])
        self._flag(match, shown, ("velocity" in fields, "angular_velocity" in fields))
        if not is_repeated:
            self._fields, self._rest = tuple(fields), object()
        return self._copied()

    def _repeated(self, fields: Mapping[str, ArrayLike], count: int) -> OpenSlot | None:
        """A slot with these fields, the ones of last time, anew; None where the slot holds other bodies."""
        pieces: list[Pieces] = []
        opened = self._host.open_slot(self._used)
        try:
            ready = opened.mark
            if not isinstance(ready, _Ready) or ready.rest is not self._rest:
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
        self._kept_by_host = self._fields
        return opened

    def _copied(self) -> OpenSlot:
        opened = self._host.open_slot(self._used)
        try:
            records = opened.records
            records.view(RECORD)[...] = self._records.bodies[: self._used].view(RECORD)
            opened.mark = _Ready(self._rest, {field: blocks_of(field, records) for field in self._fields})
        except BaseException:
            opened.drop()
            raise
        return opened

    def _fetch_kept(self) -> None:
        """What the newest snapshot alone has is in the records again."""
        newest = self._host.newest() if self._kept_by_host else None
        if newest is not None:
            for field in self._kept_by_host:
                blocks_of(field, self._records.bodies)[: self._used] = blocks_of(field, newest.bodies)
        self._kept_by_host = ()

    def _write_columns(self, places: Any, own: Mapping[str, NDArray[Any]]) -> None:
        for name, values in own.items():
            self._columns[name][places] = values

    def _count_of(self, passed: Mapping[str, ArrayLike], ids: ArrayLike | None) -> int:
        if (ids is not None) != isinstance(self._matcher, RecordsById) and self._matcher is not None:
            raise TwixtError("ids must be given in every publish or in none; bodies cannot be matched otherwise")
        if ids is not None:
            return rows.length("ids", ids)
        for field in ("position", "orientation", "velocity", "angular_velocity"):
            if field in passed:
                return rows.length(field, passed[field])
        return self._count

    def _matched(self, count: int, ids: ArrayLike | None) -> Match:
        matcher = self._matcher or (RecordsByIndex() if ids is None else RecordsById(self._shapes))
        match = matcher.match(count) if isinstance(matcher, RecordsByIndex) else matcher.match(ids)  # type: ignore[arg-type]
        self._matcher, self._count = matcher, count
        return match

    def _come_and_go(self, match: Match) -> None:
        if match.gone.size:
            self._records.cut(match.gone)
        if match.spawned.size:
            self._used = max(self._used, int(match.spawned.max()) + 1)
            have = len(self._records)
            if self._used > have:
                self._records = self._records.grown(max(self._used, have + have // 2))
                self._columns.make_room(len(self._records))
                self._columns.resize(len(self._records))
            self._records.begin(match.spawned)
            self._columns.begin(match.spawned)

    def _flag(self, match: Match, shown: NDArray[np.bool_] | None, given: tuple[bool, bool]) -> None:
        """Which bodies are there to be seen, and whether velocities are known; what appears or disappears is cut."""
        stays = not (match.spawned.size or match.gone.size)
        if shown is None and stays and given == self._given:
            return
        self._given = given
        flags = self._records.bodies["flags"]
        was_visible = flags & VISIBLE
        is_visible = was_visible.copy()
        is_visible[match.spawned] = VISIBLE
        bits = (HAS_VELOCITY if given[0] else 0) | (HAS_ANGULAR_VELOCITY if given[1] else 0)
        seen = is_visible[match.rows] if shown is None else VISIBLE * shown
        flags[:] = 0
        flags[match.rows] = bits | seen
        self._records.cut((flags & VISIBLE) != was_visible)
