"""The viewer's process: started, watched, ended, and never left behind as a zombie.

A thread waits for the child, so that it is reaped when it ends. If this process gets no exit codes (SIGCHLD ignored,
or a loop of the user's own that waits for every child), the code is the one that the child sent over its socket.

Always: a signal is sent only to a child that is not reaped yet, and only by the process that started it; a forked
child waits for nothing. Imports nothing of the render process: the child finds it by itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

from twixt.ipc.errors import FAILED, exhaustion_advice
from twixt.ipc.process import fork
from twixt.sim.process.viewer_command import NoViewerProgram, ViewerCommand, viewer_command

TYPE_CHECKING = False  # as in `typing`, whose import would delay the viewer's start
if TYPE_CHECKING:
    from twixt.ipc.config.config import Config
    from twixt.ipc.trace.trace_file import Trace

# numpy's linear algebra starts a thread per core, each of which spins for 40 ms, also on the core where physics starts.
# A viewer has no work for them.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
# Time for a viewer that still runs at the end of `early_viewer` to end after SIGTERM, s.
LEFTOVER_S = 0.2


_early: ViewerProcess | None = None


@contextlib.contextmanager
def early_viewer() -> Iterator[None]:
    """Starts a viewer process for `start_viewer` inside the block, before its name and configuration are known.

    It imports what all viewers need while this process still reads its command. The end of the block ends it if it was
    not used, or if it still runs, as after an early Ctrl-C.
    """
    global _early
    try:
        begun = _early = _start()
    except NoViewerProgram:  # `start_viewer` raises it again, if the command needs a viewer
        begun = None
    try:
        yield
    finally:
        if (unwanted := _take_early()) is not None:
            unwanted.discard()
        elif begun is not None and begun.poll() is None:
            begun.terminate()
            begun.stop(LEFTOVER_S)


def start_viewer(name: str, config: Config, on_end: Callable[[ViewerProcess], None] | None = None) -> ViewerProcess:
    """Starts a viewer of the simulation `name`, whose socket listens already. Returns at once.

    It writes to this process's standard output and error. on_end: called once it has ended, on a thread of its own.
    The viewer of a user's own loop is in a process group of its own, so that it does not receive an interrupt of the
    loop's group. With `config.profile`, the trace begins here and is shared with the viewer. Raises NoViewerProgram if
    there is no program that may be started as a viewer, or if its start failed.
    """
    has_early = on_end is None and _early is not None
    command = None if has_early else viewer_command()
    trace = None
    if config.profile is not None:
        from twixt.ipc.trace.spans import PHYSICS
        from twixt.ipc.trace.trace_file import open_trace

        trace = open_trace(config, PHYSICS)
        config = config if trace is None else trace.shared_with(config)
    viewer = _take_early() if has_early else None
    viewer = viewer or _start(command, on_end, config.users_loop)
    viewer.trace = trace
    viewer.send_order(name, config)
    return viewer


def _start(
    command: ViewerCommand | None = None,
    on_end: Callable[[ViewerProcess], None] | None = None,
    has_own_group: bool = False,
) -> ViewerProcess:
    """Starts a viewer that awaits its order, by default by `viewer_command`. Raises NoViewerProgram."""
    command = command or viewer_command()
    try:
        return ViewerProcess(command.arguments, on_end, True, has_own_group, command.environ())
    except OSError as error:
        if exhaustion_advice(error):
            raise
        program = command.arguments[0]
        raise NoViewerProgram(f"the viewer's program {program!r} cannot be started ({error.strerror})") from None


def _take_early() -> ViewerProcess | None:
    global _early
    viewer, _early = _early, None
    return viewer


class ViewerProcess:
    """A child process from its start to its end.

    awaits_order: it waits for `send_order`, and ends by itself if this process ends first. has_own_group: it is in a
    process group of its own, but not in a session: Linux would schedule that as a group, whatever its nice value.
    trace: of its run, None without one. is_code_known: False if it ended and its exit code is not known. environ: its
    environment, None: that of this process.
    """

    def __init__(
        self,
        command: list[str],
        on_end: Callable[[ViewerProcess], None] | None = None,
        awaits_order: bool = False,
        has_own_group: bool = False,
        environ: dict[str, str] | None = None,
    ) -> None:
        self.trace: Trace | None = None
        self.is_to_end = False  # True before it is ended on purpose: its end is then not reported
        self.is_code_known = True
        self._code: int | None = None
        self._is_copy = self._is_reaped = False
        self._reaping = threading.Lock()
        self._ended = threading.Event()
        self._on_end = on_end
        self._socket: socket.socket | None = None  # its standard input: carries its order, and its exit code back
        environ = {**ONE_THREAD, **(os.environ if environ is None else environ)}
        self._spawned_ns = time.perf_counter_ns()
        with fork.LOCK, contextlib.ExitStack() as theirs:
            reads = subprocess.DEVNULL
            if awaits_order:
                self._socket, its_end = socket.socketpair()
                reads = theirs.enter_context(its_end).fileno()
            group = 0 if has_own_group else None
            try:
                self._process = subprocess.Popen(command, stdin=reads, env=environ, process_group=group)
            except OSError:
                if self._socket is not None:
                    self._socket.close()
                raise
            self._pidfd = _pidfd_of(self._process.pid)
            fork.guard(self)
        threading.Thread(target=self._watch, name="twixt viewer", daemon=True).start()

    def send_order(self, name: str, config: Config) -> None:
        """Sends the viewer the name and the configuration, once."""
        import json

        order = {"name": name, "config": config.to_json(), "spawned_ns": self._spawned_ns, "pid": os.getpid()}
        assert self._socket is not None
        with contextlib.suppress(OSError):  # it has ended; the watching thread reports that
            self._socket.sendall(json.dumps(order).encode() + b"\n")
            self._socket.shutdown(socket.SHUT_WR)

    def discard(self) -> None:
        """Ends it without an order. Returns once it is gone."""
        self.kill()
        self.wait()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, minus the number for a signal, FAILED if it is not known; None while it runs."""
        return self._code if self._ended.is_set() else None

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Waits for the end; returns the exit code as `poll`; None after the timeout, and in a forked child."""
        self._ended.wait(timeout_s)
        return self.poll()

    def terminate(self) -> None:
        """Sends SIGTERM. Harmless when it has ended."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL (on Windows as `terminate`). Harmless when it has ended."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def stop(self, patience_s: float) -> int | None:
        """Waits for it to end by itself, then sends SIGTERM, then SIGKILL; returns the exit code.

        One that is stopped (SIGSTOP) cannot end by itself, and is killed at once.
        """
        self.is_to_end = True
        if self._is_copy:
            return None
        if self._is_stopped():
            self.kill()
        for send in (self.terminate, self.kill):
            if self.wait(patience_s) is not None:
                break
            send()
        return self.wait(patience_s)

    @property
    def ending(self) -> str:
        """Cause of the viewer's end: "exited with code 2", "was killed by SIGKILL", "is running"."""
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
        """Part of `fork.Guarded`: the viewer is not a child of the forked process, which does not wait for it."""
        self._is_copy = True
        self._reaping, self._ended = threading.Lock(), threading.Event()
        self._ended.set()
        self._close()

    def _watch(self) -> None:
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):  # it has ended, and other code has reaped it
                # Without reaping: its process id is not reused before `_is_reaped` stops `_signal`.
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        with self._reaping:
            self._reap()
        self._ended.set()
        if self._on_end is not None:
            self._on_end(self)

    def _reap(self) -> None:
        """Reads the exit code; if the kernel or other code has read it already, the one that the viewer sent."""
        if self._process.returncode is None:
            try:
                self._process.returncode = os.waitstatus_to_exitcode(os.waitpid(self._process.pid, 0)[1])
            except ChildProcessError:
                sent = self._sent_code()
                self.is_code_known = sent is not None
                self._process.returncode = FAILED if sent is None else sent
        self._code = self._process.returncode
        self._is_reaped = True
        self._close()

    def _sent_code(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            if self._socket is not None:
                self._socket.setblocking(False)
                return int(self._socket.recv(16))
        return None

    def _close(self) -> None:
        """Closes both descriptors; code of the user's own may have closed them before."""
        with fork.LOCK:
            pidfd, self._pidfd = self._pidfd, None
            if pidfd is not None:
                with contextlib.suppress(OSError):
                    os.close(pidfd)
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.close()

    def _is_stopped(self) -> bool:
        with self._reaping:
            if self._is_reaped or not hasattr(os, "waitid"):
                return False
            flags = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            try:
                return os.waitid(os.P_PID, self._process.pid, flags) is not None
            except ChildProcessError:  # it has ended, and `_reap` has not run yet
                return False

    def _signal(self, number: int) -> None:
        with self._reaping, contextlib.suppress(OSError):  # it has ended, or other code closed the descriptor
            if self._is_copy or self._is_reaped:
                return
            if self._pidfd is not None:  # if other code has reaped it, its process id may belong to another process
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                self._process.send_signal(number)


def _pidfd_of(pid: int) -> int | None:
    with contextlib.suppress(AttributeError, OSError):  # not on this system, or it has ended already
        return os.pidfd_open(pid)
    return None
