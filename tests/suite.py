"""Whole test run in turns: most tests in parallel, those that need quiet one after another, failed ones once more.

    python -m tests.suite [pytest's arguments]

Tests marked `stress` or `starvable` hold real processes and clocks to each other: they have the machine for themselves,
in one process. All others share the cores, a file at a time (pytest-xdist), also those that open a window: they wait
for events and judge no time. A test that failed runs a second time, alone, when everything else is over: on a busy
machine a process may be late by chance, and only what fails twice is a failure. The last line says how many passed,
which at the second try, and which failed.

Always: the exit code is 0 only if every test passed or was skipped, at the first or at the second try; when the run
ends, however it ends, no process that it or a test started is left.
For a debugger, a list, or whatever else concerns a single run of pytest, the arguments go to pytest as they are.
The module is its own plugin of the runs that it starts: `--turn` chooses the tests, `--outcomes` keeps what they did.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import pytest

from tests.starvation import family

ALONE = {"stress", "starvable"}
# Files that take longest in parallel (`--durations=50` says which), the longest first: a file runs in one process, and
# one that begins last keeps the others waiting. pytest-xdist would begin with the most tests, which are short ones.
LONGEST = (
    "tests/docs/test_code_blocks.py",
    "tests/sim/engines/mujoco/against/test_arrays.py",
    "tests/bench/test_costs.py",
    "tests/project/test_distribution.py",
    "tests/project/test_setup.py",
    "tests/project/test_suite.py",
    "tests/web/test_page.py",
    "tests/web/test_pictures.py",
    "tests/relay/serve/test_server.py",
    "tests/web/test_playback_clock.py",
    "tests/web/test_hands.py",
    "tests/end_to_end/test_endings.py",
    "tests/render/scene/test_followed_view.py",
    "tests/project/test_packaging.py",
    "tests/bench/test_evenness.py",
    "tests/bench/loops/test_guest.py",
    "tests/end_to_end/test_automatic_camera.py",
    "tests/cli/test_runs_in_turns.py",
    "tests/project/test_platform_types.py",
    "tests/end_to_end/test_events.py",
    "tests/long/hostile/test_fuzz.py",
    "tests/ipc/model/test_channel.py",
    "tests/sim/worlds/test_pinned.py",
    "tests/render/interpolation/test_no_penetration.py",
    "tests/end_to_end/test_bad_input.py",
    "tests/long/endings/test_kill_orders.py",
    "tests/bench/motion/test_drawn_motion.py",
    "tests/end_to_end/test_keys.py",
    "tests/render/scene/test_changed_parents.py",
    "tests/end_to_end/test_programs_python.py",
    "tests/render/viewer/test_loop.py",
    "tests/render/events/test_viewer_events.py",
    "tests/render/draw/test_drivers.py",
    "tests/bench/loops/test_mujoco_rows.py",
    "tests/end_to_end/test_read_only.py",
    "tests/long/soak/test_soak.py",
    "tests/end_to_end/test_own_loop.py",
    "tests/end_to_end/test_standard_streams.py",
    "tests/sim/test_interrupted.py",
    "tests/render/display/test_window.py",
    "tests/end_to_end/test_exhausted.py",
    "tests/render/scene/test_changed_shapes.py",
    "tests/end_to_end/test_offscreen.py",
    "tests/sim/process/test_run.py",
    "tests/sim/test_bad_worlds.py",
    "tests/sim/engines/mujoco/against/test_overlap.py",
    "tests/end_to_end/test_gl_errors.py",
)
PARALLEL, QUIET, AGAIN = "parallel", "quiet", "again"
MOST_PROCESSES = 4  # a test may start several of its own, and holds some hundred megabytes
# More failures than these are no chance: trying them again would only delay the answer.
MOST_TRIED_AGAIN = 20
# Options of pytest (by their names in its configuration) that belong to a single run in one process.
SINGLE_RUN_FLAGS = (
    "usepdb", "trace", "collectonly", "help", "version", "markers", "showfixtures", "show_fixtures_per_test",
    "setuponly", "setupplan", "setupshow", "cacheshow", "lf", "failedfirst", "newfirst", "stepwise", "maxfail",
    "xmlpath", "numprocesses", "looponfail",
)  # fmt: skip
GOES_ON = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
# From Ctrl-C until what has not ended is killed: fixtures end displays and simulations in a few seconds.
GRACE_S = 20
PR_SET_CHILD_SUBREAPER = 36
# The outcome of a test is the worst of its reports: of setup, call and teardown.
PASSED, SKIPPED, FAILED = range(3)


class Outcomes:
    """A file with one line of JSON a fact, written by the runs and read when they have ended."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def tests(self, *turns: str) -> dict[str, int]:
        """Outcome of each test by its node id."""
        worst: dict[str, int] = {}
        for turn, nodeid, outcome in self._lines():
            if turn in turns and outcome is not None:
                worst[nodeid] = max(worst.get(nodeid, PASSED), outcome)
        return worst

    def chosen(self, turn: str) -> set[str]:
        """Tests of a later turn: those that the first left out, or those that failed."""
        if turn == QUIET:
            return {nodeid for _, nodeid, outcome in self._lines() if outcome is None}
        return {nodeid for nodeid, outcome in self.tests(PARALLEL, QUIET).items() if outcome == FAILED}

    def _lines(self) -> list[tuple[str, str, int | None]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]


