"""A real process on the other side of a ring: `python ring_process.py KIND FD ...`, run by `stress`.

Each snapshot's tick, and every byte-group of its records and column, say its number: a mixture shows.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time

import numpy as np

from tests import publishing
from twixt.ipc.ring import events, layout, memory
from twixt.ipc.ring.events import EVENT, EventReader, EventWriter
from twixt.ipc.ring.layout import Layout
from twixt.ipc.ring.reader import RingReader
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.snapshot import BODY, Head, Snapshot

WORDS_PER_BODY = BODY.itemsize // 8
COLUMNS = {"mark": ("<u8", 1)}
# Publishes between two looks whether it is enough.
LOOK_EVERY = 64
# A writer that has not begun for so long never will.
PATIENCE_S = 60


def make_ring(capacity: int) -> tuple[memory.Memory, RingWriter]:
    layout = Layout.for_bodies(capacity, COLUMNS)
    made = memory.create(layout.segment_bytes)
    return made, RingWriter(made, layout)


def publish(writer: RingWriter, number: int, words: np.ndarray, marks: np.ndarray) -> None:
    words[:] = number
    marks[:] = number
    publishing.publish(writer, Head(tick=number), words.view(BODY), {"mark": marks})


def hand_out(connection: socket.socket, made: memory.Memory) -> None:
    socket.send_fds(connection, [json.dumps(made.size).encode().ljust(32)], [made.read_only_fd()])


def take_in(connection: socket.socket) -> memory.Memory:
    message, descriptors, _, _ = socket.recv_fds(connection, 32, 1)
    try:
        return memory.map_read_only(descriptors[0], json.loads(message))
    finally:
        os.close(descriptors[0])


def unthrottled(connection: socket.socket, bodies: int, count: int) -> None:
    """Publish `count` snapshots as fast as possible, from the first byte received on."""
    made, writer = make_ring(bodies)
    hand_out(connection, made)
    words, marks = np.zeros(bodies * WORDS_PER_BODY, np.uint64), np.zeros(bodies, np.uint64)
    connection.recv(1)
    for number in range(1, count + 1):
        publish(writer, number, words, marks)
    connection.recv(1)


def never_pausing(connection: socket.socket, bodies: int, slots: int, hz: int) -> None:
    """Publish from the first byte received to the second, as fast as possible or at a pace; say how many."""
    have_slots(slots)
    segment = Layout.for_bodies(bodies)
    made = memory.create(segment.segment_bytes)
    writer = RingWriter(made, segment)
    hand_out(connection, made)
    records = np.zeros(bodies, BODY)
    lines = records.view(np.uint64).reshape(bodies, WORDS_PER_BODY)
    connection.recv(1)
    looked = select.poll()
    looked.register(connection, select.POLLIN)
    number, next_ns = 0, time.perf_counter_ns()
    while not ((hz or number % LOOK_EVERY == 0) and looked.poll(0)):
        number += 1
        lines[:, 0] = number
        publishing.publish(writer, Head(tick=number, scene_version=number, plan_number=number), records)
        if hz:
            next_ns = at_pace(next_ns, hz)
    connection.send(json.dumps(number).encode())
    connection.recv(1)


def reading_pairs(connection: socket.socket, reads: int, slots: int, hz: int) -> None:
    """Read so many pairs, as fast as possible or at a pace; say what became of them."""
    have_slots(slots)
    reader = RingReader(take_in(connection))
    until = time.monotonic() + PATIENCE_S
    while reader.latest < 2:
        assert time.monotonic() < until, "the writer never began"
        time.sleep(0.001)
    torn = newest = 0
    began = time.monotonic()
    next_ns = time.perf_counter_ns()
    counters = reader.counters
    while counters.pairs_read + counters.pairs_failed < reads:
        pair = reader.pair()
        if pair:
            older, newer = pair
            number = newer.tick
            whole = number >= newest and holds(newer, number) and holds(older, number - 1)
            torn, newest = torn + (not whole), number
        if hz:
            next_ns = at_pace(next_ns, hz)
    told = [counters.pairs_read, torn, counters.retries, counters.pairs_failed, time.monotonic() - began]
    connection.send(json.dumps(told).encode())


# Records of the appends of a writer of events, in turn, and the number of bytes of a record that are checked.
COUNTS, CHECKED_WORDS = (1, 1, 2, 3, 5, 8, 64, 700), EVENT.itemsize // 8


def appending(connection: socket.socket, slots: int, hz: int) -> None:
    """Append events from the first byte received to the second, as fast as possible or so many times a second; say how
    many. Every word of a record says its number."""
    made = memory.create(events.memory_bytes(slots))
    writer = EventWriter(made, slots)
    writer.add_names(["hit"])
    hand_out(connection, made)
    connection.recv(1)
    looked = select.poll()
    looked.register(connection, select.POLLIN)
    appends, number, next_ns = 0, 0, time.perf_counter_ns()
    while not ((hz or appends % LOOK_EVERY == 0) and looked.poll(0)):
        count = COUNTS[appends % len(COUNTS)]
        writer.append(numbered_events(number + 1, count))
        number, appends = number + count, appends + 1
        if hz:
            next_ns = at_pace(next_ns, hz)
    connection.send(json.dumps(number).encode())
    connection.recv(1)


def reading_events(connection: socket.socket, pause_ms: int) -> None:
    """Read events, with a pause after each read, until a message says how many there are and all of them are read;
    say what became of them: delivered, lost, torn, out of order, appended since it was attached."""
    reader = EventReader(take_in(connection))
    connection.send(b"a")
    looked = select.poll()
    looked.register(connection, select.POLLIN)
    delivered = torn = disordered = newest = 0
    last = None
    while newest + 1 <= (last or newest + 1):
        batch = reader.unread()
        if count := len(batch.records):
            expected = numbered_events(batch.first, count)
            torn += int((batch.records.view(f"V{EVENT.itemsize}") != expected.view(f"V{EVENT.itemsize}")).sum())
            disordered += batch.first <= newest
            newest = batch.first + count - 1
            delivered += newest - max(reader.attached_at, batch.first - 1)
        assert reader.names in ({}, {1: "hit"})
        if last is None and looked.poll(0):
            last = json.loads(connection.recv(100))
        time.sleep(pause_ms / 1000)
    told = [delivered, reader.lost, torn, disordered, newest - reader.attached_at]
    connection.send(json.dumps(told).encode())


def numbered_events(first: int, count: int) -> np.ndarray:
    """Records of which each word says the number. In the word with the name, the name is 1."""
    words = np.empty((count, CHECKED_WORDS), np.uint64)
    words[:] = np.arange(first, first + count, dtype=np.uint64)[:, None]
    name = EVENT.fields["name"][1] // 8
    words[:, name] = words[:, name] << np.uint64(8) | np.uint64(1)
    return words.view(EVENT)[:, 0]


def holds(snapshot: Snapshot, number: int) -> bool:
    """Whether every cache line of it says that number."""
    lines = snapshot.bodies.view(np.uint64)[::WORDS_PER_BODY]
    return snapshot.tick == number and bool((lines == number).all())


def at_pace(next_ns: int, hz: int) -> int:
    """Wait for that instant, unless it is past; the one after it."""
    next_ns = max(next_ns + 1_000_000_000 // hz, time.perf_counter_ns() - 1_000_000_000)
    time.sleep(max(0, next_ns - time.perf_counter_ns()) / 1e9)
    return next_ns


def have_slots(slots: int) -> None:
    """Rings of so many slots, where their memory would allow more."""
    layout.MIN_SLOTS, layout.MAX_SLOTS = min(slots, layout.MIN_SLOTS), slots


def on_credit(connection: socket.socket, capacity: int, bodies: int, growth: int, count: int) -> None:
    """Publish one snapshot for each byte received, each of `growth` more bodies; beyond the capacity, grow and
    hand out the larger memory."""
    made, writer = make_ring(capacity)
    hand_out(connection, made)
    for number in range(1, count + 1):
        if not connection.recv(1):
            return
        present = bodies + growth * number
        if present > writer.layout.capacity:
            larger = Layout.for_bodies(2 * writer.layout.capacity, COLUMNS)
            grown = memory.create(larger.segment_bytes)
            old, writer = writer, RingWriter.grown(grown, larger, writer)
            hand_out(connection, grown)
            old.set_successor()
            old.close()
        publish(writer, number, np.zeros(present * WORDS_PER_BODY, np.uint64), np.zeros(present, np.uint64))
    connection.recv(1)


def holding_reader(connection: socket.socket) -> None:
    """Claim the newest snapshot and sit on it; say afterwards what became of it, and read the pair."""
    reader = RingReader(take_in(connection))
    *_, view = reader.unread(1)
    connection.send(b"c")
    connection.recv(1)
    valid = view.is_valid()
    ticks = [snapshot.tick for snapshot in reader.pair()]
    connection.send(json.dumps([view.head.tick, valid, ticks]).encode())


if __name__ == "__main__":
    kind, descriptor, *numbers = sys.argv[1:]
    end = socket.socket(fileno=int(descriptor))
    parts = (unthrottled, never_pausing, reading_pairs, on_credit, holding_reader, appending, reading_events)
    {part.__name__: part for part in parts}[kind](end, *map(int, numbers))
