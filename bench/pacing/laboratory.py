"""Plays every contestant on every display with every work trace, then checks the targets: `python -m bench pacing`. A
contestant is a pacer, or an algorithm for comparison. A work trace has the cost of each frame.

Rows are means of all seeds. The page, the plot, the table and the JSON document have the same rows.

There are two more results. The first is the time of the pacer's own calls per frame. It is the only figure in real
time. It matters because a slow pacer delays its own frames, most of all when it replays its history. The second is a
CSV file of one run, frame by frame. With this file, a missed target can be examined. In the file, `drawn_for` is the
instant for which the frame was drawn. `seen` is the instant at which the model display showed the frame. `error` is
the error as defined in `play`. All three are in ms of virtual time.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bench.pacing import cases
from bench.pacing.cases import CONTESTANTS, ORACLE, TWIXT, CaseRow, LaboratoryResults
from bench.pacing.displays import ModelDisplay
from bench.pacing.pacing_page import draw, page, shown
from bench.pacing.play import (
    Contestant,
    Figures,
    NeverWiden,
    PlayedFrame,
    best,
    errors_ms,
    figures,
    mean,
    play,
    twixt_pacer,
)
from bench.pages import Results, show
from twixt.cli.progress import Say, progress
from twixt.ipc.config.files import check_file
from twixt.ipc.errors import FAILED, FINISHED, TwixtError
from twixt.render.pacing import Refresh

DISPLAY, WORK = cases.BLOCKING, "evening"
SETTLED_FRAMES = 60


class _Timed:
    """A contestant that measures the time of its own calls. spent_ns: total time of the calls in each frame, in ns."""

    def __init__(self, pacer: Contestant) -> None:
        self._pacer, self.spent_ns = pacer, list[int]()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._pacer, name)

        def timed(*values: Any) -> Any:
            begin_ns = time.perf_counter_ns()
            found = call(*values)
            spent_ns = time.perf_counter_ns() - begin_ns
            if name == "next_frame":
                self.spent_ns.append(spent_ns)
            elif name != "display_reported":
                self.spent_ns[-1] += spent_ns
            return found

        return timed


def call_cost() -> str:
    """Text that tells the cost of the pacer's calls in ten virtual seconds of the work trace "evening"."""
    timed: list[_Timed] = []

    def make_timed(display: ModelDisplay, refresh: Refresh) -> Contestant:
        timed.append(_Timed(twixt_pacer(display, refresh)))
        return timed[0]

    play(make_timed, cases.SHAPES[DISPLAY].made(0), cases.ALL_WORKS[WORK](0), cases.SECONDS)
    us = sorted(spent_ns / 1e3 for spent_ns in timed[0].spent_ns[SETTLED_FRAMES:])
    return (
        f"the pacer's calls of one frame: median {us[len(us) // 2]:.0f} us, p99 {us[int(0.99 * len(us))]:.0f}, "
        f"longest {us[-1]:.0f}"
    )


COLUMNS = (
    "frame", "start", "work_end", "swap_begin", "swap_end", "fence_said", "drawn_for", "seen", "error", "interval",
    "refreshes", "reason",
)  # fmt: skip


def write_frames(display: str, work: str, seed: int, seconds: float, path: str) -> None:
    """Plays one run of the pacer, and writes its frames as CSV at `path`. Raises TwixtError if the file cannot be
    written."""
    seen = play(twixt_pacer, cases.SHAPES[display].made(seed), cases.ALL_WORKS[work](seed), seconds, seed)
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(COLUMNS)
            for number, (frame, error_ms) in enumerate(zip(seen, [0.0, *errors_ms(seen)], strict=True)):
                rows.writerow(_frame_row(number, frame, error_ms))
    except OSError as error:
        raise TwixtError(f"cannot write the frames {path!r}: {error.strerror}; give another --frames") from None


def _frame_row(number: int, frame: PlayedFrame, error_ms: float) -> list[object]:
    instants_ns = (
        frame.start_ns, frame.work_end_ns, frame.swap_begin_ns, frame.swap_end_ns, frame.presented_ns, frame.drawn_ns,
        frame.visible_ns, error_ms * 1e6, frame.interval_ns,
    )  # fmt: skip
    in_ms = ("" if ns is None else f"{ns / 1e6:.3f}" for ns in instants_ns)
    return [number, *in_ms, frame.refreshes, frame.reason]


SCHEMA = "twixt-bench-pacing-1"


