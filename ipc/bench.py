"""What the channel costs, each figure beside the same bytes copied plainly; and the row all parts report in.

One idea: a time alone says little of a machine that others use too. So what is measured and its physical limit
take turns, round by round in one run, and the medians of both stand beside each other. Only these two: a third
would take their place in the cache, and both would be slower than either is in use.

Always: a figure that could not be measured is None, with the reason in `note`. Nothing is judged here.
Reads are timed in this process: a reader in another finds the bytes in another core's cache, and takes longer.
"""

from __future__ import annotations

import gc
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.layout import Layout
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import Host, Link, attach, open_door
from twixt.ipc.snapshot import BODY, Head, new_bodies

BODIES = 10_000
# Larger than any cache: what is measured is main memory.
LARGE_BYTES = 64 << 20
# Rounds of a whole run: about a second for each group of rows.
ROUNDS, LARGE_ROUNDS = 2000, 31
# Reads of pairs at that rate: ten seconds. The variable asks for another number of them.
PAIRS, PAIRS_HZ, PAIRS_VARIABLE = 600, 60, "TWIXT_BENCH_PAIRS"
# A median of fewer is none.
FEWEST_ROUNDS = 3
READ_BUDGET_BYTES = 256 << 20

Say = Callable[[str], object]


class Row(NamedTuple):
    """One figure beside its limit, both in `unit`. rounds: how often both were measured.

    noise: by what share the ratio may be off; None where nobody knows. bar: what is wanted of `figure`, `ratio` or
    `over`, such as "ratio <= 1.05"; empty where nothing is.
    """

    name: str
    unit: str
    figure: float | None
    limit_name: str
    limit: float | None
    rounds: int
    note: str = ""
    noise: float | None = None
    bar: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the limit the figure is."""
        return self.figure / self.limit if self.figure is not None and self.limit else None

    @property
    def over(self) -> float | None:
        """How much more than the limit the figure is, in its unit."""
        return self.figure - self.limit if self.figure is not None and self.limit is not None else None


def rounds_of(whole: int, share: float) -> int:
    """How many of a whole run's rounds a run of that share makes."""
    return max(FEWEST_ROUNDS, round(whole * share))


def interleaved(
    rounds: int, *works: Callable[[], object], calls: int = 1, before: Callable[[], object] | None = None
) -> list[float]:
    """The median time of a call of each of `works`, in us. They take turns, `calls` calls at a time.

    before: called ahead of each turn, and not timed.
    """
    taken_ns: list[list[int]] = [[] for _ in works]
    collects = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for work, taken in zip(works, taken_ns, strict=True):
                if before is not None:
                    before()
                begin_ns = time.perf_counter_ns()
                for _ in range(calls):
                    work()
                taken.append(time.perf_counter_ns() - begin_ns)
    finally:
        if collects:
            gc.enable()
    return [statistics.median(taken) / calls / 1e3 for taken in taken_ns]


