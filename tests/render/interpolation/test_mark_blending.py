"""Which marks of two snapshots are one, and how they are drawn between, with lists of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.snapshot import MARK, MARK_KINDS
from twixt.render.interpolation.blending import blended, drawable, matched

ARROW, LINE = list(MARK_KINDS).index("arrow"), list(MARK_KINDS).index("line")
QUARTER = (0, 0, np.sqrt(0.5), np.sqrt(0.5))


def marks_at(**x_of_key: float) -> np.ndarray:
    """Marks of keys k1, k2, ... at these x, sorted by key."""
    marks = np.zeros(len(x_of_key), MARK)
    marks["key"] = [int(key[1:]) for key in x_of_key]
    marks["position"][:, 0] = list(x_of_key.values())
    marks["orientation"][:, 3] = 1
    return drawable(marks)


def drawn(older: np.ndarray, newer: np.ndarray, alpha: float) -> np.ndarray:
    return blended(older, newer, matched(older["key"], newer["key"]), alpha)


def test_marks_are_matched_by_key_whatever_came_and_went() -> None:
    older, newer = marks_at(k5=0, k7=10, k9=20), marks_at(k1=100, k7=14, k8=100, k9=10)
    seen = drawn(older, newer, 0.25)
    assert seen["key"].tolist() == [5, 7, 9], "one of the newer alone is not shown before its instant"
    assert seen["position"][:, 0].tolist() == [0, 11, 17.5]


@pytest.mark.parametrize(("alpha", "keys"), [(0.0, [1, 2]), (0.999, [1, 2]), (1.0, [2, 3])])
def test_one_that_is_in_one_snapshot_alone_is_shown_up_to_or_from_the_newer_ones_instant(
    alpha: float, keys: list[int]
) -> None:
    assert drawn(marks_at(k1=0, k2=0), marks_at(k2=0, k3=0), alpha)["key"].tolist() == keys


def test_size_and_color_are_blended_and_turns_go_the_shorter_way() -> None:
    older, newer = marks_at(k1=0), marks_at(k1=0)
    older["size"], newer["size"] = (1, 2, 0), (3, 2, 0)
    older["color"], newer["color"] = (0, 255, 0, 255), (255, 0, 0, 55)
    newer["orientation"] = np.negative(QUARTER)
    (seen,) = drawn(older, newer, 0.5)
    assert seen["size"].tolist() == [2, 2, 0]
    assert seen["color"].tolist() == [128, 128, 0, 155]
    assert seen["orientation"] == pytest.approx([0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)])


def test_kind_label_and_a_size_of_another_meaning_switch_at_the_newer_ones_instant() -> None:
    older, newer = marks_at(k1=0), marks_at(k1=4)
    older["kind"], older["label"], older["size"] = ARROW, 1, (1, 1, 0)
    newer["kind"], newer["label"], newer["size"] = LINE, 2, (9, 9, 0)
    (seen,) = drawn(older, newer, 0.75)
    assert (seen["kind"], seen["label"], seen["size"].tolist(), seen["position"][0]) == (ARROW, 1, [1, 1, 0], 3)
    (seen,) = drawn(older, newer, 1.0)
    assert (seen["kind"], seen["label"], seen["size"].tolist()) == (LINE, 2, [9, 9, 0])


def test_no_marks_on_either_side_are_no_error() -> None:
    none, some = marks_at(), marks_at(k1=1)
    assert len(drawn(none, some, 0.5)) == len(drawn(none, none, 0.5)) == 0
    assert drawn(some, none, 0.5)["key"].tolist() == [1]


keys = st.lists(st.integers(0, 6), max_size=12).map(sorted)


@given(keys, keys)
def test_the_i_th_of_equal_keys_always_belongs_to_the_i_th(older: list[int], newer: list[int]) -> None:
    both = matched(np.array(older, np.uint64), np.array(newer, np.uint64))
    expected = []
    for key in sorted(set(older) & set(newer)):
        for nth in range(min(older.count(key), newer.count(key))):
            expected.append((older.index(key) + nth, newer.index(key) + nth))
    assert list(zip(both.older.tolist(), both.newer.tolist(), strict=True)) == expected


@pytest.mark.filterwarnings("error")
def test_what_cannot_be_drawn_is_left_out_and_the_rest_is_sorted() -> None:
    marks = np.zeros(7, MARK)
    marks["key"] = [9, 2, 7, 2, 8, 1, 5]
    marks["label"] = range(7)
    marks["position"][0, 1] = np.nan
    marks["size"][2, 2] = np.inf
    marks["kind"][4] = len(MARK_KINDS)
    marks["orientation"][5, 0] = 1e35
    seen = drawable(marks)
    assert seen["key"].tolist() == [2, 2, 5]
    assert seen["label"].tolist() == [1, 3, 6], "of equal keys the first stays first"
