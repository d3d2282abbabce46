"""Deforming meshes between two snapshots: as numbers in the buffer that is drawn, and as pixels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.render.draw.conftest import Studio, upload
from tests.render.draw.meshes.solids import cube
from tests.render.draw.test_scene_renderer import RED, WHITE, bodies_at, centroid_px, dark, lit_px, projected_px
from twixt.ipc.scene import Compound, Group, Part, Scene, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.snapshot import CORRECTION_STEP, NO_VERTICES, new_bodies
from twixt.render.draw.frame.layers import Layer, SurfacePair
from twixt.render.draw.meshes.mesh_buffers import MOST_FILLED, SurfaceBlending
from twixt.render.draw.meshes.mesh_geometry import VERTEX
from twixt.render.draw.quality import LEVELS

PLACES, FACES = cube()
CUBE = Mesh(PLACES, FACES, "smooth", WHITE, deforms=True)
OTHER = Mesh(np.asarray(PLACES) * 0.5, FACES, None, RED, deforms=True)
PAIR = Scene([CUBE, Sphere(), OTHER])
COUNT = len(CUBE.vertices)


def vertices(*offsets: tuple[float, float, float]) -> np.ndarray:
    """Of both deforming bodies, each moved by its offset."""
    shapes = (CUBE.vertices, OTHER.vertices)
    return np.concatenate([one + np.float32(offset) for one, offset in zip(shapes, offsets, strict=False)])


@pytest.fixture
def surfaces(studio: Studio) -> Iterator[SurfaceBlending]:
    studio.framebuffer.use()  # without one no draw call has an effect
    made = SurfaceBlending(studio.context)
    made.set_scene(PAIR, 3)
    made.upload(0, vertices((0, 0, 0), (1, 0, 0)), np.array([5, 5], np.uint32))
    made.upload(1, vertices((4, 0, 2), (1, 8, 0)), np.array([5, 5], np.uint32))
    yield made
    made.release()


def places(surfaces: SurfaceBlending, place: int, older: int, newer: int | None, share: float) -> np.ndarray:
    """Offset of a body's vertices from its rest shape, as drawn; one and the same for all."""
    drawn = surfaces.blended(place, SurfacePair(older, newer, share))
    assert drawn is not None
    rows = np.frombuffer(drawn.vertices.read(), VERTEX)["place"][:COUNT]
    offsets = rows - (CUBE, OTHER)[place].vertices
    assert offsets == pytest.approx(np.broadcast_to(offsets[0], offsets.shape), abs=1e-5)
    return offsets[0]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_vertices_move_in_a_straight_line_from_the_older_snapshot_to_the_newer(
    surfaces: SurfaceBlending, share: float
) -> None:
    assert places(surfaces, 0, 0, 1, share) == pytest.approx((4 * share, 0, 2 * share), abs=1e-5)
    assert places(surfaces, 1, 0, 1, share) == pytest.approx((1, 8 * share, 0), abs=1e-5)
    assert places(surfaces, 0, 1, None, 0.0) == pytest.approx((4, 0, 2))


def test_normals_are_blended_too(surfaces: SurfaceBlending) -> None:
    flat = CUBE.vertices * np.float32((1, 1, 0.01))
    surfaces.upload(1, np.concatenate([flat, OTHER.vertices]), np.array([5, 5], np.uint32))
    normals = []
    for share in (0.0, 0.5, 1.0):
        drawn = surfaces.blended(0, SurfacePair(0, 1, share))
        assert drawn is not None
        normals.append(np.frombuffer(drawn.vertices.read(), VERTEX)["normal"].copy())
    assert normals[1] == pytest.approx((normals[0] + normals[2]) / 2, abs=1e-5)
    assert np.abs(normals[2] - normals[0]).max() > 0.3
    assert np.abs(normals[2][:, 2]) == pytest.approx(1, abs=0.05)


