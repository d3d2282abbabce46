"""Every test here has a runtime folder of its own, so that no name meets another's, and what is left is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from twixt.ipc.host import Host
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import open_door


@pytest.fixture(autouse=True)
def runtime_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def make_host() -> Iterator[Callable[..., Host]]:
    """Hosts under the name "lab", ended with the test."""
    hosts: list[Host] = []

    def make(capacity: int = 4, scene: Scene | None = None) -> Host:
        hosts.append(Host(open_door("lab"), scene or Scene([Sphere()]), capacity))
        return hosts[-1]

    yield make
    for host in hosts:
        host.end()
