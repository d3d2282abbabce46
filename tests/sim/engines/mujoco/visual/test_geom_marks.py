"""Geoms as MuJoCo's own functions fill them, and the marks that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from twixt.ipc.snapshot import MARK_KINDS

mujoco = pytest.importorskip("mujoco")

from twixt.sim.engines.mujoco.visual.geom_marks import NO_KIND, kinds_of, mark_records, quaternions  # noqa: E402
from twixt.sim.engines.mujoco.visual.geom_memory import geom_records, option_bytes  # noqa: E402

GEOM = mujoco.mjtGeom


@pytest.fixture
def scene() -> Any:
    return mujoco.MjvScene(mujoco.MjModel.from_xml_string("<mujoco/>"), 50)


def fill(scene: Any, kind: Any, size: Any = (0.1, 0.2, 0.3), pos: Any = (1, 2, 3), mat: Any = None) -> Any:
    geom = scene.geoms[scene.ngeom]
    turn = np.eye(3) if mat is None else mat
    color = np.array([1, 0.5, 0, 0.2], np.float32)
    mujoco.mjv_initGeom(geom, kind, np.array(size, float), np.array(pos, float), turn.ravel().astype(float), color)
    scene.ngeom += 1
    return geom


def connect(scene: Any, kind: Any, width: float, start: Any, end: Any) -> None:
    geom = fill(scene, kind)
    mujoco.mjv_connector(geom, kind, width, np.array(start, float), np.array(end, float))


def marks_of(scene: Any) -> Any:
    geoms = geom_records(scene)[: scene.ngeom]
    return mark_records(geoms, np.arange(len(geoms), dtype=np.uint64))


def ends(mark: Any) -> tuple[list[float], list[float]]:
    """Where an arrow or a line begins and ends."""
    x, y, z, w = mark["orientation"].tolist()
    along = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    return mark["position"].tolist(), (mark["position"] + along * mark["size"][1]).tolist()


def test_the_memory_of_geoms_is_what_their_attributes_say(scene: Any) -> None:
    for number in range(3):
        geom = fill(scene, GEOM.mjGEOM_BOX, size=(number, 2, 3))
        geom.objtype, geom.objid, geom.category, geom.label = 5, number, 4, f"name {number}"
    records = geom_records(scene)
    for number in range(3):
        geom, record = scene.geoms[number], records[number]
        for name in ("type", "objtype", "objid", "category"):
            assert record[name] == getattr(geom, name)
        for name in ("size", "pos", "rgba"):
            assert record[name].tolist() == getattr(geom, name).tolist()
        assert record["mat"].tolist() == geom.mat.ravel().tolist()
        assert bytes(record["label"]).split(b"\0")[0].decode() == geom.label


def test_options_are_equal_if_their_bytes_are() -> None:
    opt = mujoco.MjvOption()
    seen = option_bytes(opt)
    for name, index in (
        ("flags", 0),
        ("flags", -1),
        ("geomgroup", 0),
        ("skingroup", 5),
        ("label", None),
        ("frame", None),
    ):
        before = bytes(seen)
        if index is None:
            setattr(opt, name, 3)
        else:
            getattr(opt, name)[index] ^= 1
        assert bytes(seen) != before, name


@pytest.mark.parametrize(
    ("kind", "size", "mark", "expected"),
    [
        ("SPHERE", (0.1, 0, 0), "sphere", (0.1, 0, 0)),
        ("CAPSULE", (0.1, 0.3, 0), "capsule", (0.1, 0.6, 0)),
        ("CYLINDER", (0.1, 0.3, 0), "cylinder", (0.1, 0.6, 0)),
        ("ELLIPSOID", (0.1, 0.2, 0.3), "ellipsoid", (0.2, 0.4, 0.6)),
        ("BOX", (0.1, 0.2, 0.3), "box", (0.2, 0.4, 0.6)),
        ("ARROW", (0.1, 0.1, 0.8), "arrow", (0.1, 0.4, 0.175)),
        ("ARROW1", (0.1, 0.1, 0.8), "arrow", (0.1, 0.4, 0.1)),
        ("LINE", (3, 3, 0.8), "line", (0, 0.8, 0)),
    ],
)
def test_half_sizes_become_sizes_of_marks(scene: Any, kind: str, size: Any, mark: str, expected: Any) -> None:
    fill(scene, getattr(GEOM, f"mjGEOM_{kind}"), size)
    (record,) = marks_of(scene)
    assert list(MARK_KINDS)[record["kind"]] == mark
    assert record["size"] == pytest.approx(expected)
    assert record["position"].tolist() == [1, 2, 3]
    assert record["orientation"].tolist() == [0, 0, 0, 1]
    assert record["color"].tolist() == [255, 128, 0, 51]


def test_what_connects_two_places_goes_from_one_to_the_other(scene: Any) -> None:
    start, end = (1, 2, 3), (2, -1, 4)
    connect(scene, GEOM.mjGEOM_LINE, 2, start, end)
    connect(scene, GEOM.mjGEOM_ARROW, 0.1, start, end)  # drawn half as long, by MuJoCo's own renderer too
    connect(scene, GEOM.mjGEOM_CAPSULE, 0.1, start, end)
    line, arrow, capsule = marks_of(scene)
    middle = np.add(start, end) / 2
    assert ends(line)[0] == pytest.approx(start)
    assert ends(line)[1] == pytest.approx(end, abs=1e-5)
    assert ends(arrow)[1] == pytest.approx(middle, abs=1e-5)
    assert capsule["position"] == pytest.approx(middle)
    assert capsule["size"] == pytest.approx((0.1, np.sqrt(11), 0))


def test_an_arrow_with_two_heads_is_two_arrows_of_one_key(scene: Any) -> None:
    connect(scene, GEOM.mjGEOM_ARROW2, 0.1, (0, 0, 0), (0, 0, 2))
    up, down = marks_of(scene)
    assert ends(up) == (pytest.approx([0, 0, 0]), pytest.approx([0, 0, 1], abs=1e-6))
    assert ends(down) == (pytest.approx([0, 0, 0]), pytest.approx([0, 0, -1], abs=1e-6))
    assert up["key"] == down["key"]


def test_a_box_of_lines_is_twelve_lines_and_a_triangle_three(scene: Any) -> None:
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    fill(scene, GEOM.mjGEOM_LINEBOX, (1, 2, 3), (0, 0, 0), turn)
    fill(scene, GEOM.mjGEOM_TRIANGLE, (1, 2, 0), (5, 0, 0), turn)
    marks = marks_of(scene)
    box, triangle = marks[:12], marks[12:]
    corners = {tuple(np.round(end).astype(int).tolist()) for line in box for end in ends(line)}
    assert corners == {(x, y, z) for x in (-2, 2) for y in (-1, 1) for z in (-3, 3)}
    assert sorted(np.round(box["size"][:, 1]).tolist()) == [2] * 4 + [4] * 4 + [6] * 4
    assert [np.round(ends(line)[1], 5).tolist() for line in triangle] == [[5, 1, 0], [3, 0, 0], [5, 0, 0]]
    assert len(set(box["key"].tolist())) == 1


def test_matrices_become_quaternions_that_turn_alike() -> None:
    turns = np.random.default_rng(1).normal(size=(200, 4))
    turns = np.concatenate((turns, np.eye(4), [(1, 1, 0, 0), (1, -1, 0, 0)]))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    matrices = np.zeros((len(turns), 9))
    for matrix, turn in zip(matrices, turns, strict=True):
        mujoco.mju_quat2Mat(matrix, turn)
    found = quaternions(matrices.astype(np.float32))[:, [3, 0, 1, 2]]
    assert np.abs(np.sum(found * turns, axis=1)) == pytest.approx(np.ones(len(turns)), abs=1e-6)


def test_a_matrix_that_was_never_set_is_no_turn() -> None:
    assert quaternions(np.zeros((2, 9), np.float32)).tolist() == [[0, 0, 0, 1]] * 2


def test_kinds_without_a_mark_are_told_apart_whatever_their_number() -> None:
    unknown = np.array([GEOM.mjGEOM_MESH, GEOM.mjGEOM_PLANE, GEOM.mjGEOM_NONE, 999_999, -3], np.int32)
    assert kinds_of(unknown).tolist() == [NO_KIND] * 5
