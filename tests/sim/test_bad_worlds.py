"""Worlds with errors, run from the command line in a process of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import twixt
from tests.forked import Forks
from tests.pipes import unread_pipe
from twixt.ipc.commands import Command
from twixt.ipc.errors import READER_GONE
from twixt.ipc.session import Ended, attach, running

pytestmark = pytest.mark.slow

# Generous: what hangs must fail, not stall the whole run.
PATIENCE_S = 30

WORLDS = """
    import os, sys, time
    import numpy as np
    from twixt import Bodies, Camera, Scene, Sphere, World

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

    class UnknownField(Good):
        def __init__(self):
            super().__init__()
            self.scene = Scene([Sphere()] * 3, camera=Camera(fov=60))

    class Nan(Good):
        def act(self):
            self.bodies.position[2] = np.nan

    class DrivesAtANorthing(Good):
        def act(self):
            self.bodies.position[1] = 0.0, 5.4e6 + 0.01 * self.made, 0.0

    class AddsInPlace(Good):
        def act(self):
            if self.made == 1:
                self.bodies.position[:, 0] = 1000.0
                self.bodies.velocity[2, 0] = 0.02
            self.bodies.position += self.bodies.velocity * self.dt

    class AddsWithoutVelocity(Good):
        def act(self):
            if self.made == 1:
                self.bodies.position[0, 0] = 1000.0
            self.bodies.position[:, 0] += 1e-5

    class WritesInPlace(Good):
        def write_bodies(self, records):
            records[:] = Bodies(3).records
            records["position"][1] = 0.0, 5.4e6 + 0.01 * self.made, 0.0

    class TurnsByNothing(Good):
        def act(self):
            self.bodies.orientation[1] = 0.0

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

    class Shrinks(Good):
        def act(self):
            self.bodies = Bodies(2)

    class MarksAKindThereIsNot(Good):
        def act(self):
            from twixt import Marks
            Marks().add("arow", (0, 0, 0))

    class ShrinksItsSphere(Good):
        def act(self):
            self.scene = Scene([Sphere(-1)] * 3)

    class HasNoScene(Good):
        @property
        def scene(self):
            if self.__dict__.get("made", 0) > 2:
                raise LookupError("no scene today")
            return Scene([Sphere()] * 3)
        @scene.setter
        def scene(self, value):
            pass

    class Recurses(Good):
        def act(self):
            self.act()

    class WantsTooMuch(Good):
        def act(self):
            np.zeros(1 << 50)

    class Cancels(Good):
        def act(self):
            import asyncio
            raise asyncio.CancelledError

    class WritesWrong(Good):
        def write_bodies(self, records):
            if self.made > 2:
                raise OverflowError("too far")
            records[:] = Bodies(3).records

    class ResetsWrong(Good):
        def reset(self, seed):
            raise OSError("the table is gone")

    class Infinite(Good):
        def act(self):
            self.bodies.velocity[1] = np.inf

    class Sizeless(Good):
        def act(self):
            self.bodies.scale[1] = np.nan

    class TellsTooMuch(Good):
        def diagnostics(self):
            return {f"figure {i}": i for i in range(100_000)}

    class Prints(Good):
        def act(self):
            if self.made == 3:
                print("a line\\n" * 1_000_000)

    class Leaks(Good):
        def act(self):
            self.__dict__.setdefault("kept", []).append(np.ones(1 << 17))

    class ForksAndGoesOn(Good):
        def act(self):
            if self.made == 3:
                self.child = os.fork()  # which goes on as if it were the simulation
            if self.made == 4 and self.child:
                print(os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1]), flush=True)

    class Dies(Good):
        def act(self):
            os._exit(3)

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

    class Pools(Good):
        def act(self):
            import multiprocessing
            pool = multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1)
            assert pool.map(abs, [-1, -2], 1) == [1, 2]
            pool.terminate()
            pool.join()

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
    "Resizes", "Shrinks", "Retypes", "NoStep", "StepTakesNothing", "NoDiagnostics", "LosesItsScene", "HangsOnNobody"
)  # fmt: skip


@pytest.fixture
def users_folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.py").write_text(textwrap.dedent(WORLDS))
    return tmp_path


