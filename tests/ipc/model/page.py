"""docs/channel.md: what the channel promises, and what the model checker and the stress found of it.

    python -m tests.ipc.stress 10000000 2 >> STRESS        as often as wanted, with other sizes and slots
    python -m tests.ipc.event_stress 60 >> STRESS          the same of events
    python -m tests.ipc.model.page docs/channel.md STRESS  some minutes; `--stress` after it: only what the stress printed

Always: every figure of the page was found by such a run, or stands in a line that the stress printed.
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
    ("a pair is copied", channel.pair, SLOTS),
    ("all that is unread is used where it lies", channel.unread, SLOTS),
    ("the same, by a reader that comes twice", channel.frames, SLOTS[:2]),
    ("two readers, one of each kind", channel.two_readers, SLOTS[:1]),
    ("written in place, a pair is copied", channel.in_place, SLOTS),
    ("a pair with marks is copied", channel.with_marks, SLOTS[:2]),
    ("growth: the unread of both segments", channel.growth, SLOTS[:2]),
    ("growth: a pair of each segment", channel.pair_across_growth, SLOTS[:2]),
    ("the plan, read twice", channel.plan, SLOTS[:1]),
)
# An interruption after each event of a publish.
INTERRUPTIONS = range(1, 9)
EVENT_STORIES: tuple[tuple[str, Callable[[int], event_ring.Story], tuple[int, ...]], ...] = (
    ("events: one at a time, until the ring has come round", event_ring.one_at_a_time, event_ring.SLOTS),
    ("events: two at a time, some with a wrap between them", event_ring.two_at_a_time, event_ring.SLOTS),
    ("events: more in one append than there are slots, read twice", event_ring.more_than_slots, event_ring.SLOTS),
    ("events: one at a time, read twice", event_ring.read_twice, event_ring.SLOTS),
    ("events: one at a time, two readers", event_ring.two_readers, event_ring.SLOTS[:1]),
)
EVENT_INTERRUPTIONS = "events: interrupted after each event of an append, and begun again, read twice"

HEADING = """# The channel, proved

Written by `python -m tests.ipc.model.page docs/channel.md STRESS`; type that to make it again (some minutes).

**The promise.** At any instant the two newest snapshots can be read, complete; a reader never takes a mixture for a
snapshot; numbers never go back; the writer never waits, and readers never affect it.

**The sequence**, from `ipc/ring/sequence.py`, where each fence's reason stands:

```
{sequence}
```

**The models.** `tests/ipc/model` runs the real `RingWriter` and `RingReader`, watches their loads, stores and fences,
and explores every interleaving of them: on a memory that keeps the order (SC), with store queues (x86-TSO), and with
stores and loads of one thread passing each other wherever no fence parts them (ARM: multi-copy atomic, dependencies
not relied on). The models themselves are held to the known litmus tests: SB, MP, LB, IRIW, WRC, CoRR, CoWR, 2+2W.
Blocks of a snapshot (records, head, instant; marks, and the vertices behind them, where there are any) are a word
each: any two bytes of a block are alike to the model. The writer publishes N + 2 snapshots and so comes round; in the
stories of growth, four.

**Events** are appended to a ring of their own (`ipc/ring/events.py`, 32,768 records of 64 bytes, 2 MiB). Its promise:
a reader is given each record at most once, in order, complete and with its name; those that were overwritten before it
read them it counts as lost, exactly; the writer never waits. The models run the real `EventWriter` and `EventReader`
in the same way; a record is a word, and so is a name.

```
{events}
```

## States explored, nothing wrong in any

A state is memory, what has not reached it, and where each side stands; on ARM a reader's loads between two fences
count as one step. TSO has as many as SC: its queue keeps the writer's order, and readers store nothing.

| story | N | {models} |
|---|---|{dashes}|
"""

PIECES = """
## What breaks without each piece

The first thing found wrong, N = {slots}; `-`: nothing, in all states of the stories that use it.

| removed | {models} |
|---|{dashes}|
"""

AFTER = """
So no fence is needed where memory keeps the order, each is where it does not, and the looks are everywhere, as is that
`begun` never falls. The first look is an early exit. A fence between the bytes and 2k and one between the first look
and the bytes would be redundant beside W2 and R1.

That both snapshots lie whole *at any instant* three slots do not promise on an ARM-like memory, where the mark of the
next snapshot may be there before `latest`: {three}.
Four do, and the channel has no fewer. With three a reader begins again, and takes no mixture either.
"""

STRESS = """
## The stress

Processes of their own on real shared memory, a check word in every cache line of every snapshot, as
`python -m tests.ipc.stress` printed it. *Failed* is a pair that was given up after 16 tries. Of events every word is
checked, and delivered and lost ones must add up: `python -m tests.ipc.event_stress`.

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
    yield _row("interrupted after each event of a publish, and begun again", "3", *(f"{states:,}" for states in sums))
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
    raise AssertionError("three slots were found to hold the pair at any instant")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), "--stress" in sys.argv)
