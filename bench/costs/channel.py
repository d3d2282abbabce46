"""Measures the cost of the channel, and of a publish through `twixt.show`. Each cost is compared with a plain copy of
the same bytes.

Neither a publish nor a read can be faster than the copy of its bytes, so the ratio of the two times tells the cost.
The channel is a real host behind a real socket.

Reads are timed in this process. They would take longer in another process, which finds the bytes in another core's
cache. A channel's name contains the process id, so that two benchmarks can run at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from bench.processes import process, python
from bench.rows import FEWEST_ROUNDS, Memcpy, Row, rounds_of, row, times_us
from twixt.cli.progress import Say
from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.layout import MAX_SLOTS, Layout
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Host, Link, attach, open_listener
from twixt.ipc.snapshot import BODY, Head, new_bodies
from twixt.sim.process.viewer_command import python_program
from twixt.sim.show.show import show

# Default number of bodies in a snapshot.
BODIES = 10_000
# Size of a large snapshot. It exceeds every cache, so main memory is measured.
LARGE_BYTES = 64 << 20
# Numbers of rounds in a whole run, for three kinds of rows. Each group of rows takes about a second.
ROUNDS, LARGE_ROUNDS, WAKE_ROUNDS = 2000, 31, 400
# PAIRS is the number of reads of two snapshots. PAIRS_HZ is their number per second, so they take 10 s. PAIRS_VARIABLE
# is the environment variable that sets another number of reads.
PAIRS, PAIRS_HZ, PAIRS_VARIABLE = 600, 60, "TWIXT_BENCH_PAIRS"
READ_BUDGET_BYTES = 256 << 20
# For each number of bodies that are published through `twixt.show`, the number of rounds. The rounds for each number
# of bodies take about half a second.
SHOWN = {1_000: 2000, 10_000: 800, 100_000: 100}
# Limit for a publish through `twixt.show`, in us. It is SHOW_BODY_US per body plus SHOW_US per call.
SHOW_BODY_US, SHOW_US = 0.012, 20
# For each number of bodies that are published to a waiting viewer, a limit in us. It limits the time by which the
# publish may take longer than the copy. 64 bodies are 4 KiB. BODIES is the usual number.
TARGETS = {64: "over <= 8", BODIES: "over <= 15"}
# Time in ns from a viewer's request for a wake until the viewer surely sleeps.
FALLING_ASLEEP_NS = 300_000
# Program of a viewer that only waits for snapshots and draws nothing.
VIEWER = """
from twixt.ipc.session import attach
link = attach({name!r}, 20.0)
while link.ended is None:
    link.wake_when_newer()
    link.wait(1.0)
    link.poll()
    for view in link.unread(1):
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


class Channel:
    """A host in this process. Each call of `publish` publishes `count` bodies as the snapshot of the next tick."""

    def __init__(self, count: int, radius: float = 0.5) -> None:
        self.count, self.bodies = count, new_bodies(count)
        self.host = Host(open_listener(f"bench-{os.getpid()}"), Scene([Sphere(radius)]), count)
        self._tick = 0

    def publish(self) -> None:
        self._tick += 1
        with self.host.ring.begin(self.count) as slot:
            slot.write(self.bodies)
            slot.head = Head(tick=self._tick, count=self.count)

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.host.end()


