"""Measures the browser view in a real Chromium: `python -m bench web`.

Each case runs a world, its server and a Chromium on an Xvfb, with a chosen link between server and browser. An empty
page is measured in the same browser before and after the page of twixt. In the cases of the screen, an observer that knows neither
page nor simulation reads the pixels of the Xvfb, of a bar that the empty page moves and of the body of `metronome`.

Always: progress goes to standard error. Ctrl-C ends the measurement, and the figures so far are shown. A failed case is
reported and has no figures.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bench.pages import CUT_SHORT, Notes, Results, Table, TableColumn, collected
from bench.processes import HERE, Process, free_cores, function_call, process
from bench.screens import Screen, mapped_screen
from bench.web.link import SERVER, Link, LinkShape, link, why_no_link
from bench.web.screen_motion import Pictures, screen_figures
from twixt.cli.chromium import find_chromium
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.report import machine
from twixt.sim.process.viewer_command import python_program, twixt_command

SCHEMA = "twixt-web/1"
SIZE_PX = (800, 600)
# Rows of the screen that the observer reads: they contain the body of `metronome`, 24 px across.
BAND_PX = (SIZE_PX[1] // 2 - 20, SIZE_PX[1] // 2 + 20)
OBSERVER = os.path.join(HERE, "tests", "end_to_end", "observer.py")
NAME = "web-bench"
WORLDS = {
    "metronome": ("metronome",),
    "runner": ("bench.view.scenes:Runner",),
    "balls": ("balls", "--set", "count=1000"),
}
LINKS = {
    "loopback": None,
    "80+-20 ms": LinkShape(delay_ms=80, jitter_ms=20),
    "0.1 % loss": LinkShape(delay_ms=20, loss=0.001),
    "5 % loss": LinkShape(delay_ms=20, loss=0.05),
    "20 Mbit/s": LinkShape(delay_ms=20, mbit_s=20),
}
RATES_HZ = (60, 20, 5)
# Time from the first picture to the measured stretch, in seconds: the clock settles, and the window of credit grows.
START_UP_S, QUICK_START_UP_S, QUICK_S = 5.0, 0.5, 1.0
# Time in seconds after the planned length of a run. A run that has not ended by then counts as hanging.
TIMEOUT_S = 150.0
DISTINCT_WANTED, ERROR_BEYOND_MS = 0.99, 2.0


@dataclass(frozen=True)
class Case:
    """A run. rate_hz: rate of physics. is_watched: True if the observer reads the screen."""

    world: str
    rate_hz: int
    link: str
    is_watched: bool = False

    @property
    def name(self) -> str:
        return f"{self.world}, {self.rate_hz} Hz, {self.link}" + (", by the screen" if self.is_watched else "")


@dataclass(frozen=True)
class Run:
    """Figures of a case. page: those of the page's log (`page_run.figures`). tcp_bytes_per_s: bytes that TCP carried to
    the browser; None on the loopback. screen, bar: figures of the pictures of the page and of the empty page's bar.
    failure: reason why there are no figures. free_before: number of free cores before the run."""

    case: Case
    page: dict[str, Any] = field(default_factory=dict)
    tcp_bytes_per_s: float | None = None
    screen: dict[str, Any] | None = None
    bar: dict[str, Any] | None = None
    failure: str = ""
    free_before: float | None = None

    def of(self, *path: str) -> Any:
        """A figure of the page's log, such as `of("error_ms", "p99")`."""
        value: Any = self.page
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    @property
    def missed(self) -> list[str]:
        """Names of the targets that this run does not meet."""
        if self.failure:
            return [self.failure]
        error_ms, empty_ms = self.of("error_ms", "p99"), self.of("empty_error_ms", "p99")
        met = {
            "distinct": (self.of("distinct") or 0.0) >= DISTINCT_WANTED,
            "reversals": self.of("reversals") == 0,
            "error": error_ms is not None and error_ms <= empty_ms + ERROR_BEYOND_MS,
        }
        if self.case.is_watched:
            met["screen"] = (
                self.screen is not None
                and self.bar is not None
                and self.screen["error_p99_ms"] <= self.bar["error_p99_ms"] + ERROR_BEYOND_MS
            )
        return [name for name, is_met in met.items() if not is_met]

    def to_json(self) -> dict[str, Any]:
        return {
            "world": self.case.world,
            "rate_hz": self.case.rate_hz,
            "link": self.case.link,
            **self.page,
            "tcp_bytes_per_s": self.tcp_bytes_per_s,
            "screen": self.screen,
            "bar": self.bar,
            "missed": self.missed,
            "free_cores_before": self.free_before,
        }


