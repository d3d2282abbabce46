"""The frame log has one row per frame, in memory and, on request, in a CSV file.

`add` packs a row into a ring buffer that is already allocated. This takes a few microseconds and no disk access. The
file is written by `write_some`, which the frame loop calls in spare time, and by `close`.

The first fifteen columns of the file are the columns of PresentMon 1.10 in the same order. So programs that read
PresentMon's files can read these files too. An unknown value is `NA`, or PresentMon's own value for unknown. `Runtime`
is a name from PresentMon 1.x (2.x calls this column `PresentRuntime`). The next columns are all fields of `FrameRow`
by name. The last columns are a few derived values for people, which `read_log` ignores.

Always: only the newest `KEPT_FRAMES` rows are kept in memory. If there is a file, every row is written to the file, in
order. If the disk is full, the file ends after a whole line.
"""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from twixt.ipc.errors import TwixtError
from twixt.render.display.present_times import DISCARDED
from twixt.render.measure.frame_rows import (
    GPU_AT,
    KIND_OF,
    LATER_FIELDS,
    PACKED,
    TEXTS,
    FrameRow,
    FrameTable,
    RowTexts,
    pack_into,
)


class WholeLines:
    """Text file that always consists of whole lines. If the disk is full, the file ends after a whole line, and
    OSError is raised once.

    path: name of the file, which is overwritten. piece_bytes: number of bytes that are written to the disk at once.
    Raises OSError if the file cannot be opened.
    """

    def __init__(self, path: str, piece_bytes: int) -> None:
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115  (closed by `close`)
        self._piece_bytes = piece_bytes
        self._waiting: list[str] = []
        self._waiting_bytes = 0

    def write(self, line: str) -> int:
        """Adds one or more whole lines to the file. If lines cannot be written, closes the file and raises OSError."""
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes >= self._piece_bytes:
            self.flush()
        return len(line)

    def flush(self) -> None:
        """Writes the waiting lines to the disk. If this fails, cuts the file after its last whole line, closes the
        file and raises OSError."""
        piece = "".join(self._waiting).encode()
        self._waiting, self._waiting_bytes = [], 0
        gone = 0
        try:
            while gone < len(piece):
                gone += self._file.write(piece[gone:]) or 0
        except OSError:
            torn_bytes = gone - (piece.rfind(b"\n", 0, gone) + 1)
            with contextlib.suppress(OSError):  # a pipe cannot be truncated
                if torn_bytes:
                    os.ftruncate(self._file.fileno(), self._file.tell() - torn_bytes)
            self._file.close()
            raise

    def close(self) -> None:
        """Writes the waiting lines and closes the file. Raises OSError if the lines cannot be written."""
        if not self._file.closed:
            self.flush()
            self._file.close()


MISSING = "NA"

# PresentMon's columns. Here "Present" means the swap call. A frame is displayed at the `present_ns` of its row, which
# is the best known instant.
PRESENTMON = (
    "Application",
    "ProcessID",
    "SwapChainAddress",
    "Runtime",
    "SyncInterval",  # number of refreshes planned for the frame; 0 if the swap does not block
    "PresentFlags",
    "Dropped",
    "TimeInSeconds",  # instant of the swap call, counted from the first swap call
    "msInPresentAPI",  # duration of the swap call
    "msBetweenPresents",  # time since the previous swap call
    "AllowsTearing",
    "PresentMode",
    # Time from the swap call until drawing is complete. The time is negative if drawing was complete before the call.
    "msUntilRenderComplete",
    "msUntilDisplayed",  # time from the swap call until the frame is shown
    "msBetweenDisplayChange",  # frame interval: time from the previous frame's display to this frame's display
)
DERIVED = ("cpu_ms", "sample_age_ms", "newest_age_ms", "sim_to_present_ms")


# Number of rows that are kept in memory: 36 minutes at 60 fps, about 40 MB when full. A report covers only these rows.
KEPT_FRAMES = 1 << 17
# Default number of rows that one call writes. Writing 4 rows takes about 0.1 ms. Each frame adds only one row, so a
# backlog of rows gets smaller.
ROWS_A_CALL = 4
# If this many rows wait to be written (one second at 60 Hz), `add` itself writes one row. So even a loop that has no
# spare time loses at most this many rows if its process is killed.
LONGEST_BACKLOG = 60
# Reports of a display come a few frames after the swap. So if the display sends reports, this many of the newest rows
# wait before they are written.
HELD_BACK = 12
FILE_BUFFER = 1 << 16  # size of one write to the disk, in bytes: about two hundred rows

