"""The message of a run to a viewer process that it has started, and the viewer's answer.

The run starts the process before the name and the configuration are known. They follow as one line on standard input,
the order. At its end the viewer sends its exit code, because not every process receives the exit codes of its children.
Not here: the start of the process (`sim/process/viewer_process.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from twixt.ipc.errors import REFUSED, TwixtError

if TYPE_CHECKING:
    from twixt.ipc.config.flags import Config


class ViewerOrder(NamedTuple):
    """What a viewer process shows. name: name of the simulation. pid: id of the physics process, which started the
    viewer. spawned_ns: instant of this start, in ns of `time.perf_counter_ns`."""

    config: Config
    name: str
    pid: int
    spawned_ns: int

    def to_line(self) -> bytes:
        """Returns the order as one line of JSON."""
        fields = {"name": self.name, "config": self.config.to_json(), "spawned_ns": self.spawned_ns, "pid": self.pid}
        return json.dumps(fields).encode() + b"\n"


def read_order(line: str) -> ViewerOrder:
    """Returns the order that `ViewerOrder.to_line` made. Raises TwixtError for any other line."""
    from twixt.ipc.config.flags import Config

    try:
        fields = json.loads(line)
        pid, spawned_ns = int(fields["pid"]), int(fields["spawned_ns"])
        return ViewerOrder(Config.from_json(fields["config"]), str(fields["name"]), pid, spawned_ns)
    except TwixtError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise TwixtError("_view is only for viewers that a run starts; start a viewer with: twixt view") from None


def write_from_the_background() -> None:
    """Ignores SIGTTOU. A viewer with its own process group is in the background of its terminal. There `stty tostop`
    would stop the viewer at its first output. If the signal is ignored, the output is written."""
    if hasattr(signal, "SIGTTOU") and os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)


def sending_exit_code(work: Callable[[], int]) -> int:
    """Calls `work`, and sends its exit code, or that of its error, to the run (see `send_exit_code`). Returns the exit
    code. Raises the errors of `work`."""
    try:
        code = work()
    except TwixtError as error:
        send_exit_code(error.exit_code)
        raise
    except ImportError:
        send_exit_code(REFUSED)
        raise
    send_exit_code(code)
    return code


def send_exit_code(code: int) -> None:
    """Sends the exit code to the run that started this viewer, if there is such a run. Standard input of the viewer is
    then a socket, and the code is written to it."""
    with contextlib.suppress(OSError):  # the run may have ended
        if stat.S_ISSOCK(os.fstat(sys.stdin.fileno()).st_mode):
            os.write(sys.stdin.fileno(), b"%d" % code)