class LaboratoryOptions(NamedTuple):
    seeds: int = 10
    first_seed: int = 0
    quick: bool = False
    displays: tuple[str, ...] = ()  # names of the displays to play; if there are no names, all displays are played
    works: tuple[str, ...] = ()
    frames: str | None = None  # CSV file for the frames of the first display, work trace and seed
    fail: bool = False

    @property
    def all_seeds(self) -> range:
        """Seeds to play. Each seed generates its own trace."""
        return range(self.first_seed, self.first_seed + self.seeds)

    @property
    def seconds(self) -> float:
        return cases.QUICK_SECONDS if self.quick else cases.SECONDS


def run(results: Results, **chosen: Any) -> int:
    """Plays all cases, with progress on standard error. Shows and writes the results, and returns the exit code.

    chosen: values of `LaboratoryOptions`. Raises TwixtError, before anything is played, if a name is unknown or a file
    cannot be written.
    """
    choice = LaboratoryOptions(**chosen)
    _check(choice)
    results.check_files()
    begin_s = time.monotonic()
    with progress() as say:
        found = played(choice, lambda case: say(f"playing {choice.seeds} seeds of {case}"))
    if results.is_shown:
        load = f"played in {time.monotonic() - begin_s:.0f} s, load {os.getloadavg()[0]:.1f}"
        show(*shown(found), call_cost(), load)
    results.write(document(found, results.command), page=page(found), draw=lambda path: draw(found, path))
    if choice.frames:
        write_frames(found.rows[0].display, found.rows[0].work, choice.first_seed, found.seconds, choice.frames)
    return FAILED if choice.fail and not all(target.is_met for target in found.targets) else FINISHED


def _check(choice: LaboratoryOptions) -> None:
    for flag, names, known in (
        ("--display", choice.displays, cases.SHAPES),
        ("--work", choice.works, cases.works(choice.quick)),
    ):
        for name in names:
            if name not in known:
                raise TwixtError(f'there is no {flag[2:]} "{name}" to play; {flag} takes: {"; ".join(known)}')
    if choice.frames is not None:
        check_file("--frames", choice.frames)


def played(choice: LaboratoryOptions, say: Say = str) -> LaboratoryResults:
    rows = list(_rows(choice, say))
    costs = {(row.display, row.work): row.figures for row in rows if row.contestant == TWIXT}
    targets, changes = list(cases.of_costs(costs)), []
    if not (choice.displays or choice.works):
        trials = list(cases.of_trials(twixt_pacer, choice.all_seeds, say))
        targets = [*trials, *cases.of_changes(twixt_pacer, choice.all_seeds, say), *targets]
        changes = [] if choice.quick else list(_changes(choice, say))
    return LaboratoryResults(rows, targets, changes, choice.seeds, choice.seconds)


def document(found: LaboratoryResults, command: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "command": command,
        "conditions": {"seeds": found.seeds, "seconds": found.seconds, "time": "virtual"},
        "rows": [_row(row) for row in found.rows],
        "changes": [_row(row) for row in found.changes],
        "targets": [target._asdict() | {"is_met": target.is_met} for target in found.targets],
    }


def _row(row: CaseRow) -> dict[str, Any]:
    named = {"display": row.display, "work": row.work, "contestant": row.contestant}
    return named | {name: round(value, 5) for name, value in row.figures._asdict().items()}


def _rows(choice: LaboratoryOptions, say: Say) -> Iterator[CaseRow]:
    for display in (name for name in cases.SHAPES if not choice.displays or name in choice.displays):
        # The other contestants know the true visible instants. So only the pacer plays on displays with fences or
        # reports.
        contestants = CONTESTANTS if "," not in display else (TWIXT,)
        for work in cases.works(choice.quick):
            if not choice.works or work in choice.works:
                say(f"{display}: {work}")
                for contestant in contestants:
                    runs = [_figures(contestant, display, work, seed, choice.seconds) for seed in choice.all_seeds]
                    yield CaseRow(display, work, contestant, mean(runs))


def _figures(contestant: str, display_name: str, work_name: str, seed: int, seconds: float) -> Figures:
    display, work = cases.SHAPES[display_name].made(seed), cases.ALL_WORKS[work_name](seed)
    if contestant == ORACLE:
        return best(display, work, seconds, seed)[1]
    make_contestant = twixt_pacer if contestant == TWIXT else NeverWiden
    return figures(play(make_contestant, display, work, seconds, seed), display)


def _changes(choice: LaboratoryOptions, say: Say) -> Iterator[CaseRow]:
    for display in (*cases.CHANGED_ON, *cases.CHANGED_UNSEEN_ON):
        for name in cases.CHANGES:
            say(f"{name} on {display}")
            runs = [cases.changed(twixt_pacer, name, display, seed) for seed in choice.all_seeds]
            yield CaseRow(display, name, TWIXT, mean([figures(run.seen, run.display, run.change_ns) for run in runs]))
