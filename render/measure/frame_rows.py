"""Rows of the frame log: one per frame, and many of them as columns.

`FrameRow`: values of one presented frame. `FrameTable`: many rows as one packed array, for the metrics. Texts are stored
as indices into a list of texts.

Always: a table returns exactly the rows that it was made from. Reads no clock and no file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

NO_GPU_TIME = -1  # stands for None in the packed column


class FrameRow(NamedTuple):
    """One frame. Instants and durations in ns of `time.perf_counter_ns`; 0 where nothing was drawn.

    draw_time_ns: the simulated time drawn, after clamping (without interpolation: that of the snapshot on the screen).
    The work of a frame is `work_end_ns - start_ns`, and `ahead_ns` before that. present_ns: the best instant known,
    which is the display's report, else the fence after the swap, else the swap's return (`present_source`).
    """

    frame: int = 0
    start_ns: int = 0
    latch_ns: int = 0
    work_end_ns: int = 0
    swap_begin_ns: int = 0
    present_ns: int = 0
    predicted_present_ns: int = 0
    deadline_ns: int = 0
    wake_error_ns: int = 0
    draw_time_ns: int = 0
    alpha: float = 0.0
    mode: str = "none"  # interpolated | held | extrapolated | none
    method: str = ""  # the interpolation that drew it
    clock_mode: str = ""
    clock_reason: str = ""
    offset_ns: int = 0
    room_ns: int = 0  # wall time from the draw time to the newest snapshot
    play_rate: float = 0.0  # simulated per wall time that the clock played since the frame before
    rate: float = 1.0  # of the newest snapshot
    previous_tick: int = -1
    next_tick: int = -1
    newest_tick: int = -1
    newest_sim_time_ns: int = 0
    newest_due_ns: int = 0
    newest_published_ns: int = 0
    used_published_ns: int = 0  # of the newest snapshot used
    steps: int = 0  # ticks newly seen since the frame before
    draw_due_ns: int = 0  # due instant of the draw time
    group_due_ns: int = 0  # the same for the oldest of the groups that have an instant of their own; 0: none has
    world_epoch: int = 0
    plan_number: int = 0
    plan_rate: float = 1.0
    pacer_interval_ns: int = 0
    planned_refreshes: int = 0  # 0: the display does not block
    pacer_reason: str = ""
    gpu_ns: int | None = None
    input_acted_ns: int = 0  # instant of the user's action that this frame shows first; 0: none
    rested_ns: int = 0  # pause before this frame, in which nothing moved or nobody could see it
    probe: bool = False  # a frame of the refresh probe, in no figure
    # From here on: columns that a log of `twixt-report/1` lacks; each then has its default.
    swap_end_ns: int = 0  # 0: not known apart from the present
    display_present_ns: int = 0  # as the display reported; 0: it did not
    present_flags: str = ""  # of the display's report, such as "vsync hw-clock"
    present_source: str = ""  # display | fence | swap | timer; empty: not known
    # Durations by cause, see `FrameCosts`; all 0: not measured.
    draw_ns: int = 0
    upload_ns: int = 0
    user_ns: int = 0
    gc_ns: int = 0
    stolen_ns: int = 0
    other_ns: int = 0
    quality: str = ""  # the level drawn; empty: there are none
    ahead_ns: int = 0  # work done before `start_ns`, in spare time; in `cpu_ms`, not in the durations above


KIND_OF: dict[str, Any] = get_type_hints(FrameRow)
_CODES: dict[Any, tuple[str, str]] = {
    int: ("<i8", "q"),
    int | None: ("<i8", "q"),
    float: ("<f8", "d"),
    str: ("<u4", "I"),
    bool: ("?", "?"),
}
LATER_FIELDS = FrameRow._fields[FrameRow._fields.index("probe") + 1 :]
TEXT_AT = tuple(i for i, kind in enumerate(KIND_OF.values()) if kind is str)
GPU_AT = FrameRow._fields.index("gpu_ns")
PACKED = np.dtype([(name, _CODES[kind][0]) for name, kind in KIND_OF.items()])
PACKER = struct.Struct("<" + "".join(_CODES[kind][1] for kind in KIND_OF.values()))


# Reads only the text numbers of a packed row, in the order of `TEXT_AT`.
TEXTS = struct.Struct(
    "<" + "".join("I" if kind is str else f"{struct.calcsize('<' + _CODES[kind][1])}x" for kind in KIND_OF.values())
)


class RowTexts:
    """Texts by number, each stored once, for as long as a row uses it.

    Reasons contain figures, so their number grows with the run: texts without a row are removed.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.number_of: dict[str, int] = {}
        self._uses: list[int] = []
        self._free: list[int] = []

    def acquire(self, text: str) -> int:
        """Number of a text, for one more row that uses it."""
        number = self.number_of.get(text)
        if number is not None:
            self._uses[number] += 1
            return number
        if self._free:
            number = self._free.pop()
            self.texts[number], self._uses[number] = text, 1
        else:
            number = len(self.texts)
            self.texts.append(text)
            self._uses.append(1)
        self.number_of[text] = number
        return number

    def release(self, numbers: Iterable[int]) -> None:
        """Ends one row's use of these texts; the numbers of texts without a row are used again."""
        for number in numbers:
            self._uses[number] -= 1
            if not self._uses[number]:
                del self.number_of[self.texts[number]]
                self.texts[number] = ""
                self._free.append(number)

    def copy(self) -> RowTexts:
        """An independent copy."""
        words = RowTexts()
        words.texts, words.number_of = self.texts.copy(), self.number_of.copy()
        words._uses, words._free = self._uses.copy(), self._free.copy()
        return words


