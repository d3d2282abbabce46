"""Registry, with one lock, of the resources that a forked child must close.

Such resources are descriptors, memory, signal handlers, child processes, and hooks of the interpreter's exit or of its
garbage collector. The owner of a resource registers with `guard`. In a forked child each owner's `close_in_child` is
called, the newest owner first, before any code of the world runs. Any thread may fork; this thread becomes the child's
main thread. Without this module the child would keep the sockets open, so viewers would not notice the end of physics
before the last child ends. Also, a signal to the child would end the simulation.

Always: a resource that is made and closed under `LOCK` is registered whenever a fork can happen. A signal given to
`block_during_fork` reaches the child only after our handlers are removed there. Not covered: C code that calls fork(2)
without Python's hooks. A child that calls exec needs none of this: exec closes our descriptors and resets handlers.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import weakref
from collections.abc import Iterable
from typing import Protocol

from twixt.ipc.process.notices import print_current_exception


class Guarded(Protocol):
    """Owner of a resource that a forked child must not keep."""

    def close_in_child(self) -> None:
        """Close the resource in the child. Must not take a lock or send a message. Called again in a child of that
        child."""


class SupportsClose(Protocol):
    """A socket or a file."""

    def close(self) -> object: ...


# Held for microseconds while a resource is made and guarded, or closed; and by a thread while it forks. Not held while
# waiting or while memory is populated. Reentrant, because a signal handler may run in a thread that holds the lock.
LOCK = threading.RLock()
_numbers = itertools.count()
_guarded: weakref.WeakValueDictionary[int, Guarded] = weakref.WeakValueDictionary()
_blocked_signals: frozenset[int] = frozenset()
_forking_thread: int | None = None  # identifier of the thread that is forking
_mask_before: set[int] | None = None  # signal mask of that thread before its signals were blocked


def guard(owner: Guarded) -> None:
    """Register `owner` for as long as it exists. In a forked child its `close_in_child` is called."""
    with LOCK:
        _guarded[next(_numbers)] = owner


def close(*descriptors: SupportsClose) -> None:
    """Close all the descriptors under `LOCK`, so that no fork happens between two of them."""
    with LOCK:
        for descriptor in descriptors:
            descriptor.close()


def block_during_fork(numbers: Iterable[int]) -> None:
    """Set the signals that have our handlers. A forked child receives them only after it has removed these
    handlers."""
    global _blocked_signals
    with LOCK:
        _blocked_signals = frozenset(numbers)


def is_forking() -> bool:
    """True if this thread is forking. An exception that a signal handler raises during the fork is lost."""
    return _forking_thread == threading.get_ident()


def _before() -> None:
    global _forking_thread, _mask_before
    LOCK.acquire()
    _forking_thread = threading.get_ident()
    if _blocked_signals:
        _mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, _blocked_signals)


def _after() -> None:
    global _forking_thread, _mask_before
    try:
        if _mask_before is not None:
            mask, _mask_before = _mask_before, None
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # may raise, because it runs the user's signal handlers
    finally:
        _forking_thread = None
        LOCK.release()


def _in_child() -> None:
    for _, owner in sorted(_guarded.items(), reverse=True):
        try:
            owner.close_in_child()
        except Exception:  # the child must close the other resources even if one fails
            print_current_exception()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