def channel_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of the publishing, reading and waking of the channel. Raises TwixtError."""
    reads = pairs_wanted(os.environ.get(PAIRS_VARIABLE, ""), share)
    rounds, size, slots = rounds_of(ROUNDS, share), BODIES * BODY.itemsize, Layout.for_bodies(BODIES).slots
    with Channel(BODIES) as channel:
        say(f"publish {BODIES:,} bodies")
        # If all copies go to one place, they stay in the cache. If they go to as many places as the ring has slots,
        # they do not stay in the cache.
        for limit_name, places in (("memcpy", 1), (f"memcpy into {slots} places in turn", slots)):
            published, copied = times_us(rounds, channel.publish, Memcpy(size, places))
            yield row(f"publish {BODIES:,} bodies", "us", published, limit_name, copied)
        yield _in_place(channel, rounds)
        say(f"read {BODIES:,} bodies")
        with contextlib.closing(attach(channel.host.name)) as link:
            yield from _read(channel, link, size, rounds)
    yield from _wake_rows(share, say)
    say("publish 64 MiB")
    rounds = rounds_of(LARGE_ROUNDS, share)
    with Channel(LARGE_BYTES // BODY.itemsize) as channel:
        published, copied = (
            [us / 1e3 for us in us_of] for us_of in times_us(rounds, channel.publish, Memcpy(LARGE_BYTES))
        )
        yield row("publish 64 MiB", "ms", published, "memcpy", copied, "ratio <= 1.05")
        yield _in_place(channel, rounds)
        say("read pairs of 64 MiB")
        yield _pairs_read(channel, reads)


def _in_place(channel: Channel, rounds: int) -> Row:
    """Row of a publish that writes bodies directly into the slot. It is compared with the same write into an array."""
    count = channel.count
    head, plain = Head(count=count), np.full(count * BODY.itemsize // 8, 7, np.uint64)

    def publish() -> None:
        with channel.host.ring.begin(count) as slot:
            slot.records.view(np.uint64).fill(7)
            slot.head = head

    published, made = times_us(rounds, publish, lambda: plain.fill(7))
    return row(f"publish {count:,} bodies in place", "us", published, "the same writes into an array", made)


def pairs_wanted(asked: str, share: float) -> int:
    """Number of pairs of snapshots to read: the number in `asked`, or this share of PAIRS if `asked` is "". Raises
    TwixtError if `asked` is not a number."""
    if asked and not (asked.isdecimal() and int(asked) >= FEWEST_ROUNDS):
        raise TwixtError(f"{PAIRS_VARIABLE} must be a whole number of reads >= {FEWEST_ROUNDS}, got {asked!r}")
    return int(asked) if asked else rounds_of(PAIRS, share)


def _pairs_read(channel: Channel, reads: int) -> Row:
    """Row of the failed reads of the two newest snapshots, while a thread publishes PAIRS_HZ times a second. Each read
    copies both snapshots. The note tells how many reads failed while a thread published without a pause. At least
    two snapshots must have been published before this call."""
    failed, retried = list[int](), list[int]()
    fewer = rounds_of(min(reads, PAIRS), 0.2)
    with contextlib.closing(attach(channel.host.name)) as link:
        for period_s, times in ((1 / PAIRS_HZ, reads), (0.0, fewer)):
            stop = threading.Event()
            writer = threading.Thread(target=_publish_on, args=(channel, period_s, stop))
            before = link.counters
            writer.start()
            try:
                for _ in range(times):
                    begin_s = time.perf_counter()
                    link.latest_pair()
                    time.sleep(max(0.0, begin_s + period_s - time.perf_counter()))
            finally:
                stop.set()
                writer.join()
            failed.append(link.counters["pairs_failed"] - before["pairs_failed"])
            retried.append(link.counters["retries"] - before["retries"])
    note = (
        f"{retried[0]} of {reads} reads were repeated; "
        f"while a writer publishes without a pause, {failed[1]} of {fewer} reads fail"
    )
    return Row("failed pair reads of 64 MiB", "reads", failed[0], "all reads", reads, reads, note, target="figure <= 0")


def _publish_on(channel: Channel, period_s: float, stop: threading.Event) -> None:
    while not stop.wait(period_s):
        channel.publish()


def _read(channel: Channel, link: Link, size: int, rounds: int) -> Iterator[Row]:
    source, target = channel.bodies.view(np.uint8), np.empty(size, np.uint8)
    failed = 0

    def publish_one() -> None:
        for _ in link.unread(READ_BUDGET_BYTES):
            pass
        channel.publish()

    def read_pair() -> None:
        nonlocal failed
        failed += len(link.latest_pair()) < 2

    def read_unread() -> None:
        nonlocal failed
        for view in link.unread(READ_BUDGET_BYTES):
            np.copyto(target, np.frombuffer(view.bodies, np.uint8))
            failed += not view.is_valid()

    channel.publish()
    for name, work, copies in (("pair", read_pair, 2), ("unread", read_unread, 1)):
        failed = 0
        read, copied = times_us(rounds, work, lambda: np.copyto(target, source), before=publish_one)
        notes = [f"{failed} of {rounds} failed"] if failed else []
        if work is read_pair:  # a pair of snapshots is copied into new memory, whose first use is slow
            (anew,) = times_us(rounds_of(rounds, 0.2), lambda: (source.copy(), source.copy()))
            notes.append(f"two copies into new memory take {statistics.median(anew):.0f} us")
        limit_name, limits = ("memcpy" if copies == 1 else f"{copies} x memcpy"), [copies * us for us in copied]
        yield row(f"read {name}, {BODIES:,} bodies", "us", read, limit_name, limits, note="; ".join(notes))


def show_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Rows of a publish through `twixt.show`. `python -m bench guest` measures how much the viewer slows a loop
    down."""
    for count, rounds in SHOWN.items():
        for kind in ("float32", "float64"):
            say(f"twixt.show, {count:,} bodies, {kind}")
            yield _show_row(count, kind, rounds_of(rounds, share))