def test_a_body_that_was_cut_stays_until_the_newer_instant_the_others_go_on(surfaces: SurfaceBlending) -> None:
    surfaces.upload(1, vertices((4, 0, 2), (1, 8, 0)), np.array([6, 5], np.uint32))
    assert places(surfaces, 0, 0, 1, 0.9).tolist() == [0, 0, 0]
    assert places(surfaces, 1, 0, 1, 0.5) == pytest.approx((1, 4, 0))
    surfaces.upload(1, vertices((4, 0, 2), (1, 8, 0)), np.array([5 + CORRECTION_STEP, 5], np.uint32))
    assert places(surfaces, 0, 0, 1, 0.5) == pytest.approx((2, 0, 1))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_vertices_that_are_not_finite_are_not_drawn(surfaces: SurfaceBlending, value: float) -> None:
    damaged = vertices((4, 0, 2), (1, 8, 0))
    damaged[3, 1] = value
    surfaces.upload(1, damaged, np.array([5, 5], np.uint32))
    assert places(surfaces, 0, 0, 1, 0.9).tolist() == [0, 0, 0], "it stays until the newer's instant"
    assert places(surfaces, 1, 0, 1, 0.5) == pytest.approx((1, 4, 0))
    assert surfaces.blended(0, SurfacePair(1, 0, 0.5)) is None
    assert surfaces.blended(0, SurfacePair(1, None, 0.0)) is None
    assert places(surfaces, 1, 1, None, 0.0) == pytest.approx((1, 8, 0))


def test_without_vertices_or_with_too_few_bodies_have_their_rest_shapes(surfaces: SurfaceBlending) -> None:
    assert places(surfaces, 0, 0, 1, 1.0) == pytest.approx((4, 0, 2))
    surfaces.upload(1, NO_VERTICES, np.zeros(0, np.uint32))
    assert places(surfaces, 0, 1, None, 0.0).tolist() == [0, 0, 0]
    assert places(surfaces, 1, 0, 1, 0.5) == pytest.approx((0.5, 0, 0))
    surfaces.upload(1, vertices((4, 0, 2), (1, 8, 0))[: COUNT + 1], np.array([5, 5], np.uint32))
    assert places(surfaces, 0, 1, None, 0.0) == pytest.approx((4, 0, 2))
    assert places(surfaces, 1, 1, None, 0.0).tolist() == [0, 0, 0]


def test_a_slot_that_is_filled_again_shows_what_is_in_it_now(surfaces: SurfaceBlending) -> None:
    for number in range(5):
        surfaces.upload(number % 2, vertices((number, 0, 0), (0, number, 0)), np.array([5, 5], np.uint32))
        for share in (0.5, 0.5, 0.25):
            other = max(0, number - 1)
            expected = number * (1 - share) + other * share if number else 4 * share
            assert places(surfaces, 0, number % 2, (number + 1) % 2, share)[0] == pytest.approx(expected)


def test_more_snapshots_than_are_kept_on_the_gpu_are_drawn_as_they_are(surfaces: SurfaceBlending) -> None:
    slots = range(3 * MOST_FILLED)
    for slot in slots:
        surfaces.upload(slot, vertices((slot, 0, 0), (0, slot, 0)), np.array([5, 5], np.uint32))
    for older in (*slots, *reversed(slots)):
        newer = (older * 7 + 3) % len(slots)
        assert places(surfaces, 0, older, newer, 0.5)[0] == pytest.approx((older + newer) / 2)
        assert places(surfaces, 1, older, newer, 0.25)[1] == pytest.approx(older + (newer - older) / 4)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("normals", [None, "smooth"], ids=["flat", "smooth"])
