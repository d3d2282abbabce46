"""Controls the viewer's process: its start, the message that tells the process what to show (the order), its end and
its exit code.

A thread waits for the end of the child process, so that no zombie remains.

Always: a forked child of this process does not wait for the viewer. This module imports nothing of the render process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

from twixt.ipc.errors import FAILED, exhaustion_advice
from twixt.ipc.process import fork
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.system import children
from twixt.sim.process.viewer_command import MEASURE, SERVE, VIEW, NoViewerProgram, ViewerCommand, viewer_command

TYPE_CHECKING = False  # The constant is not imported from `typing`, because that import would delay the viewer.
if TYPE_CHECKING:
    from twixt.ipc.config.flags import Config
    from twixt.ipc.trace.trace_file import Trace

# These variables stop numpy's linear algebra from starting one thread per core. Each such thread would spin for 40 ms
# at the start, even on the core where the physics process starts. A viewer does not need such threads.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
# Time in seconds that the server of the browser view has to end by itself after its simulation has ended.
SERVER_TIMEOUT_S = 3.0
# Time in seconds that a viewer has to end after SIGTERM, if it still runs at the end of `early_viewer`.
LEFTOVER_S = 0.2


_early: ViewerProcess | None = None


@contextlib.contextmanager
def early_viewer() -> Iterator[None]:
    """Starts a viewer process before the simulation's name and the configuration are known. A call of `start_viewer`
    inside the block uses this process.

    The viewer imports its modules while this process still reads the command line. At the end of the block, an unused
    viewer is ended. A used viewer is ended as well if it still runs, for example after an early Ctrl-C.
    """
    global _early
    try:
        begun = _early = _start()
    except NoViewerProgram:  # If the command needs a viewer, `start_viewer` raises this error again.
        begun = None
    try:
        yield
    finally:
        if (unwanted := _pop_early()) is not None:
            unwanted.discard()
        elif begun is not None and begun.poll() is None:
            begun.terminate()
            begun.stop(LEFTOVER_S)


def start_viewer(name: str, config: Config, on_end: Callable[[ViewerProcess], None] | None = None) -> ViewerProcess:
    """Starts a viewer of the simulation `name`. The socket of this simulation must listen already. Returns at once.

    The viewer writes to the standard output and standard error of this process. on_end: function that is called on a
    separate thread after the viewer has ended. The viewer of a user's own loop is in a separate process group. So
    Ctrl-C in the loop's terminal does not interrupt the viewer. With `config.profile`, the trace begins here and is
    shared with the viewer. Raises NoViewerProgram if there is no program that may be started as a viewer, or if its
    start failed.
    """
    has_early = on_end is None and _early is not None and not config.web
    command = None if has_early else viewer_command((MEASURE if config.report else SERVE) if config.web else VIEW)
    trace = None
    if config.profile is not None:
        from twixt.ipc.trace.spans import PHYSICS
        from twixt.ipc.trace.trace_file import open_trace

        trace = open_trace(config, PHYSICS)
        config = config if trace is None else trace.shared_with(config)
    viewer = _pop_early() if has_early else None
    viewer = viewer or _start(command, on_end, config.users_loop)
    viewer.trace = trace
    viewer.send_order(name, config)
    return viewer


def _start(
    command: ViewerCommand | None = None,
    on_end: Callable[[ViewerProcess], None] | None = None,
    has_own_group: bool = False,
) -> ViewerProcess:
    """Starts a viewer that waits for its order. command: the command to run; None for the result of `viewer_command`.
    Raises NoViewerProgram."""
    command = command or viewer_command()
    try:
        return ViewerProcess(command.arguments, on_end, True, has_own_group, command.environ())
    except OSError as error:
        if exhaustion_advice(error):
            raise
        program = command.arguments[0]
        raise NoViewerProgram(f"cannot start the viewer's program {program!r} ({error.strerror})") from None


def _pop_early() -> ViewerProcess | None:
    global _early
    viewer, _early = _early, None
    return viewer


class ViewerProcess:
    """A child process from its start to its end.

    - awaits_order: True if the child waits for `send_order`. If this process ends before that call, the child ends by
      itself.
    - has_own_group: True if the child is in a separate process group.
    - environ: the child's environment; None for the environment of this process.
    - trace: the trace of the child's run, or None.
    - is_code_known: False if the child has ended and its exit code is not known.
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
        self.is_end_expected = False  # True if the child is ended on purpose. Its end is then not reported.
        self.is_code_known = True
        self._code: int | None = None
        self._ended = InterruptibleEvent()
        self._on_end = on_end
        environ = {**ONE_THREAD, **(os.environ if environ is None else environ)}
        self._spawned_ns = time.perf_counter_ns()
        with fork.LOCK:
            self._child = children.start(command, environ, awaits_order, has_own_group)
            fork.guard(self)
        threading.Thread(target=self._watch, name="twixt viewer", daemon=True).start()

    def send_order(self, name: str, config: Config) -> None:
        """Sends the name and the configuration to the viewer. Call this method only once."""
        from twixt.ipc.process.viewer_order import ViewerOrder

        self._child.send(ViewerOrder(config, name, os.getpid(), self._spawned_ns).to_line())

    def discard(self) -> None:
        """Kills the viewer before it has received an order. Returns after the process has ended."""
        self.kill()
        self.wait()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    def poll(self) -> int | None:
        """The child's exit code, or minus the number of a signal that killed the child. FAILED if the code is not
        known. None while the child runs."""
        return self._code if self._ended.is_set else None

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Waits until the child ends, and returns the same as `poll`. Returns None after the timeout, and in a forked
        process."""
        self._ended.wait(timeout_s)
        return self.poll()

    def terminate(self) -> None:
        """Sends SIGTERM to the child. Does nothing after the child has ended."""
        self._child.terminate()

    def kill(self) -> None:
        """Sends SIGKILL to the child. Does nothing after the child has ended."""
        self._child.kill()

    def stop(self, patience_s: float) -> int | None:
        """Waits `patience_s` seconds for the child to end by itself. If the child still runs, sends SIGTERM and waits
        again, then sends SIGKILL. Returns the child's exit code.

        A child that is stopped (SIGSTOP) cannot end by itself. So it is killed at once.
        """
        self.is_end_expected = True
        if self._child.is_stopped():
            self.kill()
        for send in (self.terminate, self.kill):
            if self.wait(patience_s) is not None:
                break
            send()
        return self.wait(patience_s)

    @property
    def ending(self) -> str:
        """Text that says how the viewer ended: "exited with code 2", "was killed by SIGKILL", "is running"."""
        code = self.poll()
        if code is None:
            return "is running"
        if not self.is_code_known:
            return "ended with an unknown exit code, because this process ignores SIGCHLD or waits for every child"
        if code >= 0:
            return f"exited with code {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`: a forked process must not wait for the viewer, because the viewer is not its
        child."""
        self._ended = InterruptibleEvent()
        self._ended.set()

    def _watch(self) -> None:
        code = self._child.wait()
        self.is_code_known = code is not None
        self._code = FAILED if code is None else code
        self._ended.set()
        if self._on_end is not None:
            self._on_end(self)
