"""Measures whether viewers deliver each event once, in order, in its frame: `python -m bench events`.

The cases: three viewers under every trouble, one of them late and one split; a viewer that is stopped; a reset; and a
million events a second. Exit code 1 means that a promise did not hold.

Always: progress goes to standard error. Ctrl-C ends the measurement, and the figures so far are shown. A failed run is
reported, and its promises count as broken.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bench.events.deliveries import LATE_MS, UNKNOWN, Deliveries
from bench.events.event_runs import COUNTED, EXACT, Action, Case, CaseRun, Viewer, ViewerRun, measured
from bench.pages import CUT_SHORT, Block, Notes, Results, Table, TableColumn, collected, document_of
from bench.screens import Screen, screen
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED
from twixt.ipc.ring.events import SLOTS
from twixt.render.measure.report import machine

SCHEMA = "twixt-events/1"
TROUBLE = ("--drop", "20", "--delay", "80+-20", "--stall", "300@7")
PAUSE = "space wait period period period wait space"
# Events a second at which the ring has no room for a stop of 10 s, and at which it has none for two frames.
MANY_HZ, MILLION_HZ = 10_000, 1_000_000


def cases(seconds: float) -> dict[str, Case]:
    """All cases, by their names on the command line. seconds: length of the first one; the others are shorter."""
    plain, split, late = Viewer("keys"), Viewer("split", options=(("split", "none,auto"),)), Viewer("late", 1 / 3)
    actions = (
        Action(0.08, 0, PAUSE),
        Action(0.15, 0, "bracketleft bracketleft wait wait bracketright bracketright"),
        *(Action(0.25 + 0.01 * turn, 0, "i") for turn in range(10)),  # through all methods
        Action(0.45, 1, PAUSE),
        *(Action(0.55 + 0.02 * turn, 0, "c") for turn in range(4)),  # through all clocks
        Action(0.7, 1, "bracketright wait bracketleft"),
        Action(0.8, 2, PAUSE),
    )
    stop = (Action(0.2, 0, "stop"),)
    short = max(4.0, seconds / 4)
    both, one = (Viewer("stopped"), Viewer("other")), (Viewer("plain"),)
    reset = (Action(0.5, 0, "r"),)
    return {
        "trouble": Case("three viewers", seconds, (plain, split, late), trouble=TROUBLE, actions=actions),
        "stop": Case("stopped for 10 s", 20.0, both, actions=stop),
        "overflow": Case("stopped, 10,000/s", 20.0, both, MANY_HZ, 0, actions=stop, promise=COUNTED),
        "reset": Case("reset", short, one, actions=reset, trouble=TROUBLE, promise=COUNTED),
        "million": Case("a million/s", short, one, MILLION_HZ, 0, spread=False, promise=COUNTED),
    }


class Row(NamedTuple):
    """A viewer of a run."""

    run: CaseRun
    viewer: ViewerRun

    @property
    def figures(self) -> Deliveries | None:
        return self.viewer.figures

    def late_at(self, bar: int) -> int | None:
        """Number of events in a bar of the histogram."""
        return None if self.figures is None else self.figures.late_ms[bar]

    @property
    def broken(self) -> list[str]:
        """Promises that did not hold for this viewer."""
        figures, lost, reset = self.viewer.figures, self.viewer.lost, self.viewer.reset
        if figures is None:
            return [self.viewer.failure]
        counted = (lost or 0) + (reset or 0) + self.viewer.unpassed
        promises = {
            "once, in order": not figures.is_disordered,
            "in its frame": figures.is_in_time or self.viewer.unpassed > 0,
            "none missing": self.run.case.promise != EXACT or (not figures.missing and not lost),
            "missing ones are counted": figures.missing == counted,
            "said once": len([line for line in self.viewer.notices if "were lost" in line]) == (1 if lost else 0),
        }
        return [name for name, holds in promises.items() if not holds]

    def to_json(self) -> dict[str, Any]:
        """Case, viewer and figures, in one flat dict."""
        figures = self.figures.to_json() if self.figures is not None else {}
        counts = {
            "lost": self.viewer.lost,
            "reset": self.viewer.reset,
            "unpassed": self.viewer.unpassed,
            "broken": self.broken,
        }
        return {"case": self.run.case.name, "viewer": self.viewer.viewer, **figures, **counts}


def _figure(title: str, read: Callable[[Deliveries], object], form: str) -> TableColumn:
    return TableColumn(title, lambda row: None if row.figures is None else read(row.figures), form)


COLUMNS = (
    TableColumn("run", lambda row: row.run.case.name),
    TableColumn("viewer", lambda row: row.viewer.viewer),
    TableColumn("emitted", lambda row: row.run.made, ",d"),
    TableColumn("dropped", lambda row: row.run.dropped, ",d"),
    _figure("to deliver", lambda of: of.expected, ",d"),
    _figure("delivered", lambda of: of.delivered, ",d"),
    _figure("missing", lambda of: of.missing, ",d"),
    TableColumn("lost", lambda row: row.viewer.lost, ",d"),
    TableColumn("reset", lambda row: row.viewer.reset, ",d"),
    TableColumn("not passed", lambda row: row.viewer.unpassed, ",d"),
    _figure("twice, unordered, foreign, damaged", lambda of: of.twice + of.unordered + of.foreign + of.damaged, ",d"),
    _figure("late p50, ms", lambda of: of.late_p50_ms, ".1f"),
    _figure("p99", lambda of: of.late_p99_ms, ".1f"),
    _figure("most", lambda of: of.late_max_ms, ".1f"),
    _figure("in its frame, %", lambda of: in_its_frame(of), ".2f"),
    _figure("within an interval, %", lambda of: of.within_frame, ".1f"),
    TableColumn("promises", lambda row: "BROKEN: " + ", ".join(row.broken) if row.broken else "hold", wraps=True),
)
LEGEND = (
    "emitted: number of events that the world emitted; dropped: number of events that twixt discarded, "
    "because their step had too many events",
    "to deliver: number of events between the first and the last draw time of the viewer",
    "lost, reset: counts that the viewer reports; not passed: number of events for which the viewer did not call "
    "the function, because the function was too slow",
    "late: time from the event's instant to the draw time of its frame, in ms of display time",
    "in its frame: share of the events that were delivered in the right frame; this is the first frame at or after "
    "the event's instant that could read the event",
    "within an interval: share of the events that were at most one frame interval late; the other events were "
    "later, because the draw time jumped or ran fast after a stall or a still picture",
)


def in_its_frame(figures: Deliveries) -> float | None:
    """Share of the events that were delivered in their frame, in percent; None if frames are not known."""
    count = sum(figures.late_frames.values())
    return 100 * figures.late_frames.get(0, 0) / count if count and UNKNOWN not in figures.late_frames else None


def histogram(rows: Sequence[Row]) -> Table:
    """Number of events by their lateness, a column for each viewer of the first case."""
    first = [row for row in rows if row.figures is not None and row.run is rows[0].run]
    bars = [f"up to {end} ms" for end in LATE_MS] + [f"more than {LATE_MS[-1]} ms"]
    columns = [TableColumn("late", lambda bar: bars[bar])]
    for row in first:
        columns.append(TableColumn(row.viewer.viewer, row.late_at, ",d"))
    return Table(columns, range(len(bars)), "Lateness, number of events")


def run(results: Results, seconds: float, only: tuple[str, ...]) -> int:
    """Runs all cases. Shows and writes the results, and returns the exit code. Raises TwixtError before anything is
    measured."""
    results.check_files()
    chosen = [case for name, case in cases(seconds).items() if name in only]
    with screen("xvfb") as shown:
        runs, interrupted = collected(lambda say: _runs(chosen, shown, say), is_logged=True)
    broken = write_results(runs, results, _conditions(runs, shown.about) | (CUT_SHORT if interrupted else {}))
    return INTERRUPTED if interrupted else FAILED if broken else FINISHED


def broken_of(run: CaseRun) -> list[str]:
    """Promises of physics that did not hold in a run."""
    if run.failure:
        return [run.failure]
    said = [line for line in run.notices if "were dropped" in line]
    promises = {
        "physics counts each event": run.made == (run.emitted or 0) + (run.dropped or 0),
        "physics says once that it drops events": len(said) == (1 if run.dropped else 0),
        "no event is dropped": run.case.promise != EXACT or not run.dropped,
    }
    return [name for name, holds in promises.items() if not holds]


def write_results(runs: Sequence[CaseRun], results: Results, where: dict[str, Any]) -> bool:
    """Shows the figures and writes the files. Returns True if a promise is broken. Raises TwixtError."""
    rows = [Row(run, viewer) for run in runs for viewer in run.viewers]
    broken = [f"{run.case.name}: BROKEN: {', '.join(lines)}" for run in runs if (lines := broken_of(run))]
    told = [line for run in runs for line in _told(run)]
    document = document_of(SCHEMA, results.command, where, rows, [])
    free = where["free_cores_before"]
    conditions = (
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; cores free before the "
        "runs: " + ("unknown" if free is None else f"{free[0]:.2f} to {free[1]:.2f}")
    )
    table, notes = Table(COLUMNS, rows), Notes([*LEGEND, *told, conditions, *broken])
    late = [histogram(rows)] if rows else []
    heading = "Number of events by their lateness, in the first run of the table:"
    rates = [_rate(run) for run in runs if not run.failure]
    page: list[Block] = [f"Made by `{results.command}`.", table, Notes([*LEGEND, *rates, conditions, *broken])]
    page += [heading, *late]
    results.write(document, page=page, shown=[table, *late, notes])
    return bool(broken or any(row.broken for row in rows))


def _rate(run: CaseRun) -> str:
    return f"{run.case.name}: {run.made / run.case.seconds:,.0f} events a simulated second in {run.wall_s:.0f} s of wall time"


def _told(run: CaseRun) -> Iterator[str]:
    if not run.failure:
        yield _rate(run)
    for row in (Row(run, viewer) for viewer in run.viewers):
        figures = row.figures
        if figures is not None and (figures.jumped or figures.emitted_late):
            yield (
                f"{run.case.name}, {row.viewer.viewer}: {figures.jumped:,} events were later than an interval, because the draw "
                f"time jumped; {figures.emitted_late:,} were emitted after the picture had passed their instant"
            )


def _conditions(runs: Sequence[CaseRun], display: str) -> dict[str, Any]:
    free = [one.free_before for one in runs if one.free_before is not None]
    return machine() | {
        "kernel": platform.release(),
        "display": display,
        "slots": SLOTS,
        "free_cores_before": [min(free), max(free)] if free else None,
    }


def _runs(chosen: Sequence[Case], display: Screen, say: Say) -> Iterator[CaseRun]:
    made = run_in_turns(chosen, lambda case: measured(case, display), len(chosen), say, lambda case: case.name)
    return (run for _, run in made)
