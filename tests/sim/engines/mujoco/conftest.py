"""A handle without a window, and a reader of what it publishes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sim.engines.mujoco.models import MOVING, Launch, Reader
from twixt.ipc.session import attach


@pytest.fixture
def launch() -> Iterator[Launch]:
    """Makes handles of `MOVING`, or of other models, with a reader each; they end with the test."""
    import mujoco

    from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive

    opened: list[Any] = []

    def make(xml: str = MOVING, **options: Any) -> tuple[Any, Reader]:
        model = mujoco.MjModel.from_xml_string(xml)
        handle = launch_passive(model, mujoco.MjData(model), viewer=False, **options)
        link = attach(handle._view.name)
        opened.extend([link, handle])
        return handle, Reader(handle._view, link)

    yield make
    for each in opened:
        each.close()
