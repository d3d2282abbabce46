"""A sheet blended over a picture changes the pixels of its rectangles alone, as drawing over the picture would."""

from __future__ import annotations

import numpy as np

from tests.render.draw.conftest import SIZE_PX
from twixt.render.draw.flat.overlay_sheet import Sheet
from twixt.render.draw.flat.panel_backgrounds import TINT, Rectangle

APART = (Rectangle(5, 5, 205, 60), Rectangle(240, 10, 390, 90), Rectangle(10, 250, 395, 290))
OTHERS = (Rectangle(15, 15, 60, 200),)
SHADE = (100, 50, 25)
ROUNDED = 1


def test_another_sheet_and_other_rectangles_are_seen_at_once(studio):
    sheet = Sheet()
    for red, rectangles in ((0.0, APART), (1.0, APART), (1.0, OTHERS), (0.0, APART[:1]), (0.0, ()), (0.5, APART)):
        studio.framebuffer.use()
        with sheet.drawing(SIZE_PX, rectangles, (red, *TINT[1:])):
            pass
        studio.framebuffer.use()
        studio.framebuffer.clear(*(shade / 255 for shade in SHADE), 1.0)
        sheet.blend(SIZE_PX)
        found = np.frombuffer(studio.framebuffer.read(components=3, alignment=1), np.uint8)
        wanted = np.full((SIZE_PX[1], SIZE_PX[0], 3), SHADE, float)
        tint, alpha = np.array((red, *TINT[1:3])) * 255, TINT[3]
        for left, top, right, bottom in rectangles:
            wanted[top:bottom, left:right] += (tint - SHADE) * alpha
        assert np.abs(found.reshape(wanted.shape)[::-1] - wanted).max() <= ROUNDED
        assert sheet.rectangles == rectangles
    sheet.release()
