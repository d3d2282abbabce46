"""A start that takes long says what it is busy with, at a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import twixt
from twixt.render.measure.report_keys import START_PHASES
from twixt.render.viewer.start_up import BUSY_WITH, PICTURE, busy_with

SLOW = """
from pathlib import Path
from time import sleep
from twixt.sim.worlds.metronome import Metronome

class Slow(Metronome):
    def __init__(self):
        while not Path("go").exists():
            sleep(0.01)
        super().__init__()
"""


def test_the_parts_are_those_of_the_report_in_their_order() -> None:
    assert [part for part in START_PHASES if part in BUSY_WITH] == list(BUSY_WITH)[:-1]


@pytest.mark.parametrize("part", BUSY_WITH)
def test_what_is_said_is_the_first_part_that_is_not_over(part: str) -> None:
    ended = list(BUSY_WITH)[: list(BUSY_WITH).index(part)]
    assert busy_with(ended.__contains__) == BUSY_WITH[part]
    assert busy_with([PICTURE].__contains__) == ""


def test_a_world_that_takes_long_to_make_is_said_at_a_terminal_and_only_there(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    runtime = tmp_path / "run"
    runtime.mkdir(0o700)
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environ |= {"XDG_RUNTIME_DIR": str(runtime)}
    command = [sys.executable, str(twixt.__file__), "run", "slow:Slow", "--offscreen", "--seconds", "0.1"]
    here, terminal = os.openpty()
    run = subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    heard = b""
    try:
        while b"waiting for the world" not in heard:
            heard += os.read(here, 4096)  # ends with the run, as an error
        (tmp_path / "go").touch()
        assert run.wait(60) == 0
    finally:
        run.kill()
        run.wait()
        os.close(here)
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "starting" not in done.stderr
