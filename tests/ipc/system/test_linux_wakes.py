"""Wakes through a pipe."""

from __future__ import annotations

import contextlib
import os
import socket

import pytest

from tests.ipc.ring.test_memory import in_forked_child
from twixt.ipc.system import linux_wakes


def is_readable(waitable: linux_wakes.PipeReceiver) -> bool:
    poller = linux_wakes.poller()
    poller.register(waitable, linux_wakes.READABLE)
    return bool(poller.poll(0))


def test_a_wake_is_taken_once_however_many_came() -> None:
    sender = linux_wakes.sender()
    descriptor = sender.viewer_descriptor()
    with contextlib.closing(linux_wakes.receiver(descriptor)) as receiver:
        os.close(descriptor)
        assert (is_readable(receiver), receiver.drain()) == (False, False)
        sender.wake()
        sender.wake()
        assert (is_readable(receiver), receiver.drain(), receiver.drain()) == (True, True, False)
        sender.close()
        sender.wake()
        assert not receiver.drain()
    sender.close()


def test_what_is_no_pipe_brings_no_wakes() -> None:
    with socket.socket() as other, pytest.raises(ValueError, match="not a pipe"):
        linux_wakes.receiver(other.fileno())


def test_a_forked_childs_copy_wakes_nobody() -> None:
    sender = linux_wakes.sender()
    descriptor = sender.viewer_descriptor()
    with contextlib.closing(linux_wakes.receiver(descriptor)) as receiver:
        os.close(descriptor)
        assert in_forked_child(lambda: str(sender.wake())) == "None"
        assert not receiver.drain()
        sender.wake()
        assert receiver.drain()
    sender.close()
