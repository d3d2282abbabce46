"""What physics does for a viewer that is frozen, by the kernel's count."""

from __future__ import annotations

import os
import resource
import signal
from typing import Any

from tests.ipc.session.test_session_processes import Start, Until, line

SNAPSHOTS = 300


def waits() -> int:
    """How often this thread has given its core away by itself, by the kernel's count."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def test_publishing_to_a_frozen_viewer_wakes_nobody_and_never_waits(
    channel: Any,
    start: Start,
    until: Until,
) -> None:
    host = channel.open(64)
    viewer = start("viewer", channel.name)
    assert line(viewer) == "attached"
    until(lambda: len(host._service.wakes))
    viewer.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, viewer.pid, os.WSTOPPED | os.WNOWAIT)
    channel.publish(64)  # the one wake that it had asked for
    before = waits()
    for _ in range(SNAPSHOTS):
        channel.publish(64)
    assert waits() - before == 0
    assert len(host._service.wakes) == 0
    viewer.send_signal(signal.SIGCONT)
    link = channel.attach()
    assert [view.head.tick for view in link.unread(1 << 30)][-1] == SNAPSHOTS + 1
