"""Starvation of a test: the time that its processes waited for a core, against the time that they ran.

A test that holds real frames against a clock carries the mark `starvable`. When it fails, and its processes were
starved over that very interval, it is skipped with the figures; on free cores a failure stays a failure, and a test
that passes under load has passed. The kernel counts per thread (/proc/PID/task/TID/schedstat); threads are sampled
while they live, so what one does after its last sample is not counted.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# Between two samples: short beside the tests concerned, which take seconds, and 1 % of a core.
SAMPLE_S = 0.1
# Of the time that processes wanted a core, they waited so much of it.
STARVED_SHARE = 0.25
# Less is no figure: a process that wanted a core for an instant may have waited for half of it.
LEAST_S = 0.5


@dataclass
class Starvation:
    """Times of threads in seconds, as far as they were sampled: on a core, and in the queue for one."""

    ran_s: float = 0.0
    waited_s: float = 0.0
    _first_ns: dict[int, tuple[int, int]] = field(default_factory=dict)
    _last_ns: dict[int, tuple[int, int]] = field(default_factory=dict)

    def sample(self, pids: set[int], began: bool = True) -> None:
        """One look at the threads of these processes. began: threads seen for the first time started since the last."""
        for pid in pids:
            for thread, times_ns in threads_of(pid).items():
                self._first_ns.setdefault(thread, (0, 0) if began else times_ns)
                self._last_ns[thread] = times_ns
        both = [
            [last - first for first, last in zip(self._first_ns[thread], times_ns, strict=True)]
            for thread, times_ns in self._last_ns.items()
        ]
        self.ran_s, self.waited_s = (sum(column) / 1e9 for column in zip(*both, strict=True)) if both else (0.0, 0.0)

    @property
    def share(self) -> float:
        return self.waited_s / max(self.ran_s + self.waited_s, 1e-9)

    @property
    def is_starved(self) -> bool:
        return self.share > STARVED_SHARE and self.ran_s + self.waited_s > LEAST_S

    def __str__(self) -> str:
        return f"its processes waited {self.waited_s:.1f} s for a core and ran {self.ran_s:.1f} s: {self.share:.0%}"


def threads_of(pid: int) -> dict[int, tuple[int, int]]:
    """Of each thread, the nanoseconds on a core and in the queue for one; of none where the process has gone."""
    found: dict[int, tuple[int, int]] = {}
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError, ValueError):
                ran_ns, waited_ns, _ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
                found[int(thread)] = int(ran_ns), int(waited_ns)
    return found


def family(pid: int) -> set[int]:
    """A process, its children, theirs, and so on."""
    found, new = {pid}, [pid]
    while new:
        parent = new.pop()
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                with suppress(OSError):
                    children = Path(f"/proc/{parent}/task/{thread}/children").read_text().split()
                    new += [child for child in map(int, children) if child not in found]
                    found |= set(map(int, children))
    return found


@contextmanager
def skipped_where_starved() -> Iterator[Starvation]:
    """What the block asserts. A failure becomes a skip where this process and its children were starved meanwhile."""
    measured, over, own = Starvation(), threading.Event(), os.getpid()
    measured.sample(family(own), began=False)

    def sample() -> None:
        while not over.wait(SAMPLE_S):
            measured.sample(family(own))

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        yield measured
    except (AssertionError, subprocess.TimeoutExpired) as error:
        if measured.is_starved:
            pytest.skip(f"starved of the cores: {measured}; {str(error).partition(chr(10))[0]}")
        raise
    finally:
        over.set()
        sampler.join()
