"""Draws frames into a window, then all of them again, each whole; prints how many differ, and how many were filled in
part.

Run by test_stale_areas.py on a display of its own.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.render.draw.software.test_stale_areas import BALLS, NEAR, PANELS, bodies_at
from twixt.render.display.window import Window
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.scene_renderer import SceneRenderer

SIZE_PX = (400, 300)
FRAMES, TURNED_AT = 40, 28


def frame(renderer: SceneRenderer, target: Any, step: int, camera: OrbitCamera) -> np.ndarray:
    target.use()
    for slot in (0, 1):
        bodies = bodies_at(step + slot)
        renderer.upload(slot, memoryview(bodies).cast("B"), len(bodies))
    renderer.draw([Layer(0, 1, alpha=0.5, gap_s=0.05)], camera.matrices(SIZE_PX), (0, 0, *SIZE_PX))
    renderer.mark_covered(PANELS)
    for left, top, right, bottom in PANELS:
        target.clear(step % 5 / 5, 0.2, 0.9, viewport=(left, SIZE_PX[1] - bottom, right - left, bottom - top))
    renderer.finish()
    return renderer.read_pixels()


def black_after_a_resize(renderer: SceneRenderer, window: Window) -> int:
    """Pixels that are black in a frame while which the window grows, after its events were read (X11)."""
    for step in range(4):
        frame(renderer, window.screen, step, NEAR)
        window.swap()
        window.poll()
    if window.backend == "x11":
        import glfw  # after its library is chosen

        glfw.set_window_size(window.handle, SIZE_PX[0] + 80, SIZE_PX[1] + 60)
    return int((frame(renderer, window.screen, 4, NEAR) == 0).all(axis=2).sum())


def main() -> None:
    window = Window(SIZE_PX, "frames", vsync=False)
    context = window.context
    kept, whole = SceneRenderer(context, BALLS, 4), SceneRenderer(context, BALLS, 4)
    assert kept._background.cache is not None
    kept._background.cache._is_faster, whole._background.cache = True, None
    in_part = 0
    while window.framebuffer_size != SIZE_PX:
        window.poll()
        window.swap()
    copy_areas = kept._background.cache._copy_areas

    def counted(*how: Any) -> Any:
        nonlocal in_part
        in_part += 1
        return copy_areas(*how)

    kept._background.cache._copy_areas = counted  # type: ignore[method-assign]
    pictures: list[list[np.ndarray]] = []
    for renderer in (kept, whole):
        pictures.append([])
        for step in range(FRAMES):
            camera = NEAR if step < TURNED_AT else OrbitCamera(distance_m=14.0, azimuth_rad=1.0)
            pictures[-1].append(frame(renderer, window.screen, step, camera))
            window.swap()
            window.poll()
    wrong = sum(not np.array_equal(*pair) for pair in zip(*pictures, strict=True))
    keeps = kept._background.cache._trial.keeps
    found = {"keeps": keeps, "wrong": wrong, "in_part": in_part, "black": black_after_a_resize(kept, window)}
    print(json.dumps(found))
    window.close()


if __name__ == "__main__":
    main()
