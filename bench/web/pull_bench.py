"""Measures how soon a pull of the page's user reaches physics: `python -m bench pull`.

A real Chromium shows a world of one ball at rest. At random instants, the bench presses the mouse on the ball with Ctrl
held, moves it, and releases it. Each of these acts changes the pull once. The page notes the instants of the act and of
its message, the server those at which it receives the message and sends it on, and the world the first step with the
change.

Always: one machine and one clock, `time.perf_counter_ns`. Progress goes to standard error.
"""

from __future__ import annotations

import os
import platform
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.pages import CUT_SHORT, Notes, Results, Table, TableColumn, collected
from bench.processes import HERE, free_cores, function_call, process
from bench.screens import Screen, screen
from bench.web.web_bench import SIZE_PX
from twixt.cli.chromium import WITHOUT_COMPOSITING, Chromium, Page
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError
from twixt.ipc.interaction.events import Pull, UserAction
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.session.link import Link
from twixt.render.measure.report import machine
from twixt.sim.process.viewer_command import twixt_command
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import World

SCHEMA = "twixt-pull/1"
NAME = "pull-bench"
RATES_HZ = (60, 240)
FRAME_MS = 1e3 / 60
QUICK_DRAGS = 3
# Shortest and longest time between two acts, in seconds. The first pull also makes the page's link to the simulation,
# and is left out.
LEAST_WAIT_S, MOST_WAIT_S = 0.12, 0.2
LIMIT_S = 60.0
CTRL = 2
# Acts of one drag, and where the pointer is then, in px right of the middle of the ball.
DRAG = (("press", 0), ("move", 30), ("move", 60), ("release", 60))
KINDS = ("press", "move", "release")
STAGES = ("act to message", "message to server", "server", "server to step")
IS_READY = 'window.twixt?.frameLog.count > 120 && twixt.state.phase === "live" && twixt.clockMap.isReady'
# Notes the instant of each act and of each message about a pull, in ns since the server's origin.
NOTE_ACTS = """(() => {
    const toNs = (ms) => twixt.clockMap.toServerNs(ms), send = WebSocket.prototype.send;
    window.acted = [];
    window.sent = [];
    const note = ({type, buttons, timeStamp}) => (type !== "pointermove" || buttons) && acted.push(toNs(timeStamp));
    for (const kind of ["pointerdown", "pointermove", "pointerup"]) {
        document.getElementById("view").addEventListener(kind, note, true);
    }
    WebSocket.prototype.send = function (text) {
        send.call(this, text);
        if (text.includes('"pull"')) sent.push(toNs(performance.now()));
    };
})()"""


class Pulled(World):
    """A ball at rest. Writes the instant of each step whose pull differs from the one before to a file, in ns, one a
    line."""

    def __init__(self, file: str = "applied", seed: int = 0) -> None:
        self.bodies, self.scene = Bodies(1), Scene([Sphere(1.0)], camera=Camera((0, -6, 0), (0, 0, 0)))
        self._pull = self._before = b""
        self._file = open(file, "w", encoding="ascii")  # noqa: SIM115

    def apply_force(self, body: int, force: NDArray[np.float64], point: NDArray[np.float64]) -> None:
        self._pull = force.tobytes()

    def step(self, dt: float) -> None:
        if self._pull != self._before:
            print(time.perf_counter_ns(), file=self._file, flush=True)
        self._before, self._pull = self._pull, b""


def serve(file: str) -> None:
    """Serves `NAME`, and writes the instants at which it receives a pull, and sends it on."""
    from twixt.relay.serve import process as server
    from twixt.relay.serve import viewer

    with open(file, "w", encoding="ascii") as out:

        def note(place: str, message: object) -> None:
            if isinstance(message, Pull):
                print(place, time.perf_counter_ns(), file=out, flush=True)

        read, send = viewer.messages.read_control, Link.send_action

        def read_control(message: str) -> Any:
            found = read(message)
            note("received", found)
            return found

        def send_action(self: Link, action: UserAction) -> bool:
            is_sent = send(self, action)
            note("sent", action)
            return is_sent

        viewer.messages.read_control = read_control
        Link.send_action = send_action  # type: ignore[method-assign]
        server.serve(server.ServeOptions(name=NAME))


