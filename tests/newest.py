"""Newest snapshots that a link reads, waited for: before the first publish, and where the writer overtakes every
attempt of a read, `Link.latest_pair` is empty."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from twixt.ipc.session import Link
from twixt.ipc.snapshot import Snapshot

# Long enough for a machine with every core taken; a test that waits so long has failed.
PATIENCE_S, LOOK_S = 60.0, 0.002


Wanted = Callable[[Snapshot], bool]


def any_snapshot(snapshot: Snapshot) -> bool:
    return True


def newest(link: Link, is_wanted: Wanted = any_snapshot) -> Snapshot:
    """The newest snapshot, as soon as it is the wanted one."""
    return _pair(link, 1, is_wanted)[-1]


def newest_two(link: Link, is_wanted: Wanted = any_snapshot) -> tuple[Snapshot, Snapshot]:
    """The two newest snapshots, older first, as soon as there are two and the newer one is the wanted one."""
    older, newer = _pair(link, 2, is_wanted)
    return older, newer


def _pair(link: Link, count: int, is_wanted: Wanted) -> tuple[Snapshot, ...]:
    deadline_s = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while True:
        link.poll()
        pair = link.latest_pair()
        if len(pair) >= count and is_wanted(pair[-1]):
            return pair
        assert time.monotonic() < deadline_s, f"waited {PATIENCE_S:g} s in vain; newest: {pair[-1:]}"
        pause.wait(LOOK_S)