class Turn:
    """Plugin of one run: deselects the tests of other turns, and writes down what its own did."""

    def __init__(self, name: str, outcomes: Outcomes, worker: str | None) -> None:
        self.name = name
        self._chosen = set() if name == PARALLEL else outcomes.chosen(name)
        self._files = {nodeid.partition("::")[0] for nodeid in self._chosen}
        self._worker = worker  # its name; None: not a worker of xdist but what collects their reports
        self._out: TextIO = outcomes.path.open("a", buffering=1)

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        if self.name == PARALLEL or collection_path.is_dir():
            return None
        return os.path.relpath(collection_path, config.rootpath) not in self._files or None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        others = [item for item in items if not self._is_of(item)]
        items[:] = sorted((item for item in items if self._is_of(item)), key=_place)
        config.hook.pytest_deselected(items=others)
        if self.name == PARALLEL and self._worker in (None, "gw0"):  # each worker collects the same
            for item in others:
                self._write(item.nodeid, None)

    def _is_of(self, item: pytest.Item) -> bool:
        if self.name == PARALLEL:
            return not any(mark.name in ALONE for mark in item.iter_markers())
        return item.nodeid in self._chosen

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._worker is not None:
            return
        if report.failed:
            self._write(report.nodeid, FAILED)
        elif report.skipped:
            self._write(report.nodeid, SKIPPED)
        elif report.when == "call":
            self._write(report.nodeid, PASSED)

    def _write(self, nodeid: str, outcome: int | None) -> None:
        self._out.write(json.dumps((self.name, nodeid, outcome)) + "\n")


def _place(item: pytest.Item) -> int:
    """Place of its file: the longest first, all others after them, in their order."""
    file = item.nodeid.partition("::")[0]
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--turn", choices=(PARALLEL, QUIET, AGAIN), help="of tests.suite: the tests that it starts")
    parser.addoption("--outcomes", type=Path, help="of tests.suite: the file that it reads afterwards")


def pytest_configure(config: pytest.Config) -> None:
    if (turn := config.getoption("turn")) is not None:
        worker = getattr(config, "workerinput", {}).get("workerid")
        config.pluginmanager.register(Turn(turn, Outcomes(config.getoption("outcomes")), worker))


