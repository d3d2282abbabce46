"""Makes the rows of all benchmarks. A row has a figure and its limit, which are measured in turns. Functions that
yield rows run in separate processes.

Two functions ("works") are measured in turns. A disturbance of the machine affects both, so their ratio is stable even
if their times are not. The ratios in the quarters of a run show how stable it is. Only two works alternate, because a
third would displace their data from the cache.

A row function yields rows. It has two parameters. `share` is the share of a whole run's rounds to make. `say` is a
function that is called with a text about the next step. A row function runs in a separate process, so that its OpenGL
contexts, memory and threads do not affect the next function. If a display or driver fails, only this function ends,
and the rows that it yielded before remain.

Always: all works are called equally often, in the same order. A figure that could not be measured is None, and `note`
has the reason. A row is compared only with its own `target`.
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
# PARTS is the number of sections of a run, whose ratios give the noise. FEWEST_ROUNDS_A_PART is the smallest number of
# rounds in a section.
PARTS, FEWEST_ROUNDS_A_PART = 4, 2
# Units in which a larger figure is better. In all other units, a smaller figure is better.
MORE_IS_BETTER = ("fps",)

_COMPARED: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}

Work = Callable[[], object]
Result = TypeVar("Result")


class Row(NamedTuple):
    """One figure and its limit, both in `unit`. rounds: number of times that figure and limit were measured.

    noise: uncertainty of the ratio, as a share of the ratio, or None if it is not known. target: required value of
    `figure`, `ratio` or `over`, such as "ratio <= 1.05", or "" if nothing is required. more: further figures for the
    JSON document.
    """

    name: str
    unit: str
    figure: float | None
    limit_name: str
    limit: float | None
    rounds: int
    note: str = ""
    noise: float | None = None
    target: str = ""
    more: Mapping[str, Any] = MappingProxyType({})

    @property
    def ratio(self) -> float | None:
        """The figure divided by the limit."""
        return self.figure / self.limit if self.figure is not None and self.limit else None

    @property
    def over(self) -> float | None:
        """The figure minus the limit, in the unit of both."""
        return self.figure - self.limit if self.figure is not None and self.limit is not None else None

    @property
    def holds(self) -> bool | None:
        """True if the row meets its target. It is None if the row has no target or no figure."""
        if not self.target:
            return None
        what, sign, value = self.target.split()
        found = getattr(self, what)
        return None if found is None else _COMPARED[sign](found, float(value))


def not_measured(name: str, limit_name: str = "", reason: str = "") -> Row:
    return Row(name, "", None, limit_name, None, 0, f"not measured: {reason}")


def rounds_of(whole: int, share: float) -> int:
    """Number of rounds to make: the `share` of the rounds of a whole run, but at least FEWEST_ROUNDS."""
    return max(FEWEST_ROUNDS, round(whole * share))


def in_turns(
    works: Mapping[str, Callable[[], Result]], rounds: int, budget_s: float = math.inf, say: Say | None = None
) -> dict[str, list[Result]]:
    """Results of each work, one result per round. Each round calls all works. budget_s: see `turns`."""
    results: dict[str, list[Result]] = {name: [] for name in works}
    order = (name for _ in turns(rounds, budget_s) for name in works)
    for name, result in run_in_turns(order, lambda name: works[name](), rounds * len(works), say):
        results[name].append(result)
    return results


def times_us(
    rounds: int, *works: Work, calls: int = 1, before: Work | None = None, budget_s: float = math.inf
) -> list[list[float]]:
    """For each function in `works`, the time of a call in us, one value per round. In each round, every function in
    turn is called `calls` times.

    before: function that is called before each turn, and is not timed. budget_s: time in seconds after which no new
    round starts, see `turns`.
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
    """Numbers of the rounds. After `budget_s` seconds, no new round starts. But at least FEWEST_ROUNDS rounds are
    made."""
    ends_s = time.perf_counter() + budget_s
    for number in range(rounds):
        if number >= FEWEST_ROUNDS and time.perf_counter() > ends_s:
            return
        yield number


@contextmanager
def uncollected() -> Iterator[None]:
    """Switches the garbage collector off during the context, because a collection would fall into the turn of one
    work."""
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
    target: str = "", note: str = "",
) -> Row:  # fmt: skip
    """Row with the median of the figures and the median of the limits. Both were measured in turns, one value of each
    per round."""
    figure, limit, noise = statistics.median(figures), statistics.median(limits), noise_of(figures, limits)
    return Row(name, unit, figure, limit_name, limit, len(figures), note, noise=noise, target=target)


def noise_of(figures: Sequence[float], limits: Sequence[float]) -> float | None:
    """Noise of the ratio of figures to limits, as a share of the ratio. It is half the spread of the ratio between
    sections of the run. Returns None if there are too few rounds."""
    size = len(figures) // PARTS
    if size < FEWEST_ROUNDS_A_PART:
        return None
    parts = [slice(part * size, (part + 1) * size) for part in range(PARTS)]
    ratios = [statistics.median(figures[part]) / statistics.median(limits[part]) for part in parts]
    return (max(ratios) - min(ratios)) / 2 / statistics.median(ratios)


class Memcpy:
    """Copies `size` bytes, a multiple of 8, at each call. The copies go to `places` target arrays in turn."""

    def __init__(self, size: int, places: int = 1) -> None:
        # The array has 64-bit words, because numpy copies these with memcpy. numpy's copy of bytes takes twice as long
        # if the bytes are not cached.
        self._source = np.ones(size // 8, np.uint64)
        self._places = [np.ones(size // 8, np.uint64) for _ in range(places)]
        self._next = 0

    def __call__(self) -> None:
        self._places[self._next][...] = self._source
        self._next = (self._next + 1) % len(self._places)


def rows_of(function: str, share: float, say: Say) -> Iterator[Row]:
    """Runs a function in a separate process, and yields its rows. function: its name as `module:function`. Raises
    TwixtError if it fails."""
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
    """Runs a function and writes its rows to standard output, as lines of JSON. rows: name of the function as
    `module:function`."""
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
