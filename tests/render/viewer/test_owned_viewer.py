"""A viewer that a run started: what programs inherit that its own code starts, and the end of its physics process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from twixt.render.viewer.owned_viewer import _without_physics

ROOT = Path(__file__).parents[3]
# A drawing that starts a program which opens a view of its own, once.
DRAWING = f"""
import os, subprocess, sys

def draw(frame):
    if not os.path.exists("said"):
        code = "import sys; sys.path.append({str(ROOT)!r}); import program; program.show_one()"
        with open("saying", "w") as file:
            subprocess.run([sys.executable, "-c", code], stdout=file, stderr=file)
        os.replace("saying", "said")
"""
PROGRAM = """
import os, time, twixt

def show_one():
    view = twixt.show(twixt.Scene([twixt.Sphere()]), offscreen=True)
    ends = time.monotonic() + 60
    while view.close_reason is None and not view._host.viewer_attached.is_set and time.monotonic() < ends:
        view.publish(position=[[0, 0, 0]])
        time.sleep(0.01)
    print(sorted({"TWIXT_OWNED", "TWIXT_PATH"} & set(os.environ)), view._host.viewer_attached.is_set, view.close_reason)
    view.close()
"""


def test_a_program_that_the_viewers_own_code_starts_has_a_viewer_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "drawing.py").write_text(DRAWING)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(ROOT / "twixt.py"), "run", "metronome", "--offscreen", "--draw", "drawing:draw"]
    done = subprocess.run(
        [*command, "--seconds", "0.2"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "said").read_text() == "[] True None\n"


def test_a_physics_process_that_is_not_the_parent_is_seen_to_run_and_to_have_ended() -> None:
    """The viewer of a frozen program in one file may be a grandchild."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert _without_physics(other.pid) == 0
        assert other.stdin is not None
        other.stdin.close()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # dead, and its parent has not asked yet
        assert _without_physics(other.pid) == 1
