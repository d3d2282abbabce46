"""Makes runs in turns, A B B A, so that a drift of the machine affects both sides alike.

Always: runs are made one at a time, in the given order. Each run is announced, with an estimate of the remaining time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from twixt.cli.progress import Say

Side = TypeVar("Side")
Run = TypeVar("Run")


def order_in_turn(sides: Sequence[Side], turn: int) -> Sequence[Side]:
    """The sides in the order in which turn number `turn` (from 0) runs them. In every second turn the order is
    reversed."""
    return sides[:: 1 if turn % 2 == 0 else -1]


def run_in_turns(
    cases: Iterable[Side],
    wanted: Callable[[int], int],
    name: Callable[[Side], str],
    run: Callable[[Side], Run],
    say: Say,
) -> Iterator[Run]:
    """Runs each case and yields its result. cases: read one at a time, so the next case may depend on the results so
    far. wanted: function that returns the expected number of all runs, from the number of runs made so far. name:
    function that returns a case's name. say: function that is called with a text about the progress."""
    begin_s = time.monotonic()
    for made, case in enumerate(cases):
        total = wanted(made)
        left_s = (time.monotonic() - begin_s) / made * (total - made) if made else 0.0
        say(f"run {made + 1} of {total}: {name(case)}" + (f", {left_s:.0f} s to go" if made else ""))
        yield run(case)
