"""Meshes from files of each kind, and files that are none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twixt.ipc.shapes import mesh_cache, mesh_files
from twixt.ipc.shapes.mesh import Mesh
from twixt.ipc.shapes.shape_checks import SceneError

trimesh = pytest.importorskip("trimesh", reason="pip install 'twixt[mesh]'")

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], np.float64)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
NORMALS = np.array([(-1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float64)


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mesh_cache.VARIABLE, mesh_cache.OFF)


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


def test_trimesh_is_loaded_by_reading_a_file_alone_and_its_absence_says_what_to_install(tmp_path: Path) -> None:
    file = written(tmp_path / "part.stl")
    code = (
        "import sys; from twixt import Mesh\n"
        "assert 'trimesh' not in sys.modules\n"
        "sys.modules['trimesh'] = None\n"  # as if it were not installed
        f"Mesh.from_file({str(file)!r})"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "install it with: pip install 'twixt[mesh]'" in ended.stderr
