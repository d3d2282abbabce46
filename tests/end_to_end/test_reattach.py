"""A viewer that waits (`twixt view NAME --wait`) stays, and goes on where its simulation comes back under its name."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.drawn import drawn, has_counted_frames, saying_what_it_draws
from tests.end_to_end.processes import Run, Starter, memories, one_line, until
from twixt.render.measure.evenness import intervals, motion
from twixt.render.measure.frame_log import read_log

pytestmark = pytest.mark.display

SMALL = ("--size", "160x120")

# Fewer bodies, and what drawing needs copies for: a column that colours them, and a group of its own.
OTHER = """
import numpy as np
from twixt import Bodies, ColorBy, Column, Group, Scene, Sphere, World

class Other(World):
    def __init__(self):
        self.bodies = Bodies(2, columns={"heat": Column("f4")})
        groups = {"slow": Group([1], delay_ms=50)}
        self.scene = Scene([Sphere()] * 2, color_by=ColorBy("heat"), groups=groups)
    def step(self, dt):
        self.bodies.position[:, 0] += dt
        self.bodies.columns["heat"][:] += dt
"""


def simulation(start: Starter, world: str, *flags: str) -> Run:
    run = start("sim", world, "--name", "lab", *flags)
    until(lambda: memories(set(run.pids())), "the simulation has made its memory")
    return run


def watched(view: Run, simulation: Run, bodies: int) -> None:
    """The viewer holds this simulation's memory, no other's, and has drawn it for a while."""
    pid = view.process.pid
    theirs = memories({simulation.process.pid})
    until(lambda: memories({pid}) == theirs, "the viewer attaches to it, and has let go of the one before")

    def moves() -> bool:
        of_this = [frame.sim_time_ns for frame in drawn(view) if frame.bodies == bodies]
        return len(of_this) > 20 and of_this[-1] > of_this[0]

    until(moves, f"{bodies} bodies move")


def test_a_viewer_waits_for_its_simulation_and_follows_each_that_comes_back(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(start.runtime_folder))
    (start.folder / "other.py").write_text(OTHER)
    view = start("view", "lab", "--wait", *SMALL, *saying_what_it_draws(start), "--log", "frames.csv")
    view.hear('waiting for the simulation "lab"')
    first = simulation(start, "metronome")
    watched(view, first, 1)
    until(lambda: has_counted_frames(start.folder / "frames.csv"), "frames after the start's are in the log")

    first.process.send_signal(signal.SIGKILL)
    assert first.end() == 137
    view.hear("physics ended unexpectedly")
    second = simulation(start, "other:Other")
    watched(view, second, 2)

    second.interrupt()
    assert second.end() == 130
    until(lambda: view.err.count('waiting until "lab" runs again') == 2, "its end is told")
    third = simulation(start, "swarm", "--set", "count=500")
    watched(view, third, 500)

    assert view.process.poll() is None
    view.interrupt()
    assert view.end() == 130
    assert view.err.count('twixt: "lab" runs again') == 2
    assert "Traceback" not in view.err
    third.interrupt()
    assert third.end() == 130
    assert third.left() == []
    assert_whole_and_cut_twice(start.folder / "frames.csv")


def assert_whole_and_cut_twice(log: Path) -> None:
    """Every frame has its row; each simulation is a world of its own, whose time begins anew and never runs back."""
    rows = read_log(log)
    assert (np.diff(rows["frame"]) == 1).all()
    drawn = rows.where(~rows.is_text("mode", "none"))
    assert len(drawn) == len(rows), "the last picture stays until there is another"
    cuts = np.flatnonzero(np.diff(drawn["world_epoch"]))
    assert (np.diff(drawn["world_epoch"])[cuts] > 0).all()
    assert len(cuts) == 2
    backwards = np.diff(drawn["draw_time_ns"]) < 0
    assert np.flatnonzero(backwards).tolist() == cuts.tolist()
    timing = intervals(rows)
    told, cuts = motion(timing), np.flatnonzero(np.diff(timing.frames["world_epoch"])) + 1
    assert not told.reversed.any()
    assert len(cuts) == 2
    assert not timing.joined[cuts].any(), "what passed between two simulations is no frame's interval"
    assert np.isnan(told.step_ms[cuts]).all(), "nor its step"


def test_ctrl_c_ends_a_viewer_that_waits(start: Starter) -> None:
    view = start("view", "--wait", *SMALL)
    view.hear("waiting for a simulation")
    view.interrupt()
    assert view.end() == 130
    one_line(view, "waiting for a simulation", "Ctrl-C")


def test_a_viewer_that_was_not_told_to_wait_ends_with_its_simulation(start: Starter) -> None:
    lab = simulation(start, "metronome")
    view = start("view", "lab", *SMALL)
    until(lambda: memories(set(view.pids())), "the viewer attaches")
    os.kill(lab.process.pid, signal.SIGKILL)
    assert view.end() == 1
    one_line(view, "physics ended unexpectedly")
