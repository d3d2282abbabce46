"""Reads meshes from files: STL, OBJ, GLB and PLY, through the library trimesh, which is imported only for that.

The one idea: a file is known by the digest of its content. What was read once is kept in the user's cache
(mesh_cache.py) under it, and trimesh is not even imported then.

Always: what a file brings is checked as any mesh is. An error names the file. Coordinates are those of the file: glTF's
y points up, and lengths are in the file's unit.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import is_utf8
from twixt.ipc.shapes.mesh_cache import MeshArrays, mesh_cache
from twixt.ipc.shapes.shape_checks import SceneError

SUFFIXES = (".stl", ".obj", ".glb", ".ply")
# What one mesh may hold.
MOST_VERTICES = 2_000_000
MOST_FACES = 4_000_000
# Largest file that is read. An STL of as many faces as a mesh may have takes 200 MB. Parsing text takes a dozen times its
# size in memory, and more.
MOST_FILE_BYTES, MOST_TEXT_BYTES = 1 << 30, 256 << 20
# A binary STL: a head, the number of triangles, and so many bytes for each.
STL_HEAD_BYTES, STL_FACE_BYTES = 84, 50
PLY_FACES = re.compile(rb"^element\s+face\s+(\d{1,18})\s*$", re.MULTILINE)
# The beginning of a file that tells how large its mesh is.
BEGINNING_BYTES = 4096
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
    if not is_utf8(str(file)):
        raise SceneError(f"{file}: trimesh opens files with UTF-8 names only; rename the file, or its folder")
    try:
        arrays = _joined(file, trimesh.load_scene(file, process=False))
    except SceneError:
        raise
    except MemoryError:
        raise SceneError(f"{file} does not fit into memory; simplify the mesh") from None
    except Exception as error:  # a damaged file makes its parser raise anything, also while it looks for an encoding
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SceneError(f"{file} cannot be read as a mesh ({reason}); export it again, as STL or OBJ") from error
    if arrays is None:
        raise SceneError(f"{file} has no triangles; export its surfaces as triangles")
    return arrays


def _joined(file: Path, scene: Any) -> MeshArrays | None:
    """All parts of a trimesh scene, each at its place; None without a triangle. Raises SceneError."""
    vertices, faces, normals, count, triangles = [], [], [], 0, 0
    forest, merged = scene.graph.transforms, set[str]()
    places = _places(scene.graph)
    for node in scene.graph.nodes_geometry:
        place, name = places[node], forest.node_data[node]["geometry"]
        part = scene.geometry[name]
        if not len(getattr(part, "faces", ())):
            continue
        triangles += len(part.faces)
        if triangles > MOST_FACES:
            raise _too_many(file, MOST_FACES, "triangles")
        if name not in merged:
            _merge(file, part)
            merged.add(name)
        if count + len(part.vertices) > MOST_VERTICES:
            raise _too_many(file, MOST_VERTICES, "vertices")
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


def _places(graph: Any) -> dict[Any, NDArray[Any]]:
    """Pose of each node of a trimesh graph, (4, 4). Each from its parent's: `graph[node]` walks from the root, which took
    minutes where a small file has thousands of nodes in one chain."""
    forest, places, waiting = graph.transforms, {graph.base_frame: np.eye(4)}, [graph.base_frame]
    while waiting:
        parent = waiting.pop()
        for node in forest.children.get(parent, ()):
            places[node] = places[parent] @ forest.edge_data[parent, node]["matrix"]
            waiting.append(node)
    return places


def _merge(file: Path, part: Any) -> None:
    """Makes vertices at one place one: an STL has three a face. Raises SceneError."""
    finite = np.isfinite(part.vertices).all(axis=1)
    if not finite.all():
        vertex = int(np.flatnonzero(~finite)[0])
        raise SceneError(
            f"{file}: vertices must be finite, got {part.vertices[vertex].tolist()} as number {vertex}; export it again"
        )
    with np.errstate(all="ignore"):  # places beyond what it rounds to
        part.process()


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
    _check_beginning(file, status.st_size)
    return file


def _check_beginning(file: Path, size: int) -> None:
    """Refuses a file by what its beginning says of its size, so that a huge one is not parsed. Raises SceneError."""
    try:
        with file.open("rb") as opened:
            beginning = opened.read(BEGINNING_BYTES)
    except OSError as error:
        raise _cannot_open(file, error) from None
    suffix, faces, is_text = file.suffix.lower(), 0, False
    if suffix == ".stl":
        faces = int.from_bytes(beginning[STL_HEAD_BYTES - 4 : STL_HEAD_BYTES], "little")
        right = STL_HEAD_BYTES + STL_FACE_BYTES * faces
        is_text = size != right and beginning.lstrip().startswith(b"solid")
        if size != right and not is_text:
            raise SceneError(
                f"{file} is no whole STL: with {faces:,} triangles it would have {right:,} bytes, it has {size:,}; "
                "export it again"
            )
    elif suffix == ".ply":
        found = PLY_FACES.search(beginning)
        faces, is_text = int(found[1]) if found else 0, b"format ascii" in beginning
    if faces > MOST_FACES and not is_text:
        raise _too_many(file, MOST_FACES, "triangles")
    if (is_text or suffix == ".obj") and size > MOST_TEXT_BYTES:
        raise SceneError(
            f"a mesh file of text has at most {MOST_TEXT_BYTES >> 20} MiB, {file} has {size >> 20:,} MiB; "
            "simplify the mesh, or export it as binary STL"
        )


def _too_many(file: Path, most: int, what: str) -> SceneError:
    return SceneError(f"a mesh has at most {most:,} {what}, {file} has more; simplify the mesh")


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
    log = logging.getLogger("trimesh")
    if not log.handlers:  # without one, tracebacks of damaged files are printed
        log.addHandler(logging.NullHandler())
    return trimesh
