"""Order of all stores and loads that the writer and the readers make on the same words.

Snapshot k (1, 2, 3, ...) is in slot k mod N. The slot's sequence word is 2k-1 while k is being written, and 2k when k
is complete. A reader of k requires exactly 2k. A test for any even word would not be enough, because the word is even
again when k+N is in the slot.

The reader compares the word with 2k twice. The first look comes before the read of the slot, the
second look after it.

The functions here use only the words, a fence and a copy function. So a model checker can run these same functions on
a simulated memory (`tests/ipc/model`). The checker also removes one step at a time, and reports the faults that
follow.

    writer                        reader
    sequence = 2k-1               k = latest
      W1 fence                      R1 fence
    fill the slot                 sequence == 2k ?   no: overwritten, or being written
    sequence = 2k                 read the slot
      W2 fence                      R2 fence
    latest = k                    sequence == 2k ?   yes: the bytes read are all of snapshot k

Always: a reader reads no snapshot newer than the `latest` that it loaded by `read_latest`. So after R1 the reader sees
everything that was stored before `latest = k`: all bytes of k, and 2k. The order of those stores does not matter.

The list below gives the purpose of each fence. It also names the fault that the checker finds on an ARM-like memory if
that fence is removed. Snapshot k-N was in the slot before k. On x86's memory model, and on a memory without
reordering, the checker finds no fault even if all fences are removed.
W1  The first new bytes must not be visible before 2k-1. Else a reader of k-N finds 2(k-N), reads bytes of k, finds
    2(k-N) again, and accepts the mixture as k-N: a torn snapshot.
W2  `latest = k` must not be visible before 2k or before any byte of k. Else `latest` is the number of an incomplete
    snapshot, and a reader that finds 2k may miss some bytes of k: a wrong `latest`, and a torn snapshot.
R1  No word of the slot must be loaded before `latest`. Else the reader may see a new `latest` with older words of the
    slot: the same two faults as without W2.
R2  The bytes must not be loaded after the second look. Else the writer may begin k+N before the bytes are loaded, and
    the snapshot is torn.

Without the second look the writer may write k+N while the bytes are read, and the snapshot is torn. This fault appears
on every memory model.

The checker found that two further fences would be redundant. One is between the bytes and 2k: W2 follows both, and no
reader reads k before `latest = k`. The other is between the first look and the bytes: R1 precedes both. The first look
only saves time: a slot that the second look would reject is not read. The first look also tells in which segment k is.

Each word has exactly one writer. After an interruption (Ctrl-C) the writer may simply publish again. The next number
is `latest` + 1, so a slot whose word is still 2k-1 is written again, as snapshot k.

The plan is a small record with its own sequence word, which only increases. A reader does not reach the plan through
`latest`. So the reader needs both looks, and each side needs a fence before the values and a fence after them: W3, W4,
R3, R4. If any of these six steps is removed, the plan can be torn.

Events are appended, many at a time, to a ring of records (`events.py`): record n is in slot (n-1) mod N. Two words
serve all slots. `begun` never falls.

    writer                          reader
    begun = n+k, if that is more    latest
      W5 fence                        R1 fence
    fill the slots of n+1 .. n+k    read the records that are new, up to `latest`
      W6 fence                        R6 fence
    latest = n+k                    begun: the records up to begun-N are overwritten, the others are complete

W5  The first new bytes must not be visible before `begun`. Else a reader finds the old `begun`, and accepts bytes of
    record n+k as record n+k-N.
W6  `latest` must not be visible before any byte of the records. Else a reader accepts an incomplete record.
R1  No record must be loaded before `latest`. Else the reader accepts older bytes as a new record.
R6  The bytes must not be loaded after `begun`. Else the writer may overwrite them between the two loads.
After an interruption the next records get the same numbers, and `begun` stays: the slots up to it may hold anything.

A full fence in pure Python (`make_fence`) releases and then acquires a private lock that is *already held*. No earlier
access moves behind the release, and no later access moves before the acquire. Release and acquire use the same word.
So even on ARM the acquire cannot move before the release. The opposite order, `with lock: pass`, is no fence: accesses
before and after it may move *into* the locked region and be reordered there. Each writer and each reader has its own
fence; two threads that share a fence would block each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
Fence = Callable[[], None]


class Words(Protocol):
    """Words of 8 bytes. A single instruction loads or stores a word. `memoryview.cast("Q")` gives such words.

    `struct.pack_into` cannot replace these loads and stores: it zeroes its target first, and another process can see
    the zeros. Slices cannot replace them either, because slices are copied byte by byte.
    """

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...


def make_fence() -> Fence:
    """Returns a full memory fence for one thread. No load and no store moves across a call of the fence. A call takes
    about 0.1 us."""
    lock = threading.Lock()
    lock.acquire()
    release, acquire = lock.release, lock.acquire

    def fence() -> None:
        try:
            release()
        # Ctrl-C interrupted the last call between release and acquire, so the lock is already free.
        except RuntimeError:
            acquire()
            release()
        acquire()

    return fence


def next_number(words: Words, latest: int) -> int:
    """Number of the next snapshot to write."""
    return words[latest] + 1


def begin_write(words: Words, fence: Fence, sequence: int, number: int) -> None:
    """Marks the slot as being written, so that no reader accepts the old snapshot in it. After an interruption this
    function may be called again."""
    words[sequence] = 2 * number - 1
    fence()  # W1


def end_write(words: Words, fence: Fence, latest: int, sequence: int, number: int) -> None:
    """Makes snapshot `number` visible as the newest snapshot. Call this function after all bytes of the snapshot are
    written."""
    words[sequence] = 2 * number
    fence()  # W2
    words[latest] = number


def read_latest(words: Words, fence: Fence, latest: int) -> int:
    """Returns the number of the newest complete snapshot, or 0 before the first snapshot."""
    number = words[latest]
    fence()  # R1
    return number


def begin_read(words: Words, sequence: int, number: int) -> bool:
    """True if the slot holds snapshot `number`, which must not be above the result of `read_latest`. Bytes read after
    this call are valid if `end_read` then returns True."""
    return words[sequence] == 2 * number  # first look


def end_read(words: Words, fence: Fence, sequence: int, number: int) -> bool:
    """True if all bytes that were read since the call of `begin_read` belong to snapshot `number`."""
    fence()  # R2
    return words[sequence] == 2 * number  # second look


def read_slot(words: Words, fence: Fence, sequence: int, number: int, copy: Callable[[], T]) -> T | None:
    """Returns the result of `copy` if snapshot `number` stayed in the slot during the whole copy; else None."""
    if not begin_read(words, sequence, number):
        return None
    copied = copy()
    return copied if end_read(words, fence, sequence, number) else None


def begin_append(words: Words, fence: Fence, begun: int, last: int) -> None:
    """Marks the slots of all records up to number `last` as being written. After an interruption this function may be
    called again, also with a smaller number."""
    if words[begun] < last:
        words[begun] = last
    fence()  # W5


def end_append(words: Words, fence: Fence, latest: int, last: int) -> None:
    """Makes all records up to number `last` visible. Call this function after all their bytes are written."""
    fence()  # W6
    words[latest] = last


def end_read_appended(words: Words, fence: Fence, begun: int) -> int:
    """Returns the number up to which records may have been overwritten, plus the number of slots. Records with larger
    numbers that were read since the call of `read_latest` are complete."""
    fence()  # R6
    return words[begun]


def write_record(words: Words, fence: Fence, sequence: int, values: tuple[int, ...]) -> None:
    """Replaces the values of a small record. The values are the words that follow the index `sequence`. Only one
    writer may call this function."""
    version = (words[sequence] + 2) // 2
    words[sequence] = 2 * version - 1
    fence()  # W3
    for index, value in enumerate(values, start=sequence + 1):
        words[index] = value
    fence()  # W4
    words[sequence] = 2 * version


def read_record(words: Words, fence: Fence, sequence: int, length: int) -> tuple[int, tuple[int, ...]] | None:
    """Returns the value of the sequence word and the `length` words after it. Returns None if the writer replaced the
    record during the read."""
    before = words[sequence]
    fence()  # R3
    values = tuple(words[index] for index in range(sequence + 1, sequence + 1 + length))
    fence()  # R4
    whole = before % 2 == 0 and words[sequence] == before
    return (before, values) if whole else None
