from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import BODY, CONTINUITY_MASK, CORRECTION, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column


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
    with pytest.raises(TwixtError, match=r"Bodies\.color must be numbers from 0 to 1, or np\.uint8\(\.\.\.\) from 0"):
        bodies.color = (300, 0, 0)
    bodies.color = np.uint8([10, 20, 30])
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


def test_velocities_count_as_given_for_all_once_they_are_written_and_reading_them_changes_nothing() -> None:
    bodies = Bodies(2)
    assert bodies.velocity.shape == (2, 3)
    assert float(np.linalg.norm(bodies.velocity)) == 0
    assert type(bodies.velocity * 2) is type(bodies.velocity.sum(axis=1)) is np.ndarray
    taken = bodies.velocity[[0]]
    taken[0] = 5.0  # a copy
    assert (bodies.records["flags"] == VISIBLE).all()
    bodies.velocity[:] = 0.0
    assert (bodies.records["flags"] == VISIBLE | HAS_VELOCITY).all()
    bodies.angular_velocity = (0, 0, 1)
    assert (bodies.records["flags"] == VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY).all()
    spawned = bodies.spawn()
    assert bodies.records["flags"][spawned] == VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY


def add_in_place(bodies: Bodies) -> None:
    bodies.velocity += 1.0


@pytest.mark.parametrize(
    "write",
    [
        add_in_place,
        lambda bodies: bodies.velocity[1].__setitem__(2, 1.0),
        lambda bodies: bodies.velocity.T.__setitem__(2, 1.0),
        lambda bodies: bodies.velocity.fill(1.0),
        lambda bodies: np.add(1.0, bodies.velocity, out=bodies.velocity),
        lambda bodies: np.add.at(bodies.velocity, (1, 2), 1.0),
        lambda bodies: np.copyto(bodies.velocity, 1.0),
        lambda bodies: np.asarray(bodies.velocity).fill(1.0),
        lambda bodies: bodies.spawn(velocity=(0, 0, 1.0)),
    ],
)
def test_however_velocities_are_written_they_are_given(write: Callable[[Bodies], object]) -> None:
    bodies = Bodies(2)
    write(bodies)
    assert bodies.velocity[-1, 2] == 1.0
    assert (bodies.records["flags"] == VISIBLE | HAS_VELOCITY).all()


def test_teleport_cuts_that_body_alone_and_takes_position_orientation_and_scale() -> None:
    bodies = Bodies(3)
    bodies.teleport(1, (1, 2, 3), orientation=(1, 0, 0, 0), scale=2)
    assert bodies.epoch.tolist() == [0, 1, 0]
    assert bodies.position[1].tolist() == [1, 2, 3]
    assert bodies.orientation[1].tolist() == [1, 0, 0, 0]
    assert bodies.scale[1] == 2
    assert bodies.orientation[0].tolist() == [0, 0, 0, 1]


TURNS = np.array([(0.1, -0.7, 0.5, 0.5), (0.6, 0.0, 0.0, 0.8)])  # x, y, z, w
W_FIRST = TURNS[:, [3, 0, 1, 2]]


def test_a_body_is_placed_by_quaternions_in_either_order() -> None:
    usual, other = Bodies(3), Bodies(3)
    either: Any = ((usual, TURNS, {}), (other, W_FIRST, {"quat": "wxyz"}))
    for bodies, turns, quat in either:
        bodies.teleport(0, (1, 0, 0), turns[0], **quat)
        bodies.teleport([1, 2], np.ones((2, 3)), turns, **quat)
        bodies.correct(1, (1.1, 1, 1), turns[0], **quat)
        bodies.spawn((4, 5, 6), tuple(turns[1]), **quat)
        bodies.spawn(np.zeros((2, 3)), turns, **quat)
        bodies.spawn(np.zeros((2, 3)), np.ma.array(turns), **quat)
    assert usual.orientation[[0, 1, 2, 3]].tolist() == TURNS.astype(np.float32)[[0, 0, 1, 1]].tolist()
    assert other.records.tobytes() == usual.records.tobytes()
    for name, offsets in usual._published_columns(0).items():
        assert other._published_columns(0)[name].tobytes() == offsets.tobytes()


