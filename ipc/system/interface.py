"""Protocols that an operating system's modules implement: `memory`, `names`, `wakes`, `children`.

Each supported system has one module for each Protocol, with its functions. Callers use them as
`twixt.ipc.system.memory` and so on.

Always: a descriptor is a number that `os.dup` and `os.close` accept; no forked child keeps a resource that is made here.
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
    """Shared memory that could not be made, or that breaks a rule."""


class ListenerError(TwixtError):
    """A name or folder that cannot be used, a name in use, no simulation of a name, or another user's simulation."""


class NoFolder(ListenerError):
    """No folder for the sockets can be used."""


class System(Protocol):
    """An operating system: the module `twixt.ipc.system`."""

    memory: SharedMemory
    names: Names
    wakes: Wakes
    children: Children


class NewMemory(NamedTuple):
    """Shared memory of one maker, mapped for writing. descriptor: for `allocate`. read_only: for other processes. The
    maker closes both."""

    mapping: mmap.mmap
    descriptor: int
    read_only: int


class SharedMemory(Protocol):
    """Shared memory that the kernel frees with the last process that uses it: make, send, map.

    NEEDED_SYSTEM: version of the system that `make` needs, for messages.
    """

    NEEDED_SYSTEM: str

    def make(self, size: int) -> NewMemory:
        """Memory of `size` bytes, which cannot be resized, and which holders of `read_only` cannot write. Its pages are
        not allocated yet. Raises OSError, ValueError or OverflowError."""

    def allocate(self, descriptor: int, begin: int, size: int) -> None:
        """Allocates bytes of memory made by `make`. Raises OSError where memory is short."""

    def map_read_only(self, descriptor: int, size: int) -> mmap.mmap:
        """Maps memory of another process, with its pages in this process' page tables. Raises SharedMemoryError for
        memory of another size, or that its maker can resize; OSError, ValueError or OverflowError."""

    def make_openable(self, size: int, name: str) -> tuple[int, str]:
        """Memory of `size` bytes that processes of this user open by a path, as long as its maker keeps the descriptor:
        descriptor and path. Nobody can resize it. Raises OSError."""

    def map_shared(self, descriptor: int, size: int) -> mmap.mmap:
        """Maps memory for reading and writing. Raises OSError, ValueError or OverflowError."""

    def make_file(self, content: bytes, name: str) -> int:
        """Descriptor of a file in memory, without a path. Raises OSError."""

    def read_file(self, descriptor: int, size: int) -> bytes:
        """The first `size` bytes of such a file, or all if there are fewer. Raises ValueError for a descriptor of
        anything else, and OSError."""

    def send(self, connection: socket.socket, content: memoryview, descriptors: Sequence[int]) -> int:
        """Sends bytes, and descriptors with the first of them, without waiting. Returns the number of bytes sent.
        Raises BlockingIOError, and OSError where the other side has gone."""

    def receive(self, connection: socket.socket, most_bytes: int, most_descriptors: int) -> tuple[bytes, list[int]]:
        """Receives bytes and the descriptors sent with them, without waiting. The kernel closes descriptors beyond
        `most_descriptors`. No bytes: end of the stream. Raises BlockingIOError and OSError."""


class Listener:
    """Listening socket of a name.

    path: of the socket's file; "" if viewers cannot connect. free: frees the name in the system if this listener still
    has it; called once, at the interpreter's exit at the latest. A forked child does not call it: its parent has the
    name.
    """

    def __init__(self, name: str, bound: socket.socket, path: str, free: Callable[[], object]) -> None:
        self.name = name
        self.socket = bound
        self.path = path
        self._free = weakref.finalize(self, free)

    def free_name(self) -> None:
        """Free the name. Connections stay open. Idempotent."""
        self._free()

    def close(self) -> None:
        """Free the name and stop listening. Idempotent."""
        self._free()
        fork.close(self.socket)

    def close_in_child(self) -> None:
        """As `fork.Guarded`."""
        self._free.detach()
        self.socket.close()


