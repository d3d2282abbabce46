from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twixt
from tests.ipc.ring.segment_checks import check_segment, numbers_held
from tests.publishing import publish
from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import memory
from twixt.ipc.ring.layout import Layout
from twixt.ipc.ring.reader import ATTEMPTS, Counters, RingReader
from twixt.ipc.ring.slot import RingError
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.scene.surfaces import packed, unpacked
from twixt.ipc.snapshot import BODY, MARK, Head, new_bodies, vertex_records

ALL_BYTES = 1 << 40


class Channel:
    """Writer and reader of one segment in this process; each snapshot's colours say its number."""

    def __init__(self, capacity: int = 8, columns: dict[str, tuple[str, int]] | None = None) -> None:
        self.clock_ns = 1000
        self.layout = Layout.for_bodies(capacity, columns)
        self.memory = memory.create(self.layout.segment_bytes)
        self.writer = RingWriter(self.memory, self.layout, now_ns=self.now_ns)
        self.reader = RingReader(map_again(self.memory))
        self.published = 0

    def now_ns(self) -> int:
        self.clock_ns += 1
        return self.clock_ns

    def publish(self, times: int = 1, count: int = 3) -> None:
        for _ in range(times):
            self.published += 1
            publish(self.writer, Head(tick=self.published), bodies_of(self.published, count))

    def grow(self, capacity: int) -> memory.Memory:
        """The writer's part of a growth; returns what a viewer maps."""
        self.layout = Layout.for_bodies(capacity)
        self.memory = memory.create(self.layout.segment_bytes)
        old, self.writer = self.writer, RingWriter.grown(self.memory, self.layout, self.writer)
        old.set_successor()
        return map_again(self.memory)


def map_again(made: memory.Memory) -> memory.Memory:
    return memory.map_read_only(made.read_only_fd(), made.size)


def bodies_of(number: int, count: int) -> np.ndarray:
    bodies = new_bodies(count)
    bodies["color"] = number % 251
    bodies["epoch"] = number
    return bodies


def marks_of(number: int, count: int) -> np.ndarray:
    marks = np.zeros(count, MARK)
    marks["key"], marks["label"] = np.arange(count), number
    return marks


def ticks_of(reader: RingReader, byte_budget: int = ALL_BYTES) -> list[int]:
    """The ticks delivered, each looked at whole."""
    ticks = []
    for view in reader.unread(byte_budget):
        bodies = np.frombuffer(view.bodies, BODY).copy()
        assert view.is_valid()
        assert (bodies["epoch"] == view.head.tick).all()
        ticks.append(view.head.tick)
    return ticks


def test_as_many_marks_as_fit_travel_beside_the_bodies_another_number_each_time(channel: Channel):
    counts = [(3, 5), (3, 0), (0, 8), (8, 0), (1, 1)]
    for number, (bodies, marks) in enumerate(counts, start=1):
        publish(channel.writer, Head(tick=number), bodies_of(number, bodies), {}, marks_of(number, marks))
    for number, (view, (bodies, marks)) in enumerate(zip(channel.reader.unread(ALL_BYTES), counts, strict=True), 1):
        assert (view.head.count, view.head.marks) == (bodies, marks)
        assert view.bytes == channel.layout.snapshot_bytes(bodies, marks) == 128 + 64 * (bodies + marks)
        assert bytes(view.marks) == marks_of(number, marks).tobytes()
        assert bytes(view.bodies) == bodies_of(number, bodies).tobytes()
    copies = channel.reader.pair()
    assert [snapshot.marks.tobytes() for snapshot in copies] == [b"", marks_of(5, 1).tobytes()]
    assert [stored.marks.tobytes() for stored in channel.writer.last_two()] == [b"", marks_of(5, 1).tobytes()]


def packed_vertices(number: int, count: int) -> np.ndarray:
    """Records of `count` vertices, each three times this number."""
    records = np.zeros(vertex_records(count), MARK)
    unpacked(records, count)[...] = number
    return records


