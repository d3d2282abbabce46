"""Every field of a model that changes while the passive viewer runs is shown as by MuJoCo's renderer, or named."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.sim.engines.mujoco.test_engines_page import table

mujoco = pytest.importorskip("mujoco")

from tests.sim.engines.mujoco.against.arrays import (  # noqa: E402
    ALIKE,
    BOTH_STAY,
    OURS_ALONE,
    OURS_STAYS,
    VIEWS,
    Row,
    Seen,
    all_seen_fields,
    changes,
    fields,
    rows_of,
    state,
)
from twixt.sim.engines.mujoco.shown_model import EFFECTS  # noqa: E402

pytestmark = pytest.mark.slow

# Fields of which some rows are made at once: as many processes as cores.
HALVES = 2
# With these changed MuJoCo's renderer writes beyond its memory, and one process in three is aborted. That they are
# named is held by the tests of `watched_model`.
OVERRUNS = {"flex_elem"}
# Fields of surfaces that are named, though some of a change is seen.
IN_PART = ("skin_", "flex_")
# Fields that change where bodies and vertices are: the scene that stays has their first places, each state the present.
AT_REST = {"body_parentid", "body_pos", "body_quat", "flex_vertbodyid", "flex_radius", "skin_vert", "qpos0"}
# Fields that MuJoCo's own picture, or ours, does not show by default.
PHYSICS = ("body_mass", "dof_armature", "geom_solmix", "actuator_gear", "key_qpos", "names_map", "mesh_graph")


@pytest.fixture(scope="module")
def found() -> list[Seen]:
    return all_seen_fields()


def has_change(name: str) -> bool:
    return bool(changes(state()[0], name))


@pytest.fixture(scope="module")
def rows(found: list[Seen]) -> dict[str, Row | None]:
    """Of what MuJoCo draws otherwise by default, and of what else is watched. Marks are MuJoCo's own, made with each
    state; the whole table has those fields, too."""
    by_default = [each for each in found if each.view is not None and not VIEWS[each.view].shows_all]
    watched = [each._replace(view=0) for each in found if each.name in EFFECTS and not each.refused]
    others = [each for each in watched if each.name not in {seen.name for seen in by_default} and has_change(each.name)]
    drawn = [each for each in by_default + others if each.name not in OVERRUNS]
    with ThreadPoolExecutor(HALVES) as pool:
        made = pool.map(rows_of, (drawn[half::HALVES] for half in range(HALVES)))
    return {name: row for half in made for name, row in half.items()}


def test_all_fields_are_gone_through(found: list[Seen]) -> None:
    model, _ = state()
    names = {each.name for each in found}
    assert names == set(fields(model))
    assert len(names) > 500
    assert names > {
        *PHYSICS,
        "geom_type",
        "light_pos",
        "cam_fovy",
        "vis.headlight.active",
        "vis.map.znear",
        "stat.center",
    }


def test_a_field_that_mujoco_draws_otherwise_is_shown_or_named_once(rows: dict[str, Row | None]) -> None:
    unshown = {name for name, verdict in table("field of the model").items() if verdict == "no effect"}
    assert [name for name, row in rows.items() if row is None] == []  # none ends the program
    made = [row for row in rows.values() if row is not None]
    assert len(made) > 100
    assert [row for row in made if row.verdict == OURS_ALONE] == []
    stays = {row.name: row.said for row in made if row.verdict == OURS_STAYS}
    assert {name for name, said in stays.items() if not said} == set()
    assert set(stays) - unshown == set()
    assert [row.name for row in made if row.said and row.verdict == ALIKE and not row.name.startswith(IN_PART)] == []
    assert {row.name for row in made if not row.is_fresh and row.verdict != BOTH_STAY} <= AT_REST
