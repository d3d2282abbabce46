"""A simulation in this process whose snapshots the test publishes, and a real server process that shows it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twixt
from tests.publishing import NO_COLUMNS, publish
from twixt.ipc import session
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import Head, new_bodies

PATIENCE_S = 60.0
_names = itertools.count()


class Served:
    """A simulation and its server. link: the printed link."""

    def __init__(self, name: str) -> None:
        self.name, self.tick = name, 0
        self.host: session.Host
        self.process: subprocess.Popen[str]
        self.link = ""

    def simulate(self, scene: Scene, capacity: int = 8, **options: Any) -> None:
        """Runs a simulation of that name."""
        self.tick = 0
        self.host = session.Host(session.open_listener(self.name), scene, capacity, **options)

    def publish(self, bodies: np.ndarray | None = None, columns: Any = NO_COLUMNS, **head: Any) -> np.ndarray:
        """Publishes the next snapshot; returns its bodies."""
        self.tick += 1
        bodies = new_bodies(len(self.host.scene.unpacked().shapes)) if bodies is None else bodies
        bodies["position"][:, 0] = self.tick
        version = self.host.scene.version
        fields = {"tick": self.tick, "sim_time_ns": self.tick * 10_000_000, "scene_version": version} | head
        publish(self.host.ring, Head(**fields), bodies, columns)
        return bodies

    def serve(self, *arguments: str) -> str:
        """Starts the server; returns the link."""
        self.process = start("serve", self.name, *arguments)
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()
        return self.link

    def end(self) -> None:
        """Ends both."""
        if hasattr(self, "process"):
            stopped(self.process)
        if hasattr(self, "host"):
            self.host.end()


def start(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    """`twixt ARGUMENTS`, running."""
    return subprocess.Popen(
        [sys.executable, str(twixt.__file__), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environ},
    )  # fmt: skip


def stopped(process: subprocess.Popen[str]) -> str:
    """Kills it, if it still runs; what it said since."""
    process.kill()
    return "".join(process.communicate(timeout=PATIENCE_S))


@contextmanager
def served(name: str = "") -> Iterator[Served]:
    """A `Served` that is ended."""
    made = Served(name or f"served{next(_names)}")
    try:
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def runtime_folder() -> Iterator[Path]:
    """Folder of names of this file's own."""
    with (
        tempfile.TemporaryDirectory(prefix="twixt-tests-", dir="/tmp") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def until(condition: Any, what: str) -> Any:
    """The condition's answer, as soon as it is true."""
    for _ in range(round(PATIENCE_S / 0.01)):
        if answer := condition():
            return answer
        threading.Event().wait(0.01)
    raise AssertionError(f"waited {PATIENCE_S:g} s in vain: {what}")
