"""The page's poses of single bodies against the numpy reference of each interpolation method."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.web.in_node import run_in_node
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot, new_bodies
from twixt.render.interpolation import Poses, create
from twixt.render.interpolation.hermite import curve_is_trusted, moving, turn_is_trusted, turning
from twixt.render.interpolation.poses import compose, in_frames_of, may_be_blended, select_rows
from twixt.render.interpolation.quaternion import exp, multiply, normalized

SCRIPT = """
const {DrawnPoses, curveIsTrusted, turnIsTrusted, ParentLog, publishedPlaces} = await import(WEB + "pose.js");
const snapshotOf = ({records, simNs, parents}) => {
  if (records === null) return null;
  const bytes = Buffer.from(records, "base64");
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const words = new Uint32Array(buffer), floats = new Float32Array(buffer);
  return {words, floats, simNs, count: words.length / 16, parents: Int32Array.from(parents ?? [])};
};
answer(given.map(({snapshots, methods, share, hasParents, isLayered}) => {
  const [before, older, newer] = snapshots.map(snapshotOf);
  const parentsOf = hasParents ? (snapshot) => snapshot.parents : null;
  const found = {poses: {}};
  for (const method of methods) {
    const pair = {before, older, newer, share, method};
    const late = {before: null, older: before, newer: older, share, method: "linear"};
    const poses = new DrawnPoses(pair, method, parentsOf, isLayered ? (body) => body % 2 ? late : pair : undefined);
    const own = found.poses[method] = {position: [], orientation: [], scale: [], visible: []};
    for (let body = 0; body < older.count; body++) {
      const {position, orientation, scale, isVisible} = poses.of(body);
      own.position.push(position.map((value) => Number.isFinite(value) ? value : 1e300));
      own.orientation.push(orientation);
      own.scale.push(Number.isFinite(scale) ? scale : 1e300);
      own.visible.push(isVisible);
    }
    own.isBeyond = poses.of(older.count) === null && poses.of(-1) === null;
    const words = new Uint32Array(16 * older.count), floats = new Float32Array(words.buffer);
    words.set(older.words);
    poses.placeRows(Uint32Array.from({length: older.count}, (_, body) => body), words, floats);
    own.posed = Buffer.from(words.buffer).toString("base64");
  }
  const both = newer === null ? 0 : Math.min(older.count, newer.count);
  found.curves = Array.from({length: both}, (_, body) => before !== null && curveIsTrusted(before, older, newer, body));
  found.turns = Array.from({length: both}, (_, body) => turnIsTrusted(older, newer, body));
  found.places = [...publishedPlaces(older, parentsOf) ?? []].map((value) => Number.isFinite(value) ? value : 1e300);
  return found;
}));
"""
METHODS = ("none", "linear", "hermite", "auto")
RNG = np.random.default_rng(5)
COUNT = 3000
BEFORE_NS, OLDER_NS, NEWER_NS = 0, 20_000_000, 53_000_000


def motions(count: int) -> list[NDArray[np.void]]:
    """Three snapshots of bodies that fall, turn on circles, spin, bounce and jump."""
    times = np.array((BEFORE_NS, OLDER_NS, NEWER_NS)) / 1e9
    snapshots = [new_bodies(count) for _ in times]
    place = RNG.normal(0, 1, (count, 3)) * 10.0 ** RNG.uniform(-2, 6, (count, 1))
    speed, push = RNG.normal(0, 5, (2, count, 3))
    push *= RNG.choice((0.0, 1.0, 9.81, 300.0), (count, 1))
    bounce = RNG.random(count) < 0.2
    spin = RNG.normal(0, 1, (count, 3)) * RNG.choice((0.0, 1.0, 30.0, 400.0, 1e5), (count, 1))
    change = RNG.normal(0, 1, (count, 3)) * RNG.choice((0.0, 5.0, 100.0), (count, 1))
    start = normalized(RNG.normal(0, 1, (count, 4)))
    for time, bodies in zip(times, snapshots, strict=True):
        sign = np.where(bounce & (time > 0.03), -1.0, 1.0)[:, None]
        bodies["position"] = place + speed * time * sign + push * time**2 / 2
        bodies["velocity"] = speed * sign + push * time
        bodies["orientation"] = multiply(exp(spin * time + change * time**2 / 2), start)
        bodies["angular_velocity"] = spin + change * time
        bodies["orientation"] *= RNG.choice((1.0, -1.0, 0.2), (count, 1))
        bodies["scale"] = RNG.choice((1.0, 2.0, -1.0, 0.0), count)
        bodies["flags"] |= HAS_VELOCITY | HAS_ANGULAR_VELOCITY
        for flag, share in ((HAS_VELOCITY, 0.05), (HAS_ANGULAR_VELOCITY, 0.05), (1, 0.1)):
            bodies["flags"] &= np.where(RNG.random(count) < share, 0xFFFF ^ flag, 0xFFFF).astype(np.uint16)
        bodies["epoch"] = np.where(RNG.random(count) < 0.05, RNG.integers(0, 1 << 32, count), 7)
    nudge = exp(RNG.normal(0, 1, (count, 3)) * 10.0 ** RNG.uniform(-3, 1, (count, 1)))
    snapshots[2]["orientation"] = multiply(nudge, snapshots[2]["orientation"].astype(np.float64))
    for bodies in snapshots:
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            broken = RNG.random(count) < 0.02
            bodies[name][broken, 0] = RNG.choice((np.nan, np.inf, -np.inf, 2e30, 5e15), int(broken.sum()))
        bodies["scale"][RNG.random(count) < 0.02] = np.nan
    return snapshots


def given(snapshots: list[Any], share: float, parents: Any = None, methods: Any = METHODS) -> dict[str, Any]:
    times = (BEFORE_NS, OLDER_NS, NEWER_NS)
    rows = [
        {
            "records": None if bodies is None else base64.b64encode(bodies.tobytes()).decode(), "simNs": time,
            "parents": None if parents is None else own.tolist(),
        }
        for bodies, time, own in zip(snapshots, times, parents or [None] * 3, strict=True)
    ]  # fmt: skip
    return {"snapshots": rows, "share": share, "methods": methods, "hasParents": parents is not None}


def reference(snapshots: list[Any], method: str, share: float) -> Poses:
    """Poses of the numpy method at this share of the time between the last two snapshots."""
    made = create(method)
    for bodies, time_ns in zip(snapshots, (BEFORE_NS, OLDER_NS, NEWER_NS), strict=True):
        if bodies is not None:
            made.add(Snapshot(sim_time_ns=time_ns, bodies=bodies))
    return made.sample(OLDER_NS + round(share * (NEWER_NS - OLDER_NS)))


def assert_alike(found: Any, expected: Poses, largest_m: NDArray[np.floating]) -> None:
    """Positions agree within two units of float32 of the largest coordinate, orientations within 1e-4 degrees."""
    shown = expected.visible
    assert found["visible"] == shown.tolist()
    off_m = np.abs(np.array(found["position"]) - expected.position).max(axis=1)[shown]
    assert (off_m <= 2 * np.spacing(largest_m[shown].astype(np.float32))).all()
    one, other = normalized(np.array(found["orientation"])), normalized(expected.orientation)
    apart = np.minimum(np.linalg.norm(one - other, axis=1), np.linalg.norm(one + other, axis=1))
    assert np.degrees(2 * apart[shown]).max(initial=0.0) < 1e-4
    assert np.allclose(np.array(found["scale"])[shown], expected.scale[shown], rtol=1e-6)


def largest(snapshots: list[Any], count: int) -> NDArray[np.floating]:
    """The largest coordinate of each body in these snapshots, and of all bodies for those that others carry."""
    found = np.zeros(count)
    for bodies in snapshots:
        both = min(count, 0 if bodies is None else len(bodies))
        if both:
            sizes = np.abs(bodies["position"][:both].astype(np.float64)).max(axis=1)
            found[:both] = np.maximum(found[:both], np.where(np.isfinite(sizes), sizes, 0))
    return found


SHARES = (0.0, 1 / 3, 0.97)
SHORTER = {"all": (COUNT, COUNT, COUNT), "spawned": (500, 900, COUNT), "despawned": (COUNT, COUNT, 700)}


@pytest.fixture(scope="module")
def pairs() -> dict[tuple[str, float], tuple[list[Any], Any]]:
    snapshots = motions(COUNT)
    cases = {}
    for name, counts in SHORTER.items():
        own: list[Any] = [bodies[:count] for bodies, count in zip(snapshots, counts, strict=True)]
        for share in SHARES:
            cases[name, share] = own
    for name, own in (("no snapshot before", [None, *snapshots[1:]]), ("no snapshot after", [*snapshots[:2], None])):
        cases[name, 0.4] = own
    found = run_in_node(SCRIPT, [given(own, share) for (_, share), own in cases.items()])
    return {key: (own, answer) for (key, own), answer in zip(cases.items(), found, strict=True)}


@pytest.mark.parametrize("method", METHODS)
def test_poses_are_those_of_the_numpy_method(pairs: dict[Any, Any], method: str) -> None:
    for (_, share), (snapshots, found) in pairs.items():
        expected = reference(snapshots, method, share)
        own = found["poses"][method]
        assert_alike(own, expected, largest(snapshots, len(expected)))
        assert own["isBeyond"]


def test_auto_decides_alike_for_every_body(pairs: dict[Any, Any]) -> None:
    for (name, share), (snapshots, found) in pairs.items():
        if "no snapshot" in name or share:
            continue
        before, old, new = snapshots
        rows = np.flatnonzero(may_be_blended(old, new))
        known = rows[rows < len(before)]
        known = moving(before, old, moving(old, new, known[may_be_blended(before, old)[known]]))
        trusted = curve_is_trusted(before[known], old[known], new[known], OLDER_NS / 1e9, (NEWER_NS - OLDER_NS) / 1e9)
        assert np.array(found["curves"])[known].tolist() == trusted.tolist()
        spinning = turning(old, new, rows, (NEWER_NS - OLDER_NS) / 1e9)
        led = turn_is_trusted(old[spinning], new[spinning], (NEWER_NS - OLDER_NS) / 1e9)
        assert np.array(found["turns"])[spinning].tolist() == led.tolist()
        if name == "all":
            assert 0.1 < trusted.mean() < 0.9
            assert 0.1 < led.mean() < 0.9


def carried(count: int) -> tuple[list[NDArray[np.void]], NDArray[np.int32]]:
    """Three snapshots in which two thirds of the bodies have a parent; chains of up to ten generations."""
    snapshots = motions(count)
    for bodies in snapshots:
        for name in ("position", "velocity"):
            bodies[name] = np.clip(bodies[name], -100, 100)
    parents = np.full(count, -1, np.int32)
    for body in range(1, count):
        if RNG.random() < 2 / 3:
            parents[body] = RNG.integers(max(0, body - 20), body)
    return snapshots, parents


def test_bodies_with_a_parent_are_blended_in_its_frame_and_placed_by_its_drawn_pose() -> None:
    snapshots, parents = carried(400)
    (found,) = run_in_node(SCRIPT, [given(snapshots, 1 / 3, [parents] * 3)])
    for method in METHODS:
        expected = compose(reference(snapshots, method, 1 / 3), parents)
        # Arms are at most 200 m long, and the reference rounds the orientation of each of up to ten generations.
        assert_alike(found["poses"][method], expected, np.full(400, 2000.0))
        rows = np.frombuffer(base64.b64decode(found["poses"][method]["posed"]), snapshots[1].dtype)
        children = parents >= 0
        assert rows[~children].tobytes() == snapshots[1][~children].tobytes()
        assert not (rows["flags"][children] & (HAS_VELOCITY | HAS_ANGULAR_VELOCITY)).any()
        shown = children & expected.visible
        off_m = np.abs(rows["position"][shown] - expected.position[shown]).max(axis=1)
        assert (off_m <= 4 * np.spacing(np.float32(2000))).all()
        hidden = children & ((snapshots[1]["flags"] & 1) != 0) & ~expected.visible
        assert np.isnan(rows["position"][hidden]).all()
    world = in_frames_of(snapshots[1], parents, np.full(400, -1))
    shown = np.isfinite(world["position"]).all(axis=1) & (np.abs(world["position"]) < 1e6).all(axis=1)
    places = np.reshape(found["places"], (-1, 3))
    assert np.allclose(places[shown], world["position"][shown], atol=1e-3)


def test_a_body_whose_parent_changes_is_blended_straight_in_the_world() -> None:
    snapshots = [new_bodies(2) for _ in range(3)]
    for bodies in snapshots:
        bodies["position"][0] = (5, 0, 0)
    snapshots[1]["position"][1], snapshots[2]["position"][1] = (1, 0, 0), (-2, 0, 0)  # the second in the parent's frame
    free, held = np.array([-1, -1]), np.array([-1, 0])
    (found,) = run_in_node(SCRIPT, [given(snapshots, 0.5, [free, free, held])])
    assert found["poses"]["auto"]["position"][1] == [2.0, 0, 0]
    assert found["poses"]["none"]["position"][1] == [1.0, 0, 0]


def test_a_body_of_a_layer_has_the_pair_and_the_method_of_its_layer() -> None:
    before, older, newer = (bodies[:200] for bodies in motions(200))
    (found,) = run_in_node(SCRIPT, [{**given([before, older, newer], 0.4), "isLayered": True}])
    late = create("linear")
    for bodies, time_ns in ((before, BEFORE_NS), (older, OLDER_NS)):
        late.add(Snapshot(sim_time_ns=time_ns, bodies=bodies))
    of_layer, own = late.sample(round(0.4 * OLDER_NS)), found["poses"]["hermite"]
    for first, expected in ((0, reference([before, older, newer], "hermite", 0.4)), (1, of_layer)):
        rows = np.arange(first, 200, 2)
        mine = {name: [own[name][row] for row in rows] for name in ("position", "orientation", "scale", "visible")}
        assert_alike(mine, select_rows(expected, rows), largest([before, older, newer], 200)[rows])


def test_bodies_in_a_cycle_of_parents_are_drawn_somewhere() -> None:
    snapshots = motions(3)
    cycle = np.array([2, 0, 1])
    (found,) = run_in_node(SCRIPT, [given(snapshots, 0.5, [cycle] * 3)])
    assert len(found["poses"]["linear"]["position"]) == 3


def test_a_snapshot_has_the_parents_of_its_own_scene() -> None:
    script = """
    const {ParentLog} = await import(WEB + "pose.js");
    const log = new ParentLog();
    const empty = log.parentsOf;
    for (const [version, parents] of given.scenes) {
      log.add({version, hasParents: parents.some((parent) => parent >= 0), parentRows: (count) => parents.slice(0, count)});
    }
    const {parentsOf} = log;
    answer({isEmpty: empty === null, found: given.versions.map((sceneVersion) => parentsOf({sceneVersion, count: 2}))});
    """
    scenes = [[3, [-1, 0]], [5, [-1, -1]], [6, [1, -1]], [6, [1, -1, 2]]]
    found = run_in_node(script, {"scenes": scenes, "versions": [1, 3, 4, 5, 9]})
    assert found == {"isEmpty": True, "found": [[-1, 0], [-1, 0], [-1, 0], [-1, -1], [1, -1]]}