def test_a_body_that_is_spawned_without_an_orientation_is_not_turned_in_either_order() -> None:
    bodies = Bodies(0)
    bodies.spawn(quat="wxyz")
    bodies.spawn(np.zeros((2, 3)), quat="wxyz")
    bodies.teleport(0, (1, 2, 3), quat="wxyz")
    assert bodies.orientation.tolist() == [[0, 0, 0, 1]] * 3


def test_an_unknown_order_is_refused_before_anything_changes() -> None:
    bodies = Bodies(1)
    before = bodies.records.tobytes()
    wrong: Any = "zyxw"
    for call in (
        lambda: bodies.teleport(0, (1, 0, 0), quat=wrong),
        lambda: bodies.correct(0, (1, 0, 0), quat=wrong),
        lambda: bodies.spawn(quat=wrong),
    ):
        with pytest.raises(TwixtError, match=r'^quat must be "xyzw" or "wxyz", got \'zyxw\'$'):
            call()
    assert bodies.records.tobytes() == before


def test_a_teleport_that_is_refused_half_way_slides_nothing() -> None:
    bodies = Bodies(2)
    with pytest.raises(ValueError, match="broadcast"):
        bodies.teleport(1, (5, 0, 0), orientation=(1, 0))
    assert bodies.epoch.tolist() == [0, 1]


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
    assert bodies.spawn((5, 0, 0), color=np.uint8([1, 2, 3, 4]), velocity=(1, 0, 0)) == 1
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


def test_a_body_is_hidden_and_shown_by_its_place_in_visible() -> None:
    bodies = Bodies(4)
    bodies.visible[1] = False
    assert bodies.visible.tolist() == [True, False, True, True]
    assert bodies.epoch.tolist() == [0, 1, 0, 0]
    bodies.visible[[0, 2]] = False
    bodies.visible[1:3] = True
    assert bodies.visible.tolist() == [False, True, True, True]
    bodies.visible &= [True, True, False, True]
    shown = bodies.visible
    shown |= [False, False, False, True]
    shown[1] = False
    assert shown.tolist() == bodies.visible.tolist() == [False, False, False, True]
    assert type(~bodies.visible) is np.ndarray


def test_what_would_write_into_a_copy_of_visible_is_refused() -> None:
    bodies = Bodies(4)
    with pytest.raises(ValueError, match="read-only"):
        bodies.visible[1:3][0] = False
    with pytest.raises(ValueError, match="read-only"):
        bodies.visible.fill(False)


def test_a_hidden_body_that_is_despawned_gives_its_index_back() -> None:
    bodies = Bodies(2)
    bodies.visible[1] = False
    bodies.despawn(1)
    assert bodies.spawn() == 1


def test_a_despawned_body_that_is_shown_is_there_again() -> None:
    bodies = Bodies(1)
    bodies.despawn(0)
    bodies.visible = True
    assert bodies.spawn() == 1
    bodies.despawn(0)
    assert [bodies.spawn(), bodies.spawn()] == [0, 2]


def test_many_are_spawned_and_despawned_at_once() -> None:
    bodies = Bodies(3)
    bodies.despawn([0, 2, 2])
    color = np.uint8([(1, 2, 3, 4)] * 3)
    spawned = bodies.spawn(np.arange(9.0).reshape(3, 3), velocity=(1, 0, 0), color=color, scale=[1, 2, 3])
    assert bodies.color[spawned].tolist() == color.tolist()
    assert spawned.tolist() == [2, 0, 3]
    assert bodies.position[spawned].tolist() == np.arange(9.0).reshape(3, 3).tolist()
    assert bodies.velocity[spawned].tolist() == [[1, 0, 0]] * 3
    assert bodies.scale[spawned].tolist() == [1, 2, 3]
    assert bodies.epoch[[0, 2]].tolist() == [2, 2]
    bodies.despawn(bodies.position[:, 0] > 2)
    assert bodies.visible.tolist() == [False, True, True, False]
    bodies.despawn(slice(None))
    assert not bodies.visible.any()
    assert sorted(bodies.spawn(np.zeros((5, 3))).tolist()) == [0, 1, 2, 3, 4]
    assert bodies.spawn(np.zeros((0, 3))).tolist() == []


