import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.sim.world.world_guard import check_world
from twixt.sim.worlds import WORLDS
from twixt.sim.worlds.metronome import CROSSING_S, RADIUS_M, SPEED_M_S, START_M, Metronome, position_at

DT = 1 / 60


def test_the_body_is_always_where_the_simulated_time_says() -> None:
    world = Metronome()
    for step in range(1, 700):
        world.step(DT)
        sim_time_ns = step * round(DT * 1e9)
        assert world.bodies.position[0, 0] == np.float32(position_at(sim_time_ns / 1e9))
        assert tuple(world.bodies.position[0, 1:]) == (0, 0)


def test_each_crossing_begins_with_a_cut_and_has_none_within() -> None:
    world = Metronome()
    epochs = [int(world.bodies.epoch[0])]
    places = [float(world.bodies.position[0, 0])]
    for _ in range(3 * CROSSING_S * 60 + 1):
        world.step(DT)
        epochs.append(int(world.bodies.epoch[0]))
        places.append(float(world.bodies.position[0, 0]))
    went_back = np.diff(places) < 0
    assert went_back.sum() == 3
    assert np.array_equal(np.diff(epochs) != 0, went_back)


@given(st.floats(0, 1000), st.floats(0, 0.1))
def test_the_speed_is_always_the_same_within_a_crossing(begin_s: float, later_s: float) -> None:
    moved = position_at(begin_s + later_s) - position_at(begin_s)
    if (begin_s + later_s) // CROSSING_S == begin_s // CROSSING_S:
        assert moved == pytest.approx(SPEED_M_S * later_s, abs=1e-9)
    assert START_M <= position_at(begin_s) < -START_M


def test_a_picture_of_800_by_600_shows_a_hundred_pixels_per_metre_and_a_ball_of_24() -> None:
    camera = Metronome().scene.camera
    assert camera is not None
    focal_px = 300 / math.tan(math.radians(camera.fov_y_deg / 2))
    assert camera.eye[0] == camera.eye[2] == 0
    assert focal_px / -camera.eye[1] == pytest.approx(100)
    assert pytest.approx(24) == 2 * RADIUS_M * 100
    assert -START_M * 100 + 12 < 400


def test_the_screen_is_dark_but_for_one_white_ball() -> None:
    scene = Metronome().scene
    assert scene.background == (0, 0, 0)
    assert scene.ground_z is None
    assert scene.outline is None
    assert [shape.color for shape in scene.shapes] == [(1, 1, 1)]


def test_a_reset_goes_back_to_the_left_end_with_a_cut() -> None:
    world = Metronome()
    world.step(DT)
    before = int(world.bodies.epoch[0])
    world.reset(0)
    assert world.bodies.epoch[0] != before
    assert world.bodies.position[0, 0] == np.float32(START_M)
    world.step(DT)
    assert world.bodies.position[0, 0] == np.float32(position_at(round(DT * 1e9) / 1e9))


def test_the_catalogue_names_worlds_that_exist() -> None:
    import importlib

    for name, built_in in WORLDS.items():
        kind = getattr(importlib.import_module(built_in.module), built_in.class_name)
        check_world(kind())
        assert built_in.module.endswith(name)
        assert built_in.description
