"""The bodies of a view, kept from publish to publish: what is passed is checked and written, the rest stays.

Always: what is refused is refused before anything is changed. A body keeps its record, and its epoch, while it is
there; what appears, disappears or is marked is cut. Publishes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim import rows
from twixt.sim.columns import Columns
from twixt.sim.matching import Match, RecordsById, RecordsByIndex
from twixt.sim.records import Records


class ShownBodies:
    """Room for `capacity` > 0 bodies to begin with; `shapes`: how many the scene has."""

    def __init__(self, shapes: int, capacity: int, columns: Columns) -> None:
        self._shapes, self._columns = shapes, columns
        self._matcher: RecordsByIndex | RecordsById | None = None
        self._records = Records(capacity)
        self._used = 0  # records that some body has or had
        self._count = 0  # bodies there now
        self._given = (False, False)
        self._some_hidden = False

    @property
    def records(self) -> NDArray[np.void]:
        """Of all that are or were there, dtype `BODY`."""
        return self._records.bodies[: self._used]

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """name -> a row for each of `records`."""
        return {name: column[: self._used] for name, column in self._columns.items()}

    def take(
        self,
        fields: Mapping[str, ArrayLike],
        columns: Mapping[str, ArrayLike],
        visible: ArrayLike | None,
        ids: ArrayLike | None,
        cut: ArrayLike | None,
    ) -> None:
        """The bodies as they are now; see `View.publish`. Raises TwixtError."""
        count = self._count_of(fields, ids)
        with np.errstate(all="ignore"):  # whatever the loop has set: what is too large is refused in words
            checked = {field: rows.checked(field, value, count) for field, value in fields.items()}
            own = rows.checked_columns(columns, self._columns.declared, count)
        shown = None if visible is None else rows.checked_mask("visible", visible, count)
        jumped = None if cut is None else rows.checked_places("cut", cut, count)

        match = self._matched(count, ids)
        self._come_and_go(match)
        for field, values in checked.items():
            self._records.write(field, match.rows, values)
        for name, values in own.items():
            self._columns[name][match.rows] = values
        if jumped is not None:
            self._records.cut(np.arange(self._used)[match.rows][jumped])
        self._flag(match, shown, ("velocity" in fields, "angular_velocity" in fields))

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
        stays = not (match.spawned.size or match.gone.size or self._some_hidden)
        if shown is None and stays and given == self._given:
            return
        self._given, self._some_hidden = given, shown is not None
        flags = self._records.bodies["flags"]
        was_visible = flags & VISIBLE
        flags[:] = 0
        bits = (HAS_VELOCITY if given[0] else 0) | (HAS_ANGULAR_VELOCITY if given[1] else 0)
        flags[match.rows] = bits | VISIBLE if shown is None else bits + VISIBLE * shown
        self._records.cut((flags & VISIBLE) != was_visible)
