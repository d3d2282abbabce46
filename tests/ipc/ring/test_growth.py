"""A larger segment is made beside the stepping thread, which waits for none and loses nothing but what it replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests import publishing
from tests.newest import newest, newest_two
from twixt.ipc.ring import memory
from twixt.ipc.ring.memory import Memory, SharedMemoryError
from twixt.ipc.ring.memory_budget import NoRoom
from twixt.ipc.scene.surface_records import packed, unpacked
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import MARK, Head, new_bodies, vertex_records

BOUND_S = 30.0
Until = Callable[[Callable[[], Any]], Any]


class Gate:
    """Who made and populated memory, in which order; held up while it is shut."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[int] = []
        self.opened = threading.Event()
        self.opened.set()
        self.error: Exception | None = None
        make, populate = memory.make, Memory.populate

        def made(size: int) -> Memory:
            self.pass_through()
            return make(size)

        def populated(one: Memory, *most: int) -> bool:
            self.pass_through()
            return populate(one, *most)

        monkeypatch.setattr(memory, "make", made)
        monkeypatch.setattr(Memory, "populate", populated)

    def pass_through(self) -> None:
        self.threads.append(threading.get_ident())
        assert self.opened.wait(BOUND_S)
        if self.error is not None:
            raise self.error

    def shut(self) -> None:
        self.opened.clear()


@pytest.fixture
def host(channel: Any) -> Host:
    return channel.open(capacity=100)  # type: ignore[no-any-return]


