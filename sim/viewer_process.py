"""The viewer as a process of its own: started, watched, ended, and never left behind as a zombie.

One idea: a thread waits for the child, so that it is reaped the moment it ends whoever asks or does not. It ends also
where this process learns no exit codes (SIGCHLD ignored, or a loop of the user's own that waits for every child): then
its code is what it said itself.
Always: a signal is sent only to a child that is not reaped yet, and only by the process that started it; in a forked
child nothing is waited for.
Imports nothing of the render process: the child finds it by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import twixt
from twixt.ipc import fork
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

# The exit code of one that ended nobody knows how.
UNKNOWN_CODE = 1

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
    of its own, but not a session: that would be scheduled as a group of its own, whatever its nice value.
    is_code_known: how it ended is known, once it has."""

    def __init__(
        self, command: list[str], on_end: Callable[[ViewerProcess], None] | None = None, is_told: bool = False,
        is_apart: bool = False,
    ) -> None:  # fmt: skip
        self.trace: Trace | None = None
        self.is_to_end = False  # set by whoever is about to end it: what comes then is no news
        self.is_code_known = True
        self._code: int | None = None
        self._is_copy = self._is_reaped = False
        self._reaping = threading.Lock()
        self._ended = threading.Event()
        self._on_end = on_end
        self._talk: socket.socket | None = None  # its standard input, from which it is told, and says its exit code
        environ = {**ONE_THREAD, **os.environ, OWNED_VARIABLE: "1"}
        self._spawned_ns = time.perf_counter_ns()
        with fork.LOCK, contextlib.ExitStack() as theirs:
            reads = subprocess.DEVNULL
            if is_told:
                self._talk, its_end = socket.socketpair()
                reads = theirs.enter_context(its_end).fileno()
            group = 0 if is_apart else None
            self._process = subprocess.Popen(command, stdin=reads, env=environ, process_group=group)
            self._pidfd = _pidfd_of(self._process.pid)
            fork.guard(self)
        threading.Thread(target=self._watch, name="twixt viewer", daemon=True).start()

    def tell(self, name: str, config: Config) -> None:
        """What it is to show, and how. Once."""
        import json

        told = {"name": name, "config": config.to_json(), "spawned_ns": self._spawned_ns, "pid": os.getpid()}
        assert self._talk is not None
        with contextlib.suppress(OSError):  # it has died; the watching thread tells of that
            self._talk.sendall(json.dumps(told).encode() + b"\n")
            self._talk.shutdown(socket.SHUT_WR)

    def discard(self) -> None:
        """End it instead of telling it anything. Returns once it is gone."""
        self.kill()
        self.wait()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, negative for a signal's number, or None while it runs. `UNKNOWN_CODE` where nobody knows it."""
        return self._code if self._ended.is_set() else None

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end; the exit code as `poll`, None when the time was over first, and in a forked child."""
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
        if self._is_copy:
            return None
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
        if not self.is_code_known:
            return "ended, and how is not known: this process ignores SIGCHLD or waits for every child"
        if code >= 0:
            return f"exited with code {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`: it is no child of this process, and nobody here waits for it."""
        self._is_copy = True
        self._reaping, self._ended = threading.Lock(), threading.Event()
        self._ended.set()
        self._let_go()

    def _watch(self) -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):  # ended, and reaped by somebody else
                # Without reaping: its process id stays its own until `_signal` can no more use it.
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        with self._reaping:
            self._reap()
        self._ended.set()
        if self._on_end is not None:
            self._on_end(self)

    def _reap(self) -> None:
        """The exit code; where the kernel or somebody else has taken it, what the viewer said it would be."""
        if self._process.returncode is None:
            try:
                self._process.returncode = os.waitstatus_to_exitcode(os.waitpid(self._process.pid, 0)[1])
            except ChildProcessError:
                said = self._said_code()
                self.is_code_known = said is not None
                self._process.returncode = UNKNOWN_CODE if said is None else said
        self._code = self._process.returncode
        self._is_reaped = True
        self._let_go()

    def _said_code(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            if self._talk is not None:
                self._talk.setblocking(False)
                return int(self._talk.recv(16))
        return None

    def _let_go(self) -> None:
        with fork.LOCK:
            pidfd, self._pidfd = self._pidfd, None
            if pidfd is not None:
                os.close(pidfd)
            if self._talk is not None:
                self._talk.close()

    def _is_frozen(self) -> bool:
        with self._reaping:
            if self._is_reaped or not hasattr(os, "waitid"):
                return False
            looks = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            try:
                return os.waitid(os.P_PID, self._process.pid, looks) is not None
            except ChildProcessError:  # it has died, and is not reaped yet
                return False

    def _signal(self, number: int) -> None:
        with self._reaping, contextlib.suppress(ProcessLookupError):
            if self._is_copy or self._is_reaped:
                return
            if self._pidfd is not None:  # whoever else waits for it, its process id may be another's by now
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                self._process.send_signal(number)


def _pidfd_of(pid: int) -> int | None:
    with contextlib.suppress(AttributeError, OSError):  # not on this system, or it has died already
        return os.pidfd_open(pid)
    return None
