"""A slot that its publisher writes itself, between the marks that readers look at."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from tests.ipc.ring.segment_checks import check_segment
from tests.newest import newest, newest_two
from tests.publishing import publish, publish_in_place
from twixt.ipc.ring import memory
from twixt.ipc.ring.layout import Layout, LayoutError
from twixt.ipc.ring.reader import RingReader
from twixt.ipc.ring.segments import HostEnded
from twixt.ipc.ring.slot import RingError
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import BODY, Head, new_bodies

ALL_BYTES = 1 << 40


class Ring:
    """Writer and reader of one segment; the epochs of each snapshot say its tick."""

    def __init__(self, columns: dict[str, tuple[str, int]] | None = None) -> None:
        layout = Layout.for_bodies(8, columns)
        self.memory = memory.create(layout.segment_bytes)
        self.writer = RingWriter(self.memory, layout)
        self.reader = RingReader(memory.map_read_only(self.memory.read_only_fd(), self.memory.size))

    def publish(self, tick: int, count: int = 3) -> None:
        with self.writer.begin(count) as slot:
            fill(slot.records, tick)
            slot.head = Head(tick=tick)

    def ticks(self) -> list[int]:
        """Of the snapshots not read yet, each looked at whole."""
        read = []
        for view in self.reader.unread(ALL_BYTES):
            bodies = np.frombuffer(view.bodies, BODY).copy()
            assert view.is_valid()
            assert (bodies["epoch"] == view.head.tick).all()
            read.append(view.head.tick)
        return read


@pytest.fixture
def ring() -> Any:
    ring = Ring()
    yield ring
    check_segment(ring.memory)


@pytest.fixture
def host(channel: Any) -> Host:
    return channel.open()  # type: ignore[no-any-return]


def fill(records: np.ndarray, tick: int) -> None:
    records.view(np.uint8)[:] = new_bodies(len(records)).view(np.uint8)
    records["epoch"] = tick


def test_what_is_written_into_the_slot_is_what_is_read(ring: Ring) -> None:
    with ring.writer.begin(3) as slot:
        assert slot.records.shape == (3,)
        assert slot.records.dtype == BODY
        assert np.shares_memory(slot.records, np.frombuffer(ring.memory.view, np.uint8))
        fill(slot.records, 7)
        slot.head = Head(tick=7, count=99)
        assert slot.published_ns is None
    assert slot.published_ns is not None
    (snapshot,) = ring.reader.pair()
    assert (snapshot.tick, len(snapshot.bodies)) == (7, 3)
    assert (snapshot.bodies["epoch"] == 7).all()
    assert ring.ticks() == [7]


def test_marks_are_written_in_place_too_and_read_only_after(ring: Ring) -> None:
    with ring.writer.begin(2, marks=3) as slot:
        fill(slot.records, 1)
        slot.marks["key"] = (7, 8, 9)
        slot.head = Head(tick=1)
        kept = slot.marks
    assert not kept.flags.writeable
    (snapshot,) = ring.reader.pair()
    assert snapshot.marks["key"].tolist() == [7, 8, 9]
    assert (snapshot.bodies["epoch"] == 1).all()
    with pytest.raises(RingError, match="holds 8 bodies, got 6 and 3 marks"):
        ring.writer.begin(6, marks=3)


def test_in_place_and_copied_snapshots_follow_each_other(ring: Ring) -> None:
    for tick in range(1, 9):
        if tick % 3:
            ring.publish(tick)
        else:
            bodies = new_bodies(2)
            bodies["epoch"] = tick
            publish(ring.writer, Head(tick=tick), bodies)
    assert ring.ticks() == list(range(1, 9))


def test_while_it_is_written_readers_have_the_two_before_and_nothing_of_what_it_held(ring: Ring) -> None:
    slots = ring.writer.layout.slots
    for tick in range(1, slots + 1):
        ring.publish(tick)
    views = list(ring.reader.unread(ALL_BYTES))
    assert [view.head.tick for view in views] == list(range(1, slots + 1))
    with ring.writer.begin(3) as slot:  # the slot of the first
        assert [view.is_valid() for view in views] == [False] + [True] * (slots - 1)
        fill(slot.records, slots + 1)
        assert [snapshot.tick for snapshot in ring.reader.pair()] == [slots - 1, slots]
        check_segment(ring.memory)
        slot.head = Head(tick=slots + 1)
    assert ring.ticks() == [slots + 1]


@pytest.mark.parametrize("published", [0, 1, 5])
def test_one_that_is_dropped_never_was_and_the_next_takes_its_slot(ring: Ring, published: int) -> None:
    for tick in range(1, published + 1):
        ring.publish(tick)
    with pytest.raises(ZeroDivisionError), ring.writer.begin(3) as slot:
        slot.records["epoch"] = 999
        raise ZeroDivisionError
    assert ring.writer.latest == published
    check_segment(ring.memory)
    ring.publish(published + 1)
    assert ring.writer.latest == published + 1
    assert ring.ticks() == list(range(1, published + 2))


REPLACED = (
    "^another snapshot was begun before the block of this slot ended, so this snapshot is dropped; "
    "end the block before the next publish$"
)


@pytest.mark.parametrize("in_place", [True, False])
def test_one_that_came_to_no_end_is_replaced_by_the_next_and_can_do_no_more(ring: Ring, in_place: bool) -> None:
    ring.publish(1)
    left = ring.writer.begin(2)  # as an interruption leaves it: neither complete nor dropped
    kept = left.records
    kept["epoch"] = 999
    if in_place:
        ring.publish(2)
    else:
        bodies = new_bodies(2)
        bodies["epoch"] = 2
        publish(ring.writer, Head(tick=2), bodies)
    with pytest.raises(RingError, match=REPLACED), left:
        pass
    with pytest.raises(ValueError, match="read-only"):
        kept["epoch"] = 998
    assert ring.ticks() == [1, 2]


def test_a_block_inside_a_block_takes_its_place_and_the_outer_one_is_refused_at_its_end(ring: Ring) -> None:
    with pytest.raises(RingError, match=REPLACED), ring.writer.begin(2) as outer:
        fill(outer.records, 5)
        ring.publish(1)
    ring.publish(2)
    assert ring.ticks() == [1, 2]


def test_records_are_read_only_once_they_are_visible(ring: Ring) -> None:
    with ring.writer.begin(2) as slot:
        records = slot.records
        fill(records, 1)
        slot.head = Head(tick=1)
    with pytest.raises(ValueError, match="read-only"):
        records["epoch"] = 5
    assert ring.ticks() == [1]


def test_more_bodies_than_there_is_room_for_and_wrong_columns_are_refused() -> None:
    ring = Ring({"heat": ("<f4", 1)})
    with pytest.raises(RingError, match="holds 8 bodies, got 9"):
        ring.writer.begin(9)
    with pytest.raises(RingError, match="columns must be exactly"), ring.writer.begin(2) as slot:
        fill(slot.records, 1)
    with ring.writer.begin(2) as slot:
        fill(slot.records, 1)
        slot.columns = {"heat": np.array([1.0, 2.0], "<f4")}
    (view,) = ring.reader.unread(ALL_BYTES)
    assert bytes(view.columns["heat"]) == np.array([1.0, 2.0], "<f4").tobytes()


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_whatever_ends_the_writing_the_last_snapshots_are_complete(channel: Any, host: Host, error: Any) -> None:
    link = channel.attach()
    for tick in (1, 2):
        publish_in_place(host.ring, Head(tick=tick, count=4), lambda records, tick=tick: fill(records, tick))

    def fail(records: np.ndarray) -> None:
        records["epoch"][:2] = 77
        raise error

    with pytest.raises(error):
        publish_in_place(host.ring, Head(tick=3, count=4), fail)
    assert [snapshot.tick for snapshot in link.latest_pair()] == [1, 2]
    publish_in_place(host.ring, Head(tick=4, count=4), lambda records: fill(records, 4))
    assert [snapshot.tick for snapshot in link.latest_pair()] == [2, 4]
    assert (newest(link).bodies["epoch"] == 4).all()


@pytest.mark.parametrize("part", [lambda records: records["position"], lambda records: records[1:], np.transpose])
def test_a_view_that_is_kept_is_told_of_and_its_snapshot_never_was(host: Host, part: Any) -> None:
    kept = []

    def write(records: np.ndarray) -> None:
        fill(records, 1)
        kept.append(part(records))

    slot = host.ring.begin(4)
    write(slot.records)
    assert slot.is_kept
    slot.abort()
    assert host.ring.newest() is None
    kept.clear()
    publish_in_place(host.ring, Head(tick=2, count=4), lambda records: fill(records, 2))


def test_a_view_that_is_garbage_or_a_copy_is_nothing_kept(host: Host) -> None:
    kept = []

    def write(records: np.ndarray) -> None:
        fill(records, 1)
        circle: list[Any] = [records["position"]]
        circle.append(circle)
        kept.append(records["position"].copy())

    gc.disable()
    try:
        with host.ring.begin(4) as slot:
            write(slot.records)
            assert not slot.is_kept
            slot.head = Head(tick=1)
    finally:
        gc.enable()
    assert kept


def test_records_that_are_kept_whole_can_be_written_no_more(host: Host) -> None:
    kept: list[np.ndarray] = []

    def write(records: np.ndarray) -> None:
        fill(records, 1)
        kept.append(records)

    publish_in_place(host.ring, Head(tick=1, count=4), write)
    with pytest.raises(ValueError, match="read-only"):
        kept[0]["epoch"] = 2


def test_growth_is_as_with_copies(channel: Any, host: Host, until: Any) -> None:
    link = channel.attach()
    for tick, count in ((1, 4), (2, 4), (3, 400), (4, 4000)):
        publish_in_place(host.ring, Head(tick=tick, count=count), lambda records, tick=tick: fill(records, tick))
        assert host.ring.await_room(60)  # without it the next one may take its place
    until(lambda: link.poll() or [snapshot.tick for snapshot in link.latest_pair()] == [3, 4])
    older, newer = newest_two(link)
    assert (len(older.bodies), len(newer.bodies)) == (400, 4000)
    assert (newer.bodies["epoch"] == 4).all()
    with pytest.raises(LayoutError):
        publish_in_place(host.ring, Head(tick=5, count=1 << 30), lambda records: None)
    publish_in_place(host.ring, Head(tick=6, count=1), lambda records: fill(records, 6))


def test_an_end_from_another_thread_waits_for_no_writer_and_harms_none(host: Host) -> None:
    def write(records: np.ndarray) -> None:
        ending = threading.Thread(target=host.end)
        ending.start()
        ending.join(20)
        assert not ending.is_alive()
        fill(records, 1)  # the memory is there as long as somebody writes it

    with pytest.raises(HostEnded):
        publish_in_place(host.ring, Head(tick=1, count=4), write)


def test_what_is_said_of_a_slot_holds_until_it_is_written_in_another_way(ring: Ring) -> None:
    slots = ring.writer.layout.slots

    def round_of(mark: object) -> list[object]:
        before = []
        for _ in range(slots):
            with ring.writer.begin(1) as slot:
                before.append(slot.tag)
                slot.tag = mark
                fill(slot.records, ring.writer.latest + 1)
                slot.head = Head(tick=ring.writer.latest + 1)
        return before

    assert round_of("first") == [None] * slots
    assert round_of("second") == ["first"] * slots
    publish(ring.writer, Head(tick=ring.writer.latest + 1), np.repeat(new_bodies(1), 1))
    assert round_of("third") == ["second"] * (slots - 1) + [None]
