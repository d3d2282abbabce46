"""Rows of `twixt bench mujoco`: slowdown of a loop by its viewer, and the cost of a `sync`, in turns in one run.

One idea: each viewer has a process of its own that steps the same model (`viewed_loop`), and they take turns; a process
whose turn it is not is stopped. A watched turn is compared with turns right before and after it without a viewer, so
that drift cancels out. What a viewer draws on is the display of the environment; twixt draws offscreen without one.

Always: every process has ended at the end. A viewer that is not installed, or has no display, is a row that says so.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

from twixt.cli.bench.guest.slowdown import LoopTurn, slowdown, step_us
from twixt.cli.bench.rows import Row
from twixt.cli.bench.stepping.stepped_models import humanoids_xml, mocap_xml, spheres_xml
from twixt.cli.child_process import Process, process, python
from twixt.cli.pages import Say
from twixt.ipc.errors import TwixtError
from twixt.sim.engines.mujoco.mujoco_package import required

TWIXT, PASSIVE, STUDIO = "twixt", "mujoco.viewer", "mujoco.studio"
PEERS = (PASSIVE, STUDIO)
# Pairs of turns of a whole run and their length; turns and calls of the cost of a `sync`.
PAIRS, SYNC_TURNS = 40, 20
TURN_S, SYNC_CALLS = 1.0, 200
# Time of a viewer to load its overlay and to compile its programs, seconds.
SETTLING_S = 3.0
# States a second of a viewer that publishes none of those handed over, and of one that publishes all.
NO_STATE_HZ, ALL_STATES_HZ = 0.1, 1e6
GATED_BAR_US = 3.0


class Effort(NamedTuple):
    """Length of a measurement: pairs of turns, length of a turn, time to settle; turns and calls of a `sync`."""

    pairs: int = PAIRS
    turn_s: float = TURN_S
    settling_s: float = SETTLING_S
    sync_turns: int = SYNC_TURNS
    sync_calls: int = SYNC_CALLS


WHOLE, QUICK = Effort(), Effort(2, 0.1, 0.2, 2, 20)


class LoopTimes(NamedTuple):
    """A stretch of steps, by the wall clock and by the processor time of the thread that steps."""

    wall: LoopTurn
    cpu: LoopTurn


class EngineLoop(NamedTuple):
    """A loop to be watched. humanoids: how many it steps. bar: largest ratio of its time."""

    name: str
    humanoids: int
    sync_hz: float | None
    bar: float


class SyncCase(NamedTuple):
    """A model of which states are handed over. bar_us: largest median of a `sync` that publishes."""

    name: str
    text: str
    bar_us: float


LOOPS = (
    EngineLoop("humanoid, sync after every step", 1, None, 1.05),
    EngineLoop("humanoid, sync 60 times a second", 1, 60.0, 1.02),
    EngineLoop("4 humanoids, sync after every step", 4, None, 1.02),
)


def mujoco_rows(share: float, say: Say, model: str = "", is_large: bool = False) -> Iterator[Row]:
    """Rows of loops, then of `sync`. model: path of the one to step, instead of humanoids. is_large: also 10,000 bodies.

    Raises TwixtError without MuJoCo.
    """
    required()
    if model and not os.path.isfile(model):
        raise TwixtError(f"no file {model!r}; give the path of a MuJoCo model, such as humanoid.xml")
    effort = WHOLE if share >= 1 else QUICK
    loops = LOOPS[:1] if share < 1 else LOOPS[: 2 if model else None]
    with tempfile.TemporaryDirectory() as folder:
        for case in loops:
            named = case._replace(name=case.name.replace("humanoid", os.path.basename(model))) if model else case
            path = model or _written(folder, humanoids_xml(case.humanoids))
            say(named.name)
            yield from _loop_rows(named, path, effort, say)
        for sync in _sync_cases(is_large, share):
            say(f"sync, {sync.name}")
            yield from _sync_rows(sync, _written(folder, sync.text), effort)


def _sync_cases(is_large: bool, share: float) -> Iterator[SyncCase]:
    yield SyncCase("humanoid", humanoids_xml(), 45.0)
    if share >= 1:
        yield SyncCase("1,000 free spheres", spheres_xml(1000), 75.0)
    if is_large:
        yield SyncCase("10,000 mocap bodies", mocap_xml(10_000), 400.0)


def _written(folder: str, text: str) -> str:
    with open(os.path.join(folder, "model.xml"), "w", encoding="utf-8") as file:
        file.write(text)
    return file.name


def _loop_rows(case: EngineLoop, path: str, effort: Effort, say: Say) -> Iterator[Row]:
    with ExitStack() as stack:
        hz = [] if case.sync_hz is None else ["--sync-hz", str(case.sync_hz)]
        loops = {name: stack.enter_context(_loop(name, path, effort, *hz)) for name in (TWIXT, *PEERS)}
        ours = loops[TWIXT]
        if ours.failure:
            raise TwixtError(f"twixt's viewer: {ours.failure}")
        turns: dict[str, list[LoopTimes]] = {name: [] for name in loops}
        before = ours.turn(False, effort.turn_s)
        for number in range(effort.pairs):
            say(f"{case.name}: pair {number + 1} of {effort.pairs}")
            for name, loop in loops.items():
                if not loop.failure:
                    watched, after = loop.turn(True, effort.turn_s), ours.turn(False, effort.turn_s)
                    turns[name] += [before, watched, after]
                    before = after
        for name, loop in loops.items():
            yield _loop_row(case, name, turns[name], loop.failure)


def _loop_row(case: EngineLoop, viewer: str, turns: list[LoopTimes], failure: str) -> Row:
    name = f"step, {case.name}: {viewer}"
    found, of_cpu = slowdown([turn.wall for turn in turns]), slowdown([turn.cpu for turn in turns])
    if found is None or of_cpu is None:
        return Row(name, "us", None, "no viewer", None, 0, f"not measured: {failure}")
    note = (
        f"slower by {found.median:+.1f} % (95 % of medians: {found.low:+.1f} to {found.high:+.1f}); "
        f"by the processor time of the loop's own thread {of_cpu.median:+.1f} % ({of_cpu.low:+.1f} to {of_cpu.high:+.1f})"
    )
    alone_us = step_us([turn.wall for turn in turns], False) or 0.0
    return Row(
        name, "us", alone_us * (1 + found.median / 100), "no viewer", alone_us, found.pairs, note,
        noise=max(0.0, (found.high - found.low) / 4 / 100), bar=f"ratio <= {case.bar:g}" if viewer == TWIXT else "",
    )  # fmt: skip


def _sync_rows(case: SyncCase, path: str, effort: Effort) -> Iterator[Row]:
    with ExitStack() as stack:
        loops = {
            "no frame would show": stack.enter_context(_loop(TWIXT, path, effort, "--publish-hz", str(NO_STATE_HZ))),
            "published": stack.enter_context(_loop(TWIXT, path, effort, "--publish-hz", str(ALL_STATES_HZ))),
            PASSIVE: stack.enter_context(_loop(PASSIVE, path, effort)),
        }
        taken: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(effort.sync_turns):
            for name, loop in loops.items():
                if not loop.failure:
                    taken[name] += loop.sync_us(effort.sync_calls)
    theirs = loops[PASSIVE].failure
    limit = None if theirs else statistics.median(taken[PASSIVE])
    for name, bar_us in (("no frame would show", GATED_BAR_US), ("published", case.bar_us)):
        if loops[name].failure:
            raise TwixtError(f"twixt's viewer: {loops[name].failure}")
        # The aim for a state that no frame shows is that of a humanoid: what is put aside grows with the model.
        bar = "" if name != "published" and case.name != "humanoid" else f"figure <= {bar_us:g}"
        yield Row(
            f"sync, {case.name}, {name}", "us", statistics.median(taken[name]), f"sync of {PASSIVE}", limit,
            len(taken[name]), f"{PASSIVE} not measured: {theirs}" if theirs else "back to back", bar=bar,
        )  # fmt: skip


class _Loop:
    """A running `viewed_loop`, stopped between its turns. failure: why it cannot take turns, or empty."""

    def __init__(self, child: Process, commands: Any) -> None:
        self._child, self._commands, self._lines = child, commands, child.lines()
        self.failure = str(self._answer().get("failure", ""))
        self._stop()

    def turn(self, watched: bool, seconds: float) -> LoopTimes:
        """A stretch of steps."""
        answer = self._ask(do="turn", watched=watched, seconds=seconds)
        cpu = LoopTurn(watched, 0, answer.pop("cpu_ns"), answer["steps"])
        return LoopTimes(LoopTurn(**answer), cpu)

    def sync_us(self, calls: int) -> list[float]:
        """Times of states handed over back to back, us."""
        return list(self._ask(do="sync", calls=calls)["us"])

    def end(self) -> None:
        """Has the program close its viewer, and waits for its end."""
        self._signal(signal.SIGCONT)
        self._commands.close()
        self._child.failure(10)

    def _ask(self, **command: Any) -> dict[str, Any]:
        self._signal(signal.SIGCONT)
        print(json.dumps(command), file=self._commands, flush=True)
        answer = self._answer()
        self._stop()
        return answer

    def _answer(self) -> dict[str, Any]:
        line = next(self._lines, "")
        return dict(json.loads(line)) if line else {"failure": f"it ended: {self._child.last_words()}"}

    def _stop(self) -> None:
        if not self.failure:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, number)


@contextmanager
def _loop(viewer: str, path: str, effort: Effort, *options: str) -> Iterator[_Loop]:
    """A program that steps the model in a file with this viewer."""
    reads, writes = os.pipe()
    code = "import runpy, sys\nrunpy.run_module('twixt.cli.bench.stepping.viewed_loop', run_name='__main__')"
    required_options = ["--viewer", viewer, "--model", path, "--settle", str(effort.settling_s)]
    arguments = [*python(code), *required_options, "--commands", str(reads), *options]
    with os.fdopen(writes, "w") as commands, process(arguments, is_read=True, pass_fds=(reads,)) as child:
        os.close(reads)
        loop = _Loop(child, commands)
        try:
            yield loop
        finally:
            loop.end()