def twixt_sim(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(twixt.__file__), "sim", *arguments]


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(PATIENCE_S * 100):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"waited {PATIENCE_S} s in vain")


def process_state(pid: int) -> str:
    """State of a process by /proc; S while its main thread sleeps in the kernel."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def waits_in(pid: int) -> str:
    """Name of the kernel's function in which a process sleeps."""
    return Path(f"/proc/{pid}/wchan").read_text()


def left_behind(runtime_folder: Path) -> list[str]:
    return [path.name for path in runtime_folder.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize(
    ("world", "code", "said"),
    [
        ("Raises", 1, "twixt: Raises.step raised ZeroDivisionError: division by zero"),
        ("RaisesOurs", 1, "RaisesOurs.step raised IndexError"),
        ("Resizes", 1, "Resizes.bodies was Bodies(3) and is Bodies(7) after step 1"),
        (
            "Shrinks",
            1,
            "Shrinks.bodies was Bodies(3) and is Bodies(2) after step 1; keep the Bodies that __init__ made",
        ),
        ("HasNoScene", 1, "HasNoScene.bodies, .scene or .dt raised LookupError: no scene today"),
        ("Recurses", 1, "Recurses.step raised RecursionError"),
        ("WantsTooMuch", 1, "WantsTooMuch.step raised MemoryError: Unable to allocate 8.00 PiB"),
        ("Cancels", 1, "Cancels.step raised CancelledError"),
        ("WritesWrong", 1, "WritesWrong.write_bodies raised OverflowError: too far"),
        ("Retypes", 1, "Retypes.bodies was Bodies(3) and is ndarray after step 1"),
        ("Broadcasts", 1, "could not broadcast input array from shape (4,3) into shape (3,3)"),
        ("NoStep", 1, "NoStep has no step(self, dt); write one that advances its bodies"),
        ("StepTakesNothing", 1, "StepTakesNothing.step() takes 1 positional argument but 2 were given"),
        ("NoDiagnostics", 1, "NoDiagnostics.diagnostics raised AttributeError"),
        ("LosesItsScene", 1, "LosesItsScene.scene must be a Scene"),
        ("HangsOnNobody", 1, "Scene.parents must name bodies that exist, 0 to 2, got 9"),
        ("Speechless", 1, "Speechless.step raised Mute: its message cannot be read, RuntimeError"),
        ("NoConstruction", 1, "NoConstruction.__init__ raised RuntimeError: no such file: robot.xml"),
        ("TooManyShapes", 2, "TooManyShapes.scene has 4 shapes for 3 bodies"),
        ("Nothing", 2, 'has no class "Nothing"'),
    ],
)
def test_each_fault_has_its_words_and_its_exit_code_and_leaves_nothing(
    forked: Forks, users_folder: Path, runtime_folder: Path, world: str, code: int, said: str
) -> None:
    ended = forked(users_folder, "sim", f"bad:{world}", "--steps", "10")
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    assert str(twixt.__path__[0]) not in ended.stderr
    assert ("Traceback" in ended.stderr) == (code == 1 and world not in WITHOUT_A_LINE_OF_THEIRS)
    assert left_behind(runtime_folder) == []


def test_a_crash_shows_the_users_lines_from_their_step_to_the_fault(forked: Forks, users_folder: Path) -> None:
    lines = forked(users_folder, "sim", "bad:Raises", "--steps", "10").stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.split("in ")[-1] for line in lines if line.startswith("  File")] == ["step", "act", "divide"]
    assert lines[-2] == "ZeroDivisionError: division by zero"


def test_a_refused_value_in_the_users_constructor_is_one_line(forked: Forks, users_folder: Path) -> None:
    ended = forked(users_folder, "sim", "bad:BadRadius", "--set", "radius=-1")
    assert ended.returncode == 2
    assert ended.stderr == "twixt: Sphere.radius must be a finite length > 0 (metres), got -1.0\n"


