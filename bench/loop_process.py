"""Processes of watched loops: start, requests for turns, end.

A loop reads commands from a file descriptor and writes answers to standard output, a line of JSON each: first that it
is ready (`viewer`: the pid of its viewer, where that is a process to be continued in the end), then an answer to each
`{"do": "turn", "watched": true, "seconds": 1.0}`: watched, begin_ns, end_ns, steps, cpu_ns. `failure`: it has ended.

Always: the program is stopped (SIGSTOP) between its answers, so that it does not disturb the turns of others. It ends
with its context.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NamedTuple

from bench.child_process import Process, process, python
from bench.slowdown import LoopTurn
from twixt.ipc.errors import TwixtError

CODE = "import runpy, sys\nrunpy.run_module('bench.stepping.viewed_loop', run_name='__main__')"
# Time for a viewer to close, seconds.
EXIT_GRACE_S = 10.0


class LoopTimes(NamedTuple):
    """A stretch of steps, by the wall clock and by the processor time of the thread that steps."""

    wall: LoopTurn
    cpu: LoopTurn


class LoopProcess:
    """A running loop. failure: why it cannot take turns (any more), or empty. pids: its process, and its viewer's where
    the loop names one."""

    def __init__(self, child: Process, commands: Any) -> None:
        self._child, self._commands, self._lines = child, commands, child.lines()
        self._viewer: int | None = None
        self.pids = [child.pid]
        self.failure = ""
        with suppress(TwixtError):
            if viewer := self._answer().get("viewer"):
                self.pids.append(viewer)
                with suppress(AttributeError, OSError):  # not on this system, or it has ended
                    self._viewer = os.pidfd_open(viewer)
        self._stop()

    def turn(self, watched: bool, seconds: float) -> LoopTimes:
        """A stretch of steps. Raises TwixtError where the viewer or the program has ended."""
        answer = self._ask(do="turn", watched=watched, seconds=seconds)
        cpu = LoopTurn(watched, 0, answer.pop("cpu_ns"), answer["steps"])
        return LoopTimes(LoopTurn(**answer), cpu)

    def sync_us(self, calls: int) -> list[float]:
        """Times of states handed over back to back, us. Raises TwixtError as `turn`."""
        return list(self._ask(do="sync", calls=calls)["us"])

    def end(self) -> None:
        """Has the program close its viewer, and waits for its end."""
        self._signal(signal.SIGCONT)
        self._commands.close()
        self._child.failure(EXIT_GRACE_S)
        if self._viewer is not None:
            with suppress(OSError):  # of a loop that was killed while it was stopped; it then ends by itself
                signal.pidfd_send_signal(self._viewer, signal.SIGCONT)
            os.close(self._viewer)

    def _ask(self, **command: Any) -> dict[str, Any]:
        self._signal(signal.SIGCONT)
        with suppress(BrokenPipeError):  # then there is no answer either
            self._commands.write(json.dumps(command).encode() + b"\n")
        answer = self._answer()
        self._stop()
        return answer

    def _answer(self) -> dict[str, Any]:
        line = next(self._lines, "")
        answer = (
            dict(json.loads(line))
            if line
            else {"failure": f"the loop ended with {self._child.failure() or self._child.last_error_line()}"}
        )
        self.failure = answer.get("failure", "")
        if self.failure:
            raise TwixtError(self.failure)
        return answer

    def _stop(self) -> None:
        if not self.failure:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, number)


@contextmanager
def loop_process(arguments: list[str]) -> Iterator[LoopProcess]:
    """A loop, started by this command; it gets `--commands FD`, the file descriptor that it reads."""
    reads, writes = os.pipe()
    # Unbuffered: after a broken pipe `close` would write the rest of a buffer again, and raise there.
    with (
        os.fdopen(writes, "wb", buffering=0) as commands,
        process([*arguments, "--commands", str(reads)], is_read=True, pass_fds=(reads,)) as child,
    ):
        os.close(reads)
        loop = LoopProcess(child, commands)
        try:
            yield loop
        finally:
            loop.end()


def model_loop(viewer: str, path: str, settling_s: float, *options: str) -> AbstractContextManager[LoopProcess]:
    """A program that steps the model in a file with this viewer. options: further ones of `viewed_loop`."""
    return loop_process([*python(CODE), "--viewer", viewer, "--model", path, "--settle", str(settling_s), *options])
