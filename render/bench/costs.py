"""What a frame costs beside its drawing (waking, clock, log), and the table of all parts' rows.

One idea: of what a frame does in Python the limit is Python's own: a call that does nothing. Waking is held
against sleeping alone, on a thread of its own, as the wait asks the system for sharper timers on its thread.

Always: a table and a JSON document hold the same figures; rows are matched with earlier ones by name and limit.
Does not measure drawing.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import twixt
from twixt.ipc.bench import Row, Say, interleaved, rounds_of
from twixt.ipc.errors import TwixtError
from twixt.ipc.figures import distribution
from twixt.ipc.plan import Plan
from twixt.render.measure.frames import FrameRow
from twixt.render.measure.log import FrameLog
from twixt.render.measure.report import machine, write_json
from twixt.render.playback import PlaybackClock
from twixt.render.wait import HybridWait

SCHEMA = "twixt-bench-1"
# A wake is measured so often that the 99th percentile is not the single worst; each after a rest like a frame's.
WAKES, WAKE_NS = 400, 4_000_000
# Rounds, and calls in a round: one call takes microseconds, and reading the clock a tenth of that.
CALL_ROUNDS, CALLS = 200, 20
# The traffic that the clock is measured with: a display and a simulation at 60 Hz, one frame ahead.
FRAME_NS = 16_666_667


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The rows of the viewer's side. share: of a whole run's rounds. say: told what is measured next."""
    say("waking")
    yield from _wakes(rounds_of(WAKES, share))
    rounds = rounds_of(CALL_ROUNDS, share)
    say("playback clock")
    yield _call("playback clock, a frame", _clock_frame(), rounds)
    say("frame log")
    log = FrameLog()
    yield _call("frame log, row kept", lambda: log.add(_ROW), rounds)
    with tempfile.TemporaryDirectory() as folder:
        file_log = FrameLog(os.path.join(folder, "log.csv"))

        def write_row() -> None:
            file_log.add(_ROW)
            file_log.write_some(1)

        yield _call("frame log, row written", write_row, rounds)
        file_log.close()


def run(
    parts: Iterable[Callable[[float, Say], Iterator[Row]]], share: float, json_file: str | None, against: str | None
) -> int:
    """Measures the rows of all `parts`, with progress on standard error; shows and writes them. The exit code."""
    from rich.console import Console

    earlier = read_earlier(against) if against else None
    with Console(stderr=True).status("measuring") as status:
        measured = [row for part in parts for row in part(share, lambda what: status.update(f"measuring: {what}"))]
    made = document(measured)
    if json_file:
        write_json(made, json_file)
    if json_file != "-":
        show(measured, made["machine"], earlier)
    return 0


def document(measured: list[Row]) -> dict[str, Any]:
    """What `--json` writes, and `--against` reads."""
    listed = [row._asdict() | {"ratio": row.ratio, "over": row.over} for row in measured]
    where = machine() | {"numpy": np.__version__}
    return {"schema": SCHEMA, "version": twixt.__version__, "machine": where, "rows": listed}


def read_earlier(path: str) -> dict[tuple[str, str], float | None]:
    """The ratios of a document written before, by name and limit of their rows. Raises TwixtError."""
    make = f"make one with: twixt bench --json {path}"
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found["schema"] != SCHEMA:
            raise TwixtError(f"{path!r} must be of the form {SCHEMA}, got {found['schema']!r}; {make}")
        return {(row["name"], row["limit_name"]): row["ratio"] for row in found["rows"]}
    except OSError as error:
        raise TwixtError(f"cannot read {path!r}: {error.strerror}; {make}") from None
    except (ValueError, KeyError, TypeError):
        raise TwixtError(f"{path!r} must be figures of a benchmark; {make}") from None


def show(measured: list[Row], where: dict[str, Any], earlier: dict[tuple[str, str], float | None] | None) -> None:
    """Prints the rows, with the ratios of an `earlier` run where there are any, and what they were measured on."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("figure", no_wrap=True)
    for heading in ("takes", "limit", "over", "ratio", *(["before"] if earlier is not None else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("the limit is", overflow="fold")
    for row in measured:
        before = [] if earlier is None else [_as_text(earlier.get((row.name, row.limit_name)))]
        figures = [_as_text(value) for value in (row.figure, row.limit, row.over, row.ratio)]
        table.add_row(Text(row.name), *figures, *before, row.unit, row.limit_name)
    console = Console(highlight=False)
    console.print(table)
    for row in measured:
        if row.note:
            console.print(Text(f"- {row.name}: {row.note}"), soft_wrap=True)
    said = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in where.items())
    console.print(Text(f"- medians; {said}", "dim"), soft_wrap=True)


def _as_text(value: float | None) -> str:
    """Three digits; the fourth of a measured time says nothing."""
    return "-" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _wakes(rounds: int) -> Iterator[Row]:
    """How late waits end: the pacer's, and sleeping alone, in turns."""
    hybrid_us, plain_us = [], []
    with ThreadPoolExecutor(1) as thread:
        wait = thread.submit(HybridWait).result()
        for _ in range(rounds):
            hybrid_us.append(thread.submit(_late_us, wait.until).result())
            plain_us.append(_late_us(_sleep_until))
    hybrid, plain = distribution(hybrid_us), distribution(plain_us)
    for name in ("p50", "p99"):
        yield Row(f"wake late, {name}", "us", hybrid[name], "time.sleep", plain[name], rounds)


def _late_us(wait_until: Callable[[int], object]) -> float:
    end_ns = time.perf_counter_ns() + WAKE_NS
    wait_until(end_ns)
    return (time.perf_counter_ns() - end_ns) / 1e3


def _sleep_until(end_ns: int) -> None:
    time.sleep(max(0, end_ns - time.perf_counter_ns()) / 1e9)


def _call(name: str, work: Callable[[], object], rounds: int) -> Row:
    taken, nothing = interleaved(rounds, work, lambda: None, calls=CALLS)
    return Row(name, "us", taken, "an empty call", nothing, rounds)


def _clock_frame() -> Callable[[], object]:
    clock = PlaybackClock()
    clock.observe(0, 0, 0)
    clock.replan(Plan(1, 0, 0, 0, 1.0))
    frame = 0

    def one_frame() -> None:
        nonlocal frame
        frame += 1
        now_ns = frame * FRAME_NS
        clock.observe(now_ns + FRAME_NS, now_ns + FRAME_NS, now_ns, 0, 1)
        clock.draw_time_ns(now_ns)

    return one_frame


_ROW = FrameRow(mode="interpolated", clock_mode="ahead", pacer_reason="the display's own interval")
