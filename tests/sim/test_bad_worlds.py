"""Worlds that misbehave, as a user meets them: at the command line, in a process of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import twixt

# Generous: what hangs must fail, not stall the whole run.
PATIENCE_S = 30

WORLDS = """
    import os, sys, time
    import numpy as np
    from twixt import Bodies, Scene, Sphere, World

    class Good(World):
        def __init__(self, count: int = 3):
            self.bodies = Bodies(count)
            self.scene = Scene([Sphere()] * count)
            self.made = 0
        def step(self, dt):
            self.made += 1
            self.act()
        def act(self):
            pass

    class Raises(Good):
        def act(self):
            if self.made == 3:
                self.divide(1, 0)
        def divide(self, a, b):
            return a / b

    class RaisesOurs(Good):
        def act(self):
            self.bodies.teleport(99, (0, 0, 0))

    class Nan(Good):
        def act(self):
            self.bodies.position[2] = np.nan

    class Resizes(Good):
        def act(self):
            self.bodies = Bodies(7)

    class Retypes(Good):
        def act(self):
            self.bodies = np.zeros((3, 3))

    class Broadcasts(Good):
        def act(self):
            self.bodies.position = np.zeros((4, 3))

    class TooManyShapes(Good):
        def __init__(self):
            super().__init__()
            self.scene = Scene([Sphere()] * 4)

    class NoConstruction(Good):
        def __init__(self):
            raise RuntimeError("no such file: robot.xml")

    class BadRadius(Good):
        def __init__(self, radius: float = 1):
            super().__init__()
            self.scene = Scene([Sphere(radius)])

    class NoStep(World):
        def __init__(self):
            self.bodies = Bodies(3)
            self.scene = Scene([Sphere()])

    class StepTakesNothing(Good):
        def step(self):
            pass

    class NoDiagnostics(Good):
        def diagnostics(self):
            return None

    class LosesItsScene(Good):
        def act(self):
            self.scene = None

    class HangsOnNobody(Good):
        def act(self):
            self.scene = Scene([Sphere()] * 3, parents={1: 9})

    class Speechless(Good):
        def act(self):
            class Mute(Exception):
                def __str__(self):
                    raise RuntimeError("no words")
            raise Mute

    class Exits(Good):
        def act(self):
            sys.exit(7)

    class Forks(Good):
        def act(self):
            child = os.fork()
            if not child:
                time.sleep(60)
                os._exit(1)
            os.kill(child, 15)
            assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 15

    class SleepsForEver(Good):
        def act(self):
            print("in the step", flush=True)
            time.sleep(1e6)

    class SwallowsEverything(Good):
        def act(self):
            print("in the step", flush=True)
            while True:
                try:
                    time.sleep(0.01)
                except BaseException:
                    pass
