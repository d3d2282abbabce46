"""Commands that measure in many processes, asked to end by a signal that reaches them alone; and Ctrl-C to a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.sessions import left_in_session
from tests.end_to_end.processes import until
from twixt.cli.runs_in_turns import interrupted_by_signals

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SMALL = ["--offscreen", "--size", "64x48", "--no-overlay", "--seconds", "60"]
COMMANDS = {
    "against": (["twixt", "measure", "metronome", *SMALL, "--against", ""], 3),  # itself, a run, its viewer
    "guest": (["bench", "guest", "--bodies", "10", "--load", "loop"], 4),  # and a busy program
}


def begun(name: str, folder: Path) -> subprocess.Popen[str]:
    """The command, once it has all the processes that it makes."""
    words, processes = COMMANDS[name]
    child = subprocess.Popen(
        [sys.executable, "-m", *words], cwd=ROOT, env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until(lambda: len(left_in_session(child.pid)) >= processes or child.poll() is not None, "all its processes")
    assert child.poll() is None, child.communicate()[1]
    return child


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_it_started_ends_with_it_and_leaves_no_file(name: str, number: signal.Signals, tmp_path: Path) -> None:
    child = begun(name, tmp_path)
    child.send_signal(number)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 128 + number
    # A viewer that was only just begun ends by itself, once it sees that nobody will tell it what to show.
    until(lambda: not left_in_session(child.pid), "the end of all its processes")
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


def test_ctrl_c_is_not_answered_by_the_busy_program(tmp_path: Path) -> None:
    child = begun("guest", tmp_path)
    os.killpg(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in errors


def test_a_signal_that_means_something_else_already_is_left_alone() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        found = interrupted_by_signals(lambda: int(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN))()
        assert found == 1
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_it_is_asked_once() -> None:
    def does() -> int:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGTERM)  # while it tidies up
        return 130

    assert interrupted_by_signals(does)() == 128 + signal.SIGTERM
