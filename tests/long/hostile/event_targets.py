"""Events with any bytes changed, in shared memory and in the message that brings it, read and used as a viewer does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tests.long.hostile.mutate import Mutator
from tests.long.hostile.talk_targets import EVENT_SLOTS, ToViewerTarget, framed, ring_of_events
from tests.long.hostile.target import Target
from twixt.ipc.ring import events as at
from twixt.ipc.ring.events import EVENT, EventReader, event_of
from twixt.ipc.session import wire
from twixt.render.events.event_counts import EventCounts
from twixt.render.events.event_queue import EventQueue
from twixt.render.events.rings import MOST_RINGS, FrameTime, PictureRings
from twixt.render.interpolation.poses import Poses

HEADER, NUMBERS = (0, 24), (at.LATEST * 8, at.BEGUN * 8 + 8 - at.LATEST * 8)
NAMES = (at.NAMES_OFFSET, 64 * 8)
RECORDS = (at.RECORDS_OFFSET, EVENT_SLOTS * EVENT.itemsize)
TIMES_NS = (-(1 << 63), -1, 0, 1, 8_000_000, 10**12, (1 << 63) - 1)


class LiveBytes:
    """Bytes in place of a mapping, which a hostile writer changes at any time."""

    def __init__(self, content: bytes) -> None:
        self.view, self.size, self.closed = memoryview(bytearray(content)), len(content), False

    def close(self) -> None:
        self.closed = True


class EventRingTarget(Target):
    """Header, numbers, names and records, changed before the viewer attaches and between two of its reads."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        made, writer = ring_of_events()
        self._corpus = [bytes(made.view)]
        writer.close()

    def feed(self) -> None:
        draw = self.mutator.random
        places = [HEADER] if draw.random() < 0.1 else [NUMBERS, NAMES, RECORDS, RECORDS]
        self.fed = spoilt = self.mutator.bytes(self._corpus, places)
        mapped: Any = LiveBytes(spoilt)
        words = mapped.view.cast("Q")
        latest = words[at.LATEST]
        if draw.random() < 0.8:
            words[at.LATEST] = 0  # all events are from after the viewer attached
        reader = EventReader(mapped)
        words[at.LATEST] = latest
        queue, counts = EventQueue(reader.attached_at), EventCounts()
        rings = PictureRings(EventQueue(reader.attached_at))
        for present_ns in (0, 100_000_000, 2_000_000_000):
            if reader.has_unread:
                lost = reader.lost
                batch = reader.unread()
                assert len(batch.records) <= EVENT_SLOTS
                assert reader.lost >= lost
                queue.add(batch)
                rings.queue.add(batch)
            draw_time_ns, world_epoch = draw.choice(TIMES_NS), draw.choice((0, 1, 2, (1 << 32) - 1))
            due = queue.due(draw_time_ns, world_epoch)
            use(due, reader)
            counts.add(present_ns, due)
            json.dumps(counts.by_name(reader.names, 9))
            rings.advance(FrameTime(draw_time_ns, world_epoch, present_ns, draw.choice((0.0, 1.0))), poses_of)
            assert len(rings) <= MOST_RINGS
            assert all(np.isfinite(values).all() for values in rings.rows(present_ns))
            changed = self.mutator.bytes([bytes(mapped.view)], [NUMBERS, NAMES, RECORDS])
            mapped.view[at.LATEST * 8 :] = changed[at.LATEST * 8 :]
        reader.close()


def poses_of(rows: Any) -> Poses:
    """Those of the bodies of these indices, of which there are three."""
    assert (np.diff(rows) > 0).all()
    assert (rows >= 0).all()
    count = int((rows < 3).sum())
    return Poses(
        0, np.zeros((count, 3)), np.zeros((count, 4), "f4"), np.ones(count, "f4"), np.zeros((count, 4), "u1"),
        np.ones(count, bool),
    )  # fmt: skip


def use(records: Any, reader: EventReader) -> None:
    """What a viewer makes of events that are due."""
    for record in records:
        event = event_of(record, reader.names[int(record["name"])], 1.5)
        assert event.body is None or event.body >= 0
        assert event.position is None or np.isfinite(event.position).all()
        assert isinstance(event.sim_time, float)
        f"{event.name} {event.text} {event.sim_time:.3f} {event.strength:.2f}".encode()
        [f"{value:.6g}" for value in event.values]


class EventsMessageTarget(ToViewerTarget):
    """The message that brings the ring buffer of events: left out, doubled, misplaced, of another size, with another
    descriptor or none. All other messages are as a simulation sends them."""

    spoils_all = False

    def _place_of_events(self, stream: list[tuple[bytes, list[int]]]) -> int:
        return self.mutator.random.randint(0, len(stream))

    def _said_of_events(self, others: list[int]) -> list[tuple[bytes, list[int]]]:
        draw, size, descriptor = self.mutator.random, self._events.size, self._events.read_only_fd()
        whole = wire.encode("events", {"size": size}, descriptors=1), [descriptor]
        match draw.randrange(8):
            case 0:
                return []
            case 1:
                return [whole] * draw.choice((2, 3, 10))
            case 2:
                sizes = 0, 1, 4096, size - 1, size + 1, size - 4096, size + 4096, -size, 1 << 40, (1 << 63) - 1
                return [(wire.encode("events", {"size": draw.choice(sizes)}, descriptors=1), [descriptor])]
            case 3:
                other = draw.choice(others)
                return [(wire.encode("events", {"size": draw.choice((size, self._size))}, descriptors=1), [other])]
            case 4:
                return [(wire.encode("events", {"size": size}, descriptors=draw.choice((0, 1))), [])]
            case 5:
                return [(wire.encode("events", {"size": size}, descriptors=2), [descriptor, draw.choice(others)])]
            case 6:
                return [(self.mutator.bytes([whole[0]]), [descriptor])]
            case _:
                spoilt = framed(self.mutator.json({"kind": "events", "size": size}), 1), [descriptor]
                return [draw.choice((whole, spoilt))]
