from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from tests.publishing import publish
from twixt.ipc.ring import budget
from twixt.ipc.ring.layout import MAX_CAPACITY
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Host, open_listener
from twixt.ipc.snapshot import Head, new_bodies

MIB = 1 << 20


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A machine of 1000 MiB free, without control groups."""
    write(tmp_path / "proc", meminfo=f"MemTotal: 9 kB\nMemAvailable: {1000 * 1024} kB\n")
    write(tmp_path / "proc/self", cgroup="")
    return tmp_path


def free_mib(system: Path) -> float | None:
    free = budget.free_bytes(str(system / "proc"), str(system / "groups"))
    return None if free is None else free / MIB


def test_without_groups_it_is_what_the_machine_has(system: Path) -> None:
    assert free_mib(system) == 1000


def test_a_system_that_says_nothing_is_not_guessed_at(tmp_path: Path) -> None:
    assert free_mib(tmp_path) is None


@pytest.mark.parametrize(("limit", "left"), [("max", 1000), (str(300 * MIB), 210), (str(2000 * MIB), 1000)])
def test_a_group_of_version_2_leaves_its_limit_but_for_what_cannot_be_thrown_out(
    system: Path, limit: str, left: float
) -> None:
    (system / "proc/self/cgroup").write_text("0::/X/user:X\n")
    stat = f"anon 5\ninactive_file {10 * MIB}\n"
    write(system / "groups/X/user:X", memory__max=limit, memory__current=str(100 * MIB), memory__stat=stat)
    assert free_mib(system) == left


def test_groups_around_ones_own_count_and_the_tightest_of_them_holds(system: Path) -> None:
    (system / "proc/self/cgroup").write_text("0::/user/me\n")
    write(system / "groups/user/me", memory__max=str(500 * MIB), memory__current="0")
    write(system / "groups/user", memory__max=str(80 * MIB), memory__current=str(30 * MIB))
    assert free_mib(system) == 50


def test_a_group_of_version_1_is_known_and_one_that_is_over_its_limit_leaves_nothing(system: Path) -> None:
    (system / "proc/self/cgroup").write_text("0::/\n7:cpu:/x\n4:memory:/job\n")
    folder = system / "groups/memory/job"
    write(folder, memory__limit_in_bytes=str(64 * MIB), memory__usage_in_bytes=str(24 * MIB))
    assert free_mib(system) == 40
    write(folder, memory__usage_in_bytes=str(70 * MIB))
    assert free_mib(system) == 0


def test_in_a_container_the_groups_of_ones_own_at_the_top_count(system: Path) -> None:
    (system / "proc/self/cgroup").write_text("0::/not/seen/in/here\n")
    write(system / "groups", memory__max=str(70 * MIB), memory__current="0")
    assert free_mib(system) == 70


@pytest.mark.parametrize("path", [b"", b"/", b"/\xff\xfe"])
def test_whatever_path_is_said_the_group_at_the_top_counts(system: Path, path: bytes) -> None:
    (system / "proc/self/cgroup").write_bytes(b"0::" + path + b"\n")
    write(system / "groups", memory__max=str(70 * MIB), memory__current="0")
    assert free_mib(system) == 70


@pytest.mark.parametrize("name", ["job ", "café", os.fsdecode(b"\xff\xfe")])
def test_a_group_is_found_by_its_whole_name_whatever_letters_are_in_it(system: Path, name: str) -> None:
    (system / "proc/self/cgroup").write_bytes(os.fsencode(f"0::/{name}\n"))
    write(system / "groups" / name, memory__max=str(70 * MIB), memory__current="0")
    assert free_mib(system) == 70


def test_linux_is_asked_where_it_keeps_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/proc/meminfo": f"MemAvailable: {1000 * 1024} kB\n",
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/memory.max": str(50 * MIB),
        "/sys/fs/cgroup/memory.current": str(20 * MIB),
        "/sys/fs/cgroup/memory.stat": "",
    }

    def linux(path: str, **_: str) -> io.StringIO:
        return io.StringIO(files[os.path.normpath(path)])

    monkeypatch.setattr(budget, "open", linux, raising=False)
    assert budget.free_bytes() == 30 * MIB


def test_what_does_not_fit_is_refused_with_both_sizes_and_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "free_bytes", lambda: 100 * MIB)
    budget.require(100 * MIB, "this")
    with pytest.raises(budget.NoRoom, match="this would need 101 MiB, but 100 MiB are free; use fewer bodies"):
        budget.require(101 * MIB, "this")
    with pytest.raises(budget.NoRoom, match="1,000,000 bodies would need 305 MiB"):
        budget.require_bodies(1_000_000, 64)
    with pytest.raises(budget.NoRoom, match="10,000 bodies would need"):
        budget.require_bodies(10_000, 64, {f"c{i}": ("<f8", 64) for i in range(20)})


def test_more_bodies_than_a_segment_can_hold_are_refused_whatever_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "free_bytes", lambda: 1 << 60)
    budget.require_bodies(MAX_CAPACITY, 64)
    with pytest.raises(
        budget.NoRoom, match="at most 16,777,216 bodies, got 1,000,000,000, which would need 305,175 MiB"
    ):
        budget.require_bodies(10**9, 64)


def test_a_ring_grows_by_what_it_must_where_there_is_no_room_for_more(
    monkeypatch: pytest.MonkeyPatch, names_folder: Path, nothing_left: Any
) -> None:
    host = Host(open_listener("lab"), Scene([Sphere()]), 100_000)
    try:
        bodies = new_bodies(120_000)
        need = 16 * 64 * 120_000
        monkeypatch.setattr(budget, "free_bytes", lambda: need + MIB)
        publish(host.ring, Head(tick=1), bodies)
        assert host.ring.await_room(30)
        assert host.ring.capacity == 120_000
        with pytest.raises(budget.NoRoom):
            publish(host.ring, Head(tick=2), new_bodies(140_000))
        with pytest.raises(budget.NoRoom):
            host.ring.reserve(2 * 120_000)
        publish(host.ring, Head(tick=3), bodies)
        newest = host.ring.newest()
        assert newest is not None
        assert newest.head.tick == 3
        del newest
    finally:
        host.end()
