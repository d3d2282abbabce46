"""`--profile`: however a run ends, its trace is whole, of both processes, and says the same as the frame log."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.processes import Run, Starter, one_line, starter, until

pytestmark = pytest.mark.slow

OFFSCREEN = ("--offscreen", "--size", "320x240", "--no-overlay")
CRASHES = """
from twixt import Bodies, Scene, Sphere, World

class Fragile(World):
    def __init__(self):
        self.bodies, self.scene, self.steps = Bodies(1), Scene([Sphere()]), 0

    def step(self, dt):
        self.steps += 1
        if self.steps == 30:
            raise ValueError("thirty")
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    with starter(tmp_path, os.environ) as starts:
        yield starts


class Traced:
    """A trace as it was read: its complete events by process and name, in the order of their beginnings."""

    def __init__(self, path: Path) -> None:
        document = json.loads(path.read_text())
        self.about: dict[str, Any] = document["otherData"]
        self.events: list[dict[str, Any]] = document["traceEvents"]
        self.process = {e["pid"]: e["args"]["name"] for e in self.events if e["name"] == "process_name"}
        self.spans: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for event in sorted((e for e in self.events if e["ph"] == "X"), key=lambda e: e["ts"]):
            self.spans[self.process[event["pid"]], event["name"]].append(event)

    def __call__(self, process: str, name: str) -> list[dict[str, Any]]:
        return self.spans.get((process, name), [])

    def ns(self, span: dict[str, Any]) -> tuple[int, int]:
        """Its begin and end on the clock of the frame log."""
        begin = round(span["ts"] * 1000) + self.about["origin_ns"]
        return begin, begin + round(span["dur"] * 1000)


def test_a_run_leaves_one_time_axis_of_both_processes_that_agrees_with_the_frame_log(start: Starter) -> None:
    run = start("run", "metronome", *OFFSCREEN, "--seconds", "1", "--profile", "t.json", "--log", "frames.csv")
    assert run.end() == 0, run.err
    one_line(run, "wrote the trace t.json")
    trace = Traced(start.folder / "t.json")
    assert sorted(trace.process.values()) == ["physics", "viewer"]

    with open(start.folder / "frames.csv", newline="") as file:
        logged = {int(r["frame"]): (int(r["swap_begin_ns"]), int(r["present_ns"])) for r in csv.DictReader(file)}
    assert len(logged) > 3
    assert {span["args"]["frame"]: trace.ns(span) for span in trace("viewer", "swap")} == logged
    for name in ("events", "read and upload", "clock and draw", "finish (GPU)", "swap", "frame"):
        assert len(trace("viewer", name)) == len(logged), name
    # Work ahead of a frame divides its wait in two.
    assert 0 <= len(trace("viewer", "wait")) - len(logged) <= len(trace("viewer", "ahead of the frame"))
    for name in ("start", "window", "attach", "programs"):
        assert len(trace("viewer", name)) == 1, name

    published = {span["args"]["tick"]: trace.ns(span) for span in trace("physics", "publish")}
    stepped = {span["args"]["tick"]: trace.ns(span) for span in trace("physics", "step")}
    assert list(stepped) == list(range(1, len(stepped) + 1))
    between = [tick for tick in stepped if tick in published and tick - 1 in published]
    assert len(between) > 3
    for tick in between:
        begin_ns, end_ns = stepped[tick]
        assert published[tick - 1][1] <= begin_ns <= end_ns <= published[tick][0]
    assert len(trace("physics", "wait")) > 3
    spans_nest(trace)

    drawn = [event["ts"] for event in trace.events if event["ph"] == "f"]
    sent = [event["ts"] for event in trace.events if event["ph"] == "s"]
    assert len(sent) == len(drawn) > 3
    assert all(begin < end for begin, end in zip(sent, drawn, strict=True))
    counted = {event["name"] for event in trace.events if event["ph"] == "C"}
    assert counted == {"lead (ms)", "rate", "lateness (ms)", "offset (ms)", "fps"}


