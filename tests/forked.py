"""Commands of twixt without the half second in which each start imports the same: in forks of a process that has done so.

For tables of commands that are refused or end by themselves. That a command starts in a process of its own, and what it
has imported by then, is for tests that start it.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import twixt

CHECKOUT = str(Path(twixt.__file__).parent)
# Most of a request: its environment above all.
MOST_BYTES = 1 << 16
IMPORTED = ("twixt.cli.command_line", "twixt.sim.worlds.find", "twixt.sim.process.run")
PATIENCE_S = 90.0


class Forks:
    """Runs commands one after another."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        server.settimeout(PATIENCE_S)

    def __call__(self, folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """`twixt ARGUMENTS` in a folder. environ: by default the present environment. Its processes are a group of their
        own, which is empty when it has ended."""
        request = json.dumps([str(folder), environ or dict(os.environ), arguments]).encode()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            socket.send_fds(self._server, [request], [out.fileno(), err.fileno()])
            pid, status = json.loads(self._server.recv(MOST_BYTES))
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode())
        assert not _is_alive(pid), f"{arguments} left a process: {said}"
        return subprocess.CompletedProcess(["twixt", *arguments], os.waitstatus_to_exitcode(status), *said)


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def forks() -> Iterator[Forks]:
    """A process of which commands are forked."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    serve = f"import sys; sys.path[:0] = [{CHECKOUT!r}]; from tests.forked import serve; serve({theirs.fileno()})"
    with ours, subprocess.Popen([sys.executable, "-P", "-c", serve], pass_fds=[theirs.fileno()]) as server:
        theirs.close()
        try:
            yield Forks(ours)
        finally:
            ours.close()
            server.wait(PATIENCE_S)


def serve(descriptor: int) -> None:
    """Forks a process for each request, and answers with its number and status, until nobody asks any more."""
    for name in IMPORTED:
        importlib.import_module(name)
    with socket.socket(fileno=descriptor) as asks:
        while True:
            request, descriptors, _, _ = socket.recv_fds(asks, MOST_BYTES, 2)
            if not request:
                return
            child = os.fork()
            if not child:
                asks.close()
                _become(descriptors, *json.loads(request))
            for each in descriptors:
                os.close(each)
            asks.send(json.dumps(os.waitpid(child, 0)).encode())


def _become(descriptors: list[int], folder: str, environment: dict[str, str], arguments: list[str]) -> None:
    os.setsid()
    for number, each in enumerate(descriptors, 1):
        os.dup2(each, number)
        os.close(each)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(twixt.__file__), *arguments]
    sys.exit(twixt.main())