def test_a_spawn_that_is_refused_takes_no_index() -> None:
    bodies = Bodies(1)
    bodies.despawn(0)
    with pytest.raises(ValueError, match="broadcast"):
        bodies.spawn((1, 2, 3, 4))
    with pytest.raises(TwixtError, match="color must be"):
        bodies.spawn(color="red")
    assert not bodies.visible.any()
    assert bodies.spawn() == 0


@given(st.lists(st.integers(0, 14), max_size=60))
def test_spawned_hidden_shown_and_despawned_in_any_order_each_index_means_one_body(actions: list[int]) -> None:
    bodies = Bodies(0)
    alive: dict[int, float] = {}
    hidden: set[int] = set()
    for number, action in enumerate(actions, start=1):
        i = sorted(alive)[action % len(alive)] if alive else None
        if action < 6 or i is None:
            i = bodies.spawn((number, 0, 0))
            assert i not in alive
            alive[i] = number
        elif action < 10:
            bodies.despawn(i)
            del alive[i]
            hidden.discard(i)
        elif action < 13:
            bodies.visible[i] = False
            hidden.add(i)
        else:
            bodies.visible |= [j in alive for j in range(len(bodies))]
            hidden.clear()
    shown = {i: place for i, place in alive.items() if i not in hidden}
    assert {int(i): float(bodies.position[i, 0]) for i in np.flatnonzero(bodies.visible)} == shown
    assert len(bodies) == len(bodies.records) == len(bodies.position)
    if alive:
        assert not set(bodies.spawn(np.zeros((len(bodies) + 1, 3))).tolist()) & set(alive)


@pytest.mark.parametrize("count", [-1, 2.5, "3", None, True])
def test_a_count_that_is_no_count_is_refused(count: object) -> None:
    with pytest.raises(TwixtError, match=r"whole number >= 0, got"):
        Bodies(count)  # type: ignore[arg-type]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda bodies: pickle.loads(pickle.dumps(bodies))])
def test_a_copy_is_written_and_grows_like_any_other_bodies(copied: Callable[[Bodies], Bodies]) -> None:
    bodies = Bodies(3, columns={"heat": Column("f4")})
    bodies.columns["heat"][:] = 1
    bodies.correct(1, (1, 0, 0))
    bodies.despawn(2)
    other = copied(bodies)
    assert other.records.tobytes() == bodies.records.tobytes()

    other.position[0], other.columns["heat"][0], other.velocity[:] = (4, 5, 6), 2, 7
    other.correct(1, (2, 0, 0))
    assert [other.spawn((8, 8, 8)), other.spawn((9, 9, 9))] == [2, 3]
    assert other.records["position"][:, 0].tolist() == [4, 2, 8, 9]
    assert other.records["velocity"][:, 0].tolist() == [7, 7, 0, 0]
    assert set(other.records["flags"]) == {VISIBLE | HAS_VELOCITY}
    published = other._published_columns(0)
    assert published["heat"].tolist() == [2, 1, 0, 0]
    assert published[CORRECTION][1, 0] == -2
    assert (len(bodies), bodies.position[:, 0].tolist(), bodies.columns["heat"].tolist()) == (3, [0, 1, 0], [1, 1, 1])


def test_masked_entries_become_nan_which_is_reported_and_not_their_hidden_values() -> None:
    bodies = Bodies(2)
    place = np.ma.masked_array(np.ones((2, 3)), [[False] * 3, [True] * 3])
    bodies.position = place
    assert np.isnan(bodies.position).all(axis=1).tolist() == [False, True]
    bodies.teleport(0, place[1])
    assert np.isnan(bodies.position[0]).all()
    with pytest.raises(TwixtError, match=r"Bodies.position must have a value in each entry, got 3 masked entries of"):
        bodies.position = np.ma.masked_array(np.ones((2, 3), int), [[False] * 3, [True] * 3])


def sums_lost(change: Callable[[Bodies], object]) -> NDArray[np.float64] | None:
    """What `change` adds in vain to three bodies of which the last is at x = 1000."""
    bodies = Bodies(3)
    bodies.position[2, 0] = 1000.0
    bodies._note_lost_sums()
    change(bodies)
    assert bodies.position[2, 0] == 1000.0
    lost = bodies._lost_sums()
    assert type(bodies.position) is np.ndarray
    return lost


