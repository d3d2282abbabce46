"""Images of a program in the pixels of a picture."""

from __future__ import annotations

from typing import Any

import moderngl
import numpy as np
import pytest

from twixt.ipc.interaction.overlay import OverlayImage
from twixt.render.draw.flat.rectangles import Rectangle
from twixt.render.overlay.program_pictures import ProgramPictures

SIZE_PX = (64, 48)
NOISE = np.random.default_rng(1).integers(0, 256, (10, 15, 3), np.uint8)  # rows of 45 bytes: no multiple of four


@pytest.fixture(scope="module")
def shared() -> moderngl.Context:
    return moderngl.create_standalone_context(require=330, backend="egl")


def drawn(shared: Any, pictures: ProgramPictures, images: Any, reserved: tuple[Rectangle, ...] = ()) -> np.ndarray:
    framebuffer = shared.simple_framebuffer(SIZE_PX)
    framebuffer.use()
    framebuffer.clear(0.2, 0.4, 0.6)
    pictures.set_images_shown(images)
    has_drawn = pictures.draw(SIZE_PX, reserved)
    assert has_drawn == bool(images)
    pixels = np.frombuffer(framebuffer.read(), np.uint8).reshape(48, 64, 3)[::-1].copy()
    framebuffer.release()
    return pixels


def test_pixels_stand_where_the_program_wants_them_the_upper_row_first(shared: Any) -> None:
    pictures = ProgramPictures()
    images = (OverlayImage((5, 7, 15, 10), NOISE), OverlayImage((-3, 40, 15, 10), NOISE))
    picture = drawn(shared, pictures, images)
    assert np.array_equal(picture[48 - 17 : 48 - 7, 5:20], NOISE)
    assert np.array_equal(picture[:8, :12], NOISE[2:, 3:])
    picture[48 - 17 : 48 - 7, 5:20] = picture[:8, :12] = (51, 102, 153)
    assert (picture == (51, 102, 153)).all()
    newer = (OverlayImage((5, 7, 15, 10), 255 - NOISE),)
    picture = drawn(shared, pictures, newer)
    assert np.array_equal(picture[48 - 17 : 48 - 7, 5:20], 255 - NOISE)
    assert (picture[:8, :12] == (51, 102, 153)).all()
    assert (drawn(shared, pictures, ()) == (51, 102, 153)).all()
    pictures.release()


def test_an_image_is_stretched_to_its_rectangle_and_kept_clear(shared: Any) -> None:
    pictures = ProgramPictures()
    halves = np.zeros((2, 2, 3), np.uint8)
    halves[:, 1] = 255
    picture = drawn(shared, pictures, (OverlayImage((0, 0, 40, 20), halves),), (Rectangle(0, 40, 64, 48),))
    assert (picture[20:40, :10] == 0).all()
    assert (picture[20:40, 30:40] == 255).all()
    assert (picture[40:] == (51, 102, 153)).all()
    pictures.release()
