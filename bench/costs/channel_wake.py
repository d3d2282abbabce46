"""Cost of a publish that wakes a waiting viewer, beside a plain copy and beside the cheapest known wake-up.

One idea: most of a wake-up's cost is the kernel's, to wake a sleeping core. So it is compared with a byte written to a
pipe on which a process sleeps that does nothing else.

Always: the woken viewer is another process, asleep before each turn. The service thread has done its work by then, as
in any loop that rests between two snapshots. A loop that never lets other Python threads run also pays for that
thread's work, each time a viewer asks to be woken.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.child_process import process, python
from bench.costs.channel import BODIES, Channel
from bench.rows import Memcpy, Row, rounds_of, row, taken_us
from twixt.cli.progress import Say
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.layout import Layout
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import BODY
from twixt.sim.process.viewer_command import python_program

# Rounds of a whole run: one to two seconds for each row.
ROUNDS = 400
# Bodies published to a waiting viewer, and the limit of the cost above the copy (us): 4 KiB, and the usual number.
BARS = {64: "over <= 8", BODIES: "over <= 15"}
# Time from a viewer's request to be woken until it sleeps; longest wait for that request (s).
FALLING_ASLEEP_NS, PATIENCE_S = 300_000, 20.0
# Program of a viewer that only waits for snapshots.
VIEWER = """
from twixt.ipc.session import attach
link = attach({name!r}, 20.0)
while link.ended is None:
    link.wake_when_newer()
    link.wait(1.0)
    link.poll()
    for claim in link.unread(1):
        pass
"""
# Program that sleeps until a byte arrives, reads it, and sleeps again.
SLEEPER = """
import os, select, sys
pipe = int(sys.argv[1])
poller = select.poll()
poller.register(pipe, select.POLLIN)
while poller.poll() and os.read(pipe, 64):
    pass
"""


def wake_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of waking. share: of a whole run's rounds. Raises TwixtError."""
    rounds = rounds_of(ROUNDS, share)
    say("wake a viewer that waits")
    wake = _wake(rounds)
    yield wake
    for count, bar in BARS.items():
        say(f"publish {count:,} bodies to a viewer that waits")
        yield _woken(count, bar, rounds, f"{wake.limit:.1f} us of it is a bare write that wakes")


def _wake(rounds: int) -> Row:
    with Channel(min(BARS)) as channel, waiting_viewer(channel.host) as is_waiting, sleeper() as write:
        wake = channel.host._service.wakes.wake_all
        woken, written = taken_us(rounds, wake, write, before=is_waiting)
    return row("wake a viewer that waits", "us", woken, "a bare write that wakes", written)


def _woken(count: int, bar: str, rounds: int, note: str) -> Row:
    """Publish that wakes a viewer in another process, which sleeps until there is a snapshot."""
    slots = Layout.for_bodies(count).slots
    with Channel(count) as channel, waiting_viewer(channel.host) as is_waiting:
        copy = Memcpy(count * BODY.itemsize, slots)
        published, copied = taken_us(rounds, channel.publish, copy, before=is_waiting)
    name, limit_name = f"publish {count:,} bodies and wake", f"memcpy, {slots} places"
    return row(name, "us", published, limit_name, copied, bar, note)


@contextmanager
def waiting_viewer(host: Host) -> Iterator[Callable[[], None]]:
    """A viewer in another process that only waits for snapshots.

    Yields a function that returns once the viewer sleeps; it raises TwixtError where the viewer does not.
    """
    with process(python(VIEWER.format(name=host.name))) as viewer:

        def is_waiting() -> None:
            patience_ends_s = time.monotonic() + PATIENCE_S
            while not len(host._service.wakes):
                if not viewer.is_alive or time.monotonic() > patience_ends_s:
                    raise TwixtError(f"the viewer that was to wait did not: {viewer.last_words()}")
                time.sleep(0)
            asleep_ns = time.perf_counter_ns() + FALLING_ASLEEP_NS
            while time.perf_counter_ns() < asleep_ns:
                time.sleep(0)  # lets the thread that received the request go to sleep too

        yield is_waiting


@contextmanager
def sleeper() -> Iterator[Callable[[], object]]:
    """A process that sleeps until a byte arrives. Yields a function that writes one."""
    reading, writing = os.pipe()
    try:
        with process([python_program(), "-I", "-S", "-c", SLEEPER, str(reading)], pass_fds=[reading]):
            yield lambda: os.write(writing, b"w")
    finally:
        os.close(reading)
        os.close(writing)
