from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.show.test_view import places, visible
from tests.sim.watched import BALLS, Open, watching
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import ColorBy, Group, Scene, Sphere
from twixt.sim.show.show import show
from twixt.sim.world.columns import Column

DECLARED = {
    "heat": Column("f4"),
    "scale3": Column("f4", 3),
    "frame": Column("u1", rule="none"),
    "on": Column("b1", rule="none"),
}


@pytest.fixture
def watch() -> Iterator[Open]:
    with watching(BALLS, DECLARED) as watch:
        yield watch


def test_a_reader_sees_the_columns_and_what_is_not_passed_stays(watch: Open) -> None:
    both = watch(Scene([Sphere()] * 4, color_by=ColorBy("heat")))
    seen = both.publish(position=places(0, 1), columns={"heat": [0.5, 1.5], "scale3": (1, 2, 3), "on": [True, False]})
    assert seen.columns["heat"].tolist() == [0.5, 1.5]
    assert seen.columns["scale3"].tolist() == [[1, 2, 3]] * 2
    assert seen.columns["on"].tolist() == [True, False]
    seen = both.publish(position=places(0, 1), columns={"frame": np.int64(7)})
    assert seen.columns["heat"].tolist() == [0.5, 1.5]
    assert seen.columns["frame"].tolist() == [7, 7]
    rules = {"heat": "linear", "scale3": "linear", "frame": "none", "on": "none"}
    assert both.link.scene.columns == rules
    assert both.link.scene.color_by == ColorBy("heat")


def test_a_body_keeps_its_values_by_its_id_and_a_new_one_begins_afresh(watch: Open) -> None:
    both = watch(capacity=1)
    both.publish(position=places(1, 2), ids=["a", "b"], columns={"heat": [1, 2], "scale3": (2, 2, 2)})
    seen = both.publish(position=places(3, 2, 4), ids=["c", "b", "d"], columns={"heat": [3, 2, 4]})
    assert visible(seen) == [0, 1, 2]
    assert dict(zip(seen.bodies["position"][:, 0], seen.columns["heat"], strict=True)) == {3: 3, 2: 2, 4: 4}
    by_place = dict(zip(seen.bodies["position"][:, 0], seen.columns["scale3"].tolist(), strict=True))
    assert by_place == {3: [1, 1, 1], 2: [2, 2, 2], 4: [1, 1, 1]}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"haet": [1, 2]}, "no column 'haet'; did you mean 'heat'"),
        ({"zzz": [1, 2]}, "there are heat, scale3, frame, on"),
        ({"heat": [1, 2, 3]}, r"column 'heat' must be numbers of shape \(2,\), or one row for all, got int64 of shape"),
        ({"scale3": [1, 2]}, r"shape \(2, 3\)"),
        ({"heat": ["a", "b"]}, "must be numbers"),
        ({"frame": [1.5, 2]}, "must be whole numbers"),
        ({"frame": [0, 256]}, "whole numbers from 0 to 255, got values from 0 to 256; declare a larger type"),
        ({"frame": [-1, 0]}, "from -1"),
        ({"on": [1, 0]}, "must be bools"),
        ({"heat": object()}, "column 'heat' must be"),
    ],
)
def test_values_that_do_not_fit_are_refused_and_nothing_is_changed(
    watch: Open, columns: dict[str, Any], said: str
) -> None:
    both = watch()
    both.publish(position=places(0, 1), columns={"heat": [1, 2]})
    with pytest.raises(TwixtError, match=said):
        both.view.publish(position=places(5, 6), columns={"heat": [8, 9], **columns})
    seen = both.publish()
    assert seen.bodies["position"][:, 0].tolist() == [0, 1]
    assert seen.columns["heat"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("scene", "options", "said"),
    [
        (Scene(color_by=ColorBy("heat")), {}, "there are none"),
        (Scene([Sphere()] * 2, groups={"late": Group([2])}), {}, "0 to 1, got 2"),
        (Scene([Sphere()] * 2, parents={9: 0}), {"capacity": 8}, "0 to 7, got 9"),
        (Scene(), {"columns": {"epoch": Column("u4")}}, "'epoch'"),
    ],
)
def test_a_scene_that_names_what_is_not_there_is_refused(scene: Scene, options: dict[str, Any], said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        show(scene, viewer=False, **options)


def test_bodies_beyond_the_shapes_may_be_named_where_there_is_room_for_them(watch: Open) -> None:
    watch(Scene([Sphere()], groups={"late": Group([7])}), capacity=8)


@pytest.mark.filterwarnings("error")
def test_a_value_too_large_for_its_column_is_infinite_and_warns_of_nothing(watch: Open) -> None:
    seen = watch().publish(position=places(0), columns={"heat": 1e300})
    assert seen.columns["heat"].tolist() == [np.inf]
