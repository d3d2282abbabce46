"""This module reads meshes from STL, OBJ, GLB and PLY files, and caches their arrays on disk.

A file is identified by the digest of its content. Files that are not in the cache need the library trimesh.

Always: the arrays of a file are checked like the arrays of any mesh. An error names the file. Coordinates are not
converted. For example, y points up in a glTF file. Lengths are in the file's unit.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import struct
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import install_command, is_utf8
from twixt.ipc.scene.checks import SceneError, SceneTypeError

SUFFIXES = (".stl", ".obj", ".glb", ".ply")
# Largest numbers of vertices and faces in one mesh.
MOST_VERTICES = 2_000_000
MOST_FACES = 4_000_000
# Size of the largest file that is read, in bytes. An STL with MOST_FACES has 200 MB. The parser of a text file takes
# more than twelve times the file's size in memory, so the limit for text files is lower.
MOST_FILE_BYTES, MOST_TEXT_BYTES = 1 << 30, 256 << 20
# A binary STL has a head, which ends with the number of triangles, and then STL_FACE_BYTES for each triangle.
STL_HEAD_BYTES, STL_FACE_BYTES = 84, 50
PLY_FACES = re.compile(rb"^element\s+face\s+(\d{1,18})\s*$", re.MULTILINE)
# The size of a mesh is searched in this number of bytes at the beginning of its file.
BEGINNING_BYTES = 4096
# The JSON in a GLB file may refer to other files. The digest does not cover these other files.
NAMES_OTHERS = b'"uri"'


class MeshFile:
    """A mesh file. digest: digest of its content and suffix. Raises SceneError for a file that must not be read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _checked(path)
        self.digest = _digest(self.path)

    def arrays(self) -> MeshArrays:
        """Returns vertices, faces and normals of the file, from the cache if possible. Raises SceneError."""
        cache = mesh_cache()
        kept = cache.read(self.digest)
        if kept is not None:
            return kept
        arrays = _parsed(self.path)
        # The arrays are not cached if the file was changed during parsing, or if the file refers to other files.
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
    except Exception as error:  # parsers raise any exception for a damaged file
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SceneError(f"{file} cannot be read as a mesh ({reason}); export it again, as STL or OBJ") from error
    if arrays is None:
        raise SceneError(f"{file} has no triangles; export its surfaces as triangles")
    return arrays


def _joined(file: Path, scene: Any) -> MeshArrays | None:
    """Returns all geometries of a trimesh scene, each at its pose; None if there is no triangle. Raises SceneError."""
    vertices, faces, normals, count, triangles = [], [], [], 0, 0
    forest, merged = scene.graph.transforms, set[str]()
    places = _places(scene.graph)
    for node in scene.graph.nodes_geometry:
        place, name = places[node], forest.node_data[node]["geometry"]
        geometry = scene.geometry[name]
        if not len(getattr(geometry, "faces", ())):
            continue
        triangles += len(geometry.faces)
        if triangles > MOST_FACES:
            raise _too_many(file, MOST_FACES, "triangles")
        if name not in merged:
            _merge(file, geometry)
            merged.add(name)
        if count + len(geometry.vertices) > MOST_VERTICES:
            raise _too_many(file, MOST_VERTICES, "vertices")
        turn = place[:3, :3]
        # trimesh's cache has normals only if the file has normals. trimesh's property would compute missing normals.
        if "vertex_normals" in geometry._cache:
            normals.append(geometry.vertex_normals @ np.linalg.inv(turn))
        vertices.append(geometry.vertices @ turn.T + place[:3, 3])
        faces.append((geometry.faces if np.linalg.det(turn) > 0 else geometry.faces[:, ::-1]) + count)
        count += len(geometry.vertices)
    if not faces:
        return None
    has_normals = len(normals) == len(faces)
    return MeshArrays(np.concatenate(vertices), np.concatenate(faces), np.concatenate(normals) if has_normals else None)


