"""Screenshots and live plots that a program asks for, drawn by a real viewer without a display."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.end_to_end.processes import Starter, starter

pytestmark = pytest.mark.slow


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with starter(tmp_path, environ) as starts:
        yield starts


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


EPISODES = """
import os
import twixt
scene = twixt.Scene([twixt.Sphere(0.5, color=(1, 0, 0))], camera=twixt.Camera((0, -5, 0)), ground_z=None, look="unlit")
with twixt.show(scene, size_px=(320, 240), offscreen=True) as view:
    shots = []
    for episode in range(3):
        for step in range(5):
            view.publish(position=[(episode - 1.0, 0, 0)])
            view.plot("height", float(step), a=step, b=-step)
        shots.append(view.screenshot(f"ep{episode}.png"))
        assert shots[-1].wait(60), shots[-1].error
    shots.append(view.screenshot("panels.png", overlay=True))
    view.screenshot("nowhere/a.png")
    view.screenshot("nowhere/b.png")
    view.screenshot("last.png")
print([shot.is_done for shot in shots])
"""


def test_each_episode_has_the_picture_of_its_last_state(start: Starter) -> None:
    run = start.script(EPISODES)
    assert run.end() == 0, run.err
    assert run.out.strip() == "[True, True, True, True]"
    found = []
    for episode in range(3):
        red = pixels(start.folder / f"ep{episode}.png")
        columns = np.nonzero((red[..., 0] > 150) & (red[..., 1] < 100))[1]
        found.append(columns.mean() - 159.5)
    assert found[0] < -30
    assert abs(found[1]) < 3
    assert found[2] > 30
    assert (start.folder / "last.png").is_file(), "the view waits for it when it is closed"
    plain, panels = pixels(start.folder / "ep2.png"), pixels(start.folder / "panels.png")
    assert (np.abs(plain - panels).max(axis=2) > 30).mean() > 0.02
    said = [line for line in run.err.splitlines() if "no screenshot" in line]
    assert len(said) == 1, run.err
    assert "nowhere/a.png': No such file or directory" in said[0]
    assert sorted(name for name in os.listdir(start.folder) if name.startswith(".twixt")) == []


CLOSED = """
import os, signal
import twixt
with twixt.show(twixt.Scene([twixt.Sphere()]), size_px=(64, 48), offscreen=True) as view:
    view.publish(position=[(0, 0, 0)])
    assert view.screenshot("first.png").wait(60)
    viewer = view._session._process.pid
    os.kill(viewer, signal.SIGSTOP)
    shot = view.screenshot("lost.png")
    os.kill(viewer, signal.SIGKILL)
    assert not shot.wait(60)
    print(shot.error)
"""


def test_a_viewer_that_dies_fails_its_pictures(start: Starter) -> None:
    run = start.script(CLOSED)
    assert run.end() == 0, run.err
    assert run.out.strip() in ("the viewer was closed before it wrote the picture", "the viewer was killed by SIGKILL")
    assert not (start.folder / "lost.png").exists()