def _page(title: str, form: str, *path: str) -> TableColumn:
    return TableColumn(title, lambda run: run.of(*path), form)


def _seen(title: str, side: str, name: str, form: str) -> TableColumn:
    return TableColumn(title, lambda run: (getattr(run, side) or {}).get(name), form)


def _kilobytes(value: float) -> str:
    return f"{value / 1e3:,.0f}"


_CASE = (
    TableColumn("world", lambda run: run.case.world),
    TableColumn("physics, Hz", lambda run: run.case.rate_hz, "d"),
    TableColumn("link", lambda run: run.case.link),
)
_TARGETS = TableColumn("targets", lambda run: "NOT MET: " + ", ".join(run.missed) if run.missed else "met", wraps=True)
COLUMNS = (
    *_CASE,
    _page("fps", ".1f", "fps"),
    _page("distinct", ".3f", "distinct"),
    _page("reversals", "d", "reversals"),
    _page("error p99, ms", ".2f", "error_ms", "p99"),
    _page("empty page, ms", ".2f", "empty_error_ms", "p99"),
    _page("age p50, ms", ".1f", "age_ms", "p50"),
    _page("age p99, ms", ".1f", "age_ms", "p99"),
    _page("bound, ms", ".1f", "age_bound_ms"),
    _page("snapshots/s", ".1f", "snapshots_per_s"),
    TableColumn("stream, kB/s", lambda run: run.of("stream_bytes_per_s"), _kilobytes, right=True),
    TableColumn("TCP, kB/s", lambda run: run.tcp_bytes_per_s, _kilobytes, right=True),
    _page("first picture, s", ".1f", "first_picture_s"),
    _TARGETS,
)
SCREEN_COLUMNS = (
    *_CASE,
    _seen("pictures", "screen", "pictures", "d"),
    _seen("interval p1, ms", "screen", "interval_p1_ms", ".1f"),
    _seen("p99", "screen", "interval_p99_ms", ".1f"),
    _seen("error p50, ms", "screen", "error_p50_ms", ".2f"),
    _seen("p99, ms", "screen", "error_p99_ms", ".2f"),
    _seen("empty page p50, ms", "bar", "error_p50_ms", ".2f"),
    _seen("empty page p99, ms", "bar", "error_p99_ms", ".2f"),
    _seen("reversals", "screen", "reversals", "d"),
    _page("by the log p99, ms", ".2f", "error_ms", "p99"),
    _TARGETS,
)
LEGEND = (
    "distinct: share of the frames that show another simulated time than the frame before; error: animation error in ms "
    "of display time, from the page's frame log, by the timestamps of its frames",
    "empty page: by how much the frame intervals of an empty page in the same browser differ from their median, p99",
    "age: from the due instant of the drawn state to its frame; bound: largest error of the page's clock offset, by half "
    "of the least round trip",
    "stream: bytes of messages that the page received; TCP: bytes that TCP carried to the browser, with retransmissions "
    "and the page itself",
    f"targets: distinct >= {DISTINCT_WANTED}, no reversals, error at most {ERROR_BEYOND_MS:g} ms (p99) beyond the empty "
    "page's",
)
SCREEN_LEGEND = (
    "by the screen: another process reads the pixels each millisecond and knows neither page nor simulation; the error "
    "of a picture is its way at constant speed minus the time since the picture before, without the cuts; the empty page "
    "moves a bar by its timestamps",
)