def spans_nest(trace: Traced) -> None:
    """Of one thread, two spans are one after the other, or one inside the other."""
    threads: dict[tuple[int, int], list[tuple[int, int, str]]] = defaultdict(list)
    for event in trace.events:
        if event["ph"] == "X":
            begin_ns, end_ns = trace.ns(event)
            threads[event["pid"], event["tid"]].append((begin_ns, -end_ns, event["name"]))
    for spans in threads.values():
        around: list[tuple[int, str]] = []
        for begin_ns, minus_end_ns, name in sorted(spans):
            while around and around[-1][0] <= begin_ns:
                around.pop()
            assert not around or -minus_end_ns <= around[-1][0], f"{name} outlasts {around[-1][1]}"
            around.append((-minus_end_ns, name))


def has_drawn(run: Run) -> bool:
    assert run.process.poll() is None, run.err
    return (run.folder / "seen.png").exists()


@pytest.mark.parametrize("ended", ["Ctrl-C", "the viewer is killed", "physics is killed"])
def test_a_run_that_is_cut_off_leaves_a_whole_trace_of_both(start: Starter, ended: str) -> None:
    run = start(
        "run", "metronome", *OFFSCREEN, "--seconds", "100", "--profile", "t.json", "--screenshot", "seen.png",
        "--at", "0.2", "--slow-physics", "1", "--stall", "20@0.1",
    )  # fmt: skip
    until(lambda: has_drawn(run), "a picture")
    viewer, physics = run.viewer(), run.process.pid
    if ended == "Ctrl-C":
        run.interrupt()
    else:
        os.kill(viewer if ended.startswith("the viewer") else physics, signal.SIGKILL)
    run.end()
    until(lambda: not run.pids(), "everybody has gone")
    assert (start.folder / "t.json").exists(), run.err
    trace = Traced(start.folder / "t.json")
    assert trace.process == {physics: "physics", viewer: "viewer"}
    for process, name in (
        ("viewer", "swap"), ("physics", "step"), ("physics", "publish"), ("physics", "injected work"),
        ("physics", "injected stall"),
    ):  # fmt: skip
        assert trace(process, name), (name, ended)
    spans_nest(trace)
    assert sorted(os.listdir(start.folder)) == ["runtime", "seen.png", "t.json"]


def test_a_world_that_crashes_leaves_what_was_before(start: Starter) -> None:
    (start.folder / "fragile.py").write_text(CRASHES)
    run = start("run", "fragile:Fragile", *OFFSCREEN, "--profile", "t.json")
    assert run.end() == 1
    trace = Traced(start.folder / "t.json")
    assert [span["args"]["tick"] for span in trace("physics", "step")] == list(range(1, 30))
    assert "viewer" in trace.process.values()


def test_physics_alone_and_a_viewer_alone_leave_their_own_side(start: Starter) -> None:
    lab = start("sim", "metronome", "--name", "lab", "--profile", "sim.json")
    until(lambda: list(start.folder.rglob("lab.socket")), "the simulation's name")
    viewer = start("view", "lab", *OFFSCREEN, "--seconds", "0.2", "--profile", "view.json")
    assert viewer.end() == 0, viewer.err
    lab.interrupt()
    assert lab.end() == 130
    assert list(Traced(start.folder / "sim.json").process.values()) == ["physics"]
    trace = Traced(start.folder / "view.json")
    assert list(trace.process.values()) == ["viewer"]
    assert trace("viewer", "swap")


def test_a_loop_of_the_users_own_leaves_a_trace_when_its_view_is_closed(start: Starter) -> None:
    run = start.script(
        "import twixt\n"
        "with twixt.show(twixt.Scene([twixt.Sphere()]), viewer=False, profile='t.json') as view:\n"
        "    for x in range(3):\n"
        "        view.publish(position=[[x, 0, 0]])\n"
    )
    assert run.end() == 0, run.err
    assert run.err.splitlines()[1:] == ["twixt: wrote the trace t.json; open it at ui.perfetto.dev or chrome://tracing"]
    trace = Traced(start.folder / "t.json")
    assert [span["args"]["tick"] for span in trace("physics", "publish")] == [0, 1, 2]


def test_a_run_that_is_refused_leaves_no_trace(start: Starter) -> None:
    run = start("run", "no_such_world", *OFFSCREEN, "--profile", "t.json")
    assert run.end() == 2
    assert "trace" not in run.err
    assert os.listdir(start.folder) == ["runtime"]


def test_a_file_without_a_folder_is_refused_at_the_door(start: Starter) -> None:
    run = start("run", *OFFSCREEN, "--profile", "missing/t.json")
    assert run.end() == 2
    one_line(run, "--profile 'missing/t.json'", "the folder 'missing' does not exist")
