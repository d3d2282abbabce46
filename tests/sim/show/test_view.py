import copy
import pickle
import re
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import twixt
from tests.sim.watched import BALLS, Watched
from twixt.ipc.commands import Command
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError, UnknownArgument
from twixt.ipc.interaction.events import Look, Pull, UserEvent
from twixt.ipc.scene import SHAPES, Camera, Compound, Scene, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.session import Link, attach, running
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_COLOR, HAS_VELOCITY, VISIBLE, Snapshot
from twixt.sim.publish.matching import RecordsById
from twixt.sim.show import publishing
from twixt.sim.show.show import show
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import drawable_scene
from twixt.sim.world.world_guard import check_world

CHECKOUT = Path(twixt.__file__).parent
PATIENCE_S = 30.0


@pytest.fixture
def watched() -> Iterator[Watched]:
    both = Watched()
    yield both
    both.link.close()
    both.view.close()


def places(*x: float) -> np.ndarray:
    return np.array([[value, 0.0, 0.0] for value in x])


def visible(snapshot: Snapshot) -> list[int]:
    return np.flatnonzero(snapshot.bodies["flags"] & VISIBLE).tolist()


def test_a_reader_sees_what_was_published(watched: Watched) -> None:
    quarter = np.array([[0, 0, np.sqrt(0.5), np.sqrt(0.5)]] * 3)
    rgb = np.uint8([(255, 0, 0), (0, 255, 0), (0, 0, 255)])
    seen = watched.publish(
        position=places(1, 2, 3),
        orientation=quarter,
        velocity=places(4, 5, 6),
        angular_velocity=places(7, 8, 9),
        scale=[1, 2, 0.5],
        color=rgb,
    )
    bodies = seen.bodies
    assert bodies["position"].tolist() == [[1, 0, 0], [2, 0, 0], [3, 0, 0]]
    assert np.array_equal(bodies["orientation"], quarter.astype(np.float32))
    assert bodies["velocity"][:, 0].tolist() == [4, 5, 6]
    assert bodies["angular_velocity"][:, 0].tolist() == [7, 8, 9]
    assert bodies["scale"].tolist() == [1, 2, 0.5]
    assert bodies["color"].tolist() == [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]
    assert len(bodies) == 3


def test_quaternions_may_be_published_in_either_order(watched: Watched) -> None:
    turns = [(0.5, 0.1, -0.7, 0.5), (0.0, 0.6, 0.0, 0.8)]  # x, y, z, w
    w_first = [(w, x, y, z) for x, y, z, w in turns]
    for values, quat in ((turns, "xyzw"), (w_first, "wxyz"), (np.array(w_first), "".join(("w", "xyz")))):
        seen = watched.publish(position=places(1, 2), orientation=values, quat=quat)
        assert seen.bodies["orientation"] == pytest.approx(np.array(turns), abs=1e-6)
    seen = watched.publish(position=places(1, 2), quat="wxyz")
    assert seen.bodies["orientation"] == pytest.approx(np.array(turns), abs=1e-6), "kept, and not turned round"


@pytest.mark.parametrize("quat", ["wzyx", "", 3, None, np.eye(4)])
def test_another_order_is_refused_and_publishes_nothing(watched: Watched, quat: Any) -> None:
    before = watched.publish(position=places(1, 2))
    with pytest.raises(TwixtError, match=r'^quat must be "xyzw" or "wxyz", got '):
        watched.view.publish(position=places(3, 4), quat=quat)
    assert watched.publish(position=places(5, 6)).tick == before.tick + 1


