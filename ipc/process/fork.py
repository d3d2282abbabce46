"""This module has a registry of the resources that a forked child must close, and the lock under which these resources
are made.

Such resources are descriptors, memory, signal handlers, child processes, and hooks of the interpreter's exit or of its
garbage collector. The owner of a resource registers with `guard`. In a forked child the method `close_in_child` of
each owner is called before any code of the world runs. The newest owner comes first. Any thread may fork; the forking
thread becomes the child's main thread. Without this module the child would keep the parent's sockets open. Viewers
would then notice the end of the physics process only after the last child has ended. Also, a signal to the child would
end the simulation.

Always: if a resource is made and closed under `LOCK`, it is registered at the time of every fork. The signals that are
passed to `block_during_fork` reach the child only after our handlers are removed there. Not covered: C code that calls
fork(2) without Python's hooks. If the child calls exec, this module is not needed: exec closes our descriptors and
resets the signal handlers.
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
        """Closes the resource in the child. This method must not take a lock or send a message. If the child itself
        forks, the method is called again in the new child."""


class SupportsClose(Protocol):
    """A socket or a file."""

    def close(self) -> object: ...


# A thread holds this lock while it makes and registers a resource, while it closes a resource, and while it forks.
# Making or closing takes microseconds. No thread holds the lock while it waits, or while memory is populated. The lock
# is reentrant, because a signal handler may run in a thread that holds the lock.
LOCK = threading.RLock()
_numbers = itertools.count()
_guarded: weakref.WeakValueDictionary[int, Guarded] = weakref.WeakValueDictionary()
_blocked_signals: frozenset[int] = frozenset()
_forking_thread: int | None = None  # identifier of the thread that is forking
_mask_before: set[int] | None = None  # signal mask of the forking thread before its signals were blocked


def guard(owner: Guarded) -> None:
    """Registers `owner` for as long as the object exists. In a forked child, `owner.close_in_child` is called."""
    with LOCK:
        _guarded[next(_numbers)] = owner


def close(*descriptors: SupportsClose) -> None:
    """Closes all the descriptors under `LOCK`, so that no fork happens between two closes."""
    with LOCK:
        for descriptor in descriptors:
            descriptor.close()


def block_during_fork(numbers: Iterable[int]) -> None:
    """Sets the signals for which twixt has handlers. A forked child receives these signals only after it has removed
    the handlers."""
    global _blocked_signals
    with LOCK:
        _blocked_signals = frozenset(numbers)


def is_forking() -> bool:
    """True if this thread is forking. During a fork, an exception that a signal handler raises is lost."""
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
            # This call runs the user's signal handlers, so it may raise an exception.
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
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
