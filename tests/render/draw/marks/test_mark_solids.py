"""Geometry of the solids and lines that draw marks, with lists of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from twixt.render.draw.marks.mark_solids import HEAD_LENGTH, HEAD_RADIUS, SOLIDS, THINNEST, mark_solids
from twixt.render.interpolation.quaternion import rotate
from twixt.sim.world.marks import Marks

TO_X = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))


def solids_of(**marks):
    """The rows of each solid, and the thin lines, of marks of one kind each."""
    added = Marks()
    for kind, one in marks.items():
        added.add(kind, **one)
    solids = mark_solids(added.records)
    ends = np.cumsum(solids.counts)
    return {name: rows for name, rows in zip(SOLIDS, np.split(solids.rows, ends[:-1]), strict=True)}, solids.lines


def test_each_kind_is_its_solid_with_half_its_size():
    at = [(1, 2, 3)]
    rows, lines = solids_of(
        sphere={"position": at, "size": 0.5},
        box={"position": at, "size": (1, 2, 3)},
        capsule={"position": at, "size": (0.2, 3)},
        cylinder={"position": at, "size": (0.3, 4)},
        ellipsoid={"position": at, "size": (2, 4, 6)},
    )
    assert rows["boxes"]["half_size"].tolist() == [[0.5, 1, 1.5]]
    assert rows["capsules"]["half_size"][0] == pytest.approx((0.2, 0.2, 1.5))
    assert rows["cylinders"]["half_size"][0] == pytest.approx((0.3, 0.3, 2))
    assert rows["ellipsoids"]["half_size"].tolist() == [[0.5, 0.5, 0.5], [1, 2, 3]]
    assert all((part["position"] == at).all() for part in rows.values())
    assert len(rows["cones"]) == len(lines.starts) == 0


def test_an_arrow_is_a_shaft_and_a_head_that_ends_at_its_tip():
    rows, _ = solids_of(arrow={"position": (1, 0, 0), "to": (5, 0, 0), "size": 0.1})
    (shaft,), (head,) = rows["cylinders"], rows["cones"]
    assert head["half_size"] == pytest.approx((0.1 * HEAD_RADIUS, 0.1 * HEAD_RADIUS, 0.05 * HEAD_LENGTH))
    assert head["position"] == pytest.approx((5 - 0.05 * HEAD_LENGTH, 0, 0))
    assert shaft["position"][0] + shaft["half_size"][2] == pytest.approx(5 - 0.1 * HEAD_LENGTH)
    assert shaft["position"][0] - shaft["half_size"][2] == pytest.approx(1)


def test_a_short_arrow_is_a_head_of_the_same_form():
    rows, _ = solids_of(arrow={"position": (0, 0, 0), "to": (0, 0, 0.3), "size": 0.1})
    (shaft,), (head,) = rows["cylinders"], rows["cones"]
    assert shaft["half_size"][2] == 0
    assert head["half_size"] == pytest.approx((0.125, 0.125, 0.15))
    assert head["position"] == pytest.approx((0, 0, 0.15))


def test_a_head_whose_radius_is_given_takes_a_third_of_the_arrow():
    added = Marks()
    added.add("arrow", [(0, 0, 1)], size=(0.1, 0.3))
    added.records["size"][0, 2] = 0.15
    solids = mark_solids(added.records)
    shaft, head = solids.rows
    assert shaft["half_size"] == pytest.approx((0.1, 0.1, 0.1))
    assert head["half_size"] == pytest.approx((0.15, 0.15, 0.05))
    assert head["position"] == pytest.approx((0, 0, 1.25))


def test_lines_and_arrows_without_a_radius_are_thin_lines():
    rows, lines = solids_of(
        line={"position": [(0, 0, 0), (1, 0, 0)], "orientation": TO_X, "size": [(0, 2), (0.1, 2)]},
        arrow={"position": (0, 0, 1), "to": (0, 3, 1), "size": 0, "color": np.uint8([1, 2, 3, 4])},
    )
    assert rows["cylinders"]["position"] == pytest.approx(np.array([(2, 0, 0)]))
    assert len(rows["cones"]) == 0
    assert lines.starts.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert lines.ends == pytest.approx(np.array([(2, 0, 0), (0, 3, 1)]), abs=1e-6)
    assert lines.colors.tolist() == [[255] * 4, [1, 2, 3, 4]]


def test_axes_are_red_green_and_blue_along_x_y_and_z():
    rows, _ = solids_of(axes={"position": [(1, 1, 1)] * 2, "size": [0.5, 2], "color": (1, 1, 1)})
    axes = rows["cylinders"]
    along = rotate(axes["orientation"].astype(float), np.tile((0.0, 0.0, 1.0), (6, 1)))
    assert along == pytest.approx(np.tile(np.eye(3), (2, 1)), abs=1e-6)
    length = np.repeat([0.5, 2], 3)
    assert axes["position"] == pytest.approx(1 + along * length[:, None] / 2)
    assert axes["half_size"] == pytest.approx(np.multiply.outer(length, (0.05, 0.05, 0.5)))
    assert axes["color"][:, :3].argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    assert (axes["color"][:, 3] == 255).all()


def test_what_is_flat_is_thin_and_what_has_no_extent_is_nothing():
    rows, _ = solids_of(
        box={"position": [(0, 0, 0)] * 2, "size": [(1, 1, 0), (0, 0, 0)]},
        capsule={"position": (0, 0, 0), "size": (0.5, 0)},
        arrow={"position": (0, 0, 0), "to": (0, 0, 0), "size": 0.1},
    )
    assert rows["boxes"]["half_size"][:, 2] == pytest.approx((0.5 * THINNEST, 0))
    assert rows["capsules"]["half_size"][0, 2] == pytest.approx(0.5 * THINNEST)
    assert rows["cones"]["half_size"].tolist() == [[0, 0, 0]]


def test_marks_in_any_order_give_the_same_solids():
    added = Marks()
    for kind, size in (("box", (1, 2, 3)), ("sphere", 1), ("axes", 1), ("box", (3, 2, 1)), ("line", (0, 1))):
        added.add(kind, (0, 0, len(added)), size=size)
    solids, none = mark_solids(added.records), mark_solids(added.records[:0])
    assert solids.counts == (2, 0, 3, 1, 0)
    assert solids.rows["position"][:, 2].tolist() == pytest.approx([0, 3, 2, 2, 2.5, 1])
    assert none.counts == (0,) * 5
    assert len(none.rows) == len(none.lines.starts) == 0


def test_those_that_are_seen_through_are_apart_and_those_of_alpha_0_are_nowhere():
    added = Marks()
    for kind, size in (("box", (1, 2, 3)), ("sphere", 1), ("cylinder", (1, 1))):
        added.add(
            kind,
            [(0, 0, at) for at in range(3)],
            size=size,
            color=np.uint8([(9, 9, 9, alpha) for alpha in (255, 128, 0)]),
        )
    solids = mark_solids(added.records)
    assert solids.counts == (1, 0, 1, 1, 0)
    assert solids.rows["position"][:, 2].tolist() == [0, 0, 0]
    assert solids.transparent.rows["position"][:, 2].tolist() == [1, 1, 1]
    assert [SOLIDS[solid] for solid in solids.transparent.solids] == ["boxes", "cylinders", "ellipsoids"]
