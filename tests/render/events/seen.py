"""Stage for tests that shows events: they travel through a real ring, snapshots are added by hand, OpenGL draws."""

from __future__ import annotations

import math

import numpy as np

from tests.render.scene.staged import MS, Show
from twixt.ipc.ring import memory
from twixt.ipc.ring.events import EVENT, NO_BODY, EventReader, EventWriter, memory_bytes
from twixt.render.events.shown_events import ShownEvents
from twixt.render.events.viewer_events import ViewerEvents

SLOTS = 32_768


def records(times_ms, *, position=None, body=NO_BODY, strength=1.0, name=1, world_epoch=0) -> np.ndarray:
    """Events at these simulated times, (k,) of dtype EVENT. Each other value is one value or one for each event."""
    made = np.zeros(len(times_ms), EVENT)
    made["sim_time_ns"] = np.round(np.asarray(times_ms) * MS).astype(np.int64)
    made["world_epoch"], made["body"], made["strength"], made["name"] = world_epoch, body, strength, name
    made["position"] = math.nan if position is None else position
    made["values"] = math.nan
    return made


class Seen(Show):
    """A show with a program that emits events. has_rings: as for `ShownEvents`."""

    def __init__(self, window, scene, bodies, has_rings: bool = True, before_attach=(), **flags) -> None:
        super().__init__(window, scene, bodies, **flags)
        self.writer = EventWriter(memory.create(memory_bytes(SLOTS)), SLOTS)
        if len(before_attach):
            self.writer.append(before_attach)
        self.stage.events = ViewerEvents(EventReader(self.writer.memory))
        self.stage.shown_events = ShownEvents(self.stage.events, has_rings)

    def emit(self, *times_ms: float, **values) -> None:
        """Emits events at these simulated times; see `records`."""
        self.writer.append(records(times_ms, **values))

    def draw(self, at_ms: float):
        self.stage.events.receive()
        return super().draw(at_ms)

    @property
    def rings(self) -> dict[str, int]:
        """Number of rings in the last frame, by picture."""
        return {name: len(rings) for name, rings in self.stage.shown_events._rings.items()}