def test_an_argument_that_there_is_not_is_said_with_the_users_line(forked: Forks, users_folder: Path) -> None:
    ended = forked(users_folder, "sim", "bad:UnknownField")
    assert ended.returncode == 2
    *frames, line = ended.stderr.splitlines()
    assert line.startswith("twixt: UnknownField.__init__: Camera has no argument 'fov'; did you mean fov_y_deg?")
    assert [frame.split("in ")[-1] for frame in frames if frame.startswith("  File")] == ["__init__"]
    assert "Camera(fov=60)" in "".join(frames)


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ("MarksAKindThereIsNot", "Marks.add knows no kind 'arow'; did you mean \"arrow\"?"),
        ("ShrinksItsSphere", "Sphere.radius must be a finite length > 0 (metres), got -1"),
    ],
)
def test_a_refused_value_in_a_step_is_said_once_with_the_users_lines(
    forked: Forks, users_folder: Path, world: str, said: str
) -> None:
    ended = forked(users_folder, "sim", f"bad:{world}", "--steps", "10")
    assert ended.returncode == 2
    *frames, line = ended.stderr.splitlines()
    assert line == f"twixt: {world}.step: {said}"
    assert [frame.split("in ")[-1] for frame in frames if frame.startswith("  File")] == ["step", "act"]
    assert said not in "".join(frames)


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ("Nan", "body 2 has the position [nan, nan, nan] after step 1; it is not drawn;"),
        ("Infinite", "body 1 has the velocity [inf, inf, inf] after step 1; it is ignored;"),
        ("Sizeless", "body 1 has the scale nan after step 1; it is not drawn;"),
        ("TurnsByNothing", "body 1 has the orientation [0., 0., 0., 0.] after step 1; it is drawn without rotation;"),
        ("TellsTooMuch", "TellsTooMuch.diagnostics returned 100,000 figures; viewers show only the first 64"),
    ],
)
def test_what_cannot_be_shown_is_named_once_and_the_run_goes_on(
    forked: Forks, users_folder: Path, world: str, said: str
) -> None:
    ended = forked(users_folder, "sim", f"bad:{world}", "--steps", "40")
    assert ended.returncode == 0
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ("DrivesAtANorthing", "body 1 at y = 5,400,0"),
        ("WritesInPlace", "body 1 at y = 5,400,0"),
        ("AddsInPlace", "body 2 at x = 1,000 m does not move, although its velocity is 0.02 m/s"),
        ("AddsWithoutVelocity", "body 0 at x = 1,000 m does not move, although its velocity is 0.01 m/s"),
    ],
)
def test_motion_that_float32_cannot_hold_is_named_once(
    forked: Forks, users_folder: Path, world: str, said: str
) -> None:
    ended = forked(
        users_folder,
        "sim",
        f"bad:{world}",
        "--steps",
        "3000",
        "--physics-hz",
        "1000",
        "--time-scale",
        "100",
        "--publish-hz",
        "1000",
    )
    assert ended.returncode == 0
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stderr.startswith(f"twixt: {said}")
    assert "float32" in ended.stderr
    assert "subtract an origin" in ended.stderr


def test_a_reset_that_raises_is_a_crash_that_viewers_are_told_of(users_folder: Path, runtime_folder: Path) -> None:
    with subprocess.Popen(
        command("bad:ResetsWrong", "--name", "lab"), cwd=users_folder, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: running() == ["lab"])
        with contextlib.closing(attach("lab", timeout_s=PATIENCE_S)) as link:
            link.send(Command("reset"))
            wait_for(lambda: link.poll() or link.ended is not None)
            assert link.ended == Ended("crashed", "ResetsWrong.reset raised OSError: the table is gone")
        _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 1
        assert said.splitlines()[-1] == "twixt: ResetsWrong.reset raised OSError: the table is gone"
    assert left_behind(runtime_folder) == []


