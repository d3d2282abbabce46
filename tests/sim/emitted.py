"""An event buffer on a real host, and what a reader of the host's ring gets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.ring.events import Event, EventReader, event_of
from twixt.ipc.session.host import Host
from twixt.sim.publish.event_buffer import EventBuffer


class Emitted:
    """`emit` and `emit_many` take the arguments of `World.emit` and `World.emit_many`. warnings: the texts of all
    warnings."""

    def __init__(self, host: Host) -> None:
        self.warnings: list[str] = []
        self.buffer = EventBuffer(host, self.warnings.append)
        self.reader = EventReader(host._events.memory)

    def emit(self, name: Any, **given: Any) -> None:
        usual: dict[str, Any] = {
            "body": None, "position": None, "strength": 1.0, "values": (), "text": "", "at": None,
        }  # fmt: skip
        self.buffer.emit(name, *(usual | given).values())

    def emit_many(self, name: Any, **given: Any) -> None:
        usual: dict[str, Any] = {
            "body": None, "position": None, "strength": 1.0, "values": None, "at": None, "text": "",
        }  # fmt: skip
        self.buffer.emit_many(name, *(usual | given).values())

    def flush(
        self,
        previous_s: float = 1.0,
        now_s: float = 2.0,
        epoch: int = 0,
        bodies: int = 3,
        rows: NDArray[np.int64] | None = None,
    ) -> list[Event]:
        """Publishes the events of a step, and returns them as a reader gets them."""
        self.buffer.flush(round(previous_s * 1e9), round(now_s * 1e9), epoch, bodies, rows)
        return self.read()

    def read(self) -> list[Event]:
        """The events that were not read yet."""
        batch = self.reader.unread()
        return [event_of(record, self.reader.names[record["name"]]) for record in batch.records]
