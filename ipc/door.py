"""The name under which viewers find a simulation: a listening socket in a folder of the user's own.

The one idea: only a socket that answers is alive. A name whose socket answers is refused; one that
refuses connections was left by a killed simulation and is replaced, under a lock on the folder, so that
of two simulations that start at once exactly one gets the name.

Always: the folder belongs to this user and is closed to others (0700); `Door.close` removes the socket
only while it is still this door's own. Nothing is said over a connection here.
Linux; macOS by the same calls is untested. Windows (multiprocessing.connection over a named pipe) is not
written: `open_door` says so.
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

from twixt.ipc import fork
from twixt.ipc.errors import TwixtError

# Connections that may wait while the world is still being imported. Probes of `running` wait there too.
BACKLOG = 128
# A Unix socket's address holds 108 bytes on Linux, 104 on macOS, its closing zero included.
ADDRESS_BYTES = 100
# The lock is held for some microseconds; longer than this means that its holder is stopped.
LOCK_PATIENCE_S = 5.0
# A frame does not wait longer for the socket of a killed simulation to be removed.
TIDY_PATIENCE_S = 0.05
SUFFIX = ".socket"


class DoorError(TwixtError):
    """No door by that name, or none to be had."""


class Door:
    """A name that is taken: bound and listening. Made by `open_door`."""

    def __init__(self, name: str, listener: socket.socket, path: str) -> None:
        self.name = name
        self.listener = listener
        self.path = path
        # The interpreter's exit closes a door left open. A forked child's exit must not: the socket is its parent's.
        self._unlink = weakref.finalize(self, _unlink_own, path, _identity(path))

    def give_back(self) -> None:
        """The name is free; who has connected stays. May be called again."""
        self._unlink()

    def close(self) -> None:
        """Give the name back and stop listening. May be called again."""
        self._unlink()
        fork.close(self.listener)

    def close_in_child(self) -> None:
        """Part of `fork.Guarded`."""
        self._unlink.detach()
        self.listener.close()


def open_door(name: str) -> Door:
    """Take the name: viewers may connect from now on, and wait until somebody answers.

    Raises TwixtError when a live simulation has it. Replaces the socket of a killed one.
    """
    check_system()
    check_name(name)
    folder = runtime_folder()
    path = os.path.join(folder, name + SUFFIX)
    with _locked(folder), _address(path) as address:
        if _answers(path):
            raise DoorError(
                f'a simulation named "{name}" is already running; choose another --name, '
                f"or look at it with: twixt view {name}"
            )
        _unlink(path)
        with fork.LOCK:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listener.bind(address)
                listener.listen(BACKLOG)
                door = Door(name, listener, path)
            except OSError as error:
                listener.close()
                raise DoorError(
                    f"cannot open {path}: {error.strerror}; set XDG_RUNTIME_DIR to a folder of your own"
                ) from error
            listener.setblocking(False)
            fork.guard(door)
    return door


def connect(connection: socket.socket, name: str, timeout_s: float) -> None:
    """Connect to the simulation of that name and check who answers. Raises TwixtError if there is none."""
    check_name(name)
    path = os.path.join(runtime_folder(), name + SUFFIX)
    try:
        connection.settimeout(timeout_s)
        with _address(path) as address:
            connection.connect(address)
        connection.setblocking(False)
        check_peer(connection, f'simulation "{name}"')
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise DoorError(_nobody(name)) from error
    except OSError as error:
        raise DoorError(f'cannot reach the simulation "{name}": {error}') from error


def _nobody(name: str) -> str:
    others = running()
    also = f"; running: {', '.join(others)}" if others else ""
    return f'no simulation named "{name}" is running{also}; start one with: twixt sim --name {name}'


def running() -> list[str]:
    """The names with a live simulation, sorted."""
    if not hasattr(socket, "AF_UNIX"):
        return []
    folder = runtime_folder()
    with fork.LOCK:
        files = os.listdir(folder)
    names = [file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX)]
    return sorted(name for name in names if _answers(os.path.join(folder, name + SUFFIX)))


def is_running(name: str) -> bool:
    """Whether a live simulation has this name. Raises DoorError for what cannot be a name."""
    check_name(name)
    return hasattr(socket, "AF_UNIX") and _answers(os.path.join(runtime_folder(), name + SUFFIX))


def remove_stale(name: str, patience_s: float = LOCK_PATIENCE_S) -> bool:
    """Remove the socket of a killed simulation. False, and nothing done, when somebody answers there."""
    path = os.path.join(runtime_folder(), name + SUFFIX)
    with _locked(os.path.dirname(path), patience_s):
        if _answers(path):
            return False
        _unlink(path)
        return True


def tidy(name: str) -> bool:
    """`remove_stale` as a courtesy, for which nobody waits long: whether nobody answered there, as far as is known."""
    with contextlib.suppress(TwixtError, OSError):
        return remove_stale(name, TIDY_PATIENCE_S)
    return False


def check_system() -> None:
    """Raises DoorError where the channel is not written yet."""
    if not hasattr(socket, "AF_UNIX") or not hasattr(select, "poll"):
        raise DoorError(f"twixt needs Unix sockets and poll, which {sys.platform} lacks; it runs on Linux so far")


def check_name(name: str) -> None:
    """Raises DoorError for what cannot be a name."""
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum() and len(name) <= 64):
        raise DoorError(f"a simulation's name must be letters, digits, - and _, at most 64, got {name!r}")


def runtime_folder() -> str:
    """The folder of the sockets, made if it is missing; raises DoorError where it is not this user's alone.

    `twixt` in XDG_RUNTIME_DIR where that is a folder of this user, else `twixt-<uid>` in the temporary one.
    """
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if given and os.path.isdir(given) and os.stat(given).st_uid == os.geteuid():
        folder = os.path.join(given, "twixt")
    else:
        import tempfile

        folder = os.path.join(tempfile.gettempdir(), f"twixt-{os.geteuid()}")
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise DoorError(
                f"{folder} must be a folder of your own, it belongs to user {status.st_uid}; "
                "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:  # others may have put something there already
            raise DoorError(
                f"{folder} must be closed to others, mode 700, it has mode {stat.S_IMODE(status.st_mode):o}; "
                "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
            )
    except OSError as error:
        raise DoorError(
            f"cannot use {folder} for the simulations' names: {error.strerror}; "
            "set XDG_RUNTIME_DIR to a folder of your own"
        ) from error
    return folder


def check_peer(connection: socket.socket, whom: str) -> None:
    """Raises DoorError unless the process at the other end is this user's."""
    theirs = peer_uid(connection)
    if theirs != os.geteuid():
        raise DoorError(
            f"the {whom} belongs to user {theirs}, this process to user {os.geteuid()}; both must be the same user's"
        )


