"""Writes docs/channel.md: the guarantees of the channel, and results of the model checker and of the stress runs.

    python -m tests.ipc.stress 10000000 2 >> STRESS        as often as wanted, with other sizes and slots
    python -m tests.ipc.event_stress 60 >> STRESS          the same of events
    python -m tests.ipc.model.page docs/channel.md STRESS  some minutes; `--stress` after it: only what the stress printed

Always: every figure of a table is a result of this run, or is in a line that the stress printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from tests.ipc.model import channel, event_ring
from tests.ipc.model.channel import (
    FENCES,
    FIRST_LOOK,
    LOOKS,
    PLAN_FENCES,
    PLAN_LOOKS,
    SLOTS,
    Scenario,
    explore,
    found_without,
)
from tests.ipc.model.memory_models import ARM, MODELS
from twixt.ipc.ring import sequence

STORIES: tuple[tuple[str, Callable[[int], Scenario], tuple[int, ...]], ...] = (
    ("a reader copies a pair", channel.pair, SLOTS),
    ("one reader reads all unread snapshots in place", channel.unread, SLOTS),
    ("one reader reads all unread snapshots in place, twice", channel.frames, SLOTS[:2]),
    ("one reader copies a pair; a second reader reads unread snapshots in place", channel.two_readers, SLOTS[:1]),
    ("the writer writes a snapshot in place; a reader copies a pair", channel.in_place, SLOTS),
    ("a reader copies a pair with marks", channel.with_marks, SLOTS[:2]),
    ("memory grows; a reader reads the unread snapshots of both segments", channel.growth, SLOTS[:2]),
    ("memory grows; a reader copies a pair from each segment", channel.pair_across_growth, SLOTS[:2]),
    ("one reader reads the plan twice", channel.plan, SLOTS[:1]),
)
# An interruption after each event of a publish.
INTERRUPTIONS = range(1, 9)
EVENT_STORIES: tuple[tuple[str, Callable[[int], event_ring.Story], tuple[int, ...]], ...] = (
    ("events are appended one at a time, until slots are reused", event_ring.one_at_a_time, event_ring.SLOTS),
    (
        "events are appended two at a time; some appends cross the end of the buffer",
        event_ring.two_at_a_time,
        event_ring.SLOTS,
    ),
    (
        "one append has more events than there are slots; one reader reads twice",
        event_ring.more_than_slots,
        event_ring.SLOTS,
    ),
    ("events are appended one at a time; one reader reads twice", event_ring.read_twice, event_ring.SLOTS),
    ("events are appended one at a time; two readers read them", event_ring.two_readers, event_ring.SLOTS[:1]),
)
EVENT_INTERRUPTIONS = "an append of events is interrupted after each access, and repeated; one reader reads twice"

HEADING = """# The channel

This page describes how snapshots and events get from physics to its viewers through shared memory: the guarantees, the
order of the writes and reads, and the proof. `python -m tests.ipc.model.page docs/channel.md STRESS` writes the page
in a few minutes.

## What is guaranteed

- A reader can read the two newest complete snapshots. A reader never gets a mixture of two snapshots, and the
  numbers of its snapshots never decrease.
- The writer never waits for a reader, and readers never affect it.
- An attempt to read fails if the writer overwrites the slot meanwhile. The reader then tries again, at most 16 times
  in one call. If all attempts of a call fail, the viewer draws from the snapshots that it already has. In the stress
  runs below, at most 0.15 % of the calls failed. The worst run had four slots and a writer that published without a
  pause.

## Why a double buffer has at least four slots

With two slots, only one complete snapshot exists while the other slot is written. With three slots, there are
sometimes fewer than two complete snapshots on ARM: `sequence` of the next snapshot can become visible before
`latest`. With four slots, two complete snapshots always exist. A writer that publishes without a pause overwrites
slots while they are read. With more slots it overwrites them less often. Therefore the channel has 4 to 16 slots: the
larger the snapshots, the fewer slots.

## The sequence

`ipc/ring/sequence.py` gives the reason for each fence.

```text
{sequence}
```

Events are appended to a separate ring buffer (`ipc/ring/events.py`: 32,768 records of 64 bytes, 2 MiB). A reader gets
each record at most once, in order, complete and with its name. If a record is overwritten before the reader reads it,
the reader counts it as lost. The writer never waits.

```text
{events}
```

## The models

`tests/ipc/model` runs the real `RingWriter`, `RingReader`, `EventWriter` and `EventReader`. It intercepts their loads,
stores and fences. It tries every order in which loads and stores can take effect, under three memory models:

- SC: memory keeps the order of all loads and stores.
- TSO (x86): each processor has a store queue.
- ARM: two loads or stores of one thread can change their order if no fence is between them. The model is multi-copy
  atomic. It does not rely on address and data dependencies.

Tests check the models with the known litmus tests SB, MP, LB, IRIW, WRC, CoRR, CoWR and 2+2W. A snapshot has blocks:
records, head, instant, marks and vertices. Each block is one word for the models, because all bytes of a block are
accessed in the same order. Each record of an event and each name is also one word. The writer publishes N + 2
snapshots, so that it reuses slots. In the scenarios in which memory grows, it publishes four snapshots.

