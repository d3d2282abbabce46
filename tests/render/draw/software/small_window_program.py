"""Draws a frame of half the size into a real window, and a panel of one column over it; saves the window's pixels.

small_window_program.py FOLDER [SCREEN_FILE]   SCREEN_FILE: an Xvfb's mapped screen. Prints {"errors", "screen"}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tests.end_to_end.observer import open_screen
from tests.render.draw.gl_errors import gl_errors
from tests.render.draw.test_scene_renderer import bodies_at
from twixt.ipc.scene import Scene, Sphere
from twixt.render.display.window import Window
from twixt.render.draw.camera import OrbitCamera
from twixt.render.draw.flat.overlay_sheet import Sheet
from twixt.render.draw.flat.panel_backgrounds import Rectangle
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.frame.quality_levels import FLAT, LEVELS
from twixt.render.draw.scene_renderer import SceneRenderer

SIZE_PX = (401, 300)


def main(folder: Path, screen_file: str) -> None:
    window = Window(SIZE_PX, "small", vsync=False)
    for _ in range(3):
        window.poll()
        window.swap()
    size_px = window.framebuffer_size
    window.screen.use()
    renderer = SceneRenderer(window.context, Scene([Sphere(0.6)] * 3), 4, 3)
    for slot in range(2):
        renderer.upload_records(slot, bodies_at((-1, 0, 0.6), (1, 0.1 * slot, 0.7), (0, 1, 1.5)))
    small_px = (size_px[0] + 1) // 2, (size_px[1] + 1) // 2

    def draw(level, part_px):
        window.screen.use()
        renderer.level = level
        camera = OrbitCamera(distance_m=6).matrices(size_px)
        renderer.draw([Layer(0, 1, alpha=0.5, gap_s=1.0, method="linear")], camera, (0, 0, *part_px))
        renderer.end_pictures()

    def save(name):
        renderer.finish()
        pixels = renderer.read_pixels()
        np.save(folder / f"{name}.npy", pixels)
        return pixels

    with gl_errors() as errors:
        draw(FLAT, small_px)
        save("small")
        for _ in range(6):  # the background is drawn, kept, compared and copied
            draw(LEVELS[-1], size_px)
            save("whole")
            window.swap()
            window.poll()
        sheet = Sheet()
        with sheet.drawing(size_px, [Rectangle(11, 30, 12, 50)], (1.0, 0.0, 1.0, 1.0)):
            pass
        draw(LEVELS[-1], size_px)
        sheet.blend(size_px)
        over = save("over")
        window.swap()
        window.context.finish()
    if screen_file:
        screen = open_screen(screen_file)
        for _ in range(10_000):  # until the server has copied it
            window.poll()
            seen = screen[: size_px[1], : size_px[0], 2::-1].copy()
            if (seen == over).all():
                break
        np.save(folder / "screen.npy", seen)
    print(json.dumps({"errors": errors, "screen": bool(screen_file)}))
    window.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
