"""Bodies for the tests of the lean codec: random, at the edges of its values, and hostile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, new_bodies

Bodies = NDArray[np.void]
COUNTS = (0, 1, 255, 256, 257, 600)


def random_bodies(count: int, seed: int = 1, width_m: float = 10.0) -> Bodies:
    """Bodies with all fields given and usual values."""
    rng = np.random.default_rng(seed)
    bodies = new_bodies(count)
    bodies["position"] = rng.uniform(-width_m / 2, width_m / 2, (count, 3))
    turns = rng.normal(size=(count, 4))
    bodies["orientation"] = turns / np.linalg.norm(turns, axis=1)[:, None]
    bodies["velocity"] = rng.normal(0, 3, (count, 3))
    bodies["angular_velocity"] = rng.normal(0, 10, (count, 3))
    bodies["flags"] = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    bodies["epoch"] = rng.integers(0, 1 << 32, count)
    bodies["scale"] = rng.uniform(0.1, 3, count)
    bodies["color"] = rng.integers(0, 256, (count, 4))
    return bodies


def hostile_bodies(count: int = 700, seed: int = 2) -> Bodies:
    """Random bytes: not finite, denormal and huge values in all fields."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, count * BODY.itemsize, np.uint8).view(BODY)


def spoiled_bodies(seed: int = 3) -> Bodies:
    """Usual bodies, of which each 20th has a value that does not fit."""
    bodies = random_bodies(2_000, seed)
    rows = np.arange(0, len(bodies), 20)
    tiny = np.finfo(np.float32).smallest_subnormal
    bad = (np.nan, np.inf, -np.inf, tiny, -tiny, 3.4e38, -3.4e38, 1e30, 65_504, 65_519, 65_520, -65_536, 0.0, -0.0)
    for index, row in enumerate(rows):
        name = ("position", "orientation", "velocity", "angular_velocity")[index % 4]
        bodies[name][row, index % 3] = bad[index // 4 % len(bad)]
    bodies["orientation"][1] = 0
    bodies["orientation"][2] = (2, 0, 0, 0)
    return bodies


def edge_bodies() -> Bodies:
    """Orientations with equal, negative and zero components; a chunk without extent; a body far from its chunk."""
    bodies = random_bodies(600, 4)
    half, root = 0.5, np.sqrt(0.5)
    turns = [(0, 0, 0, 1), (0, 0, 0, -1), (1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 1, 0), (half, half, half, half),
             (-half, half, -half, half), (root, 0, 0, root), (0, root, -root, 0), (root, root, 0, 0)]  # fmt: skip
    bodies["orientation"][: len(turns)] = turns
    bodies["position"][256:512] = (1.1, -2.2, 1e9)
    bodies["position"][520] = (3e8, 0, -4e7)
    bodies["flags"][300:400] = VISIBLE
    return bodies


def cases() -> dict[str, Bodies]:
    plain = new_bodies(300)
    plain["position"] = random_bodies(300)["position"]
    return {
        **{f"{count} bodies": random_bodies(count, count) for count in COUNTS},
        "no velocities": plain,
        "hostile": hostile_bodies(),
        "spoiled": spoiled_bodies(),
        "edges": edge_bodies(),
        "wide": random_bodies(1_000, 5, width_m=20_000),
        "10,000 bodies": random_bodies(10_000, 6),
    }
