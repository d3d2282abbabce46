"""`user_scn` is MuJoCo's scene for user-defined geoms. These geoms become marks at the next `sync`.

The user's code sets `ngeom` to 0, and then fills geom after geom with `mjv_initGeom` and `mjv_connector`. A geom with
a label is identified by its label, any other geom by its index.

Always: the scene is made when it is first used, because making its 100,000 geoms takes 26 MB and half a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.geom_marks import NO_KIND, are_one_each, is_drawn, kinds_of, mark_records
from twixt.sim.engines.mujoco.visual.geom_memory import LabelTexts, geom_records
from twixt.sim.world.marks import Marks

if TYPE_CHECKING:
    from mujoco import MjModel, MjvScene


# Capacity of the scene, as in MuJoCo's own viewer.
MOST_USER_GEOMS = 100_000
# Odd factors for the words of a label. Each word is multiplied by its factor. The upper bits of the sum of the
# products are the label's key.
_WEIGHTS = np.random.default_rng(4).integers(1 << 62, 1 << 63, 25).astype(np.uint64) | np.uint64(1)
LABEL_KEY_BITS = 48


class UserGeoms:
    """The user's scene for one model, with its geoms and rendering flags."""

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._scene: MjvScene | None = None
        self._records: NDArray[np.void] | None = None
        # Flags of `mjtRndFlag`. When the scene is made, its own array replaces this array.
        self.flags: NDArray[np.uint8] = mujoco.MjvScene(model, 1).flags.copy()

    @property
    def scene(self) -> MjvScene:
        """Returns MuJoCo's struct `mjvScene`. The struct is made at the first call. The user's code may change it."""
        if self._scene is None:
            self._scene = mujoco.MjvScene(self._model, MOST_USER_GEOMS)
            self._scene.flags[:] = self.flags
            self.flags = self._scene.flags
            self._records = geom_records(self._scene)
        return self._scene

    @property
    def is_made(self) -> bool:
        """True after the first use of `scene`."""
        return self._scene is not None

    @property
    def count(self) -> int:
        """Number of geoms; 0 before the first use of `scene`."""
        scene = self._scene
        return 0 if scene is None else min(max(scene.ngeom, 0), MOST_USER_GEOMS)

    def records(self) -> NDArray[np.void]:
        """Returns the geoms as in `geom_records`, shape (count,). The result is a view of the user's memory."""
        assert self._records is not None
        return self._records[: self.count]


def user_keys(geoms: NDArray[np.void], places: NDArray[np.intp], named_bit: int) -> NDArray[np.uint64]:
    """Returns the keys of the user's geoms, an array of shape (n,). For a geom with a label, the key has the bit
    `named_bit` and 48 bits that are computed from the label. For a geom without a label, the key is the geom's
    index from `places`."""
    keys = places.astype(np.uint64)
    named = np.flatnonzero(geoms["label"][:, 0])
    if len(named):
        letters = geoms["label"][named]
        letters = letters * np.logical_and.accumulate(letters != 0, axis=1)
        words = np.ascontiguousarray(letters).view("<u4").astype(np.uint64)
        sums = (words * _WEIGHTS).sum(axis=1)
        keys[named] = np.uint64(named_bit) | (sums >> np.uint64(64 - LABEL_KEY_BITS))
    return keys


def not_drawn(geoms: NDArray[np.void]) -> list[str]:
    """Returns texts about geoms that are not drawn. Each kind of geom has one text, with the number of such geoms."""
    types = geoms["type"]
    types = types[kinds_of(types) == NO_KIND]
    texts = []
    if len(types):
        for name, kind in mujoco.mjtGeom.__members__.items():
            if count := int(np.count_nonzero(types == int(kind))):
                texts.append(f"{name} in user_scn, {count} of {len(geoms)} geoms")
    return texts


# The code below makes the marks of user-defined geoms. Only geoms that have changed since the last call are converted.
#
# 25,000 geoms have 6 MB. A comparison of geoms takes a tenth of the time of their conversion.
#
# Always: if a signal handler raises an exception at any point, the next call converts the remaining geoms.


# Number of geoms that are compared or converted in one call. Arrays of this size fit into the processor's caches, and
# numpy reuses their memory. So 10,000 geoms take a third of the time that one call for all of them would take.
PIECE = 1_000


class UserMarks:
    """Writes the marks of the user's geoms, which are the first marks in `marks`. texts: texts of labels. of_user: bit
    in the key of a geom without a label. of_named: bit in the key of a geom with a label. not_drawn: texts about
    geoms that are not drawn."""

    def __init__(self, marks: Marks, texts: LabelTexts, of_user: int, of_named: int) -> None:
        self.not_drawn: list[str] = []
        self._marks, self._texts = marks, texts
        self._of_user, self._named_bit = np.uint64(of_user), of_user ^ of_named
        self._seen: NDArray[np.uint32] = np.zeros((0, 1), np.uint32)
        self._geoms = self._rows = 0  # number of geoms at the last call, and number of their marks
        self._is_one_each = True  # True if each geom and its mark have the same index

    def show(self, geoms: NDArray[np.void] | None) -> None:
        """Writes the marks of `geoms`, and removes all other marks. geoms: records in the form of `geom_records`. If
        `geoms` is None, the geoms of the last call are used."""
        marks = self._marks
        if geoms is None:
            marks._keep(self._rows)
            return
        words = geoms.view(np.uint32).reshape(len(geoms), geoms.itemsize // 4)
        changed = self._changed(words)
        if not len(changed) and len(geoms) == self._geoms and not marks.fault:
            marks._keep(self._rows)
        elif self._is_one_each and not marks.fault and are_one_each(_rows(geoms, changed)["type"]):
            self._replace(geoms, words, changed)
        else:
            self._show_all(geoms, words)

    def clear(self) -> None:
        """Removes all marks. Call this method if there are no geoms."""
        self._rows = self._geoms = 0
        self._is_one_each, self.not_drawn = True, []
        self._marks.clear()

    def _changed(self, words: NDArray[np.uint32]) -> NDArray[np.intp]:
        """Returns the indices of the geoms that have changed since the last call, and then the indices of new
        geoms."""
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
        marks._keep(self._rows)
        if count > len(self._seen):
            self._make_room(words)
        for piece in _pieces(len(changed)):
            rows = changed[piece]
            records = self._made(_rows(geoms, rows), rows)
            old = int(np.searchsorted(rows, len(marks)))
            marks._replace(rows[:old], records[:old])
            marks.extend(records[old:])
            kept = slice(rows[0], rows[0] + len(rows)) if _are_consecutive(rows) else rows
            # The words are stored after the marks are written. So after an interruption, the next call replaces old
            # marks.
            self._seen[kept] = words[kept]
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
    """Returns the geoms with these indices. If the indices are consecutive, the result is a view, not a copy. places:
    indices in ascending order."""
    if _are_consecutive(places):
        return geoms[places[0] : places[0] + len(places)]
    return geoms.view(f"V{geoms.itemsize}")[places].view(geoms.dtype)  # type: ignore[no-any-return]
