"""Columns with a row for each part of the bodies, or one for the world, from the writer to a reader."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ipc.ring.segment_checks import check_segment
from tests.ipc.ring.test_ring import Channel, bodies_of
from tests.publishing import publish
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import memory
from twixt.ipc.ring.layout import Layout
from twixt.ipc.ring.slot import RingError
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.snapshot import HEAD, Head

FORMS = {"heat": ("<f4", 1), "color": ("|u1", 4, "part"), "visible": ("|b1", 1, "part"), "wind": ("<f4", 3, "world")}


def columns_of(bodies: int, parts: int, value: int = 1) -> dict[str, np.ndarray]:
    return {
        "heat": np.full(bodies, value, "f4"),
        "color": np.full((parts, 4), value, "u1"),
        "visible": np.ones(parts, bool),
        "wind": np.full((1, 3), value, "f4"),
    }


def test_a_snapshot_carries_a_row_for_each_part_and_one_of_the_world() -> None:
    channel = Channel(8, FORMS)
    given = columns_of(2, 5, 7)
    publish(channel.writer, Head(tick=1), bodies_of(1, 2), given)
    (view,) = channel.reader.unread(1 << 20)
    assert view.head.parts == 5
    assert bytes(view.part_columns["color"]) == given["color"].tobytes()
    assert bytes(view.world_columns["wind"]) == given["wind"].tobytes()
    assert view.bytes == HEAD.itemsize + 2 * (64 + 4) + 5 * (4 + 1) + 12
    snapshot = view.copy()
    assert snapshot is not None
    assert set(snapshot.columns) == {"heat"}
    np.testing.assert_array_equal(snapshot.part_columns["color"], given["color"])
    assert snapshot.part_columns["visible"].shape == (5,)
    assert snapshot.world_columns["wind"].tolist() == [[7, 7, 7]]
    check_segment(channel.memory, channel.layout)


def test_the_number_of_parts_may_be_another_in_each_snapshot() -> None:
    channel = Channel(8, FORMS)
    for parts in (5, 8, 0):
        publish(channel.writer, Head(), bodies_of(1, 2), columns_of(2, parts))
    views = list(channel.reader.unread(1 << 20))
    assert [view.head.parts for view in views] == [5, 8, 0]
    assert [len(view.part_columns["visible"]) for view in views] == [5, 8, 0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"visible": np.ones(4, bool)}, r"'visible' must be 5 rows of 1 x \|b1, got bool of shape \(4,\)"),
        ({"wind": np.zeros((2, 3), "f4")}, r"'wind' must be 1 rows of 3 x <f4, got float32 of shape \(2, 3\)"),
        ({"color": [1]}, "'color' must be"),
        ({"color": np.zeros((9, 4), "u1"), "visible": np.ones(9, bool)}, "holds 8 bodies, got 9"),
    ],
)
def test_wrong_rows_are_refused_before_anything_is_written(changed: dict[str, np.ndarray], said: str) -> None:
    channel = Channel(8, FORMS)
    with pytest.raises(RingError, match=said):
        publish(channel.writer, Head(), bodies_of(1, 2), columns_of(2, 5) | changed)
    assert channel.writer.latest == 0


def test_a_larger_segment_keeps_the_rows_of_the_parts() -> None:
    channel = Channel(8, FORMS)
    publish(channel.writer, Head(), bodies_of(1, 2), columns_of(2, 5, 9))
    layout = Layout.for_bodies(16, FORMS)
    writer = RingWriter.grown(memory.create(layout.segment_bytes), layout, channel.writer)
    (stored,) = writer.last_two()
    assert (stored.head.parts, stored.columns["color"].tolist()) == (5, [[9] * 4] * 5)
    assert stored.columns["wind"].tolist() == [[9] * 3]
    writer.close()


def test_a_part_column_that_comes_later_has_no_rows_in_the_snapshots_before_it() -> None:
    channel = Channel(8, {"color": FORMS["color"]})
    publish(channel.writer, Head(), bodies_of(1, 2), {"color": np.full((5, 4), 9, "u1")})
    layout = Layout.for_bodies(8, FORMS)
    writer = RingWriter.grown(memory.create(layout.segment_bytes), layout, channel.writer)
    (stored,) = writer.last_two()
    assert (stored.head.parts, len(stored.columns["color"]), len(stored.columns["visible"])) == (0, 0, 0)
    assert stored.columns["wind"].tolist() == [[0, 0, 0]]
    writer.close()


def test_a_damaged_number_of_parts_is_refused() -> None:
    channel = Channel(8, FORMS)
    publish(channel.writer, Head(), bodies_of(1, 2), columns_of(2, 5))
    place = channel.layout.head_offset(1) + at.HEAD_FIELDS.index("parts") * 8
    channel.memory.view[place : place + 8] = (9).to_bytes(8, "little")
    with pytest.raises(TwixtError, match="9 parts in a slot for 8"):
        list(channel.reader.unread(1 << 20))
