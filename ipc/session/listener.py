"""Listening socket of a named simulation, in a folder of the user's own.

The one idea: a name is in use while its socket accepts connections. A socket that refuses them was left by a killed
simulation and is replaced. This happens under a lock on the folder, so that of two simulations that start at once
exactly one gets the name.

Always: the folder belongs to this user and is closed to others (mode 0700); `Listener.close` removes the socket's file
only while it is this listener's own. Not here: messages over a connection.
Linux. macOS, by the same calls, is untested. Windows is not supported: `open_listener` raises ListenerError.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import struct
import sys
import time
import weakref
from collections.abc import Iterator

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork

# Connections that may wait while the world is still being imported, those of `running` included.
BACKLOG = 128
# Longest address used. A Unix socket's holds 108 bytes on Linux, 104 on macOS, its closing zero included.
ADDRESS_BYTES = 100
# Longest wait for the folder's lock. It is held for some microseconds: after this its holder is a stopped process.
LOCK_PATIENCE_S = 5.0
# Longest wait for that lock in a frame, which removes the socket of a killed simulation.
TIDY_PATIENCE_S = 0.05
SUFFIX = ".socket"
# Folders for temporary files, as Python looks for them, and the one of shared memory.
TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
SHARED_MEMORY = "/dev/shm"

# Modules of the standard library that twixt needs unpatched, by the package that can patch them; and the call of that
# package that does not patch them.
UNPATCHED_MODULES = {
    "gevent.monkey": ("threading", "_thread", "socket", "select", "os", "subprocess", "queue"),
    "eventlet.patcher": ("thread", "socket", "select", "os"),
}
PATCH_CALLS = {
    "gevent.monkey": "monkey.patch_all(thread=False, socket=False, select=False, os=False, subprocess=False, "
    "queue=False, signal=False)",
    "eventlet.patcher": "eventlet.monkey_patch(thread=False, socket=False, select=False, os=False)",
}


class ListenerError(TwixtError):
    """A name or folder that cannot be used, a name that is taken, no simulation of a name, or another user's."""


class NoFolder(ListenerError):
    """No folder for the sockets can be used."""


class Listener:
    """Listening socket of a name. Made by `open_listener`. path: of the socket's file; "" if viewers cannot connect."""

    def __init__(self, name: str, bound: socket.socket, path: str) -> None:
        self.name = name
        self.socket = bound
        self.path = path
        # At the interpreter's exit a file that is left is removed. Not in a forked child, whose parent owns it.
        self._unlink = weakref.finalize(self, _unlink_own, path, _identity(path) if path else (0, 0, 0))

    def give_back(self) -> None:
        """Free the name by removing the socket's file. Connections stay open. Idempotent."""
        self._unlink()

    def close(self) -> None:
        """Free the name and stop listening. Idempotent."""
        self._unlink()
        fork.close(self.socket)

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self._unlink.detach()
        self.socket.close()


def open_listener(name: str) -> Listener:
    """Take the name. From now on viewers can connect; they wait until a `Host` answers.

    Replaces the socket of a killed simulation. Raises ListenerError where a running simulation has the name, for an
    invalid name, and where no socket can be made; NoFolder where there is no folder for it.
    """
    check_system()
    check_name(name)
    folder = runtime_folder()
    path = os.path.join(folder, name + SUFFIX)
    with _locked(folder), _address(path) as address:
        if _answers(path):
            raise ListenerError(
                f'a simulation named "{name}" is already running; choose another --name, '
                f"or look at it with: twixt view {name}"
            )
        _unlink(path)
        with fork.LOCK:
            bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                bound.bind(address)
                bound.listen(BACKLOG)
                listener = Listener(name, bound, path)
            except OSError as error:
                bound.close()
                raise ListenerError(
                    f"cannot open {path}: {error.strerror}; set XDG_RUNTIME_DIR to a folder of your own"
                ) from error
            bound.setblocking(False)
            fork.guard(listener)
    return listener


def unreachable_listener(name: str) -> Listener:
    """A listener that nobody can connect to, for a loop that continues although no folder is writable."""
    check_name(name)
    with fork.LOCK:
        listener = Listener(name, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), "")
        fork.guard(listener)
    return listener


