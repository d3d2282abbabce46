"""Cost of drawing a cloud of bodies, without swap, clock or channel: each shape, each interpolation method, uploads.

Two ways of drawing take turns, picture by picture, in the same OpenGL context; each waits until its picture is
complete. A shape is compared with the fastest known way to draw only that shape (`bench.lean`). An interpolation
method on the GPU is compared with `linear`, one in numpy with a copy of its result.

The compared pictures differ, because lean drawing omits everything that can be left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.costs.cloud import Cloud, radius_m, snapshots
from bench.costs.live import fps_name
from bench.lean.lean_draws import LeanBoxes, LeanCapsules, LeanSpheres
from bench.rows import Memcpy, Row, rounds_of, row, times_us
from twixt.cli.progress import Say
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape
from twixt.ipc.snapshot import BODY
from twixt.render.display.display import open_display
from twixt.render.draw.quality import BEST, BEST_SOFTWARE, FULL, LIT_LEVELS, Level
from twixt.render.interpolation import METHODS, create

COUNTS = (1_000, 10_000, 100_000)
# Number of bodies -> number of rounds. More bodies have fewer rounds, because these take longer.
ROUNDS = {1_000: 120, 10_000: 32, 100_000: 9}
# Time after which no new round begins, s: for one shape and number of bodies, and for one method.
BUDGET_S, METHOD_BUDGET_S = 2.5, 1.5
# BAR is the limit for a row of BAR_COUNT bodies with a shape in OWN_LEAN. Other shapes have no limit, because they are
# compared with lean drawing of a different shape.
BAR_COUNT, BAR, OWN_LEAN = 10_000, "ratio >= 0.9", ("box", "capsule")
UPLOADS = {10_000: 200, 1_000_000: 9}

METHOD_BODIES = 10_000
NUMPY_ROUNDS, GPU_ROUNDS = 60, 40
# Bytes of a body's position and orientation, as 32-bit floats.
POSE_BYTES = 28
# Methods that run on the GPU, and the simplest method, with which they are compared.
ON_GPU, PLAINEST = ("auto", "hermite", "none"), "linear"
# Number of snapshots given to a method in numpy.
KEPT = 6
LOOK_COUNTS = (100, 1_000, 10_000)
LOOK_ROUNDS, LOOK_BUDGET_S = 60, 4.0
# Height of the ground, metres. The middle of the cloud is at height 0, and its radius is 1 m.
GROUND_M = -1.0
PLAIN = FULL._replace(name="no shadows", shadows=False)
LOOKS: dict[str, Level] = {
    "round shadows": FULL,
    "shadow map": LIT_LEVELS[1],
    "shadow map, contact": BEST_SOFTWARE,
    "shadow map, contact, 4 samples": BEST,
}


def shape_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of frames per second for each shape, and of uploads. share: share of a whole run's rounds to measure."""
    window = open_display(Config(pacing="unlimited"))
    try:
        for count in COUNTS if share >= 1 else COUNTS[:1]:
            for shape, best in _shapes(count):
                name = type(shape).__name__.lower()
                say(f"{count:,} of shape {name}")
                yield _drawn(window, name, count, shape, best, rounds_of(ROUNDS[count], share))
        for count, rounds in UPLOADS.items() if share >= 1 else [(COUNTS[0], ROUNDS[COUNTS[0]])]:
            say(f"upload of {count:,} bodies")
            yield _uploaded(window, count, rounds_of(rounds, share))
    finally:
        window.close()


def method_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of the interpolation methods, one for each. share: share of a whole run's rounds to measure."""
    window = open_display(Config(pacing="unlimited"))
    try:
        cloud = Cloud(window, METHOD_BODIES)
        for method in ON_GPU:
            say(f"{method} on the GPU")
            yield _blended(cloud, method, rounds_of(GPU_ROUNDS, share))
        cloud.release()
    finally:
        window.close()
    for method in METHODS:
        say(f"{method} in numpy")
        yield _sampled(method, rounds_of(NUMPY_ROUNDS, share))


def _shapes(count: int) -> Iterator[tuple[Shape, str]]:
    """Each shape, about as large as a sphere in a cloud of `count` bodies, and the name of the lean drawing with which
    it is compared."""
    radius = radius_m(count)
    yield Box((1.4 * radius,) * 3), "lean boxes"
    yield Capsule(0.6 * radius, 1.2 * radius), "lean capsules"
    yield Cylinder(0.7 * radius, 1.4 * radius), "lean boxes"
    yield Ellipsoid((2.0 * radius, 1.6 * radius, 1.2 * radius)), "lean spheres"


