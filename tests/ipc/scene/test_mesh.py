"""What a mesh keeps of what it was given, what it refuses, and when two are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twixt.ipc.scene.checks import SceneError
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.shape_list import ShapeList

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], np.float64)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def test_a_mesh_is_a_copy_in_the_types_that_are_drawn() -> None:
    given = CORNERS.copy()
    mesh = Mesh(given, FACES)
    given[:] = 9
    assert (mesh.vertices == CORNERS).all()
    assert mesh.vertices.dtype == "<f4"
    assert mesh.faces.dtype == "<u4"
    assert not mesh.vertices.flags.writeable
    assert not mesh.faces.flags.writeable
    assert mesh.reach == 3


def test_meshes_of_the_same_content_are_one_shape() -> None:
    one, same = Mesh(CORNERS, FACES), Mesh(CORNERS.astype(np.float32), np.array(FACES, np.int64))
    others = [Mesh(CORNERS, FACES[:3]), Mesh(CORNERS, FACES, "smooth"), Mesh(CORNERS, FACES, color=(1, 0, 0))]
    assert one == same
    assert hash(one) == hash(same)
    assert all(other != one for other in others)
    assert len(ShapeList.of([one, same, *others]).table) == 4


def test_smooth_normals_are_of_unit_length_and_lean_towards_the_larger_face() -> None:
    ridge = [(0, 0, 0), (1, 0, 0), (0, 3, 0), (0, 0, 1)]
    normals = Mesh(ridge, [(0, 1, 2), (0, 3, 1)], "smooth").normals
    assert normals is not None
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1)
    # At vertex 0 a face of area 1.5 with normal z meets one of 0.5 with normal y.
    assert normals[0] == pytest.approx(np.array((0, 1, 3)) / np.sqrt(10), abs=1e-6)
    assert normals[3] == pytest.approx((0, 1, 0), abs=1e-6)


def test_a_vertex_without_a_face_has_some_normal() -> None:
    normals = Mesh([*CORNERS.tolist(), (5, 5, 5)], FACES, "smooth").normals
    assert normals is not None
    assert normals[4].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"vertices": []}, "Mesh.vertices must be three numbers a row"),
        ({"vertices": [[0, 1]]}, "Mesh.vertices must be three numbers a row"),
        ({"vertices": "cube"}, "Mesh.vertices must be three numbers a row"),
        ({"vertices": [[0, 0, float("nan")]] * 4}, "Mesh.vertices must be finite"),
        ({"vertices": [[0, 0, 1e9]] * 4}, "at most 1e"),
        ({"vertices": [[0, 0, 0], [1]]}, "Mesh.vertices must be three numbers a row"),
        ({"faces": []}, "Mesh.faces must be three indices"),
        ({"faces": [(0, 1, 4)]}, r"Mesh.faces must name vertices that exist, 0 to 3, got \[0, 1, 4\] in row 0"),
        ({"faces": [(0, 1, 2), (0, 1, -1)]}, "in row 1"),
        ({"faces": [(0.0, 1.0, 2.0)]}, "Mesh.faces must be whole numbers"),
        ({"normals": "round"}, 'None for flat faces, "smooth", or'),
        ({"normals": [[0, 0, 1]]}, "one row a vertex, 4, got 1"),
        ({"color": (2, 0, 0)}, "Mesh.color must be"),
    ],
)
def test_what_is_no_mesh_is_refused_in_words(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SceneError, match=said):
        Mesh(**{"vertices": CORNERS, "faces": FACES} | wrong)


def test_a_height_field_has_each_height_at_its_place_and_its_front_upwards() -> None:
    heights = np.array([(0, 1, 2), (3, 4, 5)])
    mesh = Mesh.height_field(heights, (4, 2), color=(0, 1, 0))
    placed = {(x, y): z for x, y, z in mesh.vertices.tolist()}
    # Columns along x, rows along y.
    assert placed == {(-2, -1): 0, (0, -1): 1, (2, -1): 2, (-2, 1): 3, (0, 1): 4, (2, 1): 5}
    assert len(mesh.faces) == 4
    corners = mesh.vertices[mesh.faces]
    assert (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] == 2 * 2).all()
    assert mesh.normals is not None
    # A plane that rises by 1 in 2 m along x and by 3 in 2 m along y.
    assert mesh.normals == pytest.approx(np.tile(np.array((-1, -3, 2)) / np.sqrt(14), (6, 1)), abs=1e-6)


@pytest.mark.parametrize(
    ("heights", "size", "said"),
    [
        ([[1, 2, 3]], (1, 1), r"shape \(r, c\), with r and c >= 2, got an array of shape \(1, 3\)"),
        ([[1], [2, 3]], (1, 1), "heights must be numbers"),
        ("hills", (1, 1), "heights must be numbers"),
        ([[0, 1], [2, np.inf]], (1, 1), "heights must be finite, got inf in row 1, column 1"),
        (np.zeros((2000, 2000), np.float32), (1, 1), "at most 2,000,000 heights, got 4,000,000"),
        (np.zeros((2, 2)), (1, 0), r"size must be 2 finite lengths > 0 \(metres\)"),
        (np.zeros((2, 2)), 3, "size must be 2 finite lengths > 0"),
        (np.full((2, 2), 1e9), (1, 1), "must be finite and at most 1e"),
    ],
)
def test_a_height_field_that_cannot_be_drawn_is_refused(heights: Any, size: Any, said: str) -> None:
    with pytest.raises(SceneError, match=said):
        Mesh.height_field(heights, size)
