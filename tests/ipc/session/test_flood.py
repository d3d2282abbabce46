"""A viewer that says more than anybody has reason for costs physics next to nothing, and no other viewer anything."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from typing import Any

import pytest

from twixt.ipc import session
from twixt.ipc.commands import WAITING_LIMIT
from twixt.ipc.session import service, viewers, wire
from twixt.ipc.system.linux_names import SUFFIX, runtime_folder

Until = Callable[[Callable[[], Any]], Any]
HOUR_NS = 3_600_000_000_000
STEP = wire.encode("command", {"name": "step"})


@pytest.fixture
def long_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second that no test sees the end of."""
    monkeypatch.setattr(viewers, "SECOND_NS", HOUR_NS)


@contextlib.contextmanager
def caller(name: str):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(os.path.join(runtime_folder(), name + SUFFIX))
        connection.sendall(wire.encode("attach"))
        yield connection


def flood(connection: socket.socket) -> int:
    """As many commands as the socket takes; how many that were."""
    connection.setblocking(False)
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while sent < 1_000_000 * len(STEP):
            sent += connection.send(STEP * 100)
    return sent // len(STEP)


def test_of_a_flood_a_hundred_commands_a_second_are_heard_and_other_viewers_at_once(
    channel: Any, long_second: None, until: Until
) -> None:
    host = channel.open()
    link = channel.attach()
    with caller(channel.name) as connection:
        until(lambda: host.viewers == 2)
        sent = flood(connection)
        until(lambda: host.commands.refused > 0)
        heard_at_most = viewers.MESSAGES_PER_S // viewers.COMMAND_WEIGHT + viewers.RECEIVE_BYTES // len(STEP) + 1
        assert sent > 3 * heard_at_most
        for _ in range(3):  # asked and answered after all that was read of the flood
            assert link.request_report(60) is None
        assert link.send(session.Command("pause"))
        names: list[str] = []
        until(lambda: names.extend(command.name for command in host.commands.drain()) or "pause" in names)
        assert names.count("step") == WAITING_LIMIT
        assert host.commands.refused + WAITING_LIMIT <= heard_at_most
        assert host.viewers == 2


def test_who_leaves_in_a_flood_does_not_go_on_with_it_at_the_door(
    channel: Any, long_second: None, until: Until
) -> None:
    host = channel.open()
    link = channel.attach()
    with caller(channel.name) as connection:
        until(lambda: host.viewers == 2)
        flood(connection)
        until(lambda: host.commands.refused > 0)
    until(lambda: host.viewers == 1)
    with caller(channel.name):
        for _ in range(5):  # it would be let in, and heard, meanwhile
            assert link.request_report(60) is None
        assert host.viewers == 1
    assert link.ended is None


def test_callers_are_let_in_one_by_one_once_a_number_came_at_once(
    channel: Any, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    monkeypatch.setattr(service, "ADMISSION_INTERVAL_NS", HOUR_NS)
    monkeypatch.setattr(service, "ADMISSION_BURST_NS", 3 * HOUR_NS)
    host = channel.open()
    with contextlib.ExitStack() as callers:
        for _ in range(6):
            callers.enter_context(caller(channel.name))
        until(lambda: host.viewers == 4)
        host.set_status({})
    assert host._service._accept_after_ns > 0
    until(lambda: host.viewers == 0)
