"""Marks as a user adds them, and what they are in the snapshot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.mark_texts import split_texts, text_of_label
from twixt.ipc.snapshot import MARK, MARK_KINDS
from twixt.sim.world.marks import Marks, first_capacity

UP_TO = np.array([[0, 0, 2], [3, 0, 0], [0, 0, -1], [0, 0, 0]], float)


def texts(marks: Marks) -> list[str]:
    """The texts of the marks, as a viewer reads them from the records."""
    records, packed = split_texts(marks._packed())
    return [text_of_label(int(label), packed) for label in records["label"]]


def turned_z(turns: np.ndarray) -> np.ndarray:
    """The own z axis of each orientation."""
    x, y, z, w = turns.T
    return np.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), axis=1)


def test_a_mark_is_one_record_of_64_bytes_without_gaps() -> None:
    assert MARK.itemsize == 64
    assert sum(MARK[name].itemsize for name in MARK.names or ()) == 64


def test_marks_hold_what_was_added_until_they_are_cleared() -> None:
    marks = Marks()
    marks.add("sphere", [(1, 2, 3), (4, 5, 6)], size=0.5, color=(1.0, 0, 0), ids=[9, 7], label="three")
    marks.add("box", (7, 8, 9), size=(1, 2, 3), orientation=(0, 0, 0.6, 0.8))
    records = marks.records
    assert len(marks) == len(records) == 3
    assert records["position"].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert records["size"].tolist() == [[0.5, 0, 0], [0.5, 0, 0], [1, 2, 3]]
    assert records["color"].tolist() == [[255, 0, 0, 255], [255, 0, 0, 255], [255] * 4]
    assert [list(MARK_KINDS)[kind] for kind in records["kind"]] == ["sphere", "sphere", "box"]
    assert texts(marks) == ["three", "three", ""]
    assert records["orientation"][0].tolist() == [0, 0, 0, 1]
    assert records["orientation"][2] == pytest.approx([0, 0, 0.6, 0.8])
    marks.clear()
    assert len(marks) == len(marks.records) == 0


def test_marks_of_two_kinds_may_have_the_same_keys_and_are_two() -> None:
    marks = Marks()
    for kind, size in (("sphere", 1), ("arrow", (1, 1))):
        marks.add(kind, np.zeros((3, 3)), size=size, ids=[5, 6, 7])
    keys = marks.records["key"].tolist()
    assert len(set(keys)) == 6
    marks.clear()
    marks.add("arrow", np.zeros((1, 3)), size=(1, 1), ids=[6])
    assert marks.records["key"].tolist() == [keys[4]]


def test_without_keys_a_mark_is_known_by_its_place_among_those_of_its_kind() -> None:
    marks = Marks()
    marks.add("axes", np.zeros((2, 3)), size=1)
    before = marks.records["key"].tolist()
    marks.clear()
    marks.add("sphere", np.zeros((9, 3)), size=1)
    marks.add("axes", (0, 0, 0), size=1)
    marks.add("axes", (0, 0, 0), size=1)
    assert marks.records["key"][9:].tolist() == before


@pytest.mark.parametrize("kind", ["arrow", "line"])
def test_what_goes_from_one_place_to_another_begins_there_and_points_along_its_own_z(kind: str) -> None:
    marks = Marks()
    marks.add(kind, np.ones((4, 3)), to=1 + UP_TO, size=[0.1, 0.2, 0.3, 0.4])
    records = marks.records
    assert (records["position"] == 1).all()
    assert records["size"] == pytest.approx(np.array([[0.1, 2, 0], [0.2, 3, 0], [0.3, 1, 0], [0.4, 0, 0]]))
    assert turned_z(records["orientation"]) == pytest.approx(
        np.array([[0, 0, 1], [1, 0, 0], [0, 0, -1], [0, 0, 1]]), abs=1e-6
    )
    assert not marks.fault


def test_marks_take_quaternions_in_either_order() -> None:
    turns = np.array([(0.1, -0.7, 0.5, 0.5), (0.6, 0.0, 0.0, 0.8)])  # x, y, z, w
    usual, other = Marks(), Marks()
    either: Any = ((usual, turns, {}), (other, turns[:, [3, 0, 1, 2]], {"quat": "wxyz"}))
    for marks, given, quat in either:
        marks.add("axes", np.zeros((2, 3)), orientation=given, size=1, **quat)
        marks.add("arrow", (0, 0, 0), orientation=given[0], size=(1, 1), **quat)
        marks.add("arrow", (0, 0, 0), to=(1, 2, 3), size=1, **quat)
        marks.add("box", (0, 0, 0), size=(1, 1, 1), **quat)
    assert usual.records["orientation"][:2] == pytest.approx(turns)
    assert other.records.tobytes() == usual.records.tobytes()


def test_a_capsule_between_two_places_has_its_middle_there() -> None:
    marks = Marks()
    marks.add("capsule", np.zeros((1, 3)), to=[(0, 4, 0)], size=0.1)
    assert marks.records["position"].tolist() == [[0, 2, 0]]
    assert marks.records["size"][0] == pytest.approx([0.1, 4, 0])


def test_a_line_is_thin_unless_it_has_a_radius() -> None:
    marks = Marks()
    marks.add("line", (0, 0, 0), to=(1, 0, 0))
    assert marks.records["size"].tolist() == [[0, 1, 0]]


def test_thousands_of_marks_find_room_and_no_marks_are_none() -> None:
    marks = Marks()
    for _ in range(100):
        marks.add("sphere", np.arange(300.0).reshape(100, 3), size=np.arange(100))
    assert len(marks) == 10_000
    assert marks.records["size"][:, 0].tolist() == [*range(100)] * 100
    marks.add("sphere", [], size=1)
    marks.add("line", np.zeros((0, 3)), to=np.zeros((0, 3)), ids=[])
    assert len(marks) == 10_000


def test_texts_of_all_lengths_and_letters_are_read_as_they_were_given() -> None:
    marks = Marks()
    given = ["", "a", "größer", "目標 3", "x" * 200, "目" * 200, "a", *(str(number) for number in range(1000))]
    marks.add("sphere", np.zeros((len(given), 3)), size=1, label=given)
    marks.add("text", (0, 0, 0), text="score 3", size=2, color=(1, 0, 0))
    marks.add("box", np.zeros((2, 3)), size=(1, 1, 1), label=np.array(["left", "right"]))
    assert texts(marks) == [*given, "score 3", "left", "right"]
    assert marks.records["size"][len(given)].tolist() == [2, 0, 0]


def test_a_text_that_changes_in_each_step_takes_no_more_memory() -> None:
    marks, sizes = Marks(), set()
    for step in range(10_000):
        marks.clear()
        marks.add("text", (0, 0, 0), text=f"step {step:06}")
        sizes.add((len(marks._packed()), len(marks._storage)))
        if step % 1000 == 0:
            assert texts(marks) == [f"step {step:06}"]
    assert len(sizes) == 1


def test_too_many_different_texts_are_refused_and_change_nothing() -> None:
    marks = Marks()
    marks.add("sphere", (0, 0, 0), size=1, label="kept")
    before = marks._packed().tobytes()
    many = [str(number) for number in range(1_000_000)]
    with pytest.raises(TwixtError, match="the different texts of marks may have 256 KiB together, got more"):
        marks.add("sphere", np.zeros((len(many), 3)), size=1, label=many)
    assert marks._packed().tobytes() == before
    marks.add("sphere", np.zeros((3, 3)), size=1, label=["0", "kept", "1"])
    assert texts(marks) == ["kept", "0", "kept", "1"]


def test_equal_texts_are_stored_once() -> None:
    marks = Marks()
    marks.add("sphere", np.zeros((100_000, 3)), size=1, label="one")
    marks.add("sphere", np.zeros((100_000, 3)), size=1, label=["one"] * 100_000)
    assert len(marks._packed()) == 200_001


def test_cut_off_and_damaged_texts_are_none() -> None:
    marks = Marks()
    marks.add("sphere", np.zeros((9, 3)), size=1, label=[f"{'long ' * 30}{number}" for number in range(9)])
    packed = marks._packed().copy()
    for length in range(len(packed), 0, -1):
        records, found = split_texts(packed[:length])
        assert len(records) == min(9, length)
        assert f"{'long ' * 30}0".startswith(text_of_label(int(records["label"][0]), found))
    packed["label"] = 0xFFFF_FFFF
    records, found = split_texts(packed)
    assert len(records) == 0
    assert text_of_label(0xFFFF_FFFF, found) == ""


def test_a_mark_that_is_attached_to_no_body_is_a_fault() -> None:
    marks = Marks()
    marks.add("sphere", np.zeros((3, 3)), size=1, body=[0, 1, 2])
    marks.add("box", (0, 0, 0), size=(1, 1, 1), body=7)
    assert marks.records["body"].tolist() == [1, 2, 3, 8]
    assert marks._missing_body(8, 3) == ""
    assert marks._missing_body(5, 3).startswith("a mark of kind 'box' is attached to body 7, but there are 5 bodies")
    marks.clear()
    assert marks._missing_body(0, 3) == ""


def test_records_of_other_marks_have_no_texts() -> None:
    one, other = Marks(), Marks()
    one.add("sphere", (0, 0, 0), size=1, label="one")
    records = one.records.copy()
    other.extend(records)
    assert texts(other) == [""]
    records["label"], records["body"] = 2, 4
    other.extend(records)
    assert other.records["label"].tolist() == [0, 2], "numbers of the scene's texts are kept"
    assert other._missing_body(3, 3)


ONE = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": "shpere", "position": ONE, "size": 1}, "no kind 'shpere'; did you mean \"sphere\""),
        ({"kind": ["cone"], "position": ONE, "size": 1}, "no kind"),
        ({"kind": "cone", "position": ONE, "size": 1}, "no kind 'cone'; .*sphere, box"),
        ({"position": [1, 2]}, r"add\(position\) must be numbers of shape \(n, 3\), got int64 of shape \(2,\)"),
        ({"position": "abc"}, r"add\(position\) must be numbers of shape"),
        ({"position": ONE}, r"add\('sphere'\) needs size, metres: radius"),
        ({"position": ONE, "size": [1, 2]}, r"add\('sphere', size\) must be radius for all or for each of 1 marks"),
        ({"kind": "box", "position": ONE, "size": 1}, r"add\('box', size\) must be x, y, z for all or"),
        ({"position": ONE, "size": -0.5}, "must be metres >= 0, got -0.5"),
        ({"position": ONE, "size": 1, "to": ONE}, "is for arrow, line, capsule, cylinder, got 'sphere'"),
        (
            {"kind": "arrow", "position": ONE, "size": 1, "to": ONE, "orientation": (0, 0, 0, 1)},
            "takes to or orientation, got both",
        ),
        ({"kind": "arrow", "position": ONE, "size": 1, "to": np.zeros((2, 3))}, r"shape \(1, 3\), got float64 of"),
        ({"position": ONE, "size": 1, "orientation": (0, 0, 0, 2)}, "of length 2 for mark 0; divide each"),
        (
            {"position": ONE, "size": 1, "orientation": (2, 0, 0, 0), "quat": "wxyz"},
            r"unit quaternions \(w, x, y, z\), got \[2.0, 0.0, 0.0, 0.0\] of length 2 for mark 0",
        ),
        ({"position": ONE, "size": 1, "quat": "wzyx"}, '^quat must be "xyzw" or "wxyz", got \'wzyx\'$'),
        ({"position": ONE, "size": 1, "orientation": (0, 0, 1)}, r"orientation\) must be numbers of shape \(1, 4\)"),
        ({"position": ONE, "size": 1, "ids": 0.5}, r"add\(ids\) must be whole numbers of shape \(1,\), got float64"),
        ({"position": ONE, "size": 1, "ids": -1}, r"add\(ids\) must be whole numbers from 0 to \d+, got from -1 to -1"),
        ({"position": ONE, "size": 1, "ids": 1 << 56}, "whole numbers from 0 to 72057594037927935, got"),
        (
            {"position": ONE, "size": 1, "label": 1},
            r'add\(label\) takes a text, such as "goal", or n texts, got 1; give',
        ),
        ({"position": ONE, "size": 1, "label": [1]}, r'add\(label\) must be a text, such as "goal", got 1'),
        ({"position": ONE, "size": 1, "label": np.array([1])}, r'add\(label\) must be a text, such as "goal", got 1'),
        ({"position": ONE, "size": 1, "label": ["a", "b"]}, r"add\(label\) must be a text, or 1 texts, got 2"),
        ({"position": ONE, "size": 1, "label": "a\nb"}, r"add\(label\) must be a text of one line, without control"),
        ({"position": ONE, "size": 1, "label": "a" * 1_000_000}, "at most 200 characters, got 1,000,000"),
        ({"position": ONE, "size": 1, "label": "\ud800"}, "must be a text of one line, without control characters"),
        ({"position": ONE, "size": 1, "text": "a"}, r"add\('sphere'\) takes label=, not text="),
        ({"kind": "text", "position": ONE}, r'add\("text"\) needs text=, such as text="score 3"'),
        ({"kind": "text", "position": ONE, "text": b"a"}, r"add\(text\) takes a text"),
        ({"kind": "text", "position": ONE, "label": "a"}, r"add\('text'\) takes text=, not label="),
        (
            {"kind": "text", "position": ONE, "text": "a", "size": 9},
            "must be from 0.25 to 8 times the usual size, got 9",
        ),
        (
            {"kind": "text", "position": ONE, "text": "a", "to": ONE},
            "is for arrow, line, capsule, cylinder, got",
        ),
        (
            {"position": ONE, "size": 1, "body": -1},
            r"add\(body\) must be whole numbers from 0 to \d+, got from -1 to -1",
        ),
        ({"position": ONE, "size": 1, "body": 0.5}, r"add\(body\) must be whole numbers of shape \(1,\), got float64"),
        ({"position": ONE, "size": 1, "body": [1, 2]}, r"add\(body\) must be whole numbers of shape \(1,\)"),
        ({"position": ONE, "size": 1, "color": (1, 2)}, "for all or for each of 1 marks"),
    ],
)
def test_wrong_values_are_refused_in_words_and_change_nothing(given: dict[str, Any], says: str) -> None:
    marks = Marks()
    marks.add("sphere", ONE, size=1, label="kept")
    before = marks._packed().tobytes()
    with pytest.raises(TwixtError, match=says):
        marks.add(**{"kind": "sphere", **given})
    assert marks._packed().tobytes() == before


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"position": [(0, 0, 0), (0, np.nan, 0)], "size": 1}, r"position \[ 0\., nan,  0\.\]"),
        ({"position": [(0, 0, 0), (1e300, 0, 0)], "size": 1}, r"position \[inf,  0\.,  0\.\]"),
        ({"position": np.zeros((2, 3)), "size": [1, np.inf]}, r"size \[inf,  0\.,  0\.\]"),
        ({"position": np.zeros((2, 3)), "size": 1, "orientation": [(0, 0, 0, 1), (np.nan,) * 4]}, "orientation"),
        (
            {"position": np.zeros((2, 3)), "size": 1, "orientation": [(0, 0, 0, 1), (0,) * 4]},
            r"orientation \[0\., 0\., 0\., 0\.\]",
        ),
    ],
)
def test_a_number_that_is_not_finite_is_a_fault_and_no_error(given: dict[str, Any], fault: str) -> None:
    import re

    marks = Marks()
    marks.add("sphere", **given)
    assert len(marks) == 2
    assert re.search(f"a mark of kind 'sphere' has the {fault}", marks.fault), marks.fault
    marks.clear()
    assert not marks.fault


def test_a_host_has_room_for_some_marks_before_it_grows() -> None:
    assert first_capacity(5, None) == 5
    assert first_capacity(0, None) == 1
    assert (5 + 256) / first_capacity(5, Marks()) < 0.75
