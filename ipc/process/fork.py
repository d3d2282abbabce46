"""Registry of the resources that a forked child must close, under one lock.

An owner of something that a copy of the process must not keep registers here (`guard`): descriptors, memory, signal
handlers, a child process, a hook of the interpreter's exit or of its garbage collector. In a forked child each owner
closes it (`close_in_child`), the newest first, before any code of the world runs. Any thread may fork; it becomes the
child's main thread. Without this the sockets would stay open until the last forked child ends, so viewers would not
notice the end of physics; and a signal to the child would end the simulation.

Always: something made and closed under `LOCK` is registered at every instant at which a fork can happen; a signal of
`block_during_fork` reaches the child only after our handlers are dropped. Not covered: C code that calls fork(2) without
Python's hooks. A child that calls exec needs none of this: exec closes our descriptors and resets handlers.
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
        """Close it in the child, without a lock or a message. Called again in a child of that child."""


class SupportsClose(Protocol):
    """A socket, a file."""

    def close(self) -> object: ...


# Held for microseconds while something is made and guarded, or closed, and by the thread that forks. Not held while
# waiting or while memory is populated. Reentrant, because a signal's handler may run while its thread holds it.
LOCK = threading.RLock()
_numbers = itertools.count()
_guarded: weakref.WeakValueDictionary[int, Guarded] = weakref.WeakValueDictionary()
_blocked_signals: frozenset[int] = frozenset()
_forking_thread: int | None = None  # the thread that forks now
_mask_before: set[int] | None = None  # of that thread, while its signals are blocked


def guard(owner: Guarded) -> None:
    """Register `owner` for as long as it exists: a forked child calls its `close_in_child`."""
    with LOCK:
        _guarded[next(_numbers)] = owner


def close(*descriptors: SupportsClose) -> None:
    """Close descriptors under `LOCK`, so that no fork happens in between."""
    with LOCK:
        for descriptor in descriptors:
            descriptor.close()


def block_during_fork(numbers: Iterable[int]) -> None:
    """Set the signals that have our handlers: a forked child receives them only after it has dropped these handlers."""
    global _blocked_signals
    with LOCK:
        _blocked_signals = frozenset(numbers)


def is_forking() -> bool:
    """True if this thread is forking. An exception that a signal's handler raises then is lost."""
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
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # may raise, from a handler of the user's
    finally:
        _forking_thread = None
        LOCK.release()


def _in_child() -> None:
    for _, owner in sorted(_guarded.items(), reverse=True):
        try:
            owner.close_in_child()
        except Exception:  # an error of one must not keep the child from closing the others
            print_current_exception()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
