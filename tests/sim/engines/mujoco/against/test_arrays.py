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
    changes,
    fields,
    rows_of,
    seen_fields,
    state,
)
from twixt.sim.engines.mujoco.model.watched_model import EFFECTS  # noqa: E402

# Fields of which some rows are made at once: as many processes as cores.
HALVES = 2
# Fields that MuJoCo's own picture, or ours, has no need to follow: see the test that uses them.
PHYSICS = ("body_mass", "dof_armature", "geom_solmix", "actuator_gear", "key_qpos", "names_map", "mesh_graph")


@pytest.fixture(scope="module")
def found() -> list[Seen]:
    return seen_fields()


def has_change(name: str) -> bool:
    return bool(changes(state()[0], name))


@pytest.fixture(scope="module")
def rows(found: list[Seen]) -> dict[str, Row | None]:
    """Of what MuJoCo draws otherwise, and of what else is watched. Of what changes marks alone the visual fields: all
    others change them through the forces of contacts and the like, which MuJoCo computes."""
    watched = [
        each._replace(view=0) for each in found if each.name in EFFECTS and each.view is None and not each.refused
    ]
    drawn = [
        each
        for each in found
        if each.view is not None and (not VIEWS[each.view].shows_all or each.name.startswith(("vis.", "stat.")))
    ]
    drawn += [each for each in watched if has_change(each.name)]
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
    assert len(made) > 120
    assert [row for row in made if row.verdict == OURS_ALONE] == []
    stays = {row.name: row.said for row in made if row.verdict == OURS_STAYS}
    assert {name for name, said in stays.items() if not said} == set()
    assert set(stays) - unshown == set()
    assert [row for row in made if row.said and row.verdict == ALIKE] == []
    # The scene of a rope has its first radius, and its vertices the present one.
    assert [row.name for row in made if not row.is_fresh and row.verdict != BOTH_STAY] in ([], ["flex_radius"])
