"""A camera that follows whole worlds: bodies stay in the picture, at each size, lens, rate and shape of window."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.render.scene.followed import (
    SIZE_PX,
    WORLDS,
    Bodies,
    Followed,
    G,
    Shown,
    World,
    balls,
    explosion,
    hopping,
    line,
    orbiter,
    pile,
    ring,
    sampled,
    still_share,
    teleporter,
    whole_share,
)
from twixt.ipc.ring.mapped_segment import SampledBodies
from twixt.ipc.scene import Box, Plane, Scene, Shape, Sphere
from twixt.ipc.snapshot import Head
from twixt.render.draw.frame.camera import MAX_DISTANCE_M, MIN_DISTANCE_M, OrbitCamera
from twixt.render.draw.frame.framing import framed_balls
from twixt.render.scene.automatic_camera import ALONE_SHARE, KEPT_S, REST_SHARE
from twixt.render.scene.body_bounds import RIGHT
from twixt.render.scene.followed_view import FIRST_SAMPLES, MOST_BODIES, SAMPLES_PER_S, ShapeFacts

pytestmark = pytest.mark.filterwarnings("error")  # of numpy: users would see them

LEAST_WHOLE = 0.995
CUT_WORLDS = {"teleporter": 0.98}  # bodies that appear where nobody expects them


def moves_of(frames: list[Shown]) -> int:
    """Number of moves that begin."""
    return sum(later.is_moving and not before.is_moving for before, later in pairwise(frames))


def are_between(frames: list[Shown]) -> bool:
    """True if no body in the picture is cut by the near or the far plane."""
    return all(shown.is_between for shown in frames if shown.is_whole)


def centred(size_m: float = 1.0, count: int = 12) -> np.ndarray:
    return np.random.default_rng(7).uniform(-size_m, size_m, (count, 3))


@pytest.mark.parametrize("name", WORLDS)
def test_the_bodies_stay_whole_in_the_picture_and_between_the_planes(name: str) -> None:
    frames = Followed(WORLDS[name]()).run(12)
    assert whole_share(frames) >= CUT_WORLDS.get(name, LEAST_WHOLE)
    assert are_between(frames)
    assert max(shown.share for shown in frames if shown.is_whole) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("physics_hz", [5.0, 240.0])
def test_the_bodies_stay_in_the_picture_at_each_rate_of_physics(name: str, physics_hz: float) -> None:
    frames = Followed(WORLDS[name](), hz=30.0, physics_hz=physics_hz).run(20)
    assert whole_share(frames) >= CUT_WORLDS.get(name, 0.985)
    assert are_between(frames)


@pytest.mark.parametrize(("name", "still"), [("ring", 0.99), ("pile", 0.6), ("orbiter", 0.5), ("groups", 0.6)])
def test_the_camera_stands_in_most_frames(name: str, still: float) -> None:
    assert still_share(Followed(WORLDS[name](), hz=30.0).run(20)) > still


@pytest.mark.parametrize("turns_per_s", [0.3, 1.0, 4.0])
def test_a_wheel_that_turns_from_the_first_frame_on_is_seen_from_the_first_place(turns_per_s: float) -> None:
    frames = Followed(ring(math.tau * turns_per_s), lead=3).run(1)
    assert len({shown.place for shown in frames}) == 1


@pytest.mark.parametrize(("speed_m_s", "strides_per_s", "stride_m"), [(1.2, 1.0, 0.35), (4.0, 1.6, 0.6)])
def test_the_picture_does_not_pulse_with_the_strides_of_a_runner(
    speed_m_s: float, strides_per_s: float, stride_m: float
) -> None:
    def body(t: float) -> Bodies:
        x, swing = speed_m_s * t, stride_m * math.sin(math.tau * strides_per_s * t)
        return balls([[x, 0, 1.4], [x, 0, 1], [x + swing, 0.1, 0.1], [x - swing, -0.1, 0.1], [x - swing / 2, 0.3, 0.9]])

    followed = Followed(World([Sphere(0.12)], body))
    followed.run(4)
    frames = followed.run(4)
    distances_m = [shown.place[3] for shown in frames]
    assert whole_share(frames) == 1
    assert np.ptp(distances_m) < 0.01 * distances_m[0]


def stop_and_go(t: float) -> Bodies:
    """A body that goes 10 m in a second and then stands for a second."""
    return balls([[10 * (t // 2 + min(1, t % 2)), 0, 0]])


def falls_again(t: float) -> Bodies:
    """A body that falls for 2 s and is put back without a new epoch."""
    return balls([[0, 0, -G / 2 * (t % 2) ** 2]])


@pytest.mark.parametrize("body", [stop_and_go, falls_again])
def test_the_picture_does_not_pulse_with_bodies_that_stop_and_go(body) -> None:
    followed = Followed(World([Sphere(0.2)], body))
    followed.run(20)
    distances_m = [shown.place[3] for shown in followed.run(8)]
    assert max(distances_m) < 1.2 * min(distances_m)


def test_a_body_that_stopped_and_went_and_then_goes_slowly_is_large_again() -> None:
    def body(t: float) -> Bodies:
        return stop_and_go(t) if t < 20 else balls([[100 + (t - 20), 0, 0]])

    followed = Followed(World([Sphere(0.2)], body))
    followed.run(20)
    before_m = followed.orbit.distance_m
    followed.run(10)
    assert followed.orbit.distance_m < before_m / 3


# -- sizes and places


@pytest.mark.parametrize("world", [explosion, orbiter])
@pytest.mark.parametrize("factor", [1e-6, 1e4, 1e9])
def test_pictures_are_the_same_at_each_scale(world, factor: float) -> None:
    made = world(6.0) if world is orbiter else world()
    usual, scaled = (Followed(each).run(4) for each in (made, made.scaled(factor)))
    for one, other in zip(usual, scaled, strict=True):
        assert other.is_whole == one.is_whole
        assert other.share == pytest.approx(one.share, rel=0.02)
        assert other.place == pytest.approx(np.multiply(one.place, factor), rel=0.02, abs=0.02 * factor)
    assert still_share(scaled) == pytest.approx(still_share(usual), abs=0.02)
    assert are_between(scaled)


@pytest.mark.parametrize("offset_m", [1e3, 1e6])
def test_a_world_far_from_the_origin_looks_as_one_at_the_origin(offset_m: float) -> None:
    far_m = (offset_m, -offset_m, offset_m)
    usual, far = (Followed(each).run(4) for each in (pile(), pile().scaled(1.0, far_m)))
    assert whole_share(far) >= LEAST_WHOLE
    for one, other in zip(usual, far, strict=True):
        assert other.share == pytest.approx(one.share, rel=0.02, abs=offset_m * 1e-6)


def test_a_body_that_flies_far_away_is_followed_without_trembling() -> None:
    followed = Followed(line(500.0))
    followed.run(20)
    frames = followed.run(5)
    assert whole_share(frames) == 1
    distances_m = [shown.place[3] for shown in frames]
    assert np.ptp(distances_m) < 0.01 * distances_m[0]


def test_the_ball_around_the_bodies_moves_with_them_so_that_the_user_may_zoom_into_them() -> None:
    followed = Followed(World([Sphere(0.1)], lambda t: balls(np.add(centred(), (20 * t, 0, 0)))))
    followed.run(3)
    around, middle = followed.orbit.among, (20 * followed.sim_s, 0, 0)
    assert around is not None
    assert around.middle is not None
    assert math.dist(around.middle, middle) < 2
    assert 1 < around.radius_m < 20
    assert around.small_size_m == pytest.approx(0.1 / 4)


def test_a_lone_ball_takes_a_third_of_the_first_picture_and_of_all_others() -> None:
    frames = Followed(World([Sphere(0.5)], lambda t: balls([[2, 1, 0]]))).run(1)
    assert {round(shown.share, 1) for shown in frames} == {0.3}
    assert frames[0].share == pytest.approx(ALONE_SHARE, rel=0.1)
    assert len({shown.place for shown in frames}) == 1


def test_a_body_that_goes_far_behind_the_others_is_before_the_far_plane_while_the_camera_moves() -> None:
    away = -np.array(OrbitCamera()._axes()[2])

    def bodies(t: float) -> Bodies:
        return balls(np.add([(0, 0, 0), (1, 0, 0), 300 * t * away], (4 * t, 0, 0)))

    frames = Followed(World([Sphere(0.2)], bodies)).run(3)
    assert whole_share(frames) == 1
    assert all(shown.is_between for shown in frames)


@pytest.mark.parametrize("seed", range(6))
def test_no_world_makes_the_camera_fail_or_lose_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(int(rng.integers(1, 30)), 3)) * 10.0 ** rng.uniform(-8, 12)
    swing, speed = rng.uniform(0.1, 30), rng.normal(size=3) * np.abs(base).max() * rng.choice([0, 1, 10])

    def bodies(t: float) -> Bodies:
        dice = np.random.default_rng((seed, round(t * 30)))
        places = base[: dice.integers(len(base) + 1)] * (1 + 2 * math.sin(swing * t)) + speed * t
        if len(places) and dice.random() < 0.1:
            places[dice.integers(len(places))] = dice.choice([math.nan, math.inf, -math.inf, 1e30, 1e38, 0])
        found = balls(places, dice.random(len(places)) < 0.9, int(dice.random() < 0.05))
        found["scale"] = dice.choice([1, 1, 1, 0, -1, 1e4, math.nan, math.inf, 1e-6], len(places))
        return found

    orbit = OrbitCamera(orthographic=seed % 3 == 0, elevation_rad=rng.uniform(-1.57, 1.57), fov_y_deg=150 / (1 + seed))
    followed = Followed(World([Sphere(10.0 ** rng.uniform(-3, 1))], bodies), 30, 30, lead=seed % 3, orbit=orbit)
    for _ in range(90):
        followed.size_px = SIZE_PX if rng.random() < 0.9 else tuple(rng.integers(0, 3000, 2).tolist())
        followed.rate, followed.is_held = float(rng.choice([0, 0.1, 1, 1, 1, 5])), bool(rng.random() < 0.1)
        if rng.random() < 0.02:
            followed.reset()
        place = followed.frame(float(rng.choice([1 / 30, 1 / 30, 0, 0.001, 0.3, 5]))).place
        assert np.isfinite(place).all()
        assert 0 < followed.orbit.near_m < followed.orbit.far_m < math.inf
        assert MIN_DISTANCE_M <= place[3] <= MAX_DISTANCE_M


# -- lenses and windows


def seen_from(name: str) -> OrbitCamera:
    return {
        "orthographic": OrbitCamera(orthographic=True),
        "from above": OrbitCamera(orthographic=True, elevation_rad=math.pi / 2, is_flat=True),
        "wide": OrbitCamera(fov_y_deg=110.0),
        "tele": OrbitCamera(fov_y_deg=5.0),
        "rolled": OrbitCamera(roll_rad=0.7),
        "from below": OrbitCamera(elevation_rad=-1.0),
    }[name]


@pytest.mark.parametrize("lens", ["orthographic", "from above", "wide", "tele", "rolled", "from below"])
@pytest.mark.parametrize("world", [hopping, explosion])
def test_each_lens_keeps_the_bodies_in_the_picture_and_its_direction(lens: str, world) -> None:
    before = seen_from(lens)
    followed = Followed(world(), orbit=before)
    frames = followed.run(4)
    assert whole_share(frames) >= LEAST_WHOLE
    assert are_between(frames)
    same = {"target": before.target, "distance_m": before.distance_m, "reach_m": before.reach_m, "among": before.among}
    assert replace(followed.orbit, **same) == before


@pytest.mark.parametrize("size_px", [(300, 1000), (1000, 1000), (2000, 500), (40, 30)])
@pytest.mark.parametrize("world", [hopping, explosion])
def test_windows_of_each_shape_keep_the_bodies_in_the_picture(size_px: tuple[int, int], world) -> None:
    frames = Followed(world(), size_px=size_px).run(4)
    assert whole_share(frames) >= LEAST_WHOLE
    assert are_between(frames)


def test_a_window_of_one_pixel_does_no_harm() -> None:
    followed = Followed(hopping(), size_px=(1, 1))
    assert np.isfinite([shown.place for shown in followed.run(2)]).all()
    followed.size_px = SIZE_PX
    followed.run(1)
    assert whole_share(followed.run(1)) == 1


def test_a_window_that_is_resized_while_the_camera_moves_shows_the_bodies_soon() -> None:
    followed = Followed(explosion())
    frames = followed.run(0.5)
    assert frames[-1].is_moving
    for width_px in range(800, 200, -20):
        followed.size_px = width_px, 600
        assert np.isfinite(followed.frame().place).all()
    followed.run(1.5)
    assert whole_share(followed.run(3)) == 1


def test_a_window_without_a_size_does_no_harm() -> None:
    followed = Followed(hopping())
    followed.run(0.5)
    followed.size_px = 0, 0
    followed.run(0.5)
    followed.size_px = SIZE_PX
    followed.run(1.5)
    assert whole_share(followed.run(1)) == 1


# -- time


@pytest.mark.parametrize("rate", [0.01, 0.1, 3.0])
def test_each_rate_of_simulated_time_keeps_the_bodies_in_the_picture(rate: float) -> None:
    frames = Followed(explosion(), rate=rate).run(5)
    assert whole_share(frames) >= LEAST_WHOLE
    assert are_between(frames)


@pytest.mark.parametrize("physics_hz", [5.0, 60.0])
def test_in_a_pause_the_camera_comes_to_rest_and_stands(physics_hz: float) -> None:
    followed = Followed(hopping(), physics_hz=physics_hz)
    followed.run(2)
    followed.rate = 0.0
    followed.until_rest()
    followed.run(KEPT_S + 2)  # it may come nearer once
    frames = followed.run(KEPT_S + 1)
    assert {shown.place for shown in frames} == {frames[0].place}
    assert whole_share(frames) == 1


def test_halves_of_a_picture_with_seconds_between_them_are_shown_together() -> None:
    followed = Followed(hopping(), lag_s=3.0)
    followed.run(5)
    for _ in range(60):
        shown = followed.frame()
        earlier = World([Sphere(0.2)], hopping().bodies).bodies(followed.sim_s - 3.0)
        assert shown.is_whole
        assert followed.shows(earlier)


@pytest.mark.parametrize("every_s", [0.3, 1.0])
def test_a_world_that_is_reset_again_and_again_stays_in_the_picture(every_s: float) -> None:
    followed, frames = Followed(explosion()), []
    for _ in range(round(6 / every_s)):
        frames += followed.run(every_s)
        followed.reset()
    assert whole_share(frames) >= 0.98
    assert whole_share(frames[-120:]) == 1
    assert still_share(frames[-120:]) == 1, "it shows the whole cycle"


def test_frames_that_come_late_or_in_a_burst_keep_the_bodies_in_the_picture() -> None:
    followed, rng = Followed(hopping()), np.random.default_rng(3)
    steps_s = rng.choice([0.001, 0.008, 0.016, 0.05, 0.1], 300)
    frames = [followed.frame(float(step_s)) for step_s in steps_s]
    assert whole_share(frames) >= 0.99


@pytest.mark.parametrize("hz", [24.0, 144.0])
def test_each_frame_rate_keeps_the_bodies_in_the_picture(hz: float) -> None:
    assert whole_share(Followed(explosion(), hz=hz).run(4)) >= 0.99


def test_the_bodies_are_sampled_at_most_so_often() -> None:
    followed, asked = Followed(hopping(), hz=240.0, physics_hz=240.0), []
    inner = followed.view._sample
    followed.view._sample = lambda most: asked.append(most) or inner(most)  # type: ignore[func-returns-value]
    followed.run(0.5)
    assert len(asked) >= FIRST_SAMPLES
    asked.clear()
    followed.run(2)
    assert 0.6 * 2 * SAMPLES_PER_S <= len(asked) <= 2 * SAMPLES_PER_S + 1
    followed.rate = 0.0
    followed.run(1)
    asked.clear()
    followed.run(1)
    assert asked == [], "nothing is newer"


# -- nothing, and strange bodies


def nothing(_t: float) -> Bodies:
    return balls(np.zeros((0, 3)))


@pytest.mark.parametrize(
    "bodies",
    [
        nothing,
        lambda t: balls(centred(), False),
        lambda t: balls(np.full((3, 3), math.nan)),
        lambda t: balls(np.full((3, 3), math.inf)),
        lambda t: balls(np.full((3, 3), 1e35)),
    ],
)
def test_without_a_body_the_camera_stands(bodies) -> None:
    frames = Followed(World([Sphere(0.2)], bodies)).run(1)
    assert len({shown.place for shown in frames}) == 1
    assert still_share(frames[1:]) == 1


def test_the_first_bodies_of_an_empty_world_are_shown_at_once() -> None:
    def later(t: float) -> Bodies:
        return balls(np.add(centred(), (50, 0, 0))) if t >= 1 else nothing(t)

    frames = Followed(World([Sphere(0.2)] * 12, later)).run(2)
    shown_late = [shown.at_s for shown in frames if not shown.is_whole]
    assert max(shown_late, default=1.0) <= 1 + 1 / SAMPLES_PER_S
    assert moves_of(frames) == 0


def test_bodies_that_are_all_hidden_for_a_while_are_still_there_afterwards() -> None:
    followed = Followed(World([Sphere(0.2)], lambda t: balls(centred(), not 1 < t < 2)))
    frames = followed.run(4)
    assert len({shown.place for shown in frames}) == 1


@pytest.mark.parametrize("radius_m", [0.0, 0.3])
def test_bodies_at_one_point_are_shown_and_followed(radius_m: float) -> None:
    def point(t: float) -> Bodies:
        bodies = balls(np.full((4, 3), max(0.0, t - 1) * 5))
        bodies["scale"] = radius_m
        return bodies

    frames = Followed(World([Sphere(1)], point)).run(4)
    assert np.isfinite([shown.place for shown in frames]).all()
    assert whole_share(frames) >= 0.98, "it starts at once at 9 m/s"
    assert whole_share(frames[90:]) == 1


@pytest.mark.parametrize("place", [math.nan, math.inf, -1e31, 1e14])
def test_a_body_that_cannot_be_drawn_does_not_move_the_camera(place: float) -> None:
    def bodies(t: float) -> Bodies:
        places = centred()
        if t >= 0.5:
            places[3] = 0, place, 0
        return balls(places)

    frames = Followed(World([Sphere(0.1)], bodies)).run(2)
    assert len({shown.place for shown in frames[1:]}) == 1


def test_a_body_that_flies_off_alone_is_left_out_and_the_others_are_large_again() -> None:
    def bodies(t: float) -> Bodies:
        return balls(np.concatenate([centred(), [[30 * t, 0, 5 * t]]]))

    followed = Followed(World([Sphere(0.1)], bodies), hz=30.0)
    followed.run(12)
    assert followed.view.left_out == 1
    assert followed.orbit.distance_m < 10


@pytest.mark.slow
def test_a_million_bodies_are_followed_by_a_sample() -> None:
    places = np.random.default_rng(1).uniform(-1, 1, (1_000_000, 3))
    world = World([Sphere(0.01)], lambda t: balls(places * (1 + 3 * t)))
    followed = Followed(world, hz=10.0, physics_hz=10.0, lead=0)
    frames = followed.run(0.8)
    assert all(later.place[3] >= before.place[3] for before, later in pairwise(frames))
    assert frames[-1].share < 1.02, "a body in the corner may not be in the sample"
    assert followed.view._bounds.newest is not None
    assert len(followed.view._sample(MOST_BODIES).bodies) <= MOST_BODIES  # type: ignore[union-attr]


def test_a_teleport_to_the_other_end_of_the_world_is_one_move() -> None:
    def bodies(t: float) -> Bodies:
        return balls(np.add(centred(), (1000.0 * (t >= 1), 0, 0)), epoch=int(t >= 1))

    frames = Followed(World([Sphere(0.1)], bodies)).run(4)
    assert moves_of(frames) == 1
    lost = [shown.at_s for shown in frames if not shown.is_whole]
    assert not lost or max(lost) - min(lost) < 0.8
    assert whole_share(frames[-60:]) == 1


def test_a_teleporter_moves_the_camera_in_its_first_cycle_alone() -> None:
    frames = Followed(teleporter(1.5)).run(12)
    assert moves_of(frames) <= 3
    assert len({shown.place for shown in frames[-360:]}) == 1
    assert whole_share(frames[-360:]) == 1


def test_bodies_that_are_spawned_one_after_the_other_are_shown() -> None:
    def row(t: float) -> Bodies:
        return balls([[k, 0, 0] for k in range(1 + int(2 * t))])

    frames = Followed(World([Sphere(0.3)] * 40, row)).run(10)
    assert whole_share(frames) >= 0.97


# -- scenes


def test_children_are_where_their_parents_carry_them() -> None:
    def bodies(t: float) -> Bodies:
        return balls([[8 * t, 0, 0], [0, 2, 0], [0, 0, 2]])

    followed = Followed(World([Sphere(0.3)] * 3, bodies), parents={1: 0, 2: 1})
    frames = followed.run(3)
    assert whole_share(frames) >= LEAST_WHOLE
    assert frames[-1].share > 0.2, "nothing is left behind at the origin"


def test_a_new_scene_with_larger_shapes_is_followed_with_its_radii() -> None:
    followed = Followed(ring())
    followed.run(1)
    followed.set_shapes([Sphere(1.5)] * 100)
    followed.run(1.5)
    frames = followed.run(1)
    assert whole_share(frames) == 1
    assert max(shown.share for shown in frames) <= REST_SHARE + 0.01


def test_a_new_scene_with_a_larger_outline_is_shown_whole() -> None:
    followed = Followed(World([Sphere(0.3)] * 2, lambda t: balls([[0, 0, 0], [1, 0, 0]])))
    followed.run(1)
    low, high = (-20.0, -20.0, 0.0), (20.0, 20.0, 10.0)
    followed.view.set_scene(replace(followed.scene, outline=(low, high)))
    followed.run(2)
    corners = [[x, y, z] for x in (-20, 20) for y in (-20, 20) for z in (0, 10)]
    assert followed.shows(balls(corners))


def test_another_simulation_of_the_scene_is_followed_without_the_bodies_of_the_first() -> None:
    followed = Followed(World([Sphere(0.3)] * 2, lambda t: balls([[-100, 0, 0], [100, 0, 0]])))
    followed.run(2)
    followed.view.follow(lambda _most: sampled(balls([[0, 0, 0], [1, 0, 0]]), followed.sim_s + 0.03))
    followed.frame()
    newest = followed.view._bounds.newest
    assert newest is not None
    right_m = newest.now[RIGHT]
    assert right_m < 5
    assert newest.ahead[RIGHT] == right_m, "no body has flown from one world to the other"
    bounds = followed.view._bounds.between(0, round(followed.sim_s * 1e9))
    assert bounds is not None
    assert bounds[RIGHT] == right_m


def test_a_floor_does_not_keep_the_camera_away() -> None:
    world = World([Box((200, 200, 0.1)), Sphere(0.3), Sphere(0.3)], lambda t: balls([[0, 0, 0], [t, 0, 1], [t, 1, 1]]))
    followed = Followed(world)
    followed.run(4)
    assert followed.orbit.distance_m < 20


@pytest.mark.parametrize(
    ("shapes", "counts"),
    [
        ([Box((0.1, 1, 1)), Sphere(1.0), Sphere(1.0)], [True, True, True]),  # a domino among balls
        ([Box((0.1, 9, 9)), Sphere(1.0), Sphere(1.0)], [False, True, True]),  # a wall
        ([Box((0.1, 9, 9)), Box((0.1, 9, 9)), Sphere(1.0)], [True, True, True]),  # more plates than balls
        ([Plane((9, 9)), Box((0.1, 9, 9)), Box((0.1, 1, 1))], [True, True, True]),  # nothing else
    ],
)
def test_the_bodies_that_count_are_those_of_the_first_view(shapes: list[Shape], counts: list[bool]) -> None:
    scene, bodies = Scene(shapes), balls([[0, 0, 0], [1, 0, 1], [0, 1, 1]])
    found = ShapeFacts(scene).of(SampledBodies(Head(count=3), 1, bodies, None))
    assert found.counts.tolist() == counts
    assert len(framed_balls(scene, bodies).radius) == sum(counts)
