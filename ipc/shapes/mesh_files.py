"""Reads meshes from files: STL, OBJ, GLB and PLY, through the library trimesh, which is imported only for that.

Always: what a file brings is checked as any mesh is. An error names the file. Coordinates are those of the file: glTF's
y points up, and lengths are in the file's unit.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.shapes.shape_checks import SceneError

SUFFIXES = (".stl", ".obj", ".glb", ".ply")
# Largest file that is read. An STL of as many faces as a mesh may have takes 200 MB, as text 1 GB.
MOST_FILE_BYTES = 1 << 30


class MeshArrays(NamedTuple):
    """A file's mesh, all its parts as one. normals: of the vertices; None where a part has none."""

    vertices: NDArray[Any]
    faces: NDArray[Any]
    normals: NDArray[Any] | None


def read_mesh_file(path: str | os.PathLike[str]) -> MeshArrays:
    """Vertices (v, 3), faces (f, 3) and normals of a file. Raises SceneError."""
    file = _checked(path)
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
    if file.suffix.lower() not in SUFFIXES:
        raise SceneError(f"a mesh file is one of {', '.join(SUFFIXES)}, got {file}; export it as one of these")
    try:
        size = file.stat().st_size
        with file.open("rb"):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SceneError(f"the mesh file {file} cannot be opened: {reason}") from None
    if not size:
        raise SceneError(f"the mesh file {file} is empty; export it again")
    if size > MOST_FILE_BYTES:
        raise SceneError(
            f"a mesh file has at most {MOST_FILE_BYTES >> 20:,} MiB, {file} has {size >> 20:,} MiB; simplify the mesh"
        )
    return file


def _trimesh(file: Path) -> Any:
    try:
        import trimesh
    except ImportError:
        raise SceneError(
            f"{file} needs trimesh to be read, which is not installed; install it with: pip install 'twixt[mesh]'"
        ) from None
    return trimesh
