"""Auto: where it takes hermite's curve and where the straight way, and that nobody sees it change between them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.interpolation.snapshots import MS, at, method_of
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, Snapshot, new_bodies

S = 1_000_000_000
MOVES = VISIBLE | HAS_VELOCITY
G = 9.81


def moving(times_ns, places, velocities) -> list[Snapshot]:
    """Snapshots of one body."""
    return [
        at(t, 0, position=tuple(p), velocity=tuple(v), flags=MOVES)
        for t, p, v in zip(times_ns, places, velocities, strict=True)
    ]


def ways(snapshots) -> str:
    """For each interval c where auto takes hermite's curve, - where it goes straight, = where both are one way."""
    methods = [method_of(name, *snapshots) for name in ("auto", "hermite", "linear")]
    found = ""
    for one, two in itertools.pairwise(snapshots):
        third = one.sim_time_ns + (two.sim_time_ns - one.sim_time_ns) // 3
        auto, hermite, linear = (method.sample(third).position.tobytes() for method in methods)
        assert auto in (hermite, linear)
        found += "=" if hermite == linear else "c" if auto == hermite else "-"
    return found


def seen(path, hz: float, count: int) -> list[Snapshot]:
    """Snapshots of the body that is at `path(t)`, a function of seconds that gives three numbers."""
    times = np.arange(count) / hz
    tiny = 1e-6
    velocities = [(np.array(path(t + tiny)) - path(t - tiny)) / (2 * tiny) for t in times]
    return moving(np.round(times * 1e9), [path(t) for t in times], velocities)


def circle(step_rad):
    return lambda t: (math.cos(step_rad * t), math.sin(step_rad * t), 0.0)


def throw(t):
    return (2 * t, 0.0, 5 * t - G / 2 * t * t)


def test_a_circle_of_30_degrees_a_step_is_curved_but_for_the_first_interval():
    snapshots = seen(circle(math.radians(30)), 1, 14)
    assert ways(snapshots) == "-" + 12 * "c"
    drawn = method_of("auto", *snapshots).sample(int(5.5 * S)).position[0]
    assert np.linalg.norm(drawn) == pytest.approx(0.99981, abs=5e-6)


def test_a_circle_of_60_degrees_a_step_could_be_anything_and_is_straight():
    assert ways(seen(circle(math.radians(60)), 1, 8)) == 7 * "-"


@pytest.mark.parametrize("hz", [20, 60, 120])
def test_a_throw_is_curved_through_its_top(hz):
    assert ways(seen(throw, hz, 60)) == "-" + 58 * "c"


def test_a_throw_is_curved_through_lost_snapshots():
    snapshots = seen(throw, 60, 60)
    assert ways([snapshots[k] for k in (0, 1, 2, 5, 6, 8, 9, 20, 22, 59)]) == "-" + 8 * "c"


