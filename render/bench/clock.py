"""How smooth each playback clock is on each trace, and what a call of it costs: `twixt bench clock`.

The figures are of the clocks alone: no window, no physics, no waiting, the same on every machine. Each is the worst of
all seeds. Only the cost of a call is measured in real time. Does not draw; `docs/playback.md` is written from here.
"""

from __future__ import annotations

import dataclasses
import json as json_format
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from twixt.ipc.errors import TwixtError
from twixt.render.playback import PREFERENCES, PlaybackClock
from twixt.render.playback.traces import SECOND, TRACES, Row, Trace
from twixt.render.playback.trial import SETTLING_NS, Figures, figures, play

SCHEMA = "twixt-bench-clock-1"
# Long enough for two changes of load and four stalls.
SECONDS = 20.0
# Of a stall, what is seen once the first one is over, and in a minute of them.
STALLS, STALL_SECONDS, STALL_SETTLING_NS = "stall 500 ms every 5 s", 60.0, 10 * SECOND
# A worst error beyond so many medians, and so many ms, is shown with the median.
RARE_FACTOR, RARE_MS = 2.0, 1.0
# Frames whose cost is measured, each with the snapshots that came before it; what a clock learns first is left out.
COST_TRACES, COST_SECONDS, COST_FIRST = ("60 Hz", "steps 20-120 ms", "net 30 Hz"), 30.0, 200

Make = Callable[[], PlaybackClock]
Say = Callable[[str], object]
CLOCKS: dict[str, Make] = {
    "newest-two": partial(PlaybackClock, "newest-two"),
    "buffered": partial(PlaybackClock, "buffered"),
    **{f"auto, {prefer}": partial(PlaybackClock, "auto", prefer) for prefer in PREFERENCES},
}


@dataclass(frozen=True)
class ClockRow:
    """One clock on one trace: the worst of all seeds. Errors and ages in ms, shares 0..1."""

    trace: str
    clock: str
    error_p99_ms: float
    error_p99_median_ms: float  # of all seeds
    age_ms: float
    held_share: float
    judder: float  # largest change of speed from frame to frame, of full speed
    reversals: int
    beyond: int  # frames drawn past the newest snapshot


def table(
    seeds: int = 12, fps: float = 60.0, seconds: float = SECONDS, settling_ns: int = SETTLING_NS,
    traces: Sequence[str] = tuple(TRACES), say: Say = str,
) -> list[ClockRow]:  # fmt: skip
    """Every trace with every clock, at `fps`. say: told what is played next."""
    rows = []
    for name in traces:
        for clock, make in CLOCKS.items():
            say(f"{name}: {clock}")
            seen = [_shown(make, TRACES[name], seed, fps, seconds, settling_ns) for seed in range(seeds)]
            rows.append(_worst(name, clock, seen))
    return rows


def stalls(seeds: int = 12, fps: float = 60.0, say: Say = str) -> list[ClockRow]:
    """A minute of stalls, counted from after the first two: what each preference buys."""
    return table(seeds, fps, STALL_SECONDS, STALL_SETTLING_NS, [STALLS], say)


def cost_us(make: Make = PlaybackClock) -> dict[str, float]:
    """Median time of one frame by trace: its snapshots observed, its draw time asked for."""
    return {name: _frame_us(make(), TRACES[name](0, COST_SECONDS)) for name in COST_TRACES}


def markdown(rows: Sequence[ClockRow]) -> str:
    """A table: a line a trace, a column a clock; error p99 / age / held / judder."""
    clocks = list(dict.fromkeys(row.clock for row in rows))
    lines = ["| trace | " + " | ".join(clocks) + " |", "|---" * (len(clocks) + 1) + "|"]
    by_place = {(row.trace, row.clock): row for row in rows}
    for trace in dict.fromkeys(row.trace for row in rows):
        cells = [_cell(by_place[trace, clock]) for clock in clocks]
        lines.append(f"| {trace} | " + " | ".join(cells) + " |")
    broken = [row for row in rows if row.reversals or row.beyond]
    said = [f"{row.clock} on {row.trace}: {row.reversals} reversals, {row.beyond} beyond" for row in broken]
    lines += ["", "Reversals and frames beyond the newest snapshot: " + ("; ".join(said) or "none") + "."]
    return "\n".join(lines)


