"""What the tests of the channel share: a folder of names of their own, hosts and links that are closed
afterwards, and the promise that nothing stays open.
"""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import twixt
from tests.publishing import publish
from twixt.ipc import session
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import Head, new_bodies

# Long enough for a machine with every core taken; a test that waits so long has failed.
BOUND_S = 60.0
PROCESS = Path(__file__).with_name("session_process.py")
_names = itertools.count()


@pytest.fixture(autouse=True)
def names_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Names of these tests do not meet those of a simulation that runs here."""
    folder = tmp_path_factory.mktemp("run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder / "twixt"


@pytest.fixture
def name() -> str:
    return f"test{next(_names)}"


class Channel:
    """A host and its links, closed by the fixture."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tick = 0
        self.links: list[session.Link] = []
        self.host: session.Host

    def open(self, capacity: int = 4, **options: Any) -> session.Host:
        self.host = session.Host(session.open_listener(self.name), Scene([Sphere()] * capacity), capacity, **options)
        return self.host

    def attach(self, **options: Any) -> session.Link:
        self.links.append(session.attach(self.name, BOUND_S, **options))
        return self.links[-1]

    def publish(self, count: int = 4) -> int | None:
        """Visible when this returns, where a larger segment has to be made, too."""
        self.tick += 1
        published_ns = publish(self.host.ring, Head(tick=self.tick), new_bodies(count))
        assert self.host.ring.await_room(BOUND_S) or self.host.is_ended
        return published_ns


@pytest.fixture
def channel(name: str, nothing_left: None) -> Iterator[Channel]:
    channel = Channel(name)
    yield channel
    for link in channel.links:
        link.close()
    if hasattr(channel, "host"):
        channel.host.end()


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """After the test no descriptor and no thread is left that was not there before."""
    gc.collect()
    descriptors, threads = open_descriptors(), set(threading.enumerate())
    yield
    gc.collect()
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)  # it may be closing what it holds
    assert open_descriptors() - descriptors == set()
    assert set(threading.enumerate()) - threads == set()


def open_descriptors() -> set[str]:
    """What this process has open, with its number."""
    found = set()
    for entry in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{entry} {os.readlink(f'/proc/self/fd/{entry}')}")
        except FileNotFoundError:  # the listing itself
            pass
    return found


def _until(condition: Callable[[], Any]) -> Any:
    """What `condition` says as soon as it is true. Fails loudly after the bound."""
    deadline = time.monotonic() + BOUND_S
    pause = threading.Event()
    while not (answer := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        pause.wait(0.002)
    return answer


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    return _until


@pytest.fixture
def start(names_folder: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts `session_process.py` in a process of its own, with a part to play."""
    started: list[subprocess.Popen[bytes]] = []

    def start(part: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(twixt.__file__))}
        started.append(
            subprocess.Popen(
                [sys.executable, "-P", str(PROCESS), part, *arguments],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
