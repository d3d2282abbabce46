"""One side stopped between any two of its loads and stores, the other side run there.

Each store is seen at once here; the fences are for machines on which that is not so: `model` has those.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.ring import sequence

SLOTS = 4
PAYLOAD = 3
LATEST = 0
WORDS = 1 + SLOTS * (1 + PAYLOAD)
# A thread that has not come through a fence in this time never will.
PATIENCE_S = 30


class Interrupted(Exception):
    pass


class Ring:
    """A ring of small slots over plain words. `before` is called ahead of every load and store."""

    def __init__(self) -> None:
        self.values = [0] * WORDS
        self.trace: list[str] = []
        self.before: Callable[[], None] = lambda: None

    def __getitem__(self, index: int) -> int:
        self.before()
        self.trace.append(f"load {index}")
        return self.values[index]

    def __setitem__(self, index: int, value: int) -> None:
        self.before()
        self.trace.append(f"store {index}")
        self.values[index] = value

    def fence(self) -> None:
        self.before()
        self.trace.append("fence")

    def word(self, number: int) -> int:
        return 1 + (number % SLOTS) * (1 + PAYLOAD)

    def publish(self) -> None:
        number = sequence.next_number(self, LATEST)
        start = self.word(number)
        sequence.begin_write(self, self.fence, start, number)
        for index in range(PAYLOAD):
            self[start + 1 + index] = number
        sequence.end_write(self, self.fence, LATEST, start, number)

    def read(self, number: int) -> list[int] | None:
        start = self.word(number)
        payload = range(start + 1, start + 1 + PAYLOAD)
        return sequence.read_slot(self, self.fence, start, number, lambda: [self[index] for index in payload])


def run_at(ring: Ring, operation: int, action: Callable[[], None]) -> None:
    """Before the ring's operation of that index, once, do `action` (whose own operations do not count)."""
    passed = 0

    def before() -> None:
        nonlocal passed
        if passed == operation:
            passed += 1
            ring.before = lambda: None
            action()
            ring.before = before
        else:
            passed += 1

    ring.before = before


def ring_of(published: int) -> Ring:
    ring = Ring()
    for _ in range(published):
        ring.publish()
    return ring


def operations_of(ring: Ring, action: Callable[[], object]) -> int:
    before = len(ring.trace)
    action()
    return len(ring.trace) - before


_probe = ring_of(9)
READ_OPERATIONS = operations_of(_probe, lambda: _probe.read(9))
PUBLISH_OPERATIONS = operations_of(_probe, _probe.publish)


def is_whole(read: list[int] | None, number: int) -> bool:
    return read is None or read == [number] * PAYLOAD


def test_a_writer_stopped_anywhere_leaves_the_two_newest_whole() -> None:
    for stopped_at in range(PUBLISH_OPERATIONS + 1):
        ring = ring_of(9)
        seen: list[bool] = []

        def look(ring: Ring = ring, seen: list[bool] = seen) -> None:
            newest = sequence.read_latest(ring, ring.fence, LATEST)
            seen.append(ring.read(newest) == [newest] * PAYLOAD and ring.read(newest - 1) == [newest - 1] * PAYLOAD)
            seen.extend(is_whole(ring.read(number), number) for number in range(1, newest + 3))

        run_at(ring, stopped_at, look)
        ring.publish()
        if stopped_at == PUBLISH_OPERATIONS:
            look()
        assert seen, f"stopped at {stopped_at}"
        assert all(seen), f"stopped at {stopped_at}"


def test_a_reader_stopped_anywhere_gets_a_snapshot_whole_or_not_at_all() -> None:
    for stopped_at, publishes in product(range(READ_OPERATIONS), range(1, 2 * SLOTS + 1)):
        for number in range(1, 9 + publishes + 1):
            ring = ring_of(9)
            run_at(ring, stopped_at, lambda ring=ring, times=publishes: [ring.publish() for _ in range(times)])  # type: ignore[misc]
            assert is_whole(ring.read(number), number), f"stopped at {stopped_at} for {publishes} publishes"


def test_a_reader_stopped_while_the_writer_gets_half_way_round_takes_no_mixture() -> None:
    for stopped_at, killed_at in product(range(READ_OPERATIONS), range(PUBLISH_OPERATIONS)):
        for number in range(9 - SLOTS, 11):
            ring = ring_of(9)
            run_at(ring, stopped_at, lambda ring=ring, at=killed_at: publish_interrupted(ring, at))  # type: ignore[misc]
            assert is_whole(ring.read(number), number), f"stopped at {stopped_at}, killed at {killed_at}"


