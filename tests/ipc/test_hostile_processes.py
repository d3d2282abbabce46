"""Processes that could do harm: a viewer that writes, and children of a world that outlive it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import twixt
from tests.ipc.hostile_process import WAYS
from tests.ipc.session.test_session_processes import BOUND_S, WHOLE, line
from twixt.ipc import session
from twixt.ipc.session.link import LOST

Until = Callable[[Callable[[], Any]], Any]
Start = Callable[..., "subprocess.Popen[bytes]"]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def start_hostile(names_folder: Path) -> Iterator[Start]:
    """Starts `hostile_process.py` with a part to play, in a process group of its own that is killed afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def start(part: str, *arguments: str) -> subprocess.Popen[bytes]:
        house = os.path.dirname(os.path.abspath(twixt.__file__))
        started.append(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.ipc.hostile_process", part, *arguments],
                env={**os.environ, "PYTHONPATH": os.pathsep.join([house, str(ROOT)])},
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="seals are Linux'")
def test_a_viewer_that_writes_into_the_snapshots_dies_of_it_and_physics_is_unharmed(
    channel: Any, start_hostile: Start, until: Until
) -> None:
    host = channel.open()
    channel.publish()
    honest = channel.attach()
    viewer = start_hostile("writing_viewer", channel.name)
    assert line(viewer) == "python refused"
    assert line(viewer) == "mprotect -1"
    before = bytes(host.ring.writer.memory.view)
    assert viewer.stdin is not None
    viewer.stdin.write(b"\n")
    assert viewer.wait(BOUND_S) == -signal.SIGSEGV
    assert bytes(host.ring.writer.memory.view) == before
    until(lambda: host.viewers == 1)
    channel.publish()
    assert [view.head.tick for view in honest.unread(WHOLE)] == [1, 2]
    assert honest.ended is None


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_world_starts_keeps_neither_memory_nor_connection_nor_name_of_its_own(
    name: str, start_hostile: Start, until: Until, way: str
) -> None:
    host = start_hostile("branching_host", name, way)
    assert line(host) == "ready"
    link = session.attach(name, BOUND_S)
    try:
        child = line(host)
        host.kill()
        assert link.wait(BOUND_S)
        assert link.ended == LOST  # though the child lives
        until(lambda: session.running() == [])  # a child just born may not have run a line yet
        assert Path(f"/proc/{child}").exists()
        until(lambda: not _kept_of_ours(child))
        until(lambda: "memfd:twixt" not in Path(f"/proc/{child}/maps").read_text())
        session.open_listener(name).close()  # the name is free for the next simulation
    finally:
        link.close()


def _kept_of_ours(process: str) -> list[str]:
    """Which of its descriptors are our memory or a socket; a world of these tests has none of its own."""
    kept = []
    for entry in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it is still starting, and closes what it opens
            kept.append(os.readlink(f"/proc/{process}/fd/{entry}"))
    return [what for what in kept if "memfd" in what or "socket:" in what]
