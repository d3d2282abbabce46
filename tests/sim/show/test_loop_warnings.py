"""A user's own loop is told once what of its states the picture cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.watched import Watched
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Box, Scene, Sphere

NORTHING = 5.4e6  # UTM: float32 holds half metres there
CARS = Scene([Box((4.0, 2.0, 1.5))] * 3)
DT_S = 0.02
# 3 m/s for four seconds: five looks.
PUBLISHES, SPEED = 200, 3.0
Publish = Callable[[Watched, np.ndarray], None]


@pytest.fixture
def watched() -> Iterator[Watched]:
    both = Watched(CARS, dt=DT_S)
    yield both
    both.link.close()
    both.view.close()


def from_slot(watched: Watched, position: np.ndarray) -> None:
    with watched.view.slot(len(position)) as records:
        records["position"] = position


WAYS: dict[str, Publish] = {
    "float64": lambda watched, position: watched.view.publish(position=position),
    "float32": lambda watched, position: watched.view.publish(position=position.astype(np.float32)),
    "lists": lambda watched, position: watched.view.publish(position=position.tolist()),
    "ids": lambda watched, position: watched.view.publish(position=position[::-1], ids=[7, 30, 2]),
    "slot": from_slot,
}


@pytest.mark.parametrize(("way", "name"), [(way, 2 if way == "ids" else 0) for way in WAYS])
def test_a_slow_car_at_a_northing_is_named_once_here_and_to_viewers(
    watched: Watched, capfd: pytest.CaptureFixture[str], way: str, name: int
) -> None:
    capfd.readouterr()
    position = np.zeros((3, 3))
    position[:, 1] = 10.0, 20.0, 30.0
    for publish in range(PUBLISHES):
        position[0, 0] = NORTHING + SPEED * DT_S * publish
        WAYS[way](watched, position)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"twixt: body {name} at x = 5,400,0")
    assert "moves in steps of 0.5 m" in lines[0]
    assert "subtract an origin" in lines[0]
    assert watched.view._session.status._fields["warning"] == lines[0].removeprefix("twixt: ")


@pytest.mark.parametrize("way", WAYS)
def test_cars_near_the_origin_are_not_reported(watched: Watched, capfd: pytest.CaptureFixture[str], way: str) -> None:
    capfd.readouterr()
    position = np.zeros((3, 3))
    for publish in range(PUBLISHES):
        position[0, 0] = 50 + SPEED * DT_S * publish
        WAYS[way](watched, position)
    assert capfd.readouterr().err == ""


def test_a_loop_that_adds_to_float32_far_away_is_told_so_where_it_gives_velocities(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    watched.view.scene = Scene([Sphere(radius=0.1)] * 3)
    capfd.readouterr()
    position, velocity = np.full((3, 3), 1000, np.float32), np.zeros((3, 3))
    velocity[1, 2] = 2.5e-5 / DT_S
    for _ in range(PUBLISHES):
        position += velocity * DT_S
        watched.view.publish(position=position, velocity=velocity)
    assert (position == 1000).all()
    (line,) = capfd.readouterr().err.splitlines()
    assert "body 1 at z = 1,000 m does not move, although its velocity is 0.0012 m/s" in line


def test_times_that_differ_by_less_than_a_nanosecond_are_named_once(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    for publish in range(20):
        seen = watched.publish(position=np.zeros((1, 3)), sim_time=publish * 4e-10)
    assert seen.sim_time_ns == 8
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("twixt: sim_time advanced by 4e-10 s, but snapshots hold whole nanoseconds")


def test_a_time_that_is_published_again_or_goes_back_is_not_named(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    for time_s in (0.0, 0.0, 1e-9, 1e-9, 0.5, 0.5 - 1e-12, 0.2, 0.2):
        watched.publish(position=np.zeros((1, 3)), sim_time=time_s)
    assert capfd.readouterr().err == ""


def test_a_scale_that_is_nothing_in_a_snapshot_is_named_once_and_0_is_not(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    for scale in ([1.0, 0.0, 6e-8], 0.0):
        watched.publish(position=np.zeros((3, 3)), scale=scale)
    assert capfd.readouterr().err == ""
    for _ in range(20):
        seen = watched.publish(position=np.zeros((3, 3)), scale=[1.0, 1e-9, 1.0])
    assert seen.bodies["scale"].tolist() == [1, 0, 1]
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("twixt: a scale after step 2 is 0 as float16, its type in a snapshot: that body")


def test_a_shape_too_small_to_be_seen_is_named(watched: Watched, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    watched.view.scene = Scene([Sphere(1e-10)])
    other = Watched(Scene([Sphere(1e-10)]))
    other.link.close()
    other.view.close()
    named = [line for line in capfd.readouterr().err.splitlines() if "the Sphere of body 0 is 2e-10 m across" in line]
    assert len(named) == 2


def masked(values: Any, *places: int) -> np.ma.MaskedArray:
    array = np.ma.masked_array(values)
    array[list(places)] = np.ma.masked
    return array


def test_masked_entries_are_shown_as_not_given(watched: Watched, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    for kind in (np.float32, np.float64):
        position = masked(np.ones((3, 3), kind), 1)
        for _ in range(20):
            seen = watched.publish(position=position, velocity=masked(np.ones((3, 3)), 2))
        assert np.isnan(seen.bodies["position"]).all(axis=1).tolist() == [False, True, False]
        assert np.isnan(seen.bodies["velocity"]).all(axis=1).tolist() == [False, False, True]
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("twixt: body 1 has the position [nan, nan, nan]")


@pytest.mark.parametrize(
    "fields",
    [
        {"position": masked(np.ones((3, 3), int), 1)},
        {"position": np.ones((3, 3)), "visible": masked([True] * 3, 1)},
        {"position": np.ones((3, 3)), "color": masked(np.ones((3, 3), np.uint8), 1)},
        {"position": np.ones((3, 3)), "ids": masked([1, 2, 3], 1)},
    ],
)
def test_masked_entries_of_a_type_without_a_nan_are_refused(watched: Watched, fields: dict[str, Any]) -> None:
    name = list(fields)[-1]
    with pytest.raises(TwixtError, match=rf"^{name} must have a value in each entry, got \d masked entries of"):
        watched.view.publish(**fields)


def test_a_masked_array_without_masked_entries_is_an_array(watched: Watched) -> None:
    seen = watched.publish(position=np.ma.masked_array(np.ones((3, 3))), color=np.ma.masked_array([1, 0, 0]))
    assert (seen.bodies["position"] == 1).all()
    assert seen.bodies["color"][0].tolist() == [255, 0, 0, 255]
