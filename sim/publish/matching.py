"""Assigns bodies to records in each publish, by their index or by the user's ids.

A body has the same record for as long as it exists. Matching ten thousand ids takes a few array operations. If the ids
are unchanged, it takes one comparison.

Always: two bodies never have the same record. A record that passes to another body is reported as spawned. `match`
makes new arrays and never modifies the old arrays. So a `copy` that was made before a `match` still has the state
before it. `shown_bodies` applies the result to epochs, shapes and fields.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidType, InvalidValue

Rows = NDArray[np.int64]
NONE: Rows = np.zeros(0, np.int64)


class Match(NamedTuple):
    """The records of the bodies of one publish.

    rows: the record of each body of the publish, in the given order; a slice if bodies and records are in the same
    order. spawned: records of new bodies. gone: records whose body of the last publish is missing now. A record that
    passes from one body to another is both in `spawned` and in `gone`.
    """

    rows: Rows | slice
    spawned: Rows
    gone: Rows


class _Copyable:
    def copy(self) -> Self:
        """A copy of the matcher. The copy shares its arrays with the original."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other


class RecordsByIndex(_Copyable):
    """Bodies without ids: the i-th body has the i-th record."""

    def __init__(self) -> None:
        self._count = 0
        self._same = Match(slice(0, 0), NONE, NONE)

    @property
    def rows(self) -> Rows | slice:
        """The record of each body, as in the last `match`."""
        return self._same.rows

    def match(self, count: int) -> Match:
        """Matches `count` bodies. If there are fewer bodies than in the last publish, those with the last records are
        gone."""
        before, self._count = self._count, count
        if count == before:
            return self._same
        self._same = Match(slice(0, count), NONE, NONE)
        return self._same._replace(spawned=np.arange(before, count), gone=np.arange(count, before))


class RecordsById(_Copyable):
    """Bodies that are identified by ids. An id is a whole number or a text. Bodies may come in any order and number.

    If the id of a new body is a whole number below `preferred`, and the record of this number is free, the body gets
    this record. Any other new body gets the lowest free record. Free records are reused.
    """

    def __init__(self, preferred: int) -> None:
        self._preferred = preferred
        self._ids: NDArray[Any] | None = None
        self._match = Match(NONE, NONE, NONE)
        self._sorted_ids: NDArray[Any] = np.zeros(0, np.int64)
        self._sorted_rows = NONE
        self._is_taken = np.zeros(0, bool)

    @property
    def rows(self) -> Rows | slice:
        """The record of each body, as in the last `match`."""
        return self._match.rows

    def match(self, ids: ArrayLike) -> Match:
        """Matches the bodies with these ids, shape (n,). Raises TwixtError for equal ids, and for ids of another
        type."""
        ids = self._checked(ids)
        if self._ids is not None and np.array_equal(ids, self._ids):
            return self._match
        order = np.argsort(ids, kind="stable")
        in_order = ids[order]
        twice = np.flatnonzero(in_order[1:] == in_order[:-1])
        if twice.size:
            twin = in_order[twice[0]].item()
            raise InvalidValue(f"ids must differ from each other, got {twin!r} twice; give each body its own id")

        place = np.searchsorted(self._sorted_ids, in_order)
        is_known = np.zeros(len(ids), bool)
        within = place < len(self._sorted_ids)
        is_known[within] = self._sorted_ids[place[within]] == in_order[within]
        stays = np.zeros(len(self._sorted_ids), bool)
        stays[place[is_known]] = True
        gone = self._sorted_rows[~stays]
        self._is_taken = self._is_taken.copy()
        self._is_taken[gone] = False

        sorted_rows = np.empty(len(ids), np.int64)
        sorted_rows[is_known] = self._sorted_rows[place[is_known]]
        # New bodies get records in the order of the given ids, not in the order of the sorted ids.
        new = np.sort(order[~is_known])
        rows = np.empty(len(ids), np.int64)
        rows[order] = sorted_rows
        rows[new] = self._allocate_records(ids[new])

        self._ids, self._sorted_ids, self._sorted_rows = ids.copy(), in_order, rows[order]
        in_records_order = np.array_equal(rows, np.arange(len(rows)))
        self._match = Match(slice(0, len(rows)) if in_records_order else rows, NONE, NONE)
        return self._match._replace(spawned=rows[new], gone=gone)

    def id_of(self, record: int) -> object:
        """The id, as text, of the body that had this record in the last `match`. If no body had this record, returns
        the record's number."""
        place = np.flatnonzero(self._sorted_rows == record)
        return repr(self._sorted_ids[place[0]].item()) if place.size else record

    def _allocate_records(self, ids: NDArray[Any]) -> Rows:
        if len(ids) == 0:
            return NONE
        size = max(len(self._is_taken), self._preferred if ids.dtype.kind != "U" else 0)
        size = max(size, int(np.count_nonzero(self._is_taken)) + len(ids))
        self._is_taken = np.concatenate((self._is_taken, np.zeros(size - len(self._is_taken), bool)))
        rows = np.full(len(ids), -1, np.int64)
        if ids.dtype.kind != "U":
            own = np.flatnonzero((ids >= 0) & (ids < min(self._preferred, size)))
            own = own[~self._is_taken[ids[own]]]
            rows[own] = ids[own]
            self._is_taken[rows[own]] = True
        open_rows = np.flatnonzero(rows < 0)
        rows[open_rows] = np.flatnonzero(~self._is_taken)[: len(open_rows)]
        self._is_taken[rows[open_rows]] = True
        return rows

    def _checked(self, ids: ArrayLike) -> NDArray[Any]:
        array = np.asarray(ids)
        if array.ndim != 1 or array.dtype.kind not in "iuU":
            if array.size == 0 and array.ndim == 1:
                return np.zeros(0, self._sorted_ids.dtype)
            raise (InvalidValue if array.dtype.kind in "iuU" else InvalidType)(
                f"ids must be one whole number or text per body, shape (n,), got {array.dtype} of shape {array.shape}"
            )
        is_text = array.dtype.kind == "U"
        before = self._sorted_ids.dtype
        if len(self._sorted_ids) and is_text != (before.kind == "U"):
            raise InvalidValue(
                f"ids must be whole numbers in every publish, or texts in every publish, got {array.dtype} after {before}"
            )
        return array if is_text else array.astype(np.int64, copy=False)
