"""Worlds of bouncing points with an exact floor, and how deep a method draws bodies into walls.

A body is a point over a plane; as a ball of `RADIUS_M` it would touch where the point is on the plane.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import HAS_VELOCITY, VISIBLE, Snapshot, new_bodies
from twixt.render.interpolation import create

Floats = NDArray[np.float64]

G = 9.81
RADIUS_M = 0.1
# Not a multiple of any rate of snapshots in use: all places within an interval come up.
FRAMES_HZ = 67
# Slower than this after a bounce a ball stays where it is.
REST_M_S = 1e-3


def snapshots_of(states: Iterator[tuple[Floats, Floats]], hz: float) -> list[Snapshot]:
    """Snapshots of bodies with places and velocities, (n, 3) each."""
    snapshots = []
    for k, (place, velocity) in enumerate(states):
        bodies = new_bodies(len(place))
        bodies["position"], bodies["velocity"], bodies["flags"] = place, velocity, VISIBLE | HAS_VELOCITY
        snapshots.append(Snapshot(round(k * 1e9 / hz), bodies))
    return snapshots


def deepest(name: str, snapshots: list[Snapshot], normal: Floats, reach: Floats | float = 0.0) -> Floats:
    """How far `name` draws bodies behind the plane through the origin, beyond both snapshots around, (n,) metres.

    reach: how near to the plane a body's middle may come, (n,) metres.
    """
    method = create(name)
    for snapshot in snapshots[:2]:
        method.add(snapshot)
    behind = [np.minimum(snapshot.bodies["position"] @ normal - reach, 0.0) for snapshot in snapshots]
    index, worst = 0, np.zeros(len(behind[0]))
    end_ns = snapshots[-1].sim_time_ns
    for time_ns in range(0, end_ns, round(1e9 / FRAMES_HZ)):
        while snapshots[index + 1].sim_time_ns <= time_ns:
            index += 1
            method.add(snapshots[index + 1])
        drawn = method.sample(time_ns).position @ normal - reach
        worst = np.maximum(worst, np.minimum(behind[index], behind[index + 1]) - drawn)
    return worst


def bounces(
    heights: Floats, speeds: Floats, restitution: Floats, gap_s: float, count: int
) -> list[tuple[Floats, Floats]]:
    """Heights over a floor and speeds upwards, (n,), at `count` instants: every bounce at its own instant, exactly."""
    z, v = heights.astype(float), speeds.astype(float)
    states = [(z, v)]
    for _ in range(count - 1):
        left, resting = np.full(z.shape, gap_s), (z == 0) & (v == 0)
        for _ in range(500):
            impact = np.sqrt(v * v + 2 * G * z)
            hits = ~resting & ((v + impact) / G < left)
            if not hits.any():
                break
            left = np.where(hits, left - (v + impact) / G, left)
            z, v = np.where(hits, 0.0, z), np.where(hits, restitution * impact, v)
            resting |= hits & (v < REST_M_S)
        z = np.where(resting, 0.0, np.maximum(z + v * left - G * left**2 / 2, 0.0))
        v = np.where(resting, 0.0, v - G * left)
        states.append((z, v))
    return states


def between_walls(
    places: Floats, speeds: Floats, width_m: float, gap_s: float, count: int
) -> list[tuple[Floats, Floats]]:
    """Places from 0 to width_m and speeds, (n,), of bodies that bounce between two walls and lose nothing."""
    states = []
    for k in range(count):
        way = np.mod(places + speeds * k * gap_s, 2 * width_m)
        back = way > width_m
        states.append((np.where(back, 2 * width_m - way, way), np.where(back, -speeds, speeds)))
    return states


def down_a_slope(count_bodies: int, gap_s: float, count: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Bodies that hop and slide down slopes of many angles, frictions and bounces, in the slope's frame (z up).

    Steps of 0.25 ms, each exact but for the instant of its contact.
    """
    random = np.random.default_rng(seed)
    angle, bounce, friction = (random.uniform(0, most, count_bodies) for most in (0.7, 0.95, 0.8))
    gravity = G * np.stack((np.sin(angle), 0 * angle, -np.cos(angle)), axis=1)
    place, velocity = np.zeros((count_bodies, 3)), random.uniform(-1, 1, (count_bodies, 3)) * (3, 1, 1.5)
    place[:, 2] = random.uniform(0, 0.16, count_bodies)
    steps = round(gap_s / 0.00025)
    h = gap_s / steps
    for _ in range(count):
        yield place.copy(), velocity.copy()
        for _ in range(steps):
            velocity = velocity + gravity * h
            place = place + velocity * h - gravity * (h * h / 2)
            into = -velocity[:, 2]
            push = np.where((place[:, 2] < 0) & (into > 0), into * (1 + bounce * (into > 0.02)), 0.0)
            across = np.hypot(velocity[:, 0], velocity[:, 1])
            kept = 1 - np.minimum(friction * push, across) / np.maximum(across, 1e-12)
            velocity[:, :2] *= kept[:, None]
            velocity[:, 2] += push
            place[:, 2] = np.maximum(place[:, 2], 0.0)
