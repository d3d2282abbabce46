"""Meshes from files of each kind, and files that are none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twixt.ipc.scene import mesh_files
from twixt.ipc.scene.checks import SceneError
from twixt.ipc.scene.mesh import Mesh

trimesh = pytest.importorskip("trimesh", reason="make setup")

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], np.float64)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
NORMALS = np.array([(-1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float64)


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mesh_files.VARIABLE, mesh_files.OFF)


def written(file: Path, **more: Any) -> Path:
    trimesh.Trimesh(CORNERS, FACES, process=False, **more).export(file)
    return file


def volume(mesh: Mesh) -> float:
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    return float(np.linalg.det(corners).sum() / 6)


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".glb", ".ply", ".STL"])
def test_each_kind_of_file_gives_the_mesh_that_was_written(tmp_path: Path, suffix: str) -> None:
    mesh = Mesh.from_file(written(tmp_path / f"part{suffix}"), scale=0.5, color=(1, 0, 0))
    assert sorted(mesh.vertices.tolist()) == sorted((CORNERS / 2).tolist())
    assert volume(mesh) == pytest.approx(1 / 8)  # faces are turned outwards
    assert mesh.normals is None
    assert mesh.color == (1, 0, 0)


@pytest.mark.parametrize("suffix", [".obj", ".glb", ".ply"])
def test_normals_of_the_file_are_used_unless_others_are_asked_for(tmp_path: Path, suffix: str) -> None:
    file = written(tmp_path / f"part{suffix}", vertex_normals=NORMALS)
    mesh = Mesh.from_file(str(file))
    assert mesh.normals is not None
    found = {tuple(place): normal for place, normal in zip(mesh.vertices.tolist(), mesh.normals.tolist(), strict=True)}
    assert [found[tuple(place)] for place in CORNERS.tolist()] == NORMALS.tolist()
    assert Mesh.from_file(file, normals=None).normals is None
    assert Mesh.from_file(file, normals="smooth") == Mesh(mesh.vertices, mesh.faces, "smooth")


def test_parts_of_a_file_stand_at_their_places(tmp_path: Path) -> None:
    scene = trimesh.Scene()
    part = trimesh.Trimesh(CORNERS, FACES)
    scene.add_geometry(part)
    scene.add_geometry(part, transform=trimesh.transformations.translation_matrix((10, 0, 0)))
    scene.export(tmp_path / "two.glb")
    mesh = Mesh.from_file(tmp_path / "two.glb")
    assert len(mesh.faces) == 8
    assert mesh.vertices[:, 0].max() == 11


def test_a_chain_of_parts_has_each_at_its_place_and_is_walked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = 300
    scene, part = trimesh.Scene(), trimesh.Trimesh(CORNERS, FACES)
    turn = trimesh.transformations.rotation_matrix(np.pi / 2, (0, 0, 1), (1, 0, 0))
    move = trimesh.transformations.translation_matrix((10, 0, 0))
    parent = None
    for link in range(links):
        matrix = move if link else turn
        parent = scene.add_geometry(part, f"node{link}", "one", parent_node_name=parent, transform=matrix)
    scene.export(tmp_path / "chain.glb")

    def walk(*_: object) -> None:
        raise AssertionError("each node is found from the root")

    monkeypatch.setattr(type(scene.graph), "__getitem__", walk)
    mesh = Mesh.from_file(tmp_path / "chain.glb")
    assert len(mesh.faces) == 4 * links
    assert mesh.vertices.max(axis=0) == pytest.approx((1, 10 * (links - 1), 3), abs=1e-3)


@pytest.mark.parametrize(
    "content", [b"", b"solid nothing\nendsolid", b"\0" * 84, b"glTF" + b"\xff" * 40, b"v 1 2\nf 1 2 3\n"]
)
@pytest.mark.parametrize("suffix", mesh_files.SUFFIXES)
def test_a_file_that_is_no_mesh_is_named_in_the_error(tmp_path: Path, suffix: str, content: bytes) -> None:
    file = tmp_path / f"broken{suffix}"
    file.write_bytes(content)
    with pytest.raises(SceneError, match=f"broken{suffix}"):
        Mesh.from_file(file)


def test_half_a_file_is_named_in_the_error(tmp_path: Path) -> None:
    for suffix in (".stl", ".glb", ".ply"):
        file = written(tmp_path / f"cut{suffix}")
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        with pytest.raises(SceneError, match=f"cut{suffix}"):
            Mesh.from_file(file)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("gone.stl",), "gone.stl cannot be opened: No such file"),
        ((".",), r"one of .stl, .obj, .glb, .ply, got the folder \.; name a file in it"),
        (("pipe.stl",), "must be a file on a disk, got pipe.stl"),
        (("part.step",), r"one of .stl, .obj, .glb, .ply, got .*part.step"),
        ((3,), "takes the path of a file, got 3"),
        (("part.stl", 0), "scale must be > 0, got 0"),
        (("part.stl", 1e9), "part.stl: Mesh.vertices must be finite and at most 1e"),
        (("part.stl", 1, "sharp"), "part.stl: Mesh.normals must be None"),
    ],
)
def test_what_cannot_be_a_mesh_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[Any, ...], said: str
) -> None:
    written(tmp_path / "part.stl")
    os.mkfifo(tmp_path / "pipe.stl")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SceneError, match=said):
        Mesh.from_file(*given)


def test_a_file_larger_than_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / "part.stl")
    monkeypatch.setattr(mesh_files, "MOST_FILE_BYTES", 100)
    with pytest.raises(SceneError, match="part.stl has 0 MiB; simplify"):
        Mesh.from_file(file)


TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("range.obj", TRIANGLE + "f 1 2 9\n", "range.obj cannot be read as a mesh"),
        ("before.obj", TRIANGLE + "f 1 2 -9\n", "before.obj cannot be read as a mesh"),
        ("points.obj", TRIANGLE, "points.obj has no triangles; export its surfaces as triangles"),
        ("nan.obj", TRIANGLE + "v nan 0 0\nf 1 2 4\n", r"nan.obj: vertices must be finite, got \[nan, 0.0, 0.0\]"),
        ("far.obj", TRIANGLE + "v 1e30 0 0\nf 1 2 4\n", "far.obj: Mesh.vertices must be finite and at most 1e"),
        ("many.ply", "ply\nformat binary_little_endian 1.0\nelement face 10000000\n", "at most 4,000,000 triangles, .*many.ply has more"),
    ],
)  # fmt: skip
def test_content_that_is_no_surface_is_named(tmp_path: Path, name: str, content: str, said: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(SceneError, match=said):
        Mesh.from_file(file)


def test_an_stl_with_a_vertex_that_is_not_finite_or_of_another_length_is_named(tmp_path: Path) -> None:
    whole = written(tmp_path / "part.stl").read_bytes()
    for name, place, value, said in (
        ("nan.stl", 96, np.float32(np.nan).tobytes(), "nan.stl: vertices must be finite, got"),
        (
            "long.stl",
            80,
            (10**9).to_bytes(4, "little"),
            "long.stl is not a complete STL: with 1,000,000,000 triangles it would",
        ),
    ):
        (tmp_path / name).write_bytes(whole[:place] + value + whole[place + 4 :])
        with pytest.raises(SceneError, match=said):
            Mesh.from_file(tmp_path / name)


def test_ten_million_triangles_are_refused_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mesh_files, "_parsed", None)
    file = tmp_path / "huge.stl"
    with file.open("wb") as opened:
        opened.write(bytes(80) + (10_000_000).to_bytes(4, "little"))
        opened.truncate(84 + 50 * 10_000_000)  # takes no room on the disk
    with pytest.raises(SceneError, match="a mesh has at most 4,000,000 triangles, .*huge.stl has more; simplify"):
        Mesh.from_file(file)
    monkeypatch.setattr(mesh_files, "MOST_TEXT_BYTES", 20)
    for name, content in (
        ("t.obj", TRIANGLE),
        ("t.ply", "ply\nformat ascii 1.0\n"),
        ("t.stl", "solid of many words " * 9),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(SceneError, match=f"a mesh file of text has at most 0 MiB, .*{name}"):
            Mesh.from_file(tmp_path / name)


def test_a_small_file_that_places_a_part_many_times_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = trimesh.Scene()
    part = trimesh.Trimesh(CORNERS, FACES)
    for place in range(10):
        scene.add_geometry(part, geom_name="one", transform=trimesh.transformations.translation_matrix((place, 0, 0)))
    scene.export(tmp_path / "ten.glb")
    assert len(Mesh.from_file(tmp_path / "ten.glb").faces) == 40
    for limit, what in (("MOST_FACES", "triangles"), ("MOST_VERTICES", "vertices")):
        with (
            monkeypatch.context() as patched,
            pytest.raises(SceneError, match=f"at most 39 {what}, .*ten.glb has more"),
        ):
            patched.setattr(mesh_files, limit, 39)
            Mesh.from_file(tmp_path / "ten.glb")


def test_a_surface_that_is_not_closed_and_meets_itself_is_a_mesh(tmp_path: Path) -> None:
    file = tmp_path / "fan.obj"
    file.write_text(TRIANGLE + "v 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 1 3\nf 1 1 2\n")
    assert len(Mesh.from_file(file, normals="smooth").faces) >= 3


def test_trimesh_is_loaded_by_reading_a_file_alone_and_its_absence_says_what_to_install(tmp_path: Path) -> None:
    file = written(tmp_path / "part.stl")
    code = (
        "import sys; from twixt import Mesh\n"
        "assert 'trimesh' not in sys.modules\n"
        "sys.modules['trimesh'] = None\n"  # as if it were not installed
        f"Mesh.from_file({str(file)!r})"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'install it with: pip install "trimesh>=4.6,<6"' in ended.stderr


def test_what_trimesh_says_of_a_damaged_file_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "damaged.stl"
    facet = "facet normal {}\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    file.write_text("solid one\n" + 10 * facet.format("0 0 1") + facet.format("0 ! 1") + "endsolid one\n")
    program = f"from twixt import Mesh; print(Mesh.from_file({str(file)!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_whose_name_is_not_utf_8_is_refused_in_plain_words(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.obj")
    file.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    with pytest.raises(SceneError, match="UTF-8 names only; rename the file") as raised:
        Mesh.from_file(file)
    assert str(file) in str(raised.value)
