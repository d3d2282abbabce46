"""`python -m bench mujoco`: that it runs, and its models. No time is judged."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.loops.loop_process import loop_process
from bench.loops.model_viewers import Browser
from bench.loops.mujoco_rows import StepOptions, humanoids_xml, mocap_xml, mujoco_rows, spheres_xml
from tests.starvation import family
from twixt.ipc.errors import TwixtError

mujoco = pytest.importorskip("mujoco")
ROOT = Path(__file__).parents[3]


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-m", "bench", "mujoco", "--quick", *arguments], cwd=ROOT,
        env=environ | {"XDG_RUNTIME_DIR": str(folder), "COLUMNS": "160"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
def test_a_loop_and_its_syncs_come_out_with_figures_and_peers_that_cannot_be_shown_say_why(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    ran = bench(tmp_path, "--json", str(file))
    assert ran.returncode == 0, ran.stderr
    rows = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    watched = rows["step, humanoid, sync after every step: twixt"]
    assert watched["rounds"] == 2
    assert watched["figure"] > 0
    assert "95 % interval" in watched["note"]
    passive, viser = (rows[f"step, humanoid, sync after every step: {name}"] for name in ("mujoco.viewer", "viser"))
    assert (passive["figure"], viser["figure"]) == (None, None)
    assert "needs a display" in passive["note"]
    assert ("needs a display" if find_spec("mjviser") else "pip install mjviser") in viser["note"]
    gated, published = (rows[f"sync, humanoid, {name}"] for name in ("no frame would show", "published"))
    assert 0 < gated["figure"] < published["figure"]


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = bench(tmp_path, "--model", "gone.xml")
    assert "no file 'gone.xml'" in ran.stdout + ran.stderr


@pytest.mark.slow
def test_only_what_is_asked_for_is_measured(tmp_path: Path) -> None:
    model, said = tmp_path / "mine.xml", list[str]()
    model.write_text(mocap_xml(2))
    rows = list(mujoco_rows(0.01, said.append, StepOptions(str(model), "loops", ("viser",), pairs=3)))
    assert [row.name for row in rows] == [
        f"step, mine.xml, sync after every step: {name}" for name in ("twixt", "viser")
    ]
    assert rows[0].rounds == 3
    assert "free cores" in rows[0].note
    assert said[-1].endswith("pair 3 of 3")


def test_a_viewer_that_ends_between_its_turns_is_named_and_takes_no_more(tmp_path: Path) -> None:
    model = tmp_path / "m.xml"
    model.write_text(mocap_xml(1))
    with loop_process("model", 0.0, viewer="twixt", model=str(model)) as loop:
        assert loop.turn(True, 0.01).steps > 0
        viewer = os.pidfd_open(loop.pids[1])
        (program,) = (
            pid for pid in family(os.getpid()) if b"watched_loop" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        os.kill(program, signal.SIGKILL)
        # Until it has ended its pipe takes the command; from then on the pipe is broken, and so it stays at the end.
        os.waitid(os.P_PID, program, os.WEXITED | os.WNOWAIT)
        with pytest.raises(TwixtError, match="the loop ended"):
            loop.turn(True, 0.01)
        assert "the loop ended" in loop.failure
    try:  # the viewer, which was stopped between the turns, goes on, and ends without its loop
        assert select.select([viewer], [], [], 60)[0]
    finally:
        os.close(viewer)


def test_a_browser_ends_with_all_its_processes_also_while_it_is_stopped(tmp_path: Path) -> None:
    program, held = tmp_path / "browser", tmp_path / "held"
    os.mkfifo(held)
    program.write_text(f"#!/bin/sh\nsleep 1000 > '{held}' &\nwait\n")
    program.chmod(0o755)
    browser = Browser(str(program), "http://127.0.0.1/")
    try:
        with held.open("rb") as end_of_child:  # opened when its child holds the other end
            browser.signal(signal.SIGSTOP)
            browser.close()
            assert end_of_child.read() == b""
    finally:
        browser.close()


@pytest.mark.parametrize(
    ("text", "bodies"), [(humanoids_xml(), 14), (humanoids_xml(3), 40), (spheres_xml(20), 21), (mocap_xml(5), 6)]
)
def test_its_models_step_without_diverging(text: str, bodies: int) -> None:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    assert model.nbody == bodies
    for _ in range(100):
        mujoco.mj_step(model, data)
    assert data.time == pytest.approx(0.3)  # MuJoCo would have reset one that diverges
    assert data.qpos.size == 0 or abs(data.qvel).max() < 20