def test_vertices_travel_behind_the_marks_another_number_each_time(channel: Channel):
    counts = [(1, 5, 2), (3, 0, 26), (0, 0, 1), (8, 0, 0), (2, 1, 16)]
    for number, (bodies, marks, vertices) in enumerate(counts, start=1):
        extras = packed(marks_of(number, marks), packed_vertices(number, vertices), vertices)
        head = Head(tick=number, vertices=vertices)
        publish(channel.writer, head, bodies_of(number, bodies), {}, extras.records)
    for number, (view, (_, marks, vertices)) in enumerate(
        zip(channel.reader.unread(ALL_BYTES), counts, strict=True), 1
    ):
        assert view.copied_marks()[0].tobytes() == marks_of(number, marks).tobytes()
        assert view.copied_vertices().shape == (vertices, 3)
        assert (view.copied_vertices() == number).all()
        assert view.is_valid()
    copies = channel.reader.pair()
    assert [(len(snapshot.marks), len(snapshot.vertices)) for snapshot in copies] == [(0, 0), (1, 16)]
    assert (copies[1].vertices == 5).all()


def test_vertices_that_the_writer_overwrites_are_torn(channel: Channel):
    for number in (1, 2):
        publish(channel.writer, Head(tick=number, vertices=9), bodies_of(number, 1), {}, packed_vertices(number, 9))
    view = next(iter(channel.reader.unread(ALL_BYTES)))
    for number in range(3, 3 + channel.layout.slots):
        publish(channel.writer, Head(tick=number, vertices=9), bodies_of(number, 1), {}, packed_vertices(number, 9))
    assert len(view.copied_vertices()) == 9
    assert not view.is_valid()
    assert view.copy() is None


@pytest.fixture
def channel() -> Iterator[Channel]:
    channel = Channel()
    yield channel
    check_segment(channel.memory)


def test_what_is_published_is_what_is_read():
    channel = Channel(4, {"scale3": ("<f4", 3), "heat": ("<f8", 1)})
    bodies = bodies_of(7, 3)
    columns = {"scale3": np.arange(9, dtype="<f4").reshape(3, 3), "heat": np.array([1.0, 2.0, 3.0])}
    head = Head(
        tick=1,
        sim_time_ns=-2,
        due_ns=3,
        published_ns=99,
        rate=0.5,
        dt_ns=5,
        step_cost_ns=6,
        world_epoch=7,
        count=99,
        scene_version=8,
        plan_number=9,
    )
    published_ns = publish(channel.writer, head, bodies, columns)
    (view,) = channel.reader.unread(ALL_BYTES)
    expected = Head(1, -2, 3, published_ns, 0.5, 5, 6, 7, 3, 8, 9)
    assert view.head == expected
    assert bytes(view.bodies) == bodies.tobytes()
    assert {name: bytes(rows) for name, rows in view.columns.items()} == {n: c.tobytes() for n, c in columns.items()}
    (snapshot,) = channel.reader.pair()
    assert snapshot.bodies.tobytes() == bodies.tobytes()
    assert (snapshot.columns["scale3"] == columns["scale3"]).all()
    assert snapshot.columns["heat"].shape == (3,)
    assert (snapshot.tick, snapshot.sim_time_ns, snapshot.due_ns, snapshot.published_ns) == (1, -2, 3, published_ns)
    assert (snapshot.rate, snapshot.dt_ns, snapshot.step_cost_ns, snapshot.world_epoch) == (0.5, 5, 6, 7)


def test_published_is_stamped_by_the_ring_itself(channel: Channel):
    channel.clock_ns = 5000
    assert publish(channel.writer, Head(published_ns=1), bodies_of(1, 1)) == 5001
    (view,) = channel.reader.unread(ALL_BYTES)
    assert view.head.published_ns == 5001


def test_an_empty_world_can_be_published(channel: Channel):
    publish(channel.writer, Head(tick=1), new_bodies(0))
    assert ticks_of(channel.reader) == [1]
    (snapshot,) = channel.reader.pair()
    assert len(snapshot.bodies) == 0


