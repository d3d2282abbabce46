"""Part and world columns that a loop publishes, as a viewer receives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.show.test_view import places
from tests.sim.watched import Open, Watched, watching
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, ColorBy, Compound, Part, Scene, Sphere
from twixt.sim.world.columns import Column

PAIR = Compound([Part(Box(color=(1, 0, 0))), Part(Sphere(color=(0, 1, 0)), (0, 0, 1))])
SCENE = Scene([Sphere(color=(0, 0, 1)), PAIR])
DECLARED = {
    "heat": Column("f4"),
    "color": Column("u1", 4, per="part"),
    "visible": Column("bool", per="part"),
    "wind": Column("f4", 3, per="world"),
}
NINES = np.full((3, 4), 9, np.uint8)
BLUE, RED, GREEN = [0, 0, 255, 255], [255, 0, 0, 255], [0, 255, 0, 255]


@pytest.fixture
def watch() -> Iterator[Open]:
    with watching(SCENE, DECLARED) as watch:
        yield watch


def test_a_reader_sees_a_row_for_each_part_and_what_is_not_passed_stays(watch: Open) -> None:
    both = watch()
    seen = both.publish(position=places(0, 1))
    assert seen.part_columns["color"].tolist() == [BLUE, RED, GREEN]
    seen = both.publish(position=places(0, 1), columns={"color": NINES, "wind": (1, 2, 3)})
    assert seen.part_columns["color"].tolist() == [[9] * 4] * 3
    assert seen.world_columns["wind"].tolist() == [[1, 2, 3]]
    seen = both.publish(position=places(0, 1), columns={"visible": [True, False, True], "heat": [1, 2]})
    assert seen.part_columns["color"].tolist() == [[9] * 4] * 3
    assert seen.part_columns["visible"].tolist() == [True, False, True]
    assert seen.columns["heat"].tolist() == [1, 2]
    assert both.link.scene.part_columns == ("color", "visible")


def test_more_bodies_bring_the_rows_of_their_parts_through_a_larger_segment(watch: Open) -> None:
    both = watch()
    both.publish(position=places(0, 1), columns={"color": NINES})
    seen = both.publish(position=places(*range(40)))
    assert seen.part_columns["color"].tolist() == [[9] * 4] * 3 + [RED, GREEN] * 38
    seen = both.publish(position=places(0))
    assert len(seen.part_columns["color"]) == 1 + 2 * 39  # hidden bodies keep their records


def test_slots_carry_part_columns_too(watch: Open) -> None:
    both = watch()
    with both.view.slot(2, columns={"color": np.uint8([7, 7, 7, 7]), "wind": (1, 1, 1)}) as records:
        records["position"] = places(0, 1)
    seen = both.newest()
    assert seen.part_columns["color"].tolist() == [[7] * 4] * 3
    assert seen.world_columns["wind"].tolist() == [[1, 1, 1]]


def test_a_scene_with_other_parts_begins_them_anew_and_one_with_the_same_keeps_them(watch: Open) -> None:
    both = watch()
    both.publish(position=places(0, 1), columns={"color": NINES})
    both.view.scene = Scene([Sphere(), PAIR])
    assert both.publish().part_columns["color"].tolist() == [[9] * 4] * 3
    both.view.scene = Scene([PAIR, PAIR])
    assert both.publish().part_columns["color"].tolist() == [RED, GREEN] * 2
    with pytest.raises(TwixtError, match=r"'color' must be \(r, g, b\) .* each of 4 parts"):
        both.view.publish(columns={"color": NINES})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"color": [[0] * 4] * 2},
            r"'color' must be \(r, g, b\) or \(r, g, b, a\) .* each of 3 parts, got int64 of shape \(2, 4\)",
        ),
        ({"color": np.zeros((3, 4), bool)}, "'color' must be"),
        ({"color": [[255, 0, 0, 0]] * 3}, r"numbers from 0 to 1, or np\.uint8\(\.\.\.\) from 0 to 255, got int64"),
        ({"visible": [1, 0, 1]}, "must be bools"),
        ({"wind": [[0, 0, 0]] * 2}, r"shape \(1, 3\) \(a row per world\)"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_changed(
    watch: Open, columns: dict[str, Any], said: str
) -> None:
    both = watch()
    both.publish(position=places(0, 1), columns={"heat": [1, 2]})
    with pytest.raises(TwixtError, match=said):
        both.view.publish(position=places(5, 6), columns={"heat": [8, 9], **columns})
    seen = both.publish()
    assert seen.bodies["position"][:, 0].tolist() == [0, 1]
    assert seen.part_columns["color"].tolist() == [BLUE, RED, GREEN]


def test_part_columns_and_ids_are_not_passed_together(watch: Open) -> None:
    both = watch()
    with pytest.raises(TwixtError, match="leave ids out"):
        both.view.publish(position=places(0, 1), ids=[4, 5], columns={"color": [1] * 4})
    assert both.publish(position=places(0, 1), ids=[4, 5], columns={"wind": (1, 0, 0)}).world_columns


@pytest.mark.parametrize(
    "columns", [3, [Column("f4")], {"glow": 3}, {"heat": Column("f8", 2)}, {"position": Column("f4")}]
)
def test_columns_that_cannot_be_added_are_refused_and_the_view_goes_on(watch: Open, columns: Any) -> None:
    both = watch()
    with pytest.raises(TwixtError, match="column"):
        both.view.add_columns(columns)
    with pytest.raises(TwixtError, match="'heat' is declared as"):
        both.view.add_columns({"heat": Column("f4", 3), "more": Column("f4")})
    added = both.view.add_columns({"heat": Column("f4"), "more": Column("f4")})
    assert list(added) == [*DECLARED, "more"]
    assert both.publish(position=places(0, 1), columns={"more": [1, 2]}).columns["more"].tolist() == [1, 2]


def test_a_part_column_that_the_scene_has_no_use_for_is_refused_and_the_view_goes_on() -> None:
    scene = Scene([Sphere()] * 2, color_by=ColorBy("heat"))
    both = Watched(scene, columns={"heat": Column("f4")})
    try:
        with pytest.raises(TwixtError, match="leave one of them out"):
            both.view.add_columns({"color": Column("u1", 4, per="part")})
        assert list(both.view.add_columns({})) == list(both.publish(position=places(0, 1)).columns) == ["heat"]
    finally:
        both.link.close()
        both.view.close()
