"""The check itself: it passes what the ring makes, and finds each promise broken by hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from tests.ipc.ring.segment_checks import BrokenSegment, check_segment, numbers_held
from tests.publishing import publish
from twixt.ipc.plan import Plan
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import memory
from twixt.ipc.ring.layout import Layout
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.snapshot import Head, new_bodies

LAYOUT = Layout.for_bodies(3, {"on": ("|b1", 1)})
LATEST = 40


@pytest.fixture
def segment() -> Iterator[memory.Memory]:
    made = memory.create(LAYOUT.segment_bytes)
    writer = RingWriter(made, LAYOUT)
    writer.write_plan(Plan(1, 0, 5, 6, 0.5))
    for tick in range(1, LATEST + 1):
        publish(writer, Head(tick=tick), new_bodies(3), {"on": new_bodies(3)["flags"].astype(bool)})
    yield made
    made.close()


def test_a_segment_just_made_and_a_used_one_keep_every_promise(segment: memory.Memory):
    assert check_segment(segment) == LAYOUT
    assert check_segment(segment, writing=True) == LAYOUT
    assert check_segment(memory.map_read_only(segment.read_only_fd(), segment.size)) == LAYOUT
    assert numbers_held(segment) == list(range(LATEST - LAYOUT.slots + 1, LATEST + 1))
    fresh = memory.create(LAYOUT.segment_bytes)
    RingWriter(fresh, LAYOUT)
    check_segment(fresh)
    assert numbers_held(fresh) == []


def test_memory_that_somebody_else_mapped_can_be_checked_by_its_bytes(segment: memory.Memory):
    assert check_segment(segment.view) == LAYOUT
    assert numbers_held(segment.view) == numbers_held(segment)
    word(at.SUCCESSOR, 2)(segment.view)
    with pytest.raises(BrokenSegment, match="successor"):
        check_segment(segment.view)


def test_snapshots_published_at_one_instant_keep_every_promise():
    made = memory.create(LAYOUT.segment_bytes)
    writer = RingWriter(made, LAYOUT, now_ns=lambda: 7)
    for tick in range(3):
        publish(writer, Head(tick=tick), new_bodies(0), {"on": new_bodies(0)["flags"].astype(bool)})
    check_segment(made)


def word(index: int, value: int) -> Callable[[memoryview], None]:
    def damage(view: memoryview) -> None:
        view.cast("Q")[index] = value

    return damage


def byte(offset: int, value: int = 1) -> Callable[[memoryview], None]:
    def damage(view: memoryview) -> None:
        view[offset] = value

    return damage


NEWEST = LAYOUT.slot_of(LATEST)
NEXT = LAYOUT.slot_of(LATEST + 1)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (word(LAYOUT.sequence_word(NEWEST), 2 * (LATEST + 1)), "belongs into slot"),
        (word(LAYOUT.sequence_word(NEXT), 2 * (LATEST + 1)), "but the latest is said to be"),
        (word(LAYOUT.sequence_word(NEXT), 2 * (LATEST + 1 + LAYOUT.slots) - 1), "beyond the next one"),
        (word(LAYOUT.sequence_word(NEWEST), 2 * LATEST - 1), "is being written"),
        (word(LAYOUT.sequence_word(LAYOUT.slot_of(LATEST - 3)), 0), "must be consecutive"),
        (word(at.LATEST, LATEST - 1), "but the latest is said to be"),
        (word(at.LATEST, LATEST + 5), "must be consecutive"),
        (word(at.SUCCESSOR, 2), "successor"),
        (word(at.PLAN_SEQUENCE, 3), "plan is half written"),
        (word(at.PLAN + 4, 0x7FF8_0000_0000_0000), "rate must be 0, or from"),
        (word(LAYOUT.head_offset(NEWEST) // 8 + at.HEAD_FIELDS.index("count"), 4), "claims 4 bodies, 3 fit"),
        (
            word(LAYOUT.head_offset(NEWEST) // 8 + at.HEAD_FIELDS.index("marks"), 1),
            "claims 1 marks after 3 bodies, 3 fit",
        ),
        (
            word(LAYOUT.head_offset(NEWEST) // 8 + at.HEAD_FIELDS.index("rate"), 0x7FF0_0000_0000_0000),
            "rate of snapshot",
        ),
        (word(LAYOUT.head_offset(NEWEST) // 8 + at.PUBLISHED_IN_HEAD, 1), "published before its predecessor"),
        (byte(at.SLOTS_OFFSET - 1), "wrote past its block"),
        (byte(8 * (at.PLAN + 5)), "wrote past its block"),
        (byte(LAYOUT.slot_offset(2) + 8), "wrote past its block"),
        (byte(LAYOUT.slot_offset(3) - 1), "wrote past its block"),
        (byte(LAYOUT.bodies_offset(2) - 1), "wrote past its block"),
        (byte(LAYOUT.slot_offset(2) + LAYOUT.columns[0].offset + 3), "wrote past its block"),
    ],
)
def test_each_promise_broken_is_found(segment: memory.Memory, damage: Callable[[memoryview], None], says: str):
    damage(segment.view)
    with pytest.raises(BrokenSegment, match=says):
        check_segment(segment)


LARGEST_WORD = 2**64 - 1


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            word(LAYOUT.sequence_word(NEXT), 2 * (LATEST + 1 + LAYOUT.slots) - 1),
            f"slot {NEXT} holds snapshot {LATEST + 1 + LAYOUT.slots}, beyond the next one, {LATEST + 1}",
        ),
        (
            word(LAYOUT.sequence_word(LAYOUT.slot_of(LATEST + 2)), 2 * (LATEST + 2) - 1),
            f"slot {LAYOUT.slot_of(LATEST + 2)} holds snapshot {LATEST + 2}, beyond the next one, {LATEST + 1}; "
            f"the complete snapshots must be consecutive and end at the latest, {LATEST}; the slots hold "
            f"{[LATEST + 1 - LAYOUT.slots, *range(LATEST + 3 - LAYOUT.slots, LATEST + 1)]}",
        ),
        (
            word(LAYOUT.sequence_word(NEWEST), 2 * LATEST - 1),
            f"slot {NEWEST} is being written as snapshot {LATEST}, but {LATEST + 1} is the next one; "
            f"the complete snapshots must be consecutive and end at the latest, {LATEST}; the slots hold "
            f"{[*range(LATEST + 1 - LAYOUT.slots, LATEST)]}",
        ),
        (word(at.SUCCESSOR, LARGEST_WORD), f"the successor word must be 0 or 1, got {LARGEST_WORD}"),
        (word(at.PLAN_SEQUENCE, 3), "the plan is half written"),
        (
            word(at.PLAN + 4, 0x7FF8_0000_0000_0000),
            "the plan's rate must be 0, or from 1e-06 to 1e+06, got nan",
        ),
    ],
)
def test_what_is_broken_is_said_whole(segment: memory.Memory, damage: Callable[[memoryview], None], says: str):
    damage(segment.view)
    with pytest.raises(BrokenSegment) as told:
        check_segment(segment)
    assert str(told.value) == f"the segment breaks its promises: {says}"


def test_one_complete_snapshot_is_too_few_where_two_were_published(segment: memory.Memory):
    for slot in range(LAYOUT.slots):
        if slot != NEWEST:
            word(LAYOUT.sequence_word(slot), 0)(segment.view)
    with pytest.raises(BrokenSegment, match=r": the two newest snapshots up to 40 must be complete; .* hold \[40\]$"):
        check_segment(segment)


def test_a_number_is_what_all_bits_of_its_word_say(segment: memory.Memory):
    word(LAYOUT.sequence_word(0), LARGEST_WORD - 1)(segment.view)
    assert numbers_held(segment)[-1] == LARGEST_WORD // 2


def test_all_that_is_broken_is_said_at_once(segment: memory.Memory):
    word(at.SUCCESSOR, 2)(segment.view)
    word(at.PLAN_SEQUENCE, 3)(segment.view)
    with pytest.raises(BrokenSegment, match=r"successor word must be 0 or 1, got 2; the plan"):
        check_segment(segment)


def test_a_publish_in_progress_is_no_fault_while_writing(segment: memory.Memory):
    word(LAYOUT.sequence_word(NEXT), 2 * (LATEST + 1) - 1)(segment.view)
    check_segment(segment)
    word(at.PLAN_SEQUENCE, 3)(segment.view)
    check_segment(segment, writing=True)


def test_a_snapshot_complete_but_not_yet_the_latest_is_no_fault_while_writing(segment: memory.Memory):
    word(LAYOUT.sequence_word(NEXT), 2 * (LATEST + 1))(segment.view)
    assert check_segment(segment, writing=True) == LAYOUT


def test_memory_that_every_child_would_inherit_is_found(segment: memory.Memory):
    os.set_inheritable(segment.read_only_fd(), True)
    with pytest.raises(BrokenSegment, match=": the descriptor to hand out is inherited by every child$"):
        check_segment(segment)


def test_memory_without_its_seals_is_found(segment: memory.Memory, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.ipc.ring.segment_checks.is_sealed", lambda descriptor: False)
    with pytest.raises(BrokenSegment, match=": the memory is not sealed$"):
        check_segment(segment)
