"""Displays and commands for the end-to-end tests: one X server for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.displays.rigs import Display, xvfb
from tests.end_to_end.processes import Starter, starter


@pytest.fixture(scope="module")
def shared_screen() -> Iterator[Display]:
    """An X server with a mapped screen."""
    with xvfb(map_screen=True) as display:
        yield display


@pytest.fixture
def start(shared_screen: Display, tmp_path: Path) -> Iterator[Starter]:
    """Starts `twixt` there, each test with names of its own."""
    with starter(tmp_path, shared_screen.environ) as starts:
        yield starts