def pack_into(buffer: bytearray | memoryview, offset: int, row: FrameRow, words: RowTexts) -> None:
    """Writes one row as a `PACKED` record."""
    values: list[Any] = list(row)
    for at in TEXT_AT:
        values[at] = words.acquire(values[at])
    if values[GPU_AT] is None:
        values[GPU_AT] = NO_GPU_TIME
    try:
        PACKER.pack_into(buffer, offset, *values)
    except struct.error:  # beyond 64 bits, such as a damaged snapshot's instant
        PACKER.pack_into(buffer, offset, *(_fitting(value) for value in values))


def _fitting(value: Any) -> Any:
    return min(max(value, -(1 << 63)), (1 << 63) - 1) if isinstance(value, int) else value


class FrameTable:
    """Many rows as columns: `table["present_ns"]` is an array, `table.is_text("mode", "held")` a mask."""

    def __init__(self, packed: NDArray[np.void], words: RowTexts) -> None:
        self.packed = packed
        self.words = words

    @staticmethod
    def of(rows: FrameTable | Iterable[FrameRow]) -> FrameTable:
        """The rows as a table (a table as it is)."""
        if isinstance(rows, FrameTable):
            return rows
        words, buffer, one = RowTexts(), bytearray(), bytearray(PACKED.itemsize)
        for row in rows:  # one by one: packed, a row takes a tenth of its memory
            pack_into(one, 0, row, words)
            buffer += one
        return FrameTable(np.frombuffer(buffer, PACKED), words)

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.packed[name]

    def __iter__(self) -> Iterator[FrameRow]:
        return (self.row(i) for i in range(len(self)))

    def row(self, i: int) -> FrameRow:
        """Row i as it was added."""
        values = list(self.packed[i].item())
        for at in TEXT_AT:
            values[at] = self.words.texts[values[at]]
        if values[GPU_AT] == NO_GPU_TIME:
            values[GPU_AT] = None
        return FrameRow(*values)

    def is_text(self, name: str, text: str) -> NDArray[np.bool_]:
        """Mask of the rows whose text column equals `text`."""
        return self.packed[name] == self.words.number_of.get(text, -1)

    def where(self, mask: NDArray[np.bool_]) -> FrameTable:
        """The rows chosen by the mask."""
        return FrameTable(self.packed[mask], self.words)
