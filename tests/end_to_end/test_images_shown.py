"""Images of a program are seen in the real window, clear of the panels, also where nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.displays.rigs import Display
from tests.end_to_end.observer import open_screen
from tests.end_to_end.processes import Starter, focus, until, xdotool

pytestmark = pytest.mark.display

LOOP = """
from time import sleep
import numpy as np
import twixt
image = np.zeros((60, 80, 3), np.uint8)
image[:, :] = 250, 10, 90
image[:20, :20] = 10, 200, 250
with twixt.show(twixt.Scene([twixt.Sphere()]), size_px=(640, 480), {more}) as view:
    view.publish(position=[(0, 0, 0)])  # once: then the picture rests
    while view.is_open and view.size_px is None:
        sleep(0.005)
    view.set_images([twixt.OverlayImage((30, 10, 80, 60), image)])
    image[:, :] = 0  # it was copied
    while view.is_open:
        sleep(0.005)
"""
# Height that the keys' panel takes at the bottom, as far as the image would stand in it.
MOVED_PX = 46


@pytest.mark.parametrize(("more", "moved_px"), [("overlay=False", 0), ("", MOVED_PX)])
def test_an_image_is_seen_where_the_panels_leave_room(
    start: Starter, shared_screen: Display, more: str, moved_px: int
) -> None:
    assert shared_screen.screen_file is not None
    screen = open_screen(str(shared_screen.screen_file))
    run = start.script(LOOP.replace("{more}", more))
    run.viewer()

    def whole() -> bool:
        return int(np.all(screen[:480, :640, :3] == (90, 10, 250), axis=2).sum()) == 80 * 60 - 20 * 20

    until(whole, "the image on the screen")
    picture = screen[:480, :640, :3].copy()
    rows, columns = np.nonzero(np.all(picture == (90, 10, 250), axis=2))
    top = 480 - 10 - 60 - moved_px
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (30, 109, top, top + 59)
    assert (picture[top : top + 20, 30:50] == (250, 200, 10)).all()
    focus(run, start.display)
    xdotool(start.display, "key", "Escape")
    assert run.end() == 0
