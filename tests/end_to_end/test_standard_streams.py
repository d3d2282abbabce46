"""Standard streams that take nothing, or not every character: no message of twixt ends or holds up the program that it
is printed from, and exit codes stay."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.end_to_end.processes import FRONT_DOOR, PATIENCE_S
from tests.pipes import full_pipe, unread_pipe

pytestmark = pytest.mark.slow

BALL = """
import os, signal, sys
import twixt
def show(**options):
    return twixt.show(twixt.Scene([twixt.Sphere()]), **{"viewer": False, **options})
def loop(view):
    for step in range(20):
        view.publish(position=[(0.0, 0.0, step / 10)])
    view.close()
"""
MODEL = """
import mujoco
from twixt import mujoco_viewer
model = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
)
data = mujoco.MjData(model)
def loop(viewer):
    for _ in range(20):
        mujoco.mj_step(model, data)
        viewer.sync()
    viewer.close()
"""
# Programs of users: message, and the code that has it printed. Each goes through its loop and prints "went on".
PROGRAMS = {
    "a position that is not finite": (
        "it is not drawn", BALL + "view = show()\nview.publish(position=[(0, 0, float('nan'))])\nloop(view)",
    ),
    "a viewer that is killed": (
        "the loop continues without it",
        BALL + """
import subprocess
view = show(viewer=True, offscreen=True)
children = lambda: [int(pid) for pid in open(f"/proc/self/task/{os.getpid()}/children").read().split()]
while not children():
    view.publish(position=[(0, 0, 0)])
os.kill(children()[0], signal.SIGKILL)
while view.close_reason is None:
    view.publish(position=[(0, 0, 0)])
loop(view)
""",
    ),
    "an image that is too large": (
        "a side has at most", BALL + """
from PIL import Image
Image.new("RGB", (9000, 2)).save("large.png")
twixt.Texture.from_file("large.png")
loop(show())
""",
    ),
    "a trace": ("wrote the trace", BALL + "loop(show(profile='trace.json'))"),
    "a time that is none": (
        "which cannot be shown", MODEL + """
viewer = mujoco_viewer.launch_passive(model, data, viewer=False, publish_hz=1e5)
data.time = float("nan")
viewer.sync()
data.time = 1.0
loop(viewer)
""",
    ),
    "an option without effect": (
        "no effect yet", MODEL + """
viewer = mujoco_viewer.launch_passive(model, data, viewer=False, publish_hz=1e5)
viewer.opt.flex_layer = 3
loop(viewer)
""",
    ),
    "an untested MuJoCo": (
        "with which twixt was tested",
        "import mujoco\nmujoco.__version__ = '99.1.0'\n" + MODEL
        + "loop(mujoco_viewer.launch_passive(model, data, viewer=False))",
    ),
}  # fmt: skip
END = "\nprint('went on')\nsys.exit(7)"


@contextmanager
def full_disk() -> Iterator[int]:
    with open("/dev/full", "wb") as full:
        yield full.fileno()


@contextmanager
def held_pipe() -> Iterator[int]:
    with full_pipe() as (_, writing):
        yield writing


def twixt(*arguments: str, folder: Path, out: int = subprocess.DEVNULL, errors: int = subprocess.PIPE, **environ: str):
    return subprocess.run(
        [sys.executable, FRONT_DOOR, *arguments], cwd=folder, env={**os.environ, **environ},
        stdin=subprocess.DEVNULL, stdout=out, stderr=errors, timeout=PATIENCE_S,
    )  # fmt: skip


def run(program: str, folder: Path, errors: int) -> subprocess.CompletedProcess[bytes]:
    found = {"PYTHONPATH": str(Path(FRONT_DOOR).parent)}
    return subprocess.run(
        [sys.executable, "-c", "import sys\n" + program + END], cwd=folder, env={**os.environ, **found},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, timeout=PATIENCE_S,
    )  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_message_is_printed_where_it_can_be(program: str, tmp_path: Path) -> None:
    message, code = PROGRAMS[program]
    done = run(code, tmp_path, subprocess.PIPE)
    assert (done.returncode, done.stdout) == (7, b"went on\n"), done.stderr
    assert message in done.stderr.decode()


@pytest.mark.parametrize(
    ("program", "errors"),
    [
        *((program, errors) for program in PROGRAMS for errors in (full_disk, unread_pipe)),
        ("a position that is not finite", held_pipe),
        ("an option without effect", held_pipe),
    ],
)
def test_a_loop_goes_on_and_its_exit_code_stays(
    program: str, errors: Callable[[], contextlib.AbstractContextManager[int]], tmp_path: Path
) -> None:
    with errors() as descriptor:
        done = run(PROGRAMS[program][1], tmp_path, descriptor)
    assert (done.returncode, done.stdout) == (7, b"went on\n")


@pytest.mark.parametrize("errors", [full_disk, unread_pipe])
@pytest.mark.parametrize("arguments", ["run bogus", "run --nonsense", "view nobody", "report nowhere"])
def test_what_is_refused_ends_with_its_code_wherever_the_reason_goes(
    arguments: str, errors: Callable[[], contextlib.AbstractContextManager[int]], tmp_path: Path
) -> None:
    with errors() as descriptor:
        assert twixt(*arguments.split(), folder=tmp_path, errors=descriptor).returncode == 2


MEASURE = ("measure", "metronome", "--offscreen", "--seconds", "0.3", "--size", "64x48")
# A terminal of a container: no locale, and none that Python chooses instead.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("width", ["1", "20", "79"])
def test_a_narrow_ascii_terminal_gets_the_whole_report(width: str, tmp_path: Path) -> None:
    done = twixt(*MEASURE, folder=tmp_path, out=subprocess.PIPE, COLUMNS=width, **ASCII)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"--full" in done.stdout
    assert done.stdout.isascii()


def test_a_report_that_nobody_reads_ends_without_a_message(tmp_path: Path) -> None:
    with unread_pipe() as writing:
        done = twixt(*MEASURE, folder=tmp_path, out=writing)
    assert (done.returncode, done.stderr) == (141, b"")
