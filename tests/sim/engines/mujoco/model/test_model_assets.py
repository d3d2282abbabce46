"""Surfaces of mesh assets: mirrored ones are closed and face outwards, edges are as sharp as MuJoCo draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twixt.sim.engines.mujoco.model.model_assets import Surface, mesh_surface

mujoco = pytest.importorskip("mujoco")

CORNERS = "0 0 0  1 0 0  0 .5 0  0 0 .8  1 0 .3"
FACES = "0 2 1  0 1 4  0 4 3  0 3 2  1 2 4  2 3 4"
AXES = "1 1 1", "1 -1 1", "-1 -1 1", "-1 -1 -1"


def surface(scale: str, more: str = "") -> tuple[Any, Surface]:
    mesh = f"<mesh name='wedge' vertex='{CORNERS}' face='{FACES}' scale='{scale}' {more}/>"
    geom = "<geom type='mesh' mesh='wedge'/>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><asset>{mesh}</asset><worldbody>{geom}</worldbody></mujoco>")
    made = mesh_surface(model, 0)
    assert made is not None
    return model, made


def across(made: Surface) -> np.ndarray:
    """Unit normals of the faces, by the order of their corners, (f, 3)."""
    a, b, c = (made.vertices[made.faces[:, corner]].astype(float) for corner in range(3))
    normals = np.cross(b - a, c - a)
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.parametrize("scale", AXES)
def test_a_mirrored_mesh_faces_outwards(scale: str) -> None:
    _, made = surface(scale)
    centers = made.vertices[made.faces].mean(axis=1)
    outwards = np.einsum("fk,fk->f", across(made), centers - made.vertices.mean(axis=0))
    assert (outwards > 0.01).all()


@pytest.mark.parametrize("scale", AXES)
def test_corners_at_sharp_edges_have_the_normal_of_their_face(scale: str) -> None:
    model, made = surface(scale)
    assert not isinstance(made.normals, str | None)
    of_mesh = model.mesh_normal[model.mesh_facenormal]
    faces = across(made)
    is_sharp = np.einsum("fck,fk->fc", of_mesh, faces) < 0.8  # MuJoCo 4.0, mjr_uploadMesh
    assert is_sharp.any()
    shown = made.normals[made.faces]
    np.testing.assert_allclose(shown[is_sharp], np.broadcast_to(faces[:, None], shown.shape)[is_sharp], atol=1e-5)
    np.testing.assert_allclose(shown[~is_sharp], of_mesh[~is_sharp], atol=1e-6)


def test_a_mesh_with_places_in_an_image_keeps_its_own_normals() -> None:
    model, made = surface("1 1 1", "texcoord='0 0  1 0  0 1  1 1  .5 .5'")
    assert not isinstance(made.normals, str | None)
    np.testing.assert_allclose(made.normals[made.faces], model.mesh_normal[model.mesh_facenormal], atol=1e-6)


def test_a_face_without_area_keeps_the_meshs_normals() -> None:
    flat = "<mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1 2 0 0' face='0 2 1 0 1 3 0 3 2 1 2 3 0 1 4'/>"
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{flat}</asset><worldbody><geom type='mesh' mesh='m'/></worldbody></mujoco>"
    )
    made = mesh_surface(model, 0)
    assert made is not None
    assert not isinstance(made.normals, str | None)
    assert np.isfinite(made.normals).all()
