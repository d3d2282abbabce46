"""However a run ends, within a second nothing is left of it, and whoever survives the other says why."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.displays.rigs import Display
from tests.end_to_end.drawn import has_counted_frames
from tests.end_to_end.processes import (
    Run,
    Starter,
    focus,
    gone_within_a_second,
    memories,
    one_line,
    starter,
    until,
    xdotool,
)
from twixt.render.measure.frame_log import read_log

pytestmark = pytest.mark.display

SMALL = ("--size", "320x240")

STUCK = """
from time import sleep
from twixt import Bodies, Scene, Sphere, World

class Loads(World):
    def __init__(self):
        print("loading", flush=True)
        sleep(1e6)

class Sleeps(World):
    def __init__(self):
        self.bodies, self.scene = Bodies(1), Scene([Sphere()])
    def step(self, dt):
        print("in the step", flush=True)
        sleep(1e6)

class HearsNothing(Sleeps):
    def step(self, dt):
        print("in the step", flush=True)
        while True:
            try:
                sleep(0.01)
            except BaseException:
                pass
"""

KILLS_ITS_DISPLAY = """
import os, signal, time
from pathlib import Path

SERVER, seen = int(os.environ["DISPLAY_SERVER"]), []

def draw(frame):
    seen.append(time.monotonic())
    if len(seen) < 60 or seen[-1] - seen[0] < 3:
        return
    os.kill(SERVER, signal.SIGKILL)
    status = Path(f"/proc/{SERVER}/stat")
    while status.exists() and status.read_text().rsplit(") ", 1)[1][0] != "Z":
        time.sleep(0.001)
    print("gone", time.perf_counter_ns(), flush=True)
