"""The body under a pixel of the page against the native viewer's."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from tests.web.in_node import run_in_node
from tests.web.test_scene import given
from twixt import Box, Camera, Capsule, Compound, Cylinder, Ellipsoid, Mesh, Part, Plane, Scene, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import Snapshot, new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.input.picking import first_hit, ray_of
from twixt.render.input.pointer import mass_of, pulled, rotation_between, turned
from twixt.render.interpolation import create
from twixt.render.interpolation.quaternion import normalized

SCRIPT = """
const {Scene} = await import(WEB + "scene.js");
const {OrbitCamera} = await import(WEB + "camera.js");
const {DrawnPoses} = await import(WEB + "pose.js");
const {firstHit, pixelOf, rayOf} = await import(WEB + "picking.js");
const bytesOf = (text) => { const bytes = Buffer.from(text, "base64"); return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length); };
const {head, shapeIndex, indices, meshes, records, scale3, cases} = given;
const message = {version: 1, head, shapeIndex: Uint16Array.from(shapeIndex), indices: Uint32Array.from(indices)};
const arrays = Object.fromEntries(Object.entries(meshes).map(([digest, {vertices, faces, reach}]) =>
  [digest, {vertices: Float32Array.from(vertices), faces: Uint32Array.from(faces), reach}]));
