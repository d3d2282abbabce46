"""A world may fork, and its child must not keep our connections or our name alive.

The one idea: whoever owns descriptors is known here (`guard`), and in a forked child each is told to
close them (`close_in_child`), before any line of the world's runs. Without it a viewer would learn of the end of
physics only when the last forked child ends.

Always: nobody forks between the making of a descriptor and its being known, when it is made under
`LOCK`. Not covered: C code that calls fork(2) itself, without Python's hooks. A child that calls exec
needs none of this; our descriptors are closed by exec.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Guarded(Protocol):
    """Something with descriptors."""

    def close_in_child(self) -> None:
        """Close them, take no lock and tell nobody: this process is a copy."""


# Held while descriptors are made, for microseconds and never while waiting, and by whoever forks.
LOCK = threading.RLock()
_guarded: weakref.WeakSet[Guarded] = weakref.WeakSet()


def guard(owner: Guarded) -> None:
    """From now on a forked child closes what `owner` holds. For as long as `owner` lives."""
    with LOCK:
        _guarded.add(owner)


def _in_child() -> None:
    for owner in list(_guarded):
        owner.close_in_child()
    _guarded.clear()
    LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=_in_child)