"""


def running(start: Starter, *flags: str) -> tuple[Run, int, set[tuple[int, int]]]:
    """A run whose viewer has attached, that viewer, and the memory that both hold."""
    run = start("run", "metronome", *SMALL, *flags)
    viewer = run.viewer()
    memory = memories(set(run.pids()))
    assert len(run.pids()) == 2
    assert memory
    assert len(list(start.runtime_folder.rglob("*.socket"))) == 1
    return run, viewer, memory


def test_ctrl_c_ends_both(start: Starter) -> None:
    run, _, memory = running(start)
    run.interrupt()
    gone_within_a_second(run, memory)
    assert (run.end(), run.err) == (130, "")


def test_sigterm_to_the_command_ends_both(start: Starter) -> None:
    run, _, memory = running(start)
    run.process.terminate()
    gone_within_a_second(run, memory)
    assert (run.end(), run.err) == (143, "")


def test_esc_ends_both(start: Starter) -> None:
    run, _, memory = running(start)
    focus(run, start.display)
    xdotool(start.display, "key", "Escape")
    gone_within_a_second(run, memory)
    assert (run.end(), run.err) == (0, "")


def test_the_close_button_ends_both(sway_rig: Callable[[float], Display], tmp_path: Path) -> None:
    rig = sway_rig(60)
    with starter(tmp_path, rig.environ) as start:
        run, _, memory = running(start)
        rig.tell_sway("[app_id=twixt]", "kill")
        gone_within_a_second(run, memory)
        assert (run.end(), run.err) == (0, "")


def test_a_viewer_that_outlives_killed_physics_says_why_and_leaves_not_even_the_socket(start: Starter) -> None:
    run, _, memory = running(start)
    run.process.kill()
    gone_within_a_second(run, memory)
    assert run.end() == 137
    one_line(run, "the viewer ends", "physics ended unexpectedly")


def test_physics_that_outlives_its_killed_viewer_says_why_and_ends(start: Starter) -> None:
    run, viewer, memory = running(start)
    os.kill(viewer, signal.SIGKILL)
    gone_within_a_second(run, memory)
    assert run.end() == 137
    one_line(run, "the viewer was killed by SIGKILL", "the run ends")


def test_a_killed_viewer_of_a_stuck_step_ends_the_run(start: Starter) -> None:
    (start.folder / "stuck.py").write_text(STUCK)
    run = start("run", "stuck:HearsNothing", *SMALL)
    viewer = run.viewer()
    run.hear("in the step")
    os.kill(viewer, signal.SIGKILL)
    gone_within_a_second(run)
    assert run.end() == 137


@pytest.mark.parametrize("world", ["Sleeps", "HearsNothing"])
@pytest.mark.parametrize("way", ["Ctrl-C", "Esc"])
def test_a_step_that_never_returns_ends_as_any_other(start: Starter, world: str, way: str) -> None:
    (start.folder / "stuck.py").write_text(STUCK)
    run = start("run", f"stuck:{world}", *SMALL)
    run.viewer()
    run.hear("in the step")
    if way == "Ctrl-C":
        run.interrupt()
    else:
        focus(run, start.display)
        xdotool(start.display, "key", "Escape")
    gone_within_a_second(run)
    assert run.end() == (130 if way == "Ctrl-C" else 0)
    assert "Traceback" not in run.err


@pytest.mark.parametrize("way", ["Ctrl-C", "kill -9", "Esc"])
def test_a_world_that_is_still_loading_ends_as_any_other(start: Starter, way: str) -> None:
    (start.folder / "stuck.py").write_text(STUCK)
    run = start("run", "stuck:Loads", *SMALL)
    run.hear("loading")
    focus(run, start.display)
    if way == "Ctrl-C":
        run.interrupt()
    elif way == "kill -9":
        run.process.kill()
    else:
        xdotool(start.display, "key", "Escape")
    gone_within_a_second(run)
    assert run.end() == {"Ctrl-C": 130, "kill -9": 137, "Esc": 0}[way]
    assert "Traceback" not in run.err
    assert len(run.err.splitlines()) <= 1, run.err


def test_a_simulation_goes_on_without_its_viewers_and_is_replaced_after_a_kill(start: Starter) -> None:
    alone = start("sim", "metronome", "--name", "lab")
    until(lambda: list(start.runtime_folder.rglob("lab.socket")), "the name is taken")
    for leaves in (signal.SIGKILL, signal.SIGINT):
        view = start("view", "lab", *SMALL)
        until(lambda view=view: memories(set(view.pids())), "the viewer attaches")  # type: ignore[misc]
        view.process.send_signal(leaves)
        assert view.end() == 128 + leaves
    assert alone.process.poll() is None
    view = start("view", "lab", *SMALL)
    memory = until(lambda: memories(set(view.pids())), "a third viewer attaches")

    alone.process.kill()
    assert (alone.end(), view.end()) == (137, 1)
    one_line(view, "physics ended unexpectedly")
    assert not memories(set(view.pids()) | {os.getpid()}) & memory
    left = [Path(path).name for path in view.left()]
    assert left in ([], ["lab.socket"])

    again = start("sim", "metronome", "--name", "lab", "--steps", "5", "--hash")
    assert again.end() == 0
    assert len(again.out.strip()) == 64
    assert again.left() == []


def test_a_viewer_of_its_own_accord_says_how_the_simulation_ended(start: Starter) -> None:
    alone = start("sim", "metronome", "--name", "lab")
    until(lambda: list(start.runtime_folder.rglob("lab.socket")), "the name is taken")
    view = start("view", *SMALL)
    until(lambda: memories(set(view.pids())), "the viewer attaches")
    alone.process.send_signal(signal.SIGINT)
    assert (alone.end(), view.end()) == (130, 130)
    one_line(view, "the simulation was interrupted")
    assert alone.left() == view.left() == []


@pytest.mark.parametrize(("way", "code"), [("Ctrl-C", 130), ("kill -9", 137), ("the display goes", 2)])
def test_what_was_measured_is_left_however_it_ends(xvfb_screen: Display, tmp_path: Path, way: str, code: int) -> None:
    with starter(tmp_path, xvfb_screen.environ) as start:
        logged = ("--log", "frames.csv", "--json", "report.json")
        run = start("measure", "metronome", "--name", "lab", *SMALL, *logged, "--seconds", "600")
        run.viewer()
        until(lambda: has_counted_frames(start.folder / "frames.csv"), "figures begin after start-up")
        if way == "Ctrl-C":
            run.interrupt()
        elif way == "kill -9":
            run.process.kill()
        else:
            xvfb_screen.process.kill()
        assert run.end() == code, run.err
        until(lambda: not run.left(), "nothing is left")
        assert len(run.err.splitlines()) == (way != "Ctrl-C"), run.err
        report = json.loads((start.folder / "report.json").read_text())
        rows = read_log(start.folder / "frames.csv")
        assert report["frames"]["count"] == np.count_nonzero(~rows["probe"])
        assert (np.diff(rows["frame"]) == 1).all()
        assert report["display"]["backend"] == "x11"


def test_a_display_that_goes_ends_both_and_says_so(xvfb_screen: Display, tmp_path: Path) -> None:
    with starter(tmp_path, xvfb_screen.environ) as start:
        run, _, memory = running(start)
        xvfb_screen.process.kill()
        gone_within_a_second(run, memory)
        assert run.end() == 2
        one_line(run, "the display (x11) closed the connection")


def test_a_display_that_goes_in_the_midst_of_a_frame_ends_it_there_with_log_report_and_trace(
    xvfb_screen: Display, tmp_path: Path
) -> None:
    with starter(tmp_path, xvfb_screen.environ) as start:
        (start.folder / "kills.py").write_text(KILLS_ITS_DISPLAY)
        left = ("--log", "frames.csv", "--json", "report.json", "--profile", "trace.json")
        run = start("measure", "metronome", *SMALL, *left, "--seconds", "600", "--draw", "kills:draw",
                    DISPLAY_SERVER=str(xvfb_screen.process.pid))  # fmt: skip
        assert run.end() == 2, run.err
        until(lambda: not run.left(), "nothing is left")
        said = run.err.splitlines()
        assert [line for line in said if "wrote the trace" not in line] == [said[0]], run.err
        assert "the display (x11) closed the connection" in said[0]
        report = json.loads((start.folder / "report.json").read_text())
        rows = read_log(start.folder / "frames.csv")
        assert 0 < report["frames"]["count"] == np.count_nonzero(~rows["probe"])
        gone_ns = next(int(line.split()[1]) for line in run.out.splitlines() if line.startswith("gone"))
        assert rows["present_ns"].max() < gone_ns
        spans = json.loads((start.folder / "trace.json").read_text())["traceEvents"]
        assert {"frame", "step"} <= {span["name"] for span in spans}
