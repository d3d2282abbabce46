"""`twixt bench pacing`: every contestant on every display under every work, then the bars.

One idea: rows are means of all seeds; the page, the plot, the table and the JSON document hold the same rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from twixt.cli.bench.pacing import bars as checks
from twixt.cli.bench.pacing import cases
from twixt.cli.bench.pacing.bars import Bar, Say
from twixt.cli.bench.pacing.call_cost import call_cost
from twixt.cli.bench.pacing.figures import Figures, figures, mean
from twixt.cli.bench.pacing.never_widen import NeverWiden
from twixt.cli.bench.pacing.oracle import best
from twixt.cli.bench.pacing.play import landed, play
from twixt.ipc.config import check_file
from twixt.ipc.errors import TwixtError

SCHEMA = "twixt-bench-pacing-1"
NOT_MET, INTERRUPTED = 1, 130
LANDED, NEVER, ORACLE = "twixt", "never widen", "oracle"
CONTESTANTS = (LANDED, NEVER, ORACLE)


class Row(NamedTuple):
    """One contestant on one display under one work: the mean of all seeds."""

    display: str
    work: str
    contestant: str
    figures: Figures


class Found(NamedTuple):
    """What a run of the laboratory found."""

    rows: list[Row]
    bars: list[Bar]
    changes: list[Row]  # "work" is the change of mode; figures from the change on
    seeds: int
    seconds: float  # that each trace is long


class Wanted(NamedTuple):
    """What is asked for. None: not wanted."""

    seeds: int = 10
    first_seed: int = 0
    quick: bool = False
    displays: tuple[str, ...] = ()  # only these; none: all
    works: tuple[str, ...] = ()
    json_file: str | None = None
    out: str | None = None
    plot: str | None = None
    frames: str | None = None  # where each frame of the first display, work and seed is written
    fail: bool = False
    command: str = "twixt bench pacing"

    @property
    def all_seeds(self) -> range:
        """Each is a trace of its own."""
        return range(self.first_seed, self.first_seed + self.seeds)


def run(wanted: Wanted) -> int:
    """Plays all, with progress on standard error; shows and writes it. The exit code.

    TwixtError before anything is played where a name is not known or a file cannot be written.
    """
    from rich.console import Console

    from twixt.cli.bench.pacing import show

    _check(wanted)
    begin_s = time.monotonic()
    try:
        with Console(stderr=True).status("") as status:
            found = played(wanted, lambda what: status.update(f"playing {wanted.seeds} seeds of {what}"))
    except KeyboardInterrupt:
        return INTERRUPTED
    if wanted.json_file != "-":
        show.tables(found)
        show.call_cost(call_cost(landed))
        print(f"played in {time.monotonic() - begin_s:.0f} s, load {os.getloadavg()[0]:.1f}")
    _leave(found, wanted)
    return NOT_MET if wanted.fail and not all(bar.is_met for bar in found.bars) else 0


def _check(wanted: Wanted) -> None:
    for flag, named, known in (
        ("--display", wanted.displays, cases.SHAPES),
        ("--work", wanted.works, cases.works(wanted.quick)),
    ):
        for name in named:
            if name not in known:
                raise TwixtError(f'there is no {flag[2:]} "{name}" to play; {flag} takes: {"; ".join(known)}')
    for flag, path in (
        ("--json", wanted.json_file),
        ("--out", wanted.out),
        ("--plot", wanted.plot),
        ("--frames", wanted.frames),
    ):
        if path is not None:
            check_file(flag, path, is_picture=flag == "--plot")


def played(wanted: Wanted, say: Say = str) -> Found:
    """All rows and all bars."""
    rows = list(_rows(wanted, say))
    costs = {(row.display, row.work): row.figures for row in rows if row.contestant == LANDED}
    bars = list(checks.of_costs(costs))
    if not (wanted.displays or wanted.works):
        bars = [
            *checks.of_trials(landed, wanted.all_seeds, say),
            *checks.of_changes(landed, wanted.all_seeds, say),
            *bars,
        ]
    changes = list(_changes(wanted, say)) if not (wanted.displays or wanted.works or wanted.quick) else []
    return Found(rows, bars, changes, wanted.seeds, _seconds(wanted))


def document(found: Found, command: str) -> dict[str, Any]:
    """What --json writes."""
    return {
        "schema": SCHEMA,
        "command": command,
        "conditions": {"seeds": found.seeds, "seconds": found.seconds, "time": "virtual"},
        "rows": [_row(row) for row in found.rows],
        "changes": [_row(row) for row in found.changes],
        "bars": [bar._asdict() | {"is_met": bar.is_met} for bar in found.bars],
    }


def _row(row: Row) -> dict[str, Any]:
    named = {"display": row.display, "work": row.work, "contestant": row.contestant}
    return named | {name: round(value, 5) for name, value in row.figures._asdict().items()}


def _rows(wanted: Wanted, say: Say) -> Iterator[Row]:
    for display in cases.SHAPES:
        for work in cases.works(wanted.quick):
            if (not wanted.displays or display in wanted.displays) and (not wanted.works or work in wanted.works):
                say(f"{display}: {work}")
                for contestant in _contestants(display):
                    yield Row(display, work, contestant, _mean(contestant, display, work, wanted))


def _contestants(display: str) -> tuple[str, ...]:
    """The yardsticks know the truth: a fence or the display's own word tells them nothing."""
    return CONTESTANTS if "," not in display else (LANDED,)


def _mean(contestant: str, display: str, work: str, wanted: Wanted) -> Figures:
    seconds = _seconds(wanted)
    return mean([_figures(contestant, display, work, seed, seconds) for seed in wanted.all_seeds])


def _figures(contestant: str, display_name: str, work_name: str, seed: int, seconds: float) -> Figures:
    display, work = cases.SHAPES[display_name].made(seed), cases.ALL_WORKS[work_name](seed)
    if contestant == ORACLE:
        return best(display, work, seconds, seed)[1]
    enter = landed if contestant == LANDED else NeverWiden
    return figures(play(enter, display, work, seconds, seed), display)


def _changes(wanted: Wanted, say: Say) -> Iterator[Row]:
    for display in cases.CHANGED_ON:
        for name in cases.CHANGES:
            say(f"{name} on {display}")
            runs = [checks.changed(landed, name, display, seed) for seed in wanted.all_seeds]
            yield Row(display, name, LANDED, mean([figures(run.seen, run.display, run.change_ns) for run in runs]))


def _seconds(wanted: Wanted) -> float:
    return cases.QUICK_SECONDS if wanted.quick else cases.SECONDS


def _leave(found: Found, wanted: Wanted) -> None:
    from twixt.render.measure.report import write_json

    if wanted.json_file:
        write_json(document(found, wanted.command), wanted.json_file)
    if wanted.plot:
        from twixt.cli.bench.pacing.plot import draw

        draw(found, wanted.plot)
    if wanted.out:
        from twixt.cli.bench.pacing.page import write

        write(found, wanted.out, wanted.command, wanted.plot)
    if wanted.frames:
        from twixt.cli.bench.pacing.frames import write as write_frames

        display, work = (found.rows[0].display, found.rows[0].work)
        write_frames(display, work, wanted.first_seed, found.seconds, wanted.frames)