def document(rows: Sequence[ClockRow], stall_rows: Sequence[ClockRow], seeds: int, fps: float) -> str:
    """`docs/playback.md`."""
    return PAGE.format(
        seeds=seeds, fps=f"{fps:g}", seconds=f"{SECONDS:g}", settling=SETTLING_NS // SECOND, table=markdown(rows),
        stall_seconds=f"{STALL_SECONDS:g}", stall_settling=STALL_SETTLING_NS // SECOND, stalls=markdown(stall_rows),
    )  # fmt: skip


def run(json: bool = False, seeds: int = 12, out: str | None = None, fps: float = 60.0) -> int:
    """Plays all, with progress on standard error; shows the tables, or JSON; writes `out`. The exit code.

    TwixtError where `out` cannot be written: said before anything is played.
    """
    from rich.console import Console

    if seeds < 1:
        raise TwixtError(f"seeds must be >= 1, got {seeds}")
    folder = os.path.dirname(os.path.abspath(out)) if out else ""
    if folder and not os.access(folder, os.W_OK):
        raise TwixtError(f"cannot write {out}: {folder} is no folder that can be written to; give another --out")
    with Console(stderr=True).status("playing") as status:
        say: Say = lambda what: status.update(f"playing {seeds} seeds of {what}")  # noqa: E731
        rows, stall_rows = table(seeds, fps, say=say), stalls(seeds, fps, say)
        status.update("measuring what a call costs")
        costs = cost_us()
    if out:
        with open(out, "w", encoding="utf-8") as file:
            file.write(document(rows, stall_rows, seeds, fps))
    if json:
        json_format.dump(_as_json(rows, stall_rows, costs, seeds, fps), sys.stdout, indent=1)
        print()
    else:
        _show(rows, stall_rows, costs, seeds, fps)
    return 0


def _shown(make: Make, trace: Trace, seed: int, fps: float, seconds: float, settling_ns: int) -> Figures:
    rows = trace(seed, seconds)
    return figures(play(make(), rows, seed, fps), rows, settling_ns)


def _worst(trace: str, clock: str, seen: Sequence[Figures]) -> ClockRow:
    return ClockRow(
        trace, clock,
        error_p99_ms=max(figure.error_p99_ms for figure in seen),
        error_p99_median_ms=statistics.median(figure.error_p99_ms for figure in seen),
        age_ms=max(figure.age_mean_ms for figure in seen),
        held_share=max(figure.held_share for figure in seen),
        judder=max(figure.judder_max for figure in seen),
        reversals=sum(figure.reversals for figure in seen),
        beyond=sum(figure.beyond for figure in seen),
    )  # fmt: skip


def _cell(row: ClockRow) -> str:
    return f"{_error(row)} / {row.age_ms:.1f} / {row.held_share:.1%} / {row.judder:.2f}"


def _error(row: ClockRow) -> str:
    """With the median where one seed among many is far worse: a rare event then, and not the clock's usual."""
    rare = row.error_p99_ms > RARE_FACTOR * row.error_p99_median_ms + RARE_MS
    return f"{row.error_p99_ms:.2f}" + (f" (median {row.error_p99_median_ms:.2f})" if rare else "")


def _frame_us(clock: PlaybackClock, rows: list[Row]) -> float:
    arrivals, taken, costs = sorted(rows, key=lambda row: row.arrival_ns), 0, []
    interval_ns = SECOND // 60
    for present_ns in range(arrivals[0].arrival_ns, rows[-1].due_ns, interval_ns):
        new = []
        while taken < len(arrivals) and arrivals[taken].arrival_ns <= present_ns:
            new.append(arrivals[taken])
            taken += 1
        start_ns = time.perf_counter_ns()
        for row in new:
            clock.observe(row.sim_ns, row.due_ns, row.arrival_ns)
        clock.draw_time_ns(present_ns)
        costs.append(time.perf_counter_ns() - start_ns)
    return statistics.median(costs[COST_FIRST:]) / 1e3


