"""The marks of a world: arrows, lines, contact points, frames and other small shapes that exist for a short time.

A body is identified by its index. A mark is identified by its kind and id. A viewer blends marks of equal kind and id
between two snapshots, whatever their indices. A mark that is only in the older snapshot is shown until the instant of
the newer snapshot. A mark that is only in the newer snapshot is shown from that instant on.

Texts are published with the marks, so they may change in each step. A viewer places a mark with `body` in the frame of
the body as drawn. Marks are lit and depth-tested like bodies. Opaque marks near bodies cast shadows at the
quality levels with mapped shadows ("best", and on a GPU also "high"); thin lines cast none.

Always: an `add` that raises changes nothing. Marks are not part of a world's state, and the hash of the state does not
include them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidValue, named_arguments, refusal, text_of
from twixt.ipc.process.renamed import closed_attributes, former_arguments
from twixt.ipc.process.user_code import suggestion_for
from twixt.ipc.rotation import COMPONENTS, XYZW, QuatOrder, is_w_first
from twixt.ipc.scene.mark_texts import TEXT_LABEL, text_records, write_texts
from twixt.ipc.scene.surfaces import Extras
from twixt.ipc.snapshot import MARK, MARK_KINDS, NO_MARKS, RECORD
from twixt.sim.array_arguments import array_of, array_refusal, kind_of
from twixt.sim.world.body_fields import not_unit, rgba
from twixt.sim.world.mark_texts import TEXT, MarkTexts, check_text_sizes, checked_texts
from twixt.sim.world.state_checks import FARTHEST, NUMBERS
from twixt.sim.world.surfaces import Surfaces

KIND_NAMES = tuple(MARK_KINDS)
# Kinds of marks that accept `to`. The centre of a capsule or cylinder is halfway between `position` and `to`.
SPANNING = ("arrow", "line", "capsule", "cylinder")
CENTERED = ("capsule", "cylinder")
# The highest byte of a mark's key in a record is its kind, the other bytes are its id. So the point and the arrow of
# one contact may have the same id.
KEY_BITS = 56
LARGEST_BODY = 0xFFFF_FFFE
# Initial capacity of `Marks`. The capacity doubles when it is full.
LEAST_ROOM = 64
# Number of marks for which a world with marks reserves shared memory at first: 16 kB in each slot.
FIRST_MARKS = 256
# Indices of position, orientation and size among the 32-bit numbers of a record.
FLOATS = slice(2, 12)


@closed_attributes({})
class Marks:
    """Arrows, lines, texts, contact points and other marks. In each step, call `clear`, then `add`.

    Marks with the same kind and id in two snapshots are the same mark, and are blended. In a world, set `self.marks`.
    In your own loop, pass them to `View.publish`.

    Attributes:
        fault: Text about the first mark since `clear` that cannot be drawn. "" if all marks can be drawn.

    Examples:
        ```python
        from twixt import Marks

        marks = Marks()
        marks.add("arrow", position=(0, 0, 0), to=(0, 0, 1), size=0.02)
        marks.add("text", position=(0, 0, 1.2), text="up")
        ```
    """

    fault: str

    def __init__(self) -> None:
        self.fault = ""
        self._storage = np.zeros(LEAST_ROOM, MARK)
        self._count = 0
        self._of_kind: dict[str, int] = {}
        self._texts = MarkTexts()
        self._bodies = 0  # 1 + the largest index of a body to which a mark is attached

    def __len__(self) -> int:
        return self._count

    @property
    def records(self) -> NDArray[np.void]:
        """All marks, dtype `twixt.ipc.snapshot.MARK`, shape (m,), in the order in which they were added.

        The array is valid until the next `clear`, `add` or publish. You may change the marks in place.
        """
        return self._storage[: self._count]

    def clear(self) -> None:
        """Removes all marks."""
        self._count, self.fault, self._bodies = 0, "", 0
        self._of_kind.clear()
        self._texts.clear()

    @former_arguments({"key": "ids"})
    @named_arguments
    def add(
        self,
        kind: str,
        position: ArrayLike,
        *,
        to: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        quat: QuatOrder = XYZW,
        size: ArrayLike | None = None,
        color: ArrayLike = (1.0, 1.0, 1.0, 1.0),
        ids: ArrayLike | None = None,
        label: str | Sequence[str] | None = None,
        text: str | Sequence[str] | None = None,
        body: ArrayLike | None = None,
    ) -> None:
        """Adds n marks of one kind.

        A mark with a number that is not finite, or with an orientation of zeros, is not drawn, and `fault` describes
        it. All different texts since `clear` may have at most 256 KiB together.

        Args:
            kind: "sphere", "box", "capsule", "cylinder", "ellipsoid", "arrow", "line", "axes" or "text".
            position: (n, 3) in metres, or (3,) for one mark.
            to: (n, 3), the point to which an arrow, line, capsule or cylinder extends from `position`. With `to`,
                `size` is only the radius.
            orientation: (n, 4), unit quaternions in the order `quat`. An arrow or line starts at `position` and
                extends along its own z axis. The centre of every other kind is at `position`.
            quat: Order of `orientation`, "xyzw" or "wxyz".
            size: k numbers in metres for each mark, (n, k), or for all marks, (k,). Sphere: radius. Box: edges x, y,
                z. Capsule, cylinder: radius, length. Ellipsoid: diameters x, y, z. Arrow, line: radius, length. Axes:
                length. A line of radius 0, the default, is thin at every distance. If k is 1, size may also be a
                number or have shape (n,). For a text, the size is a factor from 0.25 to 8; 1, the default, gives the
                usual size of the letters.
            color: (n, 3 or 4), or one colour for all marks. Numbers from 0 to 1, or np.uint8 from 0 to 255.
            ids: (n,), whole numbers from 0 to 2**56 - 1. Marks of equal kind and id in two snapshots are the same
                mark. If several marks in one snapshot have equal ids, they are matched in their order. The default id
                of a mark is its index among the marks of its kind.
            label: One text to the right of each mark, or n texts. Each text has one line and at most 200 characters.
                Texts are drawn over everything. Only the 500 visible texts nearest to the camera are shown.
            text: Text of each mark of the kind "text", or n texts, as for `label`. Texts have the colour `color`.
            body: Index of the body to which all marks are attached, or (n,) such indices. `position`, `to` and
                `orientation` are then in the frame of that body, without the body's scale. The mark moves with the
                body as it is drawn, and is hidden while the body is hidden or does not exist.

        Raises:
            TwixtError: A kind, shape, type or range is wrong. `Marks` is then unchanged.
        """
        number, w_first = _kind_number(kind), is_w_first(quat)
        places = _vectors("position", position, None)
        count = len(places)
        names = MARK_KINDS[kind]
        if to is not None:
            ends = _ends(kind, to, orientation, count)
            orientation, lengths = _along(ends - places)
            w_first = False
            radii = _sizes(kind, names[:1], 0.0 if size is None and kind == "line" else size, count)
            sizes = np.stack((radii[:, 0], lengths), axis=1)
            if kind in CENTERED:
                places = (places + ends) / 2
        elif kind == TEXT:
            sizes = _sizes(kind, names, 1.0 if size is None else size, count)
            check_text_sizes(sizes)
        else:
            sizes = _sizes(kind, names, size, count)
        turns = None if orientation is None else _quaternions(orientation, count, w_first)
        rgbas = rgba("Marks.add(color)", color, count, each="marks").values
        keys = self._keys(kind, ids, count)
        bodies: NDArray[np.uint64] | int = 0
        if body is not None:
            bodies = _whole("body", body, count, LARGEST_BODY) + np.uint64(1)
        words = checked_texts(kind, label, text, count)
        labels = 0 if words is None else self._texts.labels(words)

        rows = self._room_for(count)
        rows["size"] = 0.0
        # A number that is too large for 32 bits becomes infinite, and `_fault` reports it.
        with np.errstate(all="ignore"):
            rows["position"] = places
            rows["orientation"] = (0.0, 0.0, 0.0, 1.0) if turns is None else turns
            rows["size"][:, : sizes.shape[1]] = sizes
        rows["color"], rows["kind"], rows["label"], rows["body"] = rgbas, number, labels, bodies
        if body is not None and count:
            self._bodies = max(self._bodies, int(np.max(bodies)))
        rows["key"] = keys | np.uint64(number << KEY_BITS)
        self._count += count
        self._of_kind[kind] = self._of_kind.get(kind, 0) + count
        if turns is not None and to is None:
            self._hide_zero_orientations(kind, rows)
        if not self.fault:
            self.fault = _fault(kind, rows)

    def extend(self, records: NDArray[np.void]) -> None:
        """Adds marks that are given as records. Use this in code that makes marks of many kinds at once.

        The method checks only the dtype, the shape, and that the marks can be drawn. The method does not copy the
        texts of another `Marks`.

        Args:
            records: (n,) of dtype `twixt.ipc.snapshot.MARK`. The highest byte of each key is the kind of the mark.

        Raises:
            TwixtError: The dtype or the shape is wrong.
        """
        if not isinstance(records, np.ndarray) or records.dtype != MARK or records.ndim != 1:
            raise refusal(records, np.ndarray)(
                f"Marks.extend takes records of dtype MARK, shape (n,), got {text_of(records)}"
            )
        rows = self._room_for(len(records))
        rows.view(RECORD)[...] = np.ascontiguousarray(records).view(RECORD)
        rows["label"][rows["label"] >= TEXT_LABEL] = 0
        self._count += len(records)
        self._bodies = max(self._bodies, int(rows["body"].max(initial=0)))
        if len(records) and not self.fault:
            self.fault = _fault("", rows)

    def _hide_zero_orientations(self, kind: str, rows: NDArray[np.void]) -> None:
        """Hides marks with an orientation of zeros, because such an orientation has no direction. Sets `fault`."""
        without = ~rows["orientation"].any(axis=1)
        if without.any():
            self.fault = self.fault or f"a mark of kind {kind!r} has the orientation [0., 0., 0., 0.]"
            rows["orientation"][without] = np.nan

    def _replace(self, rows: NDArray[np.intp], records: NDArray[np.void]) -> None:
        """Replaces the marks at `rows`, (n,), by `records`, (n,) of dtype `MARK`. Sets `fault` as `extend` does."""
        self.records.view(RECORD)[rows] = records.view(RECORD)
        if len(records) and not self.fault:
            self.fault = _fault("", records)

    def _packed(self) -> NDArray[np.void]:
        """All marks, then the records of their texts, dtype `MARK`: a view, valid until the next `clear` or `add`."""
        texts = self._texts.packed
        if not texts:
            return self.records
        more = text_records(len(texts))
        write_texts(self._room_for(more), texts)
        return self._storage[: self._count + more]

    def _missing_body(self, bodies: int, tick: int) -> str:
        """Warning about a mark that is attached to a body that does not exist, after step number `tick`; "" if there is
        none. bodies: number of bodies."""
        if self._bodies <= bodies:
            return ""
        rows = np.flatnonzero(self.records["body"] > bodies)
        if not len(rows):
            return ""
        first = self.records[rows[0]]
        return (
            f"a mark of kind {KIND_NAMES[first['kind']]!r} is attached to body {first['body'] - 1}, but there are "
            f"{bodies} bodies after step {tick}; it is not drawn; attach it to a body that exists"
        )

    def _keep(self, count: int) -> None:
        """Keeps the first `count` marks and removes all others."""
        if count < self._count:
            self._count = count
            self._of_kind.clear()

    def _keys(self, kind: str, ids: ArrayLike | None, count: int) -> NDArray[np.uint64]:
        if ids is not None:
            return _whole("ids", ids, count, (1 << KEY_BITS) - 1)
        before = self._of_kind.get(kind, 0)
        return np.arange(before, before + count, dtype=np.uint64)

    def _room_for(self, more: int) -> NDArray[np.void]:
        """The next `more` unused rows of the storage."""
        count = self._count
        if count + more > len(self._storage):
            grown = np.zeros(max(count + more, 2 * len(self._storage)), MARK)
            grown[:count] = self._storage[:count]
            self._storage = grown
        return self._storage[count : count + more]


def fault_text(fault: str, tick: int, way_out: str) -> str:
    """Warning about a mark's `fault` after step number `tick`. way_out: advice for the user, as from `way_out_in`."""
    return f"{fault} after step {tick}; it is not drawn; {way_out}"


