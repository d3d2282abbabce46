"""How many bodies viewers can be shown, where there is no memory for all of them.

Always: what viewers see costs the world nothing: its bodies are all there, and its states are the same. Reads no clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from twixt.ipc.host import Host
from twixt.ipc.memory import SharedMemoryError
from twixt.ipc.room import NoRoom

# Until memory that was not to be had is asked for again.
RETRY_NS = 1_000_000_000


class RoomToShow:
    """warn: told once, in words for a person, that there is too little."""

    def __init__(self, host: Host, warn: Callable[[str], object]) -> None:
        self._host, self._warn = host, warn
        self._is_told, self._retry_ns = False, 0
        self._is_short = False  # the last answer was no; what is asked for since is not there yet

    def of(self, count: int, now_ns: int) -> int:
        """Of `count` bodies: all, be it that they wait for a larger segment to be made, or, where there is no memory for
        them, as many as before."""
        if count <= self._host.capacity:
            self._is_short = False
            return count
        if now_ns >= self._retry_ns:
            try:
                self._host.reserve(count)
                if not self._is_short:
                    return count
            except (NoRoom, SharedMemoryError) as error:
                self._retry_ns, self._is_short = now_ns + RETRY_NS, True
                self._tell(count, error)
        return min(count, self._host.capacity)

    def _tell(self, count: int, error: Exception) -> None:
        if not self._is_told:
            self._is_told = True
            self._warn(f"viewers are shown {self._host.capacity:,} of {count:,} bodies, for there is no room: {error}")


def room_of_a_loop(host: Host) -> RoomToShow:
    """The same for a loop of the user's own: told in its terminal and in the overlay."""

    def warn(said: str) -> None:
        print(f"twixt: {said}", file=sys.stderr, flush=True)
        host.set_status({"warning": said})

    return RoomToShow(host, warn)
