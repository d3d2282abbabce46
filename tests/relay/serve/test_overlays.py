"""What a program draws over the picture, as pages get it from a real server."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.relay.page import OverlayReader, Page
from tests.relay.serve.conftest import served
from twixt.ipc.interaction.overlay import MOST_IMAGE_BYTES, OverlayImage, images_as_message
from twixt.ipc.scene import Scene, Sphere
from twixt.relay.serve.viewer import MOST_PIECES
from twixt.relay.stream.messages import OVERLAY, SNAPSHOT

BALLS = Scene([Sphere(0.1)] * 3)
STEPS = 30


def large(value: int) -> OverlayImage:
    pixels = np.zeros((1024, MOST_IMAGE_BYTES // 3072, 3), np.uint8)
    pixels[:2] = value
    return OverlayImage((0, 0, 640, 480), pixels)


def test_images_of_8_mb_that_change_all_the_time_do_not_hold_up_snapshots(runtime_folder: Path) -> None:
    reader, values, between = OverlayReader(), list[int](), list[int]()
    with served() as made:
        made.simulate(BALLS)
        made.publish()
        made.serve()
        with Page(made.link) as page:
            page.snapshot()
            for step in range(STEPS):
                made.host.write_overlay("images", *images_as_message([large(step)]))
                made.publish()
                pieces = 0
                while (received := page.receive()).kind != SNAPSHOT or received.head["tick"] != made.tick:
                    if received.kind == OVERLAY:
                        pieces += 1
                        if reader.add(received):
                            values.append(int(reader.images[0].pixels[0, 0, 0]))
                between.append(pieces)
            while not values or values[-1] != STEPS - 1:
                if reader.add(page.until(lambda one: one.kind == OVERLAY)):
                    values.append(int(reader.images[0].pixels[0, 0, 0]))
    assert values == sorted(set(values)), "images arrived more than once, or an older one after a newer one"
    # Before a snapshot come the pieces on the way, and those for which the page makes room until the server wakes.
    assert np.median(between) <= 2 * MOST_PIECES
    assert len(values) < STEPS


def test_a_page_that_attaches_late_gets_the_images_of_the_program_and_hears_of_their_end(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS)
        image = OverlayImage((1, 2, 30, 40), np.arange(36, dtype=np.uint8).reshape(3, 4, 3))
        made.host.write_overlay("images", *images_as_message([image]))
        made.publish()
        made.serve()
        with Page(made.link) as page:
            reader = OverlayReader()
            assert reader.add(page.until(lambda one: one.kind == OVERLAY)) == "images"
            assert reader.images[0].rect == image.rect
            assert reader.images[0].pixels.tobytes() == image.pixels.tobytes()
            made.host.write_overlay("images", *images_as_message([]))
            assert reader.add(page.until(lambda one: one.kind == OVERLAY)) == "images"
            assert reader.images == ()