def test_a_surface_in_another_form_is_drawn_as_a_mesh_of_that_form(studio: Studio, level, normals) -> None:
    now = CUBE.vertices * np.float32((1.6, 0.6, 1.1)) + np.float32((0.3, 0.2, -0.2))
    drawn = []
    for shape in (Mesh(PLACES, FACES, normals, WHITE, deforms=True), Mesh(now, FACES, normals, WHITE)):
        renderer = studio.renderer(Scene([shape], ground_z=None))
        renderer.level = level
        bodies = bodies_at((0.2, 0.1, 0.4))
        bodies["orientation"] = (0.1, 0.7, 0.1, 0.7)
        upload(renderer, 0, bodies)
        if shape.deforms:
            renderer.upload_surfaces(0, now, bodies)
        drawn.append(studio.draw(renderer, Layer(0)).astype(int))
        renderer.release()
    assert lit_px(drawn[1]) > 500
    assert np.abs(drawn[0] - drawn[1]).max() <= 2


def test_surfaces_among_bodies_of_parts_and_in_groups_are_their_own(studio: Studio) -> None:
    two = Compound([Part(Sphere(0.1)), Part(Sphere(0.1), (0, 0, 0.5))])
    scene = dark([two, OTHER, Sphere(0.1), CUBE], groups={"still": Group(bodies=[3], interpolation="none")})
    renderer = studio.renderer(scene)
    bodies = bodies_at((0, 0, 50), (0, 0, 0), (0, 0, 50), (0, 0, 0))
    both = np.concatenate([OTHER.vertices * 0.2 + np.float32((-2, 0, 0)), CUBE.vertices * 0.2 + np.float32((2, 0, 0))])
    for slot, up_m in ((0, 0.0), (1, 2.0)):
        upload(renderer, slot, bodies)
        renderer.upload_surfaces(slot, both + np.float32((0, 0, up_m)), bodies)
    pixels = studio.draw(
        renderer, Layer(0, 1, alpha=0.5, gap_s=1.0), Layer(0, 1, alpha=0.5, gap_s=1.0, method="none", group="still")
    )
    for color, (x, y, z) in ((RED, (-2, 0, 1)), (WHITE, (2, 0, 0))):
        seen = pixels.astype(float) * (np.abs(pixels - 255.0 * np.array(color)).max(axis=2) < 9)[..., None]
        assert centroid_px(seen) == pytest.approx(projected_px((x, y, z)), abs=1.0)
    renderer.release()


def test_surfaces_that_are_seen_through_are_where_opaque_ones_are(studio: Studio) -> None:
    seen = []
    for alpha in (255, 128):
        renderer = studio.renderer(dark([CUBE, CUBE, Sphere(0.1)]))
        bodies = bodies_at((0, 0, 0), (0, 0, 0), (0, 0, 50))
        bodies["color"][:2, 3] = alpha
        for slot in (0, 1):
            upload(renderer, slot, bodies)
            of_two = np.concatenate(
                [CUBE.vertices + np.float32((-1, 0, slot)), CUBE.vertices + np.float32((1, 0, -slot))]
            )
            renderer.upload_surfaces(slot, of_two, bodies)
        seen.append(studio.draw(renderer, Layer(0, 1, alpha=0.5, gap_s=1.0)))
        renderer.release()
    opaque, through = (pixels.max(axis=2) for pixels in seen)
    inner = opaque > 250
    assert inner.sum() > 500
    assert (np.abs(through[inner].astype(int) - 128) <= 3).mean() > 0.99, "all but some at its edges, which are soft"
    for x, z in ((-1, 0.5), (1, -0.5)):
        column, line = np.array(projected_px((x, 0, z))).astype(int)
        assert through[line, column] > 100


def test_poses_of_the_processor_show_the_surfaces_of_their_snapshots(studio: Studio) -> None:
    renderer = studio.renderer(dark([CUBE]))
    for slot, size in ((0, 0.2), (1, 1.0)):
        upload(renderer, slot, new_bodies(1))
        renderer.upload_surfaces(slot, CUBE.vertices * np.float32(size), new_bodies(1))
    renderer.upload_records(1 << 20, new_bodies(1))
    seen = [
        lit_px(studio.draw(renderer, Layer(1 << 20, is_posed=True, surfaces=SurfacePair(0, 1, share))))
        for share in (0.0, 0.5, 1.0)
    ]
    assert 0 < 4 * seen[0] < 2 * seen[1] < 1.5 * seen[2]
    renderer.release()
