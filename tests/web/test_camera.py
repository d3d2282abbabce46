"""The page's cameras against those of the native viewer."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from tests.web.in_node import run_in_node
from twixt import Camera, Plane, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import CameraMatrices, OrbitCamera, carried
from twixt.render.draw.frame.framing import bounds_of, framed_balls, small_size_of

SCRIPT = """
const {OrbitCamera, carried} = await import(WEB + "camera.js");
const plain = ({view, projection, ...rest}) => ({view: [...view], projection: [...projection], ...rest});
answer(given.map(({camera, fields, bodies, isFramed, acts, sizePx: [widthPx, heightPx], carrier}) => {
  const orbit = OrbitCamera.fromHead(camera);
  if (fields) Object.assign(orbit, fields);
  if (bodies) {
    const framed = {place: Float64Array.from(bodies.place), radius: Float64Array.from(bodies.radius)};
    if (isFramed) orbit.frame({...bodies, framed}, widthPx / heightPx);
    else orbit.surround({...bodies, framed});
  }
  for (const [name, ...values] of acts) orbit[name](...values);
  let matrices = orbit.matrices(widthPx, heightPx);
  if (carrier) matrices = carried(matrices, carrier.position, carrier.turn);
  return {
    matrices: plain(matrices), viewport: orbit.viewport(widthPx, heightPx), camera: orbit.toHead(),
    isFlat: orbit.isFlat,
  };
}));
"""
RNG = np.random.default_rng(11)
CASES = 300


def random_camera() -> Camera:
    """A camera at random: perspective or orthographic, straight down or up, rolled, with a principal point, locked."""
    target, eye = RNG.normal(0, 10.0 ** RNG.integers(-2, 5), (2, 3))
    up = (0.0, 0.0, 1.0)
    kind = RNG.integers(4)
    if kind == 0:
        eye = target + np.array((0, 0, RNG.choice((-1.0, 1.0)) * RNG.uniform(0.1, 100)))
        up = RNG.choice((0, 1)) * np.array((*RNG.normal(0, 1, 2), 0.0)) + np.array((0, 0, 1.0))
    elif kind == 1:
        up = RNG.normal(0, 1, 3)
    return Camera(
        eye, target, RNG.uniform(1, 170),
        body=3 if RNG.random() < 0.2 else None,
        orthographic_height=10.0 ** RNG.uniform(-6, 9) if RNG.random() < 0.4 else None,
        rotates_with_body=bool(RNG.integers(2)), up=up,
        principal_point=RNG.uniform(-1, 1, 2) if RNG.random() < 0.3 else (0, 0),
        locked=bool(RNG.integers(2)),
    )  # fmt: skip


def random_acts() -> list[list[Any]]:
    """Drags and notches of the wheel."""
    acts: list[list[Any]] = []
    for _ in range(RNG.integers(4)):
        name = ("orbit", "pan", "zoom", "follow")[RNG.integers(4)]
        if name == "zoom":
            acts.append([name, RNG.choice((RNG.normal(0, 5), 1e9, -1e9))])
        elif name == "follow":
            acts.append([name, RNG.normal(0, 5, 3).tolist()])
        else:
            acts.append([name, *RNG.normal(0, 300, 2).tolist(), int(RNG.integers(1, 1000))])
    return acts


def random_scene(camera: Camera | None) -> tuple[Scene, Any]:
    count = int(RNG.choice((0, 1, 2, 9, 50)))
    bodies = new_bodies(count)
    bodies["position"] = RNG.normal(RNG.normal(0, 100, 3), 10.0 ** RNG.uniform(-2, 3), (count, 3))
    bodies["scale"] = RNG.uniform(0, 2, count)
    shapes = [Sphere(10.0 ** RNG.uniform(-3, 1)), Plane((100, 100)), Sphere(0.1)]
    outline = ((-5, -4, -3), (1, 2, 30)) if RNG.random() < 0.2 else None
    return Scene(shapes[: 1 + int(RNG.integers(3))], camera=camera, outline=outline), bodies


class Case:
    """One camera, what the user does with it, and the native viewer's answer."""

    def __init__(self) -> None:
        camera = None if RNG.random() < 0.3 else random_camera()
        scene, bodies = random_scene(camera)
        self.size_px = int(RNG.integers(1, 3000)), int(RNG.integers(1, 2000))
        width_px, height_px = self.size_px
        is_framed = camera is None or RNG.random() < 0.3
        acts = random_acts()
        turn = RNG.normal(0, 1, 4)
        turn /= np.linalg.norm(turn)
        self.carrier = {"position": RNG.normal(0, 10, 3).tolist(), "turn": turn.tolist()}
        if RNG.random() < 0.2:
            self.carrier["position"][1] = 1e400
        is_carried = RNG.random() < 0.3
        balls, bounds = framed_balls(scene, bodies), bounds_of(scene, bodies)
        self.given = {
            "camera": None if camera is None else asdict(camera),
            "bodies": {
                "place": balls.place.T.ravel().tolist(), "radius": balls.radius.tolist(),
                "bounds": {"middle": bounds.middle, "radiusM": bounds.radius_m},
                "smallSizeM": small_size_of(scene, bodies),
            },
            "isFramed": bool(is_framed), "acts": acts, "sizePx": self.size_px,
            "carrier": None if not is_carried or not all(map(math.isfinite, self.carrier["position"])) else self.carrier,
        }  # fmt: skip
        orbit = OrbitCamera.for_scene(scene, bodies, width_px / height_px)
        if is_framed:
            orbit.frame(scene, bodies, width_px / height_px)
        for name, *values in acts:
            getattr(orbit, name)(*values)
        self.orbit, self.body = orbit, None if camera is None else camera.body
        self.rotates = True if camera is None else camera.rotates_with_body
        self.matrices: CameraMatrices = orbit.matrices(self.size_px)
        if self.given["carrier"] is not None:
            self.matrices = carried(self.matrices, np.array(self.carrier["position"]), turn)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Case, Any]]:
    made = [Case() for _ in range(CASES)]
    return list(zip(made, run_in_node(SCRIPT, [case.given for case in made]), strict=True))


