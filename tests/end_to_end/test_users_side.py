"""What a user does in the real window reaches the program: keys, a reset, a view that is dragged."""

from __future__ import annotations

import pytest

from tests.end_to_end.processes import Run, Starter, focus, xdotool

pytestmark = pytest.mark.display

LOOP = """
from time import sleep
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere()], camera=twixt.Camera((0, -5, 0))), size_px=(320, 240), {more})
seen = None
while view.is_open:
    view.publish(position=[(0, 0, 0)])
    for event in view.events():
        print(event.name, event.key, event.action, event.mods, flush=True)
    if view.user_camera != seen:
        seen = view.user_camera
        print("turned" if seen and seen.eye[0] else "as it was", view.size_px, flush=True)
        view.camera = twixt.Camera((0, -7, 0))
    sleep(0.005)
print("over", flush=True)
"""


def opened(start: Starter, more: str = "") -> Run:
    run = start.script(LOOP.replace("{more}", more))
    run.viewer()
    focus(run, start.display)
    return run


def test_keys_and_a_turned_view_reach_the_program_and_the_viewers_own_keys_do_not(start: Starter) -> None:
    run = opened(start)
    for key in ("i", "a", "space", "shift+w"):
        xdotool(start.display, "key", key)
    run.hear("key 65 press 0")
    run.hear("key 65 release 0")
    run.hear("key 32 press 0")
    run.hear("key 87 press 1")
    xdotool(start.display, "key", "r")
    run.hear("reset 0")
    window = focus(run, start.display)
    for step in (("mousemove", "--window", window, "160", "200"), ("mousedown", "1"),
                 ("mousemove", "--window", window, "200", "200"), ("mouseup", "1")):  # fmt: skip
        xdotool(start.display, *step)
    run.hear("turned (320, 240)")
    run.hear("as it was (320, 240)")
    xdotool(start.display, "key", "Escape")
    run.hear("over")
    assert run.end() == 0
    assert "key 73 " not in run.out  # I
    assert "key 82 press" not in run.out


def test_without_keys_of_the_viewer_all_are_the_programs(start: Starter) -> None:
    run = opened(start, "keys=False")
    for key in ("i", "Escape", "r"):
        xdotool(start.display, "key", key)
    for code in (73, 256, 82):
        run.hear(f"key {code} press 0")
    assert "over" not in run.out
    run.interrupt()
    run.end()


DRAGGED = """
from time import sleep
import twixt
scene = twixt.Scene([twixt.Sphere(0.5)], camera=twixt.Camera((0, -5, 0)))
view, place, velocity, was_pulled = twixt.show(scene, size_px=(320, 240), dt=0.01), 0.0, 0.0, False
was_drawn = False
while view.is_open:
    if view.size_px and not was_drawn:
        was_drawn = True
        print("drawn", flush=True)
    forces = view.forces()
    if forces:
        force, torque = forces[0]
        velocity += force[0] / 500 * 0.01
    elif was_pulled:
        print("let go", flush=True)
        velocity = 0.0
    was_pulled = bool(forces)
    place += velocity * 0.01
    view.publish(position=[(place, 0, 0)])
    for event in view.events():
        if event.name == "click":
            print("click", event.body, event.clicks, flush=True)
    if place > 0.3:
        print("pulled aside", flush=True)
    sleep(0.01)
"""


def test_a_body_is_clicked_and_pulled_with_ctrl_and_let_go(start: Starter) -> None:
    run = start.script(DRAGGED)
    run.viewer()
    window = focus(run, start.display)

    def mouse(*steps: str) -> None:
        for step in steps:
            xdotool(start.display, *step.replace("at", f"mousemove --window {window}").split())

    run.hear("drawn")  # what is clicked before there is a picture hits nothing
    mouse("at 160 120", "click 1")  # only once: two within 0.4 s would select the body, and Ctrl would turn it
    run.hear("click 0 1")
    mouse("keydown ctrl", "mousedown 1", "at 180 120", "at 240 120")
    run.hear("pulled aside")
    mouse("mouseup 1", "keyup ctrl")
    run.hear("let go")
    run.interrupt()
    run.end()
