"""How long the threads of another process ran, waited for a core, and on which: as the kernel counts it (Linux, /proc).

One idea: nothing is asked of that process. A file of its threads is read in 10 us; physics spends nothing on it.

Always: a thread that has ended, a process that is gone, and a system without such files give no times, and no error.
"""

from __future__ import annotations

import contextlib
import os

from twixt.render.guest.shortage import Times

# Of the threads that are known, so many are looked at each time: those that wanted a core most.
WATCHED = 4
# So many looks between two at all threads.
LOOKS_PER_LIST = 10

# Where proc(5) has the core of a thread: field 39, of which 37 come after the name.
PROCESSOR = 36


class ThreadTimes:
    """Of the process `pid`; None: of nobody."""

    def __init__(self, pid: int | None) -> None:
        self._folder = None if pid is None else f"/proc/{pid}/task"
        self._looks = 0
        self._watched: list[int] = []
        self._listed: Times = {}

    def take(self) -> Times:
        """The sums now, of the threads that wanted a core most."""
        if self._folder is None:
            return {}
        if self._looks % LOOKS_PER_LIST == 0:
            self._list()
        self._looks += 1
        return self._of(self._watched)

    def cores(self) -> dict[int, int]:
        """The core on which each of these threads runs, or ran last."""
        found = {}
        for thread in self._watched:
            path = f"{self._folder}/{thread}/stat"
            with contextlib.suppress(OSError, ValueError, IndexError), open(path, "rb", buffering=0) as file:
                found[thread] = int(file.read(1024).rpartition(b")")[2].split()[PROCESSOR])
        return found

    def _list(self) -> None:
        threads: list[int] = []
        with contextlib.suppress(OSError):
            threads = [int(name) for name in os.listdir(self._folder or "")]
        now, before = self._of(threads), self._listed
        wanted_ns = {thread: sum(times) - sum(before.get(thread, (0, 0))) for thread, times in now.items()}
        self._watched = sorted(now, key=wanted_ns.__getitem__, reverse=True)[:WATCHED]
        self._listed = now

    def _of(self, threads: list[int]) -> Times:
        found: Times = {}
        for thread in threads:
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"{self._folder}/{thread}/schedstat", "rb", buffering=0) as file:
                    ran, queued = file.read(64).split()[:2]
                found[thread] = int(ran), int(queued)
        return found