def test_a_world_of_no_capacity_can_be_published():
    channel = Channel(0, {"heat": ("<f4", 2)})
    publish(channel.writer, Head(tick=1), new_bodies(0), {"heat": np.zeros((0, 2), "<f4")})
    (view,) = channel.reader.unread(0)
    assert view.is_valid()
    assert len(view.bodies) == len(view.columns["heat"]) == 0


def test_bodies_in_any_memory_order_are_published(channel: Channel):
    every_other = bodies_of(5, 6)[::2]
    publish(channel.writer, Head(), every_other)
    assert channel.reader.pair()[0].bodies.tobytes() == every_other.tobytes()


def test_records_of_a_type_that_is_as_ours_are_published(channel: Channel):
    theirs = bodies_of(5, 2).astype(np.dtype(BODY.descr))
    assert theirs.dtype is not BODY
    publish(channel.writer, Head(), theirs)
    assert channel.reader.pair()[0].bodies.tobytes() == theirs.tobytes()


def test_nothing_published_is_nothing_read(channel: Channel):
    assert ticks_of(channel.reader) == []
    assert channel.reader.pair() == ()
    assert channel.reader.latest == 0
    assert channel.reader.counters.pairs_failed == 0


def test_every_snapshot_is_delivered_once_and_in_order(channel: Channel):
    channel.publish(3)
    assert ticks_of(channel.reader) == [1, 2, 3]
    assert ticks_of(channel.reader) == []
    channel.publish(channel.layout.slots - 1)
    assert ticks_of(channel.reader) == list(range(4, 4 + channel.layout.slots - 1))
    assert channel.reader.counters.skipped == 0


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3000), st.booleans()), max_size=12))
@settings(max_examples=40, deadline=None)
def test_whatever_the_pace_numbers_always_ascend_and_the_newest_is_always_there(rounds: list[tuple[int, int, bool]]):
    channel = Channel()
    delivered: list[int] = []
    for publishes, byte_budget, grows in rounds:
        channel.publish(publishes)
        if grows and channel.layout.capacity < 512:
            channel.reader.follow(channel.grow(2 * channel.layout.capacity))
        check_segment(channel.memory)
        new = ticks_of(channel.reader, byte_budget)
        assert bool(new) == (publishes > 0)
        assert not new or new[-1] == channel.published
        delivered += new
        newest_two = [snapshot.tick for snapshot in channel.reader.pair()]
        assert newest_two == [tick for tick in (channel.published - 1, channel.published) if tick > 0]
    assert delivered == sorted(set(delivered))
    assert channel.reader.counters.skipped == channel.published - len(delivered)
    channel.reader.close()
    channel.writer.close()


def test_a_byte_budget_keeps_the_newest_and_counts_what_it_skipped(channel: Channel):
    channel.publish(6)
    two = 2 * channel.layout.snapshot_bytes(3)
    assert ticks_of(channel.reader, two) == [5, 6]
    assert channel.reader.counters.skipped == 4
    assert channel.reader.counters.bytes_per_snapshot == channel.layout.snapshot_bytes(3)
    channel.publish(6)
    assert ticks_of(channel.reader, 0) == [12]
    assert channel.reader.counters.skipped == 4 + 5


def test_a_late_reader_gets_what_the_ring_still_holds(channel: Channel):
    channel.publish(100)
    late = RingReader(map_again(channel.memory))
    ticks = ticks_of(late)
    assert ticks == list(range(ticks[0], 101))
    assert len(ticks) >= channel.layout.slots - 1
    assert late.counters.skipped == 0


def test_a_claim_is_valid_until_the_writer_comes_round(channel: Channel):
    channel.publish()
    (view,) = channel.reader.unread(ALL_BYTES)
    channel.publish(channel.layout.slots - 1)
    assert view.is_valid()
    channel.publish()
    assert not view.is_valid()


