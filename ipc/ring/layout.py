"""This module computes the offsets of all words in a segment of shared memory. It accesses no shared memory itself.

    0      identity: magic, format, sizes, capacity, number of columns    written once, before a reader maps it
    64     table of the user's columns, one cache line each               written once
    3072   live words, each on a cache line of its own: latest, successor, scene version, plan
    4096   slot 0, slot 1, ...: sequence word (64 B), head (128 B), records, one block per column

A record has 64 bytes. The records of a slot are first the bodies, then the marks, then the surface vertices, which are
packed into records. Bodies, marks and vertices together fill at most `capacity` records. In this folder the number
`marks` also counts the records that hold vertices. A column has room for `capacity` rows, one for each body or one for
each part of a body. A world column has one row.

Capacity and columns determine all other numbers. A process that reads a layout from a segment or a message computes
the other numbers again. If a computed number differs from the number that was read, the process rejects the layout. So
no process uses a damaged number.

Always: every block starts on a cache line. Blocks do not overlap. The slots fill the segment exactly.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import BODY, HEAD, MARK

# Version of the layout. Increase it whenever a word moves or changes its meaning. Viewer and simulation must use the
# same version.
FORMAT = 6
MAGIC = int.from_bytes(b"twixtseg", "little")

WORD = 8
CACHE_LINE = 64
SLOTS_OFFSET = 4096

# A segment has at least four slots: two complete snapshots must exist while the writer writes a third and a reader
# reads. A segment has at most sixteen slots. They are enough to hold all snapshots that arrive while a viewer misses a
# few frames. The actual number of slots is the largest number from 4 to 16 that fits into RING_BYTES.
MIN_SLOTS = 4
MAX_SLOTS = 16
RING_BYTES = 256 * 1024 * 1024

# Largest capacity of a segment. It gives 1 GiB of records in each slot. This limits the allocation that a damaged
# number can cause.
MAX_CAPACITY = 1 << 24
MAX_COLUMNS = 32
MAX_COLUMN_WIDTH = 64
MAX_NAME_BYTES = 40
# Owner of one row of a column: a body, a part of a body, or the world. A segment stores the owner as an index into
# PERS.
PERS = BODY_ROWS, PART_ROWS, WORLD_ROW = ("body", "part", "world")
COLUMN_DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")

IDENTITY = np.dtype(
    [
        (name, "<u8")
        for name in ("magic", "format", "segment_bytes", "slots", "slot_bytes", "capacity", "columns", "reserved")
    ]
)
COLUMN_ROW = np.dtype([("name", f"S{MAX_NAME_BYTES}"), ("dtype", "S8"), ("width", "<u8"), ("per", "<u8")])
COLUMN_TABLE_OFFSET = CACHE_LINE

# Indices of the words that change during a run, counted in words of 8 bytes from the start of the segment.
LATEST = 3072 // WORD
SUCCESSOR = 3136 // WORD
SCENE_VERSION = 3200 // WORD
PLAN_SEQUENCE = 3264 // WORD
PLAN = PLAN_SEQUENCE + 1  # index of the first of five words: number, world epoch, wall_ns, sim_time_ns, rate

HEAD_IN_SLOT = CACHE_LINE
# Format of the packed head. All its fields have 8 bytes. The reserved words are not packed and stay zero.
HEAD_FIELDS = tuple(name for name in HEAD.names or () if name != "reserved")
HEAD_PACKING = struct.Struct("<" + "".join("d" if HEAD[name].kind == "f" else "q" for name in HEAD_FIELDS))
PUBLISHED_IN_HEAD = HEAD_FIELDS.index("published_ns")  # offset of the field in the head, in words
BODIES_IN_SLOT = HEAD_IN_SLOT + HEAD.itemsize


class LayoutError(TwixtError):
    """A capacity or a column is out of range, or the header of a segment is invalid."""


# Declaration of a column: dtype, values per row, and one of PERS. The third item may be left out if each row of the
# column belongs to a body.
ColumnForm = tuple[str, int] | tuple[str, int, str]


class ColumnBlock(NamedTuple):
    """A column in a slot. Each row has `width` values of `dtype`. offset: number of bytes from the slot's start to the
    column. per: owner of one row, one of PERS."""

    name: str
    dtype: str
    width: int
    offset: int
    per: str = BODY_ROWS

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes in one row."""
        return np.dtype(self.dtype).itemsize * self.width

    def rows(self, bodies: int, parts: int) -> int:
        """Number of rows of the column in a snapshot with these numbers of bodies and parts."""
        return bodies if self.per == BODY_ROWS else parts if self.per == PART_ROWS else 1


