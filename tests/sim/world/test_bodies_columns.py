from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sim import column_rules
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.layout import COLUMN_DTYPES
from twixt.ipc.scene import ColorBy, Scene, Sphere
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import MOST_COLUMNS, Column
from twixt.sim.world.world import World, drawable_scene, state_hash
from twixt.sim.world.world_guard import check_world

DECLARED = {"heat": Column("f4"), "scale3": Column("f4", 3), "frame": Column(np.int16, rule="none")}


def test_columns_begin_at_zero_and_scale3_at_one() -> None:
    bodies = Bodies(3, columns=DECLARED)
    assert {name: (view.shape, view.dtype.str) for name, view in bodies.columns.items()} == {
        "heat": ((3,), "<f4"),
        "scale3": ((3, 3), "<f4"),
        "frame": ((3,), "<i2"),
    }
    assert (bodies.columns["heat"] == 0).all()
    assert (bodies.columns["scale3"] == 1).all()
    assert bodies._column_layout == {"heat": ("<f4", 1), "scale3": ("<f4", 3), "frame": ("<i2", 1)}


def test_what_is_written_into_a_column_is_published() -> None:
    bodies = Bodies(2, columns=DECLARED)
    bodies.columns["heat"][1] = 0.5
    bodies.columns["frame"] = [3, 4]
    bodies.columns["frame"] += 1
    published = bodies._published_columns(0)
    assert published["heat"].tolist() == [0, 0.5]
    assert published["frame"].tolist() == [4, 5]
    assert set(published) == set(DECLARED)


def test_bodies_without_columns_publish_none() -> None:
    bodies = Bodies(2)
    assert len(bodies.columns) == 0
    assert bodies._published_columns(5) == {}
    with pytest.raises(KeyError, match="no column 'heat' was declared .*there are: none"):
        bodies.columns["heat"]


@given(st.lists(st.integers(0, 9), max_size=60))
def test_a_bodys_values_always_stay_its_own_whatever_is_spawned_and_despawned(actions: list[int]) -> None:
    bodies = Bodies(1, columns=DECLARED)
    bodies.columns["heat"][0] = 1
    alive = {0: 1.0}
    for number, action in enumerate(actions, start=2):
        if action < 6 or not alive:
            i = bodies.spawn()
            assert bodies.columns["heat"][i] == 0
            assert bodies.columns["scale3"][i].tolist() == [1, 1, 1]
            bodies.columns["heat"][i] = alive[i] = number
            bodies.columns["scale3"][i] = 2
        else:
            i = sorted(alive)[action % len(alive)]
            bodies.despawn(i)
            del alive[i]
    assert all(len(column) == len(bodies) for column in bodies._published_columns(0).values())
    assert {i: float(bodies.columns["heat"][i]) for i in alive} == alive


