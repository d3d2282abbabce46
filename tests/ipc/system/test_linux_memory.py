"""Anonymous memory of Linux: made, mapped, populated."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from twixt.ipc.system import linux_memory

SIZE = 1 << 20


def resident_bytes(descriptor: int) -> int:
    """Of the mappings of this memory, by the page tables of this process."""
    inode, found = str(os.fstat(descriptor).st_ino), 0
    for entry in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE):
        if "memfd:twixt" in entry and inode in entry.splitlines()[0].split():
            found += int(re.search(r"^Rss: +(\d+) kB", entry, re.MULTILINE)[1]) << 10
    return found


@pytest.mark.parametrize("is_old", [False, True], ids=["Linux 5.14 and later", "an older Linux"])
def test_populated_memory_is_in_the_page_tables_whole(monkeypatch: pytest.MonkeyPatch, is_old: bool) -> None:
    if is_old:
        monkeypatch.setattr(linux_memory, "MADV_POPULATE_READ", 12345)
    descriptor = linux_memory.new_memory(SIZE)
    os.posix_fallocate(descriptor, 0, SIZE)
    mapped = linux_memory.map_shared(descriptor, SIZE, linux_memory.READS)
    before = resident_bytes(descriptor)
    linux_memory.populate(mapped)
    assert (before, resident_bytes(descriptor)) == (0, SIZE)
    mapped.close()
    os.close(descriptor)


def test_memory_that_cannot_be_made_leaves_nothing_open() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="."):
        linux_memory.new_memory(-1)
    assert set(os.listdir("/proc/self/fd")) == before
