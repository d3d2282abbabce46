"""The vertex shader's poses against the numpy reference, read back through transform feedback."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import CORRECTION_STEP, VISIBLE, Snapshot, new_bodies
from twixt.render import interpolation
from twixt.render.draw.layers import Layer, place
from twixt.render.draw.pose import pose_glsl
from twixt.render.draw.shape_table import shape_table
from twixt.render.draw.snapshot_ring import SnapshotRing

COUNT = 2000
INTERVAL_NS = 20_000_000
READ_BACK = """
out vec3 out_position;
out vec4 out_orientation;
out float out_scale;
out vec3 out_color;
out float out_visible;
void main() {
    Pose pose = drawn_pose();
    out_position = pose.position;
    out_orientation = pose.orientation;
    out_scale = pose.scale.x;
    out_color = pose.color;
    out_visible = pose.visible ? 1.0 : 0.0;
}
"""
OUT = np.dtype(
    [("position", "<f4", 3), ("orientation", "<f4", 4), ("scale", "<f4"), ("color", "<f4", 3), ("visible", "<f4")]
)


def bodies_of(rng, count=COUNT):
    bodies = new_bodies(count)
    bodies["position"] = rng.normal(0, 10 ** rng.uniform(-2, 3, (count, 1)), (count, 3))
    bodies["orientation"] = unit(rng.normal(size=(count, 4)))
    bodies["scale"] = rng.uniform(0.1, 3, count)
    bodies["color"] = rng.integers(0, 256, (count, 4))
    return bodies


def unit(quaternions):
    return quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)


def shader_poses(studio, older, newer, alpha, method="linear", before=None, other="", mix=0.0):
    context = studio.context
    studio.framebuffer.use()
    snapshots = [older, newer, older[:0] if before is None else before]
    ring = SnapshotRing(context, 3, max(map(len, snapshots)))
    for slot, bodies in enumerate(snapshots):
        ring.upload(slot, memoryview(bodies).cast("B") if len(bodies) else b"", len(bodies))
    gap_s = INTERVAL_NS / 1e9
    placed = place(Layer(0, 1, 2, alpha, gap_s, gap_s, method, other, mix), ring)
    program = context.program(
        vertex_shader="#version 330 core\n" + pose_glsl(placed.variant) + READ_BACK,
        varyings=["out_position", "out_orientation", "out_scale", "out_color", "out_visible"],
    )
    rows = shape_table(Scene([]), len(older)).rows
    rows["color"] = 255
    uniforms = context.buffer(placed.block)
    program["Layer"].binding = 0
    uniforms.bind_to_uniform_block(0)
    array = ring.vertex_array(("read back",), program, context.buffer(rows.tobytes()), None, placed.slots)
    out = context.buffer(reserve=OUT.itemsize * len(older))
    array.transform(out, context.POINTS, vertices=len(older))
    poses = np.frombuffer(out.read(), OUT)
    ring.release()
    return poses


def reference_poses(older, newer, alpha):
    method = interpolation.create("linear")
    method.add(Snapshot(0, older))
    method.add(Snapshot(INTERVAL_NS, newer))
    return method.sample(round(alpha * INTERVAL_NS))


def assert_agreement(studio, older, newer, alpha):
    poses, reference = shader_poses(studio, older, newer, alpha), reference_poses(older, newer, alpha)
    poses = poses[: len(reference)]
    # Relative to what is interpolated between: a float32 near zero cannot hold more of two that are far out.
    extent = np.linalg.norm(older["position"], axis=1)
    extent[: len(newer)] = np.fmax(extent[: len(newer)], np.linalg.norm(newer["position"], axis=1)[: len(older)])
    np.testing.assert_array_equal(poses["visible"] > 0.5, reference.visible)
    seen = reference.visible
    distance = np.linalg.norm(poses["position"] - reference.position, axis=1)[seen]
    assert (distance / extent[: len(poses)][seen]).max() < 1e-5
    # sin of half the angle between the two, both signs of a quaternion being one orientation
    gpu, cpu = poses["orientation"][seen], unit(reference.orientation.astype(np.float64))[seen]
    chord = np.minimum(np.linalg.norm(gpu - cpu, axis=1), np.linalg.norm(gpu + cpu, axis=1))
    assert (4 * np.arcsin(chord / 2)).max() < 1e-4
    np.testing.assert_allclose(poses["scale"][seen], reference.scale[seen], rtol=1e-5)
    assert np.abs(poses["color"][seen] * 255 - reference.color[seen, :3]).max() <= 0.51


@pytest.mark.parametrize("alpha", [0.0, 0.125, 0.5, 0.8, 0.999])
def test_shader_and_reference_agree_on_any_pair_of_snapshots(studio, alpha):
    rng = np.random.default_rng(round(alpha * 1000))
    older, newer = bodies_of(rng), bodies_of(rng)
    assert_agreement(studio, older, newer, alpha)


def test_shader_and_reference_agree_on_small_and_on_large_turns(studio):
    rng = np.random.default_rng(1)
    older = bodies_of(rng)
    newer = older.copy()
    nudge = rng.normal(size=(COUNT, 4)) * 10 ** rng.uniform(-6, 1, (COUNT, 1))
    newer["orientation"] = unit(older["orientation"] + nudge) * rng.choice([-1, 1], (COUNT, 1))
    assert_agreement(studio, older, newer, 0.37)


def test_shader_and_reference_agree_on_epochs_and_hidden_bodies(studio):
    rng = np.random.default_rng(2)
    older, newer = bodies_of(rng), bodies_of(rng)
    older["epoch"] = rng.integers(0, 3, COUNT) + 0xFFFE * rng.integers(0, 2, COUNT)
    newer["epoch"] = rng.integers(0, 3, COUNT) + CORRECTION_STEP * rng.integers(0, 3, COUNT)
    older["flags"] = VISIBLE * rng.integers(0, 2, COUNT)
    newer["flags"] = VISIBLE * rng.integers(0, 2, COUNT)
    assert_agreement(studio, older, newer, 0.6)


def test_shader_and_reference_agree_when_bodies_come_and_go(studio):
    rng = np.random.default_rng(3)
    for older_count, newer_count in ((500, 900), (900, 500)):
        older, newer = bodies_of(rng, older_count), bodies_of(rng, newer_count)
        assert_agreement(studio, older, newer, 0.5)


def test_orientations_without_length_count_as_unturned(studio):
    rng = np.random.default_rng(4)
    older, newer = bodies_of(rng, 3), bodies_of(rng, 3)
    older["orientation"][0] = newer["orientation"][0] = 0
    newer["orientation"][1] = 0
    assert_agreement(studio, older, newer, 0.5)


@pytest.mark.parametrize("field", ["position", "orientation", "scale"])
def test_what_is_not_finite_is_hidden_and_never_blended_in(studio, field):
    older, newer = bodies_of(np.random.default_rng(5), 5), bodies_of(np.random.default_rng(6), 5)
    for row, broken in enumerate((np.nan, np.inf, -np.inf)):
        older[field][row] = broken
    newer[field][3] = np.nan
    poses = shader_poses(studio, older, newer, 0.5)
    assert poses["visible"].tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_array_equal(poses["position"][3], older["position"][3])
    assert_agreement(studio, older[3:], newer[3:], 0.5)
