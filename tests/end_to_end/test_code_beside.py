"""Rules and methods in modules beside the user's script: viewers find them, whatever folder the user stands in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.end_to_end.processes import FRONT_DOOR, Starter
from tests.end_to_end.test_offscreen import start

pytestmark = pytest.mark.slow

__all__ = ["start"]

SCRIPT = """
import time
import numpy as np
import twixt
from twixt import Column, Scene, Sphere
import rules_beside

columns = {{"heat": Column("f4", rule=rules_beside.eased)}}
with twixt.show(Scene([Sphere()] * 2), dt=0.02, columns=columns, name="beside", {options}) as view:
    heat = 0.0
    while view.is_open:
        heat += 1
        view.publish(position=np.zeros((2, 3)), columns={{"heat": heat}})
        time.sleep(0.02)
"""
RULES = """
import os, sys
told = set()
def eased(old, new, alpha):
    if not told:
        told.add(1)
        print("eased in", os.getcwd(), flush=True)
    return old + (new - old) * alpha * alpha
"""
METHODS = """
from twixt.render.interpolation import Method
from twixt.render.interpolation.poses import poses_of
class Stepwise(Method):
    def blend(self, previous, following, alpha, draw_time_ns):
        return poses_of(draw_time_ns, previous.bodies)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "their scripts"
    folder.mkdir()
    (folder / "rules_beside.py").write_text(RULES)
    (folder / "methods_beside.py").write_text(METHODS)
    return folder / "script.py"


def run(start: Starter, script: Path, options: str):
    script.write_text(SCRIPT.format(options=options))
    return start.start([sys.executable, str(script)], PYTHONPATH=str(Path(FRONT_DOOR).parent))


def test_the_viewer_of_a_script_finds_what_lies_beside_the_script(start: Starter, script: Path) -> None:
    shown = run(start, script, "interpolation='methods_beside:Stepwise', overlay=False, offscreen=True, seconds=1.0")
    shown.hear(f"eased in {start.folder}")
    assert shown.end() == 0, shown.err
    assert shown.err == ""


def test_a_viewer_that_attaches_from_elsewhere_finds_what_the_simulation_named(
    start: Starter, script: Path, tmp_path: Path
) -> None:
    shown = run(start, script, "viewer=False")
    start.folder = tmp_path / "elsewhere"
    start.folder.mkdir()
    viewer = start("view", "beside", "--wait", "--offscreen", "--interpolation", "catmull", "--seconds", "1")
    viewer.hear(f"eased in {start.folder}")
    assert viewer.end() == 0, viewer.err
    shown.interrupt()
    shown.end()
