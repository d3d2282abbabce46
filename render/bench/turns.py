"""Figures and their limits measured in turns, and how sure their ratio is.

One idea: whatever disturbs a machine disturbs both of two things that take turns, so their ratio holds where neither
time does. How far it holds is seen in the run itself: the ratio of each quarter of the rounds is a measurement too.

Always: all works are called equally often, in the same order. Reads the clock; judges only against a bar that a row
brings with it.
"""

from __future__ import annotations

import gc
import math
import operator
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from twixt.ipc.bench import FEWEST_ROUNDS, Row

# The parts of a run whose ratios are compared; a part of fewer rounds has no median worth the name.
PARTS, FEWEST_ROUNDS_A_PART = 4, 2
# Of these units more is better; of all others less is.
MORE_IS_BETTER = ("fps",)

_COMPARED: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}

Work = Callable[[], object]


def taken_us(rounds: int, *works: Work, calls: int = 1, budget_s: float = math.inf) -> list[list[float]]:
    """What a call of each of `works` took, round by round; each round makes `calls` calls of each, in turns.

    budget_s: after so long there are no more rounds, see `turns`.
    """
    taken: list[list[float]] = [[] for _ in works]
    with uncollected():
        for _ in turns(rounds, budget_s):
            for work, times in zip(works, taken, strict=True):
                begin_ns = time.perf_counter_ns()
                for _ in range(calls):
                    work()
                times.append((time.perf_counter_ns() - begin_ns) / calls / 1e3)
    return taken


def turns(rounds: int, budget_s: float) -> Iterator[int]:
    """The numbers of the rounds: so many, but no new one begins once the budget is spent, unless it is one of the
    few without which there is no median."""
    ends_s = time.perf_counter() + budget_s
    for number in range(max(FEWEST_ROUNDS, rounds)):
        if number >= FEWEST_ROUNDS and time.perf_counter() > ends_s:
            return
        yield number


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is looked for inside: it would be found in somebody's turn."""
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def row(
    name: str, unit: str, figures: Sequence[float], limit_name: str, limits: Sequence[float],
    bar: str = "", note: str = "",
) -> Row:  # fmt: skip
    """The medians of what was measured in turns, one of `figures` and one of `limits` a round."""
    return Row(
        name, unit, statistics.median(figures), limit_name, statistics.median(limits), len(figures), note,
        noise_of(figures, limits), bar,
    )  # fmt: skip


def noise_of(figures: Sequence[float], limits: Sequence[float]) -> float | None:
    """Half of what the ratio differs by between parts of the run, as a share of it; None after too few rounds."""
    size = len(figures) // PARTS
    if size < FEWEST_ROUNDS_A_PART:
        return None
    parts = [slice(part * size, (part + 1) * size) for part in range(PARTS)]
    ratios = [statistics.median(figures[part]) / statistics.median(limits[part]) for part in parts]
    return (max(ratios) - min(ratios)) / 2 / statistics.median(ratios)


def holds(measured: Row) -> bool | None:
    """Whether the row reaches its bar; None without a bar or a figure."""
    if not measured.bar:
        return None
    what, sign, value = measured.bar.split()
    found = getattr(measured, what)
    return None if found is None else _COMPARED[sign](found, float(value))