class Suite:
    """Plugin that runs the turns in processes of their own, in place of pytest's single run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int | None:
        options = vars(config.option)
        if options.get("capture") == "no" or any(options.get(name) for name in SINGLE_RUN_FLAGS):
            return None
        with tempfile.TemporaryDirectory(prefix="twixt-suite-", dir="/tmp") as folder:
            outcomes = Outcomes(Path(folder) / "outcomes")
            outcomes.path.touch()
            return run_in_turns(list(config.invocation_params.args), outcomes)


def run_in_turns(arguments: list[str], outcomes: Outcomes) -> int:
    """The exit code, as pytest's."""
    began_s = time.monotonic()
    # One more than there are cores: a test that waits for a window or for another process leaves its core free.
    processes = min(len(os.sched_getaffinity(0)) + 1, MOST_PROCESSES)
    say(f"tests not marked {' or '.join(sorted(ALONE))}, in {processes} processes")
    sharing = ["-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]
    code = run_turn(PARALLEL, outcomes, [*sharing, *arguments])
    codes = {code}
    if code in GOES_ON and outcomes.chosen(QUIET):
        say(f"tests marked {' or '.join(sorted(ALONE))}, one after another")
        codes.add(run_turn(QUIET, outcomes, ["-n", "0", *arguments]))
    failed = outcomes.chosen(AGAIN)
    if codes <= set(GOES_ON) and 0 < len(failed) <= MOST_TRIED_AGAIN:
        say("once more, alone: " + " ".join(sorted(failed)))
        codes.add(run_turn(AGAIN, outcomes, ["-n", "0", *arguments]))
    found = summary(outcomes.tests(PARALLEL, QUIET), outcomes.tests(AGAIN))
    broken = [f"not finished (exit code {code}): " for code in codes - set(GOES_ON)]
    say(f"{''.join(broken)}{found}; {time.monotonic() - began_s:.0f} s")
    return exit_code(codes, failed, outcomes.tests(AGAIN))


def exit_code(codes: set[int], failed: set[str], again: dict[str, int]) -> int:
    """Of the whole, from the codes of its runs, the tests that failed and what they did at the second try."""
    if broken := codes - set(GOES_ON):
        return max(broken)
    if pytest.ExitCode.TESTS_FAILED in codes and not (failed and all(again.get(n, FAILED) < FAILED for n in failed)):
        return pytest.ExitCode.TESTS_FAILED
    return pytest.ExitCode.NO_TESTS_COLLECTED if codes == {pytest.ExitCode.NO_TESTS_COLLECTED} else pytest.ExitCode.OK


def summary(first: dict[str, int], again: dict[str, int]) -> str:
    """One sentence: how many passed and were skipped, which at the second try, and which failed."""
    second = {nodeid: again.get(nodeid, FAILED) for nodeid, outcome in first.items() if outcome == FAILED}

    def named(outcome: int, words: str) -> Iterable[str]:
        if names := sorted(nodeid for nodeid, found in second.items() if found == outcome):
            yield f"{len(names)} {words}: {', '.join(names)}"

    untried = "" if again else " (no second try)"
    return ", ".join([
        f"{sum(outcome == PASSED for outcome in first.values()):,} passed",
        f"{sum(outcome == SKIPPED for outcome in first.values()):,} skipped",
        *named(PASSED, "passed at the second try"),
        *named(SKIPPED, "failed, then skipped at the second try"),
        *(named(FAILED, f"FAILED{untried}") if FAILED in second.values() else ["0 failed"]),
    ])  # fmt: skip


def say(line: str) -> None:
    print(f"suite: {line}", flush=True)


def run_turn(turn: str, outcomes: Outcomes, arguments: list[str]) -> int:
    """Runs pytest in a group of processes of its own; returns its exit code when everything in it has ended."""
    # With "=", or pytest takes the file for a test's and looks there for its configuration.
    plugin = ["-p", "tests.suite", f"--turn={turn}", f"--outcomes={outcomes.path}"]
    command = [sys.executable, "-m", "pytest", *plugin, *arguments]
    # pytest's own form of the tests is kept: to make it takes each process longer than to find all tests with it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = os.posix_spawn(sys.executable, command, environment, setpgroup=0)

    def interrupt(number: int, frame: object) -> None:
        os.killpg(started, signal.SIGINT)  # as a terminal does: workers end their tests and what these started
        signal.alarm(GRACE_S)

    def kill(number: int, frame: object) -> None:
        os.killpg(started, signal.SIGKILL)

    handlers = {signal.SIGINT: interrupt, signal.SIGTERM: interrupt, signal.SIGHUP: interrupt, signal.SIGALRM: kill}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        return reaped(started)
    finally:
        signal.alarm(0)
        end_family()
        for number, handler in before.items():
            signal.signal(number, handler)


def reaped(wanted: int) -> int:
    """Exit code of a child; negative: the signal that ended it. Orphans of tests that end meanwhile are reaped, too."""
    while True:
        pid, status = os.wait()
        if pid == wanted:
            return os.waitstatus_to_exitcode(status)


def end_family() -> None:
    """Kills what tests left running, until no descendant is left."""
    while left := family(os.getpid()) - {os.getpid()}:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.wait()


def main(arguments: list[str]) -> int:
    # Processes whose parent has ended become children of this one, wherever they are, so that it finds and ends them.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return pytest.main(arguments, plugins=[Suite()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
