"""Vertices and normals of deforming meshes, as numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.meshes.solids import cube, icosahedron, sphere
from twixt.ipc.scene.mesh import Mesh, smooth_normals
from twixt.render.draw.meshes.mesh_geometry import Deformation, face_normals, mesh_geometry


def fan(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A cone of so many faces around one vertex."""
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    rim = np.stack([np.cos(angles), np.sin(angles), np.zeros(count)], axis=1)
    ring = np.arange(1, count + 1)
    faces = np.stack([np.zeros(count, int), ring, np.roll(ring, -1)], axis=1)
    return np.concatenate([[(0, 0, 1)], rim]), faces


SURFACES = {"cube": cube(), "icosahedron": icosahedron(), "sphere": sphere(2), "fan": fan(50)}
every = pytest.mark.parametrize("name", SURFACES)


def moved(vertices: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(1)
    return (vertices * (1.5, 0.7, 1.1) + 0.1 * random.random(vertices.shape) + (3, 2, 1)).astype(np.float32)


@every
@pytest.mark.parametrize("normals", [None, "smooth"], ids=["flat", "smooth"])
def test_the_rest_shape_deformed_into_itself_is_what_other_meshes_upload(name: str, normals: str | None) -> None:
    mesh = Mesh(*SURFACES[name], normals, deforms=True)
    deformation, geometry = Deformation(mesh), mesh_geometry(mesh)
    made = deformation.deformed(mesh.vertices)
    assert (made["place"] == geometry.vertices["place"]).all()
    assert (deformation.rest == geometry.vertices).all()
    used = geometry.triangles[:, 2] if geometry.is_flat else np.arange(len(made))
    assert made["normal"][used] == pytest.approx(geometry.vertices["normal"][used], abs=1e-5)


@every
def test_smooth_normals_are_those_of_the_faces_around_as_they_are_now(name: str) -> None:
    vertices, faces = SURFACES[name]
    mesh = Mesh(vertices, faces, "smooth", deforms=True)
    now = moved(mesh.vertices)
    made = Deformation(mesh).deformed(now)
    assert (made["place"] == now).all()
    assert made["normal"] == pytest.approx(smooth_normals(now, mesh_geometry(mesh).triangles), abs=1e-5)


@every
def test_each_flat_face_has_its_own_normal_at_the_vertex_that_gives_it(name: str) -> None:
    mesh = Mesh(*SURFACES[name], deforms=True)
    now, triangles = moved(mesh.vertices), mesh_geometry(mesh).triangles
    made = Deformation(mesh).deformed(now)
    middles, expected = made["place"][triangles].mean(axis=1), now[mesh.faces].mean(axis=1)
    assert middles == pytest.approx(expected, abs=1e-6), "the faces in their order, corners turned round"
    flat = face_normals(made["place"], triangles)
    assert made["normal"][triangles[:, 2]] == pytest.approx(flat, abs=1e-4)


def test_faces_without_an_area_have_no_normal_and_do_no_harm() -> None:
    mesh = Mesh(*SURFACES["cube"], "smooth", deforms=True)
    made = Deformation(mesh).deformed(np.zeros_like(mesh.vertices))
    assert (made["normal"] == 0).all()
    assert np.isfinite(Deformation(mesh).deformed(mesh.vertices * np.float32(1e14))["normal"]).all()