def publish_interrupted(ring: Ring, killed_at: int) -> None:
    run_at(ring, killed_at, interrupt)
    with pytest.raises(Interrupted):
        ring.publish()
    ring.before = lambda: None


def interrupt() -> None:
    raise Interrupted


def test_an_interrupted_publish_is_made_good_by_the_next() -> None:
    for killed_at in range(PUBLISH_OPERATIONS):
        ring = ring_of(9)
        publish_interrupted(ring, killed_at)
        for _ in range(2):
            ring.publish()
            newest = ring.values[LATEST]
            read = [ring.read(newest - 1), ring.read(newest)]
            assert read == [[newest - 1] * PAYLOAD, [newest] * PAYLOAD], f"killed at {killed_at}"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (2 * 9 - 1, "it is being written"),
        (2 * 5, "the slot holds an older one"),
        (2 * 13, "the slot holds a newer one, just as even"),
        (2 * 13 - 1, "a newer one is being written"),
        (0, "nothing was ever written"),
    ],
)
def test_only_the_exact_sequence_number_counts(state: int, why: str):
    ring = ring_of(9)
    assert ring.read(9) is not None
    ring.values[ring.word(9)] = state
    assert ring.read(9) is None, why


def test_the_order_of_a_publish_is_as_argued():
    ring = ring_of(4)
    ring.trace.clear()
    ring.publish()
    start = ring.word(5)
    payload = [f"store {start + 1 + index}" for index in range(PAYLOAD)]
    assert ring.trace == [
        f"load {LATEST}",
        f"store {start}",
        "fence",
        *payload,
        f"store {start}",
        "fence",
        f"store {LATEST}",
    ]


def test_the_order_of_a_read_is_as_argued():
    ring = ring_of(5)
    ring.trace.clear()
    sequence.read_latest(ring, ring.fence, LATEST)
    ring.read(5)
    start = ring.word(5)
    assert ring.trace == [
        f"load {LATEST}",
        "fence",
        f"load {start}",
        *(f"load {start + 1 + i}" for i in range(PAYLOAD)),
        "fence",
        f"load {start}",
    ]


@given(st.integers(0, 8), st.integers(1, 3))
def test_a_record_is_always_read_whole_or_not_at_all(stopped_at: int, replaced: int):
    ring = Ring()
    sequence.write_record(ring, ring.fence, 2, (1, 1, 1))

    def replace() -> None:
        for value in range(2, 2 + replaced):
            sequence.write_record(ring, ring.fence, 2, (value,) * 3)

    run_at(ring, stopped_at, replace)
    read = sequence.read_record(ring, ring.fence, 2, 3)
    assert read is None or len(set(read[1])) == 1


def test_a_record_half_written_is_not_read_and_the_next_write_makes_it_good():
    ring = Ring()
    sequence.write_record(ring, ring.fence, 2, (1, 1, 1))
    run_at(ring, 4, interrupt)
    with pytest.raises(Interrupted):
        sequence.write_record(ring, ring.fence, 2, (2, 2, 2))
    ring.before = lambda: None
    assert sequence.read_record(ring, ring.fence, 2, 3) is None
    sequence.write_record(ring, ring.fence, 2, (3, 3, 3))
    assert sequence.read_record(ring, ring.fence, 2, 3) == (4, (3, 3, 3))


def test_a_fence_never_blocks_its_own_thread():
    fence = sequence.make_fence()
    assert comes_through(lambda: [fence() for _ in range(1000)])


def test_a_fence_releases_before_it_acquires(monkeypatch: pytest.MonkeyPatch):
    calls: list[str] = []

    class Lock:
        def acquire(self) -> None:
            calls.append("acquire")

        def release(self) -> None:
            calls.append("release")

    monkeypatch.setattr(threading, "Lock", Lock)
    fence = sequence.make_fence()
    assert calls == ["acquire"]
    fence()
    assert calls == ["acquire", "release", "acquire"]


def test_a_fence_interrupted_in_its_middle_is_a_fence_again(monkeypatch: pytest.MonkeyPatch):
    made: list[threading.Lock] = []
    real = threading.Lock
    monkeypatch.setattr(threading, "Lock", lambda: made.append(real()) or made[-1])
    fence = sequence.make_fence()
    made[0].release()  # as Ctrl-C between release and acquire leaves it
    for _ in range(2):
        assert comes_through(fence)
        assert made[0].locked()


def test_each_fence_has_a_lock_of_its_own():
    fences = [sequence.make_fence(), sequence.make_fence()]
    threads = [
        threading.Thread(target=lambda fence=fence: [fence() for _ in range(2000)], daemon=True) for fence in fences
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)


def comes_through(action: Callable[[], object]) -> bool:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()
