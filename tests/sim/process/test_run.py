from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

import twixt
from twixt.ipc.commands import Command
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.session import attach, open_listener, running
from twixt.sim.process.run import simulate
from twixt.sim.process.viewer_process import ViewerProcess
from twixt.sim.world.world import state_hash
from twixt.sim.worlds.find import load_world

# Generous: what hangs must fail, not stall the whole run.
PATIENCE_S = 30

WORLD = """
import os, time
from twixt import Bodies, Scene, Sphere, World

class Plain(World):
    dt = 0.01
    def __init__(self, seed: int = 0):
        self.bodies = Bodies(2)
        self.scene = Scene([Sphere()] * 2)
    def step(self, dt):
        self.bodies.position += dt

class Awaits(Plain):
    def step(self, dt):
        while not os.path.exists("all have come"):
            time.sleep(0.002)
        super().step(dt)

class Crashes(Plain):
    def step(self, dt):
        raise ValueError("the robot fell over")

class Hangs(Plain):
    def step(self, dt):
        print("in the step", flush=True)
        time.sleep(1e6)

class Says(Plain):
    def step(self, dt):
        print("in the step", flush=True)

class Renames(Plain):
    def step(self, dt):
        print("in the step", flush=True)
        try:
            time.sleep(1e6)
        except BaseException:
            raise RuntimeError("release unlocked lock")

class Halves(Plain):
    def step(self, dt):
        self.bodies.position += dt / 2
        if self.bodies.position[0, 0] > 5 * dt:
            print("in the step", flush=True)
            time.sleep(1e6)
        self.bodies.position += dt / 2

class Swallows(Halves):
    def step(self, dt):
        try:
            super().step(dt)
        except KeyboardInterrupt:
            pass

class Waits(Plain):
    dt = 100.0
    def diagnostics(self):
        print("in the step" if self.bodies.position[0, 0] else "", flush=True)
        return {}

class Begins(Plain):
    def __init__(self, seed: int = 0):
        super().__init__()
        print("made with", seed, flush=True)
    def reset(self, seed):
        print("reset with", seed, flush=True)

class Deaf(Plain):
    def step(self, dt):
        print("in the step", flush=True)
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass
"""
# A viewer without a window: attaches as the run's own, and does what the test wants.
VIEWER = """
import sys, time
sys.path.insert(0, {house!r})
import twixt
from twixt.ipc.session import attach, Command
link = attach("lab", owned=True)
def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        link.wait(0.01)
"""


@pytest.fixture
def users_folder(users_folder: Path) -> Path:
    (users_folder / "plain_worlds.py").write_text(WORLD)
    return users_folder


def viewer_that(does: str) -> ViewerProcess:
    return ViewerProcess([sys.executable, "-P", "-c", VIEWER.format(house=twixt.__path__[0]) + does])


def run(config: Config, **how: object) -> int:
    return simulate(config, listener=open_listener("lab"), **how)  # type: ignore[arg-type]


def left_behind(runtime_folder: Path) -> list[str]:
    return [path.name for path in runtime_folder.rglob("*") if not path.is_dir()]


def expected_hash(steps: int) -> str:
    world = load_world("plain_worlds:Plain")
    for _ in range(steps):
        world.step(world.dt)
    return state_hash(world)


