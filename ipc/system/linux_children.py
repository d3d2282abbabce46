"""On Linux, this module starts child processes and waits for the end of processes. It uses pidfd and `waitid`.

A wait does not read the exit code immediately. So the kernel does not reuse the process id as long as a signal may be
sent to the child. If this process cannot read exit codes (SIGCHLD is ignored, or other code waits for every child),
the child sends its exit code over its standard input, which is then a socket.

Functions and classes without a docstring are described in `interface.Children`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading

from twixt.ipc.process import fork

assert sys.platform == "linux"  # type checkers for other systems read no further


class LinuxChild:
    """Implements `interface.Child`."""

    def __init__(self, command: list[str], environ: dict[str, str], reads_order: bool, has_own_group: bool) -> None:
        # imported here, because the import takes some ms, and processes without children do not need `subprocess`
        import subprocess

        self._is_over = False  # True after the exit code has been read, and in a forked child of this process
        self._reaping = threading.Lock()
        self._socket: socket.socket | None = None
        with fork.LOCK, contextlib.ExitStack() as theirs:
            reads = subprocess.DEVNULL
            if reads_order:
                self._socket, its_end = socket.socketpair()
                reads = theirs.enter_context(its_end).fileno()
            # The child gets its own process group, but not its own session. Linux schedules each session as a group,
            # and the nice value of a process has no effect against processes of other sessions.
            group = 0 if has_own_group else None
            try:
                self._process = subprocess.Popen(command, stdin=reads, env=environ, process_group=group)
            except OSError:
                if self._socket is not None:
                    self._socket.close()
                raise
            self.pid = self._process.pid
            self._pidfd: int | None = None
            # There are three causes of these errors: an older Linux, a Python that was built for an older Linux, or a
            # child that has already ended.
            with contextlib.suppress(AttributeError, OSError):
                self._pidfd = os.pidfd_open(self.pid)
            fork.guard(self)

    def send(self, content: bytes) -> None:
        assert self._socket is not None
        with contextlib.suppress(OSError):
            self._socket.sendall(content)
            self._socket.shutdown(socket.SHUT_WR)

    def wait(self) -> int | None:
        with contextlib.suppress(ChildProcessError):  # the child has ended, and other code has read its exit code
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            code = self._process.returncode
            if code is None:
                try:
                    code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
                except ChildProcessError:
                    code = self._sent_code()
                # The return code is set here. Otherwise the destructor of the Popen object would wait for the child.
                self._process.returncode = 0 if code is None else code
            self._is_over = True
            self._close()
        return code

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def is_stopped(self) -> bool:
        with self._reaping:
            if self._is_over:
                return False
            try:
                return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
            except ChildProcessError:  # the child has ended, and `wait` has not returned yet
                return False

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. The forked process must not send signals to this child, because it is a child of
        the parent."""
        self._is_over = True
        self._reaping = threading.Lock()
        self._close()

    def _signal(self, number: int) -> None:
        with self._reaping, contextlib.suppress(OSError):  # the child has ended, or other code closed the descriptor
            if self._is_over:
                return
            # If other code has read the exit code, the system may reuse the process id. It never reuses a pidfd.
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                self._process.send_signal(number)

    def _sent_code(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            if self._socket is not None:
                self._socket.setblocking(False)
                return int(self._socket.recv(16))
        return None

    def _close(self) -> None:
        """Closes the pidfd and the socket, unless other code has closed them."""
        with fork.LOCK:
            pidfd, self._pidfd = self._pidfd, None
            if pidfd is not None:
                with contextlib.suppress(OSError):
                    os.close(pidfd)
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.close()


def start(command: list[str], environ: dict[str, str], reads_order: bool, has_own_group: bool) -> LinuxChild:
    return LinuxChild(command, environ, reads_order, has_own_group)


def wait_for_end(pid: int, timeout_s: float | None = None) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except AttributeError:
        raise OSError("this Python has no os.pidfd_open, which needs Linux 5.3; use another Python") from None
    poller = select.poll()
    poller.register(process, select.POLLIN)
    has_ended = bool(poller.poll(None if timeout_s is None else timeout_s * 1000))
    os.close(process)
    return has_ended
