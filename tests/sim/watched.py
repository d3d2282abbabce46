"""What a loop of the user's own shows, as a reader finds it."""

from __future__ import annotations

from typing import Any

from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Link, attach
from twixt.ipc.snapshot import Snapshot
from twixt.sim.show import View, show

BALLS = Scene([Sphere()] * 4)


class Watched:
    """A view without a window, and a reader attached to it."""

    def __init__(self, scene: Scene = BALLS, dt: float = 0.002, **options: Any) -> None:
        self.view: View = show(scene, dt=dt, viewer=False, **options)
        self.link: Link = attach(self.view.name)

    def publish(self, **fields: Any) -> Snapshot:
        """What the reader sees after a publish."""
        self.view.publish(**fields)
        return self.newest()

    def newest(self) -> Snapshot:
        for _ in range(600):  # at once, unless the segment has grown and the new one is on its way
            self.link.poll()
            pair = self.link.latest_pair()
            if pair and pair[-1].tick == self.view._tick - 1:
                return pair[-1]
            self.link.wait(0.05)
        raise AssertionError("what was published never came")
