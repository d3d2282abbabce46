"""Measures what the browser view costs the simulation and the machine: `python -m bench web_server`.

A loop, its server and pages without a browser run in three processes. In turns, the server is stopped, serves no page,
one page, or eight of which one reads nothing. So the same loop is compared with itself. Other turns measure the server
alone: its processor time for each message, its bytes, its memory, the time from publishing to arrival, and what a page
gets that was stopped for 7 s.

Always: progress goes to standard error. Ctrl-C ends the measurement, and the figures so far are shown.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench.loops.loop_process import LoopTurn
from bench.pages import CUT_SHORT, Results, collected
from bench.processes import free_cores
from bench.served.served_loops import FULL_SPEED, PACED
from bench.served.served_run import Browser, Meter, Served, memory_mb, served
from bench.served.server_figures import ages_ns, gaps_ns, woken
from bench.served.server_tables import (
    ALONE,
    BROWSER,
    EIGHT_PAGES,
    NO_PAGE,
    ONE_PAGE,
    LoopSample,
    Sample,
    ServerSample,
    StopSample,
    blocks,
    rows,
)  # fmt: skip
from twixt.cli.chromium import Chromium, find_chromium
from twixt.cli.progress import Say
from twixt.cli.turns import order_in_turn
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.report import machine

SCHEMA = "twixt-web-server/1"
LOOP_BODIES = 1_000
BODIES = (100, 1_000, 10_000)
# Numbers of bodies whose full snapshots have 19 KB and 640 KB.
STOP_BODIES = (300, 10_000)
# A turn of a paced loop is longer by this factor, because it has few steps. So is a turn of the server's figures.
LONGER = 2.0
STOP_S, BESIDE_S = 7.0, 2.0
QUICK_S, QUICK_STOP_S = 0.2, 0.5
# Number of pages, and of those that read nothing, for each condition of a loop.
PAGES = {NO_PAGE: (0, 0), ONE_PAGE: (1, 0), EIGHT_PAGES: (8, 1)}


def run(results: Results, seconds: float, turns: int, only: tuple[str, ...], chromium: bool, quick: bool) -> int:
    """Measures the groups. Shows and writes the results, and returns the exit code. Raises TwixtError before anything
    is measured."""
    results.check_files()
    if chromium:
        find_chromium()
    if quick:
        seconds, turns = QUICK_S, 1
    groups = chosen_groups(only, chromium, seconds, turns, quick)
    free: dict[str, float | None] = {}
    failures: list[str] = []

    def measured(say: Say) -> Iterator[Sample]:
        for number, (name, group) in enumerate(groups.items(), 1):
            free[name] = free_cores()
            begin = f"{number} of {len(groups)}, {name}: "
            try:
                for sample in group():
                    yield sample
                    say(begin + sample.name)
            except TwixtError as error:
                failures.append(f"{name}: {error}")

    begin_s = time.monotonic()
    samples, interrupted = collected(measured, is_logged=True)
    where = machine() | {"kernel": platform.release(), "turns": turns, "seconds_a_turn": seconds}
    where |= {"free_cores_before": free, "failures": failures, "seconds": round(time.monotonic() - begin_s, 1)}
    write_results(samples, results, where | (CUT_SHORT if interrupted else {}))
    return INTERRUPTED if interrupted else FAILED if failures or not samples else FINISHED


def chosen_groups(
    only: Sequence[str], is_browser: bool, seconds: float, turns: int, quick: bool
) -> dict[str, Callable[[], Iterator[Sample]]]:
    """Functions that measure, by their names, in the order of measurement."""
    bodies, stop_s = (BODIES[:1], QUICK_STOP_S) if quick else (BODIES, STOP_S)
    kinds = (FULL_SPEED, PACED)
    found: dict[str, Callable[[], Iterator[Sample]]] = {}
    if "loop" in only:
        found |= {f"loop, {kind}": partial(_loop, kind, seconds, turns) for kind in kinds}
    if is_browser:
        found |= {f"loop, {kind}, Chromium": partial(_loop, kind, seconds, turns, True) for kind in kinds}
    if "server" in only:
        found |= {f"server, {count:,} bodies": partial(_server, count, seconds * LONGER, turns) for count in bodies}
    if "stop" in only:
        found |= {f"stop, {count:,} bodies": partial(_stop, count, stop_s) for count in STOP_BODIES[: len(bodies)]}
    return found


def write_results(samples: Sequence[Sample], results: Results, where: dict[str, Any]) -> None:
    """Shows the figures and writes the files. Raises TwixtError."""
    shown = blocks(samples, where)
    document = {"schema": SCHEMA, "command": results.command, "conditions": where, "rows": rows(samples)}
    results.write(document, page=[f"Made by `{results.command}`.", *shown], shown=shown)


def _loop(kind: str, seconds: float, turns: int, is_browser: bool = False) -> Iterator[LoopSample]:
    """Turns of a loop under all conditions. Before and after each of them is a turn with the server stopped."""
    conditions = (BROWSER,) if is_browser else tuple(PAGES)
    turn_s = seconds * (LONGER if kind == PACED else 1)
    with ExitStack() as ends:
        run = ends.enter_context(served(kind, LOOP_BODIES))
        browser = None
        if is_browser:
            browser = Browser(ends.enter_context(Chromium()), run.link)
            browser.stop()
            ends.callback(browser.resume)
        order = [ALONE]
        for turn in range(turns):
            for condition in order_in_turn(conditions, turn):
                order += [condition, ALONE]
        for condition in order:
            yield loop_turn(run, kind, condition, turn_s, browser)


def loop_turn(run: Served, kind: str, condition: str, seconds: float, browser: Browser | None) -> LoopSample:
    """Runs a turn of a loop under a condition. Stops server and browser afterwards."""
    is_alone = condition == ALONE
    if not is_alone:
        run.resume_server()
        pages, deaf = PAGES.get(condition, (0, 0))
        run.pages.ask(do="open", count=pages, lean=True, deaf=deaf)
        if browser is not None:
            browser.resume()
        run.pages.ask(do="figures")
    else:
        run.stop_server()
    meter = Meter(run, browser)
    turn = run.loop.ask(do="turn", seconds=seconds)
    cores = meter.cores()
    arrived_ns = run.pages.ask(do="figures")["arrived_ns"]
    run.pages.ask(do="close")
    if browser is not None:
        browser.stop()
    run.stop_server()
    late_ns = turn.pop("late_ns")
    per_s = max(len(page) for page in arrived_ns) / cores.seconds if arrived_ns else None
    return LoopSample(kind, LOOP_BODIES, condition, LoopTurn(not is_alone, **turn), late_ns, cores, per_s)


def _server(bodies: int, seconds: float, turns: int) -> Iterator[ServerSample]:
    """Turns of a paced loop with 1 and 8 pages that take full or lean snapshots."""
    cases = [(is_lean, pages) for is_lean in (False, True) for pages in (1, 8)]
    with served(PACED, bodies) as run:
        for turn in range(turns):
            for is_lean, pages in order_in_turn(cases, turn):
                run.pages.ask(do="open", count=pages, lean=is_lean)
                run.pages.ask(do="figures")
                meter = Meter(run)
                run.loop.ask(do="turn", seconds=seconds)
                cores, found = meter.cores(), run.pages.ask(do="figures")
                run.pages.ask(do="close")
                ages = ages_ns(found["arrived_ns"], found["published_ns"])
                yield ServerSample(
                    bodies, is_lean, pages, found["messages"], found["bytes"], cores, memory_mb(run.server_pid), ages
                )


def _stop(bodies: int, stop_s: float) -> Iterator[StopSample]:
    """One of three pages is stopped and goes on; the others read all the time."""
    beside_s = min(BESIDE_S, stop_s)
    with served(PACED, bodies) as run:
        run.pages.ask(do="open", count=3, lean=False)
        run.pages.ask(do="figures")
        turn = run.loop.begin(do="turn", seconds=beside_s + stop_s + beside_s)
        time.sleep(beside_s)
        memory_before_mb = memory_mb(run.server_pid)
        stopped_ns = time.perf_counter_ns()
        run.pages.ask(do="deafen", page=0)
        time.sleep(stop_s)
        memory_after_mb = memory_mb(run.server_pid)
        woke_ns = run.pages.ask(do="wake", page=0)["at_ns"]
        turn()
        found = run.pages.ask(do="figures")
        arrived_ns, published_ns = found["arrived_ns"], found["published_ns"]
        before, during = (
            [gap for page in arrived_ns[1:] for gap in gaps_ns(page, *stretch)]
            for stretch in ((0, stopped_ns), (stopped_ns, woke_ns))
        )
        got = woken(arrived_ns[0], published_ns[0], woke_ns)
        yield StopSample(bodies, stop_s, got, before, during, memory_after_mb - memory_before_mb)
