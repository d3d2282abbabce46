"""Rows of all benchmarks: a figure and its limit, measured in turns; functions that yield rows in separate processes.

Two functions ("works") are measured in turns. A disturbance of the machine affects both, so their ratio is stable even
if their times are not. The ratios in the quarters of a run show how stable it is. Only two works alternate, because a
third would displace their data from the cache.

A row function gets `share` (the share of a whole run's rounds to make) and `say` (called with a text about the next
step) and yields rows. It runs in a separate process, so that its OpenGL contexts, memory and threads do not affect the
next function. If a display or driver fails, only this function ends, and the rows that it yielded before remain.

Always: all works are called equally often, in the same order. A figure that could not be measured is None, with the
reason in `note`. A row is compared only with its own `bar`.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import operator
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bench.processes import function_call, json_writer, process
from twixt.cli.progress import Say
from twixt.cli.turns import run_in_turns
from twixt.ipc.errors import TwixtError

# Smallest number of rounds for a median.
FEWEST_ROUNDS = 3
# Number of sections of a run, whose ratios give the noise; smallest number of rounds in a section.
PARTS, FEWEST_ROUNDS_A_PART = 4, 2
# Units in which a larger figure is better. In all others, a smaller one is better.
MORE_IS_BETTER = ("fps",)

_COMPARED: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}

Work = Callable[[], object]
Result = TypeVar("Result")


class Row(NamedTuple):
    """One figure and its limit, both in `unit`. rounds: number of times that both were measured.

    noise: uncertainty of the ratio, as a share of the ratio; None if it is not known. bar: required value of `figure`,
    `ratio` or `over`, such as "ratio <= 1.05"; empty: no bar. more: further figures for the JSON document.
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
    more: Mapping[str, Any] = MappingProxyType({})

    @property
    def ratio(self) -> float | None:
        """The figure divided by the limit."""
        return self.figure / self.limit if self.figure is not None and self.limit else None

    @property
    def over(self) -> float | None:
        """The figure minus the limit, in their unit."""
        return self.figure - self.limit if self.figure is not None and self.limit is not None else None

    @property
    def holds(self) -> bool | None:
        """True if the row meets its bar; None if it has no bar or no figure."""
        if not self.bar:
            return None
        what, sign, value = self.bar.split()
        found = getattr(self, what)
        return None if found is None else _COMPARED[sign](found, float(value))


def not_measured(name: str, limit_name: str = "", reason: str = "") -> Row:
    return Row(name, "", None, limit_name, None, 0, f"not measured: {reason}")


def rounds_of(whole: int, share: float) -> int:
    """Number of rounds: the `share` of the rounds of a whole run, at least FEWEST_ROUNDS."""
    return max(FEWEST_ROUNDS, round(whole * share))


def in_turns(
    works: Mapping[str, Callable[[], Result]], rounds: int, budget_s: float = math.inf, say: Say | None = None
) -> dict[str, list[Result]]:
    """Results of each work, one per round. Each round calls all works. budget_s: see `turns`."""
    results: dict[str, list[Result]] = {name: [] for name in works}
    order = (name for _ in turns(rounds, budget_s) for name in works)
    for name, result in run_in_turns(order, lambda name: works[name](), rounds * len(works), say):
        results[name].append(result)
    return results


def times_us(
    rounds: int, *works: Work, calls: int = 1, before: Work | None = None, budget_s: float = math.inf
) -> list[list[float]]:
    """Times (us) per call for each function in `works`, one time per round. In each round, every function in turn is
    called `calls` times.

    before: called before each turn, not timed. budget_s: time after which no new round starts, see `turns`.
    """

    def timed(work: Work) -> float:
        if before is not None:
            before()
        begin_ns = time.perf_counter_ns()
        for _ in range(calls):
            work()
        return (time.perf_counter_ns() - begin_ns) / calls / 1e3

    with uncollected():
        found = in_turns({str(n): lambda work=work: timed(work) for n, work in enumerate(works)}, rounds, budget_s)  # type: ignore[misc]
    return list(found.values())


def turns(rounds: int, budget_s: float) -> Iterator[int]:
    """Numbers of the rounds. Once `budget_s` has passed, no new round starts after the first FEWEST_ROUNDS."""
    ends_s = time.perf_counter() + budget_s
    for number in range(rounds):
        if number >= FEWEST_ROUNDS and time.perf_counter() > ends_s:
            return
        yield number


@contextmanager
def uncollected() -> Iterator[None]:
    """Switches the garbage collector off during the context, because a collection would fall into one work's turn."""
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
    """The row with the medians of figures and limits that were measured in turns, one of each per round."""
    figure, limit, noise = statistics.median(figures), statistics.median(limits), noise_of(figures, limits)
    return Row(name, unit, figure, limit_name, limit, len(figures), note, noise=noise, bar=bar)


def noise_of(figures: Sequence[float], limits: Sequence[float]) -> float | None:
    """Half the spread of the ratio between sections of the run, as a share of the ratio; None after too few rounds."""
    size = len(figures) // PARTS
    if size < FEWEST_ROUNDS_A_PART:
        return None
    parts = [slice(part * size, (part + 1) * size) for part in range(PARTS)]
    ratios = [statistics.median(figures[part]) / statistics.median(limits[part]) for part in parts]
    return (max(ratios) - min(ratios)) / 2 / statistics.median(ratios)


class Memcpy:
    """Copies `size` bytes, a multiple of 8, at each call. The `places` target arrays are used in rotation."""

    def __init__(self, size: int, places: int = 1) -> None:
        # 64-bit words, because numpy copies these with memcpy. Its copy of bytes takes twice as long if not cached.
        self._source = np.ones(size // 8, np.uint64)
        self._places = [np.ones(size // 8, np.uint64) for _ in range(places)]
        self._next = 0

    def __call__(self) -> None:
        self._places[self._next][...] = self._source
        self._next = (self._next + 1) % len(self._places)


def rows_of(function: str, share: float, say: Say) -> Iterator[Row]:
    """Runs a function (`module:function`) in a separate process and yields its rows. Raises TwixtError."""
    with process(function_call("bench.rows:measure_function", rows=function, share=share), is_read=True) as child:
        for line in child.lines():
            kind, told = json.loads(line)
            match kind:
                case "say":
                    say(told)
                case "row":
                    yield Row(**told)
                case "error":
                    raise TwixtError(told)
        child.wait()


def measure_function(rows: str, share: float) -> None:
    """Runs a function (`module:function`) and writes its rows to standard output, as lines of JSON."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that SIGTERM ends the function's own processes
    tell = json_writer()
    module, _, name = rows.partition(":")
    try:
        for row in getattr(importlib.import_module(module), name)(share, lambda what: tell(["say", what])):
            tell(["row", row._asdict() | {"more": dict(row.more)}])
    except TwixtError as error:
        tell(["error", str(error)])
    except (KeyboardInterrupt, BrokenPipeError):
        pass
