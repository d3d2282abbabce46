"""The cache of mesh files: entries on disk, their bound, damage, two processes at once, and a user without a home."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from twixt.ipc.scene import mesh_files
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.mesh_files import MeshArrays, MeshCache, cache_folder

PARTS = 40


def arrays_of(seed: int, faces: int = 50, has_normals: bool = False) -> MeshArrays:
    made = np.random.default_rng(seed)
    numbers = made.normal(size=(20, 3))
    return MeshArrays(numbers, made.integers(0, 20, (faces, 3)), numbers[::-1] if has_normals else None)


def same(kept: MeshArrays | None, written: MeshArrays) -> bool:
    return kept is not None and all(
        (one is None) == (other is None) and (one is None or np.array_equal(one, other))
        for one, other in zip(kept, written, strict=True)
    )


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(mesh_files.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "meshes"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that were parsed."""
    pytest.importorskip("trimesh", reason="make setup")
    files: list[Path] = []
    parse: Callable[[Path], MeshArrays] = mesh_files._parsed
    monkeypatch.setattr(mesh_files, "_parsed", lambda file: (files.append(file), parse(file))[1])
    return files


def tetrahedron(file: Path, height: float = 3.0) -> Path:
    corners = f"v 0 0 0\nv 0.1 0 0\nv 0 2 0\nv 0 0 {height}\n"
    file.write_text(corners + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    return file


@pytest.mark.parametrize("has_normals", [False, True])
def test_what_is_read_is_what_was_written_to_the_last_bit(tmp_path: Path, has_normals: bool) -> None:
    cache, written = MeshCache(tmp_path), arrays_of(1, has_normals=has_normals)
    assert cache.read("one") is None
    cache.write("one", written)
    single = MeshArrays(written.vertices.astype(np.float32), written.faces, None)
    cache.write("two", single)
    assert same(cache.read("one"), written)
    assert same(cache.read("two"), single)
    double, half = (path.stat().st_size for path in entries(tmp_path))
    assert half == double - 20 * 3 * (4 + 8 * has_normals)  # single precision takes half, where nothing is lost


def test_every_damaged_byte_and_every_length_of_an_entry_is_noticed_and_the_entry_is_replaced(tmp_path: Path) -> None:
    cache, written = MeshCache(tmp_path), arrays_of(2)
    cache.write("one", written)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    for place in range(len(whole)):
        entry.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        assert cache.read("one") is None
        entry.write_bytes(whole[:place])
        assert cache.read("one") is None
    cache.write("one", written)
    assert same(cache.read("one"), written)


def test_entries_used_longest_ago_are_deleted_beyond_the_bound_with_what_killed_writers_left(tmp_path: Path) -> None:
    size = len(mesh_files._packed(arrays_of(0)))
    cache = MeshCache(tmp_path, most_bytes=3 * size)
    left = tmp_path / f".killed{mesh_files.SUFFIX}"
    others = tmp_path / "notes.txt"
    others.write_text("of the user")
    for age, name in enumerate("abc"):
        cache.write(name, arrays_of(0))
        os.utime(cache._path(tmp_path, name), ns=(age, age))
    left.write_bytes(b"x")
    os.utime(left, ns=(0, 0))
    assert cache.read("a") is not None  # now the one used last
    cache.write("d", arrays_of(0))
    assert [name for name in "abcd" if cache.read(name)] == ["a", "c", "d"]
    assert not left.exists()
    assert others.exists()
    cache.write("huge", arrays_of(0, faces=1000))
    assert [name for name in "abcd" if cache.read(name)] == ["a", "c", "d"]


@pytest.mark.parametrize("in_the_way", ["a file", "a read-only folder", "nothing"])
def test_a_folder_that_cannot_be_used_means_no_cache_and_no_error(tmp_path: Path, in_the_way: str) -> None:
    place = tmp_path / "place"
    if in_the_way == "a file":
        place.write_text("")
    elif in_the_way == "a read-only folder":
        place = Path("/proc/twixt")
    cache = MeshCache(None if in_the_way == "nothing" else place / "meshes")
    cache.write("one", arrays_of(3))
    assert cache.read("one") is None


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"XDG_CACHE_HOME": "/caches"}, "linux", "/caches/twixt/meshes"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "linux", "/home/me/.cache/twixt/meshes"),
        ({"HOME": "/home/me"}, "linux", "/home/me/.cache/twixt/meshes"),
        ({"HOME": "/Users/me"}, "darwin", "/Users/me/Library/Caches/twixt/meshes"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/twixt/Cache/meshes"),
        ({"TWIXT_CACHE": "/mine", "XDG_CACHE_HOME": "/caches"}, "linux", "/mine/meshes"),
        ({"TWIXT_CACHE": "~/mine", "HOME": "/home/me"}, "linux", "/home/me/mine/meshes"),
        ({"TWIXT_CACHE": "Off", "HOME": "/home/me"}, "linux", None),
    ],
)
def test_the_folder_follows_the_platforms_rule_unless_it_is_chosen(
    environ: dict[str, str], platform: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", environ.get("HOME", "/nowhere"))
    assert cache_folder(environ, platform) == (None if expected is None else Path(expected))


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder({}, "linux") is None


def test_a_file_is_parsed_once_whatever_its_name_and_scale(folder: Path, tmp_path: Path, parsed: list[Path]) -> None:
    first = tetrahedron(tmp_path / "one.obj")
    mesh = Mesh.from_file(first)
    other = Mesh.from_file(tetrahedron(tmp_path / "other.OBJ"), scale=0.3, normals="smooth")
    assert parsed == [first]
    assert len(entries(folder)) == 1
    assert len(other.vertices) == len(mesh.vertices)
    for entry in entries(folder):
        entry.unlink()
    again = Mesh.from_file(tetrahedron(tmp_path / "third.obj"), scale=0.3, normals="smooth", color=(1, 0, 0))
    assert again.digest == other.digest  # by way of the cache or not: the same bytes
    assert len(parsed) == 1  # it is the mesh above, in another colour


def test_a_changed_file_is_parsed_again(folder: Path, tmp_path: Path, parsed: list[Path]) -> None:
    file = tmp_path / "part.obj"
    for height in (3.0, 4.0):
        assert Mesh.from_file(tetrahedron(file, height)).vertices[:, 2].max() == height
    assert len(parsed) == len(entries(folder)) == 2


def test_a_file_used_twice_in_a_run_is_one_mesh_for_as_long_as_it_is_used(
    tmp_path: Path, parsed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(mesh_files.VARIABLE, mesh_files.OFF)
    file = tetrahedron(tmp_path / "part.obj")
    red, green = (Mesh.from_file(file, color=color) for color in ((1, 0, 0), (0, 1, 0)))
    assert red.vertices is green.vertices
    assert (red.color, green.color) == ((1, 0, 0), (0, 1, 0))
    assert Mesh.from_file(file, scale=2).reach == 2 * red.reach
    assert Mesh.from_file(file, normals=red.vertices + 1).normals is not None
    assert len(parsed) == 3
    del red, green
    Mesh.from_file(file)
    assert len(parsed) == 4


def test_a_glb_with_content_in_other_files_is_parsed_each_time(
    folder: Path, tmp_path: Path, parsed: list[Path]
) -> None:
    import trimesh

    whole = trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]).export(file_type="glb")
    length = int.from_bytes(whole[12:16], "little")
    text, binary = whole[20 : 20 + length], whole[28 + length :]
    named = text.rstrip().replace(b'"buffers":[{', b'"buffers":[{"uri":"rest.bin",')
    named += b" " * (-len(named) % 4)
    head = b"glTF" + (2).to_bytes(4, "little") + (20 + len(named)).to_bytes(4, "little")
    (tmp_path / "part.glb").write_bytes(head + len(named).to_bytes(4, "little") + b"JSON" + named)
    (tmp_path / "rest.bin").write_bytes(binary)
    assert len(Mesh.from_file(tmp_path / "part.glb").faces) == 1
    Mesh.from_file(tmp_path / "part.glb")
    assert len(parsed) == 2
    assert not folder.exists()


