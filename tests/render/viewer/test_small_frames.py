"""Frames of which less than all is drawn anew: at half the size, or in parts. What is over them is as in whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.render.viewer.test_idle import Viewer
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.render.draw.quality import LEVELS

HALF = next(level for level in LEVELS if level.scale == 0.5)
SIZE_PX = 640, 480


def even_blocks(pixels: np.ndarray) -> np.ndarray:
    """True for each block of two by two pixels that are alike."""
    blocks = pixels.reshape(SIZE_PX[1] // 2, 2, SIZE_PX[0] // 2, 2, 3).swapaxes(1, 2)
    return np.asarray((blocks == blocks[:, :, :1, :1]).all(axis=(2, 3, 4)))


@pytest.mark.parametrize("overlay", [False, True], ids=["bare", "panels"])
def test_only_the_picture_is_enlarged(overlay: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    viewer = Viewer(overlay, SIZE_PX)
    try:
        loop = viewer.loop
        monkeypatch.setattr(loop.governor, "frame", lambda *_: HALF)
        viewer.frames_until(lambda: loop.record.last.quality == HALF.name)
        read = loop.stage.renderer.read_pixels
        viewer.frames_until(lambda: even_blocks(read()).all() != overlay)
        even = even_blocks(read())
        assert even[100:160, 100:220].all(), "the middle of the picture"
        assert (~even).mean() < 0.2, "letters of panels"
        assert len(np.unique(read()[200:320, 200:440].reshape(-1, 3), axis=0)) > 3
    finally:
        viewer.close()


def test_what_a_step_between_two_frames_draws_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are made by drawing them, after the frame whose panels cover all that was drawn over its picture."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(
        "tests.render.viewer.test_idle.Scene", lambda _: Scene([Sphere(0.5)], camera=Camera((0, -40, 15)), ground_z=0.0)
    )
    monkeypatch.setattr("twixt.render.draw.software.background_cache.MOST_SHARE", 1.0)
    viewer = Viewer(True, SIZE_PX)
    try:
        loop, filled = viewer.loop, []
        cache = loop.stage.renderer._background.cache
        assert cache is not None
        cache._is_faster = cache._trial.keeps = True
        copy_areas = cache._copy_areas
        monkeypatch.setattr(cache, "_copy_areas", lambda *how: filled.append(copy_areas(*how)))
        viewer.frames_until(lambda: filled and not loop.over.is_being_made)

        def steps() -> Iterator[None]:
            viewer.window.context.fbo.clear(1.0, 0.0, 1.0, viewport=(30, 200, 40, 40))
            yield

        loop.over._making = steps()
        viewer.frames_until(lambda: not loop.over.is_being_made)
        assert not (loop.stage.renderer.read_pixels() == (255, 0, 255)).all(axis=2).any()
    finally:
        viewer.close()