def cases(worlds: Sequence[str], links: Sequence[str], rates_hz: Sequence[int], is_screen_wanted: bool) -> list[Case]:
    """All cases in the order of measurement. With the screen, `metronome` on the loopback is measured only by both."""
    made = [Case(world, rate_hz, name) for world in worlds for rate_hz in rates_hz for name in links]
    watched_too = ("metronome", "loopback") if is_screen_wanted else ()
    return [replace(case, is_watched=(case.world, case.link) == watched_too) for case in made]


def run(
    results: Results, seconds: float, worlds: tuple[str, ...], links: tuple[str, ...], rates: tuple[str, ...],
    screen: bool, quick: bool,
) -> int:  # fmt: skip
    """Measures all cases. Shows and writes the results, and returns the exit code. Raises TwixtError before anything is
    measured."""
    results.check_files()
    find_chromium()
    notes, start_up_s = [], START_UP_S
    if quick:
        seconds, start_up_s, worlds, links, rates = QUICK_S, QUICK_START_UP_S, worlds[:1], links[:2], rates[:1]
    if (why := why_no_link()) and any(LINKS[name] is not None for name in links):
        notes.append(f"only the loopback is measured: {why}")
        links = tuple(name for name in links if LINKS[name] is None)
    chosen = cases(
        worlds[:1] if quick else worlds, links, [int(rate) for rate in rates[: 1 if quick else None]], screen
    )
    with mapped_screen(SIZE_PX) as shown:
        runs, interrupted = collected(lambda say: _runs(chosen, shown, seconds, start_up_s, say), is_logged=True)
    where = machine() | {"kernel": platform.release(), "display": shown.about, "seconds": seconds}
    write_results(runs, results, where | (CUT_SHORT if interrupted else {}), notes)
    nothing = not any(one.page for one in runs)
    return INTERRUPTED if interrupted else FAILED if nothing else FINISHED


def write_results(runs: Sequence[Run], results: Results, where: dict[str, Any], notes: Sequence[str] = ()) -> None:
    """Shows the figures and writes the files. Raises TwixtError."""
    free = [one.free_before for one in runs if one.free_before is not None]
    told = [
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; {where['seconds']:g} s a "
        f"run; cores free before the runs: " + (f"{min(free):.2f} to {max(free):.2f}" if free else "unknown"),
        *notes,
        *([CUT_SHORT["cut_short"]] if "cut_short" in where else []),
        *(f"{one.case.name}: error of the page: {text}" for one in runs for text in one.page.get("errors", ())),
    ]
    blocks: list[Table | Notes] = [Table(COLUMNS, runs), Notes(LEGEND)]
    if watched := [one for one in runs if one.case.is_watched]:
        blocks += [Table(SCREEN_COLUMNS, watched, "By the screen"), Notes(SCREEN_LEGEND)]
    blocks.append(Notes(told))
    document = {
        "schema": SCHEMA,
        "command": results.command,
        "conditions": where | {"notes": list(notes)},
        "rows": [one.to_json() for one in runs],
    }
    results.write(document, page=[f"Made by `{results.command}`.", *blocks], shown=blocks)


def _runs(chosen: Sequence[Case], shown: Screen, seconds: float, start_up_s: float, say: Say) -> Iterator[Run]:
    def made(case: Case) -> Run:
        free = free_cores()
        try:
            return replace(measured(case, shown, seconds, start_up_s), free_before=free)
        except TwixtError as error:
            return Run(case, failure=str(error), free_before=free)

    return (one for _, one in run_in_turns(chosen, made, len(chosen), say, lambda case: case.name))


