"""The runner of the view bench without markers on the ground: their 16 KB in each snapshot would fill a bad link."""

from __future__ import annotations

import numpy as np

from bench.view import scenes
from bench.view.scene_world import Floats


class BareRunner(scenes.Runner):
    """A runner, 1.8 m tall, who runs round an oval track of 60 m x 30 m at 5 m/s."""

    def marker_places(self) -> tuple[Floats, float]:
        return np.zeros((0, 3)), 0.0