def calls_of(work: Callable[[], object]) -> int:
    """Number of calls of Python functions during `work`."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def test_the_usual_order_costs_no_call(watched: Watched) -> None:
    turns = np.tile(np.array([0, 0, 0, 1], np.float32), (4, 1))
    for _ in range(40):
        watched.view.publish(orientation=turns)
    alone = min(calls_of(lambda: watched.view.publish(orientation=turns)) for _ in range(20))
    named = min(calls_of(lambda: watched.view.publish(orientation=turns, quat="xyzw")) for _ in range(20))
    turned = min(calls_of(lambda: watched.view.publish(orientation=turns[:, ::-1], quat="wxyz")) for _ in range(20))
    assert alone == named < turned


def test_a_field_not_passed_stays_and_a_velocity_not_passed_is_not_known(watched: Watched) -> None:
    watched.publish(position=places(1, 2), scale=3, velocity=places(1, 1), angular_velocity=places(1, 1))
    seen = watched.publish(velocity=places(2, 2))
    assert seen.bodies["position"][:, 0].tolist() == [1, 2]
    assert seen.bodies["scale"].tolist() == [3, 3]
    assert (seen.bodies["flags"] == VISIBLE | HAS_VELOCITY).all()
    assert (watched.publish().bodies["flags"] == VISIBLE).all()
    seen = watched.publish(angular_velocity=places(0, 0))
    assert (seen.bodies["flags"] == VISIBLE | HAS_ANGULAR_VELOCITY).all()


def colored(snapshot: Snapshot) -> list[int]:
    return np.flatnonzero(snapshot.bodies["flags"] & HAS_COLOR).tolist()


def test_a_colour_that_was_passed_stays_given_and_new_bodies_have_none(watched: Watched) -> None:
    assert colored(watched.publish(position=places(1, 2))) == []
    assert colored(watched.publish(position=places(1, 2), color=(1, 1, 1))) == [0, 1]
    for _ in range(20):  # every slot
        assert colored(watched.publish(position=places(1, 2))) == [0, 1]
    assert colored(watched.publish(velocity=places(1, 2))) == [0, 1]
    hidden = watched.publish(position=places(1, 2), visible=[True, False])
    assert (colored(hidden), visible(hidden)) == ([0, 1], [0])
    more = watched.publish(position=places(1, 2, 3))
    assert colored(more) == [0, 1]
    assert more.bodies["color"].tolist() == [[255] * 4] * 3
    assert colored(watched.publish(position=places(1))) == [0]
    assert colored(watched.publish(position=places(1, 2, 3))) == [0], "bodies that come back are new"
    assert colored(watched.publish(color=(1, 0, 0))) == [0, 1, 2]


def test_the_colours_of_bodies_with_ids_go_with_their_ids(watched: Watched) -> None:
    watched.publish(position=places(1, 2), ids=["a", "b"], color=np.uint8([(1, 2, 3), (4, 5, 6)]))
    seen = watched.publish(position=places(3, 2), ids=["c", "b"])
    assert seen.bodies["color"][colored(seen), :3].tolist() == [[4, 5, 6]]
    assert colored(watched.publish(position=places(1, 2, 3), ids=["a", "b", "c"])) == colored(seen)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int64, list])
def test_numbers_of_any_kind_and_memory_order_arrive(watched: Watched, kind: Any) -> None:
    rows = [[1, 2, 3], [4, 5, 6]]
    given_rows = rows if kind is list else np.asfortranarray(np.array(rows, kind))
    assert watched.publish(position=given_rows).bodies["position"].tolist() == rows


class OnlyDLPack:
    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **asked: Any) -> Any:
        return self._array.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


@pytest.mark.parametrize(
    "kind", [OnlyDLPack, memoryview, lambda array: type("A", (), {"__array__": array.__array__})()]
)
def test_arrays_of_any_library_that_gives_its_memory_arrive(watched: Watched, kind: Any) -> None:
    for x in range(20):
        assert watched.publish(position=kind(places(x, 2))).bodies["position"].tolist() == places(x, 2).tolist()


def test_simulated_time_is_steps_times_dt_and_due_the_wall_clock(watched: Watched) -> None:
    times = [watched.publish(position=places(0)) for _ in range(3)]
    assert [seen.sim_time_ns for seen in times] == [0, 2_000_000, 4_000_000]
    assert [seen.tick for seen in times] == [0, 1, 2]
    for seen in times:
        assert seen.dt_ns == 2_000_000
        assert seen.due_ns <= seen.published_ns
    assert times[0].published_ns < times[1].due_ns


def test_simulated_time_of_ones_own_counts_on_from_there(watched: Watched) -> None:
    assert watched.publish(position=places(0), sim_time=1.5).sim_time_ns == 1_500_000_000
    assert watched.publish(position=places(0)).sim_time_ns == 1_502_000_000


def test_time_that_runs_back_begins_the_world_anew(watched: Watched) -> None:
    first = watched.publish(position=places(0), sim_time=5.0)
    again = watched.publish(position=places(0), sim_time=0.0)
    assert again.world_epoch == first.world_epoch + 1
    assert watched.link.plan().world_epoch == again.world_epoch
    assert watched.publish(position=places(0)).world_epoch == again.world_epoch


def test_growing_past_the_first_count_loses_nothing() -> None:
    both = Watched(capacity=2)
    for count in (1, 2, 3, 50, 4000):
        seen = both.publish(position=np.arange(3.0 * count).reshape(count, 3))
        assert np.array_equal(seen.bodies["position"], np.arange(3 * count, dtype=np.float32).reshape(count, 3))
        assert visible(seen) == list(range(count))
    both.link.close()
    both.view.close()


def test_a_cut_outlives_growth_and_new_positions(watched: Watched) -> None:
    watched.publish(position=places(1, 2))
    cut = watched.publish(cut=[1]).bodies["epoch"][1]
    many = watched.publish(position=np.zeros((40, 3)))
    assert many.bodies["epoch"][1] == cut
    assert watched.publish(position=np.ones((40, 3))).bodies["epoch"].tolist() == many.bodies["epoch"].tolist()


def test_fewer_bodies_make_the_last_ones_disappear_and_come_back_with_a_cut(watched: Watched) -> None:
    three = watched.publish(position=places(1, 2, 3))
    two = watched.publish(position=places(1, 2))
    back = watched.publish(position=places(1, 2, 9))
    assert visible(two) == [0, 1]
    assert visible(back) == [0, 1, 2]
    epochs = [int(seen.bodies["epoch"][2]) for seen in (three, two, back)]
    assert len(set(epochs)) == 3
    assert back.bodies["epoch"][0] == three.bodies["epoch"][0]


def test_marked_bodies_are_cut_and_only_they(watched: Watched) -> None:
    before = watched.publish(position=places(1, 2, 3)).bodies["epoch"].copy()
    by_mask = watched.publish(position=places(1, 2, 3), cut=[True, False, False]).bodies["epoch"].copy()
    by_place = watched.publish(position=places(1, 2, 3), cut=[2, 2]).bodies["epoch"].copy()
    nobody = watched.publish(position=places(1, 2, 3), cut=[]).bodies["epoch"].copy()
    assert (by_mask != before).tolist() == [True, False, False]
    assert (by_place != by_mask).tolist() == [False, False, True]
    assert (nobody == by_place).all()


def test_hidden_bodies_are_not_drawn_and_appear_with_a_cut(watched: Watched) -> None:
    shown = watched.publish(position=places(1, 2))
    hidden = watched.publish(position=places(1, 2), visible=[False, True])
    assert visible(hidden) == [1]
    assert hidden.bodies["epoch"][0] != shown.bodies["epoch"][0]
    still = watched.publish(position=places(1, 2))
    assert visible(still) == [1]
    assert np.array_equal(still.bodies["epoch"], hidden.bodies["epoch"])
    assert visible(watched.publish(velocity=places(1, 2))) == [1]
    assert visible(watched.publish(position=places(1, 2, 3))) == [1, 2]  # a new one is there to be seen
    assert visible(watched.publish(visible=[True, True, True])) == [0, 1, 2]
    back = watched.publish(position=places(1, 2, 3), visible=[True, False, True])
    assert visible(watched.publish(position=places(1))) == [0]
    assert visible(watched.publish(position=places(1, 2, 3))) == [0, 1, 2]
    assert visible(back) == [0, 2]


def test_a_hidden_body_stays_hidden_whatever_place_its_id_has(watched: Watched) -> None:
    watched.publish(position=places(1, 2, 3), ids=["a", "b", "c"], visible=[True, False, True])
    assert visible(watched.publish(position=places(2, 3, 1), ids=["b", "c", "a"])) == [0, 2]
    assert visible(watched.publish(position=places(3, 1), ids=["c", "a"])) == [0, 2]
    assert visible(watched.publish(position=places(3, 1, 2), ids=["c", "a", "b"])) == [0, 1, 2]


RED = [255, 0, 0, 255]


@pytest.mark.parametrize(
    ("color", "seen"),
    [
        ((1, 0, 0), RED),
        ((1.0, 0.0, 0.0), RED),
        (np.uint8([255, 0, 0]), RED),
        ([np.uint8(255), np.uint8(0), np.uint8(0)], RED),
        ((1, 0, 0, 1), RED),
        (np.int8([1, 0, 0]), RED),
        (np.float16([1, 0, 0]), RED),
        (np.float32([[1, 0, 0], [1, 0, 0]]), RED),
        (np.uint8([1, 0, 0]), [1, 0, 0, 255]),
        ((0, 0, 0), [0, 0, 0, 255]),
        ((0.5, 0, 0), [128, 0, 0, 255]),
    ],
    ids=repr,
)
def test_uint8_counts_to_255_and_every_other_number_to_1(watched: Watched, color: Any, seen: list) -> None:
    assert watched.publish(position=places(1, 2), color=color).bodies["color"].tolist() == [seen] * 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"position": [[0, 0, 0], [0, np.nan, 0], [np.inf, 0, 0]]}, "body 1 has the position [ 0., nan,  0.]"),
        ({"position": [[0, 0, 0], [0, 0, 1e300]]}, "body 1 has the position [ 0.,  0., inf]"),
        ({"position": places(1, 2), "orientation": [[0, 0, 0, 1], [0, 0, 0, np.nan]]}, "body 1 has the orientation ["),
        (
            {"position": places(1, 2), "orientation": [[0, 0, 0, 1], [0] * 4]},
            "body 1 has the orientation [0., 0., 0., 0.]",
        ),
        ({"position": places(1, 2), "velocity": [[0, 0, 0], [0, 0, np.inf]]}, "body 1 has the velocity ["),
        ({"position": places(1, 2), "scale": [1, np.nan]}, "body 1 has the scale nan"),
        ({"position": places(1, 2), "color": [(0, 0, 0.0), (np.nan, 0, 0)]}, "a color is not finite"),
        ({"position": [[1, 0, 0], [np.nan] * 3], "ids": ["a", "b"]}, "body 'b' has the position [nan, nan, nan]"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_what_is_not_finite_is_named_once_here_and_to_viewers_and_the_loop_goes_on(
    watched: Watched, capfd: pytest.CaptureFixture[str], fields: dict[str, Any], said: str
) -> None:
    capfd.readouterr()
    with np.errstate(all="raise"):
        for _ in range(20):
            seen = watched.publish(**fields)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"twixt: {said}")
    assert "after step 0" in lines[0]
    for _ in range(600):
        if watched.link.status:
            break
        watched.link.wait(0.05)
        watched.link.poll()
    assert watched.link.status == {"warning": lines[0].removeprefix("twixt: ")}
    assert seen.bodies["position"][0].tolist() == list(fields["position"][0])


def test_what_is_not_finite_in_a_slot_is_named_once_and_shown_for_what_it_is(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    for _ in range(20):
        with watched.view.slot(3) as records:
            records["position"][2] = np.nan
    assert len(watched.newest().bodies) == 3
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(
        "twixt: body 2 has the position [nan, nan, nan] after step 0; it is not drawn; look in the"
    )


def test_a_hidden_body_may_be_anywhere(watched: Watched, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    watched.publish(position=[[0, 0, 0], [np.nan] * 3], visible=[True, False])
    assert capfd.readouterr().err == ""
    watched.publish(position=[[0, 0, 0], [np.nan] * 3], visible=[True, True])
    assert "body 1 has the position" in capfd.readouterr().err


def test_ids_match_bodies_whatever_their_order(watched: Watched) -> None:
    first = watched.publish(position=places(10, 20, 30), ids=[100, 200, 300])
    turned = watched.publish(position=places(31, 11, 21), ids=[300, 100, 200])
    assert turned.bodies["position"][:, 0].tolist() == [11, 21, 31]
    assert np.array_equal(first.bodies["epoch"], turned.bodies["epoch"])
    again = watched.publish(position=places(32, 12, 22), ids=[300, 100, 200], cut=[0])
    assert again.bodies["position"][:, 0].tolist() == [12, 22, 32]
    assert (again.bodies["epoch"] != turned.bodies["epoch"]).tolist() == [False, False, True]


def test_a_missing_id_disappears_and_its_record_goes_to_a_new_one_with_a_cut(watched: Watched) -> None:
    first = watched.publish(position=places(1, 2, 3), ids=["a", "b", "c"], scale=[5, 5, 5])
    second = watched.publish(position=places(1, 3), ids=["a", "c"])
    third = watched.publish(position=places(4, 3, 1), ids=["d", "c", "a"])
    assert visible(second) == [0, 2]
    assert third.bodies["position"][:, 0].tolist() == [1, 4, 3]
    assert third.bodies["scale"].tolist() == [5, 1, 5]  # a new body has nothing of the one before it
    epochs = [seen.bodies["epoch"] for seen in (first, second, third)]
    assert epochs[0][1] != epochs[1][1] != epochs[2][1] != epochs[0][1]
    assert epochs[0][0] == epochs[2][0]
    replaced = watched.publish(position=places(7, 3, 1), ids=["e", "c", "a"])  # gone and new in one publish
    assert replaced.bodies["epoch"][1] != epochs[2][1]


def test_ids_below_the_number_of_shapes_have_the_shape_of_their_number(watched: Watched) -> None:
    assert watched.publish(position=places(3, 1), ids=[3, 1]).bodies["position"][[3, 1], 0].tolist() == [3, 1]


@given(st.lists(st.lists(st.integers(-5, 12), unique=True, max_size=10), min_size=1, max_size=12))
def test_a_body_always_keeps_its_record_while_it_is_there_and_shares_it_with_nobody(publishes: list[list[int]]) -> None:
    records, known = RecordsById(preferred=4), {}
    for ids in publishes:
        match = records.match(ids)
        rows = np.arange(50)[match.rows][: len(ids)].tolist()
        assert len(set(rows)) == len(ids)
        now = dict(zip(ids, rows, strict=True))
        assert all(now[body] == known[body] for body in now.keys() & known.keys())
        assert sorted(match.spawned) == sorted(now[body] for body in now.keys() - known.keys())
        assert sorted(match.gone) == sorted(known[body] for body in known.keys() - now.keys())
        known = now


@pytest.mark.parametrize(
    ("name", "says"),
    [("colour", "did you mean color? It has position, orientation,"), ("weather", "it has position, orientation,")],
)
@pytest.mark.parametrize("value", [None, (1, 1, 1)])
def test_a_field_that_there_is_not_is_refused_with_those_there_are(
    watched: Watched, name: str, says: str, value: Any
) -> None:
    with pytest.raises(UnknownArgument, match=re.escape(f"View.publish has no argument {name!r}; {says}")):
        watched.publish(position=places(1), **{name: value})
    assert len(watched.publish(position=places(1), color=None).bodies) == 1


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["index", "hide", "cut"])), min_size=1, max_size=10))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_visibility_never_changes_without_a_new_epoch(publishes: list[tuple[int, str]]) -> None:
    both = Watched()
    before: dict[int, tuple[int, int]] = {}
    for count, what in publishes:
        extra: dict[str, Any] = {"hide": {"visible": np.arange(count) % 2 == 0}, "cut": {"cut": [0]}}.get(what, {})
        bodies = both.publish(position=np.zeros((count, 3)), **extra).bodies
        now = {i: (int(body["epoch"]), int(body["flags"]) & VISIBLE) for i, body in enumerate(bodies)}
        for i in before:
            assert now[i][1] == before[i][1] or now[i][0] != before[i][0]
        before = now
    both.link.close()
    both.view.close()


def test_the_only_body_of_a_scene_may_be_given_by_its_row_alone() -> None:
    both = Watched(Scene([Sphere()]))
    for place in ((1, 2, 3), np.float32([4, 5, 6]), (7.5, 8, 9)):
        seen = both.publish(position=place, orientation=(0, 0, 0, 1), velocity=(0, 0, 2))
        np.testing.assert_array_equal(seen.bodies["position"], [place])
        np.testing.assert_array_equal(seen.bodies["velocity"], [(0, 0, 2)])
    both.publish(position=places(1, 2))
    with pytest.raises(TwixtError, match="one row per body"):
        both.publish(position=(1, 2, 3))
    bodies = Bodies(1)
    bodies.position = (1, 2, 3)
    np.testing.assert_array_equal(bodies.position, [(1, 2, 3)])
    both.link.close()
    both.view.close()


def test_the_report_of_a_loop_has_its_publish_intervals_and_no_steps(watched: Watched) -> None:
    for x in range(4):
        watched.publish(position=places(x))
    blocks = watched.view._host.report_for_viewer()
    assert blocks is not None
    physics = blocks["physics"]
    assert physics["published"] == 4
    assert 0 < physics["publish_interval_ms"]["mean"] <= physics["publish_interval_ms"]["max"]
    assert not {"steps", "step_ms"} & physics.keys()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"position": np.zeros((4, 2))}, r"position must be numbers of shape \(4, 3\), got float64 of shape \(4, 2\)"),
        ({"position": np.zeros((4, 3)), "velocity": np.zeros((3, 3))}, r"velocity .*\(4, 3\), got .*\(3, 3\)"),
        ({"position": np.array([["a"] * 3])}, "position must be numbers"),
        ({"position": [[0, 0, 0], [0, 0]]}, "position must be lists of numbers, each as long as the others"),
        ({"position": 5.0}, "one row per body"),
        ({"position": (1, 2)}, r"position must have one row per body, shape \(n, 3\), got int64 of shape \(2,\)$"),
        ({"position": []}, r"position must have one row per body, shape \(n, 3\), got float64 of shape \(0,\)$"),
        ({"position": (1, 2, 3)}, r"one row per body, .* for one body: position=\(\(1, 2, 3\),\)$"),
        ({"orientation": (0, 0, 0, 1)}, r"orientation must have one row per body, .*=\(\(0, 0, 0, 1\),\)$"),
        ({"position": places(1), "orientation": [[0, 0, 0, 0.5]]}, "orientation must be unit .*length 0.5 for body 0"),
        ({"position": places(1), "scale": -1}, "scale must be from 0"),
        ({"position": places(1), "scale": [[np.nan]]}, "scale must be a number"),
        ({"position": places(1, 2), "scale": [np.nan, 1e9]}, r"scale must be from 0 .* got values from 1e\+09"),
        (
            {"position": places(1), "color": (300, 0, 0)},
            r"color must be numbers from 0 to 1, or np\.uint8\(\.\.\.\) from 0",
        ),
        ({"position": places(1), "color": (255, 0, 0)}, "color must be numbers from 0 to 1"),
        ({"position": places(1), "color": np.int8([-1, 0, 1])}, "color must be numbers from 0 to 1"),
        ({"position": places(1), "color": np.array([True, False, True])}, "color must be"),
        ({"position": places(1), "color": np.array([1, 0, 0], object)}, "color must be"),
        ({"position": places(1), "color": np.array([1j, 0, 0])}, "color must be"),
        ({"position": places(1), "color": "red"}, "color must be"),
        ({"position": places(1), "color": (1, 0)}, "color must be"),
        ({"position": places(1), "color": (1.5, 0, 0)}, "color must be numbers from 0 to 1"),
        ({"position": places(1, 2), "color": [(np.nan, 0, 0), (255.0, 0, 0)]}, "color must be numbers from 0 to 1"),
        ({"position": places(1, 2), "visible": [1, 0]}, "visible must be bools"),
        ({"position": places(1, 2), "cut": [2]}, "cut must be bools .* or indices from 0 to 1.*from 2 to 2"),
        ({"position": places(1, 2), "ids": [1, 1]}, "ids must differ"),
        ({"position": places(1, 2), "ids": [1.5, 2.5]}, "ids must be one whole number or text"),
        ({"position": places(1, 2), "ids": [1, 2, 3]}, r"position .*\(3, 3\), got"),
        ({"position": places(1), "sim_time": float("nan")}, "sim_time must be seconds"),
        ({"position": {"x": 1}}, "position must be"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_changes_nothing(
    watched: Watched, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(TwixtError, match=words):
        watched.view.publish(**fields)
    good: dict[str, Any] = {"position": places(1, 2)} | ({"ids": [0, 1]} if "ids" in fields else {})
    seen = watched.publish(**good)
    assert seen.tick == 0
    before = seen.bodies.copy()
    with pytest.raises(TwixtError, match="must"):
        watched.view.publish(**fields)
    assert np.array_equal(watched.newest().bodies, before)


def test_ids_now_and_then_are_refused(watched: Watched) -> None:
    watched.view.publish(position=places(1), ids=[7])
    with pytest.raises(TwixtError, match="every publish or in none"):
        watched.view.publish(position=places(1))
    with pytest.raises(TwixtError, match="whole numbers in every publish, or texts in every publish"):
        watched.view.publish(position=places(1), ids=["seven"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scene": [Sphere()]}, "show needs a Scene, got list"),
        ({"dt": 0}, "dt must be seconds"),
        ({"dt": float("nan")}, "dt must be seconds"),
        ({"capacity": -1}, "capacity must be"),
        ({"overlai": False}, 'did you mean "overlay"'),
        ({"fps": 0.0}, "--fps must be"),
        ({"fps": "fast"}, "--fps must be a finite number > 0, got 'fast'"),
        ({"size_px": "big"}, r"--size must be two values, \(width, height\), got 'big'"),
        ({"size_px": (80.5, 60)}, "whole numbers of pixels"),
        ({"split": "none,auto"}, "--split must be two values"),
        ({"split": ("none", "auto")}, "each half of --split must be two values"),
        ({"split": (("none", ""), ("auto", "late"))}, "the clock of a half of --split .* got 'late'"),
        ({"log": "nowhere/log.csv"}, "--log .* create it"),
        ({"log": 3}, "--log must be a file name, got 3"),
        ({"name": 3}, "--name must be 1 to 64 letters"),
        ({"columns": ["heat"]}, r"columns must be declared as .* got \['heat'\]"),
        ({"name": "a b"}, "name"),
    ],
)
def test_what_cannot_be_shown_is_refused_and_leaves_no_name_behind(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(TwixtError, match=words):
        show(**{"scene": BALLS, "viewer": False, **arguments})
    assert running() == []


def test_options_may_be_paths_and_numbers_of_numpy(tmp_path: Path) -> None:
    options = {"log": tmp_path / "log.csv", "fps": np.float32(60), "size_px": (np.int64(80), np.int64(60))}
    with show(BALLS, viewer=False, **options) as view:
        assert view.is_open
    config = Config.from_json(Config(**options).to_json())
    assert (config.log, config.fps, config.size_px) == (str(tmp_path / "log.csv"), 60.0, (80, 60))


def test_columns_are_published_by_name(watched: Watched) -> None:
    with pytest.raises(TwixtError, match="takes columns by name, .* got list"):
        watched.view.publish(position=places(3), columns=[1, 2])  # type: ignore[arg-type]


def test_a_scene_without_shapes_shows_balls() -> None:
    both = Watched(Scene())
    assert len(both.publish(position=np.zeros((5, 3))).bodies) == 5
    assert both.link.scene.shapes == [Sphere()]
    both.link.close()
    both.view.close()


def test_publish_goes_on_when_viewers_leave_and_does_nothing_after_close(watched: Watched) -> None:
    watched.view.publish(position=places(1))
    watched.link.close()
    for _ in range(50):
        watched.view.publish(position=places(1))
    assert watched.view.is_open
    watched.view.close()
    watched.view.publish(position=places(1))
    watched.view.close()
    assert not watched.view.is_open
    assert running() == []


def test_closing_from_another_thread_never_breaks_the_loop() -> None:
    view = show(BALLS, viewer=False)
    closer = threading.Timer(0.05, view.close)
    closer.start()
    while view.is_open:
        view.publish(position=places(1))
    view.publish(position=places(1))
    closer.join()


def test_a_viewer_that_quits_closes_the_view(watched: Watched) -> None:
    watched.link.send(Command("quit"))
    for _ in range(1_000_000):
        if not watched.view.is_open:
            break
        watched.view.publish(position=places(1))
        watched.link.poll()
    assert not watched.view.is_open


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (None, "ended", ""),
        (GeneratorExit, "ended", ""),
        (KeyboardInterrupt, "interrupted", ""),
        (ValueError("oh"), "crashed", "ValueError: oh"),
    ],
)
def test_viewers_learn_how_the_loop_ended(error: Any, kind: str, words: str) -> None:
    def run() -> Link:
        with show(BALLS, viewer=False) as view:
            link = attach(view.name)
            if error is not None:
                links.append(link)
                raise error
        return link

    links: list[Link] = []
    try:
        links.append(run())
    except (KeyboardInterrupt, GeneratorExit, ValueError):
        pass
    for _ in range(1000):
        links[0].poll()
        if links[0].ended:
            break
        links[0].wait(0.05)
    ended = links[0].ended
    assert ended is not None
    assert ended.kind == kind
    assert words in ended.message
    links[0].close()


def test_a_publish_within_another_is_refused_and_the_next_is_whole(watched: Watched) -> None:
    class Places:
        """Publishes where a signal handler, a destructor or another thread might."""

        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            watched.view.publish(position=places(5, 6, 7))
            return places(3, 4)

    for _ in range(3):  # a field that comes for the first time, and again
        with pytest.raises(TwixtError, match="this view is already being published"):
            watched.view.publish(position=Places())
        watched.view.publish(position=places(1, 2))
        assert watched.newest().bodies["position"][:, 0].tolist() == [1, 2]


def test_it_works_from_a_thread() -> None:
    seen: list[int] = []

    def loop() -> None:
        both = Watched()
        seen.append(len(both.publish(position=places(1, 2)).bodies))
        both.link.close()
        both.view.close()

    thread = threading.Thread(target=loop)
    thread.start()
    thread.join(PATIENCE_S)
    assert seen == [2]


def script(text: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "script.py"
    path.write_text(text)
    code = f"import runpy, sys; sys.path.append({str(CHECKOUT)!r}); runpy.run_path({str(path)!r})"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path)


def test_a_script_without_a_main_guard_or_a_close_ends_by_itself_and_leaves_nothing(tmp_path: Path) -> None:
    lines = [
        "import twixt",
        "v = twixt.show(twixt.Scene(), viewer=False)",
        "v.publish(position=[[0, 0, 0]])",
        "print(v.name)",
    ]
    done = script("\n".join(lines), tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("show-")
    assert done.stderr.splitlines() == [
        "twixt: no viewer was requested (viewer=False); the loop continues without one; "
        f"open a window with view.reopen(), or in a terminal: twixt view {done.stdout.strip()}"
    ]
    assert running() == []


def test_a_loop_that_is_over_before_its_viewer_comes_says_nothing_of_it(tmp_path: Path) -> None:
    states = "for x in range(3): v.publish(position=[[x, 0, 0]])"
    done = script(f"import twixt\nv = twixt.show(twixt.Scene(), offscreen=True)\n{states}\n", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert running() == []


@pytest.mark.parametrize(
    "opened",
    [
        "twixt.show(twixt.Scene(), offscreen=True)",
        "mujoco_viewer.launch_passive(model, mujoco.MjData(model), offscreen=True)",
    ],
)
def test_a_view_that_is_not_kept_is_closed_with_a_line_that_says_so(tmp_path: Path, opened: str) -> None:
    lines = [
        "import mujoco, twixt",
        "from twixt import mujoco_viewer",
        "model = mujoco.MjModel.from_xml_string('<mujoco/>')",
        opened,
        "print('the loop goes on')",
    ]
    done = script("\n".join(lines), tmp_path)
    assert (done.returncode, done.stdout) == (0, "the loop goes on\n")
    assert done.stderr == (
        "twixt: the view was closed before its window opened, because nothing refers to it any more; "
        "keep it in a variable: view = twixt.show(...), viewer = launch_passive(...)\n"
    )
    assert running() == []


def test_a_view_that_published_and_ended_with_its_function_says_nothing(tmp_path: Path) -> None:
    lines = [
        "import twixt",
        "def loop():",
        "    view = twixt.show(twixt.Scene(), offscreen=True)",
        "    for x in range(3):",
        "        view.publish(position=[[x, 0, 0]])",
        "loop()",
    ]
    done = script("\n".join(lines), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_others_may_enter_does_not_end_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "twixt").mkdir()
    (tmp_path / "twixt").chmod(0o777)
    lines = [
        "import twixt",
        "view = twixt.show(twixt.Scene())",
        "view.publish(position=[[0, 0, 0]])",
        "print(view.is_open)",
    ]
    done = script("\n".join(lines), tmp_path)
    assert (done.returncode, done.stdout) == (0, "True\n")
    (line,) = done.stderr.splitlines()
    assert "must be closed to other users (mode 700), but it has mode 777; remove it, or set XDG_RUNTIME_DIR" in line
    assert line.endswith("; the loop continues without a viewer")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_view_is_not_copied_and_goes_on(watched: Watched, copied: Callable[[Any], Any]) -> None:
    with pytest.raises(
        TypeError, match="^a view of twixt.show cannot be copied or pickled, because it belongs to one window"
    ):
        copied({"env": watched.view})
        copied(watched.view)
    assert visible(watched.publish(position=places(1))) == [0]
    assert watched.view.is_open


def test_the_viewer_is_started_after_the_door_is_open_and_told_of_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    front_door = tmp_path / "front_door.py"
    front_door.write_text(
        "import json, sys\n"
        f"sys.path.append({str(CHECKOUT)!r})\n"
        "from twixt.ipc.session import Command, attach\n"
        "link = attach(json.loads(sys.stdin.readline())['name'], owned=True)\n"
        "while not link.latest_pair():\n"
        "    link.wait(0.1); link.poll()\n"
        "link.send(Command('quit'))\n"
        "while link.ended is None:\n"
        "    link.wait(0.1); link.poll()\n"
        f"open({str(tmp_path / 'said')!r}, 'w').write(link.ended.kind)\n"
    )
    monkeypatch.setattr(twixt, "__file__", str(front_door))
    with show(BALLS) as view:
        until = time.monotonic() + PATIENCE_S
        while view.is_open and time.monotonic() < until:
            view.publish(position=places(1))
        assert view._session._process is not None
        assert view._session._process.poll() is None  # it asked for the end, and waits to be told of it
    assert (tmp_path / "said").read_text() == "ended"
    assert running() == []


@pytest.mark.parametrize("world", ["orbit"])
def test_the_worlds_in_examples_run(world: str) -> None:
    names = runpy.run_path(str(CHECKOUT / "examples" / f"{world}.py"))
    orbit = names["Orbit"](count=5)
    orbit.step(orbit.dt)
    assert np.allclose(np.linalg.norm(orbit.bodies.position, axis=1), 1)


def test_the_world_of_shapes_in_examples_turns_all_of_them() -> None:
    world = runpy.run_path(str(CHECKOUT / "examples" / "shapes.py"))["Tumbling"]()
    check_world(world)
    before = world.bodies.orientation.copy()
    world.step(world.dt)
    assert np.allclose(np.linalg.norm(world.bodies.orientation, axis=1), 1)
    assert (np.abs(world.bodies.orientation - before).max(axis=1) > 1e-3).all()
    assert {type(shape) for shape in shape_list(drawable_scene(world)).table} == {*SHAPES.values(), Compound}


def test_the_world_with_columns_in_examples_heats_where_its_torch_goes() -> None:
    world = runpy.run_path(str(CHECKOUT / "examples" / "hot_ring.py"))["HotRing"]()
    check_world(world)
    for _ in range(25):
        world.step(world.dt)
    heat = world.bodies.columns["heat"][world.beads]
    hottest, torch = (world.bodies.position[i] for i in (int(np.argmax(heat)), world.torch))
    assert np.linalg.norm(hottest[:2] - torch[:2]) < 0.5
    assert 0.3 < heat.max() < 2
    assert world.bodies.columns["scale3"][world.beads, 2] == pytest.approx(1 + 3 * heat, rel=1e-5)
    assert drawable_scene(world).columns == {"heat": "linear", "scale3": "linear"}


def test_the_loop_in_examples_runs_to_its_end() -> None:
    names = runpy.run_path(str(CHECKOUT / "examples" / "own_loop.py"))
    names["main"](seconds=0.1, viewer=False)
    assert running() == []


def test_a_camera_is_published_by_itself_and_checked(watched: Watched) -> None:
    camera = Camera((1, 2, 3), body=1, locked=True)
    watched.view.camera = camera
    while watched.link.received.cameras < 1:
        assert watched.link.wait(PATIENCE_S) or not watched.link.ended
    assert watched.link.scene.camera == watched.view.camera == watched.view.scene.camera == camera
    assert watched.link.scene_version == 1
    with pytest.raises(TwixtError, match="View.camera must be Camera"):
        watched.view.camera = "above"  # type: ignore[assignment]
    with pytest.raises(TwixtError, match="Camera.body must name bodies that exist"):
        watched.view.camera = Camera(body=1000)
    watched.view.close()
    watched.view.camera = None


def until(is_so: Any) -> None:
    """Waits for what the view receives on its service thread."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s


