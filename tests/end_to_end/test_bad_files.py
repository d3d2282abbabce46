"""Mesh and image files that a world names and that cannot be used: exit code 2, the file and the way out, no traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.forked import Forks

pytestmark = pytest.mark.slow

WORLD = """
import sys
from twixt import Bodies, Material, Mesh, Plane, Scene, Texture, World

class Shown(World):
    def __init__(self, file: str, without: str = ""):
        if without:
            sys.modules[without] = None  # as if it were not installed
        is_image = file.endswith(".png")
        shape = Plane((2, 2), material=Material(Texture.from_file(file))) if is_image else Mesh.from_file(file)
        self.scene, self.bodies = Scene([shape]), Bodies(1)

    def step(self, dt):
        pass
"""
TRIANGLE = "v 0 0 0\\nv 1 0 0\\nv 0 1 0\\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shown.py").write_text(WORLD)
    (tmp_path / "part.obj").write_text(TRIANGLE + "f 1 2 3\\n")
    (tmp_path / "range.obj").write_text(TRIANGLE + "f 1 2 9\\n")
    (tmp_path / "part.step").write_text("ISO-10303-21;")
    (tmp_path / "empty.stl").write_bytes(b"")
    (tmp_path / "folder.stl").mkdir()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:5000])
    return tmp_path


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("gone.stl", "the mesh file gone.stl cannot be opened: No such file or directory; check its name and folder"),
        ("gone.png", "the image gone.png cannot be opened: No such file or directory; check its name and folder"),
        ("empty.stl", "the mesh file empty.stl is empty; export it again"),
        ("range.obj", "range.obj cannot be read as a mesh"),
        ("folder.stl", "a mesh file is one of .stl, .obj, .glb, .ply, got the folder folder.stl; name a file in it"),
        ("part.step", "a mesh file is one of .stl, .obj, .glb, .ply, got part.step; export it as one of these"),
        ("half.png", "half.png cannot be read as an image"),
        ("part.obj", 'part.obj needs trimesh to be read, which is not installed; install it with: pip install "trimesh>=4.6,<6"'),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_ends_the_run_with_2_and_one_line(
    forked: Forks, folder: Path, file: str, said: str
) -> None:
    pytest.importorskip("trimesh", reason="make setup")
    without = ("--set", "without=trimesh") if file == "part.obj" else ()
    arguments = ("run", "shown:Shown", "--offscreen", "--seconds", "1", "--set", f"file={file}", *without)
    ended = forked(folder, *arguments)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"twixt: {said}")
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") == 1