def is_near(found: Any, expected: Any, lengths_m: float) -> bool:
    """True if the numbers agree to two units of float32 of their own size or of the lengths from which they come."""
    given, wanted = np.array(found, np.float64), np.array(expected, np.float64).reshape(np.shape(found))
    ulps = 2 * np.spacing(np.maximum(np.abs(wanted), lengths_m).astype(np.float32)).astype(np.float64)
    return bool((np.abs(given - wanted) <= ulps).all())


def test_matrices_are_those_of_the_native_viewer(cases: list[tuple[Case, Any]]) -> None:
    for case, found in cases:
        matrices, answer = case.matrices, found["matrices"]
        view, projection = np.reshape(answer["view"], (4, 4)), np.reshape(answer["projection"], (4, 4))
        far_m = max(map(abs, (*matrices.eye, *matrices.target)))
        assert is_near(view[:, :3], matrices.view[:, :3], 1e-3), case.given
        assert is_near(view[:, 3], matrices.view[:, 3], far_m), case.given
        assert is_near(projection, matrices.projection, 0), case.given
        assert is_near(answer["eye"], matrices.eye, far_m)
        assert is_near(answer["target"], matrices.target, far_m)
        assert answer["orthographic"] == matrices.orthographic


def test_a_picture_is_drawn_into_the_native_viewers_viewport(cases: list[tuple[Case, Any]]) -> None:
    for case, found in cases:
        viewport = found["viewport"]
        expected = case.orbit.around_axis((0, 0, *case.size_px))
        assert (viewport["left"], viewport["bottom"], viewport["width"], viewport["height"]) == expected


def test_the_view_is_the_camera_of_a_scene_again(cases: list[tuple[Case, Any]]) -> None:
    for case, found in cases:
        expected = asdict(case.orbit.as_camera(case.body, case.rotates))
        assert found["isFlat"] == case.orbit.is_flat
        far_m = max(map(abs, (*expected["eye"], *expected["target"])))
        for name, value in found["camera"].items():
            wanted = expected[name]
            if isinstance(wanted, bool | None):
                assert value == wanted
            else:
                assert is_near(value, wanted, far_m if name in ("eye", "target") else 1e-3), name


NARROW = """
const {View} = await import(WEB + "camera.js");
const view = new View();
answer(given.map(({camera, sizePx: [widthPx, heightPx], points}) => {
  view.setCamera(camera);
  const {view: toEye, projection} = view.matrices(widthPx, heightPx), {viewport} = view.seen;
  const times = (matrix, vector) => [0, 1, 2, 3].map((row) =>
    vector.reduce((sum, value, column) => sum + value * matrix[4 * row + column], 0));
  const pixels = points.map((point) => {
    const [x, y, , w] = times(projection, times(toEye, [...point, 1]));
    const inX = viewport.left + viewport.width * (x / w + 1) / 2, inY = viewport.bottom + viewport.height * (y / w + 1) / 2;
    return [inX - widthPx / 2, inY - heightPx / 2];
  });
  view.pan(7, -9, heightPx);
  return {pixels, target: view.orbit.target};
}));
"""


