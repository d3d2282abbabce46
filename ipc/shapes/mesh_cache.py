"""Cache on disk of the arrays of mesh files, so that a file that was read once is not parsed again.

The one idea: an entry is named by the digest of the mesh file's content, so it never becomes stale; moving or touching
a file changes nothing. It begins with a digest of its own content: a damaged entry counts as missing and is replaced.

Always: the cache is a help and no need. A folder that cannot be read or written only means that files are parsed; no
error leaves this module. Entries appear whole, by a rename, so that any number of processes may share a folder. After
each write the entries used longest ago are deleted until all take at most `MOST_BYTES`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The folder, or OFF for no cache; unset: the platform's folder for caches.
VARIABLE, OFF = "TWIXT_CACHE", "off"
# All entries together. One of a mesh with 100,000 faces takes 2 MB.
MOST_BYTES = 512 << 20
# Raised with every change of an entry's content, also of the way in which files are read into arrays.
FORMAT = 2
SUFFIX = ".mesh"
DIGEST_BYTES = 16
HEAD = struct.Struct("<QQ?c6x")  # vertices, faces, has normals, code of the type of coordinates: f or d
COORDINATE_BYTES = {b"f": 4, b"d": 8}


class MeshArrays(NamedTuple):
    """A file's mesh, all its parts as one: (v, 3) numbers, (f, 3) indices. normals: (v, 3), or None."""

    vertices: NDArray[Any]
    faces: NDArray[Any]
    normals: NDArray[Any] | None


class MeshCache:
    """Entries in `folder`; None: no cache."""

    def __init__(self, folder: Path | None, most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._most_bytes = folder, most_bytes

    def read(self, key: str) -> MeshArrays | None:
        """The arrays written under `key`; None where there are none that can be read."""
        if self._folder is None:
            return None
        path = self._path(self._folder, key)
        try:
            arrays = _unpacked(self._content(path))
        except (OSError, MemoryError, ValueError):
            return None
        if arrays is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # its last use
        return arrays

    def write(self, key: str, arrays: MeshArrays) -> None:
        """Keep the arrays under `key`, unless they alone are more than the cache may hold."""
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
        """The bytes of an entry, none where that is no file or a larger one than any entry. Raises OSError."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > self._most_bytes:
            return b""
        return path.read_bytes()

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / f"{key}-{FORMAT}{SUFFIX}"

    def _delete_oldest(self, folder: Path) -> None:
        """Delete the entries used longest ago, and what writers that were killed left, down to the bound."""
        found = list[tuple[int, int, str]]()
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):  # another process deleted it
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
    """The cache of this user's environment."""
    return MeshCache(cache_folder(os.environ))


def cache_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """Folder of the cache; None where it is switched off or the user has no home."""
    chosen = environ.get(VARIABLE, "")
    if chosen.lower() == OFF:
        return None
    try:
        return (Path(chosen).expanduser() if chosen else _platform_folder(environ, platform)) / "meshes"
    except RuntimeError:  # no home
        return None


def _platform_folder(environ: Mapping[str, str], platform: str) -> Path:
    """The platform's folder for caches of this program. Raises RuntimeError without a home."""
    if platform == "win32":
        base = environ.get("LOCALAPPDATA", "")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "twixt" / "Cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "twixt"
    base = environ.get("XDG_CACHE_HOME", "")
    # XDG Base Directory Specification: a relative path is to be ignored.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "twixt"


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name and rename it. Raises OSError, and leaves nothing then."""
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
    parts = [head, arrays.faces.astype("<u4").tobytes(), *(array.astype(dtype).tobytes() for array in numbers)]
    content = b"".join(parts)
    return _digest(content) + content


def _smallest_type(numbers: list[NDArray[Any]]) -> np.dtype[Any]:
    """Type that keeps every one of the numbers: files mostly hold single precision, which parsers widen."""
    with np.errstate(over="ignore"):
        fits = all(np.array_equal(array.astype("<f4"), array, equal_nan=True) for array in numbers)
    return np.dtype("<f4" if fits else "<f8")


def _unpacked(entry: bytes) -> MeshArrays | None:
    """The arrays of an entry, coordinates as float64; None for a damaged one."""
    content = memoryview(entry)[DIGEST_BYTES:]
    if entry[:DIGEST_BYTES] != _digest(content) or len(content) < HEAD.size:
        return None
    vertices, faces, has_normals, code = HEAD.unpack_from(content)
    place = HEAD.size + 12 * faces
    expected = place + 3 * vertices * (1 + has_normals) * COORDINATE_BYTES.get(code, 0)
    if code not in COORDINATE_BYTES or not vertices or len(content) != expected:
        return None
    rows = np.frombuffer(content, f"<{code.decode()}", offset=place).astype(np.float64).reshape(-1, vertices, 3)
    indices = np.frombuffer(content, "<u4", 3 * faces, HEAD.size).reshape(faces, 3)
    return MeshArrays(rows[0], indices, rows[1] if has_normals else None)


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
