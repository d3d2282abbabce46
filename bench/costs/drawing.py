"""Measures the cost of drawing a cloud of bodies, without swap, clock or channel. Costs of shapes, marks,
interpolation methods and shadows are measured.

Two ways of drawing take turns, picture by picture, in the same OpenGL context. Each way waits until its picture is
complete. A shape is compared with the fastest known way to draw only that shape (`bench.lean`). That way omits
everything that can be left out. An interpolation method on the GPU is compared with the method `linear`. An
interpolation method in numpy is compared with a copy of its result. Marks are compared with bodies at the same
positions and of the same sizes. numpy blends marks and lays them out in every frame. Five kinds of marks are also
shapes of bodies.

Always: velocities of the cloud agree with its positions and orientations, because interpolation methods use them. All
bodies are in view. They have the same size on the screen as in the world `swarm` with the same number of bodies. In a
picture 600 px high, the diameter of a body is 18 px for a thousand bodies, and 3 px for a million bodies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.cost_suite import fps_name
from bench.lean.lean_draws import LeanBoxes, LeanCapsules, LeanSpheres
from bench.rows import Memcpy, Row, rounds_of, row, times_us
from bench.screens import opened_window
from twixt.cli.progress import Say
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from twixt.ipc.snapshot import BODY, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, VISIBLE, Snapshot
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.quality import BEST, BEST_SOFTWARE, FULL, LIT_LEVELS, Level
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.interpolation import METHODS, create
from twixt.render.interpolation.blending import Matched, blended, drawable, matched
from twixt.render.interpolation.quaternion import exp, multiply
from twixt.sim.world.marks import Marks

INTERVAL_S = 1 / 30
DIAMETER_PX, DIAMETER_POWER, HEIGHT_PX = 18.0, -0.26, 600
REACH_M, SPEED_M_S, SPIN_RAD_S = 1.0, 0.3, 2.0
CAMERA = Camera(eye=(0.0, -4.0, 0.7), target=(0.0, 0.0, 0.0), fov_y_deg=36.0)

# For each number of bodies, the number of rounds. More bodies have fewer rounds, because their rounds take longer.
ROUNDS = {1_000: 120, 10_000: 32, 100_000: 9}
# Times in seconds after which no new round begins. BUDGET_S is for one shape and number of bodies, METHOD_BUDGET_S for
# one interpolation method, and LOOK_BUDGET_S for one kind of shadows.
BUDGET_S, METHOD_BUDGET_S, LOOK_BUDGET_S = 2.5, 1.5, 4.0
# TARGET is the required ratio for a row of TARGET_COUNT bodies with a shape in OWN_LEAN. For other shapes no ratio is
# required, because they are compared with the lean drawing of a different shape.
TARGET_COUNT, TARGET, OWN_LEAN = 10_000, "ratio >= 0.9", ("box", "capsule")
UPLOADS = {10_000: 200, 1_000_000: 9}

METHOD_BODIES, NUMPY_ROUNDS, GPU_ROUNDS = 10_000, 60, 40
# Number of bytes of a body's position and orientation, as 32-bit floats.
POSE_BYTES = 28
# ON_GPU has the interpolation methods that run on the GPU. PLAINEST is the simplest method, with which the methods in
# ON_GPU are compared.
ON_GPU, PLAINEST = ("auto", "hermite", "none"), "linear"
# Number of snapshots that an interpolation method in numpy gets.
KEPT = 6
LOOK_COUNTS, LOOK_ROUNDS = (100, 1_000, 10_000), 60
# Height of the ground in metres. The middle of the cloud is at height 0, and the radius of the cloud is 1 m.
GROUND_M = -1.0
PLAIN = FULL._replace(name="no shadows", shadows=False)
LOOKS: dict[str, Level] = {
    "round shadows": FULL,
    "shadow map": LIT_LEVELS[1],
    "shadow map, contact": BEST_SOFTWARE,
    "shadow map, contact, 4 samples": BEST,
}
MARK_COUNT, MARK_ROUNDS = 1_000, 120
# MARK_SIZES has the sizes of marks, in multiples of the radius of a sphere in the cloud. AS_BODIES has the shapes of
# bodies that look like these marks.
MARK_SIZES = {
    "sphere": (1.0,), "box": (1.4, 1.4, 1.4), "capsule": (0.6, 1.2), "cylinder": (0.7, 1.4),
    "ellipsoid": (2.0, 1.6, 1.2), "arrow": (0.2, 3.0), "line": (0.2, 3.0), "axes": (2.0,),
}  # fmt: skip
AS_BODIES: dict[str, Callable[..., Shape]] = {
    "sphere": Sphere, "box": lambda *size: Box(size), "capsule": Capsule, "cylinder": Cylinder,
    "ellipsoid": lambda *radii: Ellipsoid(radii),
}  # fmt: skip


def radius_m(count: int) -> float:
    """Radius of each sphere in a cloud of `count` bodies, in metres."""
    diameter_px = DIAMETER_PX * (count / 1000) ** DIAMETER_POWER
    height_m = 2 * math.dist(CAMERA.eye, CAMERA.target) * math.tan(math.radians(CAMERA.fov_y_deg) / 2)
    return diameter_px / HEIGHT_PX * height_m / 2


def records(count: int, number: int) -> NDArray[np.void]:
    """Bodies of snapshot `number`, shape (count,), dtype `BODY`."""
    random = np.random.default_rng(0)
    bodies = np.zeros(count, BODY)
    direction = random.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    place = direction * REACH_M * np.cbrt(random.random((count, 1)))
    velocity = random.normal(scale=SPEED_M_S, size=(count, 3))
    spin = random.normal(scale=SPIN_RAD_S, size=(count, 3))
    passed_s = number * INTERVAL_S
    bodies["position"] = place + velocity * passed_s
    bodies["velocity"], bodies["angular_velocity"] = velocity, spin
    first = random.normal(size=(count, 4))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    bodies["orientation"] = multiply(exp(spin * passed_s), first)
    bodies["flags"] = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    bodies["scale"], bodies["color"] = 1.0, 255
    return bodies


class Cloud:
    """`count` bodies that fly through each other. Three snapshots of them are on the GPU of `window`.

    shapes: one shape for all bodies, or one shape for each body. If it is None, the bodies are spheres. ground: height
    of the ground in metres, or None if there is no ground.
    """

    def __init__(self, window: Any, count: int, *shapes: Shape, ground: float | None = None) -> None:
        scene = Scene(shapes or [Sphere(radius_m(count))], ground_z=ground, camera=CAMERA)
        self.size_px: tuple[int, int] = window.framebuffer_size
        self.camera = OrbitCamera.from_camera(CAMERA).matrices(self.size_px, self.size_px)
        self.viewport = (0, 0, *self.size_px)
        self.records = [records(count, number) for number in range(3)]
        self.renderer = SceneRenderer(window.context, scene, len(self.records) + 1, count)
        for slot, bodies in enumerate(self.records):
            self.renderer.upload_records(slot, bodies)
        self._screen, self._alphas = window.screen, itertools.cycle(np.linspace(0.05, 0.95, 7).tolist())

    def draw(self, alpha: float, method: str = "auto") -> None:
        """Draws a blend of the last two snapshots, and waits until the picture is complete. alpha: position between
        the two snapshots, 0 to 1."""
        self.use_screen()
        layer = Layer(1, 2, 0, alpha, INTERVAL_S, INTERVAL_S, method)
        self.renderer.draw([layer], self.camera, self.viewport)
        self.renderer.finish()

    def draw_next(self, method: str) -> None:
        self.draw(next(self._alphas), method)

    def draw_level(self, level: Level) -> None:
        """Draws a blend of the last two snapshots at this quality level."""
        self.renderer.level = level
        self.draw(0.5)

    def draw_marks(self, older: NDArray[np.void], newer: NDArray[np.void], both: Matched) -> None:
        """Blends and draws marks without bodies, and waits until the picture is complete."""
        self.use_screen()
        marks = blended(older, newer, both, 0.4)
        self.renderer.draw([], self.camera, self.viewport, marks)
        self.renderer.finish()

    def use_screen(self) -> None:
        """Makes the window's framebuffer the target of drawing. `draw` does this too."""
        self._screen.use()


