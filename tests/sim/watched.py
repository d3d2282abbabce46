"""Snapshots of a user's own loop, as a reader receives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.newest import newest
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Link, attach
from twixt.ipc.snapshot import Snapshot
from twixt.sim.show.show import show
from twixt.sim.show.view import View
from twixt.sim.world.columns import Column

BALLS = Scene([Sphere()] * 4)


class Watched:
    """A view without a window, and a reader attached to it."""

    def __init__(self, scene: Scene = BALLS, dt: float = 0.002, **options: Any) -> None:
        self.view: View = show(scene, dt=dt, viewer=False, **options)
        self.link: Link = attach(self.view.name)

    def publish(self, **fields: Any) -> Snapshot:
        """Publishes; returns the snapshot that the reader receives."""
        self.view.publish(**fields)
        return self.newest()

    def newest(self) -> Snapshot:
        return newest(self.link, lambda snapshot: snapshot.tick == self.view._now.tick - 1)


Open = Callable[..., Watched]


@contextmanager
def watching(of: Scene, columns: Mapping[str, Column]) -> Iterator[Open]:
    """A function that opens views with these columns, of the scene `of` unless it is given another; all are closed at
    the end."""
    opened: list[Watched] = []

    def watch(scene: Scene = of, **options: Any) -> Watched:
        opened.append(Watched(scene, columns=columns, **options))
        return opened[-1]

    try:
        yield watch
    finally:
        for both in opened:
            both.link.close()
            both.view.close()
