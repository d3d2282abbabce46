"""Motion that float32 cannot hold is reported with its body and the resolution there; all other motion is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from twixt.ipc.scene import Box, Scene, Sphere
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.state_checks import CHECKS_OF_A_SAMPLE, LEAST_INTERVAL, MOST_WATCHED, MOTION_CHUNK, LostMotion

NORTHING = 5.4e6  # UTM: float32 holds half metres there
CAR = Scene([Box((4.0, 2.0, 1.5))])
DT_S = 0.02
Path = Callable[[int], Any]  # x, metres, by the number of the publish


def report(
    path: Path, scene: Scene = CAR, publishes: int = 6_000, is_exact: bool = False, velocity: float | None = None,
    bodies: Bodies | None = None, at: Path | None = None,
) -> str:  # fmt: skip
    """The first report about bodies that are at `path` in each publish; in float32 alone unless `is_exact`. at: changes
    the bodies otherwise, in each publish."""
    motion, bodies = LostMotion(lambda: scene), bodies or Bodies(len(scene.shapes))
    if velocity is not None:
        bodies.velocity[:, 0] = velocity
    for tick in range(publishes):
        exact = np.zeros((len(bodies), 3))
        exact[:, 0] = path(tick)
        bodies.position = exact
        if at is not None:
            at(tick)
        if tick % LEAST_INTERVAL == 0:
            text = motion.check(bodies.records, tick, tick * DT_S, exact if is_exact else None)
            if text:
                return f"{tick}: {text}"
    return ""


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_slow_car_at_a_northing_is_named_with_the_resolution_there(is_exact: bool) -> None:
    told = report(lambda tick: NORTHING + 0.3 * DT_S * tick, is_exact=is_exact)
    assert "body 0 at x = 5,400,00" in told
    assert "moves in steps of 0.5 m" in told
    assert "float32" in told
    assert "subtract an origin" in told


def test_positions_known_exactly_are_reported_within_seconds() -> None:
    told = report(lambda tick: NORTHING + 0.3 * DT_S * tick, is_exact=True)
    assert int(told.split(":")[0]) * DT_S < 5


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize(
    "path",
    [
        lambda tick: NORTHING + 0.2,  # at rest
        lambda tick: NORTHING + 0.2 + 1e-9 * (tick % 7),  # at rest, with the noise of a solver
        lambda tick: NORTHING + 400.0 * DT_S * tick,  # so fast that a spacing is a small part of each step
        lambda tick: NORTHING + 1e5 * (tick // 900),  # put elsewhere, without a cut
        lambda tick: 3.0 + 1e-7 * tick,  # slow, where float32 is fine
        lambda tick: 100.0 + 0.1 * DT_S * tick,
        lambda tick: 100.0 + np.sin(tick * DT_S),
        lambda tick: 1e-3 * np.sin(tick * DT_S),
        lambda tick: np.nan if tick % 2 else 1e38,
    ],
)
def test_motion_that_is_shown_well_is_not_reported(path: Path, is_exact: bool) -> None:
    assert report(path, is_exact=is_exact) == ""
    assert report(path, is_exact=is_exact, velocity=0.0) == ""
    assert report(path, is_exact=is_exact, velocity=20.0) == ""  # as of a wheel, or of a body that is held


def test_teleports_of_a_body_far_away_are_not_reported() -> None:
    bodies = Bodies(1)

    def jump(tick: int) -> None:
        if tick % 100 == 0:
            bodies.teleport(0, (NORTHING + tick % 7, 0, 0))

    assert report(lambda tick: NORTHING + tick // 100 * 100 % 7, bodies=bodies, at=jump, is_exact=True) == ""


def test_a_rounding_that_is_a_small_share_of_the_body_is_not_reported() -> None:
    def path(tick: int) -> float:
        return NORTHING + 0.3 * DT_S * tick

    assert report(path, scene=Scene([Sphere(radius=200.0)])) == ""
    assert "body 0" in report(path, scene=Scene([Sphere(radius=10.0)]))


def test_the_scale_of_a_body_counts_as_its_size() -> None:
    bodies = Bodies(1)
    bodies.scale = 100.0
    assert report(lambda tick: NORTHING + 0.3 * DT_S * tick, bodies=bodies) == ""


def test_a_hidden_body_is_not_reported() -> None:
    bodies = Bodies(1)
    bodies.visible[0] = False
    assert report(lambda tick: NORTHING + 0.3 * DT_S * tick, bodies=bodies) == ""


def test_a_body_that_adds_to_its_own_float32_position_and_stands_still_is_named() -> None:
    told = report(lambda tick: 1000.0, scene=Scene([Sphere()]), velocity=1e-5 / DT_S)
    assert "body 0 at x = 1,000 m does not move, although its velocity is 0.0005 m/s" in told
    assert "6.1e-05 m" in told
    assert "float64" in told


def test_a_body_that_stands_still_with_a_velocity_that_float32_could_hold_is_at_rest() -> None:
    # Half a spacing at 1,000 m is 31 micrometres: a step of 40 would have moved it.
    assert report(lambda tick: 1000.0, scene=Scene([Sphere()]), velocity=4e-5 / DT_S) == ""


def test_a_velocity_that_changes_its_sign_moves_nothing() -> None:
    bodies = Bodies(1)

    def shake(tick: int) -> None:
        bodies.velocity[0, 0] = 1e-5 / DT_S * (-1) ** (tick // 256)

    assert report(lambda tick: 1000.0, scene=Scene([Sphere()]), bodies=bodies, at=shake) == ""


@pytest.mark.parametrize("place", [0, MOTION_CHUNK + 700])
def test_one_slow_body_among_many_at_rest_is_found_in_its_turn(place: int) -> None:
    count = 2 * MOTION_CHUNK
    scene, bodies, motion = Scene([Sphere()] * count), Bodies(count), LostMotion(lambda: scene)
    bodies.position[:, 0] = NORTHING
    bodies.position[place, 0] += 100  # the farthest of all
    told = ""
    for tick in range(0, 32 * 3 * CHECKS_OF_A_SAMPLE * 8, 32):
        bodies.position[place, 0] = NORTHING + 100 + 0.01 * tick
        if not told:
            told = motion.check(bodies.records, tick, tick * DT_S)
    assert told.startswith(f"body {place} at x = ")


def test_the_nearest_of_some_hundred_is_found_too() -> None:
    count = 5 * MOST_WATCHED
    scene, bodies, motion = Scene([Sphere()] * count), Bodies(count), LostMotion(lambda: scene)
    bodies.position[:, 0] = NORTHING + 10_000
    told = ""
    for look in range(12 * CHECKS_OF_A_SAMPLE):
        bodies.position[300, 0] = NORTHING + look
        assert not told or told.startswith("body 300 at x = ")
        told = told or motion.check(bodies.records, 32 * look, 32 * look * DT_S)
    assert told


def test_bodies_may_come_and_go_between_looks() -> None:
    motion = LostMotion(lambda: CAR)
    for tick, count in enumerate([0, 5, 3, 0, 300, 300, 2]):
        bodies = Bodies(count)
        bodies.position[:, 0] = NORTHING
        assert motion.check(bodies.records, tick, tick * DT_S, name_of=str) == ""


def test_a_look_changes_nothing() -> None:
    bodies, motion = Bodies(3), LostMotion(lambda: CAR)
    bodies.position[:, 0] = 1000.0
    before = bodies.records.tobytes()
    for tick in range(5):
        motion.check(bodies.records, tick, tick * DT_S, np.full((3, 3), 1000.0))
    assert bodies.records.tobytes() == before


def test_a_restart_of_time_is_no_motion() -> None:
    bodies, motion = Bodies(1), LostMotion(lambda: Scene([Sphere()]))
    bodies.position[:, 0], bodies.velocity[:, 0] = 1000.0, 5e-4
    for look in range(200):  # each second look goes back by as much as the other goes on
        assert motion.check(bodies.records, 100 * look, 2.0 * (look % 2)) == ""
