"""Measures the cost of emitting events in a user's loop, and of publishing them with the next state.

A record of 64 bytes must be packed and copied for each event. So the limit of one event is a call of `struct` and one
of `bytearray`, and the limit of many events is the copy of their bytes.
"""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Iterator

import numpy as np

from bench.rows import Memcpy, Row, rounds_of, row, times_us
from twixt.cli.progress import Say
from twixt.ipc.ring.events import EVENT
from twixt.ipc.scene import Scene, Sphere
from twixt.sim.show.show import show

# Number of rounds in a whole run, and number of calls of `emit` in a round.
ROUNDS, CALLS = 2000, 100
# Number of events of `emit_many`, and of bodies that they name.
MANY = 1000
# Limits in us: of one `emit`, of `emit_many` for MANY events together with their publication, and of the publication of
# one event.
EMIT_US, MANY_US, ONE_US = 2, 50, 6
# A record as `emit` packs it.
RECORD = struct.Struct("<qIi8fB15s")


def emit_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of `View.emit`, of `View.emit_many`, and of the publication of their events."""
    rounds = rounds_of(ROUNDS, share)
    with contextlib.redirect_stderr(io.StringIO()):  # The view prints that it has no viewer.
        view = show(Scene([Sphere()] * MANY), viewer=False)
    with view:
        events, packed = view._events, bytearray()
        point, add = np.ones(3), packed.extend
        numbers = (0, 0, 3, *point.tolist(), 1.0, *[0.0] * 4, 1, b"")

        def emit() -> None:
            view.emit("hit", body=3, position=point, strength=2.0)

        def pack() -> None:
            add(RECORD.pack(*numbers))

        def forget() -> None:
            events.pending.clear()
            packed.clear()

        say("emit")
        emitted, limits = times_us(rounds, emit, pack, calls=CALLS, before=forget)
        yield row("emit", "us", emitted, "struct + bytearray", limits, target=f"figure <= {EMIT_US}")

        bodies, points, strengths = np.arange(MANY), np.ones((MANY, 3)), np.ones(MANY)

        def publish() -> None:
            events.flush(0, 1_000_000, 0, MANY)

        def emit_many() -> None:
            view.emit_many("hit", body=bodies, position=points, strength=strengths)
            publish()

        say("emit_many")
        forget()
        emitted, limits = times_us(rounds, emit_many, Memcpy(MANY * EVENT.itemsize), before=forget)
        yield row(f"emit_many, {MANY:,}", "us", emitted, "memcpy", limits, target=f"figure <= {MANY_US}",
                  note="includes the work for these events in the next publish")  # fmt: skip

        def emit_alone() -> None:
            forget()
            emit()

        say("publication of an event")
        published, limits = times_us(rounds, publish, Memcpy(EVENT.itemsize), before=emit_alone)
        yield row("publish, share of one event", "us", published, "memcpy", limits, target=f"figure <= {ONE_US}")
