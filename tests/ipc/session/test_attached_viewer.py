"""One viewer, as the simulation sees it, at the end of a socket that nobody reads."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from twixt.ipc.session import wire
from twixt.ipc.session.attached_viewer import COMMAND_WEIGHT, MESSAGES_PER_S, SECOND_NS, AttachedViewer

BOUND_S = 60.0


@pytest.fixture
def viewer(nothing_left: None) -> Iterator[AttachedViewer]:
    ours, theirs = socket.socketpair()
    viewer = AttachedViewer(ours, 0)
    with theirs:
        yield viewer
        viewer.close()


@pytest.mark.parametrize(("kind", "most"), [("lead", MESSAGES_PER_S), ("command", MESSAGES_PER_S // COMMAND_WEIGHT)])
def test_so_many_messages_a_second_are_heard_and_no_more_until_it_is_over(
    kind: str, most: int, nothing_left: None
) -> None:
    ours, theirs = socket.socketpair()
    viewer = AttachedViewer(ours, 0)
    said = wire.encode(kind)

    def heard_at(now_ns: int) -> int:
        heard = 0
        while messages := viewer.receive(now_ns):
            heard += len(messages)
        return heard

    with theirs:
        for began_ns in (0, SECOND_NS + 5):
            theirs.sendall(said * most)
            assert heard_at(began_ns) == most
            assert viewer.muted_until_ns <= began_ns
            theirs.sendall(said)
            assert heard_at(began_ns + 1) == 1
            assert viewer.muted_until_ns == began_ns + SECOND_NS
            assert viewer.receive(began_ns + SECOND_NS - 1) is None
            assert viewer.receive(began_ns + SECOND_NS) == []
        viewer.close()


@pytest.mark.skipif(sys.platform != "linux", reason="a pipe's size is set as Linux does")
def test_a_wake_that_nobody_takes_is_never_waited_for(viewer: AttachedViewer) -> None:
    reads = viewer.open_wakes()
    held = fcntl.fcntl(reads, fcntl.F_SETPIPE_SZ, 4096)

    def wake() -> None:
        for _ in range(held + 2):
            viewer.wake()

    waking = threading.Thread(target=wake, daemon=True)
    waking.start()
    waking.join(BOUND_S)
    assert not waking.is_alive()
    assert len(os.read(reads, 2 * held)) == held
    os.close(reads)


def test_after_its_end_a_wake_goes_nowhere(viewer: AttachedViewer) -> None:
    os.close(viewer.open_wakes())
    viewer.close()
    viewer.wake()
    viewer.close()


def test_descriptors_on_their_way_are_closed_with_it(viewer: AttachedViewer) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            viewer.connection.send(bytes(65536))
    for kind in ("first", "second"):
        viewer.post(kind, b"content", [os.open(os.devnull, os.O_RDONLY)])
    viewer.flush()
    assert viewer.has_more
    viewer.post("second", b"newer", [os.open(os.devnull, os.O_RDONLY)])
    viewer.close()
    assert not viewer.has_more
