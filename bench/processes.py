"""Runs the child processes of a measurement: twixt's own commands, functions of a bench, busy programs, displays,
browsers.

Always: when the context of a process ends, the process is ended with SIGTERM, then with SIGKILL. If a process fails,
TwixtError is raised with the last line of its standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import twixt
from twixt.cli.cpu_time import CpuTime, usable_cores
from twixt.ipc.errors import TwixtError
from twixt.sim.process.viewer_command import python_flags, python_program

# Folder of this checkout, which contains `bench` and `twixt.py`.
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Longest wait for a process, in seconds. To make a world of a million bodies takes long.
TIMEOUT_S = 90.0
# Interval of polling a process, in seconds.
POLL_S = 0.01
# Time from SIGTERM to SIGKILL, in seconds.
EXIT_GRACE_S = 5.0
# Time over which the number of free cores is measured, in seconds.
FREE_CORES_S = 0.5
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def python(code: str) -> list[str]:
    """Command that runs `code` with the Python of this process. In this code, `import twixt` finds the twixt of this
    checkout."""
    folder = os.path.dirname(os.path.abspath(str(twixt.__file__)))
    return [python_program(), *python_flags(), "-P", "-c", f"import sys; sys.path.insert(0, {folder!r})\n{code}"]


def function_call(function: str, folder: str = HERE, **values: object) -> list[str]:
    """Command that calls a function of this bench. function: its name as `module:function`. values: values of its
    parameters, which must be Python literals.

    folder: checkout whose twixt the function uses. It may be a checkout of an earlier version.
    """
    module, _, name = function.partition(":")
    return python(f"import bench; sys.path.insert(0, {folder!r})\nfrom {module} import {name}\n{name}(**{values!r})")


def json_writer() -> Callable[[object], None]:
    """Redirects all other output to standard error. Returns a function that writes a line of JSON to standard
    output."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return lambda value: print(json.dumps(value), file=out, flush=True)


def version_command(folder: str) -> list[str]:
    """Command that starts twixt in the checkout `folder`, with the environment of that checkout. Raises TwixtError if
    there is no twixt."""
    program = os.path.join(os.path.abspath(folder), "twixt.py")
    if not os.path.isfile(program):
        raise TwixtError(f"--before {folder!r} is no checkout of twixt: it has no twixt.py; give a folder that has one")
    own = os.path.join(os.path.abspath(folder), ".venv", "bin", "python")
    return [own if os.path.exists(own) else python_program(), "-P", program]


@contextmanager
def process(
    arguments: list[str], environ: dict[str, str] | None = None, is_read: bool = False, is_apart: bool = False,
    grace_s: float = EXIT_GRACE_S, **how: Any,
) -> Iterator[Process]:  # fmt: skip
    """Runs a program for as long as the context lasts. Raises TwixtError if it cannot be started.

    environ: the whole environment of the program. If it is None, the program gets the environment of this process.
    is_read: True if `Process.lines` reads standard output while the program runs. `Process.out` is then empty.
    is_apart: True if the program runs in its own process group. Then Ctrl-C reaches only the measurement. On Linux,
    the system also ends the program if this process dies. grace_s: time in seconds from SIGTERM to SIGKILL. how:
    further arguments for `subprocess.Popen`.
    """
    if is_apart:
        how |= {"process_group": 0, "preexec_fn": _end_with_parent}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        begin_ns = time.perf_counter_ns()
        try:
            child = subprocess.Popen(
                arguments, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if is_read else out,
                stderr=errors, **how,
            )  # fmt: skip
        except OSError as error:
            advice = "install it anew, or see who may run it"
            raise TwixtError(f"cannot start {arguments[0]}: {error.strerror}; {advice}") from None
        try:
            yield Process(child, begin_ns, out, errors)
        finally:
            _end(child, grace_s)


class Process:
    """A child process and its output. begin_ns: instant at which the process started."""

    def __init__(self, child: subprocess.Popen[bytes], begin_ns: int, out: IO[bytes], errors: IO[bytes]) -> None:
        self.pid, self.begin_ns = child.pid, begin_ns
        self._child, self._out, self._errors = child, out, errors

    @property
    def is_alive(self) -> bool:
        return self._child.poll() is None

    @property
    def out(self) -> str:
        """Standard output of the process so far."""
        self._out.seek(0)
        return self._out.read().decode(errors="replace")

    def lines(self) -> Iterator[str]:
        """Lines of standard output as they come, until standard output is closed. Works only if the process was
        started with `is_read`."""
        assert self._child.stdout is not None, "started with is_read"
        for line in self._child.stdout:
            yield line.decode(errors="replace")

    def wait(self, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until the process ends. Raises TwixtError if the exit code is not 0, or if the process has not ended
        after `timeout_s`."""
        if failure := self.failure(timeout_s):
            raise TwixtError(f"{self._name}: {failure}")

    def failure(self, timeout_s: float = TIMEOUT_S) -> str:
        """Waits until the process ends. Returns the reason if the process failed, else ""."""
        try:
            code = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"it took longer than {timeout_s:g} s"
        return f"exit code {code}: {self.last_error_line()}" if code else ""

    def until(self, condition: Callable[[], bool], what: str, poll_s: float = POLL_S) -> None:
        """Polls a condition every `poll_s` seconds until it is True. Raises TwixtError if the process ends before
        that, or after `TIMEOUT_S`. what: name of the condition in the error."""
        ends_s = time.monotonic() + TIMEOUT_S
        while not condition():
            if not self.is_alive:
                raise TwixtError(f"{self._name} ended before {what}: {self.last_error_line()}")
            if time.monotonic() > ends_s:
                raise TwixtError(f"{self._name}: waited {TIMEOUT_S:g} s in vain until {what}")
            time.sleep(poll_s)

    def last_error_line(self) -> str:
        lines = self.error_lines()
        return lines[-1] if lines else "it said nothing"

    def error_lines(self) -> list[str]:
        """Lines of standard error so far."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip().splitlines()

    @property
    def _name(self) -> str:
        """Arguments of the process, without folders. If the process runs code, the name is "its process"."""
        arguments = [str(part) for part in self._child.args if part != "-P"]  # type: ignore[union-attr]
        return "its process" if "-c" in arguments[1:2] else " ".join(map(os.path.basename, arguments[1:] or arguments))


def _end(child: subprocess.Popen[bytes], grace_s: float) -> None:
    for ask in (child.terminate, child.kill):
        if child.poll() is None:
            ask()
            try:
                child.wait(grace_s)
            except subprocess.TimeoutExpired:
                continue
    if child.stdout is not None:
        child.stdout.close()


def _end_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def busy_loops(count: int) -> Iterator[list[int]]:
    """Runs `count` busy programs at normal priority. Yields their process ids."""
    with ExitStack() as stack:
        command = [python_program(), "-I", "-S", "-c", "while True: pass"]
        yield [stack.enter_context(process(command, is_apart=True)).pid for _ in range(count)]


def free_cores() -> float | None:
    """Number of free cores, on average over `FREE_CORES_S`. These are the cores that this process may use, minus the
    cores that other programs use.

    Returns None if their number is not known.
    """
    begin = CpuTime.now()
    time.sleep(FREE_CORES_S)
    lost = CpuTime.now().lost_since(begin)
    return None if lost is None else max(0.0, usable_cores() - lost)
