"""Sealed shared memory, asked through every door that Linux has."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import mmap
import os
import tempfile
from collections.abc import Callable

import numpy as np
import pytest

from tests.ipc.ring.segment_checks import is_owned
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring import memory
from twixt.ipc.system import linux_memory

SIZE = 1 << 20
libc = ctypes.CDLL(None, use_errno=True)


def inode_of(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def descriptors_of(inode: tuple[int, int]) -> list[int]:
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if inode_of(int(entry)) == inode:
                found.append(int(entry))
    return found


def is_mapped(inode: tuple[int, int]) -> bool:
    with open("/proc/self/maps") as maps:
        return any("memfd:twixt" in line and int(line.split()[4]) == inode[1] for line in maps)


def names_of_own() -> list[str]:
    """Where in /dev/shm this process's descriptors were opened; ends with "(deleted)" for those without a name now."""
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{entry}"))
    return [place for place in found if place.startswith(f"/dev/shm/{linux_memory.NAME}")]


def in_forked_child(verdict: Callable[[], str]) -> str:
    """What `verdict` says in a child made by fork; an end without a word is said too."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = verdict()
        except BaseException as error:
            said = f"raised {error!r}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        answer = answers.read().decode()
    _, status = os.waitpid(child, 0)
    return answer if status == 0 else f"{answer} (child ended with status {status})"


def test_what_the_writer_writes_the_reader_sees():
    made = memory.create(SIZE)
    mapped = memory.map_read_only(made.read_only_fd(), SIZE)
    made.view[:5] = b"twixt"
    assert bytes(mapped.view[:5]) == b"twixt"
    assert len(made.view) == len(mapped.view) == made.size == mapped.size == SIZE
    assert mapped.view.readonly
    with pytest.raises(TypeError):
        mapped.view[0] = 1


def test_all_of_the_memory_is_there_from_the_start():
    made = memory.create(SIZE)
    assert os.fstat(made.read_only_fd()).st_blocks * 512 >= SIZE
    assert not any(made.view)


class TestHandedOutDescriptor:
    """A viewer has the read-only descriptor, and tries."""

    @pytest.fixture
    def made(self):
        made = memory.create(SIZE)
        made.view[0] = 7
        yield made
        assert made.view[0] == 7
        made.view[0] = 8  # the writer's own mapping goes on
        made.close()

    @pytest.fixture(params=["as handed out", "opened again for writing"])
    def descriptor(self, made: memory.Memory, request: pytest.FixtureRequest):
        if request.param == "as handed out":
            yield made.read_only_fd()
        else:
            again = os.open(f"/proc/self/fd/{made.read_only_fd()}", os.O_RDWR)
            yield again
            os.close(again)

    def test_cannot_write(self, descriptor: int):
        with pytest.raises(OSError, match=r"Bad file descriptor|not permitted"):
            os.write(descriptor, b"x")

    def test_cannot_map_for_writing(self, descriptor: int):
        with pytest.raises(OSError, match=r"denied|not permitted"):
            mmap.mmap(descriptor, SIZE)

    def test_cannot_make_a_mapping_writable_later(self, descriptor: int):
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        address = libc.mmap(None, SIZE, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        assert address not in (None, ctypes.c_void_p(-1).value)
        assert libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(SIZE), mmap.PROT_READ | mmap.PROT_WRITE) == -1
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(SIZE))

    def test_cannot_change_the_size(self, descriptor: int):
        for size in (0, SIZE - 4096, SIZE + 4096):
            with pytest.raises(OSError, match=r"Invalid|not permitted"):
                os.ftruncate(descriptor, size)

    def test_cannot_punch_a_hole(self, descriptor: int):
        keep_size_and_punch = 0x01 | 0x02
        assert libc.fallocate(descriptor, keep_size_and_punch, ctypes.c_long(0), ctypes.c_long(4096)) == -1

    def test_cannot_take_the_seals_back(self, descriptor: int):
        import fcntl

        with pytest.raises(PermissionError):
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        assert linux_memory.is_sealed(descriptor)


def test_close_gives_back_mapping_and_every_descriptor():
    made = memory.create(SIZE)
    mapped = memory.map_read_only(made.read_only_fd(), SIZE)
    inode = inode_of(made.read_only_fd())
    assert len(descriptors_of(inode)) >= 2
    assert is_mapped(inode)
    mapped.close()
    made.close()
    made.close()
    assert descriptors_of(inode) == []
    assert not is_mapped(inode)


def test_a_view_that_outlives_close_stays_readable_and_takes_the_mapping_with_it():
    made = memory.create(SIZE)
    inode = inode_of(made.read_only_fd())
    made.view[9] = 9
    array = np.frombuffer(made.view, np.uint8)
    made.close()
    assert array[9] == 9
    assert is_mapped(inode)
    del array, made
    gc.collect()
    assert not is_mapped(inode)
    assert descriptors_of(inode) == []


def test_a_forked_child_keeps_no_memory_alive():
    made = memory.create(SIZE)
    mapped = memory.map_read_only(made.read_only_fd(), SIZE)
    closed = memory.create(SIZE)
    outliving = np.frombuffer(closed.view, np.uint8)
    inodes = [inode_of(owner.read_only_fd()) for owner in (made, closed)]
    closed.close()
    handed_on = os.dup(made.read_only_fd())
    array = np.frombuffer(made.view, np.uint8)

    def verdict() -> str:
        left = [descriptors_of(inode) for inode in inodes] + [is_mapped(inode) for inode in inodes]
        return f"{left} {made.closed} {mapped.closed}"

    assert in_forked_child(verdict) == "[[], [], False, False] True True"
    assert not made.closed
    assert len(array) == len(outliving) == SIZE  # and the parent's stay
    os.close(handed_on)
    for owner in (made, mapped):
        owner.close()


def test_a_forked_child_may_drop_everything_without_harm_to_its_later_descriptors():
    held = [memory.create(SIZE)]
    arrays = [np.frombuffer(held[0].view, np.uint8)]

    def verdict() -> str:
        opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]  # take the numbers just freed
        areas = [mmap.mmap(-1, SIZE) for _ in range(8)]  # and the addresses
        held[0].close()
        held.clear()
        arrays.clear()
        gc.collect()
        for area in areas:
            area[SIZE - 1] = 1
        return str(all(os.fstat(descriptor) for descriptor in opened))

    assert in_forked_child(verdict) == "True"


def test_a_forked_childs_copy_has_neither_bytes_nor_a_descriptor():
    made = memory.create(SIZE)
    assert in_forked_child(lambda: f"{len(made.view)} {is_owned(made)}") == "0 False"
    assert (len(made.view), is_owned(made)) == (SIZE, True)
    made.close()


def test_a_child_of_a_forked_child_can_make_memory_of_its_own():
    kept = memory.create(SIZE)

    def verdict() -> str:
        own = memory.create(4096)
        own.view[0] = 3
        inode = inode_of(own.read_only_fd())
        return in_forked_child(lambda: str(descriptors_of(inode))) + f" {own.view[0]}"

    assert in_forked_child(verdict) == "[] 3"
    kept.close()


def test_no_name_is_ever_left_behind():
    made = memory.create(SIZE)
    assert is_mapped(inode_of(made.read_only_fd())), "as a file without a name in any folder"
    assert names_of_own() == []
    made.close()


class TestMapReadOnlyRefuses:
    def test_a_size_that_is_not_the_memorys(self):
        made = memory.create(SIZE)
        for size in (SIZE - 1, SIZE + 4096, 0, -1, 1 << 70):
            with pytest.raises(
                TwixtError, match=f"^expected shared memory of {size} bytes, got a descriptor of {SIZE}$"
            ):
                memory.map_read_only(made.read_only_fd(), size)

    def test_memory_that_could_shrink_under_its_reader(self):
        import fcntl

        descriptor = os.memfd_create("plain", os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, SIZE)
        for seal in (0, fcntl.F_SEAL_GROW, linux_memory.FUTURE_WRITE, fcntl.F_SEAL_SHRINK):
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seal)
            assert not linux_memory.is_sealed(descriptor)
            with pytest.raises(
                TwixtError,
                match="^the memory from the simulation is not sealed, so it was not made by twixt; restart the simulation$",
            ):
                memory.map_read_only(descriptor, SIZE)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL)
        memory.map_read_only(descriptor, SIZE).close()
        os.close(descriptor)

    def test_a_file_a_pipe_and_a_closed_descriptor(self):
        reading, writing = os.pipe()
        with tempfile.TemporaryFile() as file:
            file.truncate(SIZE)
            with pytest.raises(TwixtError, match="not sealed"):
                memory.map_read_only(file.fileno(), SIZE)
            closed = file.fileno()
        for descriptor, says in ((reading, "expected shared memory of"), (closed, "cannot be mapped .*Bad file descr")):
            with pytest.raises(TwixtError, match=says):
                memory.map_read_only(descriptor, SIZE)
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    ("size", "says"),
    [
        (0, "^shared memory must be at least 1 byte, got 0$"),
        (-1, "^shared memory must be at least 1 byte, got -1$"),
        (1 << 50, "^shared memory for all bodies would need 1,073,741,824 MiB"),
        (1 << 70, "^shared memory for all bodies would need .* MiB"),
    ],
)
def test_memory_that_cannot_be_had_is_a_clean_error(size: int, says: str):
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(TwixtError, match=says):
        memory.create(size)
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_that_runs_out_while_it_is_made_is_a_clean_error(monkeypatch: pytest.MonkeyPatch):
    def run_out(descriptor: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", run_out)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(TwixtError, match=r"No space left.*; use fewer bodies, or Linux 5\.1 or newer with /proc$"):
        memory.create(SIZE)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_kernel_without_these_seals_is_a_clean_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linux_memory, "FUTURE_WRITE", 0x4000)  # a seal no kernel knows
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(TwixtError, match=r"Linux 5\.1"):
        memory.create(SIZE)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_viewers_mapping_has_no_descriptor_to_hand_on():
    made = memory.create(SIZE)
    mapped = memory.map_read_only(made.read_only_fd(), SIZE)
    made.close()
    for each in (mapped, made):
        assert not is_owned(each)
        with pytest.raises(TwixtError, match="^this memory has no .* closed or mapped by a viewer$"):
            each.read_only_fd()
    assert (made.closed, len(made.view), mapped.closed, len(mapped.view)) == (True, 0, False, SIZE)


def test_a_single_byte_is_memory_too():
    made = memory.create(1)
    assert len(memory.map_read_only(made.read_only_fd(), 1).view) == len(made.view) == 1
