"""The ring buffer of events between real processes. Races are bounded, and print the conditions they were run under."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from tests.ipc.event_stress import stress
from tests.ipc.ring_process import hand_out, numbered_events, take_in
from tests.ipc.stress import PATIENCE_S, other_process
from twixt.ipc.ring import events, memory
from twixt.ipc.ring.events import EventReader, EventWriter

SLOTS = 64


@pytest.mark.stress
def test_no_event_is_torn_or_out_of_order_and_those_that_are_lost_are_counted() -> None:
    """`python -m tests.ipc.event_stress` is the same, of any length."""
    stressed = stress(1, pause_ms=200)
    print(f"\n{stressed}")
    assert stressed.steady.is_right
    assert stressed.pausing.is_right


@pytest.mark.stress
def test_a_reader_that_pauses_loses_none_of_as_many_as_there_is_room_for() -> None:
    stressed = stress(1, pause_ms=200, hz=100)
    print(f"\n{stressed}")
    for told in (stressed.steady, stressed.pausing):
        assert told.is_right
        assert (told.lost, told.delivered) == (0, stressed.appended)


def test_a_stopped_reader_harms_nobody_and_counts_what_it_missed() -> None:
    made = memory.create(events.memory_bytes(SLOTS))
    writer = EventWriter(made, SLOTS)
    writer.add_names(["hit"])
    with other_process("reading_events", 0) as (connection, process):
        hand_out(connection, made)
        assert connection.recv(1) == b"a"
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        for number in range(1, 10 * SLOTS + 1):
            writer.append(numbered_events(number, 1))
        process.send_signal(signal.SIGCONT)
        connection.send(json.dumps(10 * SLOTS).encode())
        delivered, lost, torn, disordered, appended = json.loads(connection.recv(100))
        assert (torn, disordered, appended, delivered + lost) == (0, 0, 10 * SLOTS, 10 * SLOTS)
        assert delivered >= SLOTS
    writer.close()


def test_a_killed_writers_events_stay_readable() -> None:
    with other_process("appending", SLOTS, 0, ends_with=-signal.SIGKILL) as (connection, process):
        reader = EventReader(take_in(connection))
        connection.send(b"g")
        until = time.monotonic() + PATIENCE_S
        while not reader.has_unread:
            assert time.monotonic() < until, "the writer never began"
        process.kill()
        process.wait()
        first, records = reader.unread()
        assert records.tobytes() == numbered_events(first, len(records)).tobytes()
        assert reader.names == {1: "hit"}
        assert not reader.has_unread
        reader.close()