class Names(Protocol):
    """Names of simulations, to which this user's processes connect: acquire, connect, list, identify the peer.

    All functions raise ListenerError where the names cannot be used: NoFolder if there is no place for them. Names are
    valid: `session.listener.check_name`.
    """

    def acquire(self, name: str) -> Listener | None:
        """Acquires the name, also that of a killed simulation; None if a running one has it. If several processes try at
        once, one succeeds. The listener's socket does not block."""

    def unreachable(self, name: str) -> Listener:
        """A listener of that name without a reachable address."""

    def new_socket(self) -> socket.socket:
        """A socket for `connect`."""

    def connect(self, connection: socket.socket, name: str, timeout_s: float) -> None:
        """Connects to the simulation of that name; the socket does not block afterwards. Raises FileNotFoundError or
        ConnectionRefusedError if there is none, and OSError."""

    def running(self) -> list[str]:
        """Names of the running simulations, in any order."""

    def is_running(self, name: str) -> bool:
        """True if a running simulation has this name."""

    def remove_stale(self, name: str, patience_s: float) -> bool:
        """Frees the name of a killed simulation. False, without effect, if it is running. Waits at most `patience_s`
        for other processes that acquire or free a name."""

    def own_user(self) -> int | str:
        """The user of this process."""

    def peer_user(self, connection: socket.socket) -> int | str:
        """The user of the process at the other end, recorded by the kernel when the connection was made."""

    def peer_pid(self, connection: socket.socket) -> int | None:
        """Id of the listening process at the other end; None where the kernel does not report it. Raises OSError for a
        closed socket."""


class WakeSender(Protocol):
    """Physics' end of the wakes of one viewer. Made by `Wakes.sender`."""

    def wake(self) -> None:
        """Sends one wake, from any thread. Never waits, never raises."""

    def viewer_descriptor(self) -> int:
        """Descriptor of the viewer's end, for `Wakes.receiver` there. The caller closes it."""

    def close(self) -> None:
        """Closes this end. `wake` has no effect afterwards. Idempotent."""


class WakeReceiver(Protocol):
    """The viewer's end of its wakes. Made by `Wakes.receiver`."""

    def fileno(self) -> int:
        """Descriptor that is readable when a wake has come."""

    def drain(self) -> bool:
        """Reads all wakes; True if any came since the last call. Never waits."""

    def close(self) -> None:
        """Closes this end."""


class Waitable(Protocol):
    """Object with a descriptor to wait for: a socket, a `WakeReceiver`."""

    def fileno(self) -> int: ...


class Poller(Protocol):
    """Waits for several descriptors at once, as `select.poll`."""

    def register(self, waitable: Waitable | int, events: int, /) -> None: ...
    def modify(self, waitable: Waitable | int, events: int, /) -> None: ...
    def poll(self, timeout_ms: float | None = None, /) -> list[tuple[int, int]]: ...


class Wakes(Protocol):
    """Wakes between processes, and waits for them: send, wait, poll.

    READABLE, WRITABLE: events to wait for. GONE: events that `Poller.poll` also reports once the other end is gone.
    """

    READABLE: int
    WRITABLE: int
    GONE: int

    def sender(self) -> WakeSender:
        """A new pair of ends."""

    def receiver(self, descriptor: int) -> WakeReceiver:
        """The viewer's end; the descriptor stays the caller's. Raises ValueError for a descriptor of anything else, and
        OSError."""

    def poller(self) -> Poller:
        """A poller without descriptors."""


class Child(Protocol):
    """A child process. Made by `Children.start`.

    Always: a signal is sent only to a child whose exit code is not read yet, and only by the process that started it.
    """

    pid: int

    def send(self, content: bytes) -> None:
        """Sends the child the whole content of its standard input. Called once; no error if it has ended."""

    def wait(self) -> int | None:
        """Waits for the end; returns the exit code, minus the number for a signal. None if neither the kernel nor the
        child reports it: this process ignores SIGCHLD, or other code has read it. Called once."""

    def terminate(self) -> None:
        """Asks it to end (SIGTERM). No effect if it has ended."""

    def kill(self) -> None:
        """Ends it (SIGKILL). No effect if it has ended."""

    def is_stopped(self) -> bool:
        """True while it is stopped (SIGSTOP), so that it cannot end when it is asked to."""


class Children(Protocol):
    """Child processes: start, signal, await the end of any process."""

    def start(self, command: list[str], environ: dict[str, str], reads_order: bool, has_own_group: bool) -> Child:
        """Starts a child. reads_order: its standard input carries the content of `Child.send`, and its exit code back; else
        it is empty. has_own_group: it gets no signals of this process' terminal. Raises OSError."""

    def wait_for_end(self, pid: int, timeout_s: float | None = None) -> bool:
        """Waits until a process has ended, even if its parent has not read its exit code; False after the timeout.
        Raises OSError or OverflowError where the system cannot wait for it."""