def test_a_million_lines_are_printed_where_somebody_reads_them(users_folder: Path) -> None:
    ended = twixt_sim(users_folder, "bad:Prints", "--steps", "5", "--hash")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("a line") == 1_000_000
    assert len(ended.stdout.splitlines()[-1]) == 64


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_lines_that_nobody_reads_hold_the_world_up_and_a_signal_still_ends_it(
    users_folder: Path, runtime_folder: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        command("bad:Prints", "--name", "lab"), cwd=users_folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_for(lambda: running() == ["lab"])
        with contextlib.closing(attach("lab", timeout_s=PATIENCE_S)) as link:
            wait_for(lambda: link.poll() or (process_state(process.pid) == "S" and "pipe" in waits_in(process.pid)))
            assert link.ended is None, "viewers are served meanwhile"
        os.kill(process.pid, number)
        assert process.wait(PATIENCE_S) == 128 + number
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert left_behind(runtime_folder) == []


def test_a_world_whose_output_nobody_reads_any_more_ends_without_a_word(users_folder: Path) -> None:
    with subprocess.Popen(
        command("bad:Prints", "--steps", "5"), cwd=users_folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"a line\n"
        process.stdout.close()
        assert process.wait(PATIENCE_S) == READER_GONE
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize("words", [["worlds"], ["--help"], ["doctor"], ["sim", "bad:Good", "--steps", "3", "--hash"]])
def test_a_command_whose_output_nobody_reads_ends_without_a_word(users_folder: Path, words: list[str]) -> None:
    with unread_pipe() as unread:
        ended = subprocess.run(
            [sys.executable, str(twixt.__file__), *words],
            cwd=users_folder, stdout=unread, stderr=subprocess.PIPE, timeout=PATIENCE_S,
        )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (READER_GONE, b"")


def test_a_world_that_leaks_shows_in_the_report(users_folder: Path) -> None:
    leaking, sound = (
        json.loads(twixt_sim(users_folder, f"bad:{world}", "--steps", "60", "--json", "-").stdout)["physics"]
        for world in ("Leaks", "Good")
    )
    kept_mib = 60 * (1 << 17) * 8 / (1 << 20)
    grown = [block["memory_mib"]["end"] - block["memory_mib"]["begin"] for block in (leaking, sound)]
    assert grown[0] > kept_mib * 0.9
    assert grown[1] < kept_mib * 0.5


def test_a_forked_child_that_goes_on_stepping_ends_alone(users_folder: Path, runtime_folder: Path) -> None:
    ended = twixt_sim(users_folder, "bad:ForksAndGoesOn", "--steps", "10", "--hash")
    assert ended.returncode == 0
    childs_code, state = ended.stdout.splitlines()
    assert (childs_code, len(state)) == ("2", 64)
    assert (
        "or this process was forked from it; publish before the end, in the process that made the simulation"
        in ended.stderr
    )
    assert "Traceback" not in ended.stderr
    assert left_behind(runtime_folder) == []


def test_a_process_that_the_world_kills_leaves_a_name_that_the_next_one_takes(users_folder: Path) -> None:
    assert twixt_sim(users_folder, "bad:Dies", "--name", "lab").returncode == 3
    assert twixt_sim(users_folder, "bad:Good", "--name", "lab", "--steps", "3").returncode == 0


@pytest.mark.parametrize("count", ["0", "1"])
def test_a_world_of_no_bodies_runs(forked: Forks, users_folder: Path, count: str) -> None:
    ended = forked(users_folder, "sim", "bad:Good", "--set", f"count={count}", "--steps", "3", "--hash")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.strip()) == 64


def test_a_script_that_exits_when_imported_says_so(forked: Forks, users_folder: Path) -> None:
    (users_folder / "script.py").write_text("import sys\n\nsys.exit(0)\n")
    ended = forked(users_folder, "sim", "script:World", "--steps", "10")
    assert ended.returncode == 1
    assert 'script.py", line 3' in ended.stderr
    assert "importing script raised SystemExit: 0" in ended.stderr


def test_a_world_may_end_the_process_itself(forked: Forks, users_folder: Path, runtime_folder: Path) -> None:
    assert forked(users_folder, "sim", "bad:Exits", "--steps", "10").returncode == 7
    assert left_behind(runtime_folder) == []


def test_a_signal_to_a_child_that_the_world_forked_is_not_taken_for_our_own(users_folder: Path) -> None:
    ended = twixt_sim(users_folder, "bad:Forks", "--steps", "20")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_pool_whose_workers_are_forked_by_a_thread_and_terminated_does_not_end_the_run(users_folder: Path) -> None:
    ended = twixt_sim(users_folder, "bad:Pools", "--steps", "3")
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
