"""Child processes of a measurement: twixt's own commands, functions of a benchmark, other programs.

Always: when its context ends, a process is ended with SIGTERM, then with SIGKILL. If a process fails, TwixtError is
raised with the last line of its standard error.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import twixt
from twixt.ipc.errors import TwixtError
from twixt.sim.process.viewer_command import python_flags, python_program, twixt_command

# Longest wait for a process, seconds. Creating a world of a million bodies takes long.
TIMEOUT_S = 90.0
# Interval of polling, seconds.
POLL_S = 0.01
# Time from SIGTERM to SIGKILL, seconds.
EXIT_GRACE_S = 5.0


def command(*arguments: str) -> list[str]:
    """Command `twixt ARGUMENTS...` with this Python and this twixt."""
    return twixt_command(*arguments)


def python(code: str) -> list[str]:
    """Command that runs `code` with this Python, so that `import twixt` finds this twixt."""
    folder = os.path.dirname(os.path.abspath(str(twixt.__file__)))
    return [python_program(), *python_flags(), "-P", "-c", f"import sys; sys.path.insert(0, {folder!r})\n{code}"]


@contextmanager
def process(
    arguments: list[str],
    environ: dict[str, str] | None = None,
    is_read: bool = False,
    grace_s: float = EXIT_GRACE_S,
    **how: Any,
) -> Iterator[Process]:
    """Runs a program for as long as the context lasts.

    environ: the whole environment; None: the environment of this process. is_read: True if `Process.lines` reads
    standard output while the program runs; `Process.out` is then empty. grace_s: time from SIGTERM to SIGKILL. how:
    further arguments for `subprocess.Popen`.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        begin_ns = time.perf_counter_ns()
        popen = subprocess.Popen(
            arguments,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if is_read else out,
            stderr=errors,
            **how,
        )
        try:
            yield Process(popen, begin_ns, out, errors)
        finally:
            end(popen, grace_s)


class Process:
    """A child process and its output. begin_ns: instant of its start."""

    def __init__(self, popen: subprocess.Popen[bytes], begin_ns: int, out: IO[bytes], errors: IO[bytes]) -> None:
        self.begin_ns = begin_ns
        self._popen, self._out, self._errors = popen, out, errors

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def is_alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def out(self) -> str:
        """Standard output of the process so far."""
        self._out.seek(0)
        return self._out.read().decode(errors="replace")

    def lines(self) -> Iterator[str]:
        """Lines of standard output as they come, until it is closed. Requires a start with `is_read`."""
        assert self._popen.stdout is not None, "started with is_read"
        for line in self._popen.stdout:
            yield line.decode(errors="replace")

    def wait(self, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until the process ends. Raises TwixtError if its exit code is not 0, or after `timeout_s`."""
        if failure := self.failure(timeout_s):
            raise TwixtError(f"{self._name}: {failure}")

    def failure(self, timeout_s: float = TIMEOUT_S) -> str:
        """Waits until the process ends. Returns the reason if it failed, else an empty string."""
        try:
            code = self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"it took longer than {timeout_s:g} s"
        return f"exit code {code}: {self.last_error_line()}" if code else ""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Polls a condition until it is True. Raises TwixtError, which names `what`, if the process ends first, or
        after `TIMEOUT_S`."""
        ends_s = time.monotonic() + TIMEOUT_S
        while not condition():
            if not self.is_alive:
                raise TwixtError(f"{self._name} ended before {what}: {self.last_error_line()}")
            if time.monotonic() > ends_s:
                raise TwixtError(f"{self._name}: waited {TIMEOUT_S:g} s in vain until {what}")
            time.sleep(POLL_S)

    def last_error_line(self) -> str:
        """The last line of the process's standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    @property
    def _name(self) -> str:
        """Arguments of the process, without folders; "its process" if it runs code."""
        arguments = [str(part) for part in self._popen.args[1:] if part != "-P"]  # type: ignore[index,union-attr]
        return "its process" if arguments[:1] == ["-c"] else " ".join(map(os.path.basename, arguments))


def end(child: subprocess.Popen[Any], grace_s: float = EXIT_GRACE_S) -> None:
    """Ends the child with SIGTERM and, after `grace_s`, with SIGKILL. Closes its output."""
    for ask in (child.terminate, child.kill):
        if child.poll() is None:
            ask()
            try:
                child.wait(grace_s)
            except subprocess.TimeoutExpired:
                continue
    if child.stdout is not None:
        child.stdout.close()