def _drawn(window: Any, name: str, count: int, shape: Shape, best: str, rounds: int) -> Row:
    cloud = Cloud(window, count, shape)
    lean = _lean(window, cloud, best)
    try:
        pictures = 0

        def ours() -> None:
            nonlocal pictures
            pictures += 1
            cloud.draw(pictures % 10 / 10)

        def least() -> None:
            cloud.use_screen()
            lean.draw(cloud.camera, cloud.viewport, pictures % 10 / 10)
            cloud.finish()

        for work in (ours, least) * 2:  # compiles programs, allocates memory
            work()
        times, limits = times_us(rounds, ours, least, budget_s=BUDGET_S)
    finally:
        lean.release()
        cloud.release()
    bar = BAR if count == BAR_COUNT and name in OWN_LEAN else ""
    return row(fps_name(name, count), "fps", _fps(times), best, _fps(limits), bar)


def _lean(window: Any, cloud: Cloud, best: str) -> LeanSpheres | LeanBoxes | LeanCapsules:
    older, newer = cloud.records[1:]
    if best == "lean spheres":
        return LeanSpheres(window.context, older["position"], newer["position"], radius_m(cloud.count))
    kind = LeanCapsules if best == "lean capsules" else LeanBoxes
    return kind(window.context, older, newer, _half_size(cloud.shape))


def _half_size(shape: Shape) -> tuple[float, float, float]:
    """Half size in metres. Box: half of each edge. Capsule and cylinder: radius, radius, half the length of the
    straight part. Raises TwixtError for other shapes."""
    match shape:
        case Box(size):
            return size[0] / 2, size[1] / 2, size[2] / 2
        case Capsule(radius, length) | Cylinder(radius, length):
            return radius, radius, length / 2
        case _:
            raise TwixtError(f"no lean draw of {shape!r} is known")


def _fps(times: list[float]) -> list[float]:
    return [1e6 / each_us for each_us in times]


def _uploaded(window: Any, count: int, rounds: int) -> Row:
    cloud = Cloud(window, count)
    source = memoryview(cloud.records[0].view("u1"))  # type: ignore[arg-type]
    try:
        times, limits = times_us(rounds, lambda: cloud.renderer.upload(3, source, count), Memcpy(count * BODY.itemsize))
    finally:
        cloud.release()
    return row(f"upload {count:,} bodies", "us", times, "memcpy", limits)


def _blended(cloud: Cloud, method: str, rounds: int) -> Row:
    alphas = itertools.cycle(np.linspace(0.05, 0.95, 7))
    works = [lambda name=name: cloud.draw(float(next(alphas)), name) for name in (method, PLAINEST)]  # type: ignore[misc]
    for work in works * 2:
        work()
    times, plain = times_us(rounds, *works, budget_s=METHOD_BUDGET_S)
    return row(f"GPU {method}, {METHOD_BODIES:,} bodies", "us", times, f"GPU {PLAINEST}", plain)


def _sampled(name: str, rounds: int) -> Row:
    method, kept = create(name), snapshots(METHOD_BODIES, KEPT)
    for snapshot in kept:
        method.add(snapshot)
    begin_ns, end_ns = kept[-3].sim_time_ns, kept[-1].sim_time_ns
    times_ns = itertools.cycle(range(begin_ns, end_ns, (end_ns - begin_ns) // 7))
    method.sample(next(times_ns))
    times, copied = times_us(
        rounds, lambda: method.sample(next(times_ns)), Memcpy(METHOD_BODIES * POSE_BYTES), budget_s=METHOD_BUDGET_S
    )
    return row(f"numpy {name}, {METHOD_BODIES:,} bodies", "us", times, "memcpy of the poses", copied)


def look_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of a frame with each kind of shadows in LOOKS, compared with a frame without shadows, for several numbers
    of bodies. share: share of a whole run's rounds to measure."""
    window = open_display(Config(pacing="unlimited"))
    try:
        for count in LOOK_COUNTS if share >= 1 else LOOK_COUNTS[:1]:
            cloud = Cloud(window, count, ground=GROUND_M)
            for name, level in LOOKS.items():
                say(f"{name}, {count:,} bodies")
                yield _compared(cloud, f"{name}, {count:,} bodies", level, rounds_of(LOOK_ROUNDS, share))
            cloud.release()
    finally:
        window.close()


def _compared(cloud: Cloud, name: str, look: Level, rounds: int) -> Row:
    works = [lambda level=level: _draw(cloud, level) for level in (look, PLAIN)]  # type: ignore[misc]
    for work in works * 2:  # compiles programs, allocates memory
        work()
    times, plain = times_us(rounds, *works, budget_s=LOOK_BUDGET_S)
    return row(name, "us", times, PLAIN.name, plain)


def _draw(cloud: Cloud, level: Level) -> None:
    cloud.renderer.level = level
    cloud.draw(0.5)