def test_a_run_of_so_many_steps_makes_them_and_prints_the_hash_of_its_state(
    users_folder: Path, runtime_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(Config(world="plain_worlds:Plain"), steps=30, print_hash=True) == 0
    assert capsys.readouterr().out.strip() == expected_hash(30)
    assert left_behind(runtime_folder) == []


def test_the_json_file_holds_the_physics_and_channel_blocks(users_folder: Path) -> None:
    file = users_folder / "out.json"
    config = Config(world="plain_worlds:Plain", physics_hz=200.0, slow_physics_ms=(1, 1))
    assert run(config, steps=20, print_hash=True, json_file=str(file)) == 0
    results = json.loads(file.read_text())
    assert results["physics"]["steps"] == 20
    assert results["physics"]["physics_hz"] == 200
    assert results["physics"]["step_ms"]["p50"] >= 1
    assert results["physics"]["published"] <= 21
    assert results["channel"]["bytes_per_snapshot"] == 128 + 2 * 64
    assert len(results["state_hash"]) == 64


def test_a_json_file_that_cannot_be_written_is_refused_with_the_way_out(users_folder: Path) -> None:
    with pytest.raises(TwixtError, match="for --json, name a file in an existing folder"):
        run(Config(world="plain_worlds:Plain"), steps=2, json_file="nowhere/out.json")


@pytest.mark.parametrize(
    ("pace", "said"),
    [
        ({"time_scale": 1e-9}, "--time-scale must be from 0.001 to 1000, got 1e-09"),
        ({"lead_ms": 60000.0}, "--lead must be at most 10000 ms, got 60000"),
        ({"physics_hz": 1e9}, "--physics-hz must be from 1.2e-05 to 1e.06 steps"),
    ],
)
def test_a_pace_beyond_all_bounds_is_refused(users_folder: Path, pace: dict[str, float], said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        run(Config(world="plain_worlds:Plain", **pace))  # type: ignore[arg-type]


def test_a_run_of_so_many_seconds_ends(users_folder: Path) -> None:
    assert run(Config(world="plain_worlds:Plain", seconds=0.05)) == 0


def test_after_a_refusal_the_name_is_free_again(users_folder: Path, runtime_folder: Path) -> None:
    with pytest.raises(TwixtError, match="no world named"):
        run(Config(world="nothing"))
    assert left_behind(runtime_folder) == []
    assert run(Config(world="plain_worlds:Plain"), steps=1) == 0


@pytest.mark.parametrize("viewers", [1, 3])
def test_the_final_state_is_the_same_bytes_however_many_watch_and_whatever_they_ask(
    users_folder: Path, capsys: pytest.CaptureFixture[str], viewers: int
) -> None:
    looked, come = threading.Semaphore(0), threading.Barrier(viewers, Path("all have come").touch)

    def watch() -> None:
        link = attach("lab", timeout_s=PATIENCE_S)
        come.wait(PATIENCE_S)
        for command in ("pause", "step", "resume"):
            link.send(Command(command))
        link.send(Command("time_scale", 2.0))
        while link.ended is None:
            link.wake_when_newer()
            link.wait(0.1)
            list(link.unread(1 << 20))
        link.close()
        looked.release()

    listener = open_listener("lab")
    threads = [threading.Thread(target=watch) for _ in range(viewers)]
    for thread in threads:
        thread.start()
    assert simulate(Config(world="plain_worlds:Awaits"), listener=listener, steps=60, print_hash=True) == 0
    for thread in threads:
        thread.join(PATIENCE_S)
        assert looked.acquire(timeout=PATIENCE_S)
    assert capsys.readouterr().out.strip() == expected_hash(60)


def test_a_viewer_reads_snapshots_plan_and_status_and_gets_the_report(users_folder: Path) -> None:
    viewer = viewer_that(
        "pairs = [()]\n"
        "def has_two():\n"
        "    pairs[0] = link.latest_pair()\n"
        "    return len(pairs[0]) == 2 and pairs[0][0].tick > 0\n"
        "until(lambda: link.status and has_two())\n"
        "older, newer = pairs[0]\n"
        "assert newer.sim_time_ns - older.sim_time_ns == newer.due_ns - older.due_ns > 0\n"
        "assert link.status['world'] == 'Plain' and link.description['world'] == 'plain_worlds:Plain'\n"
        "report = link.request_report(60)\n"
        "assert report['physics']['steps'] > 0 and report['channel']['bytes_per_snapshot'] == 256\n"
        "sys.exit(5)\n"
    )
    assert run(Config(world="plain_worlds:Plain"), viewer=viewer) == 5


def test_a_run_ends_with_its_viewer_though_nobody_said_a_word(
    users_folder: Path, runtime_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    viewer = viewer_that("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert run(Config(world="plain_worlds:Plain", seconds=100.0), viewer=viewer) == 128 + signal.SIGKILL
    assert "twixt: the viewer was killed by SIGKILL, so the run ends" in capsys.readouterr().err
    assert left_behind(runtime_folder) == []


def test_a_viewer_may_ask_for_the_end(users_folder: Path) -> None:
    viewer = viewer_that('link.send(Command("quit")); until(lambda: link.ended); assert link.ended.kind == "ended"')
    assert run(Config(world="plain_worlds:Plain"), viewer=viewer) == 0


def test_a_crash_is_told_to_the_viewer_which_has_time_to_show_it(
    users_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    viewer = viewer_that(
        "until(lambda: link.ended)\nopen('seen', 'w').write(f'{link.ended.kind}: {link.ended.message}')\n"
    )
    assert run(Config(world="plain_worlds:Crashes"), viewer=viewer) == 1
    assert Path("seen").read_text() == "crashed: Crashes.step raised ValueError: the robot fell over"
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last):\n")
    fault = "ValueError: the robot fell over\n"
    assert said.endswith(fault + "twixt: Crashes.step raised " + fault)


def test_a_refused_world_takes_the_viewer_with_it(users_folder: Path) -> None:
    viewer = viewer_that("time.sleep(1e6)")
    with pytest.raises(TwixtError):
        run(Config(world="plain_worlds:Plian"), viewer=viewer)
    assert viewer.poll() is not None


RUN = """
import sys
sys.path.insert(0, {house!r})
import twixt
from twixt.ipc.config.flags import Config
from twixt.ipc.session import open_listener
from twixt.sim.process.run import simulate
from twixt.sim.process.viewer_process import ViewerProcess
listener = open_listener("lab")
viewer = ViewerProcess([sys.executable, "-P", "-c", {viewer!r}])
print(viewer.pid, flush=True)
sys.exit(simulate(Config(world={world!r}), listener=listener, viewer=viewer))
"""


@pytest.mark.parametrize("world", ["Hangs", "Deaf"])
def test_a_step_that_never_returns_ends_with_the_viewer(users_folder: Path, runtime_folder: Path, world: str) -> None:
    viewer = VIEWER.format(house=twixt.__path__[0]) + "time.sleep(1e6)"
    source = RUN.format(house=twixt.__path__[0], viewer=viewer, world=f"plain_worlds:{world}")
    with subprocess.Popen([sys.executable, "-P", "-c", source], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        viewer_pid = int(process.stdout.readline())
        assert process.stdout.readline() == "in the step\n"
        os.kill(viewer_pid, signal.SIGKILL)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGKILL
    assert left_behind(runtime_folder) == []


def test_ctrl_c_ends_the_run_and_its_viewer_with_130(users_folder: Path, runtime_folder: Path) -> None:
    viewer = VIEWER.format(house=twixt.__path__[0]) + "print('in view', flush=True); time.sleep(1e6)"
    source = RUN.format(house=twixt.__path__[0], viewer=viewer, world="plain_worlds:Plain")
    with subprocess.Popen([sys.executable, "-P", "-c", source], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        viewer_pid = int(process.stdout.readline())
        assert process.stdout.readline() == "in view\n"
        assert running() == ["lab"]
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(viewer_pid, 0)
    assert left_behind(runtime_folder) == []


SIM = """
import sys
sys.path.insert(0, {house!r})
import twixt
from twixt.ipc.config.flags import Config
from twixt.ipc.session import open_listener
from twixt.sim.process.run import simulate
sys.exit(simulate(Config(world={world!r}), listener=open_listener("lab"), print_hash={prints!r}))
"""


class Ended(NamedTuple):
    code: int
    said: str
    printed: str


def ended_in_its_step(world: str, *signals: signal.Signals, prints_hash: bool = False) -> Ended:
    """A simulation that got these while it stepped."""
    command = [
        sys.executable,
        "-P",
        "-c",
        SIM.format(house=twixt.__path__[0], world=f"plain_worlds:{world}", prints=prints_hash),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "in the step\n":
            assert process.poll() is None
        for number in signals:
            os.kill(process.pid, number)
        printed, said = process.communicate(timeout=PATIENCE_S)
    return Ended(process.returncode, said, printed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whatever_an_interrupted_step_makes_of_it_the_run_ends_by_the_signal(
    users_folder: Path, runtime_folder: Path, number: signal.Signals
) -> None:
    assert ended_in_its_step("Renames", number)[:2] == (128 + number, "")
    assert left_behind(runtime_folder) == []


def test_two_signals_at_one_instant_end_the_run_without_a_traceback(users_folder: Path, runtime_folder: Path) -> None:
    code, said, _ = ended_in_its_step("Says", signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT)
    assert code in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    assert said == ""
    assert left_behind(runtime_folder) == []


@pytest.mark.parametrize("world", ["Halves", "Swallows"])
def test_a_step_that_ctrl_c_interrupts_has_no_hash(users_folder: Path, runtime_folder: Path, world: str) -> None:
    ended = ended_in_its_step(world, signal.SIGINT, prints_hash=True)
    assert (ended.code, ended.printed) == (130, "")
    assert "no hash, because step" in ended.said
    assert "was interrupted and its state is incomplete" in ended.said


def test_ctrl_c_between_two_steps_gives_the_hash_and_says_of_which_step(
    users_folder: Path, runtime_folder: Path
) -> None:
    ended = ended_in_its_step("Waits", signal.SIGINT, prints_hash=True)
    assert ended.code == 130
    said, step = ended.said.strip().rsplit(" ", 1)
    assert said == "twixt: the hash is of the state after step"
    world = load_world("plain_worlds:Waits")
    for _ in range(int(step)):
        world.step(world.dt)
    assert ended.printed.strip() == state_hash(world)


def test_a_reset_gets_the_seed_that_the_world_was_made_with(
    users_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    viewer = viewer_that(
        'link.send(Command("reset")); until(lambda: any(each.world_epoch for each in link.latest_pair())); '
        'link.send(Command("quit")); until(lambda: link.ended)'
    )
    assert run(Config(world="plain_worlds:Begins", settings=(("seed", "5"),)), viewer=viewer) == 0
    assert capsys.readouterr().out == "made with 5\nreset with 5\n"
