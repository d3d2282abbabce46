"""This module defines the Protocols of the modules `memory`, `names`, `wakes` and `children`.

Each supported operating system has one module per Protocol. The functions of that module are the Protocol's methods.
Callers use the modules under names such as `twixt.ipc.system.memory`.

Always: a descriptor is a number that `os.dup` and `os.close` accept. A forked child holds no resource that these
modules made.
"""

from __future__ import annotations

import mmap
import socket
import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from twixt.ipc.errors import TwixtError
from twixt.ipc.process import fork


class UnsupportedSystem(TwixtError):
    """twixt does not run on this operating system."""


class SharedMemoryError(TwixtError):
    """Shared memory could not be made or mapped, or breaks a rule."""


class ListenerError(TwixtError):
    """A name or folder cannot be used, a name is in use, no simulation has the name, or another user runs the
    simulation."""


class NoFolder(ListenerError):
    """No folder can be used for the sockets."""


class System(Protocol):
    """Interface to an operating system. The package `twixt.ipc.system` implements it."""

    memory: SharedMemory
    names: Names
    wakes: Wakes
    children: Children


class NewMemory(NamedTuple):
    """New shared memory that is mapped for writing. descriptor: descriptor to pass to `allocate`. read_only:
    descriptor for other processes. The caller of `make` closes both descriptors."""

    mapping: mmap.mmap
    descriptor: int
    read_only: int


class SharedMemory(Protocol):
    """Makes, sends and maps shared memory. The kernel frees the memory when the last process that uses it ends.

    NEEDED_SYSTEM: oldest version of the operating system that `make` needs, for error messages.
    """

    NEEDED_SYSTEM: str

    def make(self, size: int) -> NewMemory:
        """Makes memory of `size` bytes. The memory cannot be resized, and a process that has only the descriptor
        `read_only` cannot write it. The pages are not allocated yet. Raises OSError, ValueError or OverflowError."""

    def allocate(self, descriptor: int, begin: int, size: int) -> None:
        """Allocates `size` bytes, beginning at offset `begin`, in memory that `make` made. Raises OSError if memory is
        short."""

    def map_read_only(self, descriptor: int, size: int) -> mmap.mmap:
        """Maps memory of another process and fills this process' page tables. Raises SharedMemoryError if the memory
        has another size, or if the process that made the memory can resize it. Also raises OSError, ValueError or
        OverflowError."""

    def make_openable(self, size: int, name: str) -> tuple[int, str]:
        """Makes memory of `size` bytes. Returns its descriptor and a path. Other processes of this user can open the
        path as long as this process keeps the descriptor open. No process can resize the memory. Raises OSError."""

    def map_shared(self, descriptor: int, size: int) -> mmap.mmap:
        """Maps memory for reading and writing. Raises OSError, ValueError or OverflowError."""

    def make_file(self, content: bytes, name: str) -> int:
        """Makes a file in memory, without a path, and returns its descriptor. Raises OSError."""

    def read_file(self, descriptor: int, size: int) -> bytes:
        """Returns the first `size` bytes of a file that `make_file` made, or all bytes if the file has fewer. Raises
        OSError, and ValueError if the descriptor does not belong to a file."""

    def send(self, connection: socket.socket, content: memoryview, descriptors: Sequence[int]) -> int:
        """Sends bytes without waiting. The descriptors are sent together with the first byte. Returns the number of
        sent bytes. Raises BlockingIOError if the socket is full, and OSError if the other side has disconnected."""

    def receive(self, connection: socket.socket, most_bytes: int, most_descriptors: int) -> tuple[bytes, list[int]]:
        """Receives bytes, and the descriptors that were sent with these bytes, without waiting. If there are no bytes
        in the result, the stream has ended. If more than `most_descriptors` descriptors arrive, the kernel closes
        the additional descriptors. Raises BlockingIOError and OSError."""


class Listener:
    """Listening socket of a name.

    path: path of the socket's file; "" if viewers cannot connect. free: function that frees the name in the system if
    this listener still has the name. This function is called only one time, at the interpreter's exit at the latest. A
    forked child does not call the function, because the name belongs to the parent.
    """

    def __init__(self, name: str, bound: socket.socket, path: str, free: Callable[[], object]) -> None:
        self.name = name
        self.socket = bound
        self.path = path
        self._free = weakref.finalize(self, free)

    def free_name(self) -> None:
        """Frees the name. Connections stay open. A second call has no effect."""
        self._free()

    def close(self) -> None:
        """Frees the name and stops listening. A second call has no effect."""
        self._free()
        fork.close(self.socket)

    def close_in_child(self) -> None:
        """Implements `fork.Guarded`. Closes the child's copy of the socket. The parent keeps the name."""
        self._free.detach()
        self.socket.close()


