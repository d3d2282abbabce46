from __future__ import annotations

import pytest

from tests.render.scene.staged import SIZE_PX
from twixt.render.display.offscreen import OffscreenWindow


@pytest.fixture(scope="module")
def window() -> OffscreenWindow:
    return OffscreenWindow(SIZE_PX)
