"""A simulation acquires a name, and viewers connect by this name.

The rules and error messages here are the same for all operating systems. Not here: the system calls (`ipc.system`).
"""

from __future__ import annotations

import contextlib
import socket
import sys

from twixt.ipc.errors import TwixtError
from twixt.ipc.system import names
from twixt.ipc.system.interface import Listener, ListenerError

# Longest wait of `tidy` for another process that is acquiring or freeing a name, in seconds. The wait is short,
# because `tidy` may be called between two frames.
TIDY_PATIENCE_S = 0.05
# Some packages patch the standard library. UNPATCHED_MODULES: for each such package, the modules that twixt needs
# unpatched. PATCH_CALLS: for each package, the call that patches all other modules. The error message shows this call.
UNPATCHED_MODULES = {
    "gevent.monkey": ("threading", "_thread", "socket", "select", "os", "subprocess", "queue"),
    "eventlet.patcher": ("thread", "socket", "select", "os"),
}
PATCH_CALLS = {
    "gevent.monkey": "monkey.patch_all(thread=False, socket=False, select=False, os=False, subprocess=False, "
    "queue=False, signal=False)",
    "eventlet.patcher": "eventlet.monkey_patch(thread=False, socket=False, select=False, os=False)",
}


def open_listener(name: str) -> Listener:
    """Acquire the name. From now on viewers can connect; viewers wait until a `Host` answers.

    The socket of a killed simulation is replaced. Raises ListenerError if the name is invalid, if a running simulation
    has the name, or if no socket can be made. Raises NoFolder if there is no folder for the socket.
    """
    check_unpatched()
    check_name(name)
    listener = names.acquire(name)
    if listener is None:
        raise ListenerError(
            f'a simulation named "{name}" is already running; choose another --name, '
            f"or open a viewer of it with: twixt view {name}"
        )
    return listener


def unreachable_listener(name: str) -> Listener:
    """Return a listener to which no viewer can connect. With this listener a simulation can run although no folder is
    writable."""
    check_name(name)
    return names.unreachable(name)


def connect(connection: socket.socket, name: str, timeout_s: float) -> None:
    """Connect to the simulation `name`. Raises ListenerError if no such simulation is running, if another user runs
    the simulation, or if the simulation does not accept within `timeout_s`."""
    check_name(name)
    try:
        names.connect(connection, name, timeout_s)
        check_peer(connection, f'simulation "{name}"')
    except (FileNotFoundError, ConnectionRefusedError) as error:
        others = running()
        also = f"; running: {', '.join(others)}" if others else ""
        raise ListenerError(
            f'no simulation named "{name}" is running{also}; start one with: twixt sim --name {name}'
        ) from error
    except OSError as error:
        raise ListenerError(f'cannot reach the simulation "{name}": {error}') from error


def running() -> list[str]:
    """Return the names of the running simulations, sorted. Raises ListenerError if the folder of names cannot be
    used."""
    return sorted(names.running())


def is_running(name: str) -> bool:
    """True if a running simulation has this name. Raises ListenerError for an invalid name."""
    check_name(name)
    return names.is_running(name)


def tidy(name: str) -> bool:
    """Free the name of a killed simulation. Waits at most `TIDY_PATIENCE_S`. If the simulation is running or an error
    occurred, returns False and has no effect. Never raises TwixtError or OSError."""
    with contextlib.suppress(TwixtError, OSError):
        return names.remove_stale(name, TIDY_PATIENCE_S)
    return False


def check_unpatched() -> None:
    """Raises ListenerError if gevent or eventlet has replaced threads or sockets. After such a replacement, a single
    greenlet that waits for the viewer would stop the whole program."""
    for package, is_patched in (("gevent.monkey", "is_module_patched"), ("eventlet.patcher", "is_monkey_patched")):
        asked = getattr(sys.modules.get(package), is_patched, None)
        if asked is not None and any(asked(name) for name in UNPATCHED_MODULES[package]):
            raise ListenerError(
                f"{package.partition('.')[0]} has patched modules that twixt needs unpatched; "
                f"use this call instead: {PATCH_CALLS[package]}"
            )


def check_name(name: str) -> None:
    """Raises ListenerError unless `name` has 1 to 64 characters, all of them ASCII letters, digits, - or _, and at
    least one letter or digit."""
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum() and len(name) <= 64):
        raise ListenerError(f"a simulation's name must be 1 to 64 letters, digits, - or _, got {name!r}")


def check_peer(connection: socket.socket, whom: str) -> None:
    """Raises ListenerError unless the process at the other end of `connection` belongs to this user."""
    theirs, ours = names.peer_user(connection), names.own_user()
    if theirs != ours:
        raise ListenerError(
            f"the {whom} belongs to user {theirs}, but must belong to the user of this process, {ours}; "
            "run both as the same user"
        )
