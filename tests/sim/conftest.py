"""A runtime folder for every test here, so that names of simulations do not collide and leftover files are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import open_listener
from twixt.ipc.session.host import Host


@pytest.fixture(autouse=True)
def runtime_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def make_host() -> Iterator[Callable[..., Host]]:
    """Makes hosts under the name "lab", which end with the test."""
    hosts: list[Host] = []

    def make(capacity: int = 4, scene: Scene | None = None) -> Host:
        hosts.append(Host(open_listener("lab"), scene or Scene([Sphere()]), capacity))
        return hosts[-1]

    yield make
    for host in hosts:
        host.end()