def _pictures_us(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int, budget_s: float
) -> tuple[list[float], list[float]]:
    """Times of two ways of drawing that take turns, in us. The first two pictures do not count, because programs are
    compiled for them."""
    for work in (ours, theirs) * 2:
        work()
    times, limits = times_us(rounds, ours, theirs, budget_s=budget_s)
    return times, limits


def shape_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of the frames per second for each shape, and rows of uploads."""
    with opened_window() as window:
        for count, rounds in ROUNDS.items() if share >= 1 else [*ROUNDS.items()][:1]:
            for shape in _shapes(radius_m(count)):
                name = type(shape).__name__.lower()
                say(f"{count:,} of shape {name}")
                yield _drawn(window, name, count, shape, rounds_of(rounds, share))
        for count, rounds in UPLOADS.items() if share >= 1 else [*ROUNDS.items()][:1]:
            say(f"upload of {count:,} bodies")
            cloud = Cloud(window, count)
            source = memoryview(cloud.records[0].view("u1"))  # type: ignore[arg-type]
            upload = partial(cloud.renderer.upload, 3, source, count)
            times, limits = times_us(rounds_of(rounds, share), upload, Memcpy(count * BODY.itemsize))
            cloud.renderer.release()
            yield row(f"upload {count:,} bodies", "us", times, "memcpy", limits)


def _shapes(radius: float) -> Iterator[Shape]:
    yield Box((1.4 * radius,) * 3)
    yield Capsule(0.6 * radius, 1.2 * radius)
    yield Cylinder(0.7 * radius, 1.4 * radius)
    yield Ellipsoid((2.0 * radius, 1.6 * radius, 1.2 * radius))


def _drawn(window: Any, name: str, count: int, shape: Shape, rounds: int) -> Row:
    cloud = Cloud(window, count, shape)
    (lean_name, lean), pictures = _lean(window, count, cloud, shape), 0

    def ours() -> None:
        nonlocal pictures
        pictures += 1
        cloud.draw(pictures % 10 / 10)

    def least() -> None:
        cloud.use_screen()
        lean.draw(cloud.camera, cloud.viewport, pictures % 10 / 10)
        cloud.renderer.finish()

    times, limits = _pictures_us(ours, least, rounds, BUDGET_S)
    lean.release()
    cloud.renderer.release()
    fps, least_fps = ([1e6 / us for us in taken_us] for taken_us in (times, limits))
    target = TARGET if count == TARGET_COUNT and name in OWN_LEAN else ""
    return row(fps_name(name, count), "fps", fps, lean_name, least_fps, target)


def _lean(window: Any, count: int, cloud: Cloud, shape: Shape) -> tuple[str, LeanSpheres | LeanBoxes | LeanCapsules]:
    """Lean drawing with which the shape is compared, and the name of this drawing."""
    older, newer = cloud.records[1:]
    match shape:
        case Box((width, depth, height)):
            return "lean boxes", LeanBoxes(window.context, older, newer, (width / 2, depth / 2, height / 2))
        case Cylinder(radius, length):
            return "lean boxes", LeanBoxes(window.context, older, newer, (radius, radius, length / 2))
        case Capsule(radius, length):
            return "lean capsules", LeanCapsules(window.context, older, newer, (radius, radius, length / 2))
    return "lean spheres", LeanSpheres(window.context, older["position"], newer["position"], radius_m(count))


def method_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of the interpolation methods, one row for each method."""
    with opened_window() as window:
        cloud = Cloud(window, METHOD_BODIES)
        for method in ON_GPU:
            say(f"{method} on the GPU")
            ours, plainest = (partial(cloud.draw_next, name) for name in (method, PLAINEST))
            times, plain = _pictures_us(ours, plainest, rounds_of(GPU_ROUNDS, share), METHOD_BUDGET_S)
            yield row(f"GPU {method}, {METHOD_BODIES:,} bodies", "us", times, f"GPU {PLAINEST}", plain)
    for method in METHODS:
        say(f"{method} in numpy")
        yield _sampled(method, rounds_of(NUMPY_ROUNDS, share))


