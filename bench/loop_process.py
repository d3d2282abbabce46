"""Processes of watched loops: start, requests for turns, end.

A loop reads commands from a file descriptor and writes answers to standard output, each as one line of JSON. The first
answer says that the loop is ready; its `viewer` is the pid of a viewer process that must be continued at the end, if
there is one. Then each command `{"do": "turn", "watched": true, "seconds": 1.0}` gets an answer with watched,
begin_ns, end_ns, steps, cpu_ns. An answer with `failure` means that the loop has ended.

Always: the program is stopped (SIGSTOP) between its turns, so that it does not disturb the turns of other programs. It
ends with its context.
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
# Time that a viewer may take to close, seconds.
EXIT_GRACE_S = 10.0


class LoopTimes(NamedTuple):
    """One turn of steps, measured in wall time and in processor time of the stepping thread."""

    wall: LoopTurn
    cpu: LoopTurn


class LoopProcess:
    """A running loop. failure: reason why it cannot run turns (any more), else empty. pids: the loop's process and, if
    the loop names one, its viewer's process."""

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
        """Runs one turn of steps. Raises TwixtError if the viewer or the program has ended."""
        answer = self._ask(do="turn", watched=watched, seconds=seconds)
        cpu = LoopTurn(watched, 0, answer.pop("cpu_ns"), answer["steps"])
        return LoopTimes(LoopTurn(**answer), cpu)

    def sync_us(self, calls: int) -> list[float]:
        """Times of `calls` syncs in direct succession, us. Raises TwixtError as `turn` does."""
        return list(self._ask(do="sync", calls=calls)["us"])

    def end(self) -> None:
        """Makes the program close its viewer, and waits until the program ends."""
        self._signal(signal.SIGCONT)
        self._commands.close()
        self._child.failure(EXIT_GRACE_S)
        if self._viewer is not None:
            with suppress(OSError):  # raised if the loop was killed while stopped; the viewer then ends by itself
                signal.pidfd_send_signal(self._viewer, signal.SIGCONT)
            os.close(self._viewer)

    def _ask(self, **command: Any) -> dict[str, Any]:
        self._signal(signal.SIGCONT)
        with suppress(BrokenPipeError):  # `_answer` then reports that the loop has ended
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
    """Starts a loop with this command. Adds the option `--commands FD`, the file descriptor from which the loop
    reads."""
    reads, writes = os.pipe()
    # Unbuffered, because after a broken pipe `close` would write the rest of a buffer again, and raise.
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
    """A program that steps the model in file `path` with this viewer. options: further options of `viewed_loop`."""
    return loop_process([*python(CODE), "--viewer", viewer, "--model", path, "--settle", str(settling_s), *options])