# A line of a log has about 500 bytes. A longer line belongs to another kind of file, and its rest is not read.
LONGEST_LINE = 1 << 16
# Range of the whole numbers in a log. A column that comes from snapshots may have any 64-bit value, because a snapshot
# may be damaged. Instants and durations that the viewer measured are limited to 73 years, so that their differences
# fit into 64 bits.
INT64_RANGE = -(1 << 63), (1 << 63) - 1
VIEWER_NS_RANGE = -(1 << 61), 1 << 61
# Largest number of refreshes that one frame may take: a frame of one second on a display of 1 MHz.
MOST_REFRESHES = 1_000_000
SNAPSHOT_COLUMNS = (
    "draw_time_ns", "offset_ns", "room_ns", "newest_sim_time_ns", "newest_due_ns", "newest_published_ns",
    "used_published_ns", "draw_due_ns", "group_due_ns",
)  # fmt: skip
LIMITS = {
    name: VIEWER_NS_RANGE for name in FrameRow._fields if name.endswith("_ns") and name not in SNAPSHOT_COLUMNS
} | {"planned_refreshes": (0, MOST_REFRESHES)}

LONGEST_QUOTED = 40  # an error message quotes at most this many characters of a cell
_MAKE_ONE = "write one with: twixt run --log FILE.csv"
HEADER = (*PRESENTMON, *FrameRow._fields, *DERIVED)
PROBE_AT = FrameRow._fields.index("probe")


class FrameLog:
    """Rows of the frames of the running program. path: name of the CSV file; if path is None, rows are kept only in
    memory. Raises TwixtError if the file cannot be opened."""

    def __init__(self, path: str | None = None, kept_frames: int = KEPT_FRAMES) -> None:
        self.count = 0
        self._kept = kept_frames
        # The array begins with zeros, because the system then allocates each memory page only at its first use.
        self._packed = np.zeros(kept_frames, PACKED)
        self._bytes = self._packed.view(np.uint8).data
        self._words = RowTexts()
        self._written = 0
        self._held_back = 0
        self._file: WholeLines | None = None
        self._writer: _RowWriter | None = None
        self.failure = ""  # reason why the file is not complete; empty if the file is complete
        if path is not None:
            try:
                self._file = WholeLines(path, FILE_BUFFER)
            except OSError as error:
                raise TwixtError(
                    f"cannot write the frame log {path!r}: {error.strerror}; for --log, name a file in an existing folder"
                ) from None
            self._writer = _RowWriter(self._file)

    def add(self, row: FrameRow) -> None:
        """Adds the row of one presented frame."""
        if self._writer is not None and self.count - self._written >= min(LONGEST_BACKLOG, self._kept):
            self._write_up_to(self._written + 1)
        offset = (self.count % self._kept) * PACKED.itemsize
        if self.count >= self._kept:
            self._words.release(TEXTS.unpack_from(self._bytes, offset))
        pack_into(self._bytes, offset, row, self._words)
        self.count += 1

    def display_reported(self, frame: int, present_ns: int, flags: str = "") -> None:
        """Adds what the display reported to the row of an earlier frame (`FrameRow.frame`). A report comes a few
        frames after the swap. So after the first report, the newest `HELD_BACK` rows are not written to the file yet.
        present_ns: 0 if the frame was never shown."""
        self._held_back = HELD_BACK
        if not max(0, self.count - self._kept) <= frame < self.count:
            return
        offset = (frame % self._kept) * PACKED.itemsize
        row = self._row(frame)._replace(present_flags=flags)
        if present_ns:
            row = row._replace(present_ns=present_ns, display_present_ns=present_ns, present_source="display")
        before = TEXTS.unpack_from(self._bytes, offset)
        pack_into(self._bytes, offset, row, self._words)
        self._words.release(before)

    def write_some(self, rows: int = ROWS_A_CALL) -> None:
        """Writes at most `rows` waiting rows to the file. Call this in spare time. Does nothing if there is no file."""
        self._write_up_to(min(self.count - self._held_back, self._written + rows))

    def _write_up_to(self, end: int) -> None:
        if self._writer is None:
            return
        try:
            for number in range(self._written, min(self.count, end)):
                self._writer.write(self._row(number))
                self._written = number + 1
        except OSError as error:
            self._give_up(error)

    @property
    def forgotten(self) -> int:
        """Number of oldest rows that are no longer in memory."""
        return max(0, self.count - self._kept)

    @property
    def rows(self) -> FrameTable:
        """Copy of the rows in memory; the oldest row is the first."""
        start = self.count % self._kept
        packed = self._packed[: self.count] if self.count <= self._kept else np.roll(self._packed, -start)
        return FrameTable(packed.copy(), self._words.copy())

    def close(self) -> None:
        """Writes the waiting rows and closes the file. The rows in memory stay. A second call does nothing."""
        self._write_up_to(self.count)
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._give_up(error)
            self._file = self._writer = None

    def _give_up(self, error: OSError) -> None:
        """Ends the file early and sets `failure`. A full disk must not end the viewer."""
        self.failure = f"the frame log ends after at most {self._written} rows: {error.strerror}"
        self._file = self._writer = None

    def _row(self, number: int) -> FrameRow:
        return FrameTable(self._packed, self._words).row(number % self._kept)


