"""Marks of the user's own geoms; only geoms that have changed since the last call are converted.

25,000 geoms take 6 MB; comparing them takes a tenth of the time of converting them.

Always: after a signal handler has raised at any point, the next call converts the geoms concerned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.sim.engines.mujoco.visual.geom_marks import are_one_each, is_drawn, mark_records
from twixt.sim.engines.mujoco.visual.label_texts import LabelTexts
from twixt.sim.engines.mujoco.visual.user_geoms import not_drawn, user_keys
from twixt.sim.world.marks import Marks

# Geoms that are compared or converted at once. Numpy reuses memory for arrays of this size, and they fit into the
# processor's caches: 10,000 geoms take a third of the time.
PIECE = 1_000


class UserMarks:
    """The first marks in `marks`: those of the user's geoms. texts: of labels. of_user, of_named: bits of keys of geoms
    without and with a label. not_drawn: texts about geoms that are not drawn."""

    def __init__(self, marks: Marks, texts: LabelTexts, of_user: int, of_named: int) -> None:
        self.not_drawn: list[str] = []
        self._marks, self._texts = marks, texts
        self._of_user, self._named_bit = np.uint64(of_user), of_user ^ of_named
        self._seen: NDArray[np.uint32] = np.zeros((0, 1), np.uint32)
        self._geoms = self._rows = 0  # number of geoms that were seen, and of their marks
        self._is_one_each = True  # geom i has the mark i

    def show(self, geoms: NDArray[np.void] | None) -> None:
        """Writes the marks of `geoms`, records as of `geom_records`, and removes all others. None: the geoms of the
        last call."""
        marks = self._marks
        if geoms is None:
            marks.keep(self._rows)
            return
        words = geoms.view(np.uint32).reshape(len(geoms), geoms.itemsize // 4)
        changed = self._changed(words)
        if not len(changed) and len(geoms) == self._geoms and not marks.fault:
            marks.keep(self._rows)
        elif self._is_one_each and not marks.fault and are_one_each(_rows(geoms, changed)["type"]):
            self._replace(geoms, words, changed)
        else:
            self._show_all(geoms, words)

    def clear(self) -> None:
        """Removes all marks: there are no geoms."""
        self._rows = self._geoms = 0
        self._is_one_each, self.not_drawn = True, []
        self._marks.clear()

    def _changed(self, words: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Places of geoms that differ from what was seen, those that are new at the end."""
        known = min(self._geoms, len(words))
        found = []
        for piece in _pieces(known):
            differs = words[piece] != self._seen[piece]
            if differs.any():
                found.append(piece.start + np.flatnonzero(differs.any(axis=1)))
        return np.concatenate([*found, np.arange(known, len(words))]).astype(np.intp)

    def _replace(self, geoms: NDArray[np.void], words: NDArray[np.uint32], changed: NDArray[np.intp]) -> None:
        marks, count = self._marks, len(geoms)
        self._rows = self._geoms = min(self._geoms, count)
        marks.keep(self._rows)
        if count > len(self._seen):
            self._make_room(words)
        for piece in _pieces(len(changed)):
            rows = changed[piece]
            records = self._made(_rows(geoms, rows), rows)
            old = int(np.searchsorted(rows, len(marks)))
            marks.replace(rows[:old], records[:old])
            marks.extend(records[old:])
            kept = slice(rows[0], rows[0] + len(rows)) if _are_consecutive(rows) else rows
            self._seen[kept] = words[kept]  # after the marks: otherwise an interruption in between would leave old ones
        self._rows = self._geoms = count
        self.not_drawn = []

    def _show_all(self, geoms: NDArray[np.void], words: NDArray[np.uint32]) -> None:
        self.clear()
        self._is_one_each = are_one_each(geoms["type"])
        if len(geoms) > len(self._seen):
            self._make_room(words)
        shown = np.flatnonzero(is_drawn(geoms["type"]))
        for piece in _pieces(len(shown)):
            self._marks.extend(self._made(_rows(geoms, shown[piece]), shown[piece]))
        self._seen[: len(geoms)] = words
        self.not_drawn = not_drawn(geoms)
        self._rows, self._geoms = len(self._marks), len(geoms)

    def _made(self, geoms: NDArray[np.void], places: NDArray[np.intp]) -> NDArray[np.void]:
        keys = self._of_user + user_keys(geoms, places, self._named_bit)
        labels = geoms["label"]
        return mark_records(geoms, keys, self._texts.numbers(labels) if labels[:, 0].any() else None)

    def _make_room(self, words: NDArray[np.uint32]) -> None:
        room = np.zeros((max(len(words), 2 * len(self._seen)), words.shape[1]), np.uint32)
        room[: self._geoms] = self._seen[: self._geoms]
        self._seen = room


def _pieces(count: int) -> Iterator[slice]:
    return (slice(begin, min(begin + PIECE, count)) for begin in range(0, count, PIECE))


def _are_consecutive(places: NDArray[np.intp]) -> bool:
    return bool(len(places) and places[-1] - places[0] == len(places) - 1)


def _rows(geoms: NDArray[np.void], places: NDArray[np.intp]) -> NDArray[Any]:
    """These geoms, without a copy if they are consecutive. places: in ascending order."""
    if _are_consecutive(places):
        return geoms[places[0] : places[0] + len(places)]
    return geoms.view(f"V{geoms.itemsize}")[places].view(geoms.dtype)  # type: ignore[no-any-return]
