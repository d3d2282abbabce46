"""Viewers come late, look at their own pace, and leave at will: physics is the same whoever watches."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.end_to_end.drawn import drawn, saying_what_it_draws
from tests.end_to_end.processes import Run, Starter, memories, one_line, until
from twixt.render.measure.frame_log import read_log

pytestmark = pytest.mark.display

STEPS, STEP_NS = 210, round(1e9 / 60)
SIMULATION = ("sim", "gated:Gated", "--set", "count=40", "--seed", "7", "--steps", str(STEPS), "--hash")
# The world of `balls`, whose steps wait for viewers: those that a file allows are made, and no more.
GATED = """
import os
from pathlib import Path
from time import sleep
from twixt.sim.worlds.balls import Balls

class Gated(Balls):
    made = 0

    def step(self, dt):
        while "GATE" in os.environ and self.made >= int(Path(os.environ["GATE"]).read_text()):
            sleep(0.002)
        self.made += 1
        super().step(dt)
"""
# So many steps are allowed at a time. Of those allowed, a viewer has drawn all but the last few: clocks that play late.
STAGE, NOT_YET = 30, 8


class Gate:
    """Lets simulations make some steps at a time, each lot once viewers have drawn the one before."""

    def __init__(self, folder: Path) -> None:
        self.path, self.steps = folder / "gate", 0
        self.allow(1)

    def allow(self, steps: int) -> None:
        self.steps = steps
        made = self.path.with_suffix(".new")
        made.write_text(str(steps))
        made.replace(self.path)

    def go_on(self, views: list[Run], steps: int) -> None:
        """Until so many are made, and seen by these viewers."""
        for allowed in range(self.steps, steps + 1, STAGE):
            self.allow(allowed)
            for view in views:
                least_ns = (allowed - NOT_YET) * STEP_NS
                until(lambda view=view, least_ns=least_ns: has_drawn(view, least_ns), f"{allowed} steps are seen")  # type: ignore[misc]


def has_drawn(view: Run, least_ns: int) -> bool:
    """Whether it has come to this simulated time."""
    frames = drawn(view)
    return bool(frames) and frames[-1].sim_time_ns >= least_ns


def watching(view: Run) -> Run:
    until(lambda: memories(set(view.pids())), "the viewer attaches")
    return view


def test_the_final_state_is_the_same_bytes_whoever_watches_at_whatever_pace(start: Starter) -> None:
    (start.folder / "gated.py").write_text(GATED)
    says = saying_what_it_draws(start)
    gate = Gate(start.folder)
    gated = {"GATE": str(gate.path)}
    one = start(*SIMULATION, "--name", "one", **gated)
    three = start(
        *SIMULATION, "--name", "three", "--lead", "0", "--publish-hz", "30", "--json", "figures.json", **gated
    )
    nobody = start(*SIMULATION, "--name", "nobody", "--time-scale", "8", "--slow-physics", "1-3")
    until(lambda: len(list(start.runtime_folder.rglob("*.socket"))) >= 2, "both are there")
    logs = {name: start.folder / f"{name}.csv" for name in ("alone", "hurried", "slow", "killed")}

    def view(name: str, whom: str, *flags: str) -> Run:
        return start("view", whom, "--size", "160x120", "--no-overlay", *says, "--log", str(logs[name]), *flags)

    alone = view("alone", "one", "--fps", "25", "--interpolation", "none")
    hurried = view("hurried", "three", "--pacing", "unlimited", "--slow-render", "5")
    slow = view("slow", "three", "--slow-render", "120", "--clock", "newest-two")
    killed = view("killed", "three", "--fps", "10")
    gate.go_on([alone, hurried, slow, killed], 1 + 3 * STAGE)
    watching(killed).process.send_signal(signal.SIGKILL)
    hurried.interrupt()
    assert (killed.end(), hurried.end()) == (137, 130)
    assert three.process.poll() is None

    gate.go_on([alone, slow], STEPS - 1)
    gate.allow(STEPS)
    assert (nobody.end(), one.end(), three.end()) == (0, 0, 0), three.err
    assert (alone.end(), slow.end()) == (0, 0)
    for left_alone in (alone, slow):
        one_line(left_alone, "the simulation ended")
    assert len({run.out for run in (nobody, one, three)}) == 1
    assert len(one.out.strip()) == 64
    assert json.loads((start.folder / "figures.json").read_text())["physics"]["steps"] == STEPS
    for name in ("alone", "hurried", "slow"):
        assert_watched(logs[name])
    assert one.left() == three.left() == []


def assert_watched(log: Path) -> None:
    """It saw the world move, never backwards, and never beyond what there was."""
    drawn = read_log(log)
    drawn = drawn.where(~drawn.is_text("mode", "none"))
    assert len(drawn) > 5
    times_ns = drawn["draw_time_ns"]
    assert (times_ns[1:] >= times_ns[:-1]).all()
    assert (times_ns <= drawn["newest_sim_time_ns"]).all()
    assert times_ns[-1] > times_ns[0]


def test_a_viewer_that_comes_late_begins_where_the_simulation_is(start: Starter) -> None:
    lab = start("sim", "metronome", "--name", "lab", "--time-scale", "4")
    until(lambda: list(start.runtime_folder.rglob("lab.socket")), "the simulation is there")
    first = start("view", "--size", "160x120", "--seconds", "0.5", "--log", "first.csv", "--no-overlay")
    assert first.end() == 0, first.err
    late = start("view", "lab", "--size", "160x120", "--seconds", "0.3", "--log", "late.csv", "--no-overlay")
    assert late.end() == 0, late.err
    assert (first.err, late.err) == ("", "")
    last, begun = (read_log(start.folder / name)["draw_time_ns"] for name in ("first.csv", "late.csv"))
    assert begun[begun > 0][0] > last[-1]
    assert lab.process.poll() is None
    lab.interrupt()
    assert lab.end() == 130
    assert lab.left() == []
