from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim.bodies import Bodies


def test_new_bodies_are_visible_at_rest_at_the_origin() -> None:
    bodies = Bodies(3)
    assert bodies.records.dtype == BODY
    assert bodies.records.shape == (3,)
    assert bodies.visible.all()
    assert (bodies.position == 0).all()
    assert (bodies.orientation == (0, 0, 0, 1)).all()
    assert (bodies.scale == 1).all()
    assert (bodies.color == 255).all()


def test_writing_a_view_writes_the_records() -> None:
    bodies = Bodies(2)
    bodies.position[1] = (1, 2, 3)
    bodies.position += 1
    assert bodies.records["position"].tolist() == [[1, 1, 1], [2, 3, 4]]


def test_a_field_may_be_assigned_whole() -> None:
    bodies = Bodies(2)
    bodies.position = [[1, 2, 3], [4, 5, 6]]
    bodies.orientation = (1, 0, 0, 0)
    bodies.color = (1.0, 0.5, 0, 1)
    assert bodies.color.tolist() == [[255, 128, 0, 255]] * len(bodies)
    with pytest.raises(TwixtError, match=r"Bodies\.color must be floats from 0 to 1"):
        bodies.color = (300, 0, 0)
    bodies.color = (10, 20, 30)
    bodies.scale = 2
    bodies.epoch = [7, 8]
    assert bodies.records["position"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert bodies.records["orientation"].tolist() == [[1, 0, 0, 0]] * 2
    assert bodies.records["color"][1].tolist() == [10, 20, 30, 255]
    assert bodies.records["scale"].tolist() == [2, 2]
    assert bodies.records["epoch"].tolist() == [7, 8]


def test_an_array_of_the_wrong_size_is_refused_where_it_is_assigned() -> None:
    with pytest.raises(ValueError, match="could not broadcast"):
        Bodies(2).position = np.zeros((3, 3))


def test_velocities_count_as_given_from_the_first_touch_on() -> None:
    bodies = Bodies(2)
    assert (bodies.records["flags"] == VISIBLE).all()
    assert bodies.velocity.shape == (2, 3)
    assert (bodies.records["flags"] == VISIBLE | HAS_VELOCITY).all()
    bodies.angular_velocity = (0, 0, 1)
    assert (bodies.records["flags"] == VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY).all()
    spawned = bodies.spawn()
    assert bodies.records["flags"][spawned] == VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY


def test_teleport_cuts_that_body_alone_and_takes_position_orientation_and_scale() -> None:
    bodies = Bodies(3)
    bodies.teleport(1, (1, 2, 3), orientation=(1, 0, 0, 0), scale=2)
    assert bodies.epoch.tolist() == [0, 1, 0]
    assert bodies.position[1].tolist() == [1, 2, 3]
    assert bodies.orientation[1].tolist() == [1, 0, 0, 0]
    assert bodies.scale[1] == 2
    assert bodies.orientation[0].tolist() == [0, 0, 0, 1]


def test_several_bodies_teleport_at_once() -> None:
    bodies = Bodies(3)
    bodies.teleport([0, 2], [(1, 1, 1), (2, 2, 2)])
    assert bodies.epoch.tolist() == [1, 0, 1]
    assert bodies.position[:, 0].tolist() == [1, 0, 2]


@given(st.integers(0, 2**32 - 1))
def test_a_correction_always_changes_the_high_half_and_never_the_low_half(epoch: int) -> None:
    bodies = Bodies(2)
    bodies.epoch = epoch
    bodies.correct(0, (0.1, 0, 0))
    bodies.correct([1], [(0.1, 0, 0)])
    for now in bodies.epoch.tolist():
        assert now >> 16 == ((epoch >> 16) + 1) % 2**16
        assert now & CONTINUITY_MASK == epoch & CONTINUITY_MASK


@given(st.integers(0, 2**32 - 1))
def test_a_teleport_always_changes_the_low_half_and_never_the_high_half(epoch: int) -> None:
    bodies = Bodies(1)
    bodies.epoch[0] = epoch
    bodies.teleport(0, (1, 0, 0))
    now = int(bodies.epoch[0])
    assert now & CONTINUITY_MASK != epoch & CONTINUITY_MASK
    assert now >> 16 == epoch >> 16


def test_a_despawned_body_is_hidden_and_its_index_given_out_again_with_a_cut() -> None:
    bodies = Bodies(2)
    bodies.despawn(1)
    assert bodies.visible.tolist() == [True, False]
    hidden_epoch = int(bodies.epoch[1])
    assert hidden_epoch != 0
    assert bodies.spawn((5, 0, 0), color=(1, 2, 3, 4), velocity=(1, 0, 0)) == 1
    assert bodies.visible.tolist() == [True, True]
    assert bodies.epoch[1] != hidden_epoch
    assert bodies.position[1].tolist() == [5, 0, 0]
    assert bodies.color[1].tolist() == [1, 2, 3, 4]
    assert bodies.velocity.tolist() == [[0, 0, 0], [1, 0, 0]]
    red = bodies.spawn(color=(1, 0, 0))
    assert bodies.color[red].tolist() == [255, 0, 0, 255]


def test_despawning_twice_gives_the_index_out_once() -> None:
    bodies = Bodies(1)
    bodies.despawn(0)
    bodies.despawn(-1)
    assert [bodies.spawn(), bodies.spawn()] == [0, 1]


def test_despawning_a_body_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError):
        Bodies(1).despawn(1)


def test_hiding_and_showing_cuts_the_bodies_that_change() -> None:
    bodies = Bodies(3)
    bodies.visible = [True, False, True]
    assert bodies.epoch.tolist() == [0, 1, 0]
    bodies.visible = True
    assert bodies.epoch.tolist() == [0, 2, 0]


@given(st.lists(st.integers(0, 9), max_size=60))
def test_spawned_and_despawned_in_any_order_each_visible_index_means_one_body(actions: list[int]) -> None:
    bodies = Bodies(0)
    alive: dict[int, float] = {}
    for number, action in enumerate(actions, start=1):
        if action < 6 or not alive:
            i = bodies.spawn((number, 0, 0))
            assert i not in alive
            alive[i] = number
        else:
            i = sorted(alive)[action % len(alive)]
            bodies.despawn(i)
            del alive[i]
    assert {int(i): float(bodies.position[i, 0]) for i in np.flatnonzero(bodies.visible)} == alive
    assert len(bodies) == len(bodies.records) == len(bodies.position)


@pytest.mark.parametrize("count", [-1, 2.5, "3", None, True])
def test_a_count_that_is_no_count_is_refused(count: object) -> None:
    with pytest.raises(TwixtError, match=r"whole number >= 0, got"):
        Bodies(count)  # type: ignore[arg-type]