@dataclass(frozen=True)
class Run:
    """Times at one rate of physics. stages_ms: of each act, the times between the instants of `STAGES`. first_ms: the
    same of the first press, which also makes the page's link to the simulation. bound_ms: error of the page's clock at
    most. failure: reason why there are no figures."""

    rate_hz: int
    stages_ms: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, len(STAGES))))
    first_ms: float = 0.0
    bound_ms: float = 0.0
    fps: float = 0.0
    failure: str = ""
    free_before: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "rate_hz": self.rate_hz, "first_ms": self.first_ms, "bound_ms": self.bound_ms, "fps": self.fps,
            "failure": self.failure or None, "free_cores_before": self.free_before,
            "acts": {row.kind: row.to_json() for row in rows_of([self])},
        }  # fmt: skip


class Row(NamedTuple):
    """The acts of one kind at one rate. stages_ms: as in `Run`."""

    run: Run
    kind: str
    stages_ms: NDArray[np.float64]

    @property
    def target_ms(self) -> float:
        """A step and a frame."""
        return 1e3 / self.run.rate_hz + FRAME_MS

    @property
    def total_ms(self) -> NDArray[np.float64]:
        return self.stages_ms.sum(axis=1)

    @property
    def within(self) -> float:
        return float((self.total_ms <= self.target_ms).mean())

    def to_json(self) -> dict[str, Any]:
        parts = {name: _quantiles(self.stages_ms[:, i]) for i, name in enumerate(STAGES)}
        whole = {"act to step": _quantiles(self.total_ms), "target_ms": self.target_ms, "within": self.within}
        return {"count": len(self.stages_ms), **parts, **whole}


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """Rows of the table: for each run, one for each kind of act."""
    return [
        Row(one, kind, one.stages_ms[[DRAG[i % len(DRAG)][0] == kind for i in range(len(one.stages_ms))]])
        for one in runs
        if len(one.stages_ms)
        for kind in KINDS
    ]


def _quantiles(values: NDArray[np.float64]) -> dict[str, float]:
    return {"p50": float(np.median(values)), "p99": float(np.percentile(values, 99)), "max": float(values.max())}


def _stage(number: int) -> TableColumn:
    return TableColumn(STAGES[number], lambda row: _pair(row.stages_ms[:, number]), right=True)


def _pair(values: NDArray[np.float64]) -> str:
    return f"{np.median(values):.1f} / {np.percentile(values, 99):.1f}"


COLUMNS = (
    TableColumn("physics, Hz", lambda row: row.run.rate_hz, "d"),
    TableColumn("act", lambda row: row.kind),
    TableColumn("number", lambda row: len(row.stages_ms), "d"),
    *map(_stage, range(len(STAGES))),
    TableColumn("act to step", lambda row: _pair(row.total_ms), right=True),
    TableColumn("step and frame", lambda row: row.target_ms, ".1f"),
    TableColumn("within", lambda row: row.within, ".2f"),
    TableColumn("first", lambda row: row.run.first_ms, ".0f"),
    TableColumn("bound", lambda row: row.run.bound_ms, ".2f"),
    TableColumn("fps", lambda row: row.run.fps, ".0f"),
)
LEGEND = (
    "p50 / p99 in ms. Act: instant of the mouse's event, by the browser. Message: the page has sent it. Server: from "
    "the message received until it is sent on to the simulation. Step: the first step that applies it",
    "within: share of the acts that a step applies within one step and one frame; first: the first press, which also "
    "makes the page's link to the simulation; bound: largest error of the page's clock",
)


