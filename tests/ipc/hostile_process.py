"""A viewer that means harm, or a simulation whose world forks, in a process of its own. Used by test_hostile_processes."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from tests.ipc.session_process import host_of, say
from twixt.ipc import session


def _mapped(link: session.Link) -> tuple[int, memoryview]:
    """Where the snapshots lie in this viewer, and what Python shows of it."""
    view = link._ring._segments[-1].memory.view
    return np.frombuffer(view, np.uint8).ctypes.data, view


def writing_viewer(name: str) -> None:
    """Tries what Python lets it, then writes straight through the processor."""
    link = session.attach(name)
    address, view = _mapped(link)
    try:
        view[0] = 1
    except TypeError:
        say("python refused")
    libc = ctypes.CDLL(None, use_errno=True)
    writable = libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(len(view)), 3)
    say(f"mprotect {writable}")
    sys.stdin.readline()
    ctypes.memset(address, 0xFF, 64)
    say("written")


def _sleep(_nothing: object = None) -> None:
    signal.pause()


def _by_popen() -> int:
    return subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]).pid


def _by_popen_that_closes_nothing() -> int:
    return subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], close_fds=False).pid


def _by_fork() -> int:
    child = os.fork()
    if child == 0:
        signal.pause()
    return child


def _by_multiprocessing(way: str) -> Callable[[], int]:
    def start() -> int:
        process = multiprocessing.get_context(way).Process(target=_sleep)
        process.start()
        return process.pid or 0

    return start


def _by_fork_of_a_fork() -> int:
    reads, writes = os.pipe()
    if os.fork() == 0:
        child = os.fork()
        if child:
            os.write(writes, str(child).encode())
        signal.pause()
    return int(os.read(reads, 20))


WAYS: dict[str, Callable[[], int]] = {
    "popen": _by_popen,
    "popen, descriptors left open": _by_popen_that_closes_nothing,
    "os.fork": _by_fork,
    "fork of a fork": _by_fork_of_a_fork,
    **{f"multiprocessing {way}": _by_multiprocessing(way) for way in ("fork", "spawn", "forkserver")},
}


def branching_host(name: str, way: str) -> None:
    """A world that starts a process while somebody looks, and is killed."""
    running = host_of(name)
    say("ready")
    running.viewer_attached.wait()
    say(WAYS[way]())
    signal.pause()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
