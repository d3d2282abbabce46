"""What a person types, or another program on their behalf: command lines and the environment."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from bench import commands
from tests.long.hostile.mutate import TEXTS, Mutator
from tests.long.hostile.target import Target
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.session import listener

ROOT = Path(__file__).resolve().parents[3]
COMMAND_LINES: Sequence[Sequence[str]] = [
    [],
    ["run"],
    ["balls"],
    ["run", "balls", "--set", "count=5", "--seed", "3", "--physics-hz", "100", "--publish-hz", "60"],
    ["run", "my_world:World", "--time-scale", "0.25", "--lead", "auto", "--name", "lab"],
    ["run", "--slow-physics", "20-120", "--stall", "500@5", "--drop", "5", "--delay", "80+-20", "--trouble", "wifi"],
    ["run", "--interpolation", "hermite", "--clock", "buffered", "--buffer-ms", "auto", "--prefer", "smooth"],
    ["run", "--split", "none,auto", "--trails", "--pacing", "timer", "--fps", "60", "--size", "800x600"],
    ["run", "--no-overlay", "--draw", "marks:draw", "--slow-render", "20", "--offscreen", "--seconds", "5"],
    ["run", "--screenshot", "picture.png", "--at", "2", "--log", "run.csv", "--profile", "trace.json"],
    ["run", "--when-slow", "widen", "--max-step-ms", "100", "--dt-log", "steps.txt", "--chase-ms", "100"],
    ["measure", "metronome", "--json", "-", "--plot", "plot.png", "--fail-if", "motion.animation_error_ms.p99>2"],
    ["sim", "swarm", "--name", "lab", "--steps", "100", "--hash", "--json", "figures.json"],
    ["view", "lab", "--size", "640x480", "--still-view"],
    ["report", "run.csv", "--json", "report.json", "--plot", "plot.png"],
    ["compare", "run.csv", "other.csv", "--plot", "plot.png"],
    ["bench", "channel", "--quick", "--json", "bench.json", "--against", "bench.json", "--fail-over", "5"],
    ["bench", "motion", "--world", "bounce", "--trouble", "none", "--method", "linear", "--seed", "1", "--quick"],
    ["bench", "clock", "--seeds", "3", "--json"],
    ["worlds"],
    ["doctor"],
    ["--help"],
    ["run", "--help"],
    ["--version"],
]
# Where a command line's reading ends and its work begins.
BORDERS = {
    "twixt.sim.process.run": ("simulate",),
    "twixt.render.viewer.process": ("view",),
    "twixt.render.measure.report": ("report_log",),
    "twixt.cli.compare": ("compare_files",),
    "twixt.cli.doctor": ("examine",),
    "bench.cost_suite": ("run",),
    "bench.motion.motion_bench": ("measure",),
    "bench.clock.clock_bench": ("run",),
}


class ArgumentsTarget(Target):
    """Command lines, read to where the work begins, and what is begun with handed on as it is to the other process."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._folder = tempfile.TemporaryDirectory()
        os.chdir(self._folder.name)
        os.environ["XDG_RUNTIME_DIR"] = self._folder.name
        for name in ("run.csv", "other.csv", "bench.json"):
            open(name, "w").close()
        self._stubs = contextlib.ExitStack()
        for module, names in BORDERS.items():
            for name in names:
                self._stubs.enter_context(mock.patch.object(importlib.import_module(module), name, _no_work))
        viewer = importlib.import_module("twixt.sim.process.viewer_process")
        self._stubs.enter_context(mock.patch.object(viewer, "start_viewer", _hand_on))
        self._stubs.enter_context(mock.patch.object(viewer, "early_viewer", contextlib.nullcontext))
        flags = [word for line in COMMAND_LINES for word in line if word.startswith("-")]
        self._words = (*flags, *(word for line in COMMAND_LINES for word in line), *TEXTS[:40], "--", "-h", "-")

    def feed(self) -> None:
        import twixt

        self.fed = typed = self.mutator.arguments(COMMAND_LINES, self._words)
        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = commands.main(typed[1:]) if typed[:1] == ["bench"] else twixt.main(typed)
        finally:
            _let_go_of_listeners()
        assert code in (0, 2), f"exit code {code}"
        assert "Traceback" not in err.getvalue(), err.getvalue()
        # What was typed is quoted, but not over and over.
        assert code == 0 or len(err.getvalue()) < 5000 + 10 * len(" ".join(typed))
        if code == 2:
            self.refused(typed)
            raise TwixtError(err.getvalue())

    def refused(self, typed: list[str]) -> None:
        """This command line is refused, as far as this process can tell."""

    def __exit__(self, *_: object) -> None:
        self._stubs.close()
        os.chdir("/")
        self._folder.cleanup()


class ProcessesTarget(ArgumentsTarget):
    """Refused command lines once more, each in a process of its own, as a person types them."""

    def feed(self) -> None:
        while not self._is_refused():
            pass
        raise TwixtError("refused, by a process too")

    def _is_refused(self) -> bool:
        try:
            super().feed()
        except TwixtError:
            return True
        return False

    def refused(self, typed: list[str]) -> None:
        shown = subprocess.run(
            [sys.executable, "-P", str(ROOT / "twixt.py"), *typed],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env={**os.environ, "DISPLAY": ""},
        )  # fmt: skip
        assert shown.returncode == 2, shown
        assert b"Traceback" not in shown.stderr, shown
        assert shown.stderr, shown


_listeners: list[listener.Listener] = []


def _no_work(config: Any = None, *_: Any, **how: Any) -> int:
    if isinstance(config, Config):
        assert Config.from_json(config.to_json()) == config
        config.troubles, config.check_files()
    if isinstance(opened := how.get("listener"), listener.Listener):
        _listeners.append(opened)
    return 0


def _hand_on(_name: str, config: Config, *_: Any) -> None:
    _no_work(config)


def _let_go_of_listeners() -> None:
    while _listeners:
        _listeners.pop().close()


class EnvironmentTarget(Target):
    """The folder of the names, wherever the environment says it is."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._folder = tempfile.TemporaryDirectory()
        os.makedirs(os.path.join(self._folder.name, "deep", "er"))
        open(os.path.join(self._folder.name, "file"), "w").close()
        os.symlink(self._folder.name, os.path.join(self._folder.name, "round"))
        os.chdir(self._folder.name)

    def feed(self) -> None:
        draw = self.mutator.random
        valid = [self._folder.name, f"{self._folder.name}/deep/er", "deep", "file", "round/round", ".", "round/deep"]
        typed = self.mutator.arguments([[draw.choice(valid)]], valid)
        self.fed = os.environ["XDG_RUNTIME_DIR"] = typed[0] if typed else ""
        name = self.mutator.text(["lab", "a-b_c"])
        with mock.patch.object(tempfile, "gettempdir", return_value=self._folder.name):
            listener.running()
            opened = listener.open_listener(name)
            opened.close()

    def __exit__(self, *_: object) -> None:
        os.chdir("/")
        self._folder.cleanup()
