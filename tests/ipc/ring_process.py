"""A real process on the other side of a ring: `python ring_process.py KIND FD ...`, run by test_ring_processes.

Each snapshot's tick, and every byte-group of its records and column, say its number: a mixture shows.
"""

from __future__ import annotations

import json
import os
import socket
import sys

import numpy as np

from twixt.ipc import memory
from twixt.ipc.layout import Layout
from twixt.ipc.ring import RingReader, RingWriter
from twixt.ipc.snapshot import BODY, Head

WORDS_PER_BODY = BODY.itemsize // 8
COLUMNS = {"mark": ("<u8", 1)}


def make_ring(capacity: int) -> tuple[memory.Memory, RingWriter]:
    layout = Layout.for_bodies(capacity, COLUMNS)
    made = memory.create(layout.segment_bytes)
    return made, RingWriter(made, layout)


def publish(writer: RingWriter, number: int, words: np.ndarray, marks: np.ndarray) -> None:
    words[:] = number
    marks[:] = number
    writer.publish(Head(tick=number), words.view(BODY), {"mark": marks})


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
    *_, claim = reader.unread(1)
    connection.send(b"c")
    connection.recv(1)
    valid = claim.is_valid()
    ticks = [snapshot.tick for snapshot in reader.pair()]
    connection.send(json.dumps([claim.head.tick, valid, ticks]).encode())


if __name__ == "__main__":
    kind, descriptor, *numbers = sys.argv[1:]
    end = socket.socket(fileno=int(descriptor))
    parts = {"unthrottled": unthrottled, "on_credit": on_credit, "holding_reader": holding_reader}
    parts[kind](end, *map(int, numbers))
