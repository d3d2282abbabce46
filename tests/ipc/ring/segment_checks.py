"""Every invariant of a segment, checked in one place, by all tests of the channel.

The one idea: what `layout`, `sequence` and `ring` promise in words stands here as statements about bytes.
With `writing=True` only what holds at any instant of a running writer is checked.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator

import numpy as np

from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import FASTEST, SLOWEST, Plan
from twixt.ipc.ring import layout as at
from twixt.ipc.ring.layout import HEAD_PACKING, Layout
from twixt.ipc.ring.memory import Memory
from twixt.ipc.snapshot import BODY, HEAD, Head
from twixt.ipc.system.linux_memory import is_sealed


class BrokenSegment(TwixtError):
    """A segment that breaks a promise; the message lists every one broken."""


def check_segment(memory: Memory | memoryview, writing: bool = False) -> Layout:
    """The segment's layout when every invariant holds, else BrokenSegment (or LayoutError for its header)."""
    view = memory.view if isinstance(memory, Memory) else memory
    layout = Layout.from_segment(view)
    words = view[: layout.segment_bytes].cast("Q")
    broken = [*_check_seals(memory)] if isinstance(memory, Memory) else []
    broken += [*_check_slots(layout, words, writing)]
    if not writing:
        broken += [*_check_plan(words), *_check_heads(layout, view, words), *_check_padding(layout, view)]
    if broken:
        raise BrokenSegment("the segment breaks its promises: " + "; ".join(broken))
    return layout


def numbers_held(memory: Memory | memoryview) -> list[int]:
    """The numbers of the complete snapshots in a segment, ascending."""
    view = memory.view if isinstance(memory, Memory) else memory
    layout = Layout.from_segment(view)
    words = view[: layout.segment_bytes].cast("Q")
    return _numbers_held(layout, words)


def _numbers_held(layout: Layout, words: memoryview) -> list[int]:
    states = [words[layout.sequence_word(slot)] for slot in range(layout.slots)]
    return sorted(state // 2 for state in states if state and state % 2 == 0)


def _check_slots(layout: Layout, words: memoryview, writing: bool) -> Iterator[str]:
    latest = words[at.LATEST]
    for slot in range(layout.slots):
        state = words[layout.sequence_word(slot)]
        number = (state + 1) // 2
        if state and layout.slot_of(number) != slot:
            yield f"slot {slot} says it holds snapshot {number}, which belongs into slot {layout.slot_of(number)}"
        elif not writing and number > latest + 1:
            yield f"slot {slot} holds snapshot {number}, beyond the next one, {latest + 1}"
        elif not writing and number > latest and state % 2 == 0:
            yield f"slot {slot} holds all of snapshot {number}, but the latest is said to be {latest}"
        elif not writing and state % 2 and number != latest + 1:
            yield f"slot {slot} is being written as snapshot {number}, but {latest + 1} is the next one"
    if words[at.SUCCESSOR] not in (0, 1):
        yield f"the successor word must be 0 or 1, got {words[at.SUCCESSOR]}"
    held = _numbers_held(layout, words)
    if not writing and held and held != [latest - back for back in range(len(held) - 1, -1, -1)]:
        yield f"the complete snapshots must be consecutive and end at the latest, {latest}; the slots hold {held}"
    if not writing and min(latest, 2) > len(held):
        yield f"the two newest snapshots up to {latest} must be complete; the slots hold {held}"


def _check_heads(layout: Layout, view: memoryview, words: memoryview) -> Iterator[str]:
    published_before_ns = None
    for number in _numbers_held(layout, words):
        head = Head(*HEAD_PACKING.unpack_from(view, layout.head_offset(layout.slot_of(number))))
        if not 0 <= head.count <= layout.capacity:
            yield f"snapshot {number} claims {head.count} bodies, {layout.capacity} fit"
        elif not 0 <= head.marks <= layout.capacity - head.count:
            yield f"snapshot {number} claims {head.marks} marks after {head.count} bodies, {layout.capacity} fit"
        if not math.isfinite(head.rate):
            yield f"the rate of snapshot {number} must be finite, got {head.rate}"
        if published_before_ns is not None and head.published_ns < published_before_ns:
            yield f"snapshot {number} was published before its predecessor"
        published_before_ns = head.published_ns


def _check_seals(memory: Memory) -> Iterator[str]:
    if sys.platform != "linux" or not is_owned(memory):
        return
    descriptor = memory.read_only_fd()
    if not is_sealed(descriptor):
        yield "the memory is not sealed"
    if os.get_inheritable(descriptor):
        yield "the descriptor to hand out is inherited by every child"


def _check_plan(words: memoryview) -> Iterator[str]:
    if words[at.PLAN_SEQUENCE] % 2:
        yield "the plan is half written"
    rate = float(np.array(words[at.PLAN + 4], np.uint64).view(np.float64))
    if not Plan(0, 0, 0, 0, rate).is_sound:
        yield f"the plan's rate must be 0, or from {SLOWEST:g} to {FASTEST:g}, got {rate}"


def is_owned(memory: Memory) -> bool:
    """True where `memory.create` made it: it has a descriptor to hand out."""
    return bool(memory._descriptors)


def blocks(layout: Layout) -> Iterator[tuple[int, int]]:
    """(offset, bytes) of all that may ever be non-zero, in order; everything between is padding."""
    yield 0, len(layout.header())
    for word in (at.LATEST, at.SUCCESSOR, at.SCENE_VERSION):
        yield word * at.WORD, at.WORD
    yield at.PLAN_SEQUENCE * at.WORD, 6 * at.WORD
    for slot in range(layout.slots):
        yield layout.slot_offset(slot), at.WORD
        yield layout.head_offset(slot), HEAD.itemsize - HEAD["reserved"].itemsize
        yield layout.bodies_offset(slot), layout.capacity * BODY.itemsize
        for column in layout.columns:
            yield (
                layout.slot_offset(slot) + column.offset,
                column.rows(layout.capacity, layout.capacity) * column.bytes_per_row,
            )


def _check_padding(layout: Layout, view: memoryview) -> Iterator[str]:
    end = 0
    for offset, size in [*blocks(layout), (layout.segment_bytes, 0)]:
        if offset < end:
            yield f"the block at {offset} overlaps the one before, which ends at {end}"
        elif np.any(np.frombuffer(view, np.uint8, offset - end, end)):
            yield f"the padding from {end} to {offset} must be zero: something wrote past its block"
        end = offset + size