def measured(case: Case, shown: Screen, seconds: float, start_up_s: float) -> Run:
    """Runs a case. Raises TwixtError if it has no figures."""
    shape = LINKS[case.link]
    with ExitStack() as ends:
        # short, because a socket's path has at most 107 bytes; names, port and token stay in it
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="web-", dir="/tmp"))
        environ = shown.environ | {"XDG_RUNTIME_DIR": folder, "PYTHONPATH": HERE}
        between = None if shape is None else ends.enter_context(link(shape))
        sim = twixt_command("sim", *WORLDS[case.world], "--name", NAME, "--physics-hz", str(case.rate_hz))
        ends.enter_context(process(sim, environ, is_apart=True, cwd=HERE))
        host = "127.0.0.1" if between is None else SERVER
        server = [*(between.server if between else ()), *function_call("bench.web.web_bench:serve_at", host=host)]
        serving = ends.enter_context(process(server, environ, is_read=True, is_apart=True))
        url = next(serving.lines(), "").strip()
        if not url:
            raise TwixtError(f"the server ended: {serving.last_error_line()}")
        how: dict[str, Any] = {
            "seconds": seconds,
            "start_up_s": start_up_s,
            "size_px": SIZE_PX,
            "is_watched": case.is_watched,
        }
        page = function_call("bench.web.page_run:run", url=url, display=environ["DISPLAY"], **how)
        command = [*(between.client if between else ()), *page]
        observer = ends.enter_context(observer_of(shown.pixels_file, folder)) if case.is_watched else None
        browser = ends.enter_context(process(command, environ, is_read=True, is_apart=True))
        found, stretches, carried = _followed(browser, between)
        tcp = None
        if carried:
            (begin_ns, begin_bytes), (end_ns, end_bytes) = carried
            tcp = (end_bytes - begin_bytes) / (end_ns - begin_ns) * 1e9
        sides: dict[str, Any] = {}
        if observer is not None:
            pictures = observer.seen()
            sides = {
                side: screen_figures([pictures.between(*each) for each in stretches[name]])
                for side, name in (("screen", "page"), ("bar", "empty"))
            }
        return Run(case, found, tcp, **sides)


def _followed(
    browser: Process, between: Link | None
) -> tuple[dict[str, Any], dict[str, list[tuple[int, int]]], list[tuple[int, int]]]:
    """Reads the lines of `page_run` to its end. Returns its figures, begin and end of each stretch, and instant and
    bytes that the link had carried to the browser, at begin and end of the page's stretch."""
    stretches: dict[str, list[tuple[int, int]]] = {"empty": [], "page": []}
    carried: list[tuple[int, int]] = []
    begin_ns = 0
    for line in browser.lines():
        told = json.loads(line)
        for name, found in stretches.items():
            if told.get(name) == "begin":
                begin_ns = told["at_ns"]
            elif told.get(name) == "end":
                found.append((begin_ns, told["at_ns"]))
        if "page" in told and between is not None:
            carried.append((time.perf_counter_ns(), between.counts()["to_client"]["carried_bytes"]))
        if "distinct" in told:
            browser.wait(TIMEOUT_S)
            return told, stretches, carried
    raise TwixtError(f"the browser's run failed: {browser.failure() or 'it said nothing'}")


class Observer:
    """A process that times each picture on a screen."""

    def __init__(self, child: subprocess.Popen[bytes], file: str) -> None:
        self._child, self._file = child, file

    def seen(self) -> Pictures:
        """Ends the observation. Returns the pictures that were seen."""
        self._child.communicate(timeout=TIMEOUT_S)
        with np.load(self._file) as arrays:
            return Pictures(arrays["seen_ns"], arrays["centroid_x"])


@contextmanager
def observer_of(pixels_file: str, folder: str) -> Iterator[Observer]:
    """Runs the observer of a screen."""
    file = os.path.join(folder, "seen.npz")
    command = [python_program(), OBSERVER, pixels_file, *map(str, BAND_PX), file]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        if child.stdout.readline() != b"ready\n":
            raise TwixtError("the observer of the screen does not start")
        yield Observer(child, file)
    finally:
        child.kill()
        child.communicate()


def serve_at(host: str) -> None:
    """Serves `NAME` at an address. The only network of this process is the link of the bench, so the page needs no
    encryption, as in a container."""
    from twixt.relay.serve import access
    from twixt.relay.serve.process import ServeOptions, serve

    access.is_in_container = lambda: True
    serve(ServeOptions(name=NAME, host=host, hosts=(host,), is_plain=not access.is_loopback(host)))
