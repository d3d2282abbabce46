"""This module makes runs in turns, in the order A B B A. So a drift of the machine affects both sides alike.

Always: runs are made one at a time, in the given order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from twixt.cli.progress import Say

Side = TypeVar("Side")
Run = TypeVar("Run")


def order_in_turn(sides: Sequence[Side], turn: int) -> Sequence[Side]:
    """Returns the sides in the order in which the turn with the number `turn` runs them. The first turn has the number
    0. In every second turn the order is reversed."""
    return sides[:: 1 if turn % 2 == 0 else -1]


def run_in_turns(
    cases: Iterable[Side],
    run: Callable[[Side], Run],
    wanted: int = 0,
    say: Say | None = None,
    name: Callable[[Side], str] = str,
) -> Iterator[tuple[Side, Run]]:
    """Runs each case, and yields the case with its result. cases: iterable of cases. Its items are read one at a time,
    so the next case may depend on the results so far. say: function that is called before each run. Its arguments
    are the number of the run, the number of `wanted` runs, the case's name and an estimate of the remaining time."""
    begin_s = time.monotonic()
    for made, case in enumerate(cases):
        if say is not None:
            total = max(wanted, made + 1)
            left_s = (time.monotonic() - begin_s) / made * (total - made) if made else 0.0
            say(f"run {made + 1} of {total}: {name(case)}" + (f", about {left_s:.0f} s left" if made else ""))
        yield case, run(case)
