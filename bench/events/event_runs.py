"""Runs a world of events and its viewers, with keys that are pressed and viewers that are stopped meanwhile.

Always: each viewer is a process of its own with a window. All processes end with their run.
"""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.events.deliveries import Deliveries, compare
from bench.events.event_world import EMITTED, EventWorld
from bench.events.keyboard import Keyboard
from bench.events.recorder import DELIVERED
from bench.processes import HERE, TIMEOUT_S, Process, free_cores, function_call, process
from bench.screens import Screen
from twixt.ipc.commands import Command
from twixt.ipc.errors import TwixtError
from twixt.ipc.session import attach, running
from twixt.ipc.session.link import Link
from twixt.render.measure.frame_log import read_log
from twixt.sim.process.viewer_command import twixt_command

# Options of each viewer: small pictures, so that three viewers leave most of two cores free.
VIEWER_OPTIONS: dict[str, Any] = {"fps": 60.0, "size_px": (320, 240), "quality": "low", "pacing": "timer"}
# Size of the log of a viewer that has drawn frames, in bytes.
DRAWN_BYTES = 10_000
# Simulated seconds after the last event, in which viewers draw the rest.
REST_S = 1.5
POLL_S = 0.01
# Words in `Action.keys` that are no keys: a wait in a pause, and the stop of the viewer's process.
WAIT, STOP = "wait", "stop"
WAIT_S = 0.7
# Keys that change the plan of physics.
RESET = "r"
PLAN_KEYS = ("space", "period", "bracketleft", "bracketright", RESET)
EXACT, COUNTED = "exact", "counted"
# Lines of standard error about events that were not delivered: by the ring, by physics, to the user's function.
LOSS = re.compile(r"([\d,]+) events (were lost|were dropped|were not passed)")


@dataclass(frozen=True)
class Viewer:
    """A viewer of a run. at: share of the time of events after which it attaches; None if it does so at once. options:
    fields of its `Config`."""

    name: str
    at: float | None = None
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Action:
    """Something that a user does. at: share of the run after which it begins. viewer: number of the viewer. keys: names
    of keys and the words WAIT and STOP, separated by spaces."""

    at: float
    viewer: int
    keys: str


@dataclass(frozen=True)
class Case:
    """A run. rate, burst: see `EventWorld`. trouble: flags of `twixt sim`. seconds: simulated seconds in which events
    are emitted. promise: EXACT if no event may be lost; COUNTED if lost events must be counted. stop_s: length of a
    stop, in seconds."""

    name: str
    seconds: float
    viewers: tuple[Viewer, ...]
    rate: float = 1500
    burst: int = 1000
    burst_s: float = 6.0
    spread: bool = True
    trouble: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    promise: str = EXACT
    stop_s: float = 10.0


@dataclass(frozen=True)
class ViewerRun:
    """Result of one viewer of a run. lost, reset: numbers in the viewer's report; None if they are not there. unpassed:
    number of events that were not passed to the function, as the viewer reports at its end. notices: lines on
    standard error about events that were not delivered. failure: reason why there are no figures."""

    viewer: str
    figures: Deliveries | None
    lost: int | None = None
    reset: int | None = None
    unpassed: int = 0
    notices: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class CaseRun:
    """One run of a case. made: number of events that the world emitted. emitted, dropped: numbers in the report of
    physics. wall_s: duration of the emission in wall time, without pauses as far as they are known. free_before: number
    of cores that were free before the run."""

    case: Case
    viewers: tuple[ViewerRun, ...]
    made: int = 0
    emitted: int | None = None
    dropped: int | None = None
    wall_s: float = 0.0
    free_before: float | None = None
    notices: tuple[str, ...] = ()
    failure: str = ""


def measured(case: Case, display: Screen) -> CaseRun:
    """Runs a case on a display, and compares what was emitted with what was delivered."""
    free = free_cores()
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        try:
            return _measured(case, display, folder, free)
        except TwixtError as error:
            return CaseRun(case, (), free_before=free, failure=str(error))


def _measured(case: Case, display: Screen, folder: str, free: float | None) -> CaseRun:
    emitted_file, physics_file = os.path.join(folder, "emitted"), os.path.join(folder, "physics.json")
    name = f"events-{os.getpid()}"
    keyboard = Keyboard(display.environ) if case.actions else None
    settings = {
        "out": emitted_file, "rate": case.rate, "burst": case.burst, "burst_s": case.burst_s, "begin": os.path.join(folder, "begin"),
        "seconds": case.seconds, "spread": case.spread,
    }  # fmt: skip
    command = [*twixt_command(), "sim", f"{EventWorld.__module__}:{EventWorld.__name__}", "--name", name]
    command += ["--json", physics_file, *case.trouble]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    with process(command, cwd=HERE, is_apart=True) as physics, ExitStack() as stack:
        physics.until(lambda: name in running(), "it had its name")
        link = attach(name, timeout_s=TIMEOUT_S)
        stack.callback(link.close)
        session = Session(case, name, folder, link, display, keyboard, stack)
        wall_s = session.play()
        failure = physics.failure(TIMEOUT_S)
        if failure:
            raise TwixtError(f"physics: {failure}")
        emitted = np.fromfile(emitted_file, EMITTED)
        viewers = [session.result(number, emitted) for number in range(len(case.viewers))]
        counts = _events_of(physics_file)
        return CaseRun(
            case, tuple(viewers), len(emitted), counts.get("emitted"), counts.get("dropped"), wall_s, free,
            _event_lines(physics),
        )  # fmt: skip


