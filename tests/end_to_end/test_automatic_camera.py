"""In the real window, the automatic camera follows a ball until the user or the program has the view."""

from __future__ import annotations

import pytest

from tests.end_to_end.processes import Run, Starter, focus, xdotool

pytestmark = pytest.mark.display

# Key g sends the ball 3 m farther, key b publishes a camera. After each second in which the viewer's view stood still,
# the program tells whether the ball is near the middle of the picture.
LOOP = """
import math
from time import sleep
import twixt
view = twixt.show(twixt.Scene([twixt.Sphere(0.5)]), size_px=(320, 240), overlay=False, dt=0.005)
place = goal = 0.0
stood, seen, told = 0, None, None
while view.is_open:
    place = min(goal, place + 0.02)
    view.publish(position=[(place, 0, 0)])
    for event in view.events():
        if event.key_name == "g" and event.action == "press":
            goal += 3
        if event.key_name == "b" and event.action == "press":
            view.camera = twixt.Camera((1.5, -9, 2), (1.5, 0, 0))
    look = view._host.actions.look
    stood = stood + 1 if look is seen and place == goal else 0
    seen = look
    if stood == 200:
        distance = math.dist(look.camera.eye, look.camera.target)
        is_near = abs(look.camera.target[0] - place) < 0.35 * distance
        said = f"{'near' if is_near else 'apart'} at {goal:g}, {'moved' if view.user_camera else 'not moved'}"
        print(said, flush=True)
    sleep(0.005)
"""


@pytest.fixture
def run(start: Starter) -> Run:
    run = start.script(LOOP)
    run.viewer()
    focus(run, start.display)
    run.hear("near at 0, not moved")
    return run


def mouse(start: Starter, run: Run, *steps: str) -> None:
    window = focus(run, start.display)
    for step in steps:
        xdotool(start.display, *step.replace("at", f"mousemove --window {window}").split())


def test_the_camera_follows_and_stands_while_a_button_is_held(start: Starter, run: Run) -> None:
    xdotool(start.display, "key", "g")
    run.hear("near at 3, not moved")
    mouse(start, run, "at 300 220", "mousedown 1", "key g")
    run.hear("apart at 6, not moved")
    mouse(start, run, "mouseup 1")
    run.hear("near at 6, not moved")
    run.interrupt()
    run.end()


def test_the_camera_stands_while_a_body_is_pulled(start: Starter, run: Run) -> None:
    mouse(start, run, "at 160 120", "keydown ctrl", "mousedown 1")
    mouse(start, run, "keyup ctrl", "key g")
    run.hear("apart at 3, not moved")
    mouse(start, run, "mouseup 1")
    run.hear("near at 3, not moved")
    run.interrupt()
    run.end()


@pytest.mark.parametrize("how", [("mousedown 1", "at 200 120", "mouseup 1"), ("mousedown 3", "at 200 120", "mouseup 3"), ("click 4",)],
                         ids=["orbit", "pan", "zoom"])  # fmt: skip
def test_a_view_that_the_user_has_moved_is_kept_until_f(start: Starter, run: Run, how: tuple[str, ...]) -> None:
    mouse(start, run, "at 160 120", *how)
    mouse(start, run, "key g")
    run.hear("apart at 3, moved")
    xdotool(start.display, "key", "f")
    run.hear("near at 3")
    xdotool(start.display, "key", "g")
    run.hear("near at 6")
    run.interrupt()
    run.end()


def test_a_published_camera_is_obeyed_and_f_follows_again(start: Starter, run: Run) -> None:
    xdotool(start.display, "key", "b")
    xdotool(start.display, "key", "g")
    xdotool(start.display, "key", "g")
    run.hear("apart at 6, not moved")
    xdotool(start.display, "key", "f")
    run.hear("near at 6")
    xdotool(start.display, "key", "g")
    run.hear("near at 9")
    run.interrupt()
    run.end()
