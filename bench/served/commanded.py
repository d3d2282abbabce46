"""Child processes of a measurement that answer commands. A command and its answer are one line of JSON each. The
first line that a process writes has no command: it says that the process is ready.

Always: the process ends with its context, and with the measurement.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bench.processes import Process, function_call, json_writer, process
from twixt.ipc.errors import TwixtError


class Commanded:
    """A running process. pid: its process id."""

    def __init__(self, child: Process, commands: Any, name: str) -> None:
        self.pid, self._child, self._commands, self._name = child.pid, child, commands, name
        self._lines = child.lines()

    def ask(self, **command: Any) -> dict[str, Any]:
        """Sends a command and returns its answer. Raises TwixtError if the process has ended."""
        return self.begin(**command)()

    def begin(self, **command: Any) -> Callable[[], dict[str, Any]]:
        """Sends a command. Returns a function that waits for its answer."""
        with suppress(BrokenPipeError):  # `answer` then reports the end
            self._commands.write(json.dumps(command).encode() + b"\n")
        return self.answer

    def answer(self) -> dict[str, Any]:
        """The next line of the process. Raises TwixtError if the process has ended."""
        if line := next(self._lines, ""):
            answer: dict[str, Any] = json.loads(line)
            return answer
        raise TwixtError(f"{self._name}: {self._child.failure() or self._child.last_error_line()}")


@contextmanager
def commanded(function: str, environ: dict[str, str], **values: Any) -> Iterator[Commanded]:
    """Runs a function of this bench in a process, until the context ends. function: `module:function`, whose parameter
    `commands` is the file descriptor of its commands. values: its other parameters. Raises TwixtError if it ends
    before it is ready."""
    reads, writes = os.pipe()
    call = function_call(function, commands=reads, **values)
    with (
        os.fdopen(writes, "wb", buffering=0) as commands,
        process(call, environ, is_read=True, is_apart=True, pass_fds=(reads,)) as child,
    ):
        os.close(reads)
        made = Commanded(child, commands, function.partition(":")[2])
        made.answer()
        yield made


def commands_of(commands: int) -> Iterator[tuple[dict[str, Any], Callable[[object], None]]]:
    """Says that this process is ready. Then yields each command and the function that writes its answer, until the
    file descriptor `commands` is closed."""
    tell = json_writer()
    tell({"ready": True})
    with os.fdopen(commands) as lines:
        for line in lines:
            yield json.loads(line), tell
