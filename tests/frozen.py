"""Frozen programs that call `twixt.show`: `python -m tests.frozen` (minutes; not part of `make test`).

Builds a program by PyInstaller, as one folder and as one file, in an environment of its own (`build/frozen`). Runs each
on Xvfb: without `twixt.freeze_support()`, with it, and with TWIXT_PYTHON. Prints how often the program was started and
whether its window was drawn; exits with 1 where either is wrong.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

from tests.displays.rigs import xvfb

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "frozen"
PYTHON = BUILT / "venv" / "bin" / "python"
PATIENCE_S = 120.0
# A program that starts itself without end is stopped at this number.
MOST_STARTS = 8
# Libraries that twixt loads while it draws, which PyInstaller does not find by itself: see README.md.
COLLECTED = ("--collect-all", "glfw", "--collect-all", "imgui_bundle")
KINDS = {"one folder": ("--onedir", "folder/folder"), "one file": ("--onefile", "file")}

PROGRAM = f"""
import os, sys, time
with open("starts", "a") as file:
    file.write(f"{{os.getpid()}} {{os.getppid()}}\\n")
if len(open("starts").readlines()) >= {MOST_STARTS}:
    os._exit(9)
import twixt

if __name__ == "__main__":
    if "SUPPORT" in os.environ:
        twixt.freeze_support()
    view = twixt.show(twixt.Scene([twixt.Sphere()]), dt=0.01, size_px=(320, 240), screenshot="shown.png", at_s=0)
    ends = time.monotonic() + 60
    while view.is_open and view.close_reason is None and not os.path.exists("shown.png") and time.monotonic() < ends:
        view.publish(position=[[0, 0, 0]])
        time.sleep(0.01)
    for _ in range(50):  # the loop goes on, with a viewer or without
        view.publish(position=[[0, 0, 0]])
        time.sleep(0.01)
    print("published to the end", flush=True)
    view.close()
"""


class Case(NamedTuple):
    """Environment of a run, and what is right: starts of the program, and whether a window is drawn."""

    name: str
    environ: dict[str, str]
    starts: int
    is_drawn: bool


CASES = (
    Case("without freeze_support", {}, 1, False),
    Case("with freeze_support", {"SUPPORT": "1"}, 2, True),
    Case("with TWIXT_PYTHON", {"TWIXT_PYTHON": str(PYTHON)}, 1, True),
)


def build() -> None:
    """Makes the environment and both programs."""
    if not PYTHON.exists():
        venv.create(BUILT / "venv", with_pip=True)
    pip = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, "-r", ROOT / "requirements-frozen.txt"], check=True)
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", BUILT / "wheel"]
    subprocess.run([*wheel, ROOT], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", *(BUILT / "wheel").glob("*.whl")], check=True)
    (BUILT / "program.py").write_text(PROGRAM)
    for kind, (flag, path) in KINDS.items():
        print(f"building as {kind}", flush=True)
        command = [PYTHON, "-m", "PyInstaller", "-y", "--log-level", "ERROR", flag, "--name", path.split("/")[0]]
        leave_out = ("--exclude-module", "matplotlib", "--exclude-module", "trimesh")
        subprocess.run([*command, *COLLECTED, *leave_out, "program.py"], cwd=BUILT, check=True)


def run(path: Path, case: Case, display: dict[str, str]) -> bool:
    """Runs one case and prints a line about it; True if it is right."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [path], cwd=folder, env=display | case.environ, capture_output=True, text=True, timeout=PATIENCE_S
        )
        processes = [line.split() for line in Path(folder, "starts").read_text().splitlines()]
        starts = len(processes)
        is_drawn = Path(folder, "shown.png").exists()
    notices = done.stderr.splitlines()
    is_told = [line for line in notices if "the loop continues without a viewer" in line]
    is_right = (starts, is_drawn, len(is_told)) == (case.starts, case.is_drawn, 0 if case.is_drawn else 1)
    is_right = is_right and len(notices) == 1 and "published to the end" in done.stdout and done.returncode == 0
    verdict = "right" if is_right else f"WRONG: {done.returncode} {done.stdout} {done.stderr}"
    kin = "" if starts < 2 else ", by a child" if processes[1][1] == processes[0][0] else ", by a grandchild"
    print(f"{case.name:24} {starts} starts, {'a window' if is_drawn else 'no window'}{kin}: {verdict}", flush=True)
    return is_right


def main() -> int:
    BUILT.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(BUILT / "wheel", ignore_errors=True)
    build()
    found: list[bool] = []
    with xvfb() as display:
        environ = {name: value for name, value in display.environ.items() if not name.startswith("PYTHON")}
        for kind, (_, path) in KINDS.items():
            print(kind, flush=True)
            found += [run(BUILT / "dist" / path, case, os.environ | environ) for case in CASES]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
