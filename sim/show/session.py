"""Contains the session of a view. It owns the view's host, with its name and memory, and the viewer process.

Nothing in this module refers to the view. So the session is closed at the moment when the user drops the last
reference to the view, even if threads wait for its viewer.

Always: the first `close` closes the session. Later calls do nothing. A forked child does not close its parent's
session. A viewer that crashed or never attached does not end the loop. It is reported once.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from twixt.ipc.commands import CONTROL
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import FINISHED, NO_DISPLAY, NoDisplay, TwixtError
from twixt.ipc.process import interrupts
from twixt.ipc.process.interrupts import InterruptibleEvent
from twixt.ipc.process.notices import print_notice
from twixt.ipc.ring.segments import HostEnded
from twixt.ipc.session.host import Host
from twixt.ipc.trace.spans import PHYSICS
from twixt.ipc.trace.trace_file import open_trace
from twixt.sim.process.viewer_command import NoViewerProgram
from twixt.sim.process.viewer_process import ViewerProcess, start_viewer
from twixt.sim.show.viewer_input import LoopStatus

if TYPE_CHECKING:
    from multiprocessing.util import Finalize

# Longest time, in seconds, that a viewer may take to exit after the end message. Then the viewer process is
# terminated.
VIEWER_TIMEOUT_S = 3.0
# Longest time, in seconds, that `close` waits for screenshots that were requested and not written yet. A viewer that
# was just started needs one or two seconds for its first frame.
SCREENSHOTS_TIMEOUT_S = 5.0
# A view with `seconds` ends at most so many seconds after these have passed. Its viewer counts from the end of its
# start-up, which takes about a second, and ends the view itself. This limit is for a viewer that hangs or starts
# slowly.
START_LIMIT_S = 10.0
# If a thread drops the last reference to a view, the thread waits until the view's memory and descriptors are freed.
# This is its longest wait, in seconds; usually the wait takes milliseconds. The garbage collector may run at any
# point, so the thread may hold a lock that closing needs. Then the wait ends at this limit, and the view is closed
# afterwards.
ABANDON_TIMEOUT_S = 2.0
NOT_KEPT = (
    "the view was closed before its window opened, because nothing refers to it any more; "
    "keep it in a variable: view = twixt.show(...), viewer = launch_passive(...)"
)


class ViewerSession:
    """The viewer and the host of one view, from `show` to `close`. Any thread may call its methods.

    - status: status of the loop, for viewers.
    - config: the viewer's configuration.
    - has_viewer: True to start a viewer now.
    - unreachable: text that says why no viewer can connect; empty if viewers can connect.
    - trace: trace of this process, or None without --profile.
    """

    def __init__(self, host: Host, config: Config, has_viewer: bool, unreachable: str = "") -> None:
        self.host, self.status = host, LoopStatus(host)
        self.is_closed = False  # True if nothing can be published any more.
        self._config, self._unreachable = config, unreachable
        # The lock is re-entrant, because a signal handler may call `close` during `close`.
        self._closing = threading.RLock()
        self._process: ViewerProcess | None = None
        self._replaced_viewers: list[ViewerProcess] = []  # Viewers that were replaced and perhaps have not exited yet.
        self._end_reason = ""
        # The reason that is given while there is no viewer process.
        self._no_viewer_because = "no viewer was requested (viewer=False)"
        self._has_quit = False
        self._owner_pid = os.getpid()
        self._begin_seconds()
        if not (has_viewer or unreachable):
            self._report(f"{self._no_viewer_because}; the loop continues without one")
        else:
            self._process = self._start_viewer(config)
        self.trace = open_trace(config, PHYSICS) if self._process is None else self._process.trace
        atexit.register(self.close)
        self._workers_exit = _at_workers_exit(self.close)

    @property
    def is_over(self) -> bool:
        """True if the loop should end. This is so after the session or its window was closed, and after its `seconds`
        have passed. Also True in a forked child, which cannot publish."""
        if os.getpid() != self._owner_pid:
            return True
        self.apply_commands()
        if self.is_closed or self._has_quit:
            return True
        process = self._process
        code = None if process is None else process.poll()
        if process is not None and code is None:
            return self._ends_ns is not None and self._is_overdue
        return code == FINISHED or self._are_seconds_over

    @property
    def close_reason(self) -> str | None:
        """Text that says why the view has no viewer of its own. None while it has a viewer or starts one."""
        if self.is_closed:
            return self._end_reason
        if os.getpid() != self._owner_pid:
            return "this is a forked child; the view belongs to the process that called show"
        if self.is_over:
            has_ended = self._are_seconds_over
            return f"the {self._config.seconds:g} s of the view are over" if has_ended else "the window was closed"
        process = self._process
        if process is None:
            return self._no_viewer_because
        code = process.poll()
        if code is None:
            return None
        return NO_DISPLAY if code == NoDisplay.exit_code else f"the viewer {process.ending}"

    def apply_commands(self) -> None:
        """Apply the commands of viewers: quit, and changes of controls. Send the values of controls that the program
        changed."""
        if self.status.are_values_stale:
            self.status.send_controls()
        for command in self.host.commands.drain():
            # A quit from the window before `reopen` has no effect.
            if command.name == "quit" and not 0 < command.acted_ns < self._opened_ns:
                self._has_quit = True
            elif command.name == CONTROL:
                index, value = command.value  # type: ignore[misc]
                self.status.set_value(int(index), float(value))

    @interrupts.delayed_ctrl_c()
    def reopen(self) -> None:
        """Start another viewer if none is running. Raises TwixtError after `close`, and in a forked child."""
        if os.getpid() != self._owner_pid:
            raise TwixtError("reopen must be called in the process that called show")
        with self._closing:
            if self.is_closed:
                raise TwixtError("this view is closed, so it cannot be reopened; open another with twixt.show(scene)")
            before = self._process
            if before is not None and before.poll() is None and not self._has_quit:
                if not self._is_overdue:
                    return
                before.terminate()
            self._replaced_viewers = [viewer for viewer in self._replaced_viewers if viewer.poll() is None]
            if before is not None:
                before.is_end_expected = True
                self._replaced_viewers.append(before)
            # The new viewer must not overwrite the files of the first viewer. A trace has room for only one viewer.
            config = replace(self._config, log=None, screenshot=None, profile=None)
            self._has_quit = False
            self._begin_seconds()
            self.host.viewer_attached.clear()
            self._process = self._start_viewer(config)

    def close(self, kind: str = "ended", message: str = "") -> None:
        """Send the end message to all viewers, close the window, wait for its process and free everything. kind,
        message: the contents of the end message, as for `Host.end`."""
        try:
            if kind == "ended" and not self.is_closed and (self.host.viewers or self.close_reason is None):
                self.host.screenshots.await_all(SCREENSHOTS_TIMEOUT_S)
        finally:
            if self._end(kind, message):
                self._await_viewer()

    def crash(self, message: str) -> None:
        """Close the session after an error in the loop. Does not wait for the viewers, which show the error for some
        seconds."""
        if self._end("crashed", message):
            self._run_on_thread(self._await_viewer)

    def abandon(self) -> None:
        """Close the session after the last reference to the view is gone. Does not wait for the viewer. Prints a
        notice if the window never opened and at most one state was published. The user then probably did not store the
        view."""
        if self.is_closed or os.getpid() != self._owner_pid:
            return
        newest = self.host.ring.newest()
        if (
            self._process is not None
            and not self.host.viewer_attached.is_set
            and (newest is None or newest.number == 1)
        ):
            print_notice(NOT_KEPT)
        is_free = InterruptibleEvent()

        def close() -> None:
            is_first = self._end("ended", "")
            is_free.set()
            if is_first:
                self._await_viewer()

        self._run_on_thread(close)
        is_free.wait(ABANDON_TIMEOUT_S)

    def _run_on_thread(self, work: Callable[[], None]) -> None:
        """Run `work` on a new thread. The interpreter waits for this thread before it exits."""
        try:
            threading.Thread(target=work, name="twixt close").start()
        except RuntimeError:  # The interpreter exits and starts no more threads.
            work()

    def _begin_seconds(self) -> None:
        seconds, self._opened_ns = self._config.seconds, time.perf_counter_ns()
        self._ends_ns = None if seconds is None else self._opened_ns + round(seconds * 1e9)

    @property
    def _are_seconds_over(self) -> bool:
        return self._ends_ns is not None and time.perf_counter_ns() >= self._ends_ns

    @property
    def _is_overdue(self) -> bool:
        """True if the `seconds` are over and the viewer, which still runs, need not be waited for. It has nothing to
        show, or it should have ended long ago."""
        if not self._are_seconds_over:
            return False
        late_ns = time.perf_counter_ns() - self._ends_ns  # type: ignore[operator]
        try:
            return late_ns > START_LIMIT_S * 1e9 or self.host.ring.newest() is None
        except HostEnded:  # Another thread has closed the view.
            return True

    @interrupts.delayed_ctrl_c()
    def _end(self, kind: str, message: str) -> bool:
        """Close the host. Returns True if this call closed the host. Returns False if it was already closed."""
        if os.getpid() != self._owner_pid:
            self.is_closed, self._end_reason = True, "the view belongs to the parent of this forked process"
            return False
        with self._closing:
            if self.is_closed:
                return False
            over = self.close_reason if self.is_over else None
            self._end_reason = over or message or "the view was closed with close()"
            self.is_closed = True
        atexit.unregister(self.close)
        if self._workers_exit is not None:
            self._workers_exit.cancel()
        if self._process is not None:
            self._process.is_end_expected = True
            if not self.host.viewer_attached.is_set:
                # A viewer that has not attached yet would report that there is no simulation.
                self._process.terminate()
        self.host.end(kind, message)
        return True

    def _await_viewer(self) -> None:
        for viewer in [*self._replaced_viewers, self._process]:
            if viewer is not None:
                viewer.stop(VIEWER_TIMEOUT_S)
        if self.trace is not None:
            self.trace.write()

    def _report_crash(self, viewer: ViewerProcess) -> None:
        code = viewer.poll()
        self.apply_commands()
        if not self.host.viewers:
            self.host.screenshots.fail_all(f"the viewer {viewer.ending}")
        if viewer.is_end_expected or code == FINISHED or self._has_quit:
            return
        if code == NoDisplay.exit_code:
            self._report(f"{NO_DISPLAY}; the loop continues without a viewer")
        else:
            self._report(f"the viewer {viewer.ending}; the loop continues without it")

    def _start_viewer(self, config: Config) -> ViewerProcess | None:
        """Starts a viewer. Prints a notice and returns None if no viewer can connect or no program can be started."""
        if self._unreachable:
            self._no_viewer_because = self._unreachable
            print_notice(f"{self._unreachable}; the loop continues without a viewer")
            return None
        try:
            return start_viewer(self.host.name, config, self._report_crash)
        except NoViewerProgram as error:
            self._no_viewer_because = str(error)
            self._report(f"{error}; the loop continues without a viewer", "")
            return None

    def _report(self, what: str, reopen: str = "with view.reopen(), or ") -> None:
        print_notice(f"{what}; open a window {reopen}in a terminal: twixt view {self.host.name}")


def _at_workers_exit(close: Callable[[], None]) -> Finalize | None:
    """Registers `close` to be called when a multiprocessing worker exits, because forked workers do not run `atexit`
    functions. Returns None in other processes."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is None or processes.parent_process() is None:
        return None
    from multiprocessing.util import Finalize

    return Finalize(None, close, exitpriority=0)