def test_torn_claims_are_retried_with_newer_snapshots_and_counted(channel: Channel):
    for times in (1, 2):
        channel.publish(2)
        newest, seen = channel.published, []
        for view in channel.reader.unread(1):
            if not seen:
                channel.publish(2 * channel.layout.slots)
            seen.append((view.head.tick, view.is_valid()))
        assert seen == [(newest, False), (channel.published, True)]
        assert channel.reader.counters.retries == times
        assert channel.reader.counters.skipped == channel.published - times


def test_the_unread_of_two_full_segments_come_all_at_once(channel: Channel):
    slots = channel.layout.slots
    channel.publish(slots)
    channel.reader.follow(channel.grow(16))
    channel.publish(slots - 2)  # beside the two newest, which every larger segment starts with
    assert ticks_of(channel.reader) == list(range(1, 2 * slots - 1))


@pytest.mark.parametrize("pace", [1, 2, 3, 5, 14])
def test_a_reader_that_is_slower_than_the_writer_skips_what_would_be_torn(channel: Channel, pace: int) -> None:
    channel.publish(2 * channel.layout.slots)
    for _ in range(20):
        valid = []
        for view in channel.reader.unread(ALL_BYTES):
            channel.publish(pace)
            valid.append(view.is_valid())
        assert valid[-1], "a newest one is whole"
        assert valid.count(False) <= 5
        assert len(valid) <= 2 * channel.layout.slots


def test_a_pair_whose_older_one_the_writer_overtook_has_failed(channel: Channel):
    two = 2 * channel.layout.snapshot_bytes(3)
    for failed in (1, 2):
        channel.publish(2)
        valid: list[bool] = []
        for view in channel.reader.unread(two):
            if not valid:
                channel.publish(channel.layout.slots - 1)
            valid.append(view.is_valid())
        assert valid == [False, True]
        counters = channel.reader.counters
        assert (counters.pairs_read, counters.pairs_failed, counters.retries) == (0, failed, 0)


def test_a_pair_read_by_claims_is_counted(channel: Channel):
    for _ in range(5):
        channel.publish()
        ticks_of(channel.reader)
    assert channel.reader.counters.pairs_read == 4  # the first snapshot has no predecessor
    assert channel.reader.counters.pairs_failed == 0


def test_a_reader_that_is_always_overtaken_gives_up_and_counts(channel: Channel):
    for times in (1, 2):
        channel.publish(2)
        for view in channel.reader.unread(1):
            channel.publish(2 * channel.layout.slots)
            assert not view.is_valid()
        assert channel.reader.counters.pairs_failed == times
        assert channel.reader.counters.retries == times * (ATTEMPTS - 1)
    assert ticks_of(channel.reader, 1) == [channel.published]


def test_the_pair_is_a_private_copy(channel: Channel):
    channel.publish(2)
    older, newer = channel.reader.pair()
    channel.publish(3 * channel.layout.slots)
    assert (older.bodies["epoch"] == 1).all()
    assert (newer.bodies["epoch"] == 2).all()


def test_pairs_that_were_read_and_that_the_writer_overtook_are_counted(channel: Channel):
    overtakes = 0

    def fence() -> None:
        nonlocal overtakes
        if overtakes:
            overtakes -= 1
            channel.publish(2 * channel.layout.slots)

    reader = RingReader(map_again(channel.memory), fence)
    channel.publish()
    assert len(reader.pair()) == 1
    assert reader.counters == Counters()
    for read in (1, 2):
        channel.publish()
        assert len(reader.pair()) == 2
        assert reader.counters == Counters(pairs_read=read)
    for failed in (1, 2):
        overtakes = 1 << 30
        assert reader.pair() == ()
        assert reader.newest() is None
        assert reader.counters == Counters(pairs_read=2, pairs_failed=failed, retries=failed * (ATTEMPTS - 1))
        overtakes = 0
    overtakes = 1  # the first attempt fails, and no other
    assert [snapshot.tick for snapshot in reader.pair()] == [channel.published - 1, channel.published]
    assert reader.counters == Counters(pairs_read=3, pairs_failed=2, retries=2 * (ATTEMPTS - 1) + 1)