class Session:
    """A run in progress. Starts its viewers and does the actions at their times."""

    def __init__(
        self, case: Case, name: str, folder: str, link: Link, display: Screen, keyboard: Keyboard | None,
        stack: ExitStack,
    ) -> None:  # fmt: skip
        self._case, self._name, self._folder, self._link = case, name, folder, link
        self._display, self._keyboard, self._stack = display, keyboard, stack
        self._viewers: dict[int, Process] = {}
        self._sim_time_ns = 0

    def play(self) -> float:
        """Runs the case to its end. Returns the duration of its events in seconds of wall time."""
        case = self._case
        tasks: list[tuple[float, int, Action | Viewer]] = []
        for number, viewer in enumerate(case.viewers):
            if viewer.at is None:
                self._start(number, viewer)
            else:
                tasks.append((viewer.at, number, viewer))
        tasks += ((action.at, action.viewer, action) for action in case.actions)
        self._until_drawn()
        with open(os.path.join(self._folder, "begin"), "x"):
            begin_s, begin_sim_s = time.monotonic(), self._newest_s()
        for share, number, task in sorted(tasks, key=lambda item: item[0]):
            self._until(begin_sim_s + share * case.seconds)
            if isinstance(task, Viewer):
                self._start(number, task)
            else:
                self._act(task)
                if RESET in task.keys.split():
                    begin_sim_s = -share * case.seconds  # simulated time began at 0
        self._until(begin_sim_s + case.seconds)
        wall_s = time.monotonic() - begin_s
        self._until(begin_sim_s + case.seconds + REST_S)
        self._link.send(Command("quit"))
        return wall_s

    def _until_drawn(self) -> None:
        """Waits until all viewers have drawn frames."""
        for number, child in self._viewers.items():
            child.until(partial(_is_longer, self._path(number, "csv"), DRAWN_BYTES), "it drew")

    def result(self, number: int, emitted: np.ndarray) -> ViewerRun:
        """Waits for the end of a viewer, and returns its figures. emitted: (n,) of dtype EMITTED."""
        viewer, child = self._case.viewers[number], self._viewers[number]
        failure = child.failure(TIMEOUT_S)
        lines = _event_lines(child)
        if failure:
            return ViewerRun(viewer.name, None, notices=lines, failure=failure)
        delivered = np.fromfile(self._path(number, "delivered"), DELIVERED)
        counts = _events_of(self._path(number, "json"))
        is_split = "split" in dict(viewer.options)
        figures = compare(emitted, delivered, read_log(self._path(number, "csv")), child.begin_ns, is_split)
        unpassed = [
            int(match[1].replace(",", "")) for line in lines if (match := LOSS.search(line)) and "passed" in line
        ]
        return ViewerRun(viewer.name, figures, counts.get("lost"), counts.get("reset"), sum(unpassed), lines)

    def _path(self, number: int, ending: str) -> str:
        return os.path.join(self._folder, f"{number}.{ending}")

    def _start(self, number: int, viewer: Viewer) -> None:
        options: dict[str, Any] = VIEWER_OPTIONS | dict(viewer.options)
        files = {"out": self._path(number, "delivered"), "log": self._path(number, "csv")}
        files["json"] = self._path(number, "json")
        call = function_call("bench.events.recorder:view", name=self._name, **files, **options)
        child = process(call, self._display.environ, cwd=HERE, is_apart=True)
        self._viewers[number] = self._stack.enter_context(child)

    def _act(self, action: Action) -> None:
        child = self._viewers[action.viewer]
        for key in action.keys.split():
            if key == WAIT:
                time.sleep(WAIT_S)
            elif key == STOP:
                os.kill(child.pid, signal.SIGSTOP)
                try:
                    self._pass(self._case.stop_s)
                finally:
                    os.kill(child.pid, signal.SIGCONT)
            else:
                self._press(child, key)

    def _press(self, child: Process, key: str) -> None:
        """Presses a key, and waits until a key of physics has its effect."""
        assert self._keyboard is not None
        before = self._plan_number()
        self._keyboard.press(child.pid, key)
        if key in PLAN_KEYS:
            child.until(lambda: self._plan_number() != before, f"{key} had its effect")
        if key == RESET:
            sim_time_s = self._newest_s()
            child.until(lambda: self._newest_s() < sim_time_s, "simulated time began anew")

    def _plan_number(self) -> int:
        self._link.poll()
        return self._link.plan().number

    def _until(self, sim_time_s: float) -> None:
        """Waits until simulated time has reached `sim_time_s`."""
        ends_s = time.monotonic() + TIMEOUT_S + sim_time_s * 4
        while self._newest_s() < sim_time_s:
            if self._link.ended is not None:
                raise TwixtError(f"physics ended: {self._link.ended.message}")
            if time.monotonic() > ends_s:
                raise TwixtError(f"waited in vain until simulated time had reached {sim_time_s:g} s")
            time.sleep(POLL_S)

    def _pass(self, seconds: float) -> None:
        """Waits for `seconds` of wall time, and goes on receiving."""
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            self._newest_s()
            time.sleep(POLL_S)

    def _newest_s(self) -> float:
        self._link.poll()
        for view in self._link.unread(1 << 20):
            self._sim_time_ns = view.head.sim_time_ns
        return self._sim_time_ns / 1e9


def _is_longer(path: str, size: int) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > size


def _events_of(path: str) -> dict[str, Any]:
    """Block "events" of a report; empty if there is none."""
    with open(path, encoding="utf-8") as file:
        return json.load(file).get("events") or {}


def _event_lines(child: Process) -> tuple[str, ...]:
    """Lines of standard error about events that were not delivered."""
    return tuple(line for line in child.error_lines() if LOSS.search(line))
