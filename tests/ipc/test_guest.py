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

from twixt.ipc import wire
from twixt.ipc.guest import COMMAND_COUNTS, MESSAGES_PER_S, SECOND_NS, Guest

BOUND_S = 60.0


@pytest.fixture
def guest(nothing_left: None) -> Iterator[Guest]:
    ours, theirs = socket.socketpair()
    guest = Guest(ours, 0)
    with theirs:
        yield guest
        guest.close()


@pytest.mark.parametrize(("kind", "most"), [("lead", MESSAGES_PER_S), ("command", MESSAGES_PER_S // COMMAND_COUNTS)])
def test_so_many_messages_a_second_are_heard_and_no_more_until_it_is_over(
    kind: str, most: int, nothing_left: None
) -> None:
    ours, theirs = socket.socketpair()
    guest = Guest(ours, 0)
    said = wire.encode(kind)

    def heard_at(now_ns: int) -> int:
        heard = 0
        while messages := guest.hear(now_ns):
            heard += len(messages)
        return heard

    with theirs:
        for began_ns in (0, SECOND_NS + 5):
            theirs.sendall(said * most)
            assert heard_at(began_ns) == most
            assert guest.deaf_until_ns <= began_ns
            theirs.sendall(said)
            assert heard_at(began_ns + 1) == 1
            assert guest.deaf_until_ns == began_ns + SECOND_NS
            assert guest.hear(began_ns + SECOND_NS - 1) is None
            assert guest.hear(began_ns + SECOND_NS) == []
        guest.close()


@pytest.mark.skipif(sys.platform != "linux", reason="a pipe's size is set as Linux does")
def test_a_wake_that_nobody_takes_is_never_waited_for(guest: Guest) -> None:
    reads = guest.open_wake()
    held = fcntl.fcntl(reads, fcntl.F_SETPIPE_SZ, 4096)

    def wake() -> None:
        for _ in range(held + 2):
            guest.wake()

    waking = threading.Thread(target=wake, daemon=True)
    waking.start()
    waking.join(BOUND_S)
    assert not waking.is_alive()
    assert len(os.read(reads, 2 * held)) == held
    os.close(reads)


def test_after_its_end_a_wake_goes_nowhere(guest: Guest) -> None:
    os.close(guest.open_wake())
    guest.close()
    guest.wake()
    guest.close()


def test_descriptors_on_their_way_are_closed_with_it(guest: Guest) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            guest.connection.send(bytes(65536))
    for kind in ("first", "second"):
        guest.post(kind, b"content", [os.open(os.devnull, os.O_RDONLY)])
    guest.flush()
    assert guest.has_more
    guest.post("second", b"newer", [os.open(os.devnull, os.O_RDONLY)])
    guest.close()
    assert not guest.has_more
