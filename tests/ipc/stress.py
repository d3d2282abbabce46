"""A writer that never pauses against readers of pairs, each a process of its own, on real shared memory.

    python -m tests.ipc.stress [READS [READERS [BODIES [SLOTS [HZ]]]]]       prints what was read, and under what conditions

The one idea: the first word of every cache line of a snapshot's head and records says its number; a pair that passes
for whole and says another anywhere is torn. Nobody waits for anybody. With HZ both sides keep a pace instead.

Always: a read that the writer overtook is begun again, `ATTEMPTS` times; only what is given up then has failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

OTHER_PROCESS = Path(__file__).with_name("ring_process.py")
# A process that has said nothing for so long never will.
PATIENCE_S = 60


class Told(NamedTuple):
    """Of one reader. reads: pairs had whole. torn: of these, how many were mixtures."""

    reads: int
    torn: int
    retries: int
    failed: int
    seconds: float


class Stressed(NamedTuple):
    """Of all readers together, and what was published meanwhile."""

    bodies: int
    slots: int
    readers: list[Told]
    published: int
    hz: int = 0

    @property
    def reads(self) -> int:
        return sum(told.reads for told in self.readers)

    @property
    def torn(self) -> int:
        return sum(told.torn for told in self.readers)

    @property
    def failed(self) -> int:
        return sum(told.failed for told in self.readers)

    def __str__(self) -> str:
        retries, seconds = sum(told.retries for told in self.readers), max(told.seconds for told in self.readers)
        pace = f"at {self.published / seconds:.0f} Hz (wanted: {self.hz} Hz)" if self.hz else "without a pause"
        return (
            f"{self.reads:,} pairs of snapshots, each of {self.bodies:,} bodies ({self.bodies * 64:,} bytes), read in "
            f"{seconds:.0f} s; {len(self.readers)} reader(s), {self.slots} slots, {self.published:,} snapshots published "
            f"{pace}; {self.torn} pairs were torn, {retries:,} attempts were repeated, {self.failed:,} pairs failed "
            f"({self.failed / max(1, self.reads + self.failed):.4%}); {conditions()}"
        )


def conditions() -> str:
    return f"{platform.machine()}, {len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.1f}"


@contextlib.contextmanager
def other_process(
    kind: str, *numbers: int, ends_with: int = 0
) -> Iterator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    """`ring_process` as a process of its own, and the connection to it. It ends when that is closed, if not before."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE_S)
    root = Path(__file__).parents[2]
    arguments = [sys.executable, "-P", str(OTHER_PROCESS), kind, str(theirs.fileno()), *map(str, numbers)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    process = subprocess.Popen(arguments, pass_fds=[theirs.fileno()], env=environment)
    theirs.close()
    try:
        yield ours, process
    finally:
        ours.close()
        try:
            assert process.wait(PATIENCE_S) == ends_with
        finally:
            process.kill()
            process.wait()


def stress(reads: int, readers: int = 1, bodies: int = 4, slots: int = 16, hz: int = 0) -> Stressed:
    """At least `reads` pairs read whole or given up, by all readers together. hz: of the writer; 0: unthrottled."""
    with contextlib.ExitStack() as stack:
        writer, writing = stack.enter_context(other_process("never_pausing", bodies, slots, hz))
        message, descriptors, _, _ = socket.recv_fds(writer, 32, 1)
        share = -(-reads // readers)
        connections = []
        for _ in range(readers):
            connection, process = stack.enter_context(other_process("reading_pairs", share, slots, hz))
            socket.send_fds(connection, [message], descriptors)
            connections.append((connection, (process, writing)))
        os.close(descriptors[0])
        writer.send(b"g")
        told = [Told(*_answer(connection, needed)) for connection, needed in connections]
        writer.send(b"e")
        return Stressed(bodies, slots, told, json.loads(writer.recv(100)), hz)


def _answer(connection: socket.socket, needed: tuple[subprocess.Popen[bytes], ...]) -> Any:
    """What a reader says at its end, however long that takes while it and the writer live."""
    while True:
        with contextlib.suppress(TimeoutError):
            return json.loads(connection.recv(1000))
        assert all(process.poll() is None for process in needed), "a reader or the writer died"


if __name__ == "__main__":
    result = stress(*map(int, sys.argv[1:] or ["1000000"]))
    print(result)
    sys.exit(bool(result.torn))
