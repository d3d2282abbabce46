"""The frame log: every frame's row, kept cheaply while running, as a CSV file when asked for.

`add` packs a row into a ring made beforehand (a few microseconds, no disk). The file is written by
`write_some`, which the frame loop calls when it has time to spare, and by `close`.

Always: memory is bounded (the newest `KEPT_FRAMES` rows); with a file, every row reaches it in order.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from twixt.ipc.errors import TwixtError
from twixt.render.measure.columns import DERIVED, MISSING, PRESENTMON
from twixt.render.measure.frames import GPU_AT, KIND_OF, NO_GPU_TIME, PACKED, TEXT_AT, FrameRow, FrameTable, Words, pack_into

# Rows held in memory, about 30 MB once full: 36 minutes at 60 fps. A report covers these.
KEPT_FRAMES = 1 << 17
# Rows written in one call by default: 4 take about 0.1 ms, and one row comes per frame, so a backlog shrinks.
ROWS_A_CALL = 4
# From this backlog on `add` itself writes one row, so that a loop without spare time loses none.
LONGEST_BACKLOG = KEPT_FRAMES // 2

HEADER = (*PRESENTMON, *FrameRow._fields, *DERIVED)


class FrameLog:
    """Rows of the running program. path None: kept in memory alone."""

    def __init__(self, path: str | None = None, kept_frames: int = KEPT_FRAMES) -> None:
        self.count = 0
        self._kept = kept_frames
        self._packed = np.zeros(kept_frames, PACKED)  # the system gives its pages as they are first touched
        self._bytes = memoryview(self._packed).cast("B")
        self._words = Words()
        self._written = 0
        self._file: TextIO | None = None
        self._writer: _RowWriter | None = None
        if path is not None:
            try:
                self._file = open(path, "w", newline="", encoding="utf-8", buffering=1 << 16)
            except OSError as error:
                raise TwixtError(f"cannot write the frame log {path!r}: {error.strerror}; give --log a file in a folder that exists") from None
            self._writer = _RowWriter(self._file)

    def add(self, row: FrameRow) -> None:
        """Takes one presented frame in."""
        if self._writer is not None and self.count - self._written >= min(LONGEST_BACKLOG, self._kept):
            self.write_some(1)
        pack_into(self._bytes, (self.count % self._kept) * PACKED.itemsize, row, self._words)
        self.count += 1

    def write_some(self, rows: int = ROWS_A_CALL) -> None:
        """Brings at most so many waiting rows nearer to the file; for time to spare. No file: does nothing."""
        if self._writer is None:
            return
        for number in range(self._written, min(self.count, self._written + rows)):
            self._writer.write(self._row(number))
            self._written = number + 1

    @property
    def forgotten(self) -> int:
        """How many of the oldest rows are no longer in memory."""
        return max(0, self.count - self._kept)

    @property
    def rows(self) -> FrameTable:
        """The rows in memory, oldest first, as a copy."""
        start = self.count % self._kept
        packed = self._packed[: self.count] if self.count <= self._kept else np.roll(self._packed, -start)
        return FrameTable(packed.copy(), self._words)

    def close(self) -> None:
        """Writes what waits and closes the file. The rows in memory stay. Harmless twice."""
        if self._file is not None:
            self.write_some(self.count)
            self._file.close()
            self._file = self._writer = None

    def _row(self, number: int) -> FrameRow:
        return FrameTable(self._packed, self._words).row(number % self._kept)


class _RowWriter:
    """Rows as lines; remembers the line before, for the intervals."""

    def __init__(self, file: TextIO) -> None:
        self._csv = csv.writer(file, lineterminator="\n")
        self._csv.writerow(HEADER)
        self._process = os.getpid()
        self._first_ns: int | None = None
        self._before: FrameRow | None = None

    def write(self, row: FrameRow) -> None:
        if self._first_ns is None:
            self._first_ns = row.swap_begin_ns
        before = self._before
        drawn = row.mode != "none"
        own: list[Any] = list(row)
        own[GPU_AT] = MISSING if row.gpu_ns is None else row.gpu_ns
        own[-1] = int(row.probe)
        self._csv.writerow([
            "twixt", self._process, "0x0", "Other", row.planned_refreshes, 0, 0,
            f"{(row.swap_begin_ns - self._first_ns) / 1e9:.7f}",
            _ms(row.present_ns - row.swap_begin_ns),
            MISSING if before is None else _ms(row.swap_begin_ns - before.swap_begin_ns),
            0, "Other",
            _ms(row.work_end_ns - row.swap_begin_ns),
            _ms(row.present_ns - row.swap_begin_ns),
            MISSING if before is None else _ms(row.present_ns - before.present_ns),
            *own,
            _ms(row.work_end_ns - row.start_ns),
            _ms(row.present_ns - row.draw_due_ns) if drawn else MISSING,
            _ms(row.present_ns - row.newest_due_ns) if drawn else MISSING,
            _ms(row.present_ns - row.used_published_ns) if drawn else MISSING,
        ])  # fmt: skip
        self._before = row


def read_log(path: str | Path) -> FrameTable:
    """The rows of a log file. Columns are found by name; ones that are not ours are passed over."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            header = next(lines, [])
            missing = [name for name in FrameRow._fields if name not in header]
            if missing:
                raise TwixtError(f"{str(path)!r} is no frame log of twixt: it lacks the column {missing[0]!r}; make one with: twixt run --log {path}")
            at = [header.index(name) for name in FrameRow._fields]
            kinds = list(KIND_OF.values())
            words = Words()
            packed = bytearray()
            cell = bytearray(PACKED.itemsize)
            for number, line in enumerate(lines, start=2):
                if len(line) < len(header):
                    continue  # the last line of a run that was killed
                try:
                    row = FrameRow(*(_read(line[i], kind) for i, kind in zip(at, kinds, strict=True)))
                except ValueError as error:
                    raise TwixtError(f"{str(path)!r}, line {number}: {error}; the file was changed or cut, make it anew") from None
                pack_into(cell, 0, row, words)
                packed += cell
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise TwixtError(f"cannot read the frame log {str(path)!r}: {reason}; make one with: twixt run --log FILE.csv") from None
    return FrameTable(np.frombuffer(packed, PACKED), words)


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.4f}"


def _read(text: str, kind: Any) -> Any:
    if kind is str:
        return text
    if text == MISSING:
        return None
    return float(text) if kind is float else bool(int(text)) if kind is bool else int(text)