@pytest.fixture
def gate(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.opened.set()


def publish(host: Host, tick: int, count: int) -> int | None:
    bodies = new_bodies(count)
    bodies["epoch"] = tick
    return publishing.publish(host.ring, Head(tick=tick), bodies)


def ready(host: Host) -> bool:
    return host.ring.allocator.ready is not None


def test_from_three_quarters_full_the_next_segment_is_made_and_crossing_makes_nothing(
    host: Host, gate: Gate, until: Until
) -> None:
    publish(host, 1, 75)
    publish(host, 2, 74)
    assert gate.threads == []
    publish(host, 3, 76)
    until(lambda: ready(host))
    made = len(gate.threads)
    for tick, count in enumerate((90, 100, 101, 150), 4):
        assert publish(host, tick, count) is not None
    assert (host.ring.capacity, host.ring.waiting.dropped) == (200, 0)
    assert threading.get_ident() not in gate.threads
    assert len(gate.threads) == made, "at three quarters of 200 nothing is made yet"


def test_a_number_of_bodies_that_never_changes_asks_for_nothing(host: Host, gate: Gate) -> None:
    for tick in range(1, 40):
        publish(host, tick, 100)
    assert gate.threads == []


@pytest.mark.parametrize("in_place", [False, True])
def test_a_jump_is_published_once_there_is_room_the_newest_state_then(
    channel: Any, host: Host, gate: Gate, until: Until, in_place: bool
) -> None:
    def show(tick: int, count: int) -> int | None:
        if not in_place:
            return publish(host, tick, count)
        with host.ring.begin(count) as slot:
            slot.records.view(np.uint8)[:] = new_bodies(count).view(np.uint8)
            slot.records["epoch"] = tick
            slot.head = Head(tick=tick)
        return slot.published_ns

    link = channel.attach()
    assert show(1, 4) is not None
    gate.shut()
    for tick in range(2, 12):
        assert show(tick, 150) is None
    stored = host.ring.newest()
    assert stored is not None
    assert stored.head.tick == 11
    assert [snapshot.tick for snapshot in link.latest_pair()] == [1]
    gate.opened.set()
    # Nobody publishes any more: the service thread shows it.
    older, seen = newest_two(link, lambda snapshot: snapshot.tick == 11)
    assert (older.tick, len(seen.bodies), set(seen.bodies["epoch"])) == (1, 150, {11})
    assert host.ring.waiting.dropped == 9
    assert threading.get_ident() not in gate.threads
    assert [late.head.tick for late in host.ring.waiting.late] == [11]
    assert show(12, 150) is not None


def test_marks_make_a_segment_grow_as_bodies_do_and_wait_with_their_snapshot(
    channel: Any, host: Host, gate: Gate, until: Until
) -> None:
    marks = np.zeros(60, MARK)
    marks["key"] = np.arange(60)
    link = channel.attach()
    gate.shut()
    assert publishing.publish(host.ring, Head(tick=1), new_bodies(90), {}, marks) is None, "100 records fit"
    stored = host.ring.newest()
    assert stored is not None
    assert stored.marks.tobytes() == marks.tobytes()
    gate.opened.set()
    snapshot = newest(link)
    assert (len(snapshot.bodies), snapshot.marks.tobytes()) == (90, marks.tobytes())
    assert publishing.publish(host.ring, Head(tick=2), new_bodies(90), {}, marks[:5]) is not None
    assert newest(link).marks["key"].tolist() == [0, 1, 2, 3, 4]


def test_where_memory_is_short_marks_give_way_before_bodies(channel: Any, host: Host) -> None:
    link = channel.attach()
    for bodies, shown, expected in ((90, 100, (90, 10)), (120, 100, (100, 0)), (40, 70, (40, 20))):
        with host.ring.begin(bodies, shown, marks=20) as slot:
            slot.records.view(np.uint8)[:] = new_bodies(bodies).view(np.uint8)
            slot.marks["key"] = np.arange(20)
        seen = newest(link)
        assert (len(seen.bodies), len(seen.marks)) == expected
        assert seen.marks["key"].tolist() == list(range(expected[1]))


def test_vertices_wait_with_their_snapshot_for_a_larger_segment_and_give_way_first(
    channel: Any, host: Host, gate: Gate, until: Until
) -> None:
    link, marks, vertices = channel.attach(), np.zeros(3, MARK), 300
    extras = packed(marks, np.zeros(vertex_records(vertices), MARK), vertices)
    unpacked(extras.records[3:], vertices)[...] = 5
    with host.ring.begin(90, 95, marks=len(extras.records)) as slot:
        slot.records.view(np.uint8)[:] = new_bodies(90).view(np.uint8)
        slot.write_marks(extras.records)
        slot.head = Head(tick=1, vertices=vertices)
    seen = newest(link)
    assert (len(seen.bodies), len(seen.marks), len(seen.vertices)) == (90, 3, 0)
    gate.shut()
    assert publishing.publish(host.ring, Head(tick=2, vertices=vertices), new_bodies(90), {}, extras.records) is None, (
        "100 records fit"
    )
    gate.opened.set()
    seen = newest(link, lambda snapshot: snapshot.tick == 2)
    assert (len(seen.bodies), len(seen.marks)) == (90, 3)
    assert seen.vertices.tolist() == [[5, 5, 5]] * vertices


def test_a_state_written_while_the_one_that_waited_before_it_is_shown_is_shown_too(
    channel: Any, host: Host, gate: Gate, until: Until
) -> None:
    link = channel.attach()
    gate.shut()
    publish(host, 1, 150)
    with host.ring.begin(150) as slot:
        slot.head = Head(tick=2)
        gate.opened.set()
        until(lambda: host.ring.capacity >= 150)
    stored = host.ring.newest()
    assert stored is not None
    assert stored.head.tick == 2
    until(lambda: link.poll() or [snapshot.tick for snapshot in link.latest_pair()] == [1, 2])


def test_what_fits_goes_on_while_room_is_made_and_replaces_what_waits(host: Host, gate: Gate) -> None:
    gate.shut()
    assert publish(host, 1, 150) is None
    assert publish(host, 2, 50) is not None
    stored = host.ring.newest()
    assert stored is not None
    assert (stored.head.tick, host.ring.waiting.dropped) == (2, 1)
    gate.opened.set()
    assert host.ring.await_room(BOUND_S)
    assert host.ring.newest().head.tick == 2  # type: ignore[union-attr]


def test_a_world_that_grows_faster_than_room_is_made_is_shown_in_the_end(host: Host, gate: Gate) -> None:
    gate.shut()
    for tick in range(1, 60):
        publish(host, tick, 100 + 10 * tick)
        if tick % 20 == 0:
            gate.opened.set()
            assert host.ring.await_room(BOUND_S)
            gate.shut()
    gate.opened.set()
    assert host.ring.await_room(BOUND_S)
    assert host.ring.newest().head.tick == 59  # type: ignore[union-attr]


def test_what_could_not_be_made_is_said_once_to_who_needs_it_and_tried_again(host: Host, gate: Gate) -> None:
    gate.error = SharedMemoryError("no descriptors")
    publish(host, 1, 80)
    publish(host, 2, 120)
    with pytest.raises(SharedMemoryError, match="no descriptors"):
        for tick in range(3, 10):
            host.ring.await_room(BOUND_S)
            host.ring.reserve(120)
            publish(host, tick, 120)
    assert publish(host, 10, 90) is not None, "the old segment goes on"
    gate.error = None
    publish(host, 11, 120)
    assert host.ring.await_room(BOUND_S)
    assert host.ring.newest().head.tick == 11  # type: ignore[union-attr]


def test_room_made_in_advance_that_is_not_to_be_had_is_nobodys_trouble(host: Host, gate: Gate, until: Until) -> None:
    gate.error = NoRoom("full")
    publish(host, 1, 80)
    until(lambda: gate.threads and host.ring.allocator._request is None)
    gate.error = None
    publish(host, 2, 100)
    publish(host, 3, 101)
    assert host.ring.await_room(BOUND_S)
    assert host.ring.capacity >= 101


def test_an_end_while_room_is_made_leaves_no_memory(host: Host, gate: Gate) -> None:
    gate.shut()
    publish(host, 1, 150)
    opening = threading.Timer(0.05, gate.opened.set)
    opening.start()
    host.end()
    opening.join()
    assert host.ring.allocator.ready is None


def test_one_that_was_begun_before_its_segment_was_there_counts_as_late_and_not_as_dropped(
    host: Host, until: Until
) -> None:
    slot = host.ring.begin(150)
    until(lambda: ready(host))
    for tick in range(1, 40):  # each slot of the larger segment was used
        publish(host, tick, 150)
    with slot:
        slot.head = Head(tick=40)
    newest = host.ring.newest()
    assert newest is not None
    assert newest.head.tick == 40
    waiting = host.ring.waiting
    assert ([late.head.tick for late in waiting.late], waiting.dropped) == ([40], 0)
