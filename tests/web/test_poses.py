"""The page's poses against the native shader's and the numpy reference's, read back from the page's rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.render.draw.conftest import studio
from tests.render.draw.test_agreement import (
    INTERVAL_NS,
    angles_between,
    moving_bodies,
    reference_poses,
    shader_poses,
    unit,
)
from tests.web.drawing_page import DrawingPage, drawing_page
from twixt.ipc.snapshot import HAS_VELOCITY, VISIBLE, new_bodies
from twixt.render.interpolation import quaternion

__all__ = ["studio"]

PAIRS = 100_000
METHODS = ("none", "linear", "hermite", "auto")
SHARE = 0.3
MOST_ULPS, MOST_DEG = 2.0, 1e-4
ROW = np.dtype([("place", "<f4", 3), ("visible", "<f4"), ("turn", "<f4", 4), ("scale", "<f4", 3), ("alpha", "<f4"), ("color", "<f4", 4)])  # fmt: skip

# Draws one picture for each method, and sends the rows of poses back.
DRAW = """async ({read, write, values}) => {
    const {Renderer} = await import("/renderer.js");
    const count = values.bodies.length || values.rows, rows = {
        count, body: Uint32Array.from(values.bodies.length ? values.bodies : Array(count).keys()),
        form: new Float32Array(4 * count).fill(1), color: new Uint8Array(4 * count).fill(255),
        local: Float32Array.from({length: 7 * count}, (_, at) => Number(at % 7 == 6)),
        groups: [], isPlaced: false, layers: [[[0, count - values.late]], values.late ? [[count - values.late, values.late]] : []],
    };
    if (values.hasLocal) rows.local.set(new Float32Array(await read("local")));
    const head = {look: "lit", light: [0, 0, 1], pattern: true, brightness: 1, ground_z: null, outline: null, background: [0, 0, 0]};
    const camera = {
        view: [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], projection: [1,0,0,0, 0,1,0,0, 0,0,-1,-1, 0,0,-1,0],
        eye: values.eye, target: [0, 0, -1], orthographic: false,
    };
    const renderer = new Renderer(document.createElement("canvas")), {gl} = renderer;
    const parents = values.parents.length > 0 && {hasParents: true, parentRows: () => Int32Array.from(values.parents)};
    renderer.setScene({head, rowsFor: () => rows, layerOf: () => 0, ...parents});
    const snapshot = async (name, simNs) => {
        const words = new Uint32Array(await read(name)), columns = new Map();
        if (values.hasScale3) columns.set("scale3", {per: "body", width: 3, values: new Float32Array(await read(name + "_scale3"))});
        const made = {words, floats: new Float32Array(words.buffer), count: words.length / 16, simNs, columns};
        renderer.upload(made);
        return made;
    };
    const before = await snapshot("before", -values.intervalNs), older = await snapshot("older", 0);
    const newer = await snapshot("newer", values.intervalNs);
    for (const method of values.methods) {
        const pair = {before, older, newer, share: values.share, method};
        const late = {before: null, older: before, newer: older, share: 0.6, method: "linear"};
        renderer.draw({...pair, layers: [pair, late], camera, widthPx: 4, heightPx: 3});
        const poses = new Float32Array(16 * count);
        gl.bindBuffer(gl.ARRAY_BUFFER, renderer.poses.opaque.buffer);
        gl.getBufferSubData(gl.ARRAY_BUFFER, 0, poses);
        await write(method, poses);
    }
    return gl.getError();
}"""


@pytest.fixture(scope="module")
def page() -> Iterator[DrawingPage]:
    with drawing_page() as opened:
        yield opened


def page_poses(
    page: DrawingPage, snapshots: tuple[np.ndarray, ...], methods=METHODS, share=SHARE, bodies=(), local=None,
    scale3=None, eye=(0.0, 0.0, 0.0), parents=(), late=0,
):  # fmt: skip
    """Rows of poses for each method. bodies: the body of each row, if they are not in order. late: number of the last
    rows, which are a layer with a pair and a method of its own."""
    arrays = dict(zip(("before", "older", "newer"), snapshots, strict=True))
    arrays |= {} if local is None else {"local": local}
    arrays |= {f"{name}_scale3": scale3[at] for at, name in enumerate(tuple(arrays)[:3]) if scale3 is not None}
    error = page.run(
        DRAW, arrays, rows=max(map(len, snapshots)), methods=methods, share=share, intervalNs=INTERVAL_NS,
        bodies=list(bodies), hasLocal=local is not None, hasScale3=scale3 is not None, eye=eye, parents=list(parents), late=late,
    )  # fmt: skip
    assert error == 0
    return {method: page.written(method, ROW) for method in methods}


@pytest.fixture(scope="module")
def pairs() -> tuple[np.ndarray, ...]:
    made = tuple(moving_bodies(np.random.default_rng(30), PAIRS))
    for bodies in made:
        bodies["color"][:, 3] = 255  # transparent rows are posed apart
    return made


@pytest.fixture(scope="module")
def drawn(page, pairs):
    return page_poses(page, pairs)


def errors(poses, positions, turns, snapshots):
    """Largest distances from positions, in units in the last place of the largest coordinate, and from turns, degrees."""
    largest = np.max([np.abs(bodies["position"]).max(axis=1) for bodies in snapshots[1:]], axis=0)
    off = np.abs(poses["place"].astype(np.float64) - positions).max(axis=1)
    return (off / np.spacing(largest)).max(), np.rad2deg(angles_between(poses["turn"], turns)).max()


@pytest.mark.parametrize("method", METHODS)
def test_page_and_numpy_agree_on_bodies_that_fall_spin_and_bounce(drawn, pairs, method):
    before, older, newer = pairs
    reference = reference_poses(older, newer, SHARE, method, before)
    ulps, degrees = errors(drawn[method], reference.position, reference.orientation, pairs)
    print(f"{method}: page and numpy differ by at most {ulps:.2f} ulp and {degrees:.1e} degrees")
    assert ulps <= MOST_ULPS
    assert degrees <= MOST_DEG


@pytest.mark.parametrize("method", METHODS)
def test_page_and_native_shader_agree_on_bodies_that_fall_spin_and_bounce(drawn, pairs, method, studio):
    before, older, newer = pairs
    native = shader_poses(studio, older, newer, SHARE, method, before)
    ulps, degrees = errors(drawn[method], native["position"], native["orientation"], pairs)
    print(f"{method}: page and native shader differ by at most {ulps:.2f} ulp and {degrees:.1e} degrees")
    assert ulps <= MOST_ULPS
    assert degrees <= MOST_DEG
    np.testing.assert_array_equal(drawn[method]["visible"], native["visible"])


def test_auto_decides_as_in_numpy_for_every_body(drawn, pairs):
    before, older, newer = pairs
    straight, curved, chosen = (
        reference_poses(older, newer, SHARE, method, before) for method in ("linear", "hermite", "auto")
    )
    for field, mine in (("position", "place"), ("orientation", "turn")):
        of = [getattr(one, field) for one in (straight, curved, chosen)]
        is_curve, is_straight = ((of[2] == of[at]).all(axis=1) for at in (1, 0))
        page_curve, page_straight = (
            (drawn["auto"][mine] == drawn[at][mine]).all(axis=1) for at in ("hermite", "linear")
        )
        assert not (is_curve & ~is_straight & ~page_curve).any()
        assert not (is_straight & ~is_curve & ~page_straight).any()
        assert min(is_curve.mean(), is_straight.mean()) > 0.1


def test_a_layer_is_drawn_between_its_own_snapshots_by_its_own_method(page, pairs):
    few = tuple(bodies[:400] for bodies in pairs)
    rows, alone = (page_poses(page, few, ("auto", "hermite"), late=late) for late in (150, 0))
    late = reference_poses(few[0][250:], few[1][250:], 0.6, "linear")
    for method in ("auto", "hermite"):
        assert rows[method][:250].tobytes() == alone[method][:250].tobytes()
        of_layer = tuple(bodies[250:] for bodies in few[:2])
        ulps, degrees = errors(rows[method][250:], late.position, late.orientation, (None, *of_layer))
        assert ulps <= MOST_ULPS
        assert degrees <= MOST_DEG


def test_rows_in_another_order_get_the_records_of_their_bodies(page, pairs):
    few = tuple(bodies[:400] for bodies in pairs)
    order = np.random.default_rng(1).permutation(400).tolist()
    in_order, mixed = page_poses(page, few, ("auto",)), page_poses(page, few, ("auto",), bodies=order)
    assert mixed["auto"].tobytes() == in_order["auto"][order].tobytes()


def test_a_part_is_placed_after_blending_as_by_the_native_shader(page, pairs, studio):
    before, older, newer = (bodies[:2000] for bodies in pairs)
    rng = np.random.default_rng(2)
    local = np.hstack([rng.normal(size=(2000, 3)), unit(rng.normal(size=(2000, 4)))]).astype(np.float32)
    page_rows = page_poses(page, (before, older, newer), ("hermite",), local=local)["hermite"]
    native = shader_poses(studio, older, newer, SHARE, "hermite", before, places=local)
    np.testing.assert_allclose(page_rows["place"], native["position"], rtol=0, atol=2e-6)
    assert angles_between(page_rows["turn"], native["orientation"]).max() < 1e-6
    np.testing.assert_array_equal(page_rows["scale"], native["scale"])


def test_a_scale_along_each_axis_is_blended_as_by_the_native_shader(page, pairs, studio):
    before, older, newer = (bodies[:500] for bodies in pairs)
    scale3 = np.random.default_rng(3).normal(0, 1, (3, 500, 3)).astype(np.float32)
    page_rows = page_poses(page, (before, older, newer), ("linear",), scale3=scale3)["linear"]
    native = shader_poses(studio, older, newer, SHARE, "linear", scale3=(scale3[1], scale3[2]))
    np.testing.assert_allclose(np.abs(page_rows["scale"]), np.abs(native["scale"]), rtol=1e-6)


def test_a_body_that_only_the_older_snapshot_has_keeps_its_pose_and_a_new_one_waits(page, pairs):
    before, older, newer = pairs
    rows = page_poses(page, (before[:3], older[:5], newer[:4]), ("auto",))["auto"]
    assert rows["visible"].tolist() == [1] * 5
    np.testing.assert_array_equal(rows["place"][4], older["position"][4])
    rows = page_poses(page, (before[:3], older[:4], newer[:5]), ("auto",))["auto"]
    assert rows["visible"].tolist() == [1, 1, 1, 1, 0]


def test_auto_goes_straight_where_the_snapshot_before_does_not_have_the_body(page, pairs):
    few = tuple(bodies[:300] for bodies in pairs)
    missing = page_poses(page, (few[0][:0], *few[1:]), ("auto", "linear"))
    np.testing.assert_array_equal(missing["auto"]["place"], missing["linear"]["place"])


def test_far_from_the_origin_a_body_moves_as_it_does_at_the_origin(page):
    snapshots = [new_bodies(1) for _ in range(3)]
    eye = (3e6, -1e6 + 0.123, 2e5)
    for at, bodies in enumerate(snapshots):
        bodies["position"] = (0.25 * at, 0.5, -0.25)
        bodies["flags"] = VISIBLE | HAS_VELOCITY
    near = page_poses(page, tuple(snapshots), ("linear",), eye=(0.0, 0.123, 0.0))["linear"]["place"].copy()
    for bodies in snapshots:
        bodies["position"] += np.float32([3e6, -1e6, 2e5])
    far = page_poses(page, tuple(snapshots), ("linear",), eye=eye)["linear"]["place"]
    np.testing.assert_allclose(far, near, atol=1e-5)


def test_a_body_with_a_parent_is_drawn_in_the_drawn_frame_of_its_parent(page, pairs):
    few = tuple(bodies[:40] for bodies in pairs)
    parents = [-1] * 20 + [*range(20)]
    rows = page_poses(page, few, ("linear", "hermite"), parents=parents)
    for method, drawn in rows.items():
        alone = reference_poses(few[1], few[2], SHARE, method, few[0])
        turns, places = (getattr(alone, field).astype(np.float64) for field in ("orientation", "position"))
        placed = places[:20] + quaternion.rotate(unit(turns[:20]), places[20:])
        np.testing.assert_allclose(drawn["place"][20:], placed, rtol=2e-6, atol=2e-5)
        np.testing.assert_allclose(drawn["place"][:20], places[:20], rtol=1e-6, atol=1e-6)
        assert angles_between(drawn["turn"][20:], quaternion.multiply(turns[:20], turns[20:])).max() < 1e-5
