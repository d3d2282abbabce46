"""Displays of a test that is killed with SIGKILL: none of their processes is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.processes import until
from tests.starvation import family

ROOT = Path(__file__).resolve().parents[2]
HOLDS_A_DISPLAY = """
import sys, time
from tests.displays import rigs
display = rigs.sway(60) if sys.argv[1] == "sway" else getattr(rigs, sys.argv[1])()
with display:
    sys.stdout.write("up\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""
PROGRAMS = {"xvfb": {"Xvfb"}, "sway": {"sway"}, "weston": {"weston", "Xvfb"}, "kwin": {"kwin_wayland", "dbus-daemon"}}
LIMIT_S = 10.0


@pytest.mark.display
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_no_display_outlives_the_test_that_was_killed(name: str) -> None:
    test = subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_DISPLAY, name],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert test.stdin
    assert test.stdout
    assert test.stderr
    with test.stdin, test.stdout, test.stderr:
        if test.stdout.readline() != b"up\n":
            said = test.communicate()[1].decode()
            assert "Skipped" in said, said
            pytest.skip(said.splitlines()[-1])
        begun = {pid: named(pid) for pid in family(test.pid) - {test.pid}}
        assert PROGRAMS[name] <= set(begun.values()), begun
        test.send_signal(signal.SIGKILL)
        test.wait()

    def left() -> list[int]:
        return [pid for pid in begun if named(pid) == begun[pid]]

    try:
        until(lambda: not left(), f"the end of {begun}", LIMIT_S)
    finally:
        for pid in left():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def named(pid: int) -> str:
    """The program's name; empty where it has ended."""
    with suppress(OSError):
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        return "" if rest.split()[0] == "Z" else name
    return ""
