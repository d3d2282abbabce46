"""A loop of the user's own that publishes again and again for one simulated time: real memory, real frames, pixels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.render.scene.staged import ONE
from tests.sim.watched import Watched
from twixt.ipc.config.flags import Config
from twixt.render.display.display import open_display
from twixt.render.pacing.pacer import Pacer
from twixt.render.viewer.loop import FrameLoop

pytestmark = pytest.mark.slow

# Frames until a publish is seen: one, unless the machine is held up between due instant and frame.
MANY = 10_000


class Looked:
    """A view, and the frames of a viewer of it."""

    def __init__(self, interpolation: str, clock: str) -> None:
        self.watched = Watched(ONE, dt=0.02)
        config = Config(
            offscreen=True, pacing="unlimited", overlay=False, size_px=(160, 120), interpolation=interpolation, clock=clock
        )  # fmt: skip
        self.publish(-2.0, 0.0)
        self.window = open_display(config)
        link = self.watched.link
        self.loop = FrameLoop(config, self.window, link, Pacer("unlimited"))

    def publish(self, x: float, sim_time: float, **fields: object) -> None:
        self.watched.view.publish(position=np.array([[x, 0.0, 0.0]]), sim_time=sim_time, **fields)

    def is_seen_at(self, x: float) -> bool:
        """In a frame from now on the body is drawn at x, whose pixels are lit."""
        for _ in range(MANY):
            self.loop.frame()
            columns = np.nonzero((self.loop.stage.renderer.read_pixels().max(axis=2) > 127).any(axis=0))[0]
            if len(columns) and abs(columns.mean() - 0.5 * 160 - x * PX_PER_M) < 1.5:
                return True
        return False

    def close(self) -> None:
        self.loop.close()
        self.window.close()
        self.watched.link.close()
        self.watched.view.close()


# 10 m away, 45 degrees high.
PX_PER_M = 60 / (10 * np.tan(np.radians(22.5)))


@pytest.fixture
def look() -> Iterator[type[Looked]]:
    made = []

    def looked(*arguments: str) -> Looked:
        made.append(Looked(*arguments))
        return made[-1]

    yield looked  # type: ignore[misc]
    for each in made:
        each.close()


@pytest.mark.parametrize(("method", "clock"), [("auto", "auto"), ("extrapolate", "auto"), ("kalman", "buffered")])
def test_what_is_edited_while_simulated_time_stands_is_seen_and_time_goes_on_after_it(look, method, clock):
    view = look(method, clock)
    for k, x in enumerate((-2.0, 0.0, 1.0, 2.0)):
        view.publish(x, 0.0, cut=[k % 2 == 1])
        assert view.is_seen_at(x), x
    for step in range(1, 200):
        view.publish(2.0 - 0.01 * step, 0.02 * step)
        view.loop.frame()
    for x in (-2.0, -1.0, 1.0):
        view.publish(x, 0.02 * 199)
        assert view.is_seen_at(x), x
    view.publish(2.0, 0.02 * 200, cut=[True])
    assert view.is_seen_at(2.0)
