"""A viewer's side of the ring: what is new, the two newest, the plan. It owns no word and is never seen.

The one idea: what a reader is given is a `Claim`, a snapshot still lying in the ring (`segment`); one that the writer
overtook while it was used is thrown away, and newer ones are read.

Always: numbers are delivered in order and once at most, also across a growth; whatever the memory holds, the answer
is a TwixtError. Not here: the order of loads (`sequence`), where new segments come from (link). Used by one thread.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from twixt.ipc import layout as at
from twixt.ipc import sequence
from twixt.ipc.fence import Fence, make_fence
from twixt.ipc.layout import Layout, LayoutError
from twixt.ipc.memory import Memory
from twixt.ipc.plan import FASTEST, SLOWEST, Plan
from twixt.ipc.segment import Claim, Segment
from twixt.ipc.snapshot import Snapshot

# How often a read that the writer overtook is begun again before it is given up for this frame. An
# unthrottled writer overtakes a few of a hundred; a writer of ordinary pace, none.
ATTEMPTS = 16
# Segments mapped at once: the unread one of each growth. Who does not read maps no more.
MOST_SEGMENTS = 8
NO_PLAN = Plan(number=0, world_epoch=0, wall_ns=0, sim_time_ns=0, rate=1.0)


@dataclass
class Counters:
    """Of one reader since it began. A pair is the two newest snapshots, both whole."""

    pairs_read: int = 0
    retries: int = 0  # reads that the writer overtook, and that were begun again
    pairs_failed: int = 0  # reads that ended without the pair because of it
    skipped: int = 0  # snapshots never had whole: overwritten first, or beyond the byte budget
    bytes_per_snapshot: int = 0  # of the newest one delivered


class RingReader:
    """A reader of the ring in `memory`, and of the larger ones that follow it."""

    def __init__(self, memory: Memory, fence: Fence | None = None) -> None:
        self.counters = Counters()
        self._fence = fence or make_fence()
        self._segments = [Segment(memory, self._fence)]  # oldest first; more than one only until the old one is read
        self._attached_at = self._segments[0].latest()
        self._read = 0  # the last number delivered
        self._whole: tuple[int, int] = (-1, -1)  # the last two numbers that proved valid
        self._plan = NO_PLAN
        self._plan_state = 0

    @property
    def layout(self) -> Layout:
        return self._segments[-1].layout

    @property
    def latest(self) -> int:
        """The number of the newest complete snapshot, 0 before the first."""
        return self._segments[-1].latest()

    @property
    def has_successor(self) -> bool:
        """True when a larger segment took over: ask for it and `follow` it."""
        return self._segments[-1].words[at.SUCCESSOR] != 0

    @property
    def is_full(self) -> bool:
        """True while too much is unread to `follow` yet another segment."""
        return len(self._segments) >= MOST_SEGMENTS

    @property
    def has_unread(self) -> bool:
        """Whether `unread` has something to deliver, or to tidy up. A look at one word."""
        return self._segments[-1].words[at.LATEST] > self._read or len(self._segments) > 1

    @property
    def scene_version(self) -> int:
        return self._segments[-1].words[at.SCENE_VERSION]

    def follow(self, memory: Memory) -> None:
        """Go on in the successor's memory. What is unread in the old one is delivered first, then that is closed."""
        self._segments.append(Segment(memory, self._fence))
        self._plan_state = 0

    def unread(self, byte_budget: int) -> Iterator[Claim]:
        """The snapshots not delivered yet, oldest first, as many of the newest as fit; the newest always.

        Use each before asking for the next. Overtaken by the writer (the newest torn), it goes on with newer ones.
        """
        for attempt in range(ATTEMPTS):
            newest = self.latest
            if newest <= self._read:
                break
            self.counters.retries += attempt > 0
            claims = self._gather(newest, byte_budget)
            for claim in claims:
                self._deliver(claim)
                yield claim
                if claim.torn:
                    self.counters.skipped += 1
                elif claim.torn is False:
                    self._whole = (self._whole[1], claim.number)
            if claims and not claims[-1].torn:
                self._count_pair(claims)
                break
        else:
            self.counters.pairs_failed += 1
        self._close_old_segments()

    def pair(self) -> tuple[Snapshot, ...]:
        """Private copies of the two newest snapshots, older first; fewer when fewer were ever published, or
        none when the writer overtook every attempt."""
        for attempt in range(ATTEMPTS):
            newest = self.latest
            if newest == 0:
                return ()
            self.counters.retries += attempt > 0
            copies = [self._copy(number) for number in (newest - 1, newest) if number > 0]
            whole = tuple(snapshot for snapshot in copies if snapshot is not None)
            if len(whole) == len(copies):
                self.counters.pairs_read += len(whole) == 2
                return whole
        self.counters.pairs_failed += 1
        return ()

    def newest(self) -> Snapshot | None:
        """A private copy of the newest snapshot; None before the first, or when the writer overtook every attempt."""
        attempts = (self._copy(number) for _ in range(ATTEMPTS) if (number := self.latest))
        return next((snapshot for snapshot in attempts if snapshot is not None), None)

    def plan(self) -> Plan:
        """The plan in force; the last one known while it is being replaced. Before the first: rate 1, number 0."""
        words = self._segments[-1].words
        if words[at.PLAN_SEQUENCE] == self._plan_state:
            return self._plan
        for _ in range(ATTEMPTS):
            record = sequence.read_record(words, self._fence, at.PLAN_SEQUENCE, len(Plan._fields))
            if record is not None:
                plan = Plan(*struct.unpack("<4qd", struct.pack("<5Q", *record[1])))
                if not plan.is_sound:
                    raise LayoutError(
                        f"the plan is damaged: its rate must be 0, or from {SLOWEST:g} to {FASTEST:g}, "
                        f"got {plan.rate}; restart the simulation"
                    )
                self._plan_state, self._plan = record[0], plan
                break
        return self._plan

    def close(self) -> None:
        """Let go of the memory. Claims still held keep it mapped until they go."""
        for segment in self._segments:
            segment.memory.close()

    def _claim(self, number: int) -> Claim | None:
        for segment in reversed(self._segments):
            claim = segment.claim(number)
            if claim is not None:
                return claim
        return None

    def _copy(self, number: int) -> Snapshot | None:
        claim = self._claim(number)
        return None if claim is None else claim.copy()

    def _gather(self, newest: int, byte_budget: int) -> list[Claim]:
        """Claims of unread snapshots, oldest first, walking back from the newest until budget or ring ends."""
        claims: list[Claim] = []
        for number in range(newest, max(self._read, newest - len(self._segments) * at.MAX_SLOTS), -1):
            claim = self._claim(number)
            if claim is None:  # overwritten: then so is all that is older
                break
            byte_budget -= claim.bytes
            if claims and byte_budget < 0:
                break
            claims.append(claim)
        return claims[::-1]

    def _deliver(self, claim: Claim) -> None:
        self.counters.skipped += max(0, claim.number - max(self._read, self._attached_at) - 1)
        size = claim.bytes
        if size != self.counters.bytes_per_snapshot:  # else the same number would be kept anew in every frame
            self.counters.bytes_per_snapshot = size
        self._read = claim.number

    def _count_pair(self, claims: list[Claim]) -> None:
        newest = claims[-1].number
        if self._whole == (newest - 1, newest):
            self.counters.pairs_read += 1
        elif any(claim.torn for claim in claims):
            self.counters.pairs_failed += 1

    def _close_old_segments(self) -> None:
        while len(self._segments) > 1 and self._read >= self._segments[0].latest():
            self._segments.pop(0).memory.close()
