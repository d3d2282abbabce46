"""A user's own loop is told once what of its states the picture cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.sim.watched import Watched
from twixt.ipc.scene import Box, Scene, Sphere
from twixt.ipc.snapshot import RECORD, new_bodies

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


def from_records(watched: Watched, position: np.ndarray) -> None:
    records = new_bodies(len(position))
    records["position"] = position
    tick = watched.view._now.tick
    watched.view.publish_whole(records.view(RECORD).view(records.dtype), tick * DT_S)


WAYS: dict[str, Publish] = {
    "float64": lambda watched, position: watched.view.publish(position=position),
    "float32": lambda watched, position: watched.view.publish(position=position.astype(np.float32)),
    "lists": lambda watched, position: watched.view.publish(position=position.tolist()),
    "ids": lambda watched, position: watched.view.publish(position=position[::-1], ids=[7, 30, 2]),
    "slot": from_slot,
    "records": from_records,
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
    assert "body 1 at z = 1,000 m stands still, though its velocity there is 0.0012 m/s" in line
