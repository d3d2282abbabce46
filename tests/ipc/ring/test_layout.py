from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ipc.ring.segment_checks import blocks
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import layout as at
from twixt.ipc.ring.layout import COLUMN_DTYPES, Layout, LayoutError
from twixt.ipc.snapshot import BODY, HEAD

names = st.from_regex(r"[a-z_][a-z0-9_]{0,39}", fullmatch=True).filter(str.isidentifier)
kinds = st.tuples(st.sampled_from(COLUMN_DTYPES), st.integers(1, at.MAX_COLUMN_WIDTH))
kinds |= st.tuples(st.sampled_from(COLUMN_DTYPES), st.integers(1, at.MAX_COLUMN_WIDTH), st.sampled_from(at.PERS))
columns = st.dictionaries(names, kinds, max_size=6)
layouts = st.builds(Layout.for_bodies, st.integers(0, at.MAX_CAPACITY), columns)


@given(layouts)
def test_blocks_always_start_on_a_cache_line_and_never_overlap(layout: Layout):
    end = 0
    for offset, size in blocks(layout):
        assert offset >= end
        assert offset % at.CACHE_LINE == 0
        end = offset + size
    assert end <= layout.segment_bytes
    assert layout.segment_bytes == layout.slot_offset(layout.slots)


@given(layouts)
def test_a_slot_always_has_room_for_every_body_and_column(layout: Layout):
    capacity = layout.capacity
    of_columns = sum((1 if column.per == "world" else capacity) * column.bytes_per_row for column in layout.columns)
    needed = HEAD.itemsize + capacity * BODY.itemsize + of_columns
    assert layout.snapshot_bytes(capacity, parts=capacity) == needed
    assert layout.slot_bytes >= at.CACHE_LINE + needed


@given(layouts)
def test_slots_are_always_from_four_to_sixteen_and_within_the_memory_bound(layout: Layout):
    assert 4 <= layout.slots <= 16
    assert layout.slots == 4 or layout.slots * layout.slot_bytes <= at.RING_BYTES
    assert layout.slots == 16 or (layout.slots + 1) * layout.slot_bytes > at.RING_BYTES


@given(layouts, st.integers(1, 1 << 62))
def test_two_snapshots_less_than_a_ring_apart_never_share_a_slot(layout: Layout, number: int):
    held = {layout.slot_of(number + step) for step in range(layout.slots)}
    assert held == set(range(layout.slots))


@given(layouts)
def test_a_message_always_gives_the_same_layout_back(layout: Layout):
    assert Layout.from_dict(json.loads(json.dumps(layout.to_dict()))) == layout


@given(st.integers(0, 2000), columns)
def test_a_segments_own_header_always_gives_the_same_layout_back(capacity: int, named: dict[str, tuple[str, int]]):
    layout = Layout.for_bodies(capacity, named)
    segment = np.zeros(layout.segment_bytes, np.uint8)
    segment[: len(layout.header())] = np.frombuffer(layout.header(), np.uint8)
    assert Layout.from_segment(segment.data) == layout


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_damaged_header_is_refused_or_means_the_same(damage: list[tuple[int, int]]):
    layout = Layout.for_bodies(3, {"heat": ("<f4", 1)})
    segment = bytearray(layout.segment_bytes)
    segment[: len(layout.header())] = layout.header()
    for offset, byte in damage:
        segment[offset] = byte
    try:
        read = Layout.from_segment(bytes(segment))
    except TwixtError:
        return
    assert (read.capacity, read.slots) == (3, 16)
    assert (read.slot_bytes, read.segment_bytes) == (layout.slot_bytes, layout.segment_bytes)


@given(st.binary(max_size=5000))
def test_any_bytes_are_a_segment_or_a_clean_error(junk: bytes):
    with pytest.raises(TwixtError):
        Layout.from_segment(junk)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(Layout.for_bodies(3).to_dict())), json_values)
def test_a_message_with_any_wrong_value_is_refused(key: str, value: object):
    message = Layout.for_bodies(3).to_dict()
    if message[key] == value:
        return
    with pytest.raises(TwixtError):
        Layout.from_dict({**message, key: value})
    with pytest.raises(TwixtError):
        Layout.from_dict(value)


def test_a_header_that_claims_more_than_the_mapping_holds_is_refused():
    layout = Layout.for_bodies(100)
    with pytest.raises(LayoutError, match="gives a size of"):
        Layout.from_segment((layout.header() + bytes(layout.segment_bytes))[: layout.segment_bytes - 1])


def test_another_format_version_says_which_and_what_to_do():
    message = {**Layout.for_bodies(3).to_dict(), "format": at.FORMAT + 1}
    with pytest.raises(LayoutError, match=f"format {at.FORMAT}, .* format {at.FORMAT + 1}.*same version"):
        Layout.from_dict(message)


@pytest.mark.parametrize(
    ("capacity", "named", "says"),
    [
        (-1, {}, "from 0 to"),
        (at.MAX_CAPACITY + 1, {}, "from 0 to"),
        (1.5, {}, "from 0 to"),
        (1, {"heat": (">f4", 1)}, r"'heat' must have one of the dtypes \|b1, .*, <f8, got '>f4'"),
        (1, {"heat": ("O", 1)}, "dtypes"),
        (1, {"heat": ("i4,i4", 1)}, "dtypes"),
        (1, {"heat": ("no such", 1)}, "dtypes"),
        (1, {"heat": ("<f4", 1, "joint")}, r"^column 'heat' must have per=body, part, world, got \['joint'\]$"),
        (1, {"heat": ("<f4", 0)}, "^column 'heat' must have from 1 to 64 values per body, got 0$"),
        (1, {"heat": ("<f4", 10_000)}, "from 1 to"),
        (1, {"heat": ("<f4", 1.5)}, "from 1 to 64 values per body, got 1.5"),
        (1, {"heat": ("<f4", True)}, "from 1 to 64 values per body, got True"),
        (1, {"heat": ("<f4", "1")}, "from 1 to 64 values per body, got '1'"),
        (1, {7: ("<f4", 1)}, "identifier of at most 40 letters, got 7"),
        (1, {"not a name": ("<f4", 1)}, "identifier"),
        (1, {"h" * 41: ("<f4", 1)}, "identifier"),
        (1, {f"c{index}": ("<f4", 1) for index in range(33)}, "at most 32"),
    ],
)
def test_what_cannot_be_laid_out_is_refused_with_its_rule(capacity: int, named: dict[str, tuple[str, int]], says: str):
    with pytest.raises(LayoutError, match=says):
        Layout.for_bodies(capacity, named)


def test_a_dtype_may_be_written_as_numpy_writes_it():
    assert Layout.for_bodies(1, {"heat": ("f4", 1), "on": ("bool", 1)}).columns[0].dtype == "<f4"


def test_the_longest_name_the_widest_column_and_the_most_of_them_are_taken():
    (column,) = Layout.for_bodies(1, {"h" * 40: ("<f4", 64)}).columns
    assert (column.width, column.bytes_per_row) == (64, 256)
    assert len(Layout.for_bodies(1, {f"c{index}": ("<f4", 1) for index in range(32)}).columns) == 32


def test_the_sizes_of_the_design():
    assert Layout.for_bodies(10_000).slots == 16
    assert Layout.for_bodies(1 << 20).slots == 4  # 64 MiB slots