def _places(graph: Any) -> dict[Any, NDArray[Any]]:
    """Returns the pose (4, 4) of each node of a trimesh graph, computed from the parent's pose. `graph[node]` is
    slower: it starts at the root each time, and takes minutes for a chain of thousands of nodes."""
    forest, places, waiting = graph.transforms, {graph.base_frame: np.eye(4)}, [graph.base_frame]
    while waiting:
        parent = waiting.pop()
        for node in forest.children.get(parent, ()):
            places[node] = places[parent] @ forest.edge_data[parent, node]["matrix"]
            waiting.append(node)
    return places


def _merge(file: Path, geometry: Any) -> None:
    """Merges vertices at equal positions. (An STL has three separate vertices per face.) Raises SceneError."""
    finite = np.isfinite(geometry.vertices).all(axis=1)
    if not finite.all():
        vertex = int(np.flatnonzero(~finite)[0])
        raise SceneError(
            f"{file}: vertices must be finite, got {geometry.vertices[vertex].tolist()} as number {vertex}; export it again"
        )
    with np.errstate(all="ignore"):  # some positions are too large to be rounded
        geometry.process()


def _checked(path: str | os.PathLike[str]) -> Path:
    """Returns `path` as a Path. Raises SceneError if the file must not be read."""
    try:
        file = Path(path)
    except TypeError:
        raise SceneTypeError(f"Mesh.from_file takes the path of a file, got {path!r}") from None
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
    """Raises SceneError, before parsing, for a mesh or text that is too large, and for an incomplete STL."""
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
                f"{file} is not a complete STL: with {faces:,} triangles it would have {right:,} bytes, it has {size:,}; "
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
    """Returns the digest of a file's content and suffix, as text. Raises SceneError."""
    content = hashlib.blake2b(file.suffix.lower().encode(), digest_size=16)
    try:
        with file.open("rb") as opened:
            hashlib.file_digest(opened, lambda: content)
    except OSError as error:
        raise _cannot_open(file, error) from None
    return content.hexdigest()


def _names_others(file: Path) -> bool:
    """True for a GLB file that refers to other files for parts of its content."""
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
            f"{file} needs trimesh to be read, which is not installed; install it with: {install_command('trimesh')}"
        ) from None
    log = logging.getLogger("trimesh")
    if not log.handlers:  # without a handler, logging prints tracebacks for damaged files
        log.addHandler(logging.NullHandler())
    return trimesh


# A cache on disk stores the arrays of mesh files.
#
# An entry's name is the digest of the mesh file's content. So an entry is never outdated, and is also found after the
# mesh file was moved. An entry begins with a digest of its own content, so a damaged entry is detected and replaced.
#
# Always: if the folder cannot be used, files are parsed, and no error is raised. An entry is written under another
# name and renamed, so that processes may share a folder. After a write, the least recently used entries beyond
# `MOST_BYTES` are deleted.

# VARIABLE: environment variable with the cache's folder. OFF: value of VARIABLE that switches the cache off.
VARIABLE, OFF = "TWIXT_CACHE", "off"
# Largest number of bytes of all entries together. The entry of a mesh with 100,000 faces takes 2 MB.
MOST_BYTES = 512 << 20
# Version of the entries. Increase it after a change of an entry's format, or of the conversion of files into arrays.
FORMAT = 2
SUFFIX = ".mesh"
DIGEST_BYTES = 16
HEAD = struct.Struct("<QQ?c6x")  # numbers of vertices and faces, True for normals, type of coordinates: f or d
COORDINATE_BYTES = {b"f": 4, b"d": 8}


class MeshArrays(NamedTuple):
    """All geometries of a file as one mesh. vertices: (v, 3). faces: (f, 3). normals: (v, 3), or None."""

    vertices: NDArray[Any]
    faces: NDArray[Any]
    normals: NDArray[Any] | None