"""


# What is wrong is not a line that raised.
WITHOUT_A_LINE_OF_THEIRS = (
    "Resizes", "Retypes", "NoStep", "StepTakesNothing", "NoDiagnostics", "LosesItsScene", "HangsOnNobody"
)  # fmt: skip


@pytest.fixture
def users_folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.py").write_text(textwrap.dedent(WORLDS))
    return tmp_path


def twixt_sim(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(twixt.__file__), "sim", *arguments]


def left_behind(runtime_folder: Path) -> list[str]:
    return [path.name for path in runtime_folder.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize(
    ("world", "code", "said"),
    [
        ("Raises", 1, "twixt: Raises.step raised ZeroDivisionError: division by zero"),
        ("RaisesOurs", 1, "RaisesOurs.step raised IndexError"),
        ("Resizes", 1, "Resizes.bodies was Bodies(3) and is Bodies(7) after step 1"),
        ("Retypes", 1, "Retypes.bodies was Bodies(3) and is ndarray after step 1"),
        ("Broadcasts", 1, "could not broadcast input array from shape (4,3) into shape (3,3)"),
        ("NoStep", 1, "NoStep has no step(self, dt); write one that advances its bodies"),
        ("StepTakesNothing", 1, "StepTakesNothing.step() takes 1 positional argument but 2 were given"),
        ("NoDiagnostics", 1, "NoDiagnostics.diagnostics raised AttributeError"),
        ("LosesItsScene", 1, "LosesItsScene.scene must be a Scene"),
        ("HangsOnNobody", 1, "Scene.parents must name bodies that are there, 0 to 2, got 9"),
        ("Speechless", 1, "Speechless.step raised Mute: its words cannot be had, RuntimeError"),
        ("NoConstruction", 1, "NoConstruction.__init__ raised RuntimeError: no such file: robot.xml"),
        ("TooManyShapes", 2, "TooManyShapes.scene has 4 shapes for 3 bodies"),
        ("Nothing", 2, 'has no class "Nothing"'),
    ],
)
def test_each_fault_has_its_words_and_its_exit_code_and_leaves_nothing(
    users_folder: Path, runtime_folder: Path, world: str, code: int, said: str
) -> None:
    ended = twixt_sim(users_folder, f"bad:{world}", "--steps", "10")
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    assert str(twixt.__path__[0]) not in ended.stderr
    assert ("Traceback" in ended.stderr) == (code == 1 and world not in WITHOUT_A_LINE_OF_THEIRS)
    assert left_behind(runtime_folder) == []


def test_a_crash_shows_the_users_lines_from_their_step_to_the_fault(users_folder: Path) -> None:
    lines = twixt_sim(users_folder, "bad:Raises", "--steps", "10").stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.split("in ")[-1] for line in lines if line.startswith("  File")] == ["step", "act", "divide"]
    assert lines[-2] == "ZeroDivisionError: division by zero"


def test_a_refused_value_in_the_users_constructor_is_one_line(users_folder: Path) -> None:
    ended = twixt_sim(users_folder, "bad:BadRadius", "--set", "radius=-1")
    assert ended.returncode == 2
    assert ended.stderr == "twixt: Sphere.radius must be a finite length > 0 (metres), got -1.0\n"


def test_a_position_that_is_no_number_is_named_and_the_run_goes_on(users_folder: Path) -> None:
    ended = twixt_sim(users_folder, "bad:Nan", "--steps", "10")
    assert ended.returncode == 0
    assert "body 2 has the position [nan, nan, nan] after step 1;" in ended.stderr


@pytest.mark.parametrize("count", ["0", "1"])
def test_a_world_of_no_bodies_runs(users_folder: Path, count: str) -> None:
    ended = twixt_sim(users_folder, "bad:Good", "--set", f"count={count}", "--steps", "3", "--hash")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.strip()) == 64


def test_a_script_that_exits_when_imported_says_so(users_folder: Path) -> None:
    (users_folder / "script.py").write_text("import sys\n\nsys.exit(0)\n")
    ended = twixt_sim(users_folder, "script:World", "--steps", "10")
    assert ended.returncode == 1
    assert 'script.py", line 3' in ended.stderr
    assert "importing script raised SystemExit: 0" in ended.stderr


def test_a_world_may_end_the_process_itself(users_folder: Path, runtime_folder: Path) -> None:
    assert twixt_sim(users_folder, "bad:Exits", "--steps", "10").returncode == 7
    assert left_behind(runtime_folder) == []


def test_a_signal_to_a_child_that_the_world_forked_is_not_taken_for_our_own(users_folder: Path) -> None:
    ended = twixt_sim(users_folder, "bad:Forks", "--steps", "20")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("name", ["sim", "render", "ipc"])
def test_a_users_module_may_bear_the_name_of_one_of_our_folders(users_folder: Path, name: str) -> None:
    (users_folder / "bad.py").rename(users_folder / f"{name}.py")
    ended = twixt_sim(users_folder, f"{name}:Good", "--steps", "3")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("world", ["SleepsForEver", "SwallowsEverything"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_step_that_never_returns_ends_at_a_signal_and_leaves_nothing(
    users_folder: Path, runtime_folder: Path, world: str, number: signal.Signals
) -> None:
    with subprocess.Popen(command(f"bad:{world}"), cwd=users_folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the step\n"
        assert len(left_behind(runtime_folder)) == 1
        os.kill(process.pid, number)
        assert process.wait(PATIENCE_S) == 128 + number
    assert left_behind(runtime_folder) == []
