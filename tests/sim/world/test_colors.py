"""One rule for all colours: uint8 is 0..255, every other number is 0..1, in every way of writing them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, Compound, Part, Scene, Sphere
from twixt.ipc.snapshot import HAS_COLOR, has_color
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column
from twixt.sim.world.marks import Marks

RED, WHITE = [255, 0, 0, 255], [255] * 4
RANGE = r"from 0 to 1, or np\.uint8\(\.\.\.\) from 0 to 255, got"


def given_rows(bodies: Bodies) -> list[int]:
    return np.flatnonzero(bodies.records["flags"] & HAS_COLOR).tolist()


def spawned(color: Any) -> list[int]:
    bodies = Bodies(0)
    bodies.spawn(color=color)
    return bodies.color[0].tolist()


def assigned(color: Any) -> list[int]:
    bodies = Bodies(2)
    bodies.color = color
    return bodies.color[1].tolist()


def written(color: Any) -> list[int]:
    bodies = Bodies(2)
    bodies.color[1] = color
    assert bodies.color[0].tolist() == WHITE
    return bodies.color[1].tolist()


def marked(color: Any) -> list[int]:
    marks = Marks()
    marks.add("sphere", (0, 0, 0), size=1, color=color)
    return marks.records["color"][0].tolist()


def of_part(color: Any) -> list[int]:
    columns = Bodies(1, {"color": Column("u1", 4, per="part")}, scene=Scene([Sphere()])).columns
    columns["color"][0] = color
    return columns["color"][0].tolist()


def of_float_part(color: Any) -> list[int]:
    columns = Bodies(1, {"color": Column("f4", 4, per="part")}, scene=Scene([Sphere()])).columns
    columns["color"][0] = color
    return np.rint(columns["color"][0] * 255).astype(int).tolist()


def passed(color: Any) -> list[int]:
    columns = Bodies(1, {"color": Column("u1", 4, per="part")}, scene=Scene([Sphere()])).columns
    return columns._converted({"color": color}, 1)["color"][0].tolist()


def passed_floats(color: Any) -> list[int]:
    columns = Bodies(1, {"color": Column("f4", 4, per="part")}, scene=Scene([Sphere()])).columns
    return np.rint(columns._converted({"color": color}, 1)["color"][0] * 255).astype(int).tolist()


WAYS = [spawned, assigned, written, marked, of_part, of_float_part, passed, passed_floats]
by_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@by_way
@pytest.mark.parametrize(
    ("color", "seen"),
    [
        ((1, 0, 0), RED),
        ((1, 0, 0, 1), RED),
        ([1.0, 0.0, 0.0], RED),
        (np.int64([1, 0, 0]), RED),
        (np.int8([1, 0, 0]), RED),
        (np.uint64([1, 0, 0, 1]), RED),
        (np.float16([1, 0, 0]), RED),
        (np.longdouble([1, 0, 0]), RED),
        (np.uint8([255, 0, 0]), RED),
        ([np.uint8(255), np.uint8(0), np.uint8(0)], RED),
        (np.uint8([1, 2, 3, 4]), [1, 2, 3, 4]),
        (np.ma.masked_array([1.0, 0.0, 0.0]), RED),
        ((0, 0, 0), [0, 0, 0, 255]),
        ((0.5, 0, 0, 0.2), [128, 0, 0, 51]),
    ],
    ids=repr,
)
def test_uint8_counts_to_255_and_every_other_number_to_1(
    way: Callable[[Any], list[int]], color: Any, seen: Any
) -> None:
    assert way(color) == seen


@by_way
@pytest.mark.parametrize(
    ("color", "said"),
    [
        ((255, 0, 0), RANGE),
        ((1.01, 0, 0), RANGE),
        ((0, -1, 0), RANGE),
        (np.int8([1, -1, 0]), RANGE),
        ([np.nan, 2.0, 0], RANGE),
        (np.array([True, False, False]), "must be"),
        ([True, False, False], "must be"),
        (np.array([1, 0, 0], object), "must be"),
        (np.array([1j, 0, 0]), "must be"),
        ("red", "must be"),
        (["1", "0", "0"], "must be"),
        (np.datetime64("2020-01-01"), "must be"),
        ([(1, 0), (0,)], "must be"),
        (np.ma.masked_array(np.uint8([1, 2, 3]), [True, False, False]), "masked entries"),
    ],
    ids=repr,
)
def test_what_is_no_colour_is_refused(way: Callable[[Any], list[int]], color: Any, said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        way(color)


@by_way
def test_a_colour_that_is_not_finite_is_white(way: Callable[[Any], list[int]]) -> None:
    if way is not passed_floats:  # a column of floats carries it to the viewer, which draws white
        assert way((np.nan, 0, 0)) == WHITE
    assert way((0.0, 0, 0)) == [0, 0, 0, 255]


@given(arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
def test_any_array_is_written_by_the_rule_or_refused_and_changes_nothing(values: np.ndarray) -> None:
    bodies = Bodies(3)
    bodies.color = (0.2, 0.4, 0.6)
    before = bodies.color.copy()
    try:
        bodies.color[:] = values
    except TwixtError:
        assert (bodies.color == before).all()
        return
    assert values.dtype.kind in "fiu"
    if values.size and np.isfinite(values).all():
        bytes_of = values if values.dtype == np.uint8 else np.rint(values.astype(np.float64) * 255)
        shown = np.zeros((3, 4))
        shown[..., 3] = 255
        shown[..., : 3 if values.shape[-1:] == (3,) else 4] = bytes_of
        np.testing.assert_allclose(bodies.color, shown, atol=1)


# Ways to name some of the numbers of an array of colours.
KEYS = [
    np.s_[0], np.s_[:, 0], np.s_[..., 3], np.s_[1:, :3], np.s_[::2], np.s_[[2, 0]], np.s_[[True, False, True]],
    np.s_[:, [0, 2]], np.s_[::-1, ::-1], np.s_[2, 1], np.s_[..., None], np.s_[:, ::2], np.s_[[0, 1], [2, 3]],
]  # fmt: skip


@given(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3), st.booleans())
def test_views_of_views_write_what_a_plain_array_would(keys: list[Any], is_turned: bool) -> None:
    bodies, plain, touched = Bodies(3), np.full((3, 4), 255, np.uint8), np.zeros((3, 4), bool)
    view: Any = bodies.color
    if is_turned:
        view, twin, marks = view.T, plain.T, touched.T
    else:
        twin, marks = plain, touched
    try:
        for key in keys[:-1]:
            view, twin, marks = view[key], twin[key], marks[key]
        twin[keys[-1]] = 128
    except (IndexError, TypeError):
        return
    marks[keys[-1]] = True
    view[keys[-1]] = 0.5 if np.may_share_memory(view, bodies.color) else 128
    assert bodies.color.tolist() == plain.tolist()
    assert given_rows(bodies) == np.flatnonzero(touched[:, :3].any(axis=1)).tolist()


def test_three_numbers_are_an_opaque_colour_for_rows_and_three_numbers_for_three_channels() -> None:
    bodies = Bodies(3)
    bodies.color = (0, 0, 0, 0)
    bodies.color[0] = (1, 0, 0)
    bodies.color[[1, 2]] = np.uint8([(1, 2, 3), (4, 5, 6)])
    assert bodies.color.tolist() == [RED, [1, 2, 3, 255], [4, 5, 6, 255]]
    bodies.color[:, :3] = (0, 1, 0)
    assert bodies.color.tolist() == [[0, 255, 0, 255]] * 3
    bodies.color[:, 3] = (0, 1, 0)
    assert bodies.color[:, 3].tolist() == [0, 255, 0]
    with pytest.raises(TwixtError, match=r"Bodies\.color takes \(r, g, b\) or \(r, g, b, a\)"):
        bodies.color[0] = (1, 0)
    wide = Bodies(4)
    with pytest.raises(TwixtError, match="as many numbers as are written"):
        wide.color[:, 0] = (1, 0, 0)
    with pytest.raises(TwixtError, match="as many numbers as are written"):
        wide.color[[0, 1, 2, 3], 0] = (1, 0, 0)


def test_a_colour_is_copied_from_one_body_to_another() -> None:
    bodies = Bodies(3)
    bodies.color[0] = np.uint8([1, 2, 3, 4])
    bodies.color[1] = bodies.color[0]
    bodies.color[2:] = bodies.color[:1]
    assert bodies.color.tolist() == [[1, 2, 3, 4]] * 3
    other = Bodies(3)
    other.color = bodies.color
    assert other.color.tolist() == [[1, 2, 3, 4]] * 3


def test_reading_gives_bytes_and_copies_are_plain_arrays() -> None:
    bodies = Bodies(2)
    bodies.color[0] = (0.2, 0.4, 0.6)
    assert bodies.color.dtype == np.uint8
    assert bodies.color[0, 1] == 102
    assert (bodies.color / 255)[0].tolist() == [0.2, 0.4, 0.6, 1.0]
    for values in (bodies.color.copy(), bodies.color.astype(int), np.array(bodies.color), bodies.color + 0):
        assert type(values) is np.ndarray
        values[0] = 200
        assert values[0].tolist() == [200] * 4
    assert bodies.color[0].tolist() == [51, 102, 153, 255]
    taken = bodies.color[[0, 1]]
    taken[0] = 200  # a copy: bytes
    assert taken[0].tolist() == [200] * 4
    assert pickle.loads(pickle.dumps(bodies.color)).tolist() == bodies.color.tolist()
    assert copy.deepcopy(bodies).color.tolist() == bodies.color.tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda color: color.__imul__(0.5), lambda color: color.__iadd__(10), lambda color: color.__ifloordiv__(2),
        lambda color: color[0].__imul__(2), lambda color: color[:1].__iadd__(1), lambda color: np.add.at(color, 0, 1),
        lambda color: np.multiply(color, 0.5, out=color, casting="unsafe"),
    ],
)  # fmt: skip
def test_arithmetic_in_place_is_refused_and_says_what_to_write(change: Callable[[Any], Any]) -> None:
    bodies = Bodies(2)
    with pytest.raises(TwixtError, match=r"cannot be changed in place by \w+, .*color\[:, :3\] = 0\.5 \*"):
        change(bodies.color)
    assert (bodies.color == 255).all()
    assert given_rows(bodies) == []
    bodies.color[:, :3] = 0.5 * (bodies.color[:, :3] / 255)
    assert bodies.color.tolist() == [[128, 128, 128, 255]] * 2


def test_one_number_fills_all() -> None:
    bodies = Bodies(2)
    bodies.color[...] = 1
    bodies.color.fill(0.2)
    assert (bodies.color == 51).all()
    bodies.color[0, 0] = np.uint8(7)
    assert bodies.color[0, 0] == 7


def test_a_written_colour_is_given_and_an_alpha_alone_is_not() -> None:
    bodies = Bodies(4)
    assert given_rows(bodies) == []
    bodies.color[:, 3] = 0.5
    _ = bodies.color[0].tolist(), bodies.color.copy()
    assert given_rows(bodies) == []
    bodies.color[1] = (1, 1, 1)
    assert given_rows(bodies) == [1]
    bodies.color[bodies.color[:, 3] == 128, 0] = 1
    assert given_rows(bodies) == [0, 1, 2, 3]
    other = Bodies(2)
    other.color = (1, 1, 1)
    assert given_rows(other) == [0, 1]


def test_a_body_that_is_spawned_anew_has_no_colour() -> None:
    bodies = Bodies(2)
    bodies.color = (1, 0, 0)
    bodies.despawn(1)
    assert bodies.spawn() == 1
    assert given_rows(bodies) == [0]
    assert bodies.color[1].tolist() == WHITE
    assert bodies.spawn(color=(1, 1, 1)) == 2
    assert bodies.spawn() == 3
    assert given_rows(bodies) == [0, 2]
    assert bodies.visible.all()


def test_a_record_whose_colour_is_not_white_has_one() -> None:
    records = Bodies(3).records
    records["color"][0] = 254, 255, 255, 255
    records["color"][1, 3] = 9
    records["flags"][2] |= HAS_COLOR
    assert has_color(records).tolist() == [True, False, True]
    assert has_color(records[:0]).tolist() == []


def test_the_default_colour_of_marks_is_white() -> None:
    marks = Marks()
    marks.add("sphere", (0, 0, 0), size=1)
    assert marks.records["color"].tolist() == [WHITE]


def test_parts_keep_their_floats_and_count_in_place() -> None:
    pair = Compound([Part(Box()), Part(Sphere(), (0, 0, 1))])
    columns = Bodies(1, {"color": Column("f4", 4, per="part")}, scene=Scene([pair])).columns
    columns["color"] = (0.1, 0.2, 0.3)
    assert columns["color"].tolist() == np.float32([[0.1, 0.2, 0.3, 1]] * 2).tolist()
    columns["color"][:, :3] *= 0.5
    assert columns["color"][0].tolist() == np.float32([0.05, 0.1, 0.15, 1]).tolist()
    columns["color"][1] = np.uint8([0, 51, 255])
    assert columns["color"][1].tolist() == pytest.approx([0, 0.2, 1, 1])


def test_bodies_that_are_not_there_yet_take_colours() -> None:
    bodies = Bodies(0)
    bodies.color[:] = (1, 0, 0)
    bodies.color = (0, 1, 0, 1)
    with pytest.raises(TwixtError):
        bodies.color[:] = (255, 0, 0, 1)


def test_a_copy_converts_nothing_and_may_be_changed() -> None:
    bodies = Bodies(3)
    for copied in (bodies.color[[0, 1]], bodies.color[np.array([True, False, True])], bodies.color.flatten()):
        copied //= 2
        assert (np.asarray(copied) == 127).all()
    assert (np.asarray(bodies.color) == 255).all()


def test_a_colour_may_leave_its_range_by_rounding_alone() -> None:
    bodies = Bodies(1)
    bodies.color[0] = (1 + 1e-12, -1e-17, 1 - 0.9 - 0.1)
    assert bodies.color[0].tolist() == [255, 0, 0, 255]
    assert Sphere(1, color=(1.0000001, 0, 0)).color == (1, 0, 0)
    with pytest.raises(TwixtError):
        bodies.color[0] = (1.01, 0, 0)