def _show_row(count: int, kind: str, rounds: int) -> Row:
    """Row of a publish through `twixt.show`. Position and orientation are arrays of dtype `kind`."""
    random = np.random.default_rng(0)
    position = random.random((count, 3)).astype(kind)
    orientation: NDArray[np.floating] = random.normal(size=(count, 4)).astype(kind)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    with contextlib.redirect_stderr(io.StringIO()):  # hides the messages that the call prints about a viewer
        view = show(Scene([Sphere()]), capacity=count, name=f"bench-{os.getpid()}", viewer=False)
    with view:

        def publish() -> None:
            view.publish(position=position, orientation=orientation)

        for _ in range(MAX_SLOTS):  # only the first publish into each slot writes all fields
            publish()
        published, copied = times_us(rounds, publish, Memcpy(count * BODY.itemsize))
    note = f"{SHOW_US} us, and {(statistics.median(published) - SHOW_US) / count * 1e3:.1f} ns for each body"
    target = f"figure <= {SHOW_BODY_US * count + SHOW_US:.0f}"
    return row(f"show {count:,} bodies, {kind}", "us", published, "memcpy", copied, target, note)


def _wake_rows(share: float, say: Say) -> Iterator[Row]:
    rounds = rounds_of(WAKE_ROUNDS, share)
    say("wake a viewer that waits")
    with Channel(min(TARGETS)) as channel, _waiting_viewer(channel.host) as is_waiting, _sleeper() as write:
        woken, written = times_us(rounds, channel.host._service.wakes.wake_all, write, before=is_waiting)
    wake = row("wake a viewer that waits", "us", woken, "a bare write that wakes", written)
    yield wake
    note = f"the write that wakes the viewer takes {wake.limit:.1f} us of the measured time"
    for count, target in TARGETS.items():
        say(f"publish {count:,} bodies to a viewer that waits")
        slots = Layout.for_bodies(count).slots
        with Channel(count) as channel, _waiting_viewer(channel.host) as is_waiting:
            copy = Memcpy(count * BODY.itemsize, slots)
            published, copied = times_us(rounds, channel.publish, copy, before=is_waiting)
        name = f"publish {count:,} bodies and wake"
        yield row(name, "us", published, f"memcpy into {slots} places in turn", copied, target, note)


@contextmanager
def _waiting_viewer(host: Host) -> Iterator[Callable[[], None]]:
    """A viewer in another process that only waits for snapshots.

    Yields a function that returns when the viewer sleeps. That function raises TwixtError if the viewer has ended or
    does not request a wake.
    """
    with process(python(VIEWER.format(name=host.name))) as viewer:

        def is_waiting() -> None:
            viewer.until(lambda: len(host._service.wakes) > 0, "it waited for a snapshot", poll_s=0)
            asleep_ns = time.perf_counter_ns() + FALLING_ASLEEP_NS
            while time.perf_counter_ns() < asleep_ns:
                time.sleep(0)  # lets the thread that received the request go to sleep too

        yield is_waiting


@contextmanager
def _sleeper() -> Iterator[Callable[[], object]]:
    """Runs a process that sleeps until a byte arrives. Yields a function that writes a byte."""
    reading, writing = os.pipe()
    try:
        with process([python_program(), "-I", "-S", "-c", SLEEPER, str(reading)], pass_fds=[reading]):
            yield lambda: os.write(writing, b"w")
    finally:
        os.close(reading)
        os.close(writing)
