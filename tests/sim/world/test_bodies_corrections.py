from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import CONTINUITY_MASK, CORRECTION_TAU_NS, visual
from twixt.sim.world.bodies import Bodies

MS = 1_000_000
QUARTER = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
coordinates = st.floats(-5, 5, width=32)
places = st.tuples(coordinates, coordinates, coordinates)
turns = st.tuples(*[st.floats(-1, 1, width=32)] * 3, st.floats(0.25, 1, width=32)).map(
    lambda q: tuple(np.array(q) / np.linalg.norm(q))
)


def drawn(bodies: Bodies, sim_time_ns: int) -> Any:
    """The records as a viewer draws them."""
    rows, records = visual(bodies.records, bodies._published_columns(sim_time_ns), sim_time_ns)
    shown = bodies.records.copy()
    shown[rows] = records
    return shown


def test_no_columns_go_out_until_something_is_corrected() -> None:
    bodies = Bodies(2)
    bodies.teleport(0, (1, 0, 0))
    bodies.correct(0, (9, 0, 0), max_distance=1.0)
    assert bodies._published_columns(0) == bodies._column_layout == {}
    bodies.correct(0, (9.5, 0, 0), max_distance=1.0)
    assert set(bodies._published_columns(0)) == {"correction", "corrected_ns"}
    assert bodies._column_layout == {"correction": ("<f4", 7), "corrected_ns": ("<i8", 1)}


def test_a_corrected_body_is_drawn_on_from_where_it_was_and_the_offset_decays() -> None:
    bodies = Bodies(2)
    bodies.correct(1, (1, 0, 0), QUARTER)
    assert bodies.position[1].tolist() == [1, 0, 0]
    assert drawn(bodies, 50 * MS)["position"][1] == pytest.approx([0, 0, 0])
    assert drawn(bodies, 50 * MS)["orientation"][1] == pytest.approx([0, 0, 0, 1])
    later = drawn(bodies, 50 * MS + CORRECTION_TAU_NS)
    assert later["position"][1] == pytest.approx([1 - np.exp(-1), 0, 0])
    angle = np.pi / 2 * (1 - np.exp(-1))
    assert later["orientation"][1] == pytest.approx([0, 0, np.sin(angle / 2), np.cos(angle / 2)])
    assert later["position"][0].tolist() == [0, 0, 0]
    assert drawn(bodies, 3_000 * MS)["position"][1].tolist() == [1, 0, 0]


@settings(max_examples=60)
@given(st.lists(st.tuples(places, turns, st.integers(0, 300)), min_size=1, max_size=6))
def test_a_correction_never_moves_what_is_drawn_however_many_came_before(
    corrections: list[tuple[tuple[float, ...], tuple[float, ...], int]],
) -> None:
    bodies = Bodies(1)
    now_ns = 0
    for position, orientation, pause_ms in corrections:
        now_ns += pause_ms * MS
        before = drawn(bodies, now_ns)[0]
        bodies.correct(0, position, orientation)
        after = drawn(bodies, now_ns)[0]
        assert after["position"] == pytest.approx(before["position"], abs=1e-4)
        assert abs(float(after["orientation"] @ before["orientation"])) == pytest.approx(1, abs=1e-4)
        assert bodies.position[0].tolist() == list(position)


def test_several_corrections_between_two_snapshots_are_one() -> None:
    once, twice = Bodies(1), Bodies(1)
    once.correct(0, (3, 0, 0), QUARTER)
    twice.correct(0, (1, 1, 1), (1, 0, 0, 0))
    twice.correct(0, (3, 0, 0), QUARTER)
    for bodies in (once, twice):
        assert bodies._published_columns(7)["correction"][0, :3].tolist() == [-3, 0, 0]
        assert drawn(bodies, 7)["orientation"][0] == pytest.approx([0, 0, 0, 1], abs=1e-6)


def test_a_correction_is_stamped_once_with_the_snapshot_that_first_shows_it() -> None:
    bodies = Bodies(2)
    bodies.correct(0, (1, 0, 0))
    assert bodies._published_columns(10 * MS)["corrected_ns"].tolist() == [10 * MS, 0]
    bodies.correct(1, (1, 0, 0))
    assert bodies._published_columns(20 * MS)["corrected_ns"].tolist() == [10 * MS, 20 * MS]
    assert bodies._published_columns(30 * MS)["corrected_ns"].tolist() == [10 * MS, 20 * MS]


def test_what_moves_further_than_the_limit_is_teleported_and_the_rest_corrected() -> None:
    bodies = Bodies(3)
    bodies.correct([0, 2], [(0.5, 0, 0), (2, 0, 0)], max_distance=1.0)
    assert bodies.epoch.tolist() == [1 << 16, 0, 1]
    assert bodies.position[:, 0].tolist() == [0.5, 0, 2]
    assert drawn(bodies, 0)["position"][:, 0].tolist() == [0, 0, 2]


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused_before_anything_moves(limit: float) -> None:
    bodies = Bodies(1)
    with pytest.raises(TwixtError, match="metres >= 0, or None"):
        bodies.correct(0, (1, 0, 0), max_distance=limit)
    assert bodies.position[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("is_published", [False, True])
@pytest.mark.parametrize("cut", ["teleport", "despawn", "respawn", "hide"])
def test_a_cut_clears_the_offset(cut: str, is_published: bool) -> None:
    bodies = Bodies(2)
    bodies.correct([0, 1], [(1, 0, 0), (1, 0, 0)])
    if is_published:
        bodies._published_columns(0)
    if cut == "teleport":
        bodies.teleport(0, (1, 0, 0))
    elif cut == "hide":
        bodies.visible = [False, True]
    else:
        bodies.despawn(0)
        if cut == "respawn":
            assert bodies.spawn((1, 0, 0)) == 0
    assert drawn(bodies, MS)["position"][:, 0] == pytest.approx([1, 0.0], abs=0.02)


def test_new_bodies_have_no_offset_and_old_ones_keep_theirs_when_the_arrays_grow() -> None:
    bodies = Bodies(1)
    bodies.correct(0, (1, 0, 0))
    for number in range(5):
        bodies.spawn((number, 0, 0))
    assert drawn(bodies, 0)["position"][:, 0].tolist() == [0, 0, 1, 2, 3, 4]


def test_a_world_that_begins_anew_has_no_offsets_from_before() -> None:
    bodies = Bodies(1)
    bodies.correct(0, (1, 0, 0))
    bodies._published_columns(500 * MS)
    assert drawn(bodies, 0)["position"][0].tolist() == [1, 0, 0]


def test_numbers_that_are_not_finite_leave_no_offset() -> None:
    bodies = Bodies(2)
    bodies.position[0] = np.nan
    bodies.correct([0, 1], [(1, 0, 0), (np.nan, 0, 0)], max_distance=1.0)
    assert drawn(bodies, 0)["position"][0].tolist() == [1, 0, 0]
    assert np.isfinite(bodies._published_columns(0)["correction"]).all()
    assert (bodies.epoch & CONTINUITY_MASK == 0).all()
