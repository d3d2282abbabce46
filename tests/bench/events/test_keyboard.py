"""Keys for viewers' windows."""

from __future__ import annotations

import pytest

from bench.events.keyboard import Keyboard
from twixt.ipc.errors import TwixtError


def test_without_xdotool_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TwixtError, match="apt-get install xdotool"):
        Keyboard({})
