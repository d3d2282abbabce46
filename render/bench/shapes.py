"""Each shape's drawing against the best way known to draw nothing but it, and what an upload costs.

One idea: the renderer and the lean draw take turns picture by picture on one context, each waiting for its own end,
so that what is compared is drawing alone: no swap, no clock, no channel.

Does not judge which pictures look better: the lean draws leave out whatever they can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twixt.ipc.bench import Memcpy, Row, Say, rounds_of
from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape
from twixt.ipc.snapshot import BODY
from twixt.render.bench.cloud import Cloud, radius_m
from twixt.render.bench.lean_shapes import LeanBoxes, LeanCapsules
from twixt.render.bench.lean_spheres import LeanSpheres
from twixt.render.bench.live import fps_name
from twixt.render.bench.turns import row, taken_us
from twixt.render.display.opening import open_display

COUNTS = (1_000, 10_000, 100_000)
# Rounds; of the larger counts fewer, as they take so much longer.
ROUNDS = {1_000: 120, 10_000: 32, 100_000: 9}
# For the rounds of one shape and count.
BUDGET_S = 2.5
# What is wanted at this many bodies of what has a lean draw of its own.
BAR_COUNT, BAR, OWN_LEAN = 10_000, "ratio >= 0.9", ("box", "capsule")
UPLOADS = {10_000: 200, 1_000_000: 9}

Draw = Callable[[float], object]


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Frames a second of each shape, and uploads. share: of a whole run's rounds. say: told what is measured next."""
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


def _shapes(count: int) -> Iterator[tuple[Shape, str]]:
    """Each shape, as large as a sphere in a cloud of so many, and what it is held against."""
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

        for work in (ours, least) * 2:  # programs are made, memory is taken
            work()
        taken, limits = taken_us(rounds, ours, least, budget_s=BUDGET_S)
    finally:
        lean.release()
        cloud.release()
    bar = BAR if count == BAR_COUNT and name in OWN_LEAN else ""
    return row(fps_name(name, count), "fps", _fps(taken), best, _fps(limits), bar)


def _lean(window: Any, cloud: Cloud, best: str) -> Any:
    older, newer = cloud.records[1:]
    places = older["position"], newer["position"]
    if best == "lean spheres":
        return LeanSpheres(window.context, *places, radius_m(cloud.count))
    kind = LeanCapsules if best == "lean capsules" else LeanBoxes
    return kind(window.context, *places, older["orientation"], newer["orientation"], _half_size(cloud.shape))


def _half_size(shape: Shape) -> tuple[float, float, float]:
    """Half its edges; of what is round about z: radius, radius, half the straight part."""
    match shape:
        case Box(size):
            return size[0] / 2, size[1] / 2, size[2] / 2
        case Capsule(radius, length) | Cylinder(radius, length):
            return radius, radius, length / 2
        case _:
            raise TwixtError(f"no lean draw of {shape!r} is known")


def _fps(taken: list[float]) -> list[float]:
    return [1e6 / each_us for each_us in taken]


def _uploaded(window: Any, count: int, rounds: int) -> Row:
    cloud = Cloud(window, count)
    source = memoryview(cloud.records[0].view("u1"))  # type: ignore[arg-type]
    try:
        taken, limits = taken_us(rounds, lambda: cloud.renderer.upload(3, source, count), Memcpy(count * BODY.itemsize))
    finally:
        cloud.release()
    return row(f"upload {count:,} bodies", "us", taken, "memcpy", limits)
