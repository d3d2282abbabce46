"""The channel's promises, what is run to try them, and the pieces that are removed in turn.

The one idea: a promise is checked where it can be broken. Of memory, at each instant: the two newest snapshots are
complete. Of a reader, whatever it saw and in whatever order: `latest` named complete snapshots, nothing given out is a
mixture, numbers never go back. A piece that is needed breaks one of these when it is removed; else it is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.ipc.model import reading as read
from tests.ipc.model import writing as write
from tests.ipc.model.memory_models import Explorer, Violation
from tests.ipc.model.watched import LATEST, MARK, PAYLOAD, SUCCESSOR, Piece, Word, without

# With so many slots the two newest lie whole at any instant, on any machine. With three, the snapshot after the newest
# goes where the older of the two lies, and its first mark may be in memory before `latest` is: no fence parts them.
HOLD_THE_PAIR = 4

SLOTS = (3, 4, 5, 6)

FENCES = tuple(Piece(name, f"fence()  # {name}", "pass") for name in ("W1", "W2", "R1", "R2"))
LOOKS = (
    Piece("second look", "return words[sequence] == 2 * number  # second look", "return True"),
    Piece("second look at a head", "copied if end_read(words, fence, sequence, number) else None", "copied"),
)
FIRST_LOOK = Piece("first look", "return words[sequence] == 2 * number  # first look", "return True")
PLAN_FENCES = tuple(Piece(name, f"fence()  # {name}", "pass") for name in ("W3", "W4", "R3", "R4"))
PLAN_LOOKS = (
    Piece("plan: odd?", "before % 2 == 0 and ", ""),
    Piece("plan: second look", " and words[sequence] == before", ""),
)


class Scenario(NamedTuple):
    """A writer and its readers, each doing its parts in turn, in rings of so many slots."""

    name: str
    slots: int
    writer: write.Writing
    readers: tuple[tuple[read.Part, ...], ...]
    segments: int = 1
    marks: int = 0  # that each snapshot has


def pair(slots: int) -> Scenario:
    """Numbers enough that the writer comes round to each slot of a pair, and leaves it again."""
    return Scenario("pair", slots, write.publishes(slots + 2, slots), ((read.the_pair,),))


def in_place(slots: int) -> Scenario:
    return Scenario("in place", slots, write.publishes(slots + 2, slots, in_place=True), ((read.the_pair,),))


def with_marks(slots: int) -> Scenario:
    writer = write.publishes(slots + 2, slots, marks=1)
    return Scenario("with marks", slots, writer, ((read.the_pair,),), marks=1)


def unread(slots: int) -> Scenario:
    return Scenario("unread", slots, write.publishes(slots + 2, slots), ((read.the_unread,),))


def frames(slots: int) -> Scenario:
    """A reader that comes twice."""
    return Scenario("two frames", slots, write.publishes(slots + 2, slots), ((read.the_unread, read.the_unread),))


def two_readers(slots: int) -> Scenario:
    return Scenario("two readers", slots, write.publishes(slots + 1, slots), ((read.the_pair,), (read.the_unread,)))


def growth(slots: int) -> Scenario:
    parts = (read.the_unread, read.the_successor, read.the_unread)
    return Scenario("growth", slots, write.publishes_and_grows(2, 4, slots), (parts,), segments=2)


def pair_across_growth(slots: int) -> Scenario:
    parts = (read.the_pair, read.the_successor, read.the_pair)
    return Scenario("pair across growth", slots, write.publishes_and_grows(3, 4, slots), (parts,), segments=2)


def plan(slots: int, last: int = 2) -> Scenario:
    return Scenario("plan", slots, write.writes_plans(last, slots), ((read.the_plan, read.the_plan),))


def interrupted(slots: int, events: int) -> Scenario:
    writer = write.publishes_interrupted(events, slots + 1, slots)
    return Scenario(f"interrupted after {events}", slots, writer, ((read.the_pair,),))


def explore(scenario: Scenario, model: str) -> int:
    """All that can happen; the number of states. Raises Violation."""
    slots, domain = scenario.slots, scenario.writer.domain()
    segments, marks = scenario.segments, scenario.marks
    readers = [read.Reading(slots, parts, domain, segments, marks) for parts in scenario.readers]
    return Explorer(
        model,
        [scenario.writer.node(), *(reader.node() for reader in readers)],
        scenario.writer.memory,
        readers=range(1, len(readers) + 1),
        check_memory=lambda memory: wrong_in_memory(memory, slots, scenario.segments),
        check_outcome=lambda outcome: outcome and wrong_for_a_reader(outcome, slots),
    ).run()


def found_without(piece: Piece, model: str, slots: int) -> str | None:
    """What goes wrong first when the piece is removed; None: nothing, in all that is tried here."""
    with without(piece):
        of_plan = piece in PLAN_FENCES + PLAN_LOOKS
        for scenario in (plan(slots),) if of_plan else (pair(slots), unread(slots)):
            try:
                explore(scenario, model)
            except Violation as violation:
                return violation.what
    return None


def wrong_in_memory(memory: Mapping[Word, Any], slots: int, segments: int) -> str | None:
    """Of every instant; of the successor, from when the first segment names it."""
    for segment in range(segments):
        if segment and not memory[Word(0, SUCCESSOR)]:
            continue
        latest = memory[Word(segment, LATEST)]
        for number in range(max(1, latest - 1), latest + 1):
            slot = number % slots
            words = [Word(segment, name, slot) for name in PAYLOAD]
            held = [memory[word] for word in words if word in memory]
            mark = memory[Word(segment, MARK, slot)]
            if slots < HOLD_THE_PAIR and number < latest and mark > 2 * number:
                continue
            if mark != 2 * number or len({*held}) != 1 or held[0] % write.AGAIN != number:
                return (
                    f"`latest` is {latest}, so snapshot {number} should be complete, "
                    f"but in its slot `sequence` is {mark} and the blocks are of the snapshots {held}"
                )
    return None


def wrong_for_a_reader(outcome: read.Outcome, slots: int) -> str | None:
    """Of all that a reader loaded, and was given."""
    return _wrong_of_latest(outcome, slots) or _wrong_of_taken(outcome)


def _wrong_of_latest(outcome: read.Outcome, slots: int) -> str | None:
    latest: dict[int, int] = {}
    for word, value in outcome.loads:
        if word.name == LATEST:
            before = max((named for segment, named in latest.items() if segment <= word.segment), default=0)
            if value < before:
                return f"`latest` went back from {before} to {value}"
            latest[word.segment] = value
        elif word.name == MARK:
            named = latest.get(word.segment, 0)
            for number in range(max(1, named - 1), named + 1):
                if number % slots == word.place and value < 2 * number:
                    return (
                        f"a reader reads that `latest` is {named}, "
                        f"but then that `sequence` in the slot of snapshot {number} is {value}"
                    )
    return None


def _wrong_of_taken(outcome: read.Outcome) -> str | None:
    newest = {"unread": 0, "plan": 0, "pair": 0, "head": 0}
    for what, number, held in outcome.taken:
        if held not in (number, number + write.AGAIN):
            whose = f"{what} number {number}" if what == "plan" else f"{what} of snapshot {number}"
            return f"torn: the reader gets the {whose}, but its content is {held}"
        if number < newest[what] + (what == "unread") and what in ("unread", "plan"):
            return f"the {what} of {number} came after that of {newest[what]}"
        newest[what] = number
    return None
