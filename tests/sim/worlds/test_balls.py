"""The world `balls`, and the contact solver with a few spheres."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY
from twixt.sim.contacts.contact_list import pairs_within
from twixt.sim.contacts.solver import ContactMaterial, ContactSolver, MovingSpheres
from twixt.sim.world.world import state_hash
from twixt.sim.world.world_guard import check_world
from twixt.sim.worlds.balls import GRAVITY_M_S2, MANY, Balls, turned

DT = 1 / 60
DOWN = np.array([0.0, 0.0, -GRAVITY_M_S2])


def after(world: Balls, seconds: float) -> Balls:
    for _ in range(round(seconds / DT)):
        world.step(DT)
    return world


def spheres(places: list[tuple[float, float, float]], radius: float = 0.1, mass: float = 1.0) -> MovingSpheres:
    position = np.array(places, np.float32).T.copy()
    still = np.zeros_like(position)
    ones = np.ones(len(places), np.float32)
    return MovingSpheres(position, still, still.copy(), ones * radius, ones * mass)


def in_a_large_box(balls: MovingSpheres, **material: float) -> ContactSolver:
    return ContactSolver(
        balls, np.array([-50.0, -50.0, 0.0]), np.array([50.0, 50.0, np.inf]), ContactMaterial(**material)
    )


@pytest.fixture(scope="module")
def settled() -> Balls:
    return after(Balls(count=150, seed=3, rocking_deg=0.0), 9.0)


def test_a_pile_comes_to_rest(settled: Balls) -> None:
    speed = np.sqrt((settled.state.velocity**2).sum(axis=0))
    assert speed.max() < 0.02
    assert np.median(speed) < 0.001
    assert (0.5 * settled.state.mass * speed**2).sum() / settled.state.mass.sum() < 1e-5


def test_a_resting_pile_neither_sinks_into_itself_nor_into_the_walls(settled: Balls) -> None:
    assert 0 < settled.solver.overlap() < 0.02


def test_a_resting_pile_does_not_jitter(settled: Balls) -> None:
    before = settled.state.position.copy()
    farthest = 0.0
    for _ in range(60):
        settled.step(DT)
        farthest = max(farthest, np.abs(settled.state.position - before).max())
    assert farthest < 0.01  # metres in a second, a tenth of the smallest radius; of the ball that moved most


def test_all_balls_stay_in_the_box_while_it_rocks() -> None:
    world = Balls(count=120, seed=1)
    for _ in range(360):
        world.step(DT)
        reach = np.abs(world.state.position[:2]) + world.state.radius
        assert reach.max() < world.half_width + 0.05
        assert (world.state.position[2] - world.state.radius).min() > -0.05


def test_the_default_world_never_comes_to_rest() -> None:
    world = after(Balls(count=120, seed=2), 6.0)
    for _ in range(4):
        after(world, 1.0)
        assert np.median(np.sqrt((world.state.velocity**2).sum(axis=0))) > 0.05


def test_same_seed_and_steps_give_the_same_bytes() -> None:
    one, same, other = (after(Balls(count=60, seed=seed), 2.0) for seed in (7, 7, 8))
    assert state_hash(one) == state_hash(same)
    assert state_hash(one) != state_hash(other)


def test_reset_begins_the_same_run_again() -> None:
    fresh = after(Balls(count=40, seed=5), 1.0)
    again = after(Balls(count=40, seed=9), 1.0)
    again.reset(5)
    after(again, 1.0)
    assert fresh.bodies.position.tobytes() == again.bodies.position.tobytes()


def test_a_reset_cuts_every_body() -> None:
    world = Balls(count=5)
    before = world.bodies.epoch.copy()
    world.reset(1)
    assert (world.bodies.epoch != before).all()


def test_what_is_drawn_is_what_is_simulated() -> None:
    world = after(Balls(count=30), 1.0)
    bodies, state = world.bodies, world.state
    assert np.array_equal(bodies.position, state.position.T.astype(np.float32))
    assert np.array_equal(bodies.velocity, state.velocity.T.astype(np.float32))
    assert np.array_equal(bodies.angular_velocity, state.spin.T.astype(np.float32))
    assert np.array_equal(bodies.scale.astype(np.float32), state.radius)
    assert (bodies.records["flags"] & HAS_VELOCITY).all()
    assert (bodies.records["flags"] & HAS_ANGULAR_VELOCITY).all()
    assert np.allclose(np.linalg.norm(bodies.orientation, axis=1), 1, atol=1e-6)


def test_the_camera_has_the_whole_box_in_a_picture_of_four_by_three() -> None:
    for count in (1, 300, 1000, 10_000):
        scene = Balls(count=count).scene
        assert scene.outline is not None
        assert scene.camera is not None
        low, high = np.array(scene.outline)
        corners = np.array([[(low, high)[k >> axis & 1][axis] for axis in range(3)] for k in range(8)])
        eye, target = np.array(scene.camera.eye), np.array(scene.camera.target)
        forward = (target - eye) / np.linalg.norm(target - eye)
        right = np.cross(forward, (0, 0, 1))
        right /= np.linalg.norm(right)
        up = np.cross(right, forward)
        depth = (corners - eye) @ forward
        half_height = np.tan(np.radians(scene.camera.fov_y_deg / 2))
        across = (corners - eye) @ right / depth / half_height / (4 / 3)
        above = (corners - eye) @ up / depth / half_height
        assert np.abs(across).max() < 0.97
        assert np.abs(above).max() < 0.97
        assert max(np.ptp(across), np.ptp(above)) > 1.5


def test_few_distinct_shapes_carry_all_balls() -> None:
    assert len(shape_list(Balls(count=500).scene).table) <= 12


def test_many_balls_take_longer_steps_and_stay_in_their_box_and_apart() -> None:
    world = Balls(count=MANY + 1, seed=4)
    assert world.dt == 1 / 30 != Balls(count=MANY).dt
    state, fallen = world.state, world.state.position[2].max()
    fastest = np.sqrt(2 * GRAVITY_M_S2 * fallen) + 2.0
    for step in range(90):
        world.step(world.dt)
        outside = np.abs(state.position[:2]) + state.radius - world.half_width
        assert outside.max() < 0.1
        assert (state.radius - state.position[2]).max() < 0.1
        assert np.sqrt((state.velocity**2).sum(axis=0)).max() < fastest
        if step > 60:  # the worst of the impact is over
            one, other = pairs_within(state.position, state.radius)
            distance = np.linalg.norm(state.position[:, one] - state.position[:, other], axis=0)
            deep = (state.radius[one] + state.radius[other] - distance) / np.minimum(
                state.radius[one], state.radius[other]
            )
            assert deep.max() < 0.4
            assert np.median(deep) < 0.03


@pytest.mark.parametrize(
    "setting", [{"count": 0}, {"count": 10**9}, {"rocking_deg": -1.0}, {"rocking_deg": 90.0}, {"rocking_deg": math.nan}]
)
def test_a_world_that_cannot_be_says_what_may_be(setting: dict[str, float]) -> None:
    with pytest.raises(TwixtError, match=r"must be .*got"):
        Balls(**setting)  # type: ignore[arg-type]


def test_a_single_ball_falls_lies_and_is_a_world() -> None:
    world = Balls(count=1, rocking_deg=0.0)
    check_world(world)
    after(world, 4.0)
    assert world.state.position[2, 0] == pytest.approx(world.state.radius[0], abs=0.002)


def test_a_step_of_another_length_ends_in_the_same_pile() -> None:
    world = Balls(count=60, rocking_deg=0.0)
    for _ in range(300):
        world.step(1 / 30)
    assert world.solver.overlap() < 0.02
    assert np.abs(world.state.velocity).max() < 0.05


def test_a_dropped_ball_bounces_by_its_restitution_and_then_lies_still() -> None:
    balls = spheres([(0, 0, 1.1)])
    solver = in_a_large_box(balls, restitution=0.5)
    heights = []
    for _ in range(600):
        solver.step(DT, DOWN)
        heights.append(balls.position[2, 0])
    touched = int(np.argmin(heights[:60]))
    apex = max(heights[touched : touched + 40]) - 0.1
    assert apex == pytest.approx(0.25, abs=0.06)  # e^2 times the height fallen, 1 m
    assert heights[-1] == pytest.approx(0.1, abs=0.001)
    assert np.ptp(heights[-60:]) < 1e-6


def test_a_sliding_ball_begins_to_roll_at_five_sevenths_of_its_speed() -> None:
    balls = spheres([(0, 0, 0.1)])
    balls.velocity[0] = 2.0
    solver = in_a_large_box(balls, friction=0.4, rolling_loss_hz=0.0)
    for _ in range(60):
        solver.step(DT, DOWN)
    assert balls.velocity[0, 0] == pytest.approx(2.0 * 5 / 7, rel=0.02)
    assert balls.spin[1, 0] * 0.1 == pytest.approx(balls.velocity[0, 0], rel=0.01)


def test_sliding_friction_slows_by_its_coefficient_times_gravity() -> None:
    balls = spheres([(0, 0, 0.1)])
    balls.velocity[0] = 5.0
    solver = in_a_large_box(balls, friction=0.2, rolling_loss_hz=0.0)
    for _ in range(12):
        solver.step(DT, DOWN)
    assert 5.0 - balls.velocity[0, 0] == pytest.approx(0.2 * GRAVITY_M_S2 * 12 * DT, rel=0.05)


def test_balls_that_hit_each_other_keep_their_momentum() -> None:
    balls = spheres([(0, 0, 10), (0.35, 0.05, 10), (0.2, 0.4, 10.05)])
    balls.mass[:] = (1, 5, 15)
    balls.velocity[:, 0] = (3, 1, 0)
    balls.spin[2, 1] = 20
    solver = in_a_large_box(balls)
    before = (balls.velocity * balls.mass).sum(axis=1)
    for _ in range(30):
        solver.step(DT, np.zeros(3))
    assert abs(balls.velocity[0, 1]) > 0.1  # it was hit
    assert np.allclose((balls.velocity * balls.mass).sum(axis=1), before, atol=1e-4)


def test_a_ball_of_great_mass_rests_on_small_ones() -> None:
    balls = spheres([(-0.07, -0.05, 0.08), (0.07, -0.05, 0.08), (0, 0.08, 0.08), (0, 0, 0.30)], radius=0.08)
    balls.radius[3], balls.mass[3] = 0.2, 15.6
    solver = ContactSolver(balls, np.array([-0.25, -0.25, 0.0]), np.array([0.25, 0.25, np.inf]), ContactMaterial())
    for _ in range(300):
        solver.step(DT, DOWN)
    assert solver.overlap() < 0.02
    assert np.abs(balls.velocity).max() < 0.01


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(0, 10_000), st.sampled_from([0.1, 0.5, 3.0]), st.booleans(), st.booleans())
def test_the_broad_phase_always_finds_exactly_the_pairs_that_overlap(
    count: int, seed: int, room: float, on_a_lattice: bool, on_islands: bool
) -> None:
    random = np.random.default_rng(seed)
    position = random.uniform(-room, room, (3, count))
    if on_islands:  # so far apart that the columns between them would fill the memory
        position += random.choice([-3e5, 0.0, 0.7, 40.0], (3, count))
    if on_a_lattice:
        position = np.round(position, 1)
    radius = random.uniform(0.05, 0.3, count)
    one, other = pairs_within(position, radius)
    offset = position[:, :, None] - position[:, None, :]
    distance = (offset * offset).sum(axis=0)
    wanted = np.argwhere(np.triu(distance < (radius[:, None] + radius) ** 2, 1))
    assert np.array_equal(np.stack((one, other), axis=1), wanted)


@given(st.lists(st.floats(-20, 20), min_size=3, max_size=3))
def test_turning_always_keeps_quaternions_unit_and_turns_by_the_vectors_angle(turn: list[float]) -> None:
    start = np.array([[0.5], [0.5], [0.5], [0.5]])
    result = turned(start, np.array(turn)[:, None])
    assert np.linalg.norm(result) == pytest.approx(1)
    half = np.linalg.norm(turn) / 2
    assert abs(float((start * result).sum())) == pytest.approx(abs(np.cos(half)), abs=1e-9)


def test_a_quarter_turn_about_z_takes_x_to_y() -> None:
    x, y, z, w = turned(np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([[0.0], [0.0], [np.pi / 2]]))[:, 0]
    assert (x, y, z, w) == pytest.approx((0, 0, np.sqrt(0.5), np.sqrt(0.5)))