class _RowWriter:
    """Writes rows as lines of CSV, with the intervals since the previous frame."""

    def __init__(self, file: WholeLines) -> None:
        self._csv = csv.writer(file)
        self._csv.writerow(HEADER)
        self._process = os.getpid()
        self._first_ns: int | None = None
        # swap_begin_ns and present_ns of the previous frame; 0 before the first frame
        self._before_ns = np.zeros(2, np.int64)

    def write(self, row: FrameRow) -> None:
        if self._first_ns is None:
            self._first_ns = row.swap_begin_ns
        begin_before_ns, end_before_ns = self._before_ns.tolist()
        drawn = row.mode != "none"
        own: list[Any] = list(row)
        own[GPU_AT] = MISSING if row.gpu_ns is None else row.gpu_ns
        own[PROBE_AT] = int(row.probe)
        swap_end_ns = row.swap_end_ns or row.present_ns
        self._csv.writerow([
            "twixt", self._process, "0x0", "Other", row.planned_refreshes, 0, int(row.present_flags == DISCARDED),
            f"{(row.swap_begin_ns - self._first_ns) / 1e9:.7f}",
            _ms(swap_end_ns - row.swap_begin_ns),
            _ms(row.swap_begin_ns - begin_before_ns) if end_before_ns else MISSING,
            0, "Other",
            _ms(row.work_end_ns - row.swap_begin_ns),
            _ms(row.present_ns - row.swap_begin_ns),
            _ms(row.present_ns - end_before_ns) if end_before_ns else MISSING,
            *own,
            _ms(row.work_end_ns - row.start_ns + row.ahead_ns),
            _ms(row.present_ns - row.draw_due_ns) if drawn else MISSING,
            _ms(row.present_ns - row.newest_due_ns) if drawn else MISSING,
            _ms(row.present_ns - row.used_published_ns) if drawn else MISSING,
        ])  # fmt: skip
        self._before_ns[:] = row.swap_begin_ns, row.present_ns


def read_log(path: str | os.PathLike[str]) -> FrameTable:
    """Reads the rows of a log file. Columns are found by name. Unknown columns are ignored. If an older log does not
    have a column, the column gets its default value in each row. Raises TwixtError if the file cannot be read, is not
    a frame log, or has a line that no run can have written. The error names the line."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = csv.reader(_lines(path, file))
            header = next(lines, [])
            absent = [name for name in FrameRow._fields if name not in header and name not in LATER_FIELDS]
            if absent:
                raise TwixtError(f"{str(path)!r} is not a frame log: it lacks the column {absent[0]!r}; {_MAKE_ONE}")
            twice = [name for name in FrameRow._fields if header.count(name) > 1]
            if twice:
                raise _damaged(path, 1, f"the column {twice[0]!r} occurs twice")
            return FrameTable.of(_rows(path, lines, header))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise TwixtError(f"cannot read the frame log {str(path)!r}: {reason}; {_MAKE_ONE}") from None
    except csv.Error as error:
        raise _damaged(path, lines.line_num, str(error)) from None


def _lines(path: str | os.PathLike[str], file: TextIO) -> Iterator[str]:
    """Lines of the file. Raises TwixtError if a line is too long."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise _damaged(path, number, f"it has {LONGEST_LINE} characters or more")
        yield line


def _rows(path: str | os.PathLike[str], lines: Any, header: list[str]) -> Iterator[FrameRow]:
    wanted = [(name, header.index(name), kind) for name, kind in KIND_OF.items() if name in header]
    # Number of the line that is incomplete. Only the last line may be incomplete, if the run was killed while it was
    # written.
    cut = 0
    for line in lines:
        if not line:
            continue
        if cut or len(line) > len(header):
            length = "is cut off" if cut else f"has {len(line)} values, the header {len(header)}"
            raise _damaged(path, cut or lines.line_num, f"it {length}")
        if len(line) < len(header):
            cut = lines.line_num
            continue
        try:
            yield FrameRow(**{name: _read(name, line[at], kind) for name, at, kind in wanted})
        except ValueError as error:
            raise _damaged(path, lines.line_num, str(error)) from None


def _damaged(path: str | os.PathLike[str], line: int, why: str) -> TwixtError:
    return TwixtError(f"{str(path)!r}, line {line}: {why}; the file is damaged; {_MAKE_ONE}")


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.4f}"


def _read(name: str, text: str, kind: Any) -> Any:
    """Value of a cell. Raises ValueError if the text breaks the rule for the values of this column. The error contains
    the column's name and the rule."""
    if kind is str:
        return text
    if text == MISSING and kind not in (int, bool, float):
        return None
    try:
        number = float(text) if kind is float else int(text)
    except ValueError:
        rule = "a number" if kind is float else "a whole number"
        raise ValueError(f"{name} must be {rule}, got {text[:LONGEST_QUOTED]!r}") from None
    if kind is float:
        return number
    low, high = LIMITS.get(name, INT64_RANGE)
    if not low <= number <= high:
        raise ValueError(f"{name} must be from {low} to {high}, got {text[:LONGEST_QUOTED]!r}")
    return bool(number) if kind is bool else number
