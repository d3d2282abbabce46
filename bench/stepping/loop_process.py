"""Program that steps a model beside one viewer, as `python -m bench mujoco` uses it: started, asked for turns, ended.

Always: the program is stopped (SIGSTOP) between its answers, so that it takes nothing from the turns of others. It has
ended when its context ends.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from bench.child_process import Process, process, python
from bench.guest.slowdown import LoopTurn
from twixt.ipc.errors import TwixtError

CODE = "import runpy, sys\nrunpy.run_module('bench.stepping.viewed_loop', run_name='__main__')"
# Time for a viewer to close, seconds.
FAREWELL_S = 10.0


class LoopTimes(NamedTuple):
    """A stretch of steps, by the wall clock and by the processor time of the thread that steps."""

    wall: LoopTurn
    cpu: LoopTurn


class LoopProcess:
    """A running `viewed_loop`. failure: why it cannot take turns (any more), or empty."""

    def __init__(self, child: Process, commands: Any) -> None:
        self._child, self._commands, self._lines = child, commands, child.lines()
        self.failure = ""
        with suppress(TwixtError):
            self._answer()
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
        self._child.failure(FAREWELL_S)

    def _ask(self, **command: Any) -> dict[str, Any]:
        self._signal(signal.SIGCONT)
        with suppress(BrokenPipeError):  # then there is no answer either
            self._commands.write(json.dumps(command).encode() + b"\n")
        answer = self._answer()
        self._stop()
        return answer

    def _answer(self) -> dict[str, Any]:
        line = next(self._lines, "")
        answer = dict(json.loads(line)) if line else {"failure": f"it ended: {self._child.last_words()}"}
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
def loop_process(viewer: str, path: str, settling_s: float, *options: str) -> Iterator[LoopProcess]:
    """A program that steps the model in a file with this viewer. options: further ones of `viewed_loop`."""
    reads, writes = os.pipe()
    required_options = ["--viewer", viewer, "--model", path, "--settle", str(settling_s)]
    arguments = [*python(CODE), *required_options, "--commands", str(reads), *options]
    # Unbuffered: after a broken pipe `close` would write the rest of a buffer again, and raise there.
    with os.fdopen(writes, "wb", buffering=0) as commands, process(arguments, is_read=True, pass_fds=(reads,)) as child:
        os.close(reads)
        loop = LoopProcess(child, commands)
        try:
            yield loop
        finally:
            loop.end()