class Names(Protocol):
    """Names of simulations. Processes of this user connect to a simulation by its name. The methods acquire and list
    names, connect to a name, and identify the process at the other end of a connection.

    All functions raise ListenerError if names cannot be used, and its subclass NoFolder if there is no folder for the
    sockets. Callers pass only names that `session.listener.check_name` accepts.
    """

    def acquire(self, name: str) -> Listener | None:
        """Acquires the name, even if a killed simulation had it. Returns None if a running simulation has the name. If
        several processes try to acquire a name at the same time, exactly one succeeds. The listener's socket is
        non-blocking."""

    def unreachable(self, name: str) -> Listener:
        """Returns a listener of that name to which no viewer can connect."""

    def new_socket(self) -> socket.socket:
        """Returns a socket to pass to `connect`."""

    def connect(self, connection: socket.socket, name: str, timeout_s: float) -> None:
        """Connects to the simulation of that name and makes the socket non-blocking. Raises FileNotFoundError or
        ConnectionRefusedError if no such simulation is running. Also raises OSError."""

    def running(self) -> list[str]:
        """Returns the names of the running simulations, in any order."""

    def is_running(self, name: str) -> bool:
        """True if a running simulation has this name."""

    def remove_stale(self, name: str, patience_s: float) -> bool:
        """Frees the name of a killed simulation. Returns False, without an effect, if the simulation is running. Waits
        at most `patience_s` for other processes that are acquiring or freeing a name."""

    def runtime_folder(self) -> str:
        """Folder of the names, which only this user can read. Raises NoFolder."""

    def own_user(self) -> int | str:
        """Identifier of the user who runs this process."""

    def peer_user(self, connection: socket.socket) -> int | str:
        """Returns the identifier of the user who runs the process at the other end of the connection. The kernel
        recorded this identifier when the connection was made."""

    def peer_pid(self, connection: socket.socket) -> int | None:
        """Returns the id of the listening process at the other end of the connection. Returns None if the kernel does
        not report the id. Raises OSError for a closed socket."""


class WakeSender(Protocol):
    """The physics process' end of the channel that carries the wakes of one viewer. `Wakes.sender` makes a
    WakeSender."""

    def wake(self) -> None:
        """Sends one wake. Any thread may call this method. It never waits and never raises an exception."""

    def viewer_descriptor(self) -> int:
        """Returns a descriptor of the viewer's end of the channel. The viewer passes this descriptor to
        `Wakes.receiver`. The caller must close the descriptor."""

    def close(self) -> None:
        """Closes this end of the channel. After that, `wake` has no effect. A second call has no effect."""


class WakeReceiver(Protocol):
    """The viewer's end of the channel that carries wakes to this viewer. `Wakes.receiver` makes a WakeReceiver."""

    def fileno(self) -> int:
        """Descriptor that is readable when a wake has arrived."""

    def drain(self) -> bool:
        """Reads all wakes without waiting. Returns True if a wake has arrived since the last call."""

    def close(self) -> None:
        """Closes this end of the channel."""


class Waitable(Protocol):
    """Object with a descriptor on which a `Poller` can wait, such as a socket or a `WakeReceiver`."""

    def fileno(self) -> int: ...


class Poller(Protocol):
    """Waits for events on several descriptors at the same time, like `select.poll`."""

    def register(self, waitable: Waitable | int, events: int, /) -> None: ...
    def modify(self, waitable: Waitable | int, events: int, /) -> None: ...
    def poll(self, timeout_ms: float | None = None, /) -> list[tuple[int, int]]: ...


class Wakes(Protocol):
    """Sends wakes between processes, and waits for them.

    READABLE, WRITABLE: events that can be registered. GONE: events that `Poller.poll` reports when the other end has
    closed, even if no event is registered.
    """

    READABLE: int
    WRITABLE: int
    GONE: int

    def sender(self) -> WakeSender:
        """Makes a new channel for wakes and returns its sender. The sender owns both ends of the channel."""

    def receiver(self, descriptor: int) -> WakeReceiver:
        """Makes the viewer's end of a channel from a duplicate of the descriptor. The caller still owns the
        descriptor. Raises ValueError if the descriptor does not belong to a channel for wakes. Also raises OSError."""

    def poller(self) -> Poller:
        """Returns a poller without descriptors."""


class Child(Protocol):
    """A child process. `Children.start` makes a Child.

    Always: only the process that started the child sends it signals, and only until the child's exit code has been
    read. So no other process can receive these signals by mistake.
    """

    pid: int

    def send(self, content: bytes) -> None:
        """Sends the child the whole content of its standard input. Call this method only one time. No error is raised
        if the child has ended."""

    def wait(self) -> int | None:
        """Waits until the child has ended. Returns the child's exit code, or minus the signal's number if a signal
        ended the child. Call this method only one time. If this process ignores SIGCHLD, or if other code has read
        the exit code, the child itself must have sent the exit code. Returns None if the child has not sent it."""

    def terminate(self) -> None:
        """Asks the child to end (SIGTERM). This has no effect if the child has ended."""

    def kill(self) -> None:
        """Ends the child by force (SIGKILL). This has no effect if the child has ended."""

    def is_stopped(self) -> bool:
        """True while the child is stopped (SIGSTOP). A stopped child cannot obey `terminate`."""


class Children(Protocol):
    """Starts child processes, and waits for the end of any process."""

    def start(self, command: list[str], environ: dict[str, str], reads_order: bool, has_own_group: bool) -> Child:
        """Starts a child. reads_order: if True, the child's standard input is a socket. The child receives the content
        of `Child.send` from this socket, and sends its exit code back. If False, the child's standard input is
        empty. has_own_group: if True, signals from this process' terminal do not reach the child. Raises OSError."""

    def wait_for_end(self, pid: int, timeout_s: float | None = None) -> bool:
        """Waits until a process has ended. The parent of that process need not have read the exit code. Returns False
        if the process has not ended within `timeout_s`. Raises OSError or OverflowError if the system cannot wait
        for the process."""
