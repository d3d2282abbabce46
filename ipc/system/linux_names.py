"""On Linux, the name of a simulation is a Unix socket in a folder that belongs to this user.

A name is in use while its socket accepts connections. If the socket refuses connections, the simulation was killed,
and the socket is replaced. The replacement is made under a lock on the folder. So if two simulations start at the same
time, exactly one gets the name.

Always: the folder belongs to this user, and other users have no access (mode 0700). The listener that made a socket
may remove the socket's file. Any other process removes the file only if no process listens on the socket.

Functions and classes without a docstring are described in `interface.Names`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator

from twixt.ipc.process import fork
from twixt.ipc.system.interface import Listener, ListenerError, NoFolder

assert sys.platform == "linux"  # type checkers for other systems read no further

# Largest number of connections that wait for an answer while the simulation imports its world. Calls of `running` make
# connections as well.
BACKLOG = 128
# Longest socket address that is used, in bytes. Linux allows 108 bytes, including the final zero.
ADDRESS_BYTES = 100
# Longest wait for the folder's lock, in seconds. Processes hold the lock for microseconds. If a wait takes longer than
# this, the process that holds the lock is probably stopped.
LOCK_PATIENCE_S = 5.0
SUFFIX = ".socket"
# TEMPORARY: folders that Python uses for temporary files. SHARED_MEMORY: the folder for shared memory.
TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
SHARED_MEMORY = "/dev/shm"


def acquire(name: str) -> Listener | None:
    folder = runtime_folder()
    path = os.path.join(folder, name + SUFFIX)
    with _locked(folder), _address(path) as address:
        if _answers(path):
            return None
        _unlink(path)
        with fork.LOCK:
            bound = new_socket()
            try:
                bound.bind(address)
                bound.listen(BACKLOG)
                identity = _identity(path)
            except OSError as error:
                bound.close()
                raise ListenerError(
                    f"cannot open {path}: {error.strerror}; set XDG_RUNTIME_DIR to a folder that you own"
                ) from error
            listener = Listener(name, bound, path, lambda: _unlink_own(path, identity))
            bound.setblocking(False)
            fork.guard(listener)
    return listener


def unreachable(name: str) -> Listener:
    with fork.LOCK:
        listener = Listener(name, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), "", lambda: None)
        fork.guard(listener)
    return listener


def new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def connect(connection: socket.socket, name: str, timeout_s: float) -> None:
    connection.settimeout(timeout_s)
    with _address(os.path.join(runtime_folder(), name + SUFFIX)) as address:
        connection.connect(address)
    connection.setblocking(False)


def running() -> list[str]:
    folder = runtime_folder()
    with fork.LOCK:
        files = os.listdir(folder)
    names = [file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX)]
    return [name for name in names if _answers(os.path.join(folder, name + SUFFIX))]


def is_running(name: str) -> bool:
    return _answers(os.path.join(runtime_folder(), name + SUFFIX))


def remove_stale(name: str, patience_s: float) -> bool:
    path = os.path.join(runtime_folder(), name + SUFFIX)
    with _locked(os.path.dirname(path), patience_s):
        if _answers(path):
            return False
        _unlink(path)
        return True


def own_user() -> int:
    """Implements `interface.Names.own_user`. Returns the user id."""
    return os.geteuid()


def peer_user(connection: socket.socket) -> int:
    """Implements `interface.Names.peer_user`. Returns the user id."""
    return _credentials(connection)[1]


def peer_pid(connection: socket.socket) -> int | None:
    """Implements `interface.Names.peer_pid`. Also returns None if the other process is not visible in this process'
    PID namespace."""
    return _credentials(connection)[0] or None


def _credentials(connection: socket.socket) -> tuple[int, ...]:
    """Returns the process id, the user id and the group id of the process at the other end of the connection."""
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))


def runtime_folder() -> str:
    """Folder of the sockets: the first of `_folders` that is writable. The folder is made if it does not exist.

    Raises NoFolder if no folder is writable, or if a folder belongs to another user or has another mode than 0700.
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
        refused = refused or f"cannot use the folder {folder} for sockets: {reason}"
    raise NoFolder(f"{refused}; set XDG_RUNTIME_DIR to a folder that you own")


def _folders() -> Iterator[str]:
    """Yields the possible folders, the best first. The first is `twixt` in XDG_RUNTIME_DIR if XDG_RUNTIME_DIR is a
    folder of this user. The next is `twixt-<uid>` in the temporary folder. The last is `twixt-<uid>` in shared
    memory, which is writable even in read-only containers. If Python uses the working folder as temporary folder,
    the folder there comes last: viewers that are started in another folder would not find it."""
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
            f"{folder} must be a folder that you own, but it belongs to user {status.st_uid}; "
            "remove it, or set XDG_RUNTIME_DIR to a folder that you own"
        )
    if not stat.S_ISDIR(status.st_mode):
        raise NoFolder(
            f"{folder} must be a folder, not a link or a file; remove it, or set XDG_RUNTIME_DIR to a folder that you own"
        )
    if stat.S_IMODE(status.st_mode) & 0o077:  # other users may have made files in this folder
        raise NoFolder(
            f"{folder} must be closed to other users (mode 700), but it has mode "
            f"{stat.S_IMODE(status.st_mode):o}; remove it, or set XDG_RUNTIME_DIR to a folder that you own"
        )


def _answers(path: str) -> bool:
    """True if a process listens on the socket at `path`, even if its backlog is full."""
    with fork.LOCK, new_socket() as probe, _address(path) as address:
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
    """Yields the address of the socket at `path`. If the path is too long for an address, the address leads through
    /proc and the folder's descriptor."""
    if len(os.fsencode(path)) <= ADDRESS_BYTES:
        yield path
        return
    with contextlib.closing(_OpenFolder(os.path.dirname(path))) as folder:
        yield f"/proc/self/fd/{folder.descriptor}/{os.path.basename(path)}"


@contextlib.contextmanager
def _locked(folder: str, patience_s: float = LOCK_PATIENCE_S) -> Iterator[None]:
    """Holds the folder's lock during the `with` block. Sockets are made and removed only under this lock. The kernel
    releases the lock if the process ends. Raises ListenerError if the lock is not free within `patience_s`."""
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
                        f"another process keeps {folder} locked, probably a stopped twixt; end it, "
                        "or set XDG_RUNTIME_DIR to another folder"
                    ) from None
                time.sleep(0.005)
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # in a child that was forked in this block the descriptor is -1
            # The lock is released explicitly. If C code has called fork(2) without Python's hooks, the child has a
            # copy of the descriptor, and this copy would keep the lock.
            fcntl.flock(opened.descriptor, fcntl.LOCK_UN)
        opened.close()


class _OpenFolder:
    """Descriptor of a folder. The descriptor is -1 after it is closed. Forked children close their copy."""

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
        """Implements `fork.Guarded`. Closes the child's copy of the descriptor."""
        self.close()


def _identity(path: str) -> tuple[int, int, int]:
    """Identity of the file at `path`. A later file of the same name has another identity, even if it has the same
    inode number."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ListenerError(
            f"cannot remove {path}, which is in the place of a socket: {error.strerror}; remove it yourself"
        ) from error


def _unlink_own(path: str, identity: tuple[int, int, int]) -> None:
    with contextlib.suppress(OSError, ListenerError), _locked(os.path.dirname(path)):
        if _identity(path) == identity:
            os.unlink(path)
