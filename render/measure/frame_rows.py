"""Defines the rows of the frame log, as single rows and as a table.

`FrameRow` has the values of one frame that was presented. `FrameTable` has many rows as one packed array, from which
figures are calculated. Texts are stored once in a list, and a row has the index of each of its texts.

Always: a table returns exactly the rows from which it was made. This module reads no clock and no file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

NO_GPU_TIME = -1  # this value stands for None in the packed column


class FrameRow(NamedTuple):
    """Values of one frame. Instants (`time.perf_counter_ns`) and durations are in ns. They are 0 if nothing was drawn.

    draw_time_ns: simulated time that was drawn, after the clock limited it. Without interpolation it is the time of
    the snapshot that was shown. The work of a frame has two parts: `ahead_ns` is its duration before `start_ns`, and
    `work_end_ns - start_ns` is its duration after `start_ns`. present_ns: the best known instant at which the frame was shown. This instant has three possible sources,
    the best one first: the display's report, the return of the fence after the swap, and the swap's return.
    `present_source` names the source that was used.
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
    method: str = ""  # interpolation method with which the frame was drawn
    clock_mode: str = ""
    clock_reason: str = ""
    offset_ns: int = 0
    room_ns: int = 0  # wall time from the draw time to the newest snapshot
    play_rate: float = 0.0  # simulated time that the clock played since the previous frame, per wall time
    rate: float = 1.0  # simulated time per wall time, as the newest snapshot reports it
    previous_tick: int = -1
    next_tick: int = -1
    newest_tick: int = -1
    newest_sim_time_ns: int = 0
    newest_due_ns: int = 0
    newest_published_ns: int = 0
    used_published_ns: int = 0  # published_ns of the newest snapshot that was used
    steps: int = 0  # number of new ticks since the previous frame
    draw_due_ns: int = 0  # instant of wall time at which the draw time falls due
    # Instant of wall time at which the oldest draw time of a group of bodies falls due. 0 if no group has its own draw
    # time.
    group_due_ns: int = 0
    world_epoch: int = 0
    plan_number: int = 0
    plan_rate: float = 1.0
    pacer_interval_ns: int = 0
    planned_refreshes: int = 0  # 0: the swap does not block
    pacer_reason: str = ""
    gpu_ns: int | None = None
    # instant of the user's last action whose effect is first visible in this frame; 0: no such action
    input_acted_ns: int = 0
    # time before this frame in which no frames were made, because nothing moved or the window was hidden
    rested_ns: int = 0
    probe: bool = False  # True: this frame belongs to the refresh probe, and no figure includes it
    # A log of schema `twixt-report/1` does not have the columns from here on. These columns then have their defaults.
    swap_end_ns: int = 0  # 0: the return of the swap is not known, and `present_ns` is used
    display_present_ns: int = 0  # instant that the display reported for this frame; 0: no report
    present_flags: str = ""  # flags of the display's report, such as "vsync hw-clock"
    present_source: str = ""  # display | fence | swap | timer; empty: the source is not known
    # Durations of the frame by cause, see `FrameCosts`. If all are 0, the durations were not measured.
    draw_ns: int = 0
    upload_ns: int = 0
    user_ns: int = 0
    gc_ns: int = 0
    stolen_ns: int = 0
    other_ns: int = 0
    quality: str = ""  # quality level that was drawn; empty if there are no levels
    # Time of the work that was done in spare time before `start_ns`. `cpu_ms` includes this time; the durations above
    # do not.
    ahead_ns: int = 0
    events: int = 0  # number of the program's events that the frame was the first to reach
    # Largest lateness of these events: display time from the event's instant to the draw time of the frame.
    event_late_ns: int = 0


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


# Format that reads only the numbers of the texts in a packed row, in the order of `TEXT_AT`.
TEXTS = struct.Struct(
    "<" + "".join("I" if kind is str else f"{struct.calcsize('<' + _CODES[kind][1])}x" for kind in KIND_OF.values())
)


class RowTexts:
    """Texts of the rows, each with a number. Each text is stored once, and is kept as long as a row uses it.

    Some texts (reasons) contain figures, so new texts are added all the time. Therefore unused texts are removed.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.number_of: dict[str, int] = {}
        self._uses: list[int] = []
        self._free: list[int] = []

    def acquire(self, text: str) -> int:
        """Returns the number of a text, and counts one more row that uses the text."""
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
        """Counts one row less for each text with one of these numbers. If no row uses a text any more, removes the
        text, and its number can be used again."""
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
    """Writes one row into the buffer as a `PACKED` record."""
    values: list[Any] = list(row)
    for at in TEXT_AT:
        values[at] = words.acquire(values[at])
    if values[GPU_AT] is None:
        values[GPU_AT] = NO_GPU_TIME
    try:
        PACKER.pack_into(buffer, offset, *values)
    except struct.error:  # a value does not fit into 64 bits, for example an instant from a damaged snapshot
        PACKER.pack_into(buffer, offset, *(_fitting(value) for value in values))


def _fitting(value: Any) -> Any:
    return min(max(value, -(1 << 63)), (1 << 63) - 1) if isinstance(value, int) else value


class FrameTable:
    """Many rows of the frame log, as columns. `table["present_ns"]` is an array with the column's values.
    `table.is_text("mode", "held")` is a mask of rows."""

    def __init__(self, packed: NDArray[np.void], words: RowTexts) -> None:
        self.packed = packed
        self.words = words

    @staticmethod
    def of(rows: FrameTable | Iterable[FrameRow]) -> FrameTable:
        """Makes a table of the rows. If `rows` is a table, returns this table unchanged."""
        if isinstance(rows, FrameTable):
            return rows
        words, buffer, one = RowTexts(), bytearray(), bytearray(PACKED.itemsize)
        for row in rows:  # packs one row at a time, because a packed row needs only a tenth of the memory
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
        """Row number i, equal to the row that was added."""
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
        """Table with only the rows that the mask selects."""
        return FrameTable(self.packed[mask], self.words)
