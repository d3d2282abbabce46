"""The same picture as of bodies of several parts, by bodies of one shape each, posed by numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from twixt.ipc.scene import Box, Capsule, Compound, Cylinder, Ellipsoid, Mesh, Part, Plane, Scene, Shape, Sphere
from twixt.ipc.scene.parts import PALETTE
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, has_color, new_bodies
from twixt.render.interpolation.quaternion import exp, multiply, rotate

# All shapes, each away from the body's position and turned; two have no colour.
TURN = (0.2, -0.4, 0.1, 0.9)
WEDGE = Mesh(
    [(0, 0, 0), (0.5, 0, 0), (0, 0.4, 0), (0, 0, 0.3)],
    [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)],
    color=(0.5, 0.9, 0.9),
)
TOY = Compound(
    [
        Part(Sphere(0.3, (0.9, 0.3, 0.2)), (0.6, 0.0, 0.1)),
        Part(Box((0.5, 0.3, 0.2)), (-0.5, 0.2, 0.0), TURN),
        Part(Plane((0.6, 0.4), (0.2, 0.8, 0.3)), (0.0, 0.0, 0.7), TURN),
        Part(Capsule(0.12, 0.5, (0.3, 0.4, 0.9)), (0.0, -0.6, 0.0), (0.7, 0.0, 0.0, 0.7)),
        Part(Cylinder(0.2, 0.3), (0.1, 0.6, 0.2), TURN),
        Part(Ellipsoid((0.6, 0.3, 0.2), (0.9, 0.8, 0.2)), (0.0, 0.1, -0.6), (0.0, 0.5, 0.0, 0.8)),
        Part(WEDGE, (-0.4, -0.4, 0.4), TURN),
    ]
)
TWO = Compound([Part(Sphere(0.25)), Part(Box((0.1, 0.1, 1.0)), (0.0, 0.0, 0.6))])


def tumbling(count: int, k: int, gap_s: float = 1.0) -> np.ndarray:
    """Snapshot k of bodies that move on curves and turn: position, velocity, orientation, angular velocity, scale."""
    rng = np.random.default_rng(3)
    start, velocity = rng.uniform(-2.5, 2.5, (count, 3)), rng.normal(0, 0.5, (count, 3))
    spin, turned = rng.normal(0, 1.2, (count, 3)), exp(rng.normal(0, 2, (count, 3)))
    t = k * gap_s
    bodies = new_bodies(count)
    bodies["position"] = start + velocity * t + np.array([0, 0, -0.4]) * t * t / 2
    bodies["velocity"] = velocity + np.array([0, 0, -0.4]) * t
    bodies["angular_velocity"] = spin
    bodies["orientation"] = multiply(exp(spin * t), turned)
    bodies["scale"] = rng.uniform(0.6, 1.3, count) + 0.1 * k
    bodies["color"] = (*rng.integers(120, 256, 3), 255)
    bodies["flags"] = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    return bodies


def parts_of(shape: Shape) -> list[Part]:
    return list(shape.parts) if isinstance(shape, Compound) else [Part(shape)]


def apart(scene: Scene, bodies: np.ndarray) -> tuple[Scene, np.ndarray]:
    """Scene and records, one a part. bodies: as they are drawn, orientations of unit length."""
    shapes, records = [], []
    for body, record in enumerate(bodies):
        for part in parts_of(scene.shapes[min(body, len(scene.shapes) - 1)]):
            own, turn = record.copy(), record["orientation"][None].astype(np.float64)
            arm = np.array([part.position]) * float(record["scale"])
            own["position"] = record["position"] + rotate(turn, arm)[0]
            own["orientation"] = multiply(turn, np.array([part.orientation]))[0]
            records.append(own)
            palette = (1, 1, 1) if has_color(bodies)[body] else tuple(PALETTE[body % len(PALETTE)] / 255)
            shapes.append(replace(part.shape, color=part.shape.color or palette))
    return replace(scene, shapes=shapes, groups={}, parents={}), np.array(records, bodies.dtype)


def assert_alike(picture: np.ndarray, wanted: np.ndarray, edges: float = 0.002) -> None:
    """Within 2 of 255, but for pixels at edges, whose number is small; and something is seen."""
    off = np.abs(picture.astype(int) - wanted).max(axis=2)
    assert (off > 2).mean() <= edges, f"{(off > 2).sum()} pixels differ, by up to {off.max()}"
    seen = np.abs(wanted.astype(int) - wanted[0, 0]).max(axis=2) > 30
    assert seen.mean() > 0.01, "nothing is seen"