## States explored, without a violation

A state consists of the memory, the stores that are not visible yet, and the positions of writer and readers. On ARM,
the loads of a reader between two fences count as one step. TSO has as many states as SC, because the queue of TSO
keeps the order of the writer's stores, and readers store nothing. N is the number of slots.

| scenario | N | {models} |
|---|---|{dashes}|
"""

PIECES = """
## What each fence and check prevents

Each row shows the first violation that the models find without this fence or check, with {slots} slots.
`-` means that the models find no violation. A reader compares `sequence` before it reads (*first look*) and after it
has read (*second look*). The plan has its own number instead of `sequence`. The fences W3, W4, R3 and R4 protect the
plan. Its number is odd during a write. *plan: odd?* is the check of the reader that the number is even. *Look at begun* is the check of a
reader of events that its records were not overwritten. *Begun never falls* is the rule of the writer that `begun`
never decreases. In the violations, *mixed* means blocks of several snapshots.

| removed | {models} |
|---|{dashes}|
"""

AFTER = """
With SC and TSO, memory keeps the order, so no fence is needed. On ARM each fence is needed. All three models need the
rule that `begun` never decreases. They also need each check except the first look, which only ends a failed attempt
early. Two more fences have no effect. A fence between the bytes and 2k is not needed because W2 orders them. A fence
between the first look and the bytes is not needed because R1 orders them.

Three slots do not guarantee two complete snapshots on ARM. The model finds this state:
{three}.
Four slots guarantee two complete snapshots, and the channel always has at least four. With three slots, more attempts
of a reader fail, but no reader gets a mixture of two snapshots.
"""

STRESS = """
## Stress runs

In a stress run, separate processes read and write real shared memory. Every cache line of every snapshot has a word
that the reader checks. `python -m tests.ipc.stress` prints each line about pairs. After 16 failed attempts to read a
pair, the pair is counted as *failed*. `python -m tests.ipc.event_stress` prints each line about events. This
program checks every word of every event. The sum of delivered and lost events must equal the number of appended events.

"""


def main(path: Path, stress: Path, only_stress: bool) -> None:
    if only_stress:
        found = path.read_text().split(STRESS)[0]
    else:
        found = "".join([*_states(), *_pieces(), AFTER.format(three=_three_slots())])
    printed = "".join(f"- {line}\n" for line in stress.read_text().splitlines())
    path.write_text(found + STRESS + printed)


def figure() -> str:
    """The two columns of `sequence`'s docstring."""
    docstring = sequence.__doc__ or ""
    return docstring[docstring.index("    writer") :].split("\n\nAlways")[0]


def figure_of_events() -> str:
    """The same for events."""
    docstring = sequence.__doc__ or ""
    return docstring[docstring.rindex("    writer  ") :].split("\n\nW5")[0]


def _states() -> Iterator[str]:
    yield HEADING.format(
        sequence=figure(),
        events=figure_of_events(),
        models=" | ".join(MODELS),
        dashes="---|" * (len(MODELS) - 1) + "---",
    )
    for story, scenario, slots in STORIES:
        for count in slots:
            yield _row(story, str(count), *(f"{explore(scenario(count), model):,}" for model in MODELS))
    sums = [sum(explore(channel.interrupted(3, events), model) for events in INTERRUPTIONS) for model in MODELS]
    yield _row("a publish is interrupted after each access, and repeated", "3", *(f"{states:,}" for states in sums))
    for story, of_events, slots in EVENT_STORIES:
        for count in slots:
            yield _row(story, str(count), *(f"{event_ring.explore(of_events(count), model):,}" for model in MODELS))
    places = range(1, event_ring.EVENTS_OF_AN_APPEND + 1)
    sums = [sum(event_ring.explore(event_ring.interrupted(3, at), model) for at in places) for model in MODELS]
    yield _row(EVENT_INTERRUPTIONS, "3", *(f"{states:,}" for states in sums))


def _pieces(slots: int = 4) -> Iterator[str]:
    yield PIECES.format(slots=slots, models=" | ".join(MODELS), dashes="---|" * (len(MODELS) - 1) + "---")
    for piece in (*FENCES, *LOOKS, FIRST_LOOK, *PLAN_FENCES, *PLAN_LOOKS):
        yield _row(piece.name, *(found_without(piece, model, slots) or "-" for model in MODELS))
    for piece in (*event_ring.FENCES, *event_ring.LOOKS):
        yield _row(piece.name, *(event_ring.found_without(piece, model, slots) or "-" for model in MODELS))


def _three_slots() -> str:
    with patch.object(channel, "HOLD_THE_PAIR", 3):
        try:
            explore(channel.pair(3), ARM)
        except channel.Violation as violation:
            return violation.what
    raise AssertionError("no violation was found with three slots")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), "--stress" in sys.argv)
