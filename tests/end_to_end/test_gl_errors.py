"""A viewer's whole run makes no error of OpenGL, as Mesa reports them on standard error."""

from __future__ import annotations

import re

import pytest

from tests.end_to_end.processes import Run, Starter, focus, xdotool

pytestmark = pytest.mark.display

# All shapes, opaque and transparent, as bodies and as parts, with a material; a surface that deforms; all marks; a sky.
LOOP = """
import time
import numpy as np
import twixt
from twixt.ipc.snapshot import MARK_KINDS

corners = [(0.3, 0.3, 0.3), (-0.3, -0.3, 0.3), (-0.3, 0.3, -0.3), (0.3, -0.3, -0.3)]
faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
paint = twixt.Material(roughness=0.4, specular=0.9)
image = twixt.Material(texture=twixt.Texture.checker())
shapes = [
    shape
    for color in (None, (0.9, 0.3, 0.2, 0.5))
    for shape in (
        twixt.Sphere(0.3, color=color), twixt.Box((0.3, 0.2, 0.2), color=color, material=paint),
        twixt.Capsule(0.2, 0.2, color=color), twixt.Cylinder(0.2, 0.2, color=color, material=image),
        twixt.Ellipsoid((0.3, 0.2, 0.1), color=color), twixt.Plane((0.4, 0.4), color=color),
        twixt.Mesh(corners, faces, color=color), twixt.Mesh(corners, faces, "smooth", color=color, material=paint),
    )
]
shapes.append(twixt.Compound([twixt.Part(shape, (0, 0, 0.2)) for shape in shapes]))
shapes.append(twixt.Mesh(corners, faces, deforms=True))
shapes += [twixt.Sphere(0.02)] * 300
sky = twixt.Texture.gradient((0.1, 0.2, 0.4), (0.3, 0.3, 0.3))
scene = twixt.Scene(shapes, background=sky, outline=((-3, -3, 0), (3, 3, 2)))
at = np.arange(len(shapes))
place = np.stack((at % 20 - 10, at // 20 - 8, 0 * at + 0.5), axis=1) * 0.4
view = twixt.show(scene, draw="drawing:draw", size_px=(320, 240), quality="{quality}")
marks = twixt.Marks()
step = 0
while view.is_open:
    step += 1
    marks.clear()
    for row, (kind, names) in enumerate(MARK_KINDS.items()):
        color = np.uint8([200, 90, 90, 255 - 100 * (row % 2)])
        of_kind = dict(text="text", body=0) if kind == "text" else dict(size=[0.1] * len(names), label="a label")
        marks.add(kind, (row * 0.4 - 2, -2, 1), color=color, **of_kind)
    swing = 0.05 * np.sin(step / 9)
    view.publish(position=place + (0, 0, swing), marks=marks, surfaces={17: np.array(corners) * (1 + swing)})
    time.sleep(0.01)
print("over", flush=True)
"""
DRAW = """
import os
from twixt.render.draw.frame.context import gl_function
frames = 0

def draw(frame):
    global frames
    frames += 1
    frame.points(frame.poses.position, color=(1, 0.8, 0.2), size_px=4)
    frame.line((0, 0, 0), (1, 1, 1))
    frame.label((0, 0, 1), "here")
    if frames % 4 == 0:
        print(frames, "frames", flush=True)
    if os.path.exists("mistake"):
        os.remove("mistake")
        import ctypes
        gl_function("glEnable", ctypes.c_uint)(0x1234)
        print("mistake made", flush=True)
"""


def reported(run: Run) -> list[str]:
    """Errors of OpenGL that Mesa has written."""
    return re.findall(r"Mesa: User error: (GL_\w+ in \w+)", run.err)


@pytest.mark.parametrize("quality", ["auto", "best"])
def test_a_whole_run_makes_no_error_and_one_that_is_made_is_reported(start: Starter, quality: str) -> None:
    (start.folder / "drawing.py").write_text(DRAW)
    run = start.script(LOOP.replace("{quality}", quality), MESA_DEBUG="1")
    run.hear("4 frames")
    window = focus(run, start.display)
    for count, key in enumerate("vtihfp", start=2):
        xdotool(start.display, "key", key)
        if key == "h":
            xdotool(start.display, "windowsize", window, "400", "300")
        run.hear(f"{4 * count} frames")
    xdotool(start.display, "windowsize", window, "240", "320")
    xdotool(start.display, "key", "F12")
    run.hear("32 frames")
    run.hear("screenshot in")
    assert reported(run) == []
    (start.folder / "mistake").touch()
    run.hear("mistake made")
    xdotool(start.display, "key", "Escape")
    run.hear("over")
    assert run.end() == 0
    assert reported(run) == ["GL_INVALID_ENUM in glEnable"]
