"""Processes of a served simulation: its loop, its server, pages without a browser, and a Chromium.

Always: all of them end with their context. Their files and names are in a temporary folder.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from bench.processes import process
from bench.served.commanded import Commanded, commanded
from bench.served.server_figures import Cores
from twixt.cli.chromium import Chromium
from twixt.cli.cpu_time import CpuTime
from twixt.cli.web_measure import HAS_PICTURE
from twixt.ipc.errors import TwixtError
from twixt.sim.process.viewer_command import twixt_command

NAME = "server-bench"
# Longest wait for the first picture of the browser, in seconds.
PICTURE_LIMIT_S = 30.0


class Used(NamedTuple):
    """Processor time of a process until an instant, both in ns."""

    cpu_ns: int
    at_ns: int

    @staticmethod
    def now(pid: int) -> Used:
        # CPUCLOCK_SCHED of linux/posix-timers.h: a clock of the process, in ns
        return Used(time.clock_gettime_ns(~pid << 3 | 2), time.perf_counter_ns())

    def cores_since(self, begin: Used) -> float:
        """Mean number of cores that it used."""
        return (self.cpu_ns - begin.cpu_ns) / max(1, self.at_ns - begin.at_ns)


class Served:
    """A simulation, its server, and pages in one process. link: of the page."""

    def __init__(self, loop: Commanded, server_pid: int, pages: Commanded, link: str) -> None:
        self.loop, self.server_pid, self.pages, self.link = loop, server_pid, pages, link

    def stop_server(self) -> None:
        """Stops the server (SIGSTOP), which the channel tolerates: then the loop has no guest that does anything."""
        os.kill(self.server_pid, signal.SIGSTOP)

    def resume_server(self) -> None:
        os.kill(self.server_pid, signal.SIGCONT)


@contextmanager
def served(kind: str, bodies: int) -> Iterator[Served]:
    """Runs a loop of `served_loops` and its server. Raises TwixtError."""
    # short, because a socket's path has at most 107 bytes; names, port and token stay in it
    with tempfile.TemporaryDirectory(prefix="web-", dir="/tmp") as folder:
        environ = os.environ | {"XDG_RUNTIME_DIR": folder}
        loop_values: dict[str, Any] = {"kind": kind, "bodies": bodies, "name": NAME}
        with (
            process(twixt_command("serve", NAME), environ, is_read=True, is_apart=True) as server,
            commanded("bench.served.served_loops:main", environ, **loop_values) as loop,
        ):
            link = next(server.lines(), "").strip()
            if not link:
                raise TwixtError(f"the server ended: {server.last_error_line()}")
            with commanded("bench.served.page_client:main", environ, link=link) as pages:
                made = Served(loop, server.pid, pages, link)
                try:
                    yield made
                finally:
                    with suppress(ProcessLookupError):
                        made.resume_server()


class Browser:
    """A Chromium with the page of a link."""

    def __init__(self, chromium: Chromium, link: str) -> None:
        self._chromium = chromium
        chromium.page.open(link)
        chromium.page.wait_for(HAS_PICTURE, PICTURE_LIMIT_S)

    def stop(self) -> None:
        """Stops all processes of the browser."""
        os.killpg(self._chromium.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self._chromium.pid, signal.SIGCONT)

    def used(self) -> Used:
        """Processor time of all processes of the browser."""
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return Used(sum(_cpu_ns(pid) for pid in pids if _group(pid) == self._chromium.pid), time.perf_counter_ns())


class Meter:
    """Measures from its creation on which process uses how many cores."""

    def __init__(self, run: Served, browser: Browser | None = None) -> None:
        self._pids, self._browser = (run.loop.pid, run.server_pid, run.pages.pid), browser
        self._begin, self._begin_all = self._used(), CpuTime.now()

    def cores(self) -> Cores:
        """Cores that were used since then."""
        lost = CpuTime.now().lost_since(self._begin_all)
        now = self._used()
        used = [each.cores_since(begin) for each, begin in zip(now, self._begin, strict=True)]
        others = None if lost is None else max(0.0, lost - sum(used))
        return Cores((now[0].at_ns - self._begin[0].at_ns) / 1e9, others, *used)

    def _used(self) -> list[Used]:
        return [*map(Used.now, self._pids), *([self._browser.used()] if self._browser is not None else [])]


def _group(pid: int) -> int | None:
    with suppress(ProcessLookupError, PermissionError):
        return os.getpgid(pid)
    return None


def _cpu_ns(pid: int) -> int:
    with suppress(OSError):  # it has ended
        return Used.now(pid).cpu_ns
    return 0


def memory_mb(pid: int) -> float:
    """Memory of a process that is in use and not of a file, in MB (RssAnon of proc(5))."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["RssAnon"].split()[0]) * 1024 / 1e6
