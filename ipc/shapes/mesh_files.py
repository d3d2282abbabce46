"""Reads meshes from files: STL, OBJ, GLB and PLY, through the library trimesh, which is imported only for that.

The one idea: a file is known by the digest of its content. What was read once is kept in the user's cache
(mesh_cache.py) under it, and trimesh is not even imported then.

Always: what a file brings is checked as any mesh is. An error names the file. Coordinates are those of the file: glTF's
y points up, and lengths are in the file's unit.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np

from twixt.ipc.shapes.mesh_cache import MeshArrays, mesh_cache
from twixt.ipc.shapes.shape_checks import SceneError

SUFFIXES = (".stl", ".obj", ".glb", ".ply")
# Largest file that is read. An STL of as many faces as a mesh may have takes 200 MB, as text 1 GB.
MOST_FILE_BYTES = 1 << 30
# A GLB is one chunk of JSON and one of bytes. One whose JSON names other files is not known by its own content.
NAMES_OTHERS = b'"uri"'


class MeshFile:
    """A file of a mesh that may be read. digest: of its content and kind. Raises SceneError."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _checked(path)
        self.digest = _digest(self.path)

    def arrays(self) -> MeshArrays:
        """Vertices, faces and normals of the file, from the cache where they are there. Raises SceneError."""
        cache = mesh_cache()
        kept = cache.read(self.digest)
        if kept is not None:
            return kept
        arrays = _parsed(self.path)
        # A file that was written to meanwhile, or whose content lies elsewhere, is parsed each time.
        if _digest(self.path) == self.digest and not _names_others(self.path):
            cache.write(self.digest, arrays)
        return arrays


def _parsed(file: Path) -> MeshArrays:
    trimesh = _trimesh(file)
    try:
        # process: vertices at one place become one; an STL has three a face.
        arrays = _joined(trimesh.load_scene(file, process=True))
    except MemoryError:
        raise SceneError(f"{file} does not fit into memory; simplify the mesh") from None
    except Exception as error:  # a damaged file makes its parser raise anything
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SceneError(f"{file} cannot be read as a mesh ({reason}); export it again, as STL or OBJ") from error
    if arrays is None:
        raise SceneError(f"{file} has no triangles; export its surfaces as triangles")
    return arrays


def _joined(scene: Any) -> MeshArrays | None:
    """All parts of a trimesh scene, each at its place; None without a triangle."""
    vertices, faces, normals, count = [], [], [], 0
    for node in scene.graph.nodes_geometry:
        place, name = scene.graph[node]
        part = scene.geometry[name]
        if not len(getattr(part, "faces", ())):
            continue
        turn = place[:3, :3]
        # Only normals of the file are in the cache already; the property would compute those it lacks.
        if "vertex_normals" in part._cache:
            normals.append(part.vertex_normals @ np.linalg.inv(turn))
        vertices.append(part.vertices @ turn.T + place[:3, 3])
        faces.append((part.faces if np.linalg.det(turn) > 0 else part.faces[:, ::-1]) + count)
        count += len(part.vertices)
    if not faces:
        return None
    has_normals = len(normals) == len(faces)
    return MeshArrays(np.concatenate(vertices), np.concatenate(faces), np.concatenate(normals) if has_normals else None)


def _checked(path: str | os.PathLike[str]) -> Path:
    """The path of a file that may be read. Raises SceneError."""
    try:
        file = Path(path)
    except TypeError:
        raise SceneError(f"Mesh.from_file takes the path of a file, got {path!r}") from None
    kinds = ", ".join(SUFFIXES)
    if file.is_dir():
        raise SceneError(f"a mesh file is one of {kinds}, got the folder {file}; name a file in it")
    if file.suffix.lower() not in SUFFIXES:
        raise SceneError(f"a mesh file is one of {kinds}, got {file}; export it as one of these")
    try:
        status = file.stat()
    except (OSError, ValueError) as error:
        raise _cannot_open(file, error) from None
    if not stat.S_ISREG(status.st_mode):
        raise SceneError(f"a mesh file must be a file on a disk, got {file}; copy its content into one")
    if not status.st_size:
        raise SceneError(f"the mesh file {file} is empty; export it again")
    if status.st_size > MOST_FILE_BYTES:
        raise SceneError(
            f"a mesh file has at most {MOST_FILE_BYTES >> 20:,} MiB, {file} has {status.st_size >> 20:,} MiB; "
            "simplify the mesh"
        )
    return file


def _digest(file: Path) -> str:
    """Digest of a file's content and kind, as text. Raises SceneError."""
    content = hashlib.blake2b(file.suffix.lower().encode(), digest_size=16)
    try:
        with file.open("rb") as opened:
            hashlib.file_digest(opened, lambda: content)
    except OSError as error:
        raise _cannot_open(file, error) from None
    return content.hexdigest()


def _names_others(file: Path) -> bool:
    """True for a GLB with content in other files."""
    if file.suffix.lower() != ".glb":
        return False
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(20)[12:16], "little")
        return NAMES_OTHERS in opened.read(length)


def _cannot_open(file: Path, error: Exception) -> SceneError:
    reason = getattr(error, "strerror", None) or error
    return SceneError(f"the mesh file {file} cannot be opened: {reason}; check its name and folder")


def _trimesh(file: Path) -> Any:
    try:
        import trimesh
    except ImportError:
        raise SceneError(
            f"{file} needs trimesh to be read, which is not installed; install it with: pip install 'twixt[mesh]'"
        ) from None
    return trimesh
