"""Balls that jump between two rails, with a fifth of the snapshots lost: nothing is ever seen off the rails.

Looked for in the drawn poses of every frame, and in the pixels between the rails, from outside.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.displays.rigs import xvfb
from tests.end_to_end.observer import open_screen
from twixt.sim.worlds.teleporters import MIDDLE_M, RADIUS_M, RAILS_M, VISIBLE_HEIGHT_M

ROOT = Path(__file__).parents[2]
SIZE_PX = (800, 600)
# How long it is watched; a longer look by hand: TWIXT_WATCH_S=600.
WATCH_S = float(os.environ.get("TWIXT_WATCH_S", "5"))
LOOK_S = 0.004
DARK = 60  # the background is below, balls are above
MARGIN_PX = 5

DRAWING = f"""
import atexit
import numpy as np

rails = np.array({RAILS_M!r})
seen = {{"frames": 0, "balls": 0, "farthest": 0.0}}


def draw(frame):
    balls = frame.poses.position[2:][frame.poses.visible[2:]]
    off = np.abs(balls[:, 2, None] - rails).min(axis=1)
    seen["frames"] += 1
    seen["balls"] += len(balls)
    seen["farthest"] = max(seen["farthest"], float(off.max(initial=0)), float(np.abs(balls[:, 1]).max(initial=0)))


atexit.register(lambda: open("drawn.txt", "w").write(repr(seen)))
"""


def row_px(height_m: float) -> float:
    return SIZE_PX[1] / 2 - (height_m - MIDDLE_M) * SIZE_PX[1] / VISIBLE_HEIGHT_M


@pytest.mark.display
def test_nothing_is_ever_drawn_between_the_rails(tmp_path: Path) -> None:
    (tmp_path / "drawing.py").write_text(DRAWING)
    looks = pictures = 0
    with xvfb(map_screen=True, size_px=SIZE_PX) as display:
        assert display.screen_file is not None
        screen = open_screen(str(display.screen_file))
        between = screen[
            round(row_px(RAILS_M[1] - RADIUS_M)) + MARGIN_PX : round(row_px(RAILS_M[0] + RADIUS_M)) - MARGIN_PX
        ]
        on_rail = screen[round(row_px(RAILS_M[1])) - 4]
        run = subprocess.Popen(
            [sys.executable, str(ROOT / "twixt.py"), "run", "teleporters", "--drop", "20", "--no-overlay", "--size",
             "800x600", "--seconds", str(WATCH_S), "--draw", "drawing:draw"],
            cwd=tmp_path, env=display.environ, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            last = on_rail.copy()
            while True:
                try:
                    run.wait(LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    brightest = int(between[:, :, :3].max())
                    assert brightest < DARK, f"something of brightness {brightest} between the rails"
                    looks += 1
                    now = on_rail.copy()
                    pictures += not np.array_equal(now, last)
                    last = now
        finally:
            run.kill()
        assert run.stderr is not None
        assert run.returncode == 0, run.stderr.read()
    drawn = eval((tmp_path / "drawn.txt").read_text())  # our own words, from a process of ours
    print(f"{looks} looks, {pictures} pictures with another rail, drawn: {drawn}")
    assert pictures > WATCH_S, "it looked at something that moves"
    assert drawn["frames"] > WATCH_S
    assert drawn["balls"] > drawn["frames"], "balls were seen"
    assert drawn["farthest"] < 1e-4