class MeshCache:
    """Cache in `folder`. If `folder` is None, nothing is cached. most_bytes: limit on the size of all entries."""

    def __init__(self, folder: Path | None, most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._most_bytes = folder, most_bytes

    def read(self, key: str) -> MeshArrays | None:
        """Returns the arrays stored under `key`; None if there is no such entry, or if the entry cannot be read."""
        if self._folder is None:
            return None
        path = self._path(self._folder, key)
        try:
            arrays = _unpacked(self._content(path))
        except (OSError, MemoryError, ValueError):
            return None
        if arrays is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # the time of the file records the entry's last use
        return arrays

    def write(self, key: str, arrays: MeshArrays) -> None:
        """Stores the arrays under `key`. Stores nothing if this entry alone exceeds the cache's limit."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError, MemoryError):
            entry = _packed(arrays)
            if len(entry) > self._most_bytes:
                return
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_whole(self._path(self._folder, key), entry)
            self._delete_oldest(self._folder)

    def _content(self, path: Path) -> bytes:
        """Returns an entry; no bytes if `path` is no file, or is larger than an entry can be. Raises OSError."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._most_bytes:
            return b""
        return path.read_bytes()

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / f"{key}-{FORMAT}{SUFFIX}"

    def _delete_oldest(self, folder: Path) -> None:
        """Deletes the least recently used entries, and the files of killed writers, until the limit is met."""
        found = list[tuple[int, int, str]]()
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):  # another process has deleted the entry
                if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, entry.path))
        excess = sum(size for _, size, _ in found) - self._most_bytes
        for _, size, path in sorted(found):
            if excess <= 0:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            excess -= size


def mesh_cache() -> MeshCache:
    """The cache in the folder that this process' environment variables determine."""
    return MeshCache(cache_folder(os.environ))


def cache_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Returns the folder of the cache; None if the cache is switched off, or if the user has no home folder."""
    chosen = environ.get(VARIABLE, "")
    if chosen.lower() == OFF:
        return None
    try:
        return (Path(chosen).expanduser() if chosen else _platform_folder(environ, platform)) / "meshes"
    except RuntimeError:  # the user has no home folder
        return None


def _platform_folder(environ: Mapping[str, str], platform: str) -> Path:
    """Returns the platform's folder for caches of this program. Raises RuntimeError if the user has no home folder."""
    if platform == "win32":
        base = environ.get("LOCALAPPDATA", "")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "twixt" / "Cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "twixt"
    base = environ.get("XDG_CACHE_HOME", "")
    # The XDG Base Directory Specification requires that a relative path is ignored.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "twixt"


def _write_whole(path: Path, content: bytes) -> None:
    """Writes a file under another name and then renames it. On an error raises OSError and leaves no file."""
    descriptor, temporary = tempfile.mkstemp(suffix=SUFFIX, prefix=".", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _packed(arrays: MeshArrays) -> bytes:
    numbers = [array for array in (arrays.vertices, arrays.normals) if array is not None]
    dtype = _smallest_type(numbers)
    head = HEAD.pack(len(arrays.vertices), len(arrays.faces), arrays.normals is not None, dtype.char.encode())
    blocks = [head, arrays.faces.astype("<u4").tobytes(), *(array.astype(dtype).tobytes() for array in numbers)]
    content = b"".join(blocks)
    return _cache_digest(content) + content


def _smallest_type(numbers: list[NDArray[Any]]) -> np.dtype[Any]:
    """Returns float32 if it represents all numbers exactly, else float64. Most files have float32 numbers."""
    with np.errstate(over="ignore"):
        fits = all(np.array_equal(array.astype("<f4"), array, equal_nan=True) for array in numbers)
    return np.dtype("<f4" if fits else "<f8")


def _unpacked(entry: bytes) -> MeshArrays | None:
    """Returns the arrays of an entry, with coordinates as float64. Returns None for a damaged entry."""
    content = memoryview(entry)[DIGEST_BYTES:]
    if entry[:DIGEST_BYTES] != _cache_digest(content) or len(content) < HEAD.size:
        return None
    vertices, faces, has_normals, code = HEAD.unpack_from(content)
    place = HEAD.size + 12 * faces
    expected = place + 3 * vertices * (1 + has_normals) * COORDINATE_BYTES.get(code, 0)
    if code not in COORDINATE_BYTES or not vertices or len(content) != expected:
        return None
    rows = np.frombuffer(content, f"<{code.decode()}", offset=place).astype(np.float64).reshape(-1, vertices, 3)
    indices = np.frombuffer(content, "<u4", 3 * faces, HEAD.size).reshape(faces, 3)
    return MeshArrays(rows[0], indices, rows[1] if has_normals else None)


def _cache_digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