def test_the_pair_survives_a_writer_interrupted_half_way(channel: Channel):
    channel.publish(4)

    def interrupt() -> int:
        raise KeyboardInterrupt

    channel.writer._now_ns = interrupt
    with pytest.raises(KeyboardInterrupt):
        publish(channel.writer, Head(tick=77), bodies_of(77, 3))
    channel.writer._now_ns = channel.now_ns
    check_segment(channel.memory)
    assert [snapshot.tick for snapshot in channel.reader.pair()] == [3, 4]
    channel.publish()
    assert ticks_of(channel.reader) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("side", "other"), [("reader", "ring.writer"), ("writer", "ring.reader")])
def test_each_side_loads_its_own_half_alone(side: str, other: str):
    program = f"import sys; from twixt.ipc.ring import {side}; print('twixt.ipc.{other}' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(twixt.__file__))},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stdout == "False\n"


class TestPlan:
    def test_before_the_first_time_runs_at_its_own_rate(self, channel: Channel):
        assert channel.reader.plan() == Plan(0, 0, 0, 0, 1.0)

    def test_the_plan_written_is_the_plan_read(self, channel: Channel):
        for plan in (Plan(1, 0, 5, -6, 0.25), Plan(2, 1, -(1 << 62), 1 << 62, 0.0)):
            channel.writer.write_plan(plan)
            assert channel.reader.plan() == plan
            assert channel.reader.plan() == plan

    def test_a_growth_before_the_first_brings_none(self, channel: Channel):
        channel.reader.follow(channel.grow(16))
        assert channel.reader.plan() == Plan(0, 0, 0, 0, 1.0)

    def test_while_it_is_replaced_the_last_one_known_holds(self, channel: Channel):
        channel.writer.write_plan(Plan(1, 0, 5, 6, 0.25))
        assert channel.reader.plan().number == 1
        channel.writer._words[at.PLAN_SEQUENCE] = 3
        channel.writer._words[at.PLAN] = 9
        assert channel.reader.plan() == Plan(1, 0, 5, 6, 0.25)
        channel.writer.write_plan(Plan(2, 0, 7, 8, 0.5))
        assert channel.reader.plan() == Plan(2, 0, 7, 8, 0.5)

    def test_a_growth_never_hides_a_plan_behind_an_older_one(self, channel: Channel):
        for number in (1, 2):
            channel.writer.write_plan(Plan(number, 0, 0, 0, 1.0))
        assert channel.reader.plan().number == 2
        larger = channel.grow(16)
        channel.writer.write_plan(Plan(3, 0, 0, 0, 1.0))  # the second in its segment, as 2 was in the old one
        channel.reader.follow(larger)
        assert channel.reader.plan().number == 3

    def test_a_rate_that_no_writer_writes_is_refused(self, channel: Channel):
        for rate in (float("nan"), float("inf"), -1.0, 5e-324, 1e300):
            channel.writer.write_plan(Plan(1, 0, 0, 0, rate))
            with pytest.raises(TwixtError, match="rate must be 0, or from 1e-06 to 1e"):
                channel.reader.plan()
        channel.writer.write_plan(Plan(2, 0, 0, 0, 0.0))

    def test_it_survives_growth(self, channel: Channel):
        channel.writer.write_plan(Plan(1, 0, 5, 6, 0.25))
        channel.writer.write_scene_version(4)
        assert channel.reader.plan().number == 1
        channel.reader.follow(channel.grow(16))
        assert channel.reader.plan() == Plan(1, 0, 5, 6, 0.25)
        assert channel.reader.scene_version == 4
        assert RingReader(map_again(channel.memory)).plan() == Plan(1, 0, 5, 6, 0.25)
        channel.writer.write_plan(Plan(2, 0, 7, 8, 0.5))
        assert channel.reader.plan().number == 2


