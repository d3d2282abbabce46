"""Keys that a program asks for by name, from a real keyboard: also those of the viewer, and none sticks."""

from __future__ import annotations

import os
import signal

import pytest

from tests.end_to_end.processes import Starter, focus, until, xdotool

pytestmark = pytest.mark.display

LOOP = """
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()]), size_px=(320, 240), dt=0.01)
told = {}
for t in view.real_time():
    view.publish(position=[(0, 0, 0)])
    now = {key: view.keys.held(key) for key in ("left", "a", "shift")}
    now["space"] = told.get("space", 0) + view.keys.pressed("space")
    now["escape"] = told.get("escape", 0) + view.keys.pressed("escape")
    if now != told:
        told = now
        print(*(f"{key}={int(value)}" for key, value in told.items()), flush=True)
    for event in view.events():
        if event.action == "press":
            place = event.pointer and [round(x, 2) + 0.0 for x in event.pointer]
            print("event", event.key_name, event.pointer_px, place, flush=True)
print("over", flush=True)
"""
WORLD = """
from twixt.sim.worlds.metronome import Metronome

class Played(Metronome):
    own_keys = ("s", "space")

    def on_key(self, event):
        print("world", event.key_name, event.action, flush=True)
        if event.key_name == "q":
            raise ValueError("no q here")
"""


def test_a_program_gets_the_keys_that_it_asks_for_by_name(start: Starter) -> None:
    script = start.script(LOOP)
    script.hear("left=0 a=0 shift=0 space=0 escape=0")
    focus(script, start.display)
    xdotool(start.display, "key", "q")
    script.hear("event q")
    xdotool(start.display, "keydown", "Left", "keydown", "shift")
    script.hear("left=1 a=0 shift=1 space=0 escape=0")
    xdotool(start.display, "keyup", "shift", "keyup", "Left")
    script.hear("event left_shift")
    xdotool(start.display, "key", "space", "key", "Escape")
    script.hear("space=1 escape=1")
    viewer = script.viewer()
    xdotool(start.display, "keydown", "a")
    script.hear("left=0 a=1")
    os.kill(viewer, signal.SIGKILL)
    script.hear("left=0 a=0 shift=0 space=1 escape=1")
    xdotool(start.display, "keyup", "a")


def test_keys_are_released_when_the_window_loses_the_keyboard(start: Starter) -> None:
    script = start.script(LOOP)
    script.hear("left=0 a=0 shift=0 space=0 escape=0")
    window = focus(script, start.display)
    xdotool(start.display, "keydown", "Left")
    script.hear("left=1 a=0")
    said = script.out.count("left=0 a=0")
    xdotool(start.display, "windowunmap", window)
    until(lambda: script.out.count("left=0 a=0") > said, "the key is released")
    xdotool(start.display, "keyup", "Left")


def test_a_world_gets_keys_and_a_viewer_leaves_the_worlds_own_keys_alone(start: Starter) -> None:
    (start.folder / "played.py").write_text(WORLD)
    run = start("run", "played:Played", "--size", "320x240")
    focus(run, start.display)
    run.viewer()
    xdotool(start.display, "key", "Left")
    run.hear("world left press")
    run.hear("world left release")
    xdotool(start.display, "key", "space")
    run.hear("world space press")
    xdotool(start.display, "key", "q")
    assert run.end() == 1
    assert "Played.on_key raised ValueError: no q here" in run.err
    assert 'raise ValueError("no q here")' in run.err