@dataclass(frozen=True)
class Layout:
    """Offsets and sizes of one segment, in bytes. Make a Layout only by `for_bodies`, `from_dict` or
    `from_segment`."""

    capacity: int
    columns: tuple[ColumnBlock, ...]
    slots: int
    slot_bytes: int
    segment_bytes: int
    format: int = FORMAT

    @staticmethod
    def for_bodies(capacity: int, columns: Mapping[str, ColumnForm] | None = None) -> Layout:
        """Returns a layout for `capacity` records and these columns. columns: the `ColumnForm` of each column, by
        name. Raises LayoutError for a capacity or a column out of range."""
        if not isinstance(capacity, int | np.integer) or not 0 <= capacity <= MAX_CAPACITY:
            raise LayoutError(f"a segment must hold from 0 to {MAX_CAPACITY} bodies, got {capacity!r}")
        capacity = int(capacity)
        named = dict(columns or {})
        if len(named) > MAX_COLUMNS:
            raise LayoutError(
                f"a world can declare at most {MAX_COLUMNS} columns, got {len(named)}; combine some of them"
            )
        offset = _aligned(BODIES_IN_SLOT + capacity * BODY.itemsize)
        placed = []
        for name, (dtype, width, *rest) in named.items():
            kind, width, per = _checked_dtype(name, dtype), _checked_width(name, width), _checked_per(name, rest)
            column = ColumnBlock(_checked_name(name), kind, width, offset, per)
            placed.append(column)
            offset = _aligned(offset + column.rows(capacity, capacity) * column.bytes_per_row)
        slots = max(MIN_SLOTS, min(MAX_SLOTS, RING_BYTES // offset))
        return Layout(capacity, tuple(placed), slots, offset, SLOTS_OFFSET + slots * offset)

    def to_dict(self) -> dict[str, Any]:
        """Returns the layout as a message that JSON can encode. `from_dict` reads the message."""
        return {
            "format": self.format,
            "segment_bytes": self.segment_bytes,
            "slots": self.slots,
            "slot_bytes": self.slot_bytes,
            "capacity": self.capacity,
            "columns": [[column.name, column.dtype, column.width, column.per] for column in self.columns],
        }

    @staticmethod
    def from_dict(message: Any) -> Layout:
        """Returns the layout in a message that `to_dict` made. Raises LayoutError for any other message."""
        try:
            _check_format(message["format"])
            columns = {name: (dtype, width, per) for name, dtype, width, per in message["columns"]}
            layout = Layout.for_bodies(message["capacity"], columns)
        except (KeyError, TypeError, ValueError) as error:
            raise LayoutError(f"the received layout is damaged ({error!r}); restart the simulation") from error
        if layout.to_dict() != message:
            raise LayoutError(f"the received layout is inconsistent: expected {layout.to_dict()!r}, got {message!r}")
        return layout

    @staticmethod
    def from_segment(segment: memoryview | bytes) -> Layout:
        """Returns the layout in the header of `segment`. Raises LayoutError if the layout is invalid or does not fit
        into `segment`."""
        if len(segment) < SLOTS_OFFSET:
            raise LayoutError(f"a segment must have at least {SLOTS_OFFSET} bytes, got {len(segment)}")
        identity = np.frombuffer(segment, IDENTITY, 1)[0]
        if int(identity["magic"]) != MAGIC:
            raise LayoutError(f"this memory is not a segment of twixt: it starts with {int(identity['magic']):#x}")
        count = int(identity["columns"])
        if count > MAX_COLUMNS:
            _check_format(int(identity["format"]))
            raise LayoutError(f"the segment's header must have at most {MAX_COLUMNS} columns, got {count}")
        rows = np.frombuffer(segment, COLUMN_ROW, count, COLUMN_TABLE_OFFSET) if count else ()
        layout = Layout.from_dict(
            {
                **{
                    name: int(identity[name]) for name in ("format", "segment_bytes", "slots", "slot_bytes", "capacity")
                },
                "columns": [
                    [
                        row["name"].decode("ascii", "replace"),
                        row["dtype"].decode("ascii", "replace"),
                        int(row["width"]),
                        PERS[per] if (per := int(row["per"])) < len(PERS) else str(per),
                    ]
                    for row in rows
                ],
            }
        )
        if layout.segment_bytes > len(segment):
            raise LayoutError(
                f"the segment's header gives a size of {layout.segment_bytes} bytes, but the mapping has {len(segment)}"
            )
        return layout

    def header(self) -> bytes:
        """The bytes that `from_segment` reads: identity and column table."""
        identity = np.zeros(1, IDENTITY)
        identity[0] = (
            MAGIC,
            self.format,
            self.segment_bytes,
            self.slots,
            self.slot_bytes,
            self.capacity,
            len(self.columns),
            0,
        )
        table = np.zeros(MAX_COLUMNS, COLUMN_ROW)
        for row, column in enumerate(self.columns):
            table[row] = (column.name.encode(), column.dtype.encode(), column.width, PERS.index(column.per))
        return identity.tobytes() + table.tobytes()

    def slot_of(self, number: int) -> int:
        """Index of the slot of snapshot `number`."""
        return number % self.slots

    def slot_offset(self, slot: int) -> int:
        """Offset of the slot, in bytes from the start of the segment."""
        return SLOTS_OFFSET + slot * self.slot_bytes

    def sequence_word(self, slot: int) -> int:
        """Index of the slot's sequence word, in words from the start of the segment."""
        return self.slot_offset(slot) // WORD

    def head_offset(self, slot: int) -> int:
        """Offset of the slot's head, in bytes from the start of the segment."""
        return self.slot_offset(slot) + HEAD_IN_SLOT

    def bodies_offset(self, slot: int) -> int:
        """Offset of the slot's records, in bytes from the start of the segment."""
        return self.slot_offset(slot) + BODIES_IN_SLOT

    def snapshot_bytes(self, count: int, marks: int = 0, parts: int = 0) -> int:
        """Number of bytes to read for a snapshot of `count` bodies, `marks` marks and `parts` parts. Head, records and
        columns are included."""
        others = sum(column.rows(0, parts) * column.bytes_per_row for column in self.columns if column.per != BODY_ROWS)
        return HEAD.itemsize + count * self.bytes_per_body + marks * MARK.itemsize + others

    @property
    def bytes_per_body(self) -> int:
        """Number of bytes for each body: its record, and its row in each column that has one row per body."""
        return BODY.itemsize + sum(column.bytes_per_row for column in self.columns if column.per == BODY_ROWS)


def per_of(form: ColumnForm) -> str:
    """Returns the owner of one row of a column with this form. The result is one of PERS."""
    return form[2] if len(form) == 3 else BODY_ROWS


def part_count(columns: Mapping[str, np.ndarray], forms: Mapping[str, ColumnForm]) -> int:
    """Number of rows of the part columns among `columns`; 0 if there are none."""
    for name, form in forms.items():
        if per_of(form) == PART_ROWS and name in columns:
            return len(columns[name])
    return 0


def first_rows(
    columns: Mapping[str, NDArray[Any]], forms: Mapping[str, ColumnForm], bodies: int
) -> dict[str, NDArray[Any]]:
    """Returns the columns with the rows of the first `bodies` bodies only. Part columns keep no rows, because a viewer
    could not tell to which bodies the kept rows belong."""
    kept = {BODY_ROWS: bodies, PART_ROWS: 0, WORLD_ROW: 1}
    return {name: rows[: kept[per_of(forms[name])]] for name, rows in columns.items()}


def _aligned(offset: int) -> int:
    return -(-offset // CACHE_LINE) * CACHE_LINE


def _check_format(found: Any) -> None:
    if found != FORMAT:
        raise LayoutError(
            f"this twixt reads segment format {FORMAT}, but the simulation writes format {found!r}; "
            "use the same version of twixt for the simulation and the viewer"
        )


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or len(name) > MAX_NAME_BYTES:
        raise LayoutError(f"a column's name must be an identifier of at most {MAX_NAME_BYTES} letters, got {name!r}")
    return name


def _checked_dtype(name: str, dtype: Any) -> str:
    if not isinstance(dtype, str) or dtype not in COLUMN_DTYPES:
        try:
            dtype = np.dtype(dtype).str
        except (TypeError, ValueError, SyntaxError):
            pass
    if not isinstance(dtype, str) or dtype not in COLUMN_DTYPES:
        raise LayoutError(f"column {name!r} must have one of the dtypes {', '.join(COLUMN_DTYPES)}, got {dtype!r}")
    return dtype


def _checked_per(name: str, rest: list[Any]) -> str:
    if not rest:
        return BODY_ROWS
    if len(rest) > 1 or rest[0] not in PERS:
        raise LayoutError(f"column {name!r} must have per={', '.join(PERS)}, got {rest!r}")
    return str(rest[0])


def _checked_width(name: str, width: Any) -> int:
    if not isinstance(width, int) or isinstance(width, bool) or not 1 <= width <= MAX_COLUMN_WIDTH:
        raise LayoutError(f"column {name!r} must have from 1 to {MAX_COLUMN_WIDTH} values per body, got {width!r}")
    return width
