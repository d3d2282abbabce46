"""What others did to the machine meanwhile, measured from outside the processes concerned.

The one idea: the time that the cores were busy less the time that our own processes ran is others'. The kernel counts
both: /proc/stat to 10 ms, /proc/PID/task/TID/schedstat exactly.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from pathlib import Path
from typing import NamedTuple

from tests.starvation import threads_of

PERIOD_S = 0.01
TICK_NS = round(1e9 / os.sysconf("SC_CLK_TCK"))
# Within a case's stretch others ran for so long, or more, and ours waited for a core for so long.
OTHERS_MS, WAITED_MS = 10.0, 2.0
# A case's stretch begins and ends so much earlier and later: what is sampled lies between two samples.
MARGIN_NS = round(2 * PERIOD_S * 1e9)


class Sample(NamedTuple):
    """Sums up to an instant, ns."""

    at_ns: int
    busy_ns: int  # of all cores
    steal_ns: int  # of all cores, by the host
    ran_ns: int  # our threads
    waited_ns: int


class Lot(NamedTuple):
    """What became of a stretch, ms of processor time."""

    others_ms: float
    steal_ms: float
    waited_ms: float

    @property
    def is_disturbed(self) -> bool:
        return self.steal_ms > 0 or (self.others_ms > OTHERS_MS and self.waited_ms > WAITED_MS)


class Machine:
    """Samples while it is entered. pids: our processes, as they are now."""

    def __init__(self, pids: set[int]) -> None:
        self._pids = pids
        self._threads: dict[int, tuple[int, int]] = {}
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample_on, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> Machine:
        self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._sampler.join()

    def between(self, begin_ns: int, end_ns: int) -> Lot:
        """What became of the stretch and a margin."""
        first_at, end_at = (bisect_left(self.samples, (at_ns,)) for at_ns in (begin_ns - MARGIN_NS, end_ns + MARGIN_NS))
        inside = self.samples[first_at:end_at]
        if len(inside) < 2:
            return Lot(float("inf"), 0.0, float("inf"))
        first, last = inside[0], inside[-1]
        ran_ns = last.ran_ns - first.ran_ns
        others_ns = max(0, last.busy_ns - first.busy_ns - ran_ns)
        return Lot(others_ns / 1e6, (last.steal_ns - first.steal_ns) / 1e6, (last.waited_ns - first.waited_ns) / 1e6)

    def _sample_on(self) -> None:
        while not self._over.wait(PERIOD_S):
            self.samples.append(self._sample())

    def _sample(self) -> Sample:
        for pid in self._pids:
            self._threads |= threads_of(pid)
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
        ran_ns, waited_ns = (sum(column) for column in zip(*self._threads.values(), strict=True))
        busy_ns = (user + nice + system + irq + softirq) * TICK_NS
        return Sample(time.perf_counter_ns(), busy_ns, steal * TICK_NS, ran_ns, waited_ns)
