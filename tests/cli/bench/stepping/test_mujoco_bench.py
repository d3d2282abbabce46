"""`twixt bench mujoco`: that it runs, and its models. No time is judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from twixt.cli.bench.stepping.stepped_models import humanoids_xml, mocap_xml, spheres_xml

mujoco = pytest.importorskip("mujoco")
ROOT = Path(__file__).parents[4]


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-P", str(ROOT / "twixt.py"), "bench", "mujoco", "--quick", *arguments],
        env=environ | {"XDG_RUNTIME_DIR": str(folder), "COLUMNS": "160"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_a_loop_and_its_syncs_come_out_with_figures_and_peers_without_a_display_say_so(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    ran = bench(tmp_path, "--json", str(file))
    assert ran.returncode == 0, ran.stderr
    rows = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    watched = rows["step, humanoid, sync after every step: twixt"]
    assert watched["rounds"] == 2
    assert watched["figure"] > 0
    assert "95 % of medians" in watched["note"]
    peer = rows["step, humanoid, sync after every step: mujoco.viewer"]
    assert peer["figure"] is None
    assert "needs a display" in peer["note"]
    gated, published = (rows[f"sync, humanoid, {name}"] for name in ("no frame would show", "published"))
    assert 0 < gated["figure"] < published["figure"]


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = bench(tmp_path, "--model", "gone.xml")
    assert "no file 'gone.xml'" in ran.stdout + ran.stderr


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