class Memcpy:
    """Copies `size` bytes, a multiple of 8, to the next of `places`, as plainly as can be."""

    def __init__(self, size: int, places: int = 1) -> None:
        # As words: numpy copies them with memcpy, and bytes by a way that takes twice as long where they are not cached.
        self._source = np.ones(size // 8, np.uint64)
        self._places = [np.ones(size // 8, np.uint64) for _ in range(places)]
        self._next = 0

    def __call__(self) -> None:
        self._places[self._next][...] = self._source
        self._next = (self._next + 1) % len(self._places)


class Channel:
    """A host of this process's own, publishing `count` bodies whenever `publish` is called."""

    def __init__(self, count: int) -> None:
        self.bodies = new_bodies(count)
        self.host = Host(open_door(f"bench-{os.getpid()}"), Scene([Sphere()]), count)
        self._tick = 0

    def publish(self) -> None:
        self._tick += 1
        self.host.publish(Head(tick=self._tick, count=len(self.bodies)), self.bodies)

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.host.end()


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The channel's rows. share: of a whole run's rounds. say: told what is measured next."""
    from twixt.ipc import bench_wake  # which measures with what is here

    reads = pairs_wanted(os.environ.get(PAIRS_VARIABLE, ""), share)
    rounds = rounds_of(ROUNDS, share)
    size = BODIES * BODY.itemsize
    with Channel(BODIES) as channel:
        say(f"publish {BODIES:,} bodies")
        yield from _publish(channel, size, rounds)
        say(f"read {BODIES:,} bodies")
        link = attach(channel.host.name)
        try:
            yield from _read(channel, link, size, rounds)
        finally:
            link.close()
    yield from bench_wake.rows(share, say)
    say("publish 64 MiB")
    rounds = rounds_of(LARGE_ROUNDS, share)
    with Channel(LARGE_BYTES // BODY.itemsize) as channel:
        published, copied = interleaved(rounds, channel.publish, Memcpy(LARGE_BYTES))
        yield Row("publish 64 MiB", "ms", published / 1e3, "memcpy", copied / 1e3, rounds, bar="ratio <= 1.05")
        yield _in_place(channel, LARGE_BYTES // BODY.itemsize, rounds)
        say("read pairs of 64 MiB")
        yield from pairs_read(channel, reads)


def _publish(channel: Channel, size: int, rounds: int) -> Iterator[Row]:
    """Beside a copy that finds its target in the cache, and one that goes round as many places as the ring has."""
    name, slots = f"publish {BODIES:,} bodies", Layout.for_bodies(BODIES).slots
    for limit_name, places in (("memcpy", 1), (f"memcpy, {slots} places", slots)):
        published, copied = interleaved(rounds, channel.publish, Memcpy(size, places))
        yield Row(name, "us", published, limit_name, copied, rounds)
    yield _in_place(channel, BODIES, rounds)


def _in_place(channel: Channel, count: int, rounds: int) -> Row:
    """A publish of bodies that are written into the slot, beside the same written to an array."""
    head, plain = Head(count=count), np.full(count * BODY.itemsize // 8, 7, np.uint64)

    def fill(records: NDArray[np.void]) -> None:
        records.view(np.uint64).fill(7)

    published, made = interleaved(rounds, lambda: channel.host.publish_in_place(head, fill), lambda: plain.fill(7))
    return Row(f"publish {count:,} bodies in place", "us", published, "the same into an array", made, rounds)


def pairs_wanted(asked: str, share: float) -> int:
    """How many pairs to read: as many as asked for, else the share of a whole run's. Raises TwixtError."""
    if asked and not (asked.isdecimal() and int(asked) >= FEWEST_ROUNDS):
        raise TwixtError(f"{PAIRS_VARIABLE} must be a whole number of reads >= {FEWEST_ROUNDS}, got {asked!r}")
    return int(asked) if asked else rounds_of(PAIRS, share)


def pairs_read(channel: Channel, reads: int) -> Iterator[Row]:
    """Reads of the two newest snapshots, each a whole copy, while they are published 60 times a second; and as fast as
    can be, a fifth as often as in a whole run. Two have been published before."""
    link = attach(channel.host.name)
    failed, retried = dict[float, int](), dict[float, int]()
    try:
        for period_s, times in ((1 / PAIRS_HZ, reads), (0.0, rounds_of(min(reads, PAIRS), 0.2))):
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
            failed[period_s] = link.counters["pairs_failed"] - before["pairs_failed"]
            retried[period_s] = link.counters["retries"] - before["retries"]
    finally:
        link.close()
    note = f"of {reads}; {retried[1 / PAIRS_HZ]} tried again; with a writer that never rests {failed[0.0]} of {times}"
    yield Row(
        "failed pair reads of 64 MiB", "reads", failed[1 / PAIRS_HZ], "all", reads, reads, note, bar="figure <= 0"
    )


def _publish_on(channel: Channel, period_s: float, stop: threading.Event) -> None:
    while not stop.wait(period_s):
        channel.publish()


def _read(channel: Channel, link: Link, size: int, rounds: int) -> Iterator[Row]:
    source, taken = channel.bodies.view(np.uint8), np.empty(size, np.uint8)
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
        for claim in link.unread(READ_BUDGET_BYTES):
            np.copyto(taken, np.frombuffer(claim.bodies, np.uint8))
            failed += not claim.is_valid()

    channel.publish()
    for name, work, copies in (("pair", read_pair, 2), ("unread", read_unread, 1)):
        failed = 0
        read, copied = interleaved(rounds, work, lambda: np.copyto(taken, source), before=publish_one)
        notes = [f"{failed} of {rounds} failed"] if failed else []
        if work is read_pair:  # its arrays are the reader's to keep: new memory, which is slow to touch at first
            (anew,) = interleaved(rounds_of(rounds, 0.2), lambda: (source.copy(), source.copy()))
            notes.append(f"two copies into new memory take {anew:.0f} us")
        limit_name, note = ("memcpy" if copies == 1 else f"{copies} x memcpy"), "; ".join(notes)
        yield Row(f"read {name}, {BODIES:,} bodies", "us", read, limit_name, copies * copied, rounds, note)