@pytest.mark.parametrize("dtype", COLUMN_DTYPES)
def test_every_type_that_crosses_may_be_declared(dtype: str) -> None:
    assert Bodies(1, columns={"own": Column(np.dtype(dtype))}).columns["own"].dtype == np.dtype(dtype)
    assert Column(np.dtype(dtype).newbyteorder(">")).dtype == dtype


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda: Column("text"), r"one of \|b1.*<f8, got 'text'"),
        (lambda: Column("f16"), "got 'f16'"),
        (lambda: Column("c8"), "got 'c8'"),
        (lambda: Column("f4", 0), "from 1 to 64 values per body, got 0"),
        (lambda: Column("f4", 65), "got 65"),
        (lambda: Column("f4", True), "got True"),
        (lambda: Column("f4", rule="cubic"), "one of linear, angle, none, latest, or your own module:function"),
        (lambda: Column("f4", rule=None), "got None"),  # type: ignore[arg-type]
        (lambda: Column("f4", rule=lambda old, new, alpha: new), "defined at the top of a module"),
        (lambda: Column("f4", rule=column_rules.made_inside()), "a nested function"),
        (lambda: Column("f4", rule=column_rules.Rules().method), "defined at the top of a module"),
        (lambda: Column("f4", rule=column_rules.Rules()), "defined at the top of a module"),
        (lambda: Column("f4", rule=column_rules.shortened), "defined at the top of a module"),
        (lambda: Bodies(1, columns={"heat": "f4"}), r'\{"heat": Column\("f4"\)\}'),  # type: ignore[dict-item]
        (lambda: Bodies(1, columns={"position": Column("f4", 3)}), "'position', which every body has"),
        (lambda: Bodies(1, columns={"correction": Column("f4", 7)}), "'correction'"),
        (lambda: Bodies(1, columns={"corrected_ns": Column("i8")}), "'corrected_ns'"),
        (lambda: Bodies(1, columns={"visible": Column("b1")}), "'visible'"),
        (lambda: Bodies(1, columns={"two words": Column("f4")}), "must be an identifier"),
        (lambda: Bodies(1, columns={"scale3": Column("f8", 3)}), r'must be Column\("f4", 3\)'),
        (lambda: Bodies(1, columns={f"c{i}": Column("f4") for i in range(MOST_COLUMNS + 1)}), "at most 30 columns"),
    ],
)
def test_a_column_that_cannot_be_is_refused_where_it_is_declared(declare: Any, said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        declare()


def test_a_value_of_the_wrong_shape_is_refused_where_it_is_assigned() -> None:
    bodies = Bodies(2, columns=DECLARED)
    with pytest.raises(ValueError, match="could not broadcast"):
        bodies.columns["heat"] = np.zeros(3)


def test_a_function_at_the_top_of_a_module_crosses_by_its_name() -> None:
    assert Column("f4", rule=column_rules.eased).rule == "tests.sim.column_rules:eased"
    assert Column("f4", rule="my_rules:ease").rule == "my_rules:ease"
    assert (Column(bool).rule, Column(bool, rule="latest").rule, Column("u1").rule) == ("none", "latest", "linear")


def test_a_rule_in_the_script_itself_is_refused_with_the_way_out(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from twixt import Column\ndef ease(old, new, alpha):\n    return new\nColumn('f4', rule=ease)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert re.search("InvalidValue: the rule ease is defined in the script itself.*in a separate module", done.stderr)


class Warm(World):
    def __init__(self, scene: Scene | None = None) -> None:
        self.bodies = Bodies(2, columns={**DECLARED, "eased": Column("f4", rule=column_rules.eased)})
        self.scene = scene or Scene([Sphere()] * 2, color_by=ColorBy("heat"))

    def step(self, dt: float) -> None: ...


def test_the_scene_that_is_drawn_knows_the_rules() -> None:
    world = Warm()
    check_world(world)
    rules = {"heat": "linear", "scale3": "linear", "frame": "none", "eased": "tests.sim.column_rules:eased"}
    assert drawable_scene(world).columns == rules
    assert drawable_scene(Warm(Scene())).columns == rules
    assert drawable_scene(world).color_by == ColorBy("heat")


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (Scene(color_by=ColorBy("hat")), r"one value per body \(there are heat, frame, eased\), got 'hat'"),
        (Scene(color_by=ColorBy("scale3")), "got 'scale3'"),
        (Scene(columns={"cold": "linear"}), r"declared columns \(there are heat, .*\), got 'cold'"),
        (Scene(parents={1: 2}), "Scene.parents must name bodies that exist, 0 to 1, got 2"),
    ],
)
def test_a_scene_that_names_what_is_not_there_is_refused(scene: Scene, said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        check_world(Warm(scene))


def test_the_hash_of_a_state_covers_its_columns() -> None:
    world = Warm()
    before = state_hash(world)
    world.bodies.columns["frame"][0] = 1
    assert state_hash(world) != before


def test_columns_list_the_methods_of_a_mapping_and_their_declarations() -> None:
    names = {name for name in dir(Bodies(1, columns={"heat": Column("f4")}).columns) if not name.startswith("_")}
    assert names == {"declared", "get", "items", "keys", "values"}