READ = "import sys\nfrom twixt import Mesh\nmesh = Mesh.from_file(sys.argv[1])\n"


def child(code: str, file: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", READ + code, str(file)], stdout=subprocess.PIPE, text=True)


def test_trimesh_is_not_imported_for_a_file_in_the_cache(folder: Path, tmp_path: Path, parsed: list[Path]) -> None:
    file = tetrahedron(tmp_path / "part.obj")
    said = [child("print('trimesh' in sys.modules, mesh.digest.hex())", file).communicate()[0] for _ in range(2)]
    imported, digests = zip(*(line.split() for line in said), strict=True)
    assert imported == ("True", "False")
    assert set(digests) == {Mesh.from_file(file).digest.hex()}
    assert not parsed


def test_processes_that_write_and_evict_at_once_read_whole_entries_or_none(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
import numpy as np
from twixt.ipc.scene.mesh_files import MeshArrays, MeshCache
cache = MeshCache(Path(sys.argv[1]), most_bytes=12_000)
found = 0
for turn in range(300):
    for part in range({PARTS}):
        arrays = cache.read(str(part))
        found += arrays is not None
        assert arrays is None or (arrays.faces == part).all() and (arrays.vertices == part).all(), part
    part = turn % {PARTS}
    cache.write(str(part), MeshArrays(np.full((30, 3), part, float), np.full((50, 3), part), None))
print(found)
"""
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate()[0] for process in children]
    assert [process.returncode for process in children] == [0, 0, 0]
    assert all(int(output) for output in outputs)
    assert sum(path.stat().st_size for path in entries(tmp_path)) <= 12_000


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        ((1, 0, True, b"f"), 12),  # normals that are not there
        ((1, 0, False, b"f"), 0),
        ((1, 0, False, b"x"), 12),
        ((1, 1 << 62, False, b"f"), 12),
        ((0, 0, False, b"f"), 0),
        ((1 << 63, 0, False, b"d"), 24),
    ],
)
def test_an_entry_of_a_right_digest_and_a_wrong_head_counts_as_missing(
    tmp_path: Path, head: tuple[int, int, bool, bytes], rest: int
) -> None:
    cache = MeshCache(tmp_path)
    cache.write("one", arrays_of(1))
    (entry,) = entries(tmp_path)
    content = mesh_files.HEAD.pack(*head) + bytes(rest)
    entry.write_bytes(mesh_files._cache_digest(content) + content)
    assert cache.read("one") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name")
def test_an_entry_that_is_a_pipe_or_too_large_counts_as_missing_and_is_not_read(tmp_path: Path) -> None:
    cache, written = MeshCache(tmp_path, most_bytes=4000), arrays_of(1)
    cache.write("one", written)
    (entry,) = entries(tmp_path)
    with entry.open("r+b") as opened:
        opened.truncate(1 << 40)  # a hole
    assert cache.read("one") is None
    entry.unlink()
    os.mkfifo(entry)
    assert cache.read("one") is None
    cache.write("one", written)
    assert same(cache.read("one"), written)
