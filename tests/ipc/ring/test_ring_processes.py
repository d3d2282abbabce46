"""The ring between real processes. Races are bounded, and print the conditions they were run under."""

from __future__ import annotations

import json
import os
import platform
import signal
import time

import numpy as np
import pytest

from tests.ipc.ring.segment_checks import check_segment
from tests.ipc.ring_process import WORDS_PER_BODY, hand_out, make_ring, publish, take_in
from tests.ipc.stress import PATIENCE_S, other_process, stress
from twixt.ipc.ring.mapped_segment import SnapshotView
from twixt.ipc.ring.reader import RingReader

ALL_BYTES = 1 << 40


def wait_for(reader: RingReader, number: int) -> None:
    until = time.monotonic() + PATIENCE_S
    while reader.latest < number:
        assert time.monotonic() < until, f"the writer stopped at snapshot {reader.latest} of {number}"


def is_one_snapshot(view: SnapshotView) -> bool:
    """Copied and found to be the same number throughout. Says nothing unless the view is valid afterwards."""
    words = np.frombuffer(view.bodies, np.uint64).copy()
    marks = np.frombuffer(view.columns["mark"], np.uint64).copy()
    return bool((words == view.head.tick).all() and (marks == view.head.tick).all())


@pytest.mark.stress
@pytest.mark.parametrize(("bodies", "count"), [(60, 12_000), (4000, 3000)])
def test_a_reader_never_sees_a_torn_slot_of_an_unthrottled_writer(bodies: int, count: int):
    valid = torn = mixed_but_refused = pairs = 0
    with other_process("unthrottled", bodies, count) as (connection, _):
        reader = RingReader(take_in(connection))
        connection.send(b"g")
        newest = 0
        until = time.monotonic() + PATIENCE_S
        while newest < count and time.monotonic() < until:
            for view in reader.unread(ALL_BYTES):
                whole = is_one_snapshot(view)
                if view.is_valid():
                    assert whole, f"snapshot {view.head.tick} was torn and passed for valid"
                    assert view.head.tick == view.number > newest
                    valid, newest = valid + 1, view.number
                else:
                    torn, mixed_but_refused = torn + 1, mixed_but_refused + (not whole)
            snapshots = reader.pair()
            for snapshot in snapshots:
                assert (snapshot.bodies.view(np.uint64) == snapshot.tick).all()
                assert (snapshot.columns["mark"] == snapshot.tick).all()
            if len(snapshots) == 2:
                pairs += 1
                assert snapshots[1].tick == snapshots[0].tick + 1
        assert reader.pair()[1].tick == count
    print(
        f"\n{bodies} bodies x {count} snapshots, {reader.layout.slots} slots, {platform.machine()}, "
        f"{os.cpu_count()} CPUs: {valid} read whole, {torn} refused ({mixed_but_refused} of them really mixed), "
        f"{pairs} pairs, {reader.counters}"
    )
    assert valid


@pytest.mark.stress
@pytest.mark.parametrize("slots", [4, 16])
def test_no_pair_is_torn_by_a_writer_that_never_pauses(slots: int):
    """`python -m tests.ipc.stress` is the same, of any length."""
    stressed = stress(10_000, readers=2, slots=slots)
    print(f"\n{stressed}")
    assert stressed.torn == 0
    assert stressed.reads


@pytest.mark.stress
@pytest.mark.parametrize("capacity", [4000, 900_000])
def test_a_paced_writer_never_costs_a_reader_its_pair(capacity: int):
    """Two publishes fall into each read of the pair: with four slots that is the most it can bear for certain."""
    rounds = 100
    with other_process("on_credit", capacity, 4000, 0, 2 * rounds + 2) as (connection, _):
        reader = RingReader(take_in(connection))
        connection.send(b"xx")
        wait_for(reader, 2)
        for done in range(1, rounds + 1):
            connection.send(b"xx")
            older, newer = reader.pair()
            assert newer.tick == older.tick + 1
            for snapshot in (older, newer):
                assert (snapshot.bodies.view(np.uint64) == snapshot.tick).all()
            wait_for(reader, 2 * done + 2)
        connection.send(b"e")
    print(f"\n{reader.layout.slots} slots: {reader.counters}")
    assert reader.counters.pairs_read == rounds
    assert reader.counters.retries == reader.counters.pairs_failed == 0


@pytest.mark.stress
def test_growth_loses_and_tears_no_frame():
    """The world grows by a body each step, from 9 to 400; the writer may be four snapshots ahead of the reader."""
    count, ahead = 400, 4
    ticks: list[int] = []
    grown = 0
    with other_process("on_credit", 8, 0, 1, count) as (connection, _):
        reader = RingReader(take_in(connection))
        connection.send(b"x" * ahead)
        until = time.monotonic() + PATIENCE_S
        while len(ticks) < count and time.monotonic() < until:
            if reader.has_successor:
                reader.follow(take_in(connection))
                grown += 1
            for view in reader.unread(ALL_BYTES):
                assert is_one_snapshot(view)
                assert view.is_valid()
                assert view.head.count == view.head.tick
                ticks.append(view.head.tick)
                if len(ticks) + ahead <= count:  # the writer has gone with its last snapshot
                    connection.send(b"x")
    assert ticks == list(range(1, count + 1))
    assert grown == 6
    assert reader.counters.skipped == 0


def test_a_stopped_reader_harms_nobody_and_finds_its_claim_gone():
    made, writer = make_ring(8)
    words, marks = np.zeros(8 * WORDS_PER_BODY, np.uint64), np.zeros(8, np.uint64)
    publish(writer, 1, words, marks)
    with other_process("holding_reader") as (connection, process):
        hand_out(connection, made)
        assert connection.recv(1) == b"c"
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        for number in range(2, 100):
            publish(writer, number, words, marks)
        check_segment(made)
        process.send_signal(signal.SIGCONT)
        connection.send(b"x")
        assert json.loads(connection.recv(100)) == [1, False, [98, 99]]


def test_a_killed_writers_snapshots_stay_readable():
    with other_process("unthrottled", 100, 5, ends_with=-signal.SIGKILL) as (connection, process):
        reader = RingReader(take_in(connection))
        connection.send(b"g")
        wait_for(reader, 5)
        process.kill()
        process.wait()
        assert [snapshot.tick for snapshot in reader.pair()] == [4, 5]
