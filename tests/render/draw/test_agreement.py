"""The vertex shader's poses against the numpy reference, read back through transform feedback."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import (
    CORRECTION_STEP,
    HAS_ANGULAR_VELOCITY,
    HAS_COLOR,
    HAS_VELOCITY,
    VISIBLE,
    Snapshot,
    new_bodies,
)
from twixt.render import interpolation
from twixt.render.draw.bodies.shape_rows import shape_table
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.frame_block import frame_block
from twixt.render.draw.frame.layers import ALL_BLENDED, Discrete, Layer, place
from twixt.render.draw.frame.snapshot_ring import SnapshotRing
from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL
from twixt.render.interpolation import quaternion

COUNT = 10_000
INTERVAL_NS = 20_000_000
INTERVAL_S = INTERVAL_NS / 1e9
METHODS = ["none", "linear", "hermite", "auto"]
ALPHAS = [0.0, 0.125, 0.5, 0.8, 0.999]
READ_BACK = """
out vec3 out_position;
out vec4 out_orientation;
out vec3 out_scale;
out vec3 out_color;
out float out_visible;
void main() {
    Pose pose = drawn_pose();
    out_position = pose.position;
    out_orientation = pose.orientation;
    out_scale = pose.scale;
    out_color = pose.color;
    out_visible = pose.visible ? 1.0 : 0.0;
}
"""
OUT = np.dtype(
    [("position", "<f4", 3), ("orientation", "<f4", 4), ("scale", "<f4", 3), ("color", "<f4", 3), ("visible", "<f4")]
)


def bodies_of(rng, count=COUNT):
    bodies = new_bodies(count)
    bodies["position"] = rng.normal(0, 10 ** rng.uniform(-2, 3, (count, 1)), (count, 3))
    bodies["orientation"] = unit(rng.normal(size=(count, 4)))
    bodies["velocity"] = rng.normal(0, 10 ** rng.uniform(-2, 3, (count, 1)), (count, 3))
    bodies["angular_velocity"] = rng.normal(0, 10 ** rng.uniform(-2, 3, (count, 1)), (count, 3))
    bodies["scale"] = rng.uniform(0.1, 3, count)
    bodies["color"] = rng.integers(0, 256, (count, 4))
    bodies["flags"] = VISIBLE | HAS_VELOCITY | HAS_ANGULAR_VELOCITY
    return bodies


def moving_bodies(rng, count=COUNT):
    """before, older and newer of bodies that fall and spin; many bounce, push off or are nudged on their way.

    Their places lag behind their velocities, or are ahead, as those of most integrators do.
    """
    snapshots = [bodies_of(rng, count) for _ in range(3)]
    start, velocity, gravity = (rng.normal(0, size, (count, 3)) for size in (5, 1, 10))
    velocity *= 10 ** rng.uniform(-2, 1, (count, 1))
    lag = rng.choice([-0.5, 0.0, 0.5], (count, 1)) * INTERVAL_S
    jolt = rng.normal(0, 1, (count, 3)) * 10 ** rng.uniform(-4, 1, (count, 1))
    spin, speed_up = rng.normal(0, 20, (count, 3)), rng.normal(0, 30, (count, 3))
    orientation = snapshots[0]["orientation"].astype(np.float64)
    for bodies, t in zip(snapshots, (-INTERVAL_S, 0.0, INTERVAL_S), strict=True):
        bodies["velocity"] = velocity + gravity * t
        bodies["position"] = start + velocity * t + gravity * t * t / 2 + bodies["velocity"] * lag
        bodies["angular_velocity"] = spin + speed_up * t
        bodies["orientation"] = quaternion.multiply(quaternion.exp(spin * t + speed_up * t * t / 2), orientation)
    newer = snapshots[2]
    newer["velocity"] += jolt
    newer["position"] += jolt * INTERVAL_S * rng.uniform(0, 1, (count, 1))
    nudge = quaternion.exp(rng.normal(0, 1, (count, 3)) * 10 ** rng.uniform(-3, 0.3, (count, 1)))
    newer["orientation"] = quaternion.multiply(nudge, newer["orientation"].astype(np.float64))
    return snapshots


def unit(quaternions):
    return quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)


def shader_poses(
    studio, older, newer, alpha, method="linear", before=None, scale3=None, leftover=None,
    eye=(0.0, 0.0, 0.0), discrete=ALL_BLENDED, places=None,
):  # fmt: skip
    """leftover: what the slot of the snapshot before held before that. eye: positions are from there.

    places: (n, 7) f4, the pose of a part in each body's frame; positions are then those of the parts.
    """
    context = studio.context
    studio.framebuffer.use()
    snapshots = [older, newer, older[:0] if before is None else before]
    ring = SnapshotRing(context, 3, max(map(len, snapshots)))
    for slot, bodies in enumerate([*snapshots[:2], *([] if leftover is None else [leftover]), snapshots[2]]):
        slot = min(slot, 2)
        ring.upload(slot, memoryview(bodies).cast("B") if len(bodies) else b"", len(bodies))
    for slot, rows in enumerate(scale3 or ()):
        ring.upload_stretch(slot, rows)
    placed = place(Layer(0, 1, 2, alpha, INTERVAL_S, INTERVAL_S, method, discrete=discrete), ring)
    variant = placed.variant._replace(placed=places is not None)
    program = context.program(
        vertex_shader="#version 330 core\n" + FRAME_GLSL + pose_glsl(variant) + READ_BACK,
        varyings=["out_position", "out_orientation", "out_scale", "out_color", "out_visible"],
    )
    rows = shape_table(Scene([]), len(older)).rows
    rows["color"] = 255
    # Poses are compared whatever a body's alpha is: what is seen through has passes of its own.
    uniforms = context.buffer(placed.uniforms._replace(has_transparent=False).packed())
    program["Layer"].binding = 0
    uniforms.bind_to_uniform_block(0)
    camera = OrbitCamera().matrices((4, 3))._replace(eye=eye)
    frame = context.buffer(frame_block(Scene(), camera, (0, 0, 4, 3)).tobytes())
    program["Frame"].binding = 1
    frame.bind_to_uniform_block(1)
    stretched = placed.variant.stretched
    assert stretched == (scale3 is not None)
    shapes = context.buffer(rows.tobytes())
    of_parts = None if places is None else context.buffer(places)
    array = ring.vertex_array(("read back",), program, shapes, None, placed.slots, stretched, of_parts)
    out = context.buffer(reserve=OUT.itemsize * len(older))
    array.transform(out, context.POINTS, vertices=len(older))
    poses = np.frombuffer(out.read(), OUT)
    ring.release()
    return poses


def reference_poses(older, newer, alpha, method="linear", before=None, columns=({}, {})):
    sampler = interpolation.create(method)
    if before is not None:
        sampler.add(Snapshot(-INTERVAL_NS, before))
    sampler.add(Snapshot(0, older, columns[0]))
    sampler.add(Snapshot(INTERVAL_NS, newer, columns[1]))
    return sampler.sample(round(alpha * INTERVAL_NS))


def assert_agreement(studio, older, newer, alpha, method="linear", before=None):
    poses = shader_poses(studio, older, newer, alpha, method, before)
    reference = reference_poses(older, newer, alpha, method, before)
    assert_same(poses, reference, older, newer)
    return poses, reference


def assert_same(poses, reference, older, newer):
    poses = poses[: len(reference)]
    # Relative to what is interpolated between: a float32 near zero cannot hold more of two that are far out.
    extent = reach(older)
    extent[: len(newer)] = np.fmax(extent[: len(newer)], reach(newer)[: len(older)])
    np.testing.assert_array_equal(poses["visible"] > 0.5, reference.visible)
    seen = reference.visible
    distance = np.linalg.norm(poses["position"].astype(np.float64) - reference.position, axis=1)[seen]
    assert (distance <= 1e-5 * extent[: len(poses)][seen]).all()
    assert angles_between(poses["orientation"][seen], reference.orientation[seen]).max(initial=0) < 1e-4
    np.testing.assert_allclose(poses["scale"][seen, 0], reference.scale[seen], rtol=1e-5)
    # The reference rounds.
    assert np.abs(poses["color"][seen] * 255 - reference.color[seen, :3]).max(initial=0) <= 0.51


def reach(bodies):
    moved = np.linalg.norm(bodies["velocity"].astype(np.float64), axis=1) * INTERVAL_S
    return np.fmax(np.linalg.norm(bodies["position"].astype(np.float64), axis=1), moved)


def angles_between(first, second):
    # From the chord: the cosine of a small angle has no digits left. Both signs are one orientation.
    first, second = unit(first.astype(np.float64)), unit(second.astype(np.float64))
    chord = np.minimum(np.linalg.norm(first - second, axis=1), np.linalg.norm(first + second, axis=1))
    return 4 * np.arcsin(chord / 2)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("method", METHODS)
def test_shader_and_reference_agree_on_any_pair_of_snapshots(studio, method, alpha):
    rng = np.random.default_rng(round(alpha * 1000))
    before, older, newer = bodies_of(rng), bodies_of(rng), bodies_of(rng)
    assert_agreement(studio, older, newer, alpha, method, before)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("method", METHODS)
def test_shader_and_reference_agree_on_bodies_that_fall_spin_and_bounce(studio, method, alpha):
    before, older, newer = moving_bodies(np.random.default_rng(7))
    assert_agreement(studio, older, newer, alpha, method, before)


@pytest.mark.parametrize("method", METHODS)
def test_far_from_the_origin_a_body_moves_as_it_does_at_the_origin(studio, method):
    eye = (3e6, -1e6 + 0.123, 2e5)
    before, older, newer = moving_bodies(np.random.default_rng(8), 1000)
    for bodies in (before, older, newer):  # places that a float32 holds out there as well
        bodies["position"] = np.round(4 * bodies["position"]) / 4
    near = shader_poses(studio, older, newer, 0.3, method, before, eye=(0.0, 0.123, 0.0))["position"]
    for bodies in (before, older, newer):
        bodies["position"] += np.float32([3e6, -1e6, 2e5])
    far = shader_poses(studio, older, newer, 0.3, method, before, eye=eye)["position"]
    np.testing.assert_allclose(far, near, atol=1e-5)


def test_auto_takes_the_curve_for_many_bodies_and_the_straight_way_for_many(studio):
    before, older, newer = moving_bodies(np.random.default_rng(7))
    poses = shader_poses(studio, older, newer, 0.25, "auto", before)
    straight, curved = (shader_poses(studio, older, newer, 0.25, name, before) for name in ("linear", "hermite"))
    for field in ("position", "orientation"):
        ways = [np.mean((poses[field] == other[field]).all(axis=1)) for other in (straight, curved)]
        assert min(ways) > 0.1
        assert sum(ways) == pytest.approx(1.0, abs=0.02)


def test_auto_goes_straight_where_the_snapshot_before_is_not_known_or_of_another_life(studio):
    before, older, newer = moving_bodies(np.random.default_rng(8))
    reborn, resting = before.copy(), before.copy()
    reborn["epoch"] += 1
    resting["flags"] = VISIBLE
    straight = shader_poses(studio, older, newer, 0.5, "linear")["position"]
    for unknown in (None, before[:0], reborn, resting):
        poses, _ = assert_agreement(studio, older, newer, 0.5, "auto", unknown)
        np.testing.assert_array_equal(poses["position"], straight)
    half = shader_poses(studio, older, newer, 0.5, "auto", before[: COUNT // 2], leftover=before)
    assert_same(half, reference_poses(older, newer, 0.5, "auto", before[: COUNT // 2]), older, newer)


@pytest.mark.parametrize("method", ["hermite", "auto"])
def test_bodies_without_velocities_in_one_of_the_two_go_straight(studio, method):
    rng = np.random.default_rng(9)
    before, older, newer = moving_bodies(rng)
    for bodies in (before, older, newer):
        bodies["flags"] = VISIBLE | rng.choice([0, HAS_VELOCITY], COUNT) | rng.choice([0, HAS_ANGULAR_VELOCITY], COUNT)
    assert_agreement(studio, older, newer, 0.3, method, before)


@pytest.mark.parametrize("method", ["hermite", "auto"])
def test_three_turns_between_two_snapshots_are_turned(studio, method):
    older, newer = new_bodies(1), new_bodies(1)
    for bodies in (older, newer):
        bodies["angular_velocity"] = (0, 0, 3 * 2 * np.pi / INTERVAL_S)
        bodies["flags"] |= HAS_ANGULAR_VELOCITY
    poses, _ = assert_agreement(studio, older, newer, 1 / 6, method)
    turned = np.array([[0.0, 0.0, 1.0, 0.0]])  # half a turn about z
    assert angles_between(poses["orientation"], turned).max() < 1e-4


def test_shader_and_reference_agree_on_many_turns_between_two_snapshots(studio):
    rng = np.random.default_rng(13)
    older, newer = bodies_of(rng), bodies_of(rng)
    for bodies in (older, newer):
        axes = rng.normal(size=(COUNT, 3))
        bodies["angular_velocity"] = unit(axes) * rng.uniform(0, 66, (COUNT, 1)) * 2 * np.pi / INTERVAL_S
    assert_agreement(studio, older, newer, 0.7, "hermite")


def test_shader_and_reference_agree_on_small_and_on_large_turns(studio):
    rng = np.random.default_rng(1)
    older = bodies_of(rng)
    newer = older.copy()
    nudge = rng.normal(size=(COUNT, 4)) * 10 ** rng.uniform(-6, 1, (COUNT, 1))
    newer["orientation"] = unit(older["orientation"] + nudge) * rng.choice([-1, 1], (COUNT, 1))
    for method in METHODS:
        assert_agreement(studio, older, newer, 0.37, method, older)


@pytest.mark.parametrize("method", METHODS)
def test_shader_and_reference_agree_on_epochs_and_hidden_bodies(studio, method):
    rng = np.random.default_rng(2)
    before, older, newer = moving_bodies(rng)
    for bodies in (before, older, newer):
        bodies["epoch"] = rng.integers(0, 3, COUNT) + CORRECTION_STEP * rng.integers(0, 3, COUNT)
        bodies["flags"] ^= VISIBLE * rng.integers(0, 2, COUNT).astype(np.uint16)
    assert_agreement(studio, older, newer, 0.6, method, before)


@pytest.mark.parametrize("method", METHODS)
def test_shader_and_reference_agree_when_bodies_come_and_go(studio, method):
    rng = np.random.default_rng(3)
    for counts in ((700, 500, 900), (400, 900, 500)):
        before, older, newer = (bodies_of(rng, count) for count in counts)
        assert_agreement(studio, older, newer, 0.5, method, before)


# No two are exactly half a turn apart: both ways round are as short then, and either is right.
HOSTILE = {
    "zero": (0, 0, 0, 0),
    "denormal": (1e-41, -1e-42, 0, 1e-40),
    "short": (3e-16, -3e-16, 0, 0),
    "just long enough": (0, 0, 3e-15, 4e-15),
    "huge": (1e29, -5e29, 3e28, 2e28),
    "large": (0, 3e19, 0, -4e19),
    "unturned": (0, 0, 0, 1),
    "turned": (0.6, 0, -0.8, 0.1),
    "antipodal": (-0.6, 0, 0.8, -0.1),
}


@pytest.mark.parametrize("method", METHODS)
def test_shader_and_reference_agree_on_orientations_that_are_hardly_any(studio, method):
    values = np.array(list(HOSTILE.values()), np.float32)
    older, newer = (new_bodies(len(values) ** 2) for _ in range(2))
    older["orientation"], newer["orientation"] = np.repeat(values, len(values), 0), np.tile(values, (len(values), 1))
    for flags in (0, HAS_ANGULAR_VELOCITY):
        older["flags"] = newer["flags"] = VISIBLE | flags
        for alpha in (0.0, 0.3, 1.0 - 1e-6):
            poses, _ = assert_agreement(studio, older, newer, alpha, method, older)
            np.testing.assert_allclose(np.linalg.norm(poses["orientation"], axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_velocities_that_are_no_velocities_spoil_nothing(studio, method):
    values = [0.0, -0.0, 1e-42, 1e-20, 1.0, 1e14, 1e29, 1e31, 3e38, np.inf, -np.inf, np.nan]
    before, older, newer = moving_bodies(np.random.default_rng(11), len(values) ** 2)
    for field in ("velocity", "angular_velocity"):
        older[field][:, 1], newer[field][:, 2] = np.repeat(values, len(values)), np.tile(values, len(values))
    older["position"][::3, 0] = newer["position"][::3, 0] = 9.995e29
    older["velocity"][::3, 0] = 9e29
    poses, _ = assert_agreement(studio, older, newer, 0.4, method, before)
    assert np.isfinite(poses["position"]).all()
    assert np.isfinite(poses["orientation"]).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("field", ["position", "orientation", "scale"])
def test_what_is_not_finite_is_hidden_and_never_blended_in(studio, field, method):
    older, newer = bodies_of(np.random.default_rng(5), 5), bodies_of(np.random.default_rng(6), 5)
    for row, broken in enumerate((np.nan, np.inf, -np.inf)):
        older[field][row] = broken
    newer[field][3] = np.nan
    poses = shader_poses(studio, older, newer, 0.5, method)
    assert poses["visible"].tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_array_equal(poses["position"][3], older["position"][3])
    assert_agreement(studio, older, newer, 0.5, method)


def test_a_scale_that_changes_sign_switches_at_the_newers_instant(studio):
    ends = np.array([-2.0, -0.5, -0.0, 0.0, 0.5, 2.0])
    older, newer = (new_bodies(len(ends) ** 2) for _ in range(2))
    older["scale"], newer["scale"] = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
    poses, _ = assert_agreement(studio, older, newer, 0.5)
    passes_zero = older["scale"] * newer["scale"] < 0
    np.testing.assert_array_equal(poses["scale"][passes_zero, 0], older["scale"][passes_zero])


def test_a_scale_along_each_axis_follows_the_rules_of_its_column(studio):
    rng = np.random.default_rng(12)
    older, newer = bodies_of(rng), bodies_of(rng)
    old, new = (rng.normal(0, 1, (COUNT, 3)).astype(np.float32) for _ in range(2))
    new[::7, 1] = np.nan
    newer["epoch"][::5] = 1
    poses = shader_poses(studio, older, newer, 0.3, scale3=(old, new))
    reference = reference_poses(older, newer, 0.3, columns=({"scale3": old}, {"scale3": new}))
    # A mirror image has the same outline: sizes are drawn without sign.
    expected = np.abs(reference.columns["scale3"]) * reference.scale[:, None]
    np.testing.assert_allclose(poses["scale"], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_discrete_stays_until_the_newers_instant_and_the_rest_is_blended(studio, method):
    rng = np.random.default_rng(14)
    older, newer = bodies_of(rng), bodies_of(rng)
    old, new = (rng.uniform(1, 2, (COUNT, 3)).astype(np.float32) for _ in range(2))
    blended, both, color, scale3 = (
        shader_poses(studio, older, newer, 0.7, method, older, scale3=(old, new), discrete=discrete)
        for discrete in (ALL_BLENDED, Discrete(True, True), Discrete(color=True), Discrete(scale3=True))
    )
    np.testing.assert_allclose(both["color"] * 255, older["color"][:, :3], atol=1e-4)
    for field in ("position", "orientation"):
        np.testing.assert_array_equal(both[field], blended[field])
    np.testing.assert_array_equal(color["color"], both["color"])
    np.testing.assert_array_equal(color["scale"], blended["scale"])
    np.testing.assert_array_equal(scale3["color"], blended["color"])
    np.testing.assert_array_equal(scale3["scale"], both["scale"])
    uniform = shader_poses(studio, older, newer, 0.7, method, older)["scale"]
    np.testing.assert_allclose(both["scale"], old * uniform, rtol=1e-5)


def test_a_body_whose_scale_along_an_axis_is_not_finite_is_hidden(studio):
    bodies = new_bodies(3)
    scale3 = np.ones((3, 3), np.float32)
    scale3[0, 1], scale3[1, 2] = np.nan, np.inf
    assert shader_poses(studio, bodies, bodies, 0.5, scale3=(scale3, scale3))["visible"].tolist() == [0, 0, 1]


@pytest.mark.parametrize("method", METHODS)
def test_a_colour_that_only_one_of_the_two_has_stays_until_the_newers_instant(studio, method):
    older, newer = new_bodies(4), new_bodies(4)
    older["color"][3], newer["color"][:2] = (200, 0, 0, 55), (100, 0, 0, 55)
    older["flags"][1] |= HAS_COLOR
    _, reference = assert_agreement(studio, older, newer, 0.5, method)
    blended = (255, 255, 255, 255) if method == "none" else (178, 128, 128, 155)
    assert reference.color.tolist() == [[255] * 4, list(blended), [255] * 4, [200, 0, 0, 55]]
    assert reference.has_color.tolist() == [False, True, False, True]