class TestGrowth:
    def test_nothing_is_lost_or_delivered_twice(self, channel: Channel):
        channel.publish(2)
        assert ticks_of(channel.reader) == [1, 2]
        channel.publish(5)
        assert not channel.reader.has_successor
        smaller, larger = channel.memory, channel.grow(20)
        check_segment(smaller)
        channel.publish(3, count=20)
        assert channel.reader.has_successor
        channel.reader.follow(larger)
        assert not channel.reader.has_successor
        assert ticks_of(channel.reader) == [3, 4, 5, 6, 7, 8, 9, 10]
        channel.publish(count=15)
        assert ticks_of(channel.reader) == [11]
        assert channel.reader.counters.skipped == 0

    def test_a_late_reader_finds_two_in_the_new_segment_at_once(self, channel: Channel):
        channel.publish(7)
        late = RingReader(channel.grow(20))
        assert numbers_held(channel.memory) == [6, 7]
        assert [snapshot.tick for snapshot in late.pair()] == [6, 7]
        assert ticks_of(late) == [6, 7]

    def test_a_segment_may_grow_before_anything_is_published(self, channel: Channel):
        channel.reader.follow(channel.grow(20))
        channel.publish(count=20)
        assert ticks_of(channel.reader) == [1]

    def test_growing_twice_before_the_reader_comes_loses_nothing(self, channel: Channel):
        channel.publish(3)
        first = channel.grow(16)
        channel.publish(3)
        second = channel.grow(32)
        channel.publish(3)
        channel.reader.follow(first)
        assert channel.reader.has_successor
        channel.reader.follow(second)
        assert ticks_of(channel.reader) == list(range(1, 10))

    def test_the_old_memory_is_let_go_when_read(self, channel: Channel):
        old = channel.reader._segments[0].memory
        channel.publish(3)
        channel.reader.follow(channel.grow(16))
        assert not old.closed
        assert ticks_of(channel.reader) == [1, 2, 3]
        assert old.closed
        old = channel.reader._segments[0].memory
        channel.reader.follow(channel.grow(32))
        assert channel.reader.has_unread
        assert ticks_of(channel.reader) == []
        assert old.closed

    def test_published_instants_are_kept(self, channel: Channel):
        channel.publish(2)
        before = [snapshot.published_ns for snapshot in channel.reader.pair()]
        channel.reader.follow(channel.grow(16))
        assert [snapshot.published_ns for snapshot in channel.reader.pair()] == before
        assert publish(channel.writer, Head(), bodies_of(3, 3)) == channel.clock_ns

    def test_marks_are_kept(self, channel: Channel):
        channel.publish()
        publish(channel.writer, Head(tick=2), bodies_of(2, 3), {}, marks_of(2, 4))
        channel.reader.follow(channel.grow(16))
        assert [snapshot.marks.tobytes() for snapshot in channel.reader.pair()] == [b"", marks_of(2, 4).tobytes()]

    def test_vertices_are_kept(self, channel: Channel):
        channel.publish()
        extras = packed(marks_of(2, 2), packed_vertices(2, 7), 7)
        publish(channel.writer, Head(tick=2, vertices=7), bodies_of(2, 3), {}, extras.records)
        channel.reader.follow(channel.grow(16))
        copies = channel.reader.pair()
        assert [(len(snapshot.marks), len(snapshot.vertices)) for snapshot in copies] == [(0, 0), (2, 7)]
        assert (copies[1].vertices == 2).all()

    def test_a_smaller_segment_is_refused(self, channel: Channel):
        layout = Layout.for_bodies(4)
        with pytest.raises(TwixtError, match="must hold at least 8 bodies, got 4"):
            RingWriter.grown(memory.create(layout.segment_bytes), layout, channel.writer)

    def test_a_column_that_comes_later_is_zero_in_the_snapshots_before_it(self):
        channel = Channel(4, {"heat": ("<f4", 1), "kind": ("<i2", 1)})
        heat, kind = np.array([1.0, 2.0], "f4"), np.array([7, 8], "i2")
        publish(channel.writer, Head(tick=1), bodies_of(5, 2), {"heat": heat, "kind": kind})
        layout = Layout.for_bodies(4, {"heat": ("<f4", 1), "kind": ("<f4", 1), "offset": ("<f4", 3)})
        writer = RingWriter.grown(memory.create(layout.segment_bytes), layout, channel.writer)
        (stored,) = writer.last_two()
        assert stored.columns["heat"].ravel().tolist() == [1, 2]
        assert stored.columns["kind"].ravel().tolist() == [0, 0]
        assert stored.columns["offset"].tolist() == [[0, 0, 0]] * 2
        writer.close()


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda w: publish(w, Head(), new_bodies(9)), "holds 8 bodies, got 9"),
        (lambda w: publish(w, Head(), np.zeros((2, 3))), r"BODY records, got float64 of shape \(2, 3\)"),
        (lambda w: publish(w, Head(), np.zeros(3)), r"BODY records, got float64 of shape \(3,\)"),
        (lambda w: publish(w, Head(), [1]), "BODY records, got list"),
        (lambda w: publish(w, Head(), new_bodies(4).reshape(2, 2)), "one-dimensional"),
        (lambda w: publish(w, Head(tick=1 << 63), new_bodies(1)), "64 bits"),
        (lambda w: publish(w, Head(tick=1.5), new_bodies(1)), "whole numbers"),
        (lambda w: publish(w, Head(), new_bodies(1), {"heat": np.zeros(1, "f4")}), r"exactly \[\], got \['heat'\]"),
        (lambda w: publish(w, Head(), new_bodies(5), {}, marks_of(1, 4)), "holds 8 bodies, got 5 and 4 marks"),
        (lambda w: publish(w, Head(vertices=6), new_bodies(1), {}, marks_of(1, 1)), "6 vertices take 2 records, got 1"),
        (
            lambda w: publish(w, Head(vertices=-6), new_bodies(1), {}, marks_of(1, 1)),
            "-6 vertices take -1 records, got",
        ),
        (lambda w: publish(w, Head(), new_bodies(1), {}, new_bodies(1)), "marks must be .* MARK records, got"),
        (lambda w: publish(w, Head(), new_bodies(1), {}, marks_of(1, 4).reshape(2, 2)), "marks must be a one-dim"),
    ],
)
def test_what_cannot_be_published_is_refused_and_no_reader_sees_any_of_it(
    channel: Channel, attempt: Callable[[RingWriter], None], says: str
):
    channel.publish(2)
    before = [snapshot.bodies.tobytes() for snapshot in channel.reader.pair()]
    with pytest.raises(RingError, match=says):
        attempt(channel.writer)
    assert [snapshot.bodies.tobytes() for snapshot in channel.reader.pair()] == before
    check_segment(channel.memory)
    channel.publish()
    assert ticks_of(channel.reader) == [1, 2, 3]


