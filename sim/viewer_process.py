"""The viewer as a process of its own: started, watched, ended, and never left behind as a zombie.

One idea: a thread waits for the child, so that it is reaped the moment it ends whoever asks or does not.
Always: a signal is sent only to a child that is not reaped yet, and only by the process that started it.
Imports nothing of the render process: the child finds it by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import twixt
from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.spans import PHYSICS
from twixt.ipc.trace_file import Trace, open_trace

# Tells the child that it belongs to the simulation which started it.
OWNED_VARIABLE = "TWIXT_OWNED"


def start_viewer(name: str, config: Config, on_end: Callable[[ViewerProcess], None] | None = None) -> ViewerProcess:
    """Start a viewer of the simulation `name`, whose door is open already. Returns at once.

    It writes to this process's standard output and error, and reads nothing. on_end: called once it has
    ended, on a thread of its own. Where a trace is asked for, it begins here and the viewer has a part in it.
    """
    if not sys.executable:
        raise TwixtError(
            "cannot start a viewer: this Python does not know its own program (sys.executable is empty); "
            f"start one yourself with: twixt view {name}"
        )
    command = [sys.executable, "-P", str(twixt.__file__), "_view", name, config.to_json()]
    return ViewerProcess(command, on_end, open_trace(config, PHYSICS))


class ViewerProcess:
    """A child process from its start to its end. trace: of the run that it is part of, None without one."""

    def __init__(
        self, command: list[str], on_end: Callable[[ViewerProcess], None] | None = None, trace: Trace | None = None
    ) -> None:
        self.trace = trace
        self.is_to_end = False  # set by whoever is about to end it: what comes then is no news
        self._owner_pid = os.getpid()
        self._reaping = threading.Lock()
        self._ended = threading.Event()
        self._on_end = on_end
        environ = {**os.environ, OWNED_VARIABLE: "1"} | ({} if trace is None else trace.environ)
        inherited = () if trace is None else (trace.descriptor,)
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environ, pass_fds=inherited)
        if trace is not None:
            trace.handed_on()
        threading.Thread(target=self._watch, name="twixt viewer", daemon=True).start()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, negative for a signal's number, or None while it runs."""
        return self._process.returncode if self._ended.is_set() else None

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end; the exit code as `poll`, None when the time was over first."""
        self._ended.wait(timeout_s)
        return self.poll()

    def terminate(self) -> None:
        """Ask it to end (SIGTERM). Harmless when it has ended."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it without asking (SIGKILL; on Windows as `terminate`). Harmless when it has ended."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def stop(self, patience_s: float) -> int | None:
        """End it, gently at first: time to leave by itself, then SIGTERM, then SIGKILL. The exit code."""
        self.is_to_end = True
        for push in (self.terminate, self.kill):
            if self.wait(patience_s) is not None:
                break
            push()
        return self.wait(patience_s)

    @property
    def ending(self) -> str:
        """How it died, in words: "exited with code 2", "was killed by SIGKILL", "is running"."""
        code = self.poll()
        if code is None:
            return "is running"
        if code >= 0:
            return f"exited with code {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"

    def _watch(self) -> None:
        if hasattr(os, "waitid"):
            # Without reaping: its process id stays its own until `_signal` can no more use it.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            with self._reaping:
                self._process.wait()
        else:
            self._process.wait()
        self._ended.set()
        if self._on_end is not None:
            self._on_end(self)

    def _signal(self, number: int) -> None:
        if os.getpid() != self._owner_pid:
            return
        with self._reaping:
            if self._process.returncode is None:
                self._process.send_signal(number)
