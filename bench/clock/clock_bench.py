"""Measures how smoothly each playback clock plays each trace, and the cost of a call: `python -m bench clock`.

Except for the cost of a call, the figures are the same on every machine, because there is no window, no physics
process and no waiting. Each figure is the worst of all seeds. Only the cost of a call is measured in real time. This
bench writes the figures of `docs/playback.md`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from bench.clock.traces import SECOND, SETTLING_NS, TRACES, Arrival, ClockFigures, arriving, clock_figures, play
from bench.pages import Block, Results, Table, TableColumn
from twixt.cli.progress import Say, progress
from twixt.ipc.errors import TwixtError
from twixt.render.playback import PREFERENCES, PlaybackClock

SCHEMA = "twixt-bench-clock-1"
FPS = 60.0
# Length of a trace in seconds. It is long enough for two changes of load and four stalls.
SECONDS = 20.0
# STALLS is the name of the trace of stalls, and STALL_SECONDS is its length in seconds. STALL_SETTLING_NS is the
# initial time, in ns, that is excluded from the figures. This time covers two stalls.
STALLS, STALL_SECONDS, STALL_SETTLING_NS = "stall 500 ms every 5 s", 60.0, 10 * SECOND
# If the worst error is above RARE_FACTOR * median + RARE_MS, the median of the errors of all seeds is shown beside it.
RARE_FACTOR, RARE_MS = 2.0, 1.0
# COST_TRACES are the traces for which the cost of a frame is measured. COST_SECONDS is their length in seconds.
# COST_FIRST is the number of first frames that are excluded.
COST_TRACES, COST_SECONDS, COST_FIRST = ("60 Hz", "steps 20-120 ms", "net 30 Hz"), 30.0, 200

Make = Callable[[], PlaybackClock]
CLOCKS: dict[str, Make] = {
    "newest-two": partial(PlaybackClock, "newest-two"),
    "buffered": partial(PlaybackClock, "buffered"),
    **{f"auto, {prefer}": partial(PlaybackClock, "auto", prefer) for prefer in PREFERENCES},
}


@dataclass(frozen=True)
class ClockRow:
    """Figures of one clock on one trace. Each figure is the worst of all seeds, but `reversals` and `beyond` are sums
    over all seeds."""

    trace: str
    clock: str
    error_p99_ms: float
    error_p99_median_ms: float  # median of the errors of all seeds
    age_ms: float
    held_share: float
    judder: float  # largest change of the playback speed from frame to frame, as a share of full speed
    reversals: int
    beyond: int  # number of frames drawn past the newest snapshot


def table(
    seeds: int = 12,
    fps: float = FPS,
    seconds: float | None = None,
    settling_ns: int = SETTLING_NS,
    traces: Sequence[str] = tuple(TRACES),
    say: Say = str,
) -> list[ClockRow]:
    """Figures of every clock on every trace, at `fps` frames a second. say: function that is called with the names of
    the next trace and clock."""
    rows = []
    for name in traces:
        for clock, make in CLOCKS.items():
            say(f"{name}: {clock}")
            seen = []
            for seed in range(seeds):
                arrivals = TRACES[name](seed, SECONDS if seconds is None else seconds)
                seen.append(clock_figures(play(make(), arrivals, seed, fps), arrivals, settling_ns))
            rows.append(_worst(name, clock, seen))
    return rows


def stalls(seeds: int = 12, fps: float = FPS, say: Say = str) -> list[ClockRow]:
    """Figures of every clock on a minute of stalls, without the first two stalls. These figures show the effect of
    each preference."""
    return table(seeds, fps, STALL_SECONDS, STALL_SETTLING_NS, [STALLS], say)


def cost_us(make: Make = PlaybackClock) -> dict[str, float]:
    """Median cost of one frame on each trace, in us. The cost is the time in which the clock observes new snapshots
    and computes the draw time."""
    return {name: _frame_us(make(), TRACES[name](0, COST_SECONDS)) for name in COST_TRACES}


def rows_table(rows: Sequence[ClockRow]) -> Table:
    """Table with one line per trace and one column per clock. Each cell has four figures: error in ms (99th
    percentile), mean age of the drawn state in ms, share of frames that repeat the previous draw time, and judder.
    Judder is the change of speed from frame to frame."""
    by_trace: dict[str, dict[str, ClockRow]] = {}
    for row in rows:
        by_trace.setdefault(row.trace, {})[row.clock] = row
    clocks = dict.fromkeys(row.clock for row in rows)

    def column(clock: str) -> TableColumn:
        return TableColumn(clock, lambda line: _cell(line[1][clock]))

    return Table([TableColumn("trace", lambda line: line[0]), *map(column, clocks)], list(by_trace.items()))


def broken_rules(rows: Sequence[ClockRow]) -> str:
    """Sentence that names the clocks that went backwards or drew past the newest snapshot."""
    broken = [row for row in rows if row.reversals or row.beyond]
    words = [f"{row.clock} on {row.trace}: {row.reversals} reversals, {row.beyond} beyond" for row in broken]
    return (
        "Frames that went back in time, or drew a state after the newest snapshot: "
        + ("; ".join(words) or "none")
        + "."
    )


def page(rows: Sequence[ClockRow], stall_rows: Sequence[ClockRow], seeds: int, fps: float) -> list[Block]:
    return [
        "Each cell has four figures: 99th percentile of the error in ms / age in ms / held / judder. Each figure is the "
        f"worst\nfigure of {seeds} seeds. With each seed, the clock ran for {SECONDS:g} s at {fps:g} frames a second. "
        f"The first {SETTLING_NS // SECOND} s do not count.",
        rows_table(rows),
        broken_rules(rows),
        f"The next table has the same figures for runs of {STALL_SECONDS:g} s with stalls. The first "
        f"{STALL_SETTLING_NS // SECOND} s, which have two stalls, do not count.",
        rows_table(stall_rows),
        broken_rules(stall_rows),
    ]


def run(results: Results, seeds: int = 12, fps: float = FPS) -> int:
    """Plays all traces, with progress on standard error. Shows and writes the results, and returns the exit code.

    Raises TwixtError, before anything is played, if seeds < 1 or if a file cannot be written.
    """
    if seeds < 1:
        raise TwixtError(f"seeds must be >= 1, got {seeds}")
    results.check_files()
    with progress() as status:
        say: Say = lambda trace: status(f"playing {seeds} seeds of {trace}")  # noqa: E731
        rows, stall_rows = table(seeds, fps, say=say), stalls(seeds, fps, say)
        status("measuring the cost of a call")
        costs = cost_us()
    cost = ", ".join(f"{us:.0f} us ({name})" for name, us in costs.items())
    run_length = {"seconds": SECONDS, "stall_seconds": STALL_SECONDS}
    document = {
        "schema": SCHEMA,
        "conditions": {"seeds": seeds, "fps": fps, **run_length},
        "rows": list(map(asdict, rows)),
        "stalls": list(map(asdict, stall_rows)),
        "cost_us": costs,
    }
    shown: list[Block] = [
        Table(SHOWN, rows, f"The worst of {seeds} seeds at {fps:g} fps"),
        Table(SHOWN, stall_rows, f"A minute of stalls, without the first {STALL_SETTLING_NS // SECOND} s"),
        f"median time that the clock takes for one frame, with its new snapshots: {cost}",
    ]
    results.write(document, page(rows, stall_rows, seeds, fps), shown)
    return 0


def _worst(trace: str, clock: str, seen: Sequence[ClockFigures]) -> ClockRow:
    return ClockRow(
        trace,
        clock,
        error_p99_ms=max(figure.error_p99_ms for figure in seen),
        error_p99_median_ms=statistics.median(figure.error_p99_ms for figure in seen),
        age_ms=max(figure.age_mean_ms for figure in seen),
        held_share=max(figure.held_share for figure in seen),
        judder=max(figure.judder_max for figure in seen),
        reversals=sum(figure.reversals for figure in seen),
        beyond=sum(figure.beyond for figure in seen),
    )


def _cell(row: ClockRow) -> str:
    return f"{_error(row)} / {row.age_ms:.1f} / {row.held_share:.1%} / {row.judder:.2f}"


def _error(row: ClockRow) -> str:
    """Text of the worst error in ms. If this error is far above the median, it comes from a rare event. Then the
    median is added to the text."""
    rare = row.error_p99_ms > RARE_FACTOR * row.error_p99_median_ms + RARE_MS
    return f"{row.error_p99_ms:.2f}" + (f" (median {row.error_p99_median_ms:.2f})" if rare else "")


def _frame_us(clock: PlaybackClock, rows: list[Arrival]) -> float:
    costs, first_ns = [], min(row.arrival_ns for row in rows)
    for present_ns, new in arriving(rows, range(first_ns, rows[-1].due_ns, SECOND // 60)):
        start_ns = time.perf_counter_ns()
        for row in new:
            clock.observe(row.sim_ns, row.due_ns, row.arrival_ns)
        clock.draw_time_ns(present_ns)
        costs.append(time.perf_counter_ns() - start_ns)
    return statistics.median(costs[COST_FIRST:]) / 1e3


SHOWN = (
    TableColumn("trace", lambda row: row.trace),
    TableColumn("clock", lambda row: row.clock),
    TableColumn("error p99 ms", lambda row: _error(row), right=True),
    TableColumn("age ms", lambda row: row.age_ms, ".1f"),
    TableColumn("held", lambda row: row.held_share, ".1%"),
    TableColumn("judder", lambda row: row.judder, ".2f"),
)