def extras_of(marks: Marks | None, surfaces: Surfaces | None) -> Extras:
    """The records that follow those of the bodies in a snapshot: marks and vertices of surfaces. Publish these records
    before the vertices change."""
    records = NO_MARKS if marks is None else marks._packed()
    return Extras(records) if surfaces is None else surfaces.after(records)


def first_capacity(bodies: int, marks: Marks | None, surfaces: Surfaces | None = None) -> int:
    """Initial capacity of a host, in records. They hold the bodies, the surfaces and, if `marks` is given, at least
    `FIRST_MARKS` marks. With marks, a third of the records is spare. A larger segment is then needed only after the
    number of marks grows."""
    constant = bodies + (0 if surfaces is None else len(surfaces.records))
    if marks is None:
        return max(1, constant)
    return (constant + max(FIRST_MARKS, len(marks))) * 4 // 3 + 1


def _kind_number(kind: str) -> int:
    if not isinstance(kind, str) or kind not in MARK_KINDS:
        hint = suggestion_for(text_of(kind), KIND_NAMES) or f"there are {', '.join(KIND_NAMES)}"
        raise refusal(kind, str)(f"Marks.add knows no kind {text_of(kind)}; {hint}")
    return KIND_NAMES.index(kind)


def _vectors(field: str, value: ArrayLike, count: int | None) -> NDArray[np.float64]:
    """`value` as an array (n, 3) in metres. count: the number of rows that `value` must have; None accepts any number.
    A `value` of shape (3,) is read as one mark."""
    array = array_of(f"Marks.add({field})", value)
    if array.shape == (3,) and count in (None, 1):
        array = array[None]
    elif array.shape == (0,):
        array = np.zeros((0, 3))
    if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] != 3 or count not in (None, len(array)):
        rows = "n" if count is None else count
        raise array_refusal(array, "fiu")(
            f"Marks.add({field}) must be numbers of shape ({rows}, 3), got {kind_of(array)}"
        )
    return array.astype(np.float64)


