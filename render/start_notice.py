"""What a start that takes long is busy with, said to whoever waits at a terminal.

Always: a start of less than a second says nothing, and where nobody looks (standard error is no terminal) nothing is
said at all, so that programs read no more than before.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from twixt.ipc import start

PATIENCE_NS = 1_000_000_000
# How often it is looked whether something else is waited for meanwhile.
LOOK_S = 0.25
PICTURE = "viewer_picture"  # the first one is on the screen; no part of the report
# By part of the start (`keys.START_PARTS`), in order: what is waited for until that part ends.
BUSY_WITH = {
    "viewer_window": "opening the window",
    "viewer_imports": "loading libraries",
    "viewer_probe": "measuring the display",
    "viewer_attach": "waiting for the world to be made",
    "viewer_scene": "reading the scene",
    PICTURE: "compiling what draws the scene, which the next start will find made",
}


class StartNotice:
    """A thread that says it. begun_ns: when the command was given. Close it."""

    def __init__(self, begun_ns: int | None) -> None:
        self._begun_ns = time.perf_counter_ns() if begun_ns is None else begun_ns
        self._over = threading.Event()
        if sys.stderr is not None and sys.stderr.isatty():
            threading.Thread(target=self._watch, name="start notice", daemon=True).start()

    def close(self) -> None:
        """Nothing is said any more."""
        self._over.set()

    def _watch(self) -> None:
        said = ""
        wait_s = max(0.0, (self._begun_ns + PATIENCE_NS - time.perf_counter_ns()) / 1e9)
        while not self._over.wait(wait_s) and (busy := busy_with(start.has_ended)):
            if busy != said:
                print(f"twixt: starting: {busy}", file=sys.stderr, flush=True)
            said, wait_s = busy, LOOK_S


def busy_with(has_ended: Callable[[str], bool]) -> str:
    """What is waited for now; empty once the first picture is there."""
    if has_ended(PICTURE):
        return ""
    return next(words for part, words in BUSY_WITH.items() if not has_ended(part))
