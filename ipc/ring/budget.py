"""This module checks, before an allocation, that enough memory is available.

Linux may grant more memory than exists (overcommit). When a program uses that memory, the kernel kills a process, and
not always the process that allocated the memory. So each large request is checked first. The available memory is the
smallest of these numbers: the free memory of the machine, and the free memory of each control group of this process.
Systems other than Linux do not report the available memory; on them all requests are allowed.
Not here: the allocation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.layout import MAX_CAPACITY, MIN_SLOTS, ColumnForm, Layout
from twixt.ipc.snapshot import BODY

# Requests for fewer bytes are not checked, because a check takes 0.1 ms.
SMALL_BYTES = 16 << 20
# For each version of control groups: file with the limit, file with the usage, and name of a line in memory.stat. This
# line gives the size of the cache that the kernel can reclaim.
GROUP_FILES = {
    2: ("memory.max", "memory.current", "inactive_file"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


class NoRoom(TwixtError):
    """A request for more memory than is available, or for more bodies than a segment can hold."""


def require(size: int, what: str) -> None:
    """Raises NoRoom unless `size` bytes are available. what: purpose of the memory, such as "100 bodies"; the error
    text names it."""
    free = free_bytes() if size >= SMALL_BYTES else None
    if free is not None and size > free:
        raise NoRoom(f"{what} would need {mib(size)}, but {mib(free)} are free; use fewer bodies")


def require_bodies(count: int, own_bytes: int, columns: Mapping[str, ColumnForm] | None = None) -> None:
    """Raises NoRoom unless there is memory for `count` bodies of `own_bytes` bytes each, and also for a segment that
    holds these bodies and `columns`."""
    if count <= MAX_CAPACITY:
        return require(count * own_bytes + Layout.for_bodies(count, columns).segment_bytes, f"{count:,} bodies")
    need = count * (own_bytes + MIN_SLOTS * BODY.itemsize)
    raise NoRoom(
        f"there must be at most {MAX_CAPACITY:,} bodies, got {count:,}, which would need {mib(need)}; use fewer bodies"
    )


def mib(size: int) -> str:
    """Returns `size`, a number of bytes, as a text in MiB."""
    return f"{size >> 20:,} MiB"


def free_bytes(proc: str = "/proc", groups: str = "/sys/fs/cgroup") -> int | None:
    """Returns the number of bytes that this process may still allocate. It is the smallest number that the machine and
    the control groups of this process allow. Returns None if the system does not report the free memory. proc,
    groups: paths of procfs and cgroupfs."""
    known = [left for left in (_free_of_machine(proc), *_free_of_groups(proc, groups)) if left is not None]
    return max(0, min(known)) if known else None


def _free_of_machine(proc: str) -> int | None:
    for line in _lines(f"{proc}/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _free_of_groups(proc: str, groups: str) -> Iterator[int | None]:
    for line in _lines(f"{proc}/self/cgroup"):
        _, kinds, path = line.rstrip("\n").split(":", 2)
        if kinds not in ("", "memory"):
            continue
        version, top = (2, groups) if kinds == "" else (1, f"{groups}/memory")
        # In a container the path may be the host's path, but only the files of the container's own group are visible.
        # So every parent folder is tried as well.
        while True:
            yield _free_of_group(os.path.join(top, path.lstrip("/")), version)
            if path in ("", "/"):
                break
            path = os.path.dirname(path)


def _free_of_group(folder: str, version: int) -> int | None:
    limit_file, used_file, reclaimable = GROUP_FILES[version]
    limit, used = _number(f"{folder}/{limit_file}"), _number(f"{folder}/{used_file}")
    if limit is None or used is None:
        return None
    kept = [int(line.split()[1]) for line in _lines(f"{folder}/memory.stat") if line.startswith(f"{reclaimable} ")]
    return limit - used + sum(kept)


def _number(file: str) -> int | None:
    text = "".join(_lines(file)).strip()
    return int(text) if text.isdigit() else None  # the text "max" means that there is no limit


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            return list(lines)
    except OSError:
        return []
