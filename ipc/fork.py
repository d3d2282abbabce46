"""What a forked child must drop of its parent's: one registry of it, under one lock.

The one idea: whoever holds something that a copy of the process must not keep (descriptors, memory, signal handlers,
a child process, a hook of the interpreter's exit or of its garbage collector) is known here (`guard`). In a forked
child each is told to drop it (`close_in_child`), the newest first, before any line of the world's runs, whichever
thread forked: that thread is the child's main one. Without it a viewer would learn of the end of physics only when
the last forked child ends, and a signal to the child would end the simulation.

Always: nobody forks between the making of a thing and its being known, nor between its being forgotten and its end,
when it is made and closed under `LOCK`; a signal of those
in `hold_back` that comes to the child before it has dropped our handlers waits until it has. Not covered: C code that
calls fork(2) itself, without Python's hooks. A child that calls exec needs none of this; our descriptors are closed by
exec, and handlers with it.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterable
from typing import Protocol


class Guarded(Protocol):
    """Something that belongs to this process alone."""

    def close_in_child(self) -> None:
        """Drop it, take no lock and tell nobody: this process is a copy. Called again in a child of the child."""


class SupportsClose(Protocol):
    """A socket, a file."""

    def close(self) -> object: ...


# Held while something is made and guarded, or closed, for microseconds, and by whoever forks. Never while waiting, nor while
# memory is populated. The thread that has it may take it again: a signal's handler runs anywhere.
LOCK = threading.RLock()
_numbers = itertools.count()
_guarded: weakref.WeakValueDictionary[int, Guarded] = weakref.WeakValueDictionary()
_held_back: frozenset[int] = frozenset()
_forker: int | None = None  # the thread that forks now
_mask_before: set[int] | None = None  # of that thread, while signals are held back from it


def guard(owner: Guarded) -> None:
    """From now on a forked child drops what `owner` holds. For as long as `owner` lives."""
    with LOCK:
        _guarded[next(_numbers)] = owner


def close(*descriptors: SupportsClose) -> None:
    """Close them, so that no child is forked that has one of them after this process has forgotten it."""
    with LOCK:
        for descriptor in descriptors:
            descriptor.close()


def hold_back(numbers: Iterable[int]) -> None:
    """Signals, whose handlers are ours from now on, that a forked child meets only when it has dropped those."""
    global _held_back
    with LOCK:
        _held_back = frozenset(numbers)


def is_forking() -> bool:
    """Whether this thread is about to fork or has just done so. What a signal's handler raises is lost then."""
    return _forker == threading.get_ident()


def _before() -> None:
    global _forker, _mask_before
    LOCK.acquire()
    _forker = threading.get_ident()
    if _held_back:
        _mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, _held_back)


def _after() -> None:
    global _forker, _mask_before
    try:
        if _mask_before is not None:
            mask, _mask_before = _mask_before, None
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # raises what a handler of the world's raises
    finally:
        _forker = None
        LOCK.release()


def _in_child() -> None:
    for _, owner in sorted(_guarded.items(), reverse=True):
        try:
            owner.close_in_child()
        except Exception:  # a fault of ours keeps the child from none of the others
            sys.excepthook(*sys.exc_info())
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
