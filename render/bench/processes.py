"""twixt's own commands as processes to be measured: started, waited for, ended, and never left behind.

Always: a process is gone when its context ends, gently at first. Raises TwixtError with what it said when it does
not do what it was started for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

import twixt
from twixt.ipc.errors import TwixtError
from twixt.ipc.link import Link, attach
from twixt.ipc.session import running
from twixt.render.bench.child import end

# For a world of a million bodies to be made; what takes longer hangs.
PATIENCE_S = 90.0
# How often something is looked at that tells nobody when it changes.
LOOK_S = 0.01
# What a process gets to end by itself.
FAREWELL_S = 5.0
KIB = 1024


def command(*arguments: str) -> list[str]:
    """`twixt ARGUMENTS...`, by this very Python and this very twixt."""
    return [sys.executable, "-P", str(twixt.__file__), *arguments]


@contextmanager
def process(arguments: list[str], environ: dict[str, str] | None = None) -> Iterator[Process]:
    """A program that runs while inside."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        child = Process(arguments, environ, out, said)
        try:
            yield child
        finally:
            child.end()


class Process:
    """A child, and what it said."""

    def __init__(self, arguments: list[str], environ: dict[str, str] | None, out: IO[bytes], said: IO[bytes]) -> None:
        self._out, self._said = out, said
        self.begin_ns = time.perf_counter_ns()
        self._popen = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=said,
            env={**os.environ, **(environ or {})},
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def out(self) -> str:
        """What it wrote to standard output."""
        self._out.seek(0)
        return self._out.read().decode(errors="replace")

    def wait(self, timeout_s: float = PATIENCE_S) -> None:
        """Until it has ended well. Raises TwixtError."""
        try:
            code = self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TwixtError(f"{self._name} takes longer than {timeout_s:g} s") from None
        if code:
            raise TwixtError(f"{self._name} ended with {code}: {self._words()}")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Waits for it while the process lives. Raises TwixtError."""
        ends_s = time.monotonic() + PATIENCE_S
        while not condition():
            if not self.is_alive:
                raise TwixtError(f"{self._name} ended before {what}: {self._words()}")
            if time.monotonic() > ends_s:
                raise TwixtError(f"{self._name}: waited {PATIENCE_S:g} s in vain until {what}")
            time.sleep(LOOK_S)

    def end(self) -> None:
        end(self._popen, FAREWELL_S)

    @property
    def _name(self) -> str:
        arguments = [str(part) for part in self._popen.args[1:]]  # type: ignore[index,union-attr]
        return " ".join(os.path.basename(part) for part in arguments if not part.startswith("-P"))

    def _words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


@contextmanager
def simulation(*arguments: str) -> Iterator[Link]:
    """`twixt sim ARGUMENTS...` in a process of its own, and a link to it."""
    name = f"bench-{os.getpid()}"
    with process(command("sim", *arguments, "--name", name)) as physics:
        physics.until(lambda: name in running(), "it took its name")
        link = attach(name)
        try:
            yield link
        finally:
            link.close()


def family(pid: int) -> list[int]:
    """The process and its children that live now (Linux)."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [pid, *map(int, file.read().split())]


def memory_bytes(pids: list[int]) -> int:
    """What the processes hold together; what they share counts once (Linux, proc(5): Pss)."""
    held = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            held += next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * KIB
    return held
