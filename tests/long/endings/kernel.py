"""What the kernel's own lists say is left of an order: processes, memory, files.

One idea: every process of an order carries its mark in the environment, and inherits it to those that it starts.
Always: what is read here is read from /proc and the folders themselves; nothing of twixt's is asked.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MARK = "TWIXT_TEST_ORDER"
SHARED = Path("/dev/shm")
SYSTEM_V = Path("/proc/sysvipc/shm")


class Memory(NamedTuple):
    """One piece of a simulation's memory."""

    device: int
    inode: int


def pids_of(mark: str) -> dict[int, str]:
    """The living processes of the order, and their commands. One that has ended and is not yet waited for is none."""
    wanted, found = f"{MARK}={mark}".encode(), {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                if wanted in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found[int(entry)] = Path(f"/proc/{entry}/cmdline").read_text(errors="replace").replace("\0", " ")
    return found


def memories_of(pids: set[int]) -> dict[Memory, int]:
    """The simulations' memory that these processes hold, mapped or by a descriptor, and its bytes."""
    found: dict[Memory, int] = {}
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                if "/memfd:twixt" in line:
                    between, _, _, device, inode, _ = line.split(maxsplit=5)
                    begin, end = (int(address, 16) for address in between.split("-"))
                    major, minor = (int(part, 16) for part in device.split(":"))
                    found[Memory(os.makedev(major, minor), int(inode))] = end - begin
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if os.readlink(descriptor).startswith("/memfd:twixt"):
                        status = descriptor.stat()
                        found[Memory(status.st_dev, status.st_ino)] = status.st_size
    return found


def all_pids() -> set[int]:
    return {int(entry) for entry in os.listdir("/proc") if entry.isdigit()}


def posix_names() -> set[str]:
    """POSIX shared memory with twixt's name in its own. The kernel does not say who made it."""
    return {str(path) for path in SHARED.glob("*twixt*")}


def system_v_of(pids: set[int]) -> list[str]:
    """System V shared memory that one of these processes made."""
    left = []
    with suppress(OSError):
        for line in SYSTEM_V.read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[4]) in pids:
                left.append(f"System V memory {fields[1]}, {fields[3]} bytes, of process {fields[4]}")
    return left


def is_stopped(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False
