"""Arrays of meshes for the GPU: every face once, its own normal, and the edges around it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.meshes.solids import cube, icosahedron, sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.render.draw.meshes.mesh_geometry import face_normals, mesh_bounds, mesh_geometry, silhouette_edges


def corners_of(places: np.ndarray, faces: np.ndarray) -> set[frozenset[tuple[float, ...]]]:
    return {frozenset(map(tuple, places[face].tolist())) for face in faces}


@pytest.mark.parametrize("solid", [cube(), icosahedron(), sphere(2)], ids=["cube", "icosahedron", "sphere"])
def test_a_flat_mesh_keeps_its_faces_and_each_ends_with_its_own_normal(solid: tuple[np.ndarray, np.ndarray]) -> None:
    mesh = Mesh(*solid)
    vertices, triangles, is_flat, sources = mesh_geometry(mesh)
    assert is_flat
    np.testing.assert_array_equal(mesh.vertices[sources], vertices["place"])
    assert corners_of(vertices["place"], triangles) == corners_of(mesh.vertices, mesh.faces)
    np.testing.assert_allclose(vertices["normal"][triangles[:, 2]], face_normals(vertices["place"], triangles))
    # Outwards: no face is turned over.
    assert ((vertices["place"][triangles[:, 2]] * vertices["normal"][triangles[:, 2]]).sum(axis=1) > 0).all()
    assert len(vertices) < 1.2 * len(triangles)  # few faces have a vertex that no other needs


def test_faces_are_turned_to_where_the_normals_of_their_vertices_point() -> None:
    places, faces = icosahedron()
    turned = Mesh(places, faces[:, ::-1], places)
    np.testing.assert_array_equal(mesh_geometry(turned).triangles, faces)


def test_each_edge_of_a_closed_solid_is_there_once_between_its_two_faces() -> None:
    geometry = mesh_geometry(Mesh(*cube()))
    places, edges = geometry.vertices["place"], silhouette_edges(geometry)
    assert len(edges) == 18  # twelve of the cube, and a diagonal of each side
    assert corners_of(places, edges[:, :3]) | corners_of(places, edges[:, 1:]) == corners_of(places, geometry.triangles)
    assert (edges[:, 0] != edges[:, 3]).all()


def test_the_border_of_an_open_surface_has_one_face() -> None:
    edges = silhouette_edges(mesh_geometry(Mesh.height_field(np.zeros((3, 3)), (1, 1))))
    assert (edges[:, 0] == edges[:, 3]).sum() == 8
    assert len(edges) == 16


def test_faces_without_an_area_and_vertices_without_a_face_do_no_harm() -> None:
    mesh = Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (9, 9, 9)], [(0, 1, 2), (0, 0, 1), (2, 2, 2)])
    geometry = mesh_geometry(mesh)
    assert np.isfinite(geometry.vertices["normal"]).all()
    assert len(silhouette_edges(geometry)) == 3
    assert mesh_bounds(mesh).middle.tolist() == [0.5, 0.5, 0]
    assert mesh_bounds(mesh).is_plate


def test_a_rod_is_no_plate() -> None:
    places, faces = cube()
    assert not mesh_bounds(Mesh(places * (1, 1, 50), faces)).is_plate
    assert mesh_bounds(Mesh(places * (1, 1, 0.05), faces)).is_plate
