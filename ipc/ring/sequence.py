"""Order of all stores and loads that two processes make on the same words.

A snapshot has a number k (1, 2, 3, ...), its slot is k mod N, and the slot's sequence word states its contents: 2k-1
while k is being written, 2k when k is complete. A reader of k requires exactly 2k. An even word is not enough: it is
even again with k+N in the slot.

The functions here use only the words, a fence and a copy function. So a model checker runs these very functions on a
simulated memory (`tests/ipc/model`), and removes each step in turn to find what breaks.

    writer                        reader
    sequence = 2k-1               k = latest
      W1 fence                      R1 fence
    fill the slot                 sequence == 2k ?   no: overwritten, or being written
    sequence = 2k                 read the slot
      W2 fence                      R2 fence
    latest = k                    sequence == 2k ?   yes: what was read is snapshot k, whole

Always: a reader requests no number above the `latest` that it loaded by `read_latest`. So everything stored before
`latest = k`, the bytes and 2k, is visible to it after R1, in whatever order it was stored.

Below: the purpose of each fence, and the fault that the checker finds without it on an ARM-like memory (the slot held
k-N before). On x86's memory model, and on one without reordering, it finds no fault without any of the fences.
W1  The first new bytes must not be visible before 2k-1. Else a reader of k-N finds 2(k-N), reads bytes of k, finds
    2(k-N) again, and accepts the mixture as k-N. Torn.
W2  `latest = k` must not be visible before 2k or any byte of k. Else it names an incomplete snapshot, and a reader that
    finds 2k may not see all bytes of k. `latest` is false, and the snapshot is torn.
R1  No word of the slot must be loaded before `latest`. Else the same two faults appear on the reader's side.
R2  The bytes must not be loaded after the second look. Else k+N may have begun in between. Torn.
The second look: without it k+N may have been written while the bytes were read. Torn, on every memory model.

The checker finds two fences redundant, so they are not here: one between the bytes and 2k (W2 follows both, and no
reader requests k before `latest`), and one between the first look and the bytes (R1 precedes both). The first look
is an early exit: it saves reading a slot that the second look would refuse, and finds the segment that holds k.

Each word has exactly one writer. A writer that was interrupted (Ctrl-C) may simply publish again: its next number
comes from `latest`, so a slot left at 2k-1 is written as k again.

The plan is a small record under its own sequence word, whose number only grows. No `latest` leads to it, so both
looks are needed, and a fence on both sides of its values: W3, W4, R3, R4. Without any of these six it can be torn.

A full fence in pure Python (`make_fence`) is a private lock that is *already held*: it is released, then acquired. No
earlier access moves behind the release, and no later access moves before the acquire. Both use the same word, so the
acquire cannot pass the release (on ARM as well, where the pair is ordered). The other order, `with lock: pass`, is no
fence: accesses of both sides may move *into* the locked region and be reordered there.
Each writer and each reader has its own fence; two threads that share one would block each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
Fence = Callable[[], None]


class Words(Protocol):
    """8-byte words, each loaded or stored by a single instruction: `memoryview.cast("Q")`.

    `struct.pack_into` zeroes its target first, which another process sees; slices are copied byte by byte.
    """

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...


def make_fence() -> Fence:
    """A full memory fence for one thread: no load or store moves across a call. A call costs about 0.1 us."""
    lock = threading.Lock()
    lock.acquire()
    release, acquire = lock.release, lock.acquire

    def fence() -> None:
        try:
            release()
        except RuntimeError:  # Ctrl-C came between release and acquire last time: the lock was left free
            acquire()
            release()
        acquire()

    return fence


def next_number(words: Words, latest: int) -> int:
    """The number of the snapshot to write now."""
    return words[latest] + 1


def begin_write(words: Words, fence: Fence, sequence: int, number: int) -> None:
    """Marks the slot as being written, so that no reader accepts its old snapshot. May be repeated after an
    interruption."""
    words[sequence] = 2 * number - 1
    fence()  # W1


def end_write(words: Words, fence: Fence, latest: int, sequence: int, number: int) -> None:
    """Makes snapshot `number` visible, as the newest, once all of its bytes are written."""
    words[sequence] = 2 * number
    fence()  # W2
    words[latest] = number


def read_latest(words: Words, fence: Fence, latest: int) -> int:
    """The number of the newest complete snapshot, 0 when there is none yet."""
    number = words[latest]
    fence()  # R1
    return number


def begin_read(words: Words, sequence: int, number: int) -> bool:
    """True if the slot holds `number`, at most `read_latest`. Bytes read after this are valid if `end_read` is."""
    return words[sequence] == 2 * number  # first look


def end_read(words: Words, fence: Fence, sequence: int, number: int) -> bool:
    """True if all bytes read since `begin_read` were snapshot `number`'s."""
    fence()  # R2
    return words[sequence] == 2 * number  # second look


def read_slot(words: Words, fence: Fence, sequence: int, number: int, copy: Callable[[], T]) -> T | None:
    """Result of `copy` if snapshot `number` stayed in the slot throughout; else None."""
    if not begin_read(words, sequence, number):
        return None
    copied = copy()
    return copied if end_read(words, fence, sequence, number) else None


def write_record(words: Words, fence: Fence, sequence: int, values: tuple[int, ...]) -> None:
    """Replaces the small record behind `sequence` (the words that follow it). One writer."""
    version = (words[sequence] + 2) // 2
    words[sequence] = 2 * version - 1
    fence()  # W3
    for index, value in enumerate(values, start=sequence + 1):
        words[index] = value
    fence()  # W4
    words[sequence] = 2 * version


def read_record(words: Words, fence: Fence, sequence: int, length: int) -> tuple[int, tuple[int, ...]] | None:
    """(state of the sequence word, the `length` words behind it); None if the record was being replaced."""
    before = words[sequence]
    fence()  # R3
    values = tuple(words[index] for index in range(sequence + 1, sequence + 1 + length))
    fence()  # R4
    whole = before % 2 == 0 and words[sequence] == before
    return (before, values) if whole else None
