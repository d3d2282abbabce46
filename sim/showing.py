"""What a view keeps open: the name and memory of its host, and the viewer that was started with it.

One idea: nothing here knows the view, so that the last reference to a view takes all of this along, whatever threads
still wait for its viewer. Always: it is closed once, by whoever asks first; a forked child closes nothing of its
parent's. A viewer that crashed or never came is no reason to end the loop, and is told of once.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from twixt.ipc import ctrl_c
from twixt.ipc.config import Config
from twixt.ipc.errors import NO_DISPLAY, NoDisplay, TwixtError
from twixt.ipc.host import Host
from twixt.ipc.spans import PHYSICS
from twixt.ipc.trace_file import open_trace
from twixt.sim.viewer_process import ViewerProcess, start_viewer

# A viewer that is told of the end closes its window and goes; longer than this, and it is made to (seconds).
VIEWER_PATIENCE_S = 3.0
# Whoever drops the last reference to a view waits so long for its memory and descriptors, milliseconds as a rule. The
# collector may drop it where a lock is held that the closing needs; then it goes on and the closing follows.
LEAVE_PATIENCE_S = 2.0
# A viewer's exit code where its window was closed, or its seconds were over.
CLOSED = 0


class Showing:
    """Of one view, from `show` to `close`. Its methods may be called from any thread.

    config: what its viewers get. has_viewer: start one now.
    """

    def __init__(self, host: Host, config: Config, has_viewer: bool) -> None:
        self.host = host
        self.is_closed = False  # nothing can be shown any more
        self._config = config
        self._closing = threading.RLock()  # a signal handler may close what is being closed
        self._process: ViewerProcess | None = None
        self._leaving: list[ViewerProcess] = []  # whose windows were closed and that may still be about to end
        self._ending = ""  # why it is closed
        self._has_quit = False
        self._owner_pid = os.getpid()
        self._opened_ns = time.perf_counter_ns()
        if has_viewer:
            self._process = start_viewer(host.name, config, self._tell_of_crash)
            self.trace = self._process.trace
        else:
            self.trace = open_trace(config, PHYSICS)
            self._say("no viewer was asked for (viewer=False); the loop goes on without one")
        atexit.register(self.close)

    @property
    def is_over(self) -> bool:
        """Whether the loop is to end: closed by either side, or `seconds` are over."""
        self.obey()
        if self.is_closed or self._has_quit:
            return True
        process = self._process
        code = None if process is None else process.poll()
        if process is not None and code is None:
            return False
        return code == CLOSED or self._are_seconds_over

    @property
    def closed_because(self) -> str | None:
        """Why no viewer of its own is there, in words; None while one is, or is on its way."""
        if self.is_closed:
            return self._ending
        if self.is_over:
            return f"its {self._config.seconds:g} s are over" if self._are_seconds_over else "its window was closed"
        process = self._process
        if process is None:
            return "no viewer was asked for (viewer=False)"
        code = process.poll()
        if code is None:
            return None
        return NO_DISPLAY if code == NoDisplay.exit_code else f"the viewer {process.ending}"

    def obey(self) -> None:
        """Takes in what viewers asked for: there is nothing here that they may ask for but the end."""
        for command in self.host.drain_commands():
            # What was asked of a window before another one was opened counts no more.
            if command.name == "quit" and not 0 < command.acted_ns < self._opened_ns:
                self._has_quit = True

    @ctrl_c.held_back()
    def reopen(self) -> None:
        """Another viewer where there is none. Raises TwixtError after the end."""
        if os.getpid() != self._owner_pid:
            raise TwixtError("reopen must be called in the process that called show")
        with self._closing:
            if self.is_closed:
                raise TwixtError("this view is closed, so it cannot be reopened; open another with twixt.show(scene)")
            before = self._process
            if before is not None and before.poll() is None and not self._has_quit:
                return
            self._leaving = [viewer for viewer in self._leaving if viewer.poll() is None]
            if before is not None:
                before.is_to_end = True
                self._leaving.append(before)
            # What one viewer wrote stays as it is, and a trace has room for one.
            config = replace(self._config, log=None, screenshot=None, profile=None)
            self._opened_ns, self._has_quit = time.perf_counter_ns(), False
            self.host.viewer_came.clear()
            self._process = start_viewer(self.host.name, config, self._tell_of_crash)

    def close(self, kind: str = "ended", message: str = "") -> None:
        """Tell the viewers, close the window, leave nothing behind."""
        if self._end(kind, message):
            self._await_viewer()

    def crash(self, message: str) -> None:
        """`close` after an error of the loop's, which shows at once: viewers show it for some seconds meanwhile."""
        if self._end("crashed", message):
            self._apart(self._await_viewer)

    def leave(self) -> None:
        """`close`, without a wait for the viewer: nobody has the view any more."""
        if self.is_closed or os.getpid() != self._owner_pid:
            return
        is_free = threading.Event()

        def close() -> None:
            is_first = self._end("ended", "")
            is_free.set()
            if is_first:
                self._await_viewer()

        self._apart(close)
        is_free.wait(LEAVE_PATIENCE_S)

    def _apart(self, work: Callable[[], None]) -> None:
        """Does it on a thread, which the interpreter waits for where it ends meanwhile."""
        try:
            threading.Thread(target=work, name="twixt close").start()
        except RuntimeError:  # the interpreter is ending: there are no more threads
            work()

    @property
    def _are_seconds_over(self) -> bool:
        seconds = self._config.seconds
        return seconds is not None and time.perf_counter_ns() - self._opened_ns >= seconds * 1e9

    @ctrl_c.held_back()
    def _end(self, kind: str, message: str) -> bool:
        """Whether it was open until now."""
        if os.getpid() != self._owner_pid:
            self.is_closed, self._ending = True, "it belongs to the process that forked this one"
            return False
        with self._closing:
            if self.is_closed:
                return False
            over = self.closed_because if self.is_over else None
            self._ending = over or message or "it was closed with close()"
            self.is_closed = True
        atexit.unregister(self.close)
        if self._process is not None:
            self._process.is_to_end = True
            if not self.host.viewer_came.is_set():
                self._process.terminate()  # before it finds a closed door and tells of that
        self.host.end(kind, message)
        return True

    def _await_viewer(self) -> None:
        for viewer in [*self._leaving, self._process]:
            if viewer is not None:
                viewer.stop(VIEWER_PATIENCE_S)
        if self.trace is not None:
            self.trace.write()

    def _tell_of_crash(self, viewer: ViewerProcess) -> None:
        code = viewer.poll()
        self.obey()
        if viewer.is_to_end or code == CLOSED or self._has_quit:
            return
        if code == NoDisplay.exit_code:
            self._say(f"{NO_DISPLAY}; the loop goes on without a viewer")
        else:
            self._say(f"the viewer {viewer.ending}; the loop goes on without it")

    def _say(self, what: str) -> None:
        see = f"see it with view.reopen(), or in a terminal: twixt view {self.host.name}"
        print(f"twixt: {what}; {see}", file=sys.stderr, flush=True)