def add_to_all(bodies: Bodies) -> None:
    bodies.position += (1e-5, 0.0, 0.0)


def add_to_columns(bodies: Bodies) -> None:
    bodies.position[:, 0] += np.full(3, 2e-5)
    bodies.position[::-1, 0] -= 1e-5


def add_to_rows(bodies: Bodies) -> None:
    bodies.position[1:] += np.array([[1e-5, 0.0, 0.0]])
    bodies.position[2] += (0.0, 1.0, 0.0)


@pytest.mark.parametrize("change", [add_to_all, add_to_columns, add_to_rows])
def test_what_is_added_in_vain_to_positions_is_noted(change: Callable[[Bodies], object]) -> None:
    lost = sums_lost(change)
    assert lost is not None
    np.testing.assert_allclose(lost, [[0, 0, 0], [0, 0, 0], [1e-5, 0, 0]], atol=1e-12)


def test_sums_that_count_and_copies_are_not_noted() -> None:
    def change(bodies: Bodies) -> None:
        own = bodies.position.copy()
        own += 1e-5
        bodies.position[:, 1] += 0.5
        bodies.position[:, 0] * 2.0 + 1e-5
        assert type(bodies.position + 1.0) is np.ndarray

    lost = sums_lost(change)
    assert lost is not None
    assert not lost.any()


@pytest.mark.parametrize("taken", [True, np.True_, np.ones((2, 3), bool), np.ones(3, np.uint8), [1, 1, 1]])
def test_what_is_subtracted_in_vain_may_be_of_any_type_that_numpy_subtracts(taken: Any) -> None:
    bodies = Bodies(2)
    bodies.position[1] = 1e9
    bodies._note_lost_sums()
    bodies.position -= taken
    assert bodies.position[0].tolist() == [-1.0, -1.0, -1.0]
    lost = bodies._lost_sums()
    assert lost is not None
    assert lost.tolist() == [[0, 0, 0], [-1, -1, -1]]


def test_notes_of_sums_are_freed_without_a_garbage_collection() -> None:
    """Physics collects seldom. Notes of 32,000 bodies are 4 MB, and are taken every half second."""
    bodies = Bodies(3)
    gc.disable()
    try:
        bodies._note_lost_sums()
        notes = weakref.ref(bodies._sums)  # type: ignore[arg-type]
        bodies.position += 1.0
        assert notes() is not None
        bodies._lost_sums()
        assert notes() is None
    finally:
        gc.enable()


def test_copies_that_a_world_keeps_hold_no_notes_of_sums() -> None:
    bodies = Bodies(3)
    bodies._note_lost_sums()
    kept = bodies.position.copy()
    lost = bodies._lost_sums()
    assert lost is not None
    amounts = weakref.ref(lost.base)  # type: ignore[arg-type]
    del lost
    kept += 1.0
    assert amounts() is None


def test_sums_are_noted_until_they_are_asked_for_and_bodies_that_grow_are_not_lost() -> None:
    bodies = Bodies(1)
    assert bodies._lost_sums() is None
    bodies._note_lost_sums()
    kept = bodies.position
    bodies.spawn((2.0, 0.0, 0.0))
    bodies.position[1] += (0.5, 0.0, 0.0)
    assert bodies.records["position"][1].tolist() == [2.5, 0.0, 0.0]
    assert bodies._lost_sums() is None
    kept += 1.0  # of the memory before it grew, as ever
    bodies._note_lost_sums()
    copied = copy.deepcopy(bodies)
    copied.position += 1.0
    assert bodies.position[0].tolist() == [0.0, 0.0, 0.0]
    assert copied.position[0].tolist() == [1.0, 1.0, 1.0]


def test_a_spawn_and_a_teleport_import_nothing() -> None:
    """An import takes ms of a step, and fails where no file can be opened."""
    lines = [
        "import sys",
        "from twixt.sim.world.bodies import Bodies",
        "bodies, before = Bodies(1), set(sys.modules)",
        "bodies.spawn((1, 2, 3))",
        "bodies.teleport(0, [4, 5, 6], (0, 0, 0, 1))",
        "bodies.position = 7",
        "print(sorted(set(sys.modules) - before))",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
