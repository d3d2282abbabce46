"""Errors of what is drawn from lean records, as docs/wire.md has them: `python -m tests.relay.stream.lean_errors`.

Two viewers draw the same snapshots by `auto`: one has the full records, the other what the lean decoder made of them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.loops.mujoco_rows import humanoids_xml
from twixt.ipc.snapshot import BODY, Snapshot
from twixt.relay.stream.lean import LeanDecoder, LeanEncoder, error_bound_m
from twixt.render.interpolation import create
from twixt.sim.engines.mujoco.model_world import world_of_file
from twixt.sim.world.world import World, filled_bodies
from twixt.sim.worlds.find import load_world

Floats = NDArray[np.float64]
# Steps a second of the balls and the swarm. Some of the states are snapshots.
STEP_HZ = 240
# Frames that are drawn between two snapshots.
FRAMES = 4


class Errors(NamedTuple):
    """Distances in mm and angles in degrees between what is drawn, the bound of a position in mm, and sizes in bytes of
    all records and a snapshot."""

    distances: Floats
    angles: Floats
    bound_mm: float
    full: int
    lean: int


def humanoids(count: int) -> World:
    """Humanoids that fall, and lie on the ground after a second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "humanoids.xml"
        path.write_text(humanoids_xml(count))
        return world_of_file(str(path))()


def states(world: World, rate_hz: float, seconds: float) -> Iterator[Snapshot]:
    """Snapshots of a world at a rate."""
    step_s = world.dt or 1 / STEP_HZ
    stride = round(1 / rate_hz / step_s)
    for tick in range(round(seconds / step_s)):
        if tick % stride == 0:
            yield Snapshot(round(tick * step_s * 1e9), filled_bodies(world).records.copy(), tick=tick)
        world.step(step_s)


def errors(snapshots: Iterator[Snapshot]) -> Errors:
    """Errors of frames at even instants between the snapshots."""
    full, lean = create("auto"), create("auto")
    encoder, decoder = LeanEncoder(), LeanDecoder()
    distances, angles, bound_m, before = [], [], 0.0, None
    for snapshot in snapshots:
        encoder.encode(snapshot.bodies)
        block = encoder.block(encoder.version - 1)
        bound_m = max(bound_m, error_bound_m(encoder.boxes))
        full.add(snapshot)
        lean.add(Snapshot(snapshot.sim_time_ns, decoder.decode(block), tick=snapshot.tick))
        for frame in range(FRAMES if before else 0):
            at_ns = before.sim_time_ns + (snapshot.sim_time_ns - before.sim_time_ns) * frame // FRAMES
            first, second = full.sample(at_ns), lean.sample(at_ns)
            distances.append(np.linalg.norm(first.position - second.position, axis=1) * 1e3)
            turns = first.orientation.astype(np.float64), second.orientation.astype(np.float64)
            nearest = np.minimum(
                np.linalg.norm(turns[0] - turns[1], axis=1), np.linalg.norm(turns[0] + turns[1], axis=1)
            )
            angles.append(np.degrees(4 * np.arcsin(np.minimum(nearest / 2, 1))))
        before = snapshot
    full_bytes = len(snapshot.bodies) * BODY.itemsize
    return Errors(np.concatenate(distances), np.concatenate(angles), bound_m * 1e3, full_bytes, len(block))


def scenes() -> Iterator[tuple[str, Iterator[Snapshot]]]:
    balls = (("count", "300"),)
    yield "300 balls, 60 Hz", states(load_world("balls", balls), 60, 6)
    yield "300 balls, 5 Hz", states(load_world("balls", balls), 5, 20)
    yield "swarm of 10,000, 60 Hz", states(load_world("swarm", (("count", "10000"),)), 60, 1)
    yield "100 humanoids, 60 Hz", states(humanoids(100), 60, 1.0)
    yield "6 humanoids, 20 Hz", states(humanoids(6), 20, 3.0)


def as_row(name: str, found: Errors) -> str:
    cells = [name, f"{found.full / 1e3:.1f}", f"{found.lean / 1e3:.1f}", f"{found.bound_mm:.4f}"]
    for values in (found.distances, found.angles):
        p99, p9999, largest = *np.percentile(values, (99, 99.99)), values.max()
        cells.append(f"{p99:.4f} / {p9999:.4f} / {largest:.2f}")
    return f"| {' | '.join(cells)} |"


def cost_us(count: int) -> float:
    """Least time to encode a body, in us."""
    world = load_world("swarm", (("count", str(count)),))
    encoder, times = LeanEncoder(), []
    for snapshot in states(world, 60, 0.7):
        begin = time.perf_counter()
        encoder.encode(snapshot.bodies)
        encoder.block(encoder.version - 1)
        times.append(time.perf_counter() - begin)
    return min(times) / count * 1e6


if __name__ == "__main__":
    print(
        "| scene | full, KB | lean, KB | bound, mm | drawn, mm, p99 / p99.99 / max | drawn, degrees, p99 / p99.99 / max |"
    )
    print("|---|---|---|---|---|---|")
    for name, snapshots in scenes():
        print(as_row(name, errors(snapshots)))
    print("encoding, us a body:", *(f"{count:,}: {cost_us(count):.2f}" for count in (1_000, 10_000, 100_000)))
