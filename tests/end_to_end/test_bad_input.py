"""Whatever a user gets wrong: value, rule and way out in one line, said once, and nothing left running.

The world's own faults, without a viewer, are in tests/sim/test_bad_worlds.py.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from tests.end_to_end.processes import (
    FRONT_DOOR,
    Run,
    Starter,
    focus,
    gone_within_a_second,
    memories,
    one_line,
    until,
    xdotool,
)
from tests.forked import Forks
from tests.newest import newest
from twixt.ipc.session import attach

pytestmark = pytest.mark.display

SMALL = ("--size", "320x240")

WORLDS = """
import numpy as np
from twixt import Bodies, Scene, Sphere, World

class Good(World):
    steps = 0
    def __init__(self, count: int = 3):
        self.bodies = Bodies(count)
        self.scene = Scene([Sphere()] * count)
    def step(self, dt):
        self.steps += 1
        if self.steps > 30:
            self.misbehave()

class Raises(Good):
    def misbehave(self):
        return 1 / 0

class Resizes(Good):
    def misbehave(self):
        self.bodies = Bodies(7)

class Nan(Good):
    def misbehave(self):
        self.bodies.position[2] = np.nan

class TooManyShapes(Good):
    def __init__(self):
        self.bodies = Bodies(3)
        self.scene = Scene([Sphere()] * 4)

class NoConstruction(Good):
    def __init__(self):
        raise RuntimeError("no such file: robot.xml")
"""

USERS = """
def on_import():
    return 1 / 0

class Raises:
    def add(self, snapshot):
        pass
    def reset(self):
        pass
    def sample(self, draw_time_ns):
        in_sample()

def in_sample():
    return 1 / 0