def _as_json(
    rows: Sequence[ClockRow], stall_rows: Sequence[ClockRow], costs: dict[str, float], seeds: int, fps: float
) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "conditions": {"seeds": seeds, "fps": fps, "seconds": SECONDS, "stall_seconds": STALL_SECONDS},
        "rows": [dataclasses.asdict(row) for row in rows],
        "stalls": [dataclasses.asdict(row) for row in stall_rows],
        "cost_us": costs,
    }  # fmt: skip


def _show(
    rows: Sequence[ClockRow], stall_rows: Sequence[ClockRow], costs: dict[str, float], seeds: int, fps: float
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    titles = (
        (rows, f"The worst of {seeds} seeds at {fps:g} fps"),
        (stall_rows, f"A minute of stalls, the first {STALL_SETTLING_NS // SECOND} s left out"),
    )
    for shown, title in titles:
        grid = Table("trace", "clock", "error p99 ms", "age ms", "held", "judder", title=title, title_justify="left")
        for number, row in enumerate(shown):
            grid.add_row(
                row.trace if number % len(CLOCKS) == 0 else "", row.clock, _error(row), f"{row.age_ms:.1f}",
                f"{row.held_share:.1%}", f"{row.judder:.2f}", end_section=(number + 1) % len(CLOCKS) == 0,
            )  # fmt: skip
        console.print(grid)
    said = ", ".join(f"{cost:.0f} us ({name})" for name, cost in costs.items())
    console.print(f"one frame of the clock, median, its snapshots observed: {said}")


PAGE = """\
# How smooth each playback clock is

Written by `twixt bench clock --out docs/playback.md`; type that to make it again (a minute). The worst of {seeds} seeds,
{fps} frames a second, {seconds} s each, the first {settling} s left out. In each cell: **error p99** in ms / **age** in
ms / **held** / **judder**; the median error too where one seed had a rare event that the others had not.

- *error*: |simulated time drawn since the frame before - what physics held in that time|; physics' rate is its mean
  over the second around the frame.
- *age*: how long ago what is drawn was due: the latency that the clock adds, mean.
- *held*: share of the frames that show the same instant as the frame before while physics advances.
- *judder*: the largest change of speed from one frame to the next; 1 is a stop within one frame.

{table}

The cost of each preference for stalls: {stall_seconds} s, the first {stall_settling} s (two stalls) left out.

{stalls}

## The traces

- **ahead 60 Hz**: published one step before it is due, as twixt's physics does; **60 Hz, 90 Hz, 20 Hz**: published when
  due, later by timer jitter (0.3 or 4 ms). One interval of age is the least with which the next snapshot is there.
- **every step 41 ms**: physics cannot keep up; simulated time is dilated evenly. **steps 20-120 ms**: each step another
  length, at random. Even the true mean speed errs by 1 ms there: nobody knows the half second to come.
- **load comes and goes**: 1 ms steps, 41 ms steps, 1 ms steps. Error at the change itself cannot be avoided: it is known
  only when the first slow step is over (3.9 ms at best). **found late**: the same while due instants keep the plan for
  some steps, until physics knows that it is overloaded.
- **net 30 Hz, net 10 Hz**: 60-100 ms of delay, snapshots may overtake each other, 5 % are lost. Age covers single
  losses; two in a row come too seldom to pay for, and are seen as one stop.
- **stall**: nothing for half a second, then all at once. A stall is held (`--prefer latency`), braked into and started
  from within 33 ms of room (`balanced`), or covered by as much latency for minutes (`smooth`: only the first one shows).

`newest-two` plays between the two newest snapshots, one interval late. `buffered` keeps a fixed delay and corrects it at
2 % and 4 %, as network games do; what a stall held up it jumps over.
"""
