"""What it costs to publish to a viewer that waits: beside the copy, and beside the barest wake there is.

One idea: waking somebody costs what the kernel asks for it, most of it for rousing a core that has gone to sleep. So
beside the wake stands one byte written to a pipe on which a process sleeps that does nothing else.

Always: whoever is woken is a process of its own, asleep before each turn. The thread that answers viewers has had its
time then, as in any loop that rests between two snapshots; a loop that never lets other Python threads run pays for
that thread's work too, whenever a viewer asks for a wake.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from twixt.ipc.bench import BODIES, Channel, Memcpy, Row, Say, interleaved, rounds_of
from twixt.ipc.errors import TwixtError
from twixt.ipc.host import Host
from twixt.ipc.layout import Layout
from twixt.ipc.snapshot import BODY

# Rounds of a whole run: a second or two for each row.
ROUNDS = 400
# Bodies published to a viewer that waits, and what is wanted of that (us): 4 KiB, and as many as elsewhere.
BARS = {64: "over <= 8", BODIES: "over <= 15"}
# From when a viewer has asked for a wake until it sleeps; and for a process to come up.
FALLING_ASLEEP_NS, PATIENCE_S = 300_000, 20.0
# A viewer that only waits.
VIEWER = """
import sys
from twixt.ipc.session import attach
link = attach(sys.argv[1], 20.0)
while link.ended is None:
    link.wake_when_newer()
    link.wait(1.0)
    link.poll()
    for claim in link.unread(1):
        pass
"""
# Sleeps until there is a byte, and again.
SLEEPER = """
import os, select, sys
pipe = int(sys.argv[1])
poller = select.poll()
poller.register(pipe, select.POLLIN)
while poller.poll() and os.read(pipe, 64):
    pass
"""


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The rows of waking. share: of a whole run's rounds. say: told what is measured next."""
    rounds = rounds_of(ROUNDS, share)
    say("wake a viewer that waits")
    wake = _wake(rounds)
    yield wake
    for count, bar in BARS.items():
        say(f"publish {count:,} bodies to a viewer that waits")
        yield _woken(count, bar, rounds, f"{wake.limit:.1f} us of it is a bare write that wakes")


def _wake(rounds: int) -> Row:
    with Channel(min(BARS)) as channel, waiting_viewer(channel.host) as is_waiting, sleeper() as write:
        wake = channel.host._reception.wake_waiting
        woken, written = interleaved(rounds, wake, write, before=is_waiting)
    return Row("wake a viewer that waits", "us", woken, "a bare write that wakes", written, rounds)


def _woken(count: int, bar: str, rounds: int, note: str) -> Row:
    """A publish while a viewer in another process sleeps until there is one, and is woken."""
    slots = Layout.for_bodies(count).slots
    with Channel(count) as channel, waiting_viewer(channel.host) as is_waiting:
        copy = Memcpy(count * BODY.itemsize, slots)
        published, copied = interleaved(rounds, channel.publish, copy, before=is_waiting)
    name, limit_name = f"publish {count:,} bodies and wake", f"memcpy, {slots} places"
    return Row(name, "us", published, limit_name, copied, rounds, note, bar=bar)


@contextmanager
def waiting_viewer(host: Host) -> Iterator[Callable[[], None]]:
    """A viewer in a process of its own that does nothing but wait for snapshots. Gives what returns when it waits."""
    path = os.pathsep.join([os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *sys.path])
    viewer = subprocess.Popen([sys.executable, "-P", "-c", VIEWER, host.name], env={**os.environ, "PYTHONPATH": path})

    def is_waiting() -> None:
        patience_ends_s = time.monotonic() + PATIENCE_S
        while not host._reception.viewers_waiting:
            if viewer.poll() is not None or time.monotonic() > patience_ends_s:
                raise TwixtError(f"the viewer that was to wait did not: its process ended with {viewer.poll()}")
            time.sleep(0)
        asleep_ns = time.perf_counter_ns() + FALLING_ASLEEP_NS
        while time.perf_counter_ns() < asleep_ns:
            time.sleep(0)  # which lets the thread that took the request go to sleep, too

    try:
        yield is_waiting
    finally:
        viewer.kill()
        viewer.wait()


@contextmanager
def sleeper() -> Iterator[Callable[[], object]]:
    """A process that sleeps until a byte comes. Gives what writes one."""
    reading, writing = os.pipe()
    try:
        command = [sys.executable, "-I", "-S", "-c", SLEEPER, str(reading)]
        process = subprocess.Popen(command, pass_fds=[reading])
        try:
            yield lambda: os.write(writing, b"w")
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(reading)
        os.close(writing)
