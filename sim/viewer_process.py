"""The viewer as a process of its own: started, watched, ended, and never left behind as a zombie.

One idea: a thread waits for the child, so that it is reaped the moment it ends whoever asks or does not.
Always: a signal is sent only to a child that is not reaped yet, and only by the process that started it.
Imports nothing of the render process: the child finds it by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import twixt
from twixt.ipc.errors import TwixtError

TYPE_CHECKING = False  # as `typing` has it; the viewer's start does not wait for that to be imported
if TYPE_CHECKING:
    from twixt.ipc.config import Config
    from twixt.ipc.trace_file import Trace

# Tells the child that it belongs to the simulation which started it.
OWNED_VARIABLE = "TWIXT_OWNED"
# numpy's linear algebra starts a thread for each core, which spins for 40 ms: on the core where physics starts. A
# viewer has no work for them.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
# What a viewer whose run is over already has to leave by itself.
LEFTOVER_S = 0.2

_early: ViewerProcess | None = None


@contextlib.contextmanager
def viewer_begun_early() -> Iterator[None]:
    """Starts the process of a viewer that `start_viewer` will want inside, with nothing to show yet: it loads what all
    viewers need while this process still reads its command. One that nobody wanted is gone when this ends; so is one
    whose run never began, because Ctrl-C came first.
    """
    global _early
    begun = _early = ViewerProcess(_command(), is_told=True) if sys.executable else None
    try:
        yield
    finally:
        if (unwanted := _take_early()) is not None:
            unwanted.discard()
        elif begun is not None and begun.poll() is None:
            begun.terminate()
            begun.stop(LEFTOVER_S)


def start_viewer(name: str, config: Config, on_end: Callable[[ViewerProcess], None] | None = None) -> ViewerProcess:
    """Start a viewer of the simulation `name`, whose door is open already. Returns at once.

    It writes to this process's standard output and error. on_end: called once it has ended, on a thread of its own.
    That of a user's own loop is in a process group of its own: an interrupt of the loop's group is not for it.
    Where a trace is asked for, it begins here and the viewer has a part in it.
    """
    if not sys.executable:
        raise TwixtError(
            "cannot start a viewer: this Python does not know its own program (sys.executable is empty); "
            f"start one yourself with: twixt view {name}"
        )
    trace = None
    if config.profile is not None:
        from twixt.ipc.spans import PHYSICS
        from twixt.ipc.trace_file import open_trace

        trace = open_trace(config, PHYSICS)
        config = config if trace is None else trace.shared_with(config)
    viewer = _take_early() if on_end is None else None
    viewer = viewer or ViewerProcess(_command(), on_end, is_told=True, is_apart=config.users_loop)
    viewer.trace = trace
    viewer.tell(name, config)
    return viewer


def _command() -> list[str]:
    return [sys.executable, "-P", str(twixt.__file__), "_view"]


def _take_early() -> ViewerProcess | None:
    global _early
    viewer, _early = _early, None
    return viewer


class ViewerProcess:
    """A child process from its start to its end. trace: of the run that it is part of, None without one. is_told:
    whether it waits for `tell`; it ends by itself when this process does so without. is_apart: it has a process group
    of its own, but not a session: that would be scheduled as a group of its own, whatever its nice value."""

    def __init__(
        self, command: list[str], on_end: Callable[[ViewerProcess], None] | None = None, is_told: bool = False,
        is_apart: bool = False,
    ) -> None:  # fmt: skip
        self.trace: Trace | None = None
        self.is_to_end = False  # set by whoever is about to end it: what comes then is no news
        self._owner_pid = os.getpid()
        self._reaping = threading.Lock()
        self._ended = threading.Event()
        self._on_end = on_end
        environ = {**ONE_THREAD, **os.environ, OWNED_VARIABLE: "1"}
        reads = subprocess.PIPE if is_told else subprocess.DEVNULL
        self._spawned_ns = time.perf_counter_ns()
        self._process = subprocess.Popen(command, stdin=reads, env=environ, process_group=0 if is_apart else None)
        threading.Thread(target=self._watch, name="twixt viewer", daemon=True).start()

    def tell(self, name: str, config: Config) -> None:
        """What it is to show, and how. Once."""
        import json

        told = {"name": name, "config": config.to_json(), "spawned_ns": self._spawned_ns, "pid": os.getpid()}
        writing = self._process.stdin
        assert writing is not None
        with contextlib.suppress(BrokenPipeError):  # it has died; the watching thread tells of that
            writing.write(json.dumps(told).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):
            writing.close()

    def discard(self) -> None:
        """End it instead of telling it anything. Returns once it is gone."""
        self.kill()
        self.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

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
        """End it, gently at first: time to leave by itself, then SIGTERM, then SIGKILL. The exit code.

        One that is frozen (SIGSTOP) can do neither, and is killed at once.
        """
        self.is_to_end = True
        if self._is_frozen():
            self.kill()
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

    def _is_frozen(self) -> bool:
        with self._reaping:
            if self._process.returncode is not None or not hasattr(os, "waitid") or os.getpid() != self._owner_pid:
                return False
            looks = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            try:
                return os.waitid(os.P_PID, self._process.pid, looks) is not None
            except ChildProcessError:  # it has died, and is not reaped yet
                return False

    def _signal(self, number: int) -> None:
        if os.getpid() != self._owner_pid:
            return
        with self._reaping:
            if self._process.returncode is None:
                self._process.send_signal(number)