def run(results: Results, drags: int, quick: bool) -> int:
    """Measures all rates. Shows and writes the results, and returns the exit code. Raises TwixtError."""
    results.check_files()
    count = QUICK_DRAGS if quick else drags

    with screen("xvfb") as shown:

        def made(rate_hz: int) -> Run:
            free = free_cores()
            try:
                return measured(rate_hz, count, shown, free)
            except TwixtError as error:
                return Run(rate_hz, failure=str(error), free_before=free)

        def rows(say: Say) -> Iterator[Run]:
            return (one for _, one in run_in_turns(RATES_HZ, made, len(RATES_HZ), say, lambda rate: f"{rate} Hz"))

        runs, interrupted = collected(rows, is_logged=True)
    where = machine() | {"kernel": platform.release(), "display": shown.about}
    where |= CUT_SHORT if interrupted else {}
    free = [one.free_before for one in runs if one.free_before is not None]
    notes = Notes([
        *LEGEND,
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; cores free before the "
        "runs: " + (f"{min(free):.2f} to {max(free):.2f}" if free else "unknown"),
        *([CUT_SHORT["cut_short"]] if interrupted else []),
        *(f"{one.rate_hz} Hz: no figures: {one.failure}" for one in runs if one.failure),
    ])  # fmt: skip
    table = Table(COLUMNS, rows_of(runs))
    document = {
        "schema": SCHEMA, "command": results.command, "conditions": where, "rows": [one.to_json() for one in runs],
    }  # fmt: skip
    results.write(document, page=[f"Made by `{results.command}`.", table, notes], shown=[table, notes])
    return INTERRUPTED if interrupted else FAILED if any(one.failure for one in runs) else FINISHED


def measured(rate_hz: int, drags: int, shown: Screen, free: float | None = None) -> Run:
    """Runs the world at one rate. Raises TwixtError if it has no figures."""
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="pull-", dir="/tmp"))
        environ = shown.environ | {"XDG_RUNTIME_DIR": folder, "PYTHONPATH": HERE}
        applied_file, served_file = os.path.join(folder, "applied"), os.path.join(folder, "served")
        world = ("bench.web.pull_bench:Pulled", "--set", f"file={applied_file}", "--physics-hz", str(rate_hz))
        ends.enter_context(process(twixt_command("sim", *world, "--name", NAME), environ, is_apart=True, cwd=HERE))
        command = function_call("bench.web.pull_bench:serve", file=served_file)
        serving = ends.enter_context(process(command, environ, is_read=True, is_apart=True))
        url = next(serving.lines(), "").strip()
        if not url:
            raise TwixtError(f"the server ended: {serving.last_error_line()}")
        flags = (WITHOUT_COMPOSITING,)
        chromium = ends.enter_context(Chromium(environ["DISPLAY"], SIZE_PX, flags=flags, is_kiosk=True))
        page = chromium.page
        page.open(url)
        page.wait_for(IS_READY, LIMIT_S)
        origin_ns = int(page.evaluate("twixt.connection.welcome.origin_ns"))
        page.evaluate(NOTE_ACTS)
        _drag(page, drags + 1, applied_file)
        page_ns = [np.array(page.evaluate(name), np.float64).astype(np.int64) + origin_ns for name in ("acted", "sent")]
        bound_ms, fps = page.evaluate("[twixt.clockMap.boundMs, twixt.frameLog.figures(5).meanFps]")
        served = [line.split() for line in _lines(served_file)]
        server_ns = [np.array([int(at) for place, at in served if place == name]) for name in ("received", "sent")]
        instants = [*page_ns, *server_ns, np.array([int(line) for line in _lines(applied_file)])]
    if len({len(each) for each in instants}) != 1:
        raise TwixtError(f"changes were lost on the way: {[len(each) for each in instants]}")
    stages_ms = np.diff(np.array(instants), axis=0).T / 1e6
    return Run(rate_hz, stages_ms[len(DRAG) :], float(stages_ms[0].sum()), bound_ms, fps, free_before=free)


def _drag(page: Page, drags: int, applied_file: str) -> None:
    """Drags the ball, each act after physics has applied the one before."""
    x_px, y_px = page.evaluate("[innerWidth / 2, innerHeight / 2]")
    types, chance, count = (
        {"press": "mousePressed", "move": "mouseMoved", "release": "mouseReleased"},
        random.Random(0),
        0,
    )
    for _ in range(drags):
        page.send_mouse("mouseMoved", x_px, y_px)
        for kind, way_px in DRAG:
            time.sleep(chance.uniform(LEAST_WAIT_S, MOST_WAIT_S))
            page.send_mouse(types[kind], x_px + way_px, y_px, "left", modifiers=CTRL)
            count += 1
            until_s = time.monotonic() + LIMIT_S
            while len(_lines(applied_file)) < count:
                if time.monotonic() > until_s:
                    raise TwixtError(f"a {kind} of the mouse has not reached physics in {LIMIT_S:g} s")
                time.sleep(0.005)


def _lines(file: str) -> list[str]:
    with open(file, encoding="ascii") as opened:
        return [line for line in opened if line.endswith("\n")]