@pytest.mark.parametrize(
    ("heat", "says"),
    [
        (np.zeros(3, "f4"), r"'heat' must be 2 rows of 1 x <f4, got float32 of shape \(3,\)"),
        (np.zeros((2, 2), "f4"), r"'heat' must be 2 rows of 1 x <f4, got float32 of shape \(2, 2\)"),
        (np.zeros(2, "f8"), r"'heat' must be 2 rows of 1 x <f4, got float64 of shape \(2,\)"),
        ([0, 0], "'heat' must be 2 rows of 1 x <f4, got list"),
        (None, r"exactly \['heat'\], got \[\]"),
    ],
)
def test_a_column_of_another_shape_or_type_is_refused(heat: object, says: str):
    channel = Channel(4, {"heat": ("<f4", 1)})
    with pytest.raises(RingError, match=says):
        publish(channel.writer, Head(), new_bodies(2), {} if heat is None else {"heat": heat})
    assert channel.reader.latest == 0


def test_memory_too_small_for_its_layout_is_refused():
    layout = Layout.for_bodies(8)
    with pytest.raises(TwixtError, match="needs"):
        RingWriter(memory.create(layout.segment_bytes - 64), layout)


@given(
    st.lists(st.tuples(st.integers(0, 12_000), st.integers(0, 255)), min_size=1, max_size=30),
    st.integers(0, (1 << 64) - 1),
)
@settings(max_examples=150, deadline=None)
def test_damaged_memory_is_always_a_clean_error_or_bounded_content(damage: list[tuple[int, int]], latest: int):
    channel = Channel(2, {"heat": ("<f4", 1)})
    for number in range(1, 20):
        publish(channel.writer, Head(tick=number), bodies_of(number, 2), {"heat": np.zeros(2, "f4")})
    for offset, byte in damage:
        channel.memory.view[offset % channel.memory.size] = byte
    if latest % 3 == 0:
        channel.memory.view.cast("B")[at.LATEST * 8 : at.LATEST * 8 + 8] = latest.to_bytes(8, "little")
    with contextlib.suppress(TwixtError):
        reader = RingReader(map_again(channel.memory))
        for view in reader.unread(ALL_BYTES):
            view.is_valid()
            assert len(view.bodies) + len(view.marks) <= 2 * BODY.itemsize
        for snapshot in reader.pair():
            assert len(snapshot.bodies) + len(snapshot.marks) <= 2
    with contextlib.suppress(TwixtError):
        reader = RingReader(map_again(channel.memory))
        reader.plan()
        assert reader.has_successor in (True, False)
    channel.reader.close()
    channel.writer.close()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("count", 9),
        ("count", -1),
        ("count", 1 << 40),
        ("vertices", 6),
        ("vertices", -6),
        ("vertices", -1),
        ("vertices", (1 << 63) - 1),
        ("marks", 6),
        ("marks", -1),
        ("marks", (1 << 63) - 1),
        ("rate", float("nan")),
        ("rate", float("-inf")),
    ],
)
def test_a_head_that_no_writer_writes_is_refused(field: str, value: float):
    channel = Channel()
    channel.publish(2)
    word = channel.layout.head_offset(2) // 8 + at.HEAD_FIELDS.index(field)
    channel.memory.view.cast("d" if field == "rate" else "q")[word] = value
    with pytest.raises(TwixtError, match="snapshot 2 is damaged"):
        list(channel.reader.unread(ALL_BYTES))
    with pytest.raises(TwixtError, match="snapshot 2 is damaged"):
        channel.reader.pair()


