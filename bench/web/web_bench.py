"""Measures the browser view in a real Chromium: `python -m bench web`.

Each case runs a world, its server and a Chromium on an Xvfb, with a chosen link between server and browser. An empty
page is measured in the same browser before and after the page of twixt. In the cases of the screen, an observer that
knows neither page nor simulation reads the pixels of the Xvfb, of a bar that the empty page moves and of the body of
`metronome`.

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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from bench.pages import CUT_SHORT, Results, collected
from bench.processes import HERE, Process, free_cores, function_call, process
from bench.screens import Screen, mapped_screen
from bench.web.cases import LINKS, WORLDS, Case, cases
from bench.web.link import SERVER, Link, link, why_no_link
from bench.web.run_results import Run, write_results
from bench.web.screen_motion import Pictures, screen_figures
from bench.web.ssh_link import forwarded
from twixt.cli.chromium import find_chromium
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.report import machine
from twixt.sim.process.viewer_command import python_program, twixt_command

SIZE_PX = (800, 600)
# Rows of the screen that the observer reads: they contain the body of `metronome`, 24 px across.
BAND_PX = (SIZE_PX[1] // 2 - 20, SIZE_PX[1] // 2 + 20)
OBSERVER = os.path.join(HERE, "tests", "end_to_end", "observer.py")
NAME = "web-bench"
# Time from the first picture to the measured stretch, in seconds: the clock settles, and the window of credit grows.
START_UP_S, QUICK_START_UP_S, QUICK_S = 5.0, 0.5, 1.0
# Time in seconds after the planned length of a run. A run that has not ended by then counts as hanging.
TIMEOUT_S = 150.0
# Longest time for which an empty page is measured before the page of twixt, and again after it, in seconds.
MOST_EMPTY_S = 3.0


def run(
    results: Results, seconds: float, worlds: tuple[str, ...], links: tuple[str, ...], rates: tuple[str, ...],
    screen: bool, prefer: str, congestion: str, quick: bool,
) -> int:  # fmt: skip
    """Measures all cases. Shows and writes the results, and returns the exit code. Raises TwixtError before anything is
    measured."""
    results.check_files()
    find_chromium()
    notes, start_up_s = [], START_UP_S
    if quick:
        seconds, start_up_s, worlds, links, rates = QUICK_S, QUICK_START_UP_S, worlds[:1], links[:2], rates[:1]
    if (why := why_no_link()) and any(LINKS[name].shape is not None for name in links):
        notes.append(f"only the loopback is measured: {why}")
        links = tuple(name for name in links if LINKS[name].shape is None)
    chosen = cases(worlds, links, [int(rate) for rate in rates], screen)
    with mapped_screen(SIZE_PX) as shown:

        def made(case: Case) -> Run:
            free = free_cores()
            try:
                figures = measured(case, shown, case.way.length * seconds, start_up_s, prefer, congestion)
            except TwixtError as error:
                figures = Run(case, failure=str(error))
            return replace(figures, free_before=free)

        def all_runs(say: Say) -> Iterator[Run]:
            return (one for _, one in run_in_turns(chosen, made, len(chosen), say, lambda case: case.name))

        runs, interrupted = collected(all_runs, is_logged=True)
    where = machine() | {
        "kernel": platform.release(), "display": shown.about, "seconds": seconds, "congestion": congestion,
        "prefer": prefer,
    }  # fmt: skip
    write_results(runs, results, where | (CUT_SHORT if interrupted else {}), notes)
    nothing = not any(one.page for one in runs)
    return INTERRUPTED if interrupted else FAILED if nothing else FINISHED


def measured(case: Case, shown: Screen, seconds: float, start_up_s: float, prefer: str, congestion: str) -> Run:
    """Runs a case. prefer: preference of the page's clock. congestion: TCP's congestion control at both ends of a link.
    Raises TwixtError if there are no figures."""
    way = case.way
    with ExitStack() as ends:
        # short, because a socket's path has at most 107 bytes; names, port and token stay in it
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="web-", dir="/tmp"))
        environ = shown.environ | {"XDG_RUNTIME_DIR": folder, "PYTHONPATH": HERE}
        between = None if way.shape is None else ends.enter_context(link(way.shape, congestion))
        world = (*WORLDS[case.world], "--physics-hz", str(case.rate_hz), *way.options)
        sim = twixt_command("sim", *world, "--name", NAME)
        ends.enter_context(process(sim, environ, is_apart=True, cwd=HERE))
        host = "127.0.0.1" if between is None or way.is_ssh else SERVER
        serve = function_call("bench.web.web_bench:serve_at", host=host, is_full=case.is_full)
        server = [*(between.server if between else ()), *serve]
        serving = ends.enter_context(process(server, environ, is_read=True, is_apart=True))
        url = next(serving.lines(), "").strip()
        if not url:
            raise TwixtError(f"the server ended: {serving.last_error_line()}")
        if way.is_ssh and between is not None:
            server_port = urlsplit(url).port or 0
            port = ends.enter_context(forwarded(between, server_port, folder))
            url = url.replace(f":{server_port}/", f":{port}/")
        how: dict[str, Any] = {
            "seconds": seconds,
            "empty_s": min(seconds / 2, MOST_EMPTY_S),
            "start_up_s": start_up_s,
            "prefer": prefer,
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


def serve_at(host: str, is_full: bool) -> None:
    """Serves `NAME` at an address. The only network of this process is the link of the bench, so the page needs no
    encryption, as in a container. is_full: True if all snapshots are sent in full."""
    from twixt.relay.serve import access, simulation
    from twixt.relay.serve.process import ServeOptions, serve

    access.is_in_container = lambda: True
    if is_full:
        simulation.MOST_ERROR_M = -1.0  # lean positions are never good enough
    serve(ServeOptions(name=NAME, host=host, hosts=(host,), is_plain=not access.is_loopback(host)))
