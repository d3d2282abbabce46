"""From the command to the first picture of the world, beside two bare processes that only come up.

One idea: twixt needs two processes, one with numpy and one with a window, so that is what a start is held against:
both started at once, until the window has swapped and numpy is there. Instants of all processes are of one clock.

Always: what has to be read from the disk and compiled once was so before the first round counts.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from twixt.ipc.bench import Row, Say, rounds_of
from twixt.ipc.errors import TwixtError
from twixt.render.bench.processes import command, process
from twixt.render.bench.turns import row
from twixt.render.display import glfw_library

WORLD, BAR = "balls", "figure <= 0.5"
# Each round is three processes after one another, two seconds.
ROUNDS = 7
# What is measured is over with the first picture.
SECONDS = "0.05"
NUMPY = "import numpy, time; print(time.perf_counter_ns())"
BARE = "two bare processes"
LEAN_WINDOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lean_window.py")


class Start(NamedTuple):
    """seconds: from the command until the first picture was shown. report: the run's own."""

    seconds: float
    report: dict[str, Any]


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """One row. share: of a whole run's rounds. say: told what is measured next."""
    rounds = rounds_of(ROUNDS, share) if share >= 1 else 1
    say("a first start, which does not count")
    first_picture(WORLD), bare_s()
    ours, bare = [], []
    for number in range(rounds):
        say(f"start {number + 1} of {rounds}")
        ours.append(first_picture(WORLD))
        bare.append(bare_s())
    usual = sorted(ours)[len(ours) // 2]  # by time
    yield row("first picture", "s", [start.seconds for start in ours], BARE, bare, BAR, _parts(usual.report))


def first_picture(world: str, *flags: str) -> Start:
    """Runs twixt until it has shown a snapshot of that world. Raises TwixtError."""
    with tempfile.TemporaryDirectory() as folder:
        log, report = os.path.join(folder, "log.csv"), os.path.join(folder, "report.json")
        asked = command("measure", world, "--seconds", SECONDS, "--log", log, "--json", report, *flags)
        with process(asked) as run:
            run.wait()
            seconds = (_shown_ns(log) - run.begin_ns) / 1e9
        with open(report, encoding="utf-8") as file:
            return Start(seconds, json.load(file))


def bare_s() -> float:
    """Until a bare window has swapped and numpy is loaded beside it, both processes started at once."""
    environ = dict(os.environ)
    glfw_library.choose(environ)  # spares the bare window what twixt spares itself
    with (
        process([sys.executable, "-P", "-c", NUMPY]) as numpy,
        process([sys.executable, "-P", LEAN_WINDOW], environ) as window,
    ):
        for each in (window, numpy):
            each.wait()
        return (max(int(window.out), int(numpy.out)) - min(window.begin_ns, numpy.begin_ns)) / 1e9


def _shown_ns(log: str) -> int:
    """When the first snapshot was seen."""
    with open(log, newline="", encoding="utf-8") as file:
        for found in csv.DictReader(file):
            if found["mode"] != "none":
                return int(found["present_ns"])
    raise TwixtError("the run showed no snapshot")


def _parts(report: dict[str, Any]) -> str:
    """What the run says of the time until then."""
    parts = report["latency"].get("first_frame_parts_ms") or {}
    said = ", ".join(f"{name.replace('_', ' ')} {ms:.0f}" for name, ms in parts.items() if ms is not None)
    return f"in ms: {said}" if said else ""