def test_what_was_taken_from_the_writer_outlives_its_end():
    channel = Channel(4, {"heat": ("<f4", 1)})
    publish(channel.writer, Head(tick=1), bodies_of(5, 2), {"heat": np.ones(2, "f4")})
    (stored,) = channel.writer.last_two()
    channel.writer.close()
    assert stored.bodies["epoch"].tolist() == [5, 5]
    assert stored.columns["heat"].ravel().tolist() == [1, 1]
    with pytest.raises(TwixtError, match="closed"):
        publish(channel.writer, Head(), new_bodies(1), {"heat": np.ones(1, "f4")})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_forked_child_is_told_rather_than_crashed(channel: Channel):
    channel.publish(2)
    view = next(iter(channel.reader.unread(ALL_BYTES)))
    attempts: list[Callable[[], object]] = [
        channel.publish,
        channel.reader.pair,
        channel.reader.plan,
        view.is_valid,
        channel.writer.last_two,
        lambda: list(channel.reader.unread(1)),
        lambda: channel.reader.has_successor,
        lambda: channel.writer.write_plan(Plan(1, 0, 0, 0, 1.0)),
        lambda: channel.writer.write_scene_version(3),
    ]
    child = os.fork()
    if child == 0:
        told = 0
        for attempt in attempts:
            with contextlib.suppress(BaseException):
                try:
                    attempt()
                except TwixtError as error:
                    told += "forked" in str(error)
        os._exit(told)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status), f"the child crashed: status {status}"
    assert os.WEXITSTATUS(status) == len(attempts)
    channel.publish()  # the parent goes on


@pytest.mark.parametrize("room", [0, 2])
def test_marks_for_which_a_slot_was_not_opened_are_refused(room: int) -> None:
    channel = Channel()
    with (
        pytest.raises(RingError, match=f"this slot was opened for {room} marks, got 3"),
        channel.writer.begin(1, room) as slot,
    ):
        slot.write(new_bodies(1), np.zeros(3, MARK))
    assert channel.writer.last_two() == []
