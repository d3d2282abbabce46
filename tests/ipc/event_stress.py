"""A writer of events that never pauses, or keeps a pace, against two readers, one of which pauses after each read.

    python -m tests.ipc.event_stress [SECONDS [PAUSE_MS [HZ]]]       prints what was read, and under what conditions

The one idea: every word of a record says its number. So a torn record is seen, and the numbers of those that were
delivered and counted as lost must add up to all that were appended since the reader attached.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from typing import NamedTuple

from tests.ipc.stress import _answer, conditions, other_process
from twixt.ipc.ring.events import SLOTS


class Told(NamedTuple):
    """Of one reader, about events since it was attached."""

    delivered: int
    lost: int
    torn: int
    disordered: int
    appended: int

    @property
    def is_right(self) -> bool:
        return not self.torn and not self.disordered and self.delivered + self.lost == self.appended

    def __str__(self) -> str:
        return (
            f"{self.delivered:,} delivered + {self.lost:,} lost = {self.delivered + self.lost:,} of {self.appended:,} "
            f"events, {self.torn} torn, {self.disordered} out of order"
        )


class Stressed(NamedTuple):
    """Of both readers, and what was appended."""

    steady: Told
    pausing: Told
    pause_ms: int
    appended: int
    seconds: float
    hz: int

    def __str__(self) -> str:
        pace = f"in {self.hz} appends a second" if self.hz else "without a pause"
        return (
            f"{self.appended:,} events of 64 bytes appended in {self.seconds:.0f} s {pace}, {SLOTS:,} slots; a reader "
            f"without pauses: {self.steady}; a reader that pauses for {self.pause_ms} ms after each read: {self.pausing}; "
            f"{conditions()}"
        )


def stress(seconds: float, pause_ms: int = 20, hz: int = 0) -> Stressed:
    """hz: appends a second, of 98 events on average; 0: as many as possible."""
    with contextlib.ExitStack() as stack:
        writer, _ = stack.enter_context(other_process("appending", SLOTS, hz))
        message, descriptors, _, _ = socket.recv_fds(writer, 32, 1)
        readers = [stack.enter_context(other_process("reading_events", pause)) for pause in (0, pause_ms)]
        for connection, _ in readers:
            socket.send_fds(connection, [message], descriptors)
            assert connection.recv(1) == b"a"
        os.close(descriptors[0])
        writer.send(b"g")
        began_s = time.monotonic()
        time.sleep(seconds)
        writer.send(b"e")
        appended = json.loads(writer.recv(100))
        took_s = time.monotonic() - began_s
        for connection, _ in readers:
            connection.send(json.dumps(appended).encode())
        steady, pausing = (Told(*_answer(connection, (process,))) for connection, process in readers)
        return Stressed(steady, pausing, pause_ms, appended, took_s, hz)


if __name__ == "__main__":
    result = stress(*map(int, sys.argv[1:] or ["60"]))
    print(result)
    sys.exit(not (result.steady.is_right and result.pausing.is_right))
