"""Marks that a user's own loop publishes beside its bodies, as a reader receives them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.newest import newest
from tests.sim.watched import Watched
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.mark_texts import text_of_label
from twixt.ipc.session import attach
from twixt.ipc.snapshot import Snapshot
from twixt.sim.world.marks import Marks


@pytest.fixture
def watched() -> Iterator[Watched]:
    both = Watched()
    yield both
    both.link.close()
    both.view.close()


def some(*keys: int) -> Marks:
    marks = Marks()
    marks.add("sphere", np.zeros((len(keys), 3)), size=0.1, ids=keys)
    return marks


def keys(snapshot: Snapshot) -> list[int]:
    return snapshot.marks["key"].tolist()


def places(*x: float) -> np.ndarray:
    return np.array([[value, 0.0, 0.0] for value in x])


def test_marks_are_those_of_their_own_publish(watched: Watched) -> None:
    assert keys(watched.publish(position=places(1, 2, 3), marks=some(5, 3))) == [5, 3]
    seen = watched.publish(marks=some(*range(40)))
    assert keys(seen) == [*range(40)]
    assert seen.bodies["position"][:, 0].tolist() == [1, 2, 3]
    assert keys(watched.publish(position=places(4, 5, 6))) == []
    with pytest.raises(TwixtError, match=r"publish\(marks\) must be a Marks, got list; make one with"):
        watched.view.publish(marks=[1])  # type: ignore[arg-type]


def test_bodies_are_what_they_would_be_without_marks_however_many_come_and_go() -> None:
    """Slots are used again by bodies where marks were before; fields passed again are written into slots alone."""
    alone, beside = Watched(), Watched()
    random = np.random.default_rng(3)
    for count in (3, 3, 3, 5, 5, 2, 2, 6, 6, 6) * 4:
        position = random.random((count, 3))
        marks = some(*range(random.integers(0, 30)))
        one = alone.publish(position=position)
        other = beside.publish(position=position, marks=marks)
        assert one.bodies.tobytes() == other.bodies.tobytes()
        assert other.marks.tobytes() == marks.records.tobytes()
    for watched in (alone, beside):
        watched.link.close()
        watched.view.close()


def test_bodies_written_in_place_have_new_records_where_marks_were(watched: Watched) -> None:
    marks = some(*range(4))
    for _ in range(3):  # every slot has had marks behind its bodies
        for _ in range(16):
            with watched.view.slot(2, marks=marks) as records:
                records["position"][:, 0] = 1
        assert keys(watched.newest()) == [0, 1, 2, 3]
    with watched.view.slot(6) as records:
        assert (records["scale"] == 1).all()
        assert (records["position"][2:] == 0).all()
    seen = watched.newest()
    assert (len(seen.bodies), len(seen.marks)) == (6, 0)


def test_a_mark_that_cannot_be_drawn_is_reported_once(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    marks = some(1)
    marks.add("sphere", (0, np.nan, 0), size=1)
    for _ in range(3):
        watched.publish(position=places(1), marks=marks)
    said = capsys.readouterr().err
    assert said.count("a mark of kind 'sphere' has the position") == 1
    assert "after step 0; it is not drawn; look in the loop for a division by zero" in said


def texts(snapshot: Snapshot) -> list[str]:
    return [text_of_label(int(label), snapshot.texts) for label in snapshot.marks["label"]]


def test_a_late_reader_has_the_texts_of_the_newest_state(watched: Watched) -> None:
    marks = Marks()
    for score in range(100):
        marks.clear()
        marks.add("text", (0, 0, 0), text=f"score {score}")
        marks.add("sphere", np.zeros((3, 3)), size=1, label=["left", "", f"right {score}"])
        watched.view.publish(position=places(1, 2), marks=marks)
    late = attach(watched.view.name)
    seen = newest(late)
    late.close()
    assert texts(seen) == texts(watched.newest()) == ["score 99", "left", "", "right 99"]
    assert len(seen.marks) == 4


def test_ten_thousand_texts_in_a_row_take_no_more_memory_and_each_is_right(watched: Watched) -> None:
    marks, sizes = Marks(), set()
    for number in range(10_000):
        marks.clear()
        marks.add("text", (0, 0, 0), text=f"time {number:05}")
        watched.view.publish(position=places(1), marks=marks)
        if number % 100 == 0:
            assert texts(watched.newest()) == [f"time {number:05}"]
            sizes.add(watched.link._reader.layout.segment_bytes)
    assert len(sizes) == 1


def test_texts_travel_with_surfaces_and_in_slots(watched: Watched) -> None:
    marks = Marks()
    marks.add("sphere", np.zeros((40, 3)), size=1, label=[f"mark {number}" for number in range(40)])
    with watched.view.slot(3, marks=marks) as records:
        records["position"][:, 0] = 1
    assert texts(watched.newest()) == [f"mark {number}" for number in range(40)]


def test_a_mark_on_a_body_that_does_not_exist_is_reported_once(
    watched: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = Marks()
    marks.add("axes", np.zeros((2, 3)), size=1, body=[0, 1])
    watched.publish(position=places(1, 2), marks=marks)
    assert "attached" not in capsys.readouterr().err
    marks.add("axes", (0, 0, 0), size=1, body=2)
    for _ in range(3):
        watched.publish(position=places(1, 2), marks=marks)
    assert capsys.readouterr().err.count("a mark of kind 'axes' is attached to body 2, but there are 2 bodies") == 1


def test_a_mark_is_attached_to_the_body_of_its_row_whatever_the_order_of_ids(watched: Watched) -> None:
    marks = Marks()
    marks.add("sphere", (0, 0, 0), size=0.1, body=0)
    first = watched.publish(position=places(-2, 2), ids=[7, 3], marks=marks)
    for order, of_first in (([3, 7], 2.0), ([7, 3], -2.0), ([3], 2.0)):
        x = {7: -2.0, 3: 2.0}
        seen = watched.publish(position=places(*(x[one] for one in order)), ids=order, marks=marks)
        assert seen.bodies["position"][seen.marks["body"][0] - 1, 0] == of_first
    assert first.marks["body"].tolist() == [1]


def test_a_mark_on_a_missing_body_is_said_and_later_faults_too(
    watched: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = Marks()
    marks.add("sphere", (0, 0, 0), size=0.1, body=2)
    watched.publish(position=places(1, 2), marks=marks)
    watched.publish(position=places(1, np.nan))
    said = capsys.readouterr().err.splitlines()
    assert "is attached to body 2, but there are 2 bodies" in said[0]
    assert said[0].endswith("attach it to a body that exists")
    assert "position" in said[1]
    assert len(said) == 2