def peer_uid(connection: socket.socket) -> int:
    """The user of the process at the other end, as the kernel noted it when the connection was made."""
    if sys.platform == "darwin":  # struct xucred: version, uid, ...; untested
        return int(struct.unpack_from("Ii", connection.getsockopt(0, 1, 76))[1])
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)


def peer_pid(connection: socket.socket) -> int | None:
    """The process that opened the door at the other end; None where the kernel does not say, or not in our numbers."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid) or None


def _answers(path: str) -> bool:
    """Somebody listens there. A full backlog is somebody too."""
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
    """The path as a socket's address: a short way round through the folder's descriptor where it is too long."""
    if len(os.fsencode(path)) <= ADDRESS_BYTES:
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(path)}"
    finally:
        os.close(folder)


@contextlib.contextmanager
def _locked(folder: str, patience_s: float = LOCK_PATIENCE_S) -> Iterator[None]:
    """Alone among those who make and remove sockets here. The kernel drops the lock of whoever dies."""
    import fcntl

    lock = _FolderLock(folder)
    try:
        patience_ends = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(lock.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > patience_ends:
                    raise DoorError(
                        f"{folder} stays locked by another process; is a twixt stopped there? end it, "
                        "or set XDG_RUNTIME_DIR to another folder"
                    ) from None
                time.sleep(0.005)
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # in a child that was forked here nothing is held
            fcntl.flock(lock.descriptor, fcntl.LOCK_UN)  # also where fork(2) without Python's hooks made copies of it
        lock.close()


class _FolderLock:
    """What the lock on a folder hangs on: held for as long as anybody has this very descriptor open."""

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
    """Tells this very file from a later one of the same name, even where inode numbers are used again."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise DoorError(f"{path} is in the way and cannot be removed: {error.strerror}; remove it yourself") from error


def _unlink_own(path: str, identity: tuple[int, int, int]) -> None:
    with contextlib.suppress(OSError, DoorError), _locked(os.path.dirname(path)):
        if _identity(path) == identity:
            os.unlink(path)