def _ends(kind: str, to: ArrayLike, orientation: ArrayLike | None, count: int) -> NDArray[np.float64]:
    if kind not in SPANNING:
        raise InvalidValue(f"Marks.add(to) is for {', '.join(SPANNING)}, got {kind!r}; give orientation instead")
    if orientation is not None:
        raise InvalidValue("Marks.add takes to or orientation, got both; leave one of them out")
    return _vectors("to", to, count)


def _along(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shortest rotation of the z axis onto each row of `vectors`, as quaternions (n, 4), and the lengths of the
    vectors, (n,). vectors: (n, 3)."""
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(vectors, axis=1)
        x, y, z = (vectors / np.where(lengths > 0, lengths, 1.0)[:, None]).T
        z = np.where(lengths > 0, z, 1.0)
        turns = np.stack((-y, x, np.zeros_like(x), 1.0 + z), axis=1)
        half = np.linalg.norm(turns, axis=1)
        turns = np.where((half < 1e-9)[:, None], (1.0, 0.0, 0.0, 0.0), turns / half[:, None])
    return turns, lengths


def _quaternions(value: ArrayLike, count: int, w_first: bool) -> NDArray[np.float64]:
    """Unit quaternions xyzw, (n, 4). w_first: True if those in `value` are wxyz."""
    array = array_of("Marks.add(orientation)", value)
    if array.dtype.kind not in "fiu" or array.shape not in ((4,), (count, 4)):
        raise array_refusal(array, "fiu")(
            f"Marks.add(orientation) must be numbers of shape ({count}, 4), got {kind_of(array)}"
        )
    turns = np.broadcast_to(array, (count, 4)).astype(np.float64)
    lengths, off = not_unit(turns)
    if len(off):
        raise InvalidValue(
            f"Marks.add(orientation) must be unit quaternions {COMPONENTS['wxyz' if w_first else 'xyzw']}, "
            f"got {turns[off[0]].tolist()} of length "
            f"{lengths[off[0]]:.3g} for mark {off[0]}; divide each by its length"
        )
    return np.roll(turns, -1, axis=1) if w_first else turns


def _sizes(kind: str, names: tuple[str, ...], size: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """Sizes of marks in metres, (n, k), one number for each of the k `names`."""
    if size is None:
        raise InvalidValue(f"Marks.add({kind!r}) needs size, metres: {', '.join(names)}")
    array, width = array_of(f"Marks.add({kind!r}, size)", size), len(names)
    if width == 1 and array.shape in ((), (count,)):
        array = np.broadcast_to(array, (count,))[:, None]
    if array.dtype.kind not in "fiu" or array.shape not in ((width,), (count, width)):
        raise array_refusal(array, "fiu")(
            f"Marks.add({kind!r}, size) must be {', '.join(names)} for all or for each of {count} marks, "
            f"got {kind_of(array)}"
        )
    if array.size and array.min() < 0:
        raise InvalidValue(f"Marks.add({kind!r}, size) must be metres >= 0, got {array.min():g}")
    return np.broadcast_to(array, (count, width)).astype(np.float64)


def _whole(field: str, value: ArrayLike, count: int, most: int) -> NDArray[np.uint64]:
    array = array_of(f"Marks.add({field})", value)
    is_whole = array.dtype.kind in "iu" or array.size == 0
    if not is_whole or array.shape not in ((), (count,)):
        raise array_refusal(array, "iu")(
            f"Marks.add({field}) must be whole numbers of shape ({count},), got {kind_of(array)}"
        )
    if array.size and not (array.min() >= 0 and array.max() <= most):
        raise InvalidValue(
            f"Marks.add({field}) must be whole numbers from 0 to {most}, got from {array.min()} to {array.max()}"
        )
    return np.broadcast_to(array, (count,)).astype(np.uint64)


def _fault(kind: str, rows: NDArray[np.void]) -> str:
    """Text about the first mark in `rows` that cannot be drawn. Empty if all can be drawn."""
    with np.errstate(all="ignore"):
        is_fine = np.abs(rows.view(np.float32).reshape(-1, NUMBERS)[:, FLOATS]) < FARTHEST
    if is_fine.all():
        return ""
    first = int(np.flatnonzero(~is_fine.all(axis=1))[0])
    for field in ("position", "orientation", "size"):
        value = rows[field][first]
        if not (np.abs(value) < FARTHEST).all():
            break
    kind = kind or KIND_NAMES[rows["kind"][first]]
    return f"a mark of kind {kind!r} has the {field} {np.array2string(value, separator=', ')}"
