"""One run frame by frame, as a table of comma-separated values: where to look when a bar is not met.

Instants in ms of virtual time; `drawn_for` is what the pacer promised, `seen` what the model did, `error` as in `figures`.
"""

from __future__ import annotations

import csv

from twixt.cli.bench.pacing import cases
from twixt.cli.bench.pacing.figures import errors_ms
from twixt.cli.bench.pacing.play import Enter, Seen, landed, play
from twixt.ipc.errors import TwixtError

COLUMNS = (
    "frame", "start", "work_end", "swap_begin", "swap_end", "fence_said", "drawn_for", "seen", "error", "interval",
    "refreshes", "reason",
)  # fmt: skip


def write(display: str, work: str, seed: int, seconds: float, path: str, enter: Enter = landed) -> None:
    """Plays that run once more and writes it. Raises TwixtError."""
    seen = play(enter, cases.SHAPES[display].made(seed), cases.ALL_WORKS[work](seed), seconds, seed)
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(COLUMNS)
            for number, (frame, error_ms) in enumerate(zip(seen, [0.0, *errors_ms(seen)], strict=True)):
                rows.writerow(_row(number, frame, error_ms))
    except OSError as error:
        raise TwixtError(f"cannot write the frames {path!r}: {error.strerror}; give another --frames") from None


def _row(number: int, frame: Seen, error_ms: float) -> list[object]:
    presented = "" if frame.presented_ns is None else _ms(frame.presented_ns)
    instants = (frame.start_ns, frame.work_end_ns, frame.swap_begin_ns, frame.swap_end_ns)
    return [
        number, *map(_ms, instants), presented, _ms(frame.drawn_ns), _ms(frame.visible_ns), f"{error_ms:.3f}",
        _ms(frame.interval_ns), frame.refreshes, frame.reason,
    ]  # fmt: skip


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f}"