@pytest.mark.parametrize("substeps", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("old_velocity", [False, True])
def test_integrators_that_move_with_the_velocity_before_or_after_a_step_are_followed(substeps, old_velocity):
    """But near the top of the throw, where their places and velocities may contradict each other."""
    h = 1 / 20 / substeps
    place, velocity, states = np.zeros(3), np.array([2.0, 0, 5.0]), []
    for _ in range(20):
        states.append((place.copy(), velocity.copy()))
        for _ in range(substeps):
            before = velocity
            velocity = velocity - np.array([0, 0, G]) * h
            place = place + (before if old_velocity else velocity) * h
    found = ways(moving(np.arange(20) * 50 * MS, *zip(*states, strict=True)))
    assert found[1:].count("-") <= 1, found


def test_a_bounce_and_the_interval_after_it_are_straight_and_the_rest_is_curved():
    lands_s = math.sqrt(2 / G)

    def bounce(t):
        up_m_s = 0.7 * G * lands_s
        since = t - lands_s
        return (t, 0.0, 1 - G / 2 * t * t if since < 0 else up_m_s * since - G / 2 * since * since)

    assert lands_s * 20 == pytest.approx(9.03, abs=0.01)  # in the tenth interval
    assert ways(seen(bounce, 20, 18)) == "-" + 8 * "c" + "--" + 6 * "c"


def test_a_ball_that_comes_to_rest_by_small_bounces_is_drawn_straight():
    """Places and velocities as of a smooth braking, from an exact world: hermite would dip 3 mm under the floor."""
    snapshots = moving(
        [0, 50 * MS, 100 * MS],
        [(0, 0, 0.02189), (0, 0, 0.00027), (0, 0, 0)],
        [(0, 0, -0.897), (0, 0, -0.452), (0, 0, 0)],
    )
    assert ways(snapshots) == "--"
    assert method_of("hermite", *snapshots).sample(70 * MS).position[0, 2] < -0.0025


# s (1 - s) (1/2 + (lag / g + POSITION_MISMATCH) |1 - 2 s|), at most, with a lag of half an interval.
FURTHEST = 0.154


@settings(max_examples=100)
@given(
    st.tuples(*[st.floats(-20, 20)] * 3), st.tuples(*[st.floats(-40, 40)] * 3), st.tuples(*[st.floats(-9, 9)] * 3),
    st.floats(-0.6, 0.6), st.floats(0, 0.1), st.floats(0.02, 0.98),
)  # fmt: skip
def test_a_curve_is_never_further_from_the_straight_way_than_is_promised(v, a, jerk, lag, off, alpha):
    v, a, jerk = np.array(v), np.array(a), np.array(jerk)
    g = 0.05
    times = np.array([-g, 0.0, g])[:, None]
    velocities = v + a * times + jerk * times**2 / 2
    places = v * times + a * times**2 / 2 + jerk * times**3 / 6 + lag * g * velocities
    places[2] += off * g * (velocities[2] - velocities[1])[::-1]
    snapshots = moving([0, 50 * MS, 100 * MS], places, velocities)
    drawn = [method_of(n, *snapshots).sample(round((1 + alpha) * 50 * MS)).position[0] for n in ("auto", "linear")]
    most = FURTHEST * g * np.linalg.norm(velocities[2] - velocities[1])
    assert np.linalg.norm(drawn[0] - drawn[1]) <= most + 1e-5


def test_bounces_that_look_like_a_circle_are_drawn_behind_the_wall_by_no_more_than_is_promised():
    """Round a ring of walls, one bounce just after each snapshot: a body that lags behind its velocity by half a step."""
    speed, g, turn = 12.0, 0.05, math.radians(29)
    angles = turn * np.arange(12)
    velocities = speed * np.stack((np.cos(angles), np.sin(angles), 0 * angles), axis=1)
    places = np.cumsum(np.vstack((np.zeros(3), velocities[1:] * g)), axis=0)
    snapshots = moving(np.arange(12) * 50 * MS, places, velocities)
    assert ways(snapshots) == "-" + 10 * "c", "an integrator on a circle looks like that, too"
    change = velocities[6] - velocities[5]
    drawn = [method_of("auto", *snapshots).sample((250 + ms) * MS).position[0] for ms in range(1, 50)]
    behind = max((places[5] - place) @ change / np.linalg.norm(change) for place in drawn)
    assert 0.0095 < behind < FURTHEST * g * np.linalg.norm(change)


def test_rest_and_even_motion_are_one_way_by_both_methods():
    assert ways(moving(np.arange(4) * 50 * MS, [(1, 2, 3)] * 4, [(0, 0, 0)] * 4)) == "==="


def test_without_a_snapshot_before_of_the_same_life_with_velocities_it_is_straight():
    snapshots = seen(throw, 20, 4)
    assert ways(snapshots) == "-cc"
    for field, value in (("epoch", 9), ("flags", VISIBLE)):
        first = Snapshot(0, snapshots[0].bodies.copy())
        first.bodies[field] = value
        assert ways([first, *snapshots[1:]]) == "=-c"
    assert ways(snapshots[1:]) == "-c"


def test_a_body_that_the_snapshot_before_does_not_have_is_straight_beside_one_that_curves():
    snapshots = seen(throw, 20, 3)
    double = [Snapshot(s.sim_time_ns, np.concatenate((s.bodies, s.bodies))) for s in snapshots[1:]]
    drawn = [method_of(n, snapshots[0], *double).sample(70 * MS).position for n in ("auto", "hermite", "linear")]
    assert drawn[0][0].tolist() == drawn[1][0].tolist()
    assert drawn[0][1].tolist() == drawn[2][1].tolist()


def test_angular_velocities_that_contradict_the_orientations_are_not_followed():
    def turned(rate, angle):
        spin = {"angular_velocity": (0, 0, rate), "flags": VISIBLE | HAS_ANGULAR_VELOCITY}
        end = at(S, 0, orientation=(0, 0, math.sin(angle / 2), math.cos(angle / 2)), **spin)
        poses = [method_of(n, at(0, 0, **spin), end).sample(S // 3) for n in ("auto", "hermite", "linear")]
        auto, hermite, linear = (pose.orientation[0].tobytes() for pose in poses)
        assert auto in (hermite, linear)
        return auto == hermite

    assert turned(6.0, 6.1)
    assert not turned(6.0, 7.0)
    assert not turned(180.0, math.pi)  # degrees a second, by mistake


# Of a swing of 1 m: how far the two methods are apart where auto changes from one to the other, metres.
@pytest.mark.parametrize(
    ("hz", "most"), [(20, {"circle": 0, "throw": 0, "swing": 0.006}), (60, {"circle": 0, "throw": 0, "swing": 0.00025})]
)
def test_methods_change_where_they_are_nearly_one(hz, most):
    paths = {
        "circle": circle(math.radians(30) * 20),
        "throw": throw,
        "swing": lambda t: (math.cos(2 * math.pi * t), 0.0, 0.0),
    }
    for name, path in paths.items():
        snapshots = seen(path, hz, 60)[1:]
        found = ways(snapshots)[1:]
        apart = [0.0]
        for k, (one, two) in enumerate(itertools.pairwise(found), start=1):
            if one != two:
                straight = k if one == "-" else k + 1
                middle = (snapshots[straight].sim_time_ns + snapshots[straight + 1].sim_time_ns) // 2
                places = [method_of(n, *snapshots).sample(middle).position[0] for n in ("hermite", "linear")]
                apart.append(float(np.linalg.norm(places[0] - places[1])))
        assert max(apart) <= most[name] + 1e-7, f"{name} at {hz} Hz: {max(apart) * 1000:.3f} mm, {found}"


number = st.floats(-3, 3, width=32)
triple = st.tuples(number, number, number)
bodies_rows = st.lists(st.tuples(triple, triple, triple), min_size=3, max_size=3)


def snapshot_of(time_ns, rows) -> Snapshot:
    bodies = new_bodies(len(rows))
    for body, (place, velocity, spin) in zip(bodies, rows, strict=True):
        body["position"], body["velocity"], body["angular_velocity"], body["flags"] = place, velocity, spin, 7
    return Snapshot(time_ns, bodies)


@settings(max_examples=60)
@given(st.lists(bodies_rows, min_size=2, max_size=4), st.floats(0.01, 0.99))
def test_every_body_is_always_where_hermite_or_linear_has_it(rows, alpha):
    snapshots = [snapshot_of(k * 50 * MS, row) for k, row in enumerate(rows)]
    time_ns = int((len(rows) - 2 + alpha) * 50 * MS)
    auto, hermite, linear = (method_of(n, *snapshots).sample(time_ns) for n in ("auto", "hermite", "linear"))
    for field in ("position", "orientation"):
        a, h, straight = (getattr(poses, field) for poses in (auto, hermite, linear))
        assert ((a == h).all(axis=1) | (a == straight).all(axis=1)).all()


@settings(max_examples=60)
@given(st.lists(bodies_rows, min_size=3, max_size=4), st.integers(1, 2))
def test_the_drawn_path_is_always_continuous_at_snapshots(rows, k):
    method = method_of("auto", *(snapshot_of(i * 50 * MS, row) for i, row in enumerate(rows)))
    before, there, after = (method.sample(k * 50 * MS + by) for by in (-1, 0, 1))
    for other in (before, after):
        assert np.abs(other.position - there.position).max() < 1e-5
        assert np.abs(np.einsum("ij,ij->i", other.orientation, there.orientation)) == pytest.approx(1, abs=1e-6)


@settings(max_examples=60)
@given(bodies_rows, bodies_rows, bodies_rows, st.integers(-8, 8), st.integers(-3, 3))
def test_the_same_motion_larger_or_faster_is_always_drawn_the_same_way(one, two, three, larger, faster):
    rows = (one, two, three)
    drawn = []
    for size, pace in ((1.0, 1.0), (2.0**larger, 2.0**faster)):
        snapshots = []
        for k, row in enumerate(rows):
            snapshot = snapshot_of(int(k * 64 * MS / pace), row)
            snapshot.bodies["position"] *= size
            snapshot.bodies["velocity"] *= size * pace
            snapshots.append(snapshot)
        drawn.append(method_of("auto", *snapshots).sample(int(80 * MS / pace)).position / size)
    assert drawn[1] == pytest.approx(drawn[0], abs=1e-5)