def connect(connection: socket.socket, name: str, timeout_s: float) -> None:
    """Connect to the simulation `name` and check that its process is this user's. Raises ListenerError if there is
    none, if it is another user's, or after `timeout_s`."""
    check_name(name)
    path = os.path.join(runtime_folder(), name + SUFFIX)
    try:
        connection.settimeout(timeout_s)
        with _address(path) as address:
            connection.connect(address)
        connection.setblocking(False)
        check_peer(connection, f'simulation "{name}"')
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise ListenerError(_nobody(name)) from error
    except OSError as error:
        raise ListenerError(f'cannot reach the simulation "{name}": {error}') from error


def _nobody(name: str) -> str:
    others = running()
    also = f"; running: {', '.join(others)}" if others else ""
    return f'no simulation named "{name}" is running{also}; start one with: twixt sim --name {name}'


def running() -> list[str]:
    """Names of the running simulations, sorted. Raises ListenerError where the folder cannot be used."""
    if not hasattr(socket, "AF_UNIX"):
        return []
    folder = runtime_folder()
    with fork.LOCK:
        files = os.listdir(folder)
    names = [file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX)]
    return sorted(name for name in names if _answers(os.path.join(folder, name + SUFFIX)))


def is_running(name: str) -> bool:
    """True if a running simulation has this name. Raises ListenerError for an invalid name."""
    check_name(name)
    return hasattr(socket, "AF_UNIX") and _answers(os.path.join(runtime_folder(), name + SUFFIX))


def remove_stale(name: str, patience_s: float = LOCK_PATIENCE_S) -> bool:
    """Remove the socket of a killed simulation. False, without effect, if it accepts connections. Raises ListenerError
    where the folder stays locked for `patience_s`."""
    path = os.path.join(runtime_folder(), name + SUFFIX)
    with _locked(os.path.dirname(path), patience_s):
        if _answers(path):
            return False
        _unlink(path)
        return True


def tidy(name: str) -> bool:
    """`remove_stale` with a wait of at most `TIDY_PATIENCE_S`. False also where that failed; raises no TwixtError."""
    with contextlib.suppress(TwixtError, OSError):
        return remove_stale(name, TIDY_PATIENCE_S)
    return False


def check_system() -> None:
    """Raises ListenerError on a system without Unix sockets or `poll`, and where gevent or eventlet has replaced
    threads: a greenlet that waits for the viewer would stop the whole program."""
    for package, is_patched in (("gevent.monkey", "is_module_patched"), ("eventlet.patcher", "is_monkey_patched")):
        asked = getattr(sys.modules.get(package), is_patched, None)
        if asked is not None and any(asked(name) for name in UNPATCHED_MODULES[package]):
            raise ListenerError(
                f"{package.partition('.')[0]} has replaced Python's threads and sockets, which twixt needs; "
                f"patch without them: {PATCH_CALLS[package]}"
            )
    if not hasattr(socket, "AF_UNIX") or not hasattr(select, "poll"):
        raise ListenerError(f"twixt needs Unix sockets and poll, which {sys.platform} lacks; it runs on Linux so far")


def check_name(name: str) -> None:
    """Raises ListenerError unless `name` is 1 to 64 ASCII letters, digits, - and _, at least one a letter or digit."""
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum() and len(name) <= 64):
        raise ListenerError(f"a simulation's name must be letters, digits, - and _, at most 64, got {name!r}")


def runtime_folder() -> str:
    """Folder of the sockets, made if it is missing: the first of `_folders` that is writable.

    Raises NoFolder unless it is this user's, with mode 0700, and if none is writable.
    """
    refused = ""
    for folder in _folders():
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            status = os.lstat(folder)
            _check_closed(folder, status)
            if os.access(folder, os.W_OK | os.X_OK):
                return folder
            reason = "it is not writable"
        except OSError as error:
            reason = error.strerror or str(error)
        refused = refused or f"cannot use {folder} for the simulations' names: {reason}"
    raise NoFolder(f"{refused}; set XDG_RUNTIME_DIR to a folder of your own")


