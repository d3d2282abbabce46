"""Frames whose picture is drawn at half the size: the panels over it have the frame's own pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.render.viewer.test_idle import Viewer
from twixt.render.draw.frame.quality_levels import LEVELS

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
        monkeypatch.setattr(loop.quality.governor, "frame", lambda *_: HALF)
        viewer.frames_until(lambda: loop.record.last.quality == HALF.name)
        read = loop.stage.renderer.read_pixels
        viewer.frames_until(lambda: even_blocks(read()).all() != overlay)
        even = even_blocks(read())
        assert even[100:160, 100:220].all(), "the middle of the picture"
        assert (~even).mean() < 0.2, "letters of panels"
        assert len(np.unique(read()[200:320, 200:440].reshape(-1, 3), axis=0)) > 3
    finally:
        viewer.close()
