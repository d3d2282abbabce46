"""Images of a program on their way to viewers: the newest, whole, to late viewers too, and held up by none."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ipc.session.test_session_processes import Start, line
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.overlay import MOST_IMAGE_BYTES, OverlayImage, images_as_message
from twixt.ipc.session import Ended, wire
from twixt.ipc.session.messages import post, received
from twixt.ipc.session.viewers import WrittenOverlay

Until = Callable[[Callable[[], Any]], Any]
LARGE = np.zeros((MOST_IMAGE_BYTES // 3 // 2000, 2000, 3), np.uint8)


def write(host: Any, value: int, pixels: np.ndarray = LARGE) -> None:
    host.write_overlay(
        "images", *images_as_message([OverlayImage((0, 0, 2000, len(pixels)), pixels + np.uint8(value))])
    )


def shown(link: Any) -> int | None:
    link.poll()
    images = link.received.images
    return int(images[0].pixels[-1, -1, -1]) if images else None


def test_viewers_get_the_newest_images_whole_and_late_ones_too(channel: Any, until: Until) -> None:
    host = channel.open(4)
    early = channel.attach()
    assert shown(early) is None
    for value in range(1, 101):
        write(host, value)
    until(lambda: shown(early) == 100)
    assert early.received.images[0].pixels.shape == LARGE.shape
    late = channel.attach()
    until(lambda: shown(late) == 100)
    host.write_overlay("images", *images_as_message([]))
    until(lambda: not (shown(late), early.poll(), early.received.images)[2])


def test_a_viewer_that_is_stopped_holds_up_no_other_and_the_end_waits_for_no_pixels(
    channel: Any, start: Start, until: Until
) -> None:
    host = channel.open(4)
    reader = channel.attach()
    viewer = start("viewer", channel.name)
    assert line(viewer) == "attached"
    viewer.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, viewer.pid, os.WSTOPPED | os.WNOWAIT)
    for value in range(1, 21):
        write(host, value)
        until(lambda value=value: shown(reader) == value)
    host.end("ended", "enough")
    until(lambda: (reader.poll(), reader.ended)[1] is not None)
    assert reader.ended == Ended("ended", "enough")
    viewer.send_signal(signal.SIGCONT)


def test_a_message_whose_memory_is_not_as_it_says_is_refused() -> None:
    fields, content = images_as_message([OverlayImage((0, 0, 1, 1), np.zeros((1, 1, 3), np.uint8))])
    memory = os.memfd_create("pixels")
    pipe = os.pipe()
    os.write(memory, content)
    try:
        assert received(wire.Message("images", fields | {"size": 3}, b"", (memory,)))[0].rect == (0, 0, 1, 1)
        assert received(wire.Message("images", fields | {"size": 3}, content))[0].rect == (0, 0, 1, 1)
        for size, descriptors in ((4, (memory,)), (3, (pipe[0],)), (3, (memory, memory)), (3, ()), (-1, (memory,))):
            with pytest.raises(TwixtError):
                received(wire.Message("images", fields | {"size": size}, b"", descriptors))
        with pytest.raises(TwixtError, match="at most"):
            received(wire.Message("images", fields | {"size": MOST_IMAGE_BYTES + 1}, b"", (memory,)))
    finally:
        for descriptor in (memory, *pipe):
            os.close(descriptor)


def test_an_empty_message_needs_no_memory() -> None:
    queued: list[tuple[Any, ...]] = []

    class Viewer:
        def post(self, *arguments: Any) -> None:
            queued.append(arguments)

    post(Viewer(), "images", WrittenOverlay({"images": []}, b""))  # type: ignore[arg-type]
    ((kind, content, *descriptors),) = queued
    assert (kind, descriptors) == ("images", [])
    (message,) = wire.Inbox(1000).feed(content)
    assert received(message) == ()


def test_a_descriptor_passes_a_real_socket_and_is_closed_behind_it(nothing_left: None) -> None:
    from twixt.ipc.session.viewers import AttachedViewer

    ours, theirs = socket.socketpair()
    viewer = AttachedViewer(ours, 0)
    fields, content = images_as_message([OverlayImage((1, 2, 3, 4), np.full((2, 2, 3), 7, np.uint8))])
    post(viewer, "images", WrittenOverlay(fields, content))
    assert viewer.has_unsent("images")
    viewer.flush()
    assert not viewer.has_unsent("images")
    inbox = wire.Inbox(1000, 0, 1)
    (message,) = wire.receive(theirs, inbox, 1) or ()
    (image,) = received(message)
    assert (image.rect, image.pixels.tolist()) == ((1, 2, 3, 4), np.full((2, 2, 3), 7).tolist())
    wire.close_all(message.descriptors)
    inbox.close()
    viewer.close()
    theirs.close()