def _folders() -> Iterator[str]:
    """`twixt` in XDG_RUNTIME_DIR where that is a folder of this user; `twixt-<uid>` in the temporary folder, then in
    shared memory, which read-only containers have. The working folder, which Python uses if it finds no other for
    temporary files, comes last: viewers that start elsewhere would not look there."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if given and os.path.isdir(given) and os.stat(given).st_uid == os.geteuid():
        yield os.path.join(given, "twixt")
    import tempfile

    try:
        parents = [tempfile.gettempdir(), SHARED_MEMORY]
    except FileNotFoundError:  # no folder for temporary files is writable
        parents = [TEMPORARY[0], SHARED_MEMORY]
    with contextlib.suppress(OSError):  # the working folder was removed
        named = (*TEMPORARY, *map(os.environ.get, ("TMPDIR", "TEMP", "TMP")))
        if parents[0] == os.getcwd() and parents[0] not in named:
            parents.reverse()
    for parent in parents:
        yield os.path.join(parent, f"twixt-{os.geteuid()}")


def _check_closed(folder: str, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise NoFolder(
            f"{folder} must be a folder of your own, it belongs to user {status.st_uid}; "
            "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
        )
    if not stat.S_ISDIR(status.st_mode):
        raise NoFolder(
            f"{folder} must be a folder, and no link to one; remove it, or set XDG_RUNTIME_DIR to a folder of your own"
        )
    if stat.S_IMODE(status.st_mode) & 0o077:  # others may have put something there already
        raise NoFolder(
            f"{folder} must be closed to others, mode 700, it has mode {stat.S_IMODE(status.st_mode):o}; "
            "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
        )


def check_peer(connection: socket.socket, whom: str) -> None:
    """Raises ListenerError unless the process at the other end is this user's."""
    theirs = peer_uid(connection)
    if theirs != os.geteuid():
        raise ListenerError(
            f"the {whom} belongs to user {theirs}, this process to user {os.geteuid()}; both must be the same user's"
        )


def peer_uid(connection: socket.socket) -> int:
    """User id of the process at the other end, recorded by the kernel when the connection was made."""
    if sys.platform == "darwin":  # struct xucred: version, uid, ...; untested
        return int(struct.unpack_from("Ii", connection.getsockopt(0, 1, 76))[1])
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)


def peer_pid(connection: socket.socket) -> int | None:
    """Id of the listening process at the other end; None where the kernel does not report it, or where that process is
    not visible in this one's PID namespace."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid) or None


def _answers(path: str) -> bool:
    """True if a process listens on the socket at `path`, also where its backlog is full."""
    with fork.LOCK, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, _address(path) as address:
        probe.setblocking(False)
        try:
            probe.connect(address)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True


@contextlib.contextmanager
def _address(path: str) -> Iterator[str]:
    """Address of the socket at `path`. Where that is too long, a path through the folder's descriptor in /proc."""
    if len(os.fsencode(path)) <= ADDRESS_BYTES:
        yield path
        return
    with contextlib.closing(_OpenFolder(os.path.dirname(path))) as folder:
        yield f"/proc/self/fd/{folder.descriptor}/{os.path.basename(path)}"


@contextlib.contextmanager
def _locked(folder: str, patience_s: float = LOCK_PATIENCE_S) -> Iterator[None]:
    """Hold the folder's lock, under which sockets are made and removed. The kernel releases it when its process ends.
    Raises ListenerError after `patience_s`."""
    import fcntl

    opened = _OpenFolder(folder)
    try:
        patience_ends = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(opened.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > patience_ends:
                    raise ListenerError(
                        f"{folder} stays locked by another process; is a twixt stopped there? end it, "
                        "or set XDG_RUNTIME_DIR to another folder"
                    ) from None
                time.sleep(0.005)
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # in a child forked in this block the descriptor is -1
            # Also for copies, made by a fork(2) without Python's hooks: the lock ends where its last copy is closed.
            fcntl.flock(opened.descriptor, fcntl.LOCK_UN)
        opened.close()


class _OpenFolder:
    """Descriptor of a folder, which a forked child does not keep; -1 once it is closed."""

    def __init__(self, folder: str) -> None:
        with fork.LOCK:
            self.descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fork.guard(self)

    def close(self) -> None:
        with fork.LOCK:
            descriptor, self.descriptor = self.descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self.close()


def _identity(path: str) -> tuple[int, int, int]:
    """Identity of the file at `path`. A later file of the same name differs, even where its inode number is reused."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ListenerError(
            f"{path} is in the way and cannot be removed: {error.strerror}; remove it yourself"
        ) from error


def _unlink_own(path: str, identity: tuple[int, int, int]) -> None:
    if not path:
        return
    with contextlib.suppress(OSError, ListenerError), _locked(os.path.dirname(path)):
        if _identity(path) == identity:
            os.unlink(path)
