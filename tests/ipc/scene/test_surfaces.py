"""Vertices of deforming bodies: their order, and how they are packed behind marks."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Compound, Part, Scene, SceneError, Sphere
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import packed_scene, unpacked_scene
from twixt.ipc.scene.surfaces import NO_SURFACES, Extras, are_drawable, packed, surface_rows, unpacked
from twixt.ipc.snapshot import MARK, NO_MARKS, vertex_records

CLOTH = Mesh(np.eye(3), [(0, 1, 2)], deforms=True)
LARGER = Mesh(np.arange(15).reshape(5, 3), [(0, 1, 2), (2, 3, 4)], "smooth", deforms=True)


def test_vertices_stand_in_the_bodies_order_each_with_as_many_as_its_mesh() -> None:
    rows = surface_rows(Scene([Sphere(), CLOTH, LARGER, Sphere(), CLOTH]), 7)
    assert rows.bodies.tolist() == [1, 2, 4, 5, 6]  # bodies beyond the last shape have that one
    assert rows.starts.tolist() == [0, 3, 8, 11, 14, 17]
    assert rows.rows(1) == slice(3, 8)
    assert [rows.first(vertices) for vertices in (0, 2, 3, 8, 10, 17, 99)] == [0, 0, 1, 2, 2, 5, 5]
    assert surface_rows(Scene([Sphere(), Mesh(np.eye(3), [(0, 1, 2)])]), 2) is NO_SURFACES
    assert surface_rows(Scene([Sphere(), CLOTH]), 1).vertices == 0


def test_a_mesh_that_deforms_is_another_shape_and_stays_one_on_its_way_to_a_viewer() -> None:
    stiff = Mesh(np.eye(3), [(0, 1, 2)])
    assert stiff != CLOTH
    assert stiff.digest != CLOTH.digest
    received = unpacked_scene(packed_scene(Scene([stiff, CLOTH])).to_bytes())
    assert [shape.deforms for shape in received.shapes] == [False, True]  # type: ignore[union-attr]
    assert received.shapes[1] == CLOTH


def test_a_part_cannot_deform() -> None:
    with pytest.raises(
        SceneError, match=r"Part.shape must not deform; a mesh that deforms must be the shape of a whole body"
    ):
        Compound([Part(CLOTH)])


@pytest.mark.parametrize("count", [1, 5, 6, 16, 1000])
def test_vertices_packed_behind_marks_are_found_there_and_give_way_first(count: int) -> None:
    vertices = np.arange(3 * count, dtype=np.float32).reshape(count, 3)
    records = np.zeros(vertex_records(count), MARK)
    unpacked(records, count)[...] = vertices
    assert records.nbytes - vertices.nbytes < 64
    marks = np.zeros(4, MARK)
    marks["key"] = (4, 3, 2, 1)
    both = packed(marks, records, count)
    assert both.records[:4].tobytes() == marks.tobytes()
    assert (unpacked(both.records[4:], count) == vertices).all()
    assert both.first(len(both.records)) is both
    assert both.first(len(both.records) - 1).vertices == 0
    assert both.first(3).records["key"].tolist() == [4, 3, 2]
    assert len(both.first(-1).records) == 0
    assert packed(NO_MARKS, records, count).records is records
    assert Extras(marks).first(2).records["key"].tolist() == [4, 3]


@pytest.mark.parametrize(
    ("value", "expected"), [(1e14, True), (1e16, False), (np.inf, False), (-np.inf, False), (np.nan, False)]
)
def test_a_surface_is_drawn_if_all_its_vertices_can_be(value: float, expected: bool) -> None:
    vertices = np.zeros((4, 3), np.float32)
    assert are_drawable(vertices)
    for place in ((0, 0), (2, 1), (3, 2)):
        damaged = vertices.copy()
        damaged[place] = value
        assert are_drawable(damaged) is expected
