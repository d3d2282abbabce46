"""A full memory fence from pure Python: nothing before it can be seen after anything that follows it.

The one idea: a private lock that is *already held*, released and then acquired. The release keeps what
came before from sinking below it, the acquire keeps what follows from rising above it, and the two
touch the same word, so the acquire cannot pass the release (on ARM too, where the pair is ordered).
The other way round, `with lock: pass`, leaves both sides free to slide *into* the locked region and
meet there: that is no fence.

Always: each writer and each reader has a fence of its own; one shared by two threads would block them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

Fence = Callable[[], None]


def make_fence() -> Fence:
    """A fence for one thread. A call costs about 0.1 us."""
    lock = threading.Lock()
    lock.acquire()
    release, acquire = lock.release, lock.acquire

    def fence() -> None:
        try:
            release()
        except RuntimeError:  # Ctrl-C came between release and acquire last time: the lock was left free
            acquire()
            release()
        acquire()

    return fence