const scene = new Scene(message, {mesh: (digest) => arrays[digest], texture: () => null});
const snapshots = records.map((text, index) => {
  const buffer = bytesOf(text);
  const columns = new Map([["scale3", {per: "body", width: 3, values: Float32Array.from(scale3[index])}]]);
  return {words: new Uint32Array(buffer), floats: new Float32Array(buffer), count: buffer.byteLength / 64,
          simNs: index * 1e7, columns};
});
const poses = new DrawnPoses({before: null, older: snapshots[0], newer: snapshots[1], share: 0.25}, "linear");
answer(cases.map(({camera, sizePx: [widthPx, heightPx], atPx}) => {
  const orbit = OrbitCamera.fromHead(camera);
  const matrices = orbit.matrices(widthPx, heightPx), viewport = orbit.viewport(widthPx, heightPx);
  return atPx.map(([xPx, yPx]) => {
    const ray = rayOf(matrices, viewport, xPx, yPx, heightPx);
    const point = ray.origin.map((value, axis) => value + 3 * ray.direction[axis]);
    return {ray, hit: firstHit(ray, scene, poses), pixel: pixelOf(matrices, viewport, point, heightPx)};
  });
}));
"""
RNG = np.random.default_rng(21)
TETRAHEDRON = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float32)
SHAPES = [
    Sphere(0.4), Box((0.6, 0.8, 1)), Plane((1, 2)), Capsule(0.3, 0.8), Cylinder(0.4, 0.9), Ellipsoid((0.4, 0.8, 1.2)),
    Mesh(TETRAHEDRON, [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]),
    Compound([Part(Sphere(0.3), (0.4, 0, 0)), Part(Box((1, 0.2, 0.2)), (0, 0.5, 0), normalized(RNG.normal(0, 1, (1, 4)))[0])]),
    Compound([]),
]  # fmt: skip
COUNT, RAYS = 90, 150


def bodies_at_random() -> Any:
    bodies = new_bodies(COUNT)
    bodies["position"] = RNG.normal(0, 1, (COUNT, 3))
    bodies["orientation"] = normalized(RNG.normal(0, 1, (COUNT, 4)))
    bodies["scale"] = RNG.choice((1.0, 0.5, -1.0, 0.0), COUNT)
    bodies["flags"] = RNG.random(COUNT) < 0.9
    bodies["position"][5] = np.nan
    return bodies


def test_the_body_under_a_pixel_is_the_native_viewers() -> None:
    scene = Scene([SHAPES[index % len(SHAPES)] for index in range(COUNT)])
    snapshots = [bodies_at_random(), bodies_at_random()]
    snapshots[1]["position"] = snapshots[0]["position"] + RNG.normal(0, 0.2, (COUNT, 3))
    stretches = [RNG.uniform(0.5, 2, (COUNT, 3)).astype(np.float32) for _ in snapshots]
    method = create("linear")
    for index, (bodies, stretch) in enumerate(zip(snapshots, stretches, strict=True)):
        method.add(Snapshot(sim_time_ns=index * 10_000_000, bodies=bodies, columns={"scale3": stretch}))
    poses = method.sample(2_500_000)
    cameras = [
        Camera((6, -8, 5), (0, 0, 0)), Camera((0.1, 0, 0.2), (3, 0, 0)), Camera((0, 0, 9), (0, 0, 0), 60),
        Camera((9, 1, 2), (0, 0, 0), orthographic_height=8, up=(0, 1, 1)),
        Camera((6, -8, 5), (0, 0, 0), principal_point=(0.2, -0.3)),
    ]  # fmt: skip
    size_px = (400, 300)
    message = given(scene, COUNT)
    cases = [
        {
            "camera": asdict(camera), "sizePx": size_px,
            "atPx": np.column_stack((RNG.uniform(0, 400, RAYS), RNG.uniform(0, 300, RAYS))).tolist(),
        }
        for camera in cameras
    ]  # fmt: skip
    meshes = {
        shape.digest.hex(): {
            "vertices": shape.vertices.ravel().tolist(), "faces": shape.faces.ravel().tolist(), "reach": shape.reach,
        }
        for shape in shape_list(scene).table
        if isinstance(shape, Mesh)
    }  # fmt: skip
    found = run_in_node(
        SCRIPT,
        {
            **{name: message[name] for name in ("head", "shapeIndex", "indices")}, "meshes": meshes, "cases": cases,
            "records": [base64.b64encode(bodies.tobytes()).decode() for bodies in snapshots],
            "scale3": [stretch.ravel().tolist() for stretch in stretches],
        },
    )  # fmt: skip
    kinds = set()
    for camera, case, answers in zip(cameras, cases, found, strict=True):
        orbit = OrbitCamera.from_camera(camera)
        matrices, viewport = orbit.matrices(size_px), orbit.around_axis((0, 0, *size_px))
        hits = 0
        for (x_px, y_px), answer in zip(case["atPx"], answers, strict=True):
            ray = ray_of(matrices, viewport, x_px, y_px, size_px[1])
            assert answer["ray"]["origin"] == pytest.approx(ray.origin, abs=1e-6)
            assert answer["ray"]["direction"] == pytest.approx(ray.direction, abs=1e-6)
            assert answer["pixel"] == pytest.approx((x_px, y_px), abs=1e-3)
            expected = first_hit(ray, scene, poses)
            assert (answer["hit"] is None) == (expected is None)
            if expected is not None:
                hits += 1
                kinds.add(type(scene.shapes[expected.body]))
                assert answer["hit"]["body"] == expected.body
                assert answer["hit"]["point"] == pytest.approx(expected.point, abs=1e-4)
        assert hits > 5
    assert kinds == {type(shape) for shape in SHAPES}


SPRING_SCRIPT = """
const {pulled, rotationBetween, turned, volumeOf} = await import(WEB + "picking.js");
const {Scene} = await import(WEB + "scene.js");
const {head, shapeIndex, indices, reaches, cases} = given;
const message = {version: 1, head, shapeIndex: Uint16Array.from(shapeIndex), indices: Uint32Array.from(indices)};
const scene = new Scene(message, {mesh: (digest) => ({reach: reaches[digest]}), texture: () => null});
answer({
  volumes: scene.table.map(volumeOf),
  springs: cases.map(({mass, at, target, velocity, middle, before, now, reach, left, spin}) => ({
    ...pulled(mass, at, target, velocity, middle), turned: turned(mass, reach, left, spin),
    between: rotationBetween(before, now),
  })),
});
"""


def test_the_spring_of_a_pull_is_the_native_viewers() -> None:
    scene = Scene(SHAPES)
    message = given(scene, len(SHAPES))
    cases = []
    for _ in range(50):
        values = {name: RNG.normal(0, 60, 3) for name in ("at", "target", "velocity", "middle", "left", "spin")}
        turns = normalized(RNG.normal(0, 1, (2, 4)))
        cases.append(values | {"before": turns[0], "now": turns[1], "mass": RNG.random(), "reach": RNG.random()})
    cases[0]["now"] = cases[0]["before"]
    reaches = {shape.digest.hex(): shape.reach for shape in SHAPES if isinstance(shape, Mesh)}
    listed = [
        {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in case.items()}
        for case in cases
    ]
    found = run_in_node(
        SPRING_SCRIPT,
        {name: message[name] for name in ("head", "shapeIndex", "indices")} | {"reaches": reaches, "cases": listed},
    )
    assert [1000 * volume for volume in found["volumes"]] == pytest.approx([mass_of(shape) for shape in SHAPES])
    for case, answer in zip(cases, found["springs"], strict=True):
        spring = pulled(case["mass"], case["at"], case["target"], case["velocity"], case["middle"])
        assert answer["force"] == pytest.approx(spring.force)
        assert answer["torque"] == pytest.approx(spring.torque)
        expected = turned(case["mass"], case["reach"], case["left"], case["spin"]).torque
        assert answer["turned"] == pytest.approx(expected)
        assert answer["between"] == pytest.approx(rotation_between(case["before"], case["now"]), abs=1e-12)