@pytest.mark.parametrize("orthographic_height", [None, 3.0])
@pytest.mark.parametrize("locked", [False, True])
def test_a_narrow_picture_shows_the_width_that_a_picture_of_4_to_3_shows(
    orthographic_height: float | None, locked: bool
) -> None:
    def answers(camera: Camera | None, *sizes_px: tuple[int, int]) -> list[Any]:
        head = None if camera is None else asdict(camera)
        points = RNG.normal(0, 1, (20, 3)).tolist()
        cases = [{"camera": head, "sizePx": size_px, "points": points} for size_px in sizes_px]
        return run_in_node(NARROW, cases)

    camera = Camera(
        (4, -5, 2),
        (0.1, 0.2, 0.3),
        35,
        orthographic_height=orthographic_height,
        principal_point=(0.1, -0.05),
        locked=locked,
    )
    usual, narrow, narrowest = answers(camera, (360, 270), (360, 360), (360, 780))
    for other in (narrow, narrowest):
        assert np.allclose(other["pixels"], usual["pixels"], atol=1e-3)
        assert np.allclose(other["target"], usual["target"], atol=1e-9)
    usual, wide = answers(camera, (360, 270), (640, 270))
    assert np.allclose(wide["pixels"], usual["pixels"], atol=1e-3)
    usual, narrow = answers(None, (360, 270), (360, 780))  # bodies are framed by the picture that there is
    assert np.allclose(np.divide(narrow["pixels"], 780), np.divide(usual["pixels"], 270), atol=1e-5)


PRESENTED = """
const {PresentedCameras, View} = await import(WEB + "camera.js");
const cameras = new PresentedCameras(), view = new View(), found = [];
for (const [verb, ...values] of given) {
  if (verb === "add") cameras.add(...values);
  else {
    view.show(cameras.at(values[0]));
    found.push([...view.orbit.eye, cameras.isThere]);
  }
}
answer({found, isMoved: view.isMoved});
"""


def test_a_presented_camera_moves_evenly_100_ms_and_its_way_behind_and_begins_anew_after_a_rest() -> None:
    way_ns, interval_ns = 40_000_000, 33_000_000

    def add(x: float, at_ns: int) -> list[Any]:
        camera = asdict(Camera((x, 0.0, 3.0), (x, 5.0, 0.0)))
        return ["add", {"camera": camera, "at_ns": at_ns, "begun": 1}, at_ns + way_ns]

    steps: list[list[Any]] = [add(n, n * interval_ns) for n in range(8)]
    behind_ns = 100_000_000 + way_ns
    draws_ns = [behind_ns + at_ns for at_ns in range(0, 7 * interval_ns, 5_000_000)]
    steps += [["at", draw_ns] for draw_ns in draws_ns]
    later_ns = 60_000_000_000
    steps += [["at", later_ns], add(8.0, later_ns)]
    steps += [["at", later_ns + behind_ns + off_ns] for off_ns in (-2 * interval_ns, -interval_ns // 3, interval_ns)]
    steps += [["add", {"camera": None, "at_ns": 0}, later_ns]]
    answer = run_in_node(PRESENTED, steps)
    found = np.array([row[0] for row in answer["found"]])
    np.testing.assert_allclose(found[: len(draws_ns)], (np.array(draws_ns) - behind_ns) / interval_ns, atol=1e-9)
    np.testing.assert_allclose(found[len(draws_ns) :], [7, 7, 8 - 1 / 3, 8], atol=1e-6)
    assert not answer["isMoved"]


KNOWN = """
const {PresentedCameras} = await import(WEB + "camera.js");
const cameras = new PresentedCameras();
for (let n = 0; n < given; n++) cameras.add({camera: {eye: [n, 0, 0]}, at_ns: n * 33e6, begun: 2}, n * 33e6);
cameras.clear();
answer([1, 2, 3].map((begun) => cameras.isKnown({begun})));
"""


def test_only_a_presentation_that_has_begun_since_the_last_message_is_new() -> None:
    assert run_in_node(KNOWN, 1) == [True, True, False]


LAST = """
const {PresentedCameras} = await import(WEB + "camera.js");
const cameras = new PresentedCameras();
for (let n = 0; n < given; n++) cameras.add({camera: {eye: [n, 0, 0]}, at_ns: n * 33e6, begun: 1}, n * 33e6);
answer([cameras.at(0), cameras.at(given * 33e6 - 33e6)].map(({eye}) => eye[0]));
"""


def test_a_page_that_does_not_draw_presented_cameras_keeps_a_few() -> None:
    oldest, drawn = run_in_node(LAST, 1000)
    assert 900 < oldest < drawn
    assert 995 < drawn < 999


def test_cameras_of_another_sort_are_not_blended() -> None:
    plain, carried_camera = Camera((1, 0, 0), (0, 0, 0)), Camera((3, 0, 0), (0, 0, 0), body=2)
    adds = [
        ["add", {"camera": asdict(one), "at_ns": at_ns}, at_ns] for at_ns, one in ((0, plain), (10, carried_camera))
    ]
    found = run_in_node(PRESENTED, [*adds, ["at", 100_000_005], ["at", 100_000_010]])["found"]
    assert [row[0] for row in found] == [1, 3]
