"""Marks come and go: a rod between each near pair of balls, an arrow for each force, a text.

Run it with: twixt run near_pairs:NearPairs
"""

import numpy as np

from twixt import Bodies, Camera, Marks, Scene, Sphere, World

NEAR = 1.1  # metres between two balls that repel each other
MIDDLE = np.array((0, 0, 2))


class NearPairs(World):
    """Balls that are drawn to the middle and repel each other."""

    dt = 1 / 60

    def __init__(self, count: int = 24, seed: int = 0):
        self.bodies, self.marks = Bodies(count), Marks()
        self.bodies.position[:] = np.random.default_rng(seed).uniform(-2, 2, (count, 3)) + MIDDLE
        self.velocity = np.cross(self.bodies.position, (0, 0, 1.2))
        self.scene = Scene([Sphere(0.12, color=(0.8, 0.83, 0.88))] * count, camera=Camera((4.5, -5, 4.2), (0, 0, 1.9)))
        self.first, self.second = np.triu_indices(count, 1)

    def step(self, dt: float) -> None:
        places = self.bodies.position.astype(float)
        apart = places[self.first] - places[self.second]
        distance = np.linalg.norm(apart, axis=1)
        near = np.flatnonzero(distance < NEAR)
        push = apart[near] * (6 * (NEAR - distance[near]) / distance[near])[:, None]
        force = 1.5 * (MIDDLE - places)
        np.add.at(force, self.first[near], push)
        np.add.at(force, self.second[near], -push)
        self.velocity += dt * force
        self.bodies.position[:] = places + dt * self.velocity

        ends = self.bodies.position[self.first[near]], self.bodies.position[self.second[near]]
        self.marks.clear()
        # The pair's number is its key: while it is near, its rod moves smoothly.
        self.marks.add("line", ends[0], to=ends[1], size=0.025, color=(0.95, 0.55, 0.3), ids=near)
        # The arrows are attached to the balls, which do not turn: they move exactly as the balls are drawn.
        balls = np.arange(len(force))
        self.marks.add("arrow", 0 * force, to=0.15 * force, size=0.03, color=(0.35, 0.75, 1), body=balls)
        self.marks.add("axes", MIDDLE, size=0.6)
        self.marks.add("text", (0, 0, 4.2), text=f"{len(near)} pairs", size=1.5)