def test_events_come_once_without_the_viewers_own_keys_and_the_viewer_is_told_of_a_listener(watched: Watched) -> None:
    assert list(watched.view.events()) == []
    while not watched.link.status.get("listens"):
        assert watched.link.wait(0.05) or not watched.link.ended
    for event in (UserEvent("key", 65), UserEvent("key", 70, is_viewers=True), UserEvent("reset")):
        watched.link.send_action(event)
    seen: list[UserEvent] = []
    until(lambda: seen.extend(watched.view.events()) or len(seen) >= 2)
    assert [(event.name, event.key) for event in seen] == [("key", 65), ("reset", 0)]
    watched.view.close()
    assert list(watched.view.events()) == []


def test_forces_of_all_viewers_are_added_and_end_with_the_drag(watched: Watched) -> None:
    assert watched.view.forces() == {}
    other = attach(watched.view.name)
    watched.link.send_action(Pull(1, force=(1, 0, 0), torque=(0, 0, 5)))
    other.send_action(Pull(1, force=(0, 2, 0)))
    until(lambda: len(watched.view._host.actions.pulls) == 2)
    [(body, (force, torque))] = watched.view.forces().items()
    assert (body, force.tolist(), torque.tolist()) == (1, [1, 2, 0], [0, 0, 5])
    other.close()
    watched.link.send_action(Pull())
    until(lambda: watched.view.forces() == {})


def test_the_users_view_is_known_until_the_program_sets_one(watched: Watched) -> None:
    view = watched.view
    assert (view.size_px, view.user_camera) == (None, None)
    seen = Look(Camera((3, 2, 1)), 1, (400, 300), True)
    watched.link.send_action(seen)
    until(lambda: view.user_camera)
    assert (view.size_px, view.user_camera) == ((400, 300), seen.camera)
    view.camera = None
    assert (view.size_px, view.user_camera) == ((400, 300), None)


def test_after_a_view_was_closed_in_a_block_of_a_slot_the_loop_goes_on(watched: Watched) -> None:
    with watched.view.slot(1):
        watched.view.close()
    with watched.view.slot(1) as records:
        assert len(records) == 1


def test_an_interrupt_while_a_new_slot_is_filled_leaves_no_slot_open(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(publishing, "_fill_new", interrupt)
        with watched.view.slot(1):
            pass
    assert not watched.view._host.ring.writer.is_open
