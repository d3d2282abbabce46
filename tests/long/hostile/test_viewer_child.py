"""A viewer that a run starts is told what to show on its standard input; anybody can start one and say anything."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FRONT_DOOR = Path(__file__).resolve().parents[3] / "twixt.py"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"\n", b"_view is only for viewers that a run starts"),
        (b"\xff\xfe\n", b"_view is only for viewers that a run starts"),
        (b"[" * 100_000, b"_view is only for viewers that a run starts"),
        (
            b'{"name": "a", "config": "{\\"fsp\\": 1}", "spawned_ns": 1, "pid": 1}',
            b"_view is only for viewers that a run starts",
        ),
        (
            b'{"name": "a", "config": "{\\"fps\\": -1}", "spawned_ns": 1, "pid": 1}',
            b"--fps must be a finite number > 0",
        ),
        (b'{"name": "a/b", "config": "{}", "spawned_ns": 1, "pid": 1}', b"a simulation's name must be 1 to 64 letters"),
    ],
    ids=range(6),
)
def test_what_no_run_says_is_refused_in_one_line(said: bytes, answer: bytes) -> None:
    shown = subprocess.run(
        [sys.executable, "-P", FRONT_DOOR, "_view"], input=said, capture_output=True, timeout=60, env={"DISPLAY": ""}
    )
    assert shown.returncode == 2
    assert shown.stderr.startswith(b"twixt: " + answer)
    assert shown.stderr.count(b"\n") == 1


def test_a_viewer_says_its_exit_code_to_who_told_it() -> None:
    ours, its = socket.socketpair()
    with ours, its:
        viewer = subprocess.Popen(
            [sys.executable, "-P", FRONT_DOOR, "_view"], stdin=its, stderr=subprocess.PIPE, env={"DISPLAY": ""}
        )
        its.close()
        ours.settimeout(60)
        ours.sendall(b"\n")
        assert ours.recv(16) == b"2"
        viewer.communicate(timeout=60)
        assert viewer.returncode == 2