"""

# A viewer or a simulation of another version: nothing but the number of its format differs.
OTHER_FORMAT = f"""
import json
import sys
sys.path.insert(0, {str(FRONT_DOOR).rpartition("/")[0]!r})
import twixt
import twixt.ipc.session.wire as wire
wire.FORMAT += 1
sys.exit(twixt.main(sys.argv[1:]))
"""


@pytest.fixture
def start_with_worlds(start: Starter) -> Starter:
    (start.folder / "bad.py").write_text(WORLDS)
    return start


def refused(run: Run, *parts: str) -> None:
    """It ended with 2, one line that says all this, no traceback, and nothing left."""
    assert run.end() == 2, run.err
    one_line(run, *parts)
    assert run.left() == []


def simulation(start: Starter, name: str = "lab") -> Run:
    run = start("sim", "metronome", "--name", name)
    until(lambda: memories(set(run.pids())), "the simulation has made its memory")
    return run


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("run ball", ('no world named "ball"', "balls", "module:Class")),
        ("run nowhere:Orbit", ('no module named "nowhere"', "PYTHONPATH")),
        ("run bad:Goood", ('has no class "Goood"', '"Good"')),
        ("run bad.py:Good", ('no module named "bad.py"', 'did you mean "bad"?')),
        ("run bad:Good --set cuont=5", ('no setting "cuont"', 'did you mean "count"?')),
        ("run bad:Good --set count=many", ("count", "a whole number", "'many'")),
        (
            "run bad:TooManyShapes",
            ("4 shapes for 3 bodies", "give one shape for all bodies, or one shape for each body"),
        ),
        ("run --fps 0", ("--fps", "> 0", "0.0")),
        ("run --fps=-60", ("--fps", "> 0", "-60.0")),
        ("run --fps 1e-300", ("--fps", "at least 0.1", "1e-300")),
        ("run --slow-render 1e300", ("--slow-render", "<= 60000", "1e+300")),
        ("run --buffer-ms 1e300", ("--buffer-ms", "<= 60000", "1e+300")),
        ("run --screenshot picture", ("--screenshot", "PNG", "picture.png")),
        ("run --fps nan", ("--fps", "finite", "nan")),
        ("run --physics-hz inf", ("--physics-hz", "finite", "inf")),
        ("run --seconds=-1", ("--seconds", "> 0", "-1.0")),
        ("run --time-scale 1e9", ("--time-scale", "from", "1e+09")),
        ("run --slow-render=-5", ("--slow-render", ">= 0", "-5.0")),
        ("run --slow-physics 120-20", ("--slow-physics", "shortest <= longest", "120-20")),
        ("run --size 5x5", ("--size", "16x16", "5x5")),
        ("run --seed=-1", ("--seed", ">= 0", "-1")),
        ("run --screenshot nowhere/picture.png", ("--screenshot", "nowhere")),
        ("run --log nowhere/log.csv", ("--log", "nowhere/log.csv", "create it")),
        ("measure --json nowhere/report.json", ("--json", "nowhere/report.json", "create it")),
        ("measure --plot .", ("--plot", "cannot be written", "another file")),
        ("measure --seconds 0", ("--seconds", "> 0", "0.0")),
        ("sim --steps 1 --json nowhere/figures.json", ("--json", "nowhere/figures.json", "create it")),
        ("measure --fail-if motion.nothing>2", ("motion.nothing",)),
        ("view", ("no simulation is running", "twixt sim")),
        ("view nobody", ('no simulation named "nobody"', "twixt sim --name nobody")),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    start_with_worlds: Starter, forked: Forks, arguments: str, parts: tuple[str, ...]
) -> None:
    refused(start_with_worlds.forked(forked, *arguments.split()), *parts)


@pytest.mark.parametrize(
    "arguments", ["run --slow-physics fast", "run --size big", "run --set count", "run --nonsense", "run --clock sun"]
)
def test_what_does_not_read_is_refused_with_the_way_out(start: Starter, forked: Forks, arguments: str) -> None:
    run = start.forked(forked, *arguments.split())
    assert run.end() == 2
    assert arguments.split()[1] in run.err
    assert "Try 'twixt run --help'" in run.err
    assert "Traceback" not in run.err
    assert run.left() == []


def test_a_frame_log_on_a_full_disk_is_said(start: Starter) -> None:
    run = start("run", "metronome", "--log", "/dev/full", "--seconds", "0.5", "--offscreen", *SMALL)
    assert run.end() == 0
    one_line(run, "the frame log ends", "No space left")


@pytest.mark.parametrize("output", [">/dev/full", "| true"], ids=["full disk", "closed pipe"])
def test_a_report_that_cannot_be_printed_is_in_its_files_all_the_same(start: Starter, output: str) -> None:
    command = f'"$@" {output}'
    measure = ["measure", "metronome", "--json", "report.json", "--seconds", "0.5", "--offscreen", *SMALL]
    run = start.start(["sh", "-c", command, "sh", sys.executable, FRONT_DOOR, *measure])
    code = run.end()
    assert json.loads((start.folder / "report.json").read_text())["frames"]["count"] > 0
    assert "Traceback" not in run.err
    if output == ">/dev/full":
        assert code == 2
        one_line(run, "the disk is full", "No space left on device")


def test_two_simulations_of_one_name(start: Starter) -> None:
    first = simulation(start)
    for command in ("sim", "run"):
        second = start(command, "metronome", "--name", "lab")
        assert second.end() == 2
        one_line(second, '"lab" is already running', "another --name")
        assert not second.pids()
    assert first.process.poll() is None
    assert list(start.runtime_folder.rglob("lab.socket"))


def test_several_simulations_and_a_viewer_that_names_none(start: Starter) -> None:
    simulation(start, "lab")
    simulation(start, "hall")
    view = start("view")
    assert view.end() == 2
    one_line(view, "several simulations are running", "hall, lab")


def test_a_viewer_of_another_format_and_a_simulation_of_another(start: Starter) -> None:
    ours = simulation(start)
    theirs = start.start([sys.executable, "-c", OTHER_FORMAT, "view", "lab"])
    assert theirs.end() == 2
    one_line(theirs, "format", "same version of twixt")
    assert ours.process.poll() is None

    other = start.start([sys.executable, "-c", OTHER_FORMAT, "sim", "metronome", "--name", "other"])
    until(lambda: memories(set(other.pids())), "the simulation has made its memory")
    view = start("view", "other")
    assert view.end() == 2
    one_line(view, "format", "same version of twixt")


def test_no_server_at_the_display(start: Starter) -> None:
    refused(start("run", "metronome", DISPLAY=":9876"), ":9876", "--offscreen")


def test_no_opengl_3_3(start: Starter) -> None:
    refused(start("run", "metronome", MESA_GL_VERSION_OVERRIDE="2.1"), "OpenGL 3.3", "LIBGL_ALWAYS_SOFTWARE=1")


def test_neither_display_nor_egl(start: Starter) -> None:
    run = start("run", "metronome", DISPLAY="", __EGL_VENDOR_LIBRARY_FILENAMES="/nowhere.json")
    refused(run, "no display", "EGL", "apt-get install")


@pytest.mark.parametrize(
    ("world", "lines", "message"),
    [
        ("Raises", ["step", "misbehave"], "twixt: Raises.step raised ZeroDivisionError: division by zero"),
        ("Resizes", [], "twixt: Resizes.bodies was Bodies(3) and is Bodies(7) after step 31"),
        ("NoConstruction", ["__init__"], "twixt: NoConstruction.__init__ raised RuntimeError: no such file: robot.xml"),
    ],
)
def test_a_crash_in_the_users_world_is_theirs_and_told_once(
    start_with_worlds: Starter, world: str, lines: list[str], message: str
) -> None:
    run = start_with_worlds("run", f"bad:{world}", *SMALL)
    if world != "NoConstruction":
        window = focus(run, start_with_worlds.display)
        told = "twixt: physics crashed: " + message.removeprefix("twixt: ")
        until(lambda: told in xdotool(start_with_worlds.display, "getwindowname", window), "the window says so")
    if world == "Resizes":  # else the picture stays for some seconds
        xdotool(start_with_worlds.display, "key", "Escape")
    assert run.end() == 1
    said = run.err.splitlines()
    assert said[-1].startswith(message)
    assert len([line for line in said if line.startswith("twixt:")]) == 1
    assert [line.rpartition(" in ")[2] for line in said if line.startswith("  File")] == lines
    assert run.err.count("Traceback") == bool(lines)
    assert FRONT_DOOR.rpartition("/")[0] not in run.err
    assert run.left() == []


@pytest.mark.parametrize(
    ("flag", "line", "message"),
    [
        ("--interpolation", "on_import", "--interpolation: importing users raised ZeroDivisionError: division by zero"),
        ("--draw", "on_import", "--draw: importing users raised ZeroDivisionError: division by zero"),
        ("--interpolation", "in_sample", "users:Raises.sample raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_crash_in_the_users_drawing_is_theirs_and_told_with_their_lines_alone(
    start: Starter, flag: str, line: str, message: str
) -> None:
    (start.folder / "users.py").write_text(USERS + ("on_import()\n" if line == "on_import" else ""))
    run = start("run", "metronome", flag, "users:Raises", *SMALL, "--offscreen")
    assert run.end() == 1
    said = run.err.splitlines()
    assert said[-1] == f"twixt: {message}"
    assert run.err.count("Traceback") == 1
    assert f", in {line}" in run.err
    assert FRONT_DOOR.rpartition("/")[0] not in run.err
    assert run.left() == []


def test_a_viewer_of_its_own_accord_says_that_the_world_crashed(start_with_worlds: Starter) -> None:
    simulated = start_with_worlds("sim", "bad:Raises", "--name", "lab", "--time-scale", "0.2")
    until(lambda: memories(set(simulated.pids())), "the simulation has made its memory")
    view = start_with_worlds("view", "lab", *SMALL)
    assert (simulated.end(), view.end()) == (1, 1)
    one_line(view, "physics crashed", "Raises.step raised ZeroDivisionError")
    assert simulated.left() == view.left() == []


def test_a_body_without_a_place_is_named_once_and_the_others_go_on(
    start_with_worlds: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = start_with_worlds
    run = start("run", "bad:Nan", "--name", "lab", *SMALL)
    run.viewer()
    run.hear("body 2 has the position [nan, nan, nan]")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(start.runtime_folder))
    link = attach("lab")
    until(lambda: link.poll() or "body 2" in link.status.get("warning", ""), "viewers are told")
    tick = link.status["tick"]
    until(lambda: link.poll() or link.status["tick"] > tick + 60, "physics goes on")
    assert np.isfinite(newest(link).bodies["position"][:2]).all()
    link.close()
    run.interrupt()
    gone_within_a_second(run)
    assert run.end() == 130
    one_line(run, "body 2", "Nan.step", "division by zero")
