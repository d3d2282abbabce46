"""Measures the time to the first picture in a browser: `python -m bench first-picture`.

Each turn opens the page of a running server in a new Chromium with an empty cache. The page notes when its scripts have
run, when both WebSockets have said welcome, when the first snapshot has come, when its clock is ready, and when it has
drawn a frame between two snapshots. With `--install`, a fresh virtual environment is made, and the two commands of the
guide are timed too: to install twixt, MuJoCo and gymnasium from this checkout, and to run a humanoid.

Always: instants are in seconds since the page was asked for. Progress goes to standard error.
"""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bench.pages import CUT_SHORT, Notes, Results, Table, TableColumn, collected
from bench.processes import HERE, Process, free_cores, function_call, json_writer, process
from bench.screens import Screen, screen
from bench.web.cases import LINKS
from bench.web.link import SERVER, link, why_no_link
from bench.web.web_bench import NAME, SIZE_PX
from twixt.cli.chromium import WITHOUT_COMPOSITING, Chromium
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.render.measure.report import machine
from twixt.sim.process.viewer_command import python_program, twixt_command

SCHEMA = "twixt-first-picture/1"
# Links of `LINKS` that are measured.
CHOSEN = ("loopback", "80+-20 ms")
LIMIT_S = 120.0
INSTALL_LIMIT_S = 900.0
STAGES = ("scripts", "welcome", "snapshot", "clock", "picture")
# Runs before the page's own scripts. `stages` has the instants of `STAGES` in ms.
NOTE_STAGES = """
window.stages = {};
let welcomes = 0;
window.WebSocket = class extends WebSocket {
    constructor(...given) {
        super(...given);
        this.addEventListener("message", ({data}) => {
            if (typeof data !== "string") {
                if (new Uint8Array(data)[0] === 4) stages.snapshot ??= performance.now();
            } else if (data.includes('"welcome"') && ++welcomes === 2) stages.welcome = performance.now();
        });
    }
};
const look = () => {
    if (window.twixt) stages.scripts ??= performance.now();
    if (window.twixt?.clockMap.isReady) stages.clock ??= performance.now();
    if (window.twixt?.frameLog.column("mode", 1).includes("interpolated")) stages.picture = performance.now();
    else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


class Case(NamedTuple):
    """link: of `LINKS`. is_install: True for the two commands from nothing."""

    link: str
    is_install: bool = False

    @property
    def name(self) -> str:
        return "from nothing, a humanoid" if self.is_install else self.link


@dataclass(frozen=True)
class Run:
    """Figures of a case. turns: of each turn, the instants of `STAGES` in s. install_s: time of the first command from
    nothing. link_s: time from the second command to its link. failure: reason why there are no figures."""

    case: Case
    turns: list[list[float]] = field(default_factory=list)
    install_s: float | None = None
    link_s: float | None = None
    failure: str = ""
    free_before: float | None = None

    @property
    def stages_s(self) -> list[float | None]:
        """Median of the turns for each stage."""
        return [float(value) for value in np.median(self.turns, axis=0)] if self.turns else [None] * len(STAGES)

    @property
    def worst_s(self) -> float | None:
        return max(turn[-1] for turn in self.turns) if self.turns else None

    def to_json(self) -> dict[str, Any]:
        return {
            "case": self.case.name, "turns": self.turns, **dict(zip(STAGES, self.stages_s, strict=True)),
            "worst_s": self.worst_s, "install_s": self.install_s, "link_s": self.link_s,
            "failure": self.failure or None, "free_cores_before": self.free_before,
        }  # fmt: skip


def _stage(number: int) -> TableColumn:
    return TableColumn(f"{STAGES[number]}, s", lambda run: run.stages_s[number], ".2f")


COLUMNS = (
    TableColumn("case", lambda run: run.case.name),
    TableColumn("install, s", lambda run: run.install_s, ".1f"),
    TableColumn("link, s", lambda run: run.link_s, ".1f"),
    *map(_stage, range(len(STAGES))),
    TableColumn("worst, s", lambda run: run.worst_s, ".2f"),
)
LEGEND = (
    "seconds since the page was asked for, median of the turns: its scripts have run; both WebSockets have said "
    "welcome; the first snapshot has come; the page's clock is ready; a frame between two snapshots is drawn (worst: "
    "longest turn)",
    "from nothing: install is `pip install` into a new virtual environment; link is from the second command to the "
    "printed link",
)


def run(results: Results, turns: int, install: bool, quick: bool) -> int:
    """Measures all cases. Shows and writes the results, and returns the exit code. Raises TwixtError."""
    results.check_files()
    chosen = [Case(name) for name in CHOSEN] + [Case(CHOSEN[0], True)] * install
    notes = []
    if why := why_no_link():
        notes.append(f"only the loopback is measured: {why}")
        chosen = [case for case in chosen if LINKS[case.link].shape is None]
    count = 1 if quick else turns
    with screen("xvfb") as shown:

        def made(case: Case) -> Run:
            free = free_cores()
            try:
                return (_from_nothing if case.is_install else _opened)(case, count, shown, free)
            except TwixtError as error:
                return Run(case, failure=str(error), free_before=free)

        def rows(say: Say) -> Iterator[Run]:
            return (one for _, one in run_in_turns(chosen, made, len(chosen), say, lambda case: case.name))

        runs, interrupted = collected(rows, is_logged=True)
    where = machine() | {"kernel": platform.release(), "display": shown.about, "turns": count}
    where |= CUT_SHORT if interrupted else {}
    free = [one.free_before for one in runs if one.free_before is not None]
    lines = [
        *LEGEND,
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; {count} turns; cores "
        "free before the runs: " + (f"{min(free):.2f} to {max(free):.2f}" if free else "unknown"),
        *notes,
        *(f"{one.case.name}: no figures: {one.failure}" for one in runs if one.failure),
    ]
    table = Table(COLUMNS, runs)
    document = {
        "schema": SCHEMA, "command": results.command, "conditions": where, "rows": [one.to_json() for one in runs],
    }  # fmt: skip
    blocks: list[Table | Notes] = [table, Notes(lines)]
    results.write(document, page=[f"Made by `{results.command}`.", *blocks], shown=blocks)
    return INTERRUPTED if interrupted else FAILED if any(one.failure for one in runs) else FINISHED


def _opened(case: Case, turns: int, shown: Screen, free: float | None) -> Run:
    """Opens the page of a server that runs, over a link."""
    way = LINKS[case.link]
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="first-", dir="/tmp"))
        environ = shown.environ | {"XDG_RUNTIME_DIR": folder, "PYTHONPATH": HERE}
        between = None if way.shape is None else ends.enter_context(link(way.shape))
        ends.enter_context(process(twixt_command("sim", "balls", "--name", NAME), environ, is_apart=True))
        host = "127.0.0.1" if between is None else SERVER
        serve = function_call("bench.web.web_bench:serve_at", host=host, is_full=False)
        server = [*(between.server if between else ()), *serve]
        serving = ends.enter_context(process(server, environ, is_read=True, is_apart=True))
        url = next(serving.lines(), "").strip()
        if not url:
            raise TwixtError(f"the server ended: {serving.last_error_line()}")
        browse = function_call("bench.web.first_picture:browse", url=url, display=environ["DISPLAY"], turns=turns)
        command = [*(between.client if between else ()), *browse]
        browser = ends.enter_context(process(command, environ, is_read=True, is_apart=True))
        return Run(case, _followed(browser, turns), free_before=free)


def _from_nothing(case: Case, turns: int, shown: Screen, free: float | None) -> Run:
    """Installs twixt into a new environment, runs a humanoid, and opens its page. Once, whatever the turns."""
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="first-", dir="/tmp"))
        environ = shown.environ | {"XDG_RUNTIME_DIR": folder, "TWIXT_VIEWER": "web"}
        environ.pop("PYTHONPATH", None)
        fresh = os.path.join(folder, "env")
        python = os.path.join(fresh, "bin", "python")
        with process([python_program(), "-m", "venv", fresh], environ) as made:
            made.wait(INSTALL_LIMIT_S)
        install = [python, "-m", "pip", "install", "-q", f"{HERE}[mujoco,remote]", "gymnasium"]
        with process(install, environ, cwd=folder) as installing:
            installing.wait(INSTALL_LIMIT_S)
            install_s = (time.perf_counter_ns() - installing.begin_ns) / 1e9
        program = os.path.join(HERE, "examples", "humanoid_policy.py")
        running = ends.enter_context(process([python, "-P", program], environ, is_apart=True, cwd=folder))
        running.until(lambda: bool(_links(running)), "it printed its link")
        link_s = (time.perf_counter_ns() - running.begin_ns) / 1e9
        browse = function_call(
            "bench.web.first_picture:browse", url=_links(running)[0], display=environ["DISPLAY"], turns=1
        )
        ours = environ | {"PYTHONPATH": HERE}
        browser = ends.enter_context(process(browse, ours, is_read=True, is_apart=True))
        return Run(case, _followed(browser, 1), install_s, link_s, free_before=free)


def _links(running: Process) -> list[str]:
    return [found[0] for line in running.error_lines() if (found := re.search(r"http://\S+#\S+", line))]


def _followed(browser: Process, turns: int) -> list[list[float]]:
    """The instants of each turn, which `browse` says."""
    found = [json.loads(line) for line in browser.lines()]
    if len(found) != turns:
        raise TwixtError(f"the browser's run failed: {browser.failure() or 'it said nothing'}")
    return found


def browse(url: str, display: str, turns: int) -> None:
    """Opens the page in a new Chromium for each turn, and prints the instants of its stages, in s."""
    say = json_writer()
    origin, host = "/".join(url.split("/")[:3]), url.split("/")[2].rpartition(":")[0]
    flags = (WITHOUT_COMPOSITING, f"--unsafely-treat-insecure-origin-as-secure={origin}")
    for _ in range(turns):
        with Chromium(display, SIZE_PX, flags=flags, hosts=(host,), is_kiosk=True) as chromium:
            page = chromium.page
            page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTE_STAGES)
            page.open(url)
            page.wait_for("stages.picture", LIMIT_S)
            say([value / 1e3 for value in page.evaluate(f"{list(STAGES)}.map((name) => stages[name])")])