def _sampled(name: str, rounds: int) -> Row:
    method, interval_ns = create(name), round(INTERVAL_S * 1e9)
    for number in range(KEPT):
        method.add(Snapshot(number * interval_ns, records(METHOD_BODIES, number), tick=number))
    begin_ns, end_ns = (KEPT - 3) * interval_ns, (KEPT - 1) * interval_ns
    times_ns = itertools.cycle(range(begin_ns, end_ns, (end_ns - begin_ns) // 7))
    method.sample(next(times_ns))
    copy = Memcpy(METHOD_BODIES * POSE_BYTES)
    times, copied = times_us(rounds, lambda: method.sample(next(times_ns)), copy, budget_s=METHOD_BUDGET_S)
    return row(f"numpy {name}, {METHOD_BODIES:,} bodies", "us", times, "memcpy of the poses", copied)


def look_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of a frame with each kind of shadows in LOOKS. The frame is compared with a frame without shadows."""
    with opened_window() as window:
        for count in LOOK_COUNTS if share >= 1 else LOOK_COUNTS[:1]:
            cloud = Cloud(window, count, ground=GROUND_M)

            for name, look in LOOKS.items():
                say(f"{name}, {count:,} bodies")
                ours, bare = (partial(cloud.draw_level, level) for level in (look, PLAIN))
                times, plain = _pictures_us(ours, bare, rounds_of(LOOK_ROUNDS, share), LOOK_BUDGET_S)
                yield row(f"{name}, {count:,} bodies", "us", times, PLAIN.name, plain)
            cloud.renderer.release()


def mark_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of pictures of marks."""
    with opened_window() as window:
        say(f"{MARK_COUNT:,} marks")
        unit, each = radius_m(MARK_COUNT), MARK_COUNT // len(AS_BODIES)
        shapes = [make(*np.multiply(MARK_SIZES[kind], unit).tolist()) for kind, make in AS_BODIES.items()]
        bodies = Cloud(window, MARK_COUNT, *(shape for shape in shapes for _ in range(each)))
        for name, kinds in (("five kinds", tuple(AS_BODIES)), ("all kinds", tuple(MARK_SIZES))):
            older, newer = _marks(kinds, 1), _marks(kinds, 2)
            ours = partial(bodies.draw_marks, older, newer, matched(older["key"], newer["key"]))
            rounds = rounds_of(MARK_ROUNDS, share)
            times, limits = _pictures_us(ours, partial(bodies.draw, 0.4, PLAINEST), rounds, BUDGET_S)
            yield row(f"{MARK_COUNT:,} marks of {name}", "us", times, "the same number of bodies of five kinds", limits)


def _marks(kinds: Sequence[str], number: int) -> NDArray[np.void]:
    marks, bodies, each = Marks(), records(MARK_COUNT, number), MARK_COUNT // len(kinds)
    for first, kind in enumerate(kinds):
        rows = slice(first * each, (first + 1) * each)
        size = np.multiply(MARK_SIZES[kind], radius_m(MARK_COUNT))
        marks.add(kind, bodies["position"][rows], orientation=bodies["orientation"][rows], size=size)
    return drawable(marks.records)
