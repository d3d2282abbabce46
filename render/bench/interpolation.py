"""What a method of interpolation costs: on the GPU beside the plainest one, in numpy beside copying its poses.

One idea: on the GPU a method costs what its picture takes longer than one that only mixes two snapshots; in numpy the
limit is writing down what the method answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from twixt.ipc.bench import Memcpy, Row, Say, rounds_of
from twixt.ipc.config import Config
from twixt.render.bench.cloud import Cloud, snapshots
from twixt.render.bench.turns import row, taken_us
from twixt.render.display.opening import open_display
from twixt.render.interpolation import METHODS, create

BODIES = 10_000
ROUNDS, GPU_ROUNDS = 60, 40
# For the rounds of one method.
BUDGET_S = 1.5
# Positions and orientations, f4.
POSE_BYTES = 28
# Those that the GPU works out, held against the plainest.
ON_GPU, PLAINEST = ("auto", "hermite", "none"), "linear"
KEPT = 6


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """A row a method. share: of a whole run's rounds. say: told what is measured next."""
    window = open_display(Config(pacing="unlimited"))
    try:
        cloud = Cloud(window, BODIES)
        for method in ON_GPU:
            say(f"{method} on the GPU")
            yield _drawn(cloud, method, rounds_of(GPU_ROUNDS, share))
        cloud.release()
    finally:
        window.close()
    for method in METHODS:
        say(f"{method} in numpy")
        yield _sampled(method, rounds_of(ROUNDS, share))


def _drawn(cloud: Cloud, method: str, rounds: int) -> Row:
    alphas = itertools.cycle(np.linspace(0.05, 0.95, 7))
    works = [lambda name=name: cloud.draw(float(next(alphas)), name) for name in (method, PLAINEST)]  # type: ignore[misc]
    for work in works * 2:
        work()
    taken, plain = taken_us(rounds, *works, budget_s=BUDGET_S)
    return row(f"GPU {method}, {BODIES:,} bodies", "us", taken, f"GPU {PLAINEST}", plain)


def _sampled(name: str, rounds: int) -> Row:
    method, kept = create(name), snapshots(BODIES, KEPT)
    for snapshot in kept:
        method.add(snapshot)
    begin_ns, end_ns = kept[-3].sim_time_ns, kept[-1].sim_time_ns
    times_ns = itertools.cycle(range(begin_ns, end_ns, (end_ns - begin_ns) // 7))
    method.sample(next(times_ns))
    taken, copied = taken_us(
        rounds, lambda: method.sample(next(times_ns)), Memcpy(BODIES * POSE_BYTES), budget_s=BUDGET_S
    )
    return row(f"numpy {name}, {BODIES:,} bodies", "us", taken, "memcpy of the poses", copied)
