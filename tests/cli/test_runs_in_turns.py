"""`twixt measure --against`: what is typed for each side, the turns of real runs, their end by Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.sessions import left_in_session
from tests.forked import Forks
from twixt.cli.differences import MachineLoad
from twixt.cli.runs_in_turns import Run, Turns, arguments_of_runs, compare, without
from twixt.ipc.errors import TwixtError

ROOT = Path(__file__).parents[2]


def typed(*arguments: str) -> list[str]:
    return [sys.executable, "-P", str(ROOT / "twixt.py"), *arguments]


def test_a_is_told_what_was_typed_and_b_the_flags_behind_it() -> None:
    words = [
        "measure",
        "metronome",
        "--repeat",
        "6",
        "--clock=ahead",
        "--against=x",
        "--json",
        "a.json",
        "--seconds",
        "2",
    ]
    found = arguments_of_runs(words, "--slow-render 3 --set 'a b=1'")
    assert found["A"] == ["metronome", "--clock=ahead", "--seconds", "2"]
    assert found["B"] == [*found["A"], "--slow-render", "3", "--set", "a b=1"]


def test_a_run_is_short_unless_it_is_told_how_long() -> None:
    assert arguments_of_runs(["measure"], "")["A"] == ["--seconds", "4"]
    assert without(["--fail-if", "a>1", "x"], ("--fail-if",)) == ["x"]


@pytest.mark.parametrize(
    ("words", "flags", "says"),
    [(["--log", "a.csv"], "", "--log cannot be combined with --against"), (["--full"], "", "--full cannot be combined with --against"),
     ([], "--plot=a.png", "--plot"), ([], "--repeat 3", "within"),
     ([], "'", "must be flags"), ([], "--help", "makes no run"), (["--", "balls"], "", "added after it")],
)  # fmt: skip
def test_what_many_runs_cannot_be_told_is_refused(words: list[str], flags: str, says: str) -> None:
    with pytest.raises(TwixtError, match=says):
        arguments_of_runs(["measure", *words], flags)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--repeat", "7"], "--repeat 7 needs --against"), (["--against", "--fps -3"], "--fps must be"),
        (["--against", "--slo 3"], "No such option"), (["--against", "", "--fail-if", "frames.count>1"], "--fail-if"),
        (["--against", "", "--json", "nowhere/a.json"], "--json"), (["--against", "", "--repeat", "0"], "--repeat"),
        (["--against", "", "--repeat", "4"], "4 is not in the range 5<=x<=1000"),
        (["nowhere:World", "--against", ""], "the flags of A are not accepted: no module"),
        (["--size", "64x48", "--offscreen", "--seconds", "0.1", "--against", "--draw nowhere:draw"], "the flags of B are not accepted"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_words(forked: Forks, arguments: list[str], says: str) -> None:
    ended = forked(Path("/"), "measure", *arguments)
    assert ended.returncode == 2, ended.stderr
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_runs_take_turns_and_all_of_it_is_in_the_json(tmp_path: Path) -> None:
    path = tmp_path / "both.json"
    flags = ("--offscreen", "--size", "64x48", "--no-overlay", "--seconds", "0.3", "--repeat", "5", "--json", str(path))
    ended = subprocess.run(
        typed("measure", "metronome", *flags, "--against", "--slow-render 30"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert "frames.cpu_ms.p50" in ended.stdout
    made = json.loads(path.read_text())
    turns = Turns(5)
    for run in made["runs"]:
        assert run["side"] == turns.next_side
        turns.runs.append(Run(run["side"], run["figures"], MachineLoad(**run["load"]), run["fault"]))
    assert turns.next_side is None
    assert "".join(run.side for run in turns.runs[:4]) == "ABBA", "others stand in for runs that were disturbed"
    figure = made["figures"]["frames.cpu_ms.p50"]
    assert figure["b"] > figure["a"] + 4.5  # so much is added to a frame that takes longer by itself, too
    assert made["flags"]["B"].endswith("--slow-render 30")


@pytest.mark.slow
def test_ctrl_c_ends_the_turns_and_leaves_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "both.json"
    flags = (
        "--offscreen",
        "--size",
        "64x48",
        "--no-overlay",
        "--seconds",
        "0.3",
        "--repeat",
        "50",
        "--json",
        str(path),
    )
    child = subprocess.Popen(
        typed("measure", "metronome", *flags, "--against", ""), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert child.stderr is not None
    while "run 3 of 100" not in (line := child.stderr.readline()):
        assert line, "it ended before its third run"
    os.killpg(child.pid, signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Ctrl-C ended the runs after" in said
    assert len(json.loads(path.read_text())["runs"]) >= 2
    assert not left_in_session(child.pid)


WORLD = """
from twixt import Bodies, Scene, Sphere, World
class Breaks(World):
    def __init__(self, bad: int = 0):
        self.bad, self.bodies, self.scene = bad, Bodies(1), Scene([Sphere()])
    def step(self, dt):
        if self.bad: raise ValueError("bad")
"""


@pytest.mark.slow
def test_a_side_that_always_ends_badly_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "breaking.py").write_text(WORLD)
    flags = ("--offscreen", "--size", "64x48", "--no-overlay", "--seconds", "0.1", "--repeat", "5")
    ended = subprocess.run(
        typed("measure", "breaking:Breaks", *flags, "--against", "--set bad=1"),
        capture_output=True, text=True, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "5 runs failed and do not count; the last failed run was a run of B: exit code 1" in ended.stdout


def test_a_run_that_ended_badly_counts_as_none() -> None:
    load = MachineLoad(2, 0.0, 0.0)
    runs = [Run("ABBA"[at % 4], {"frames.cpu_ms.p50": 5.0 + at % 3}, load) for at in range(16)]
    runs[5] = Run("B", {}, load, "exit code 1: the display went")
    turns = Turns(8, runs)
    compared, _, counting = compare(turns)
    assert 5 not in counting
    assert compared[0].runs == (8, 7)
    assert "the display went" in turns.notes()[0]


@pytest.mark.parametrize(("disturbed", "made"), [((), 16), ((3,), 17), ((0, 3, 5), 19), (tuple(range(12)), 16)])
def test_runs_that_others_disturbed_are_made_again_unless_all_would_be(disturbed: tuple[int, ...], made: int) -> None:
    turns = Turns(8)
    while (side := turns.next_side) is not None:
        is_disturbed = len(turns.runs) in disturbed
        turns.runs.append(Run(side, {}, MachineLoad(2, 1.5 if is_disturbed else 0.0, 0.0)))
    assert len(turns.runs) == made
    quiet = [run.side for run in turns.runs if not run.load.disturbed]
    assert len(disturbed) > 8 or quiet.count("A") == quiet.count("B") == 8


def test_a_machine_that_disturbs_every_other_run_ends_the_turns_all_the_same() -> None:
    turns = Turns(8)
    while (side := turns.next_side) is not None:
        turns.runs.append(Run(side, {}, MachineLoad(2, 1.5 * (len(turns.runs) % 2), 0.0)))
    assert len(turns.runs) <= 24
