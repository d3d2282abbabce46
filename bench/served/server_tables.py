"""Rows and tables of `server_bench`, from its samples: medians of the turns, and the worst. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from bench.loops.loop_process import LoopTurn, slowdown, step_us
from bench.pages import CUT_SHORT, Block, Notes, Table, TableColumn
from bench.served.served_loops import FULL_SPEED, PHYSICS_HZ
from bench.served.server_figures import Cores, Spread, Woken, spread_ms

ALONE, NO_PAGE, ONE_PAGE, EIGHT_PAGES = "alone", "server, no page", "1 page", "8 pages, one stopped"
BROWSER = "a Chromium"
# Largest slowdown of a loop that never waits. A paced loop may be late by this share of the interval more than alone.
MOST_PERCENT = 3.0
# Largest number of old snapshots for a page that was stopped: the credit on the loopback is 2 to 4 messages.
MOST_OLD = 4


class LoopSample(NamedTuple):
    """A turn of a loop. late_ns: lateness of each step. snapshots_per_s: of the page that got most; None without a
    page."""

    kind: str
    bodies: int
    condition: str
    turn: LoopTurn
    late_ns: Sequence[int]
    cores: Cores
    snapshots_per_s: float | None

    @property
    def name(self) -> str:
        return self.condition


class ServerSample(NamedTuple):
    """A turn of the server. messages, bytes: that its pages got. ages_ns: from publishing to arrival."""

    bodies: int
    is_lean: bool
    pages: int
    messages: int
    bytes: int
    cores: Cores
    memory_mb: float
    ages_ns: Sequence[int]

    @property
    def name(self) -> str:
        return f"{'lean' if self.is_lean else 'full'}, {self.pages} pages"


class StopSample(NamedTuple):
    """A page that was stopped. before_ns, during_ns: times between two arrivals at the other pages. grown_mb: by how
    much the memory of the server grew during the stop."""

    bodies: int
    stop_s: float
    woken: Woken
    before_ns: Sequence[int]
    during_ns: Sequence[int]
    grown_mb: float

    @property
    def name(self) -> str:
        return f"stopped for {self.stop_s:g} s"


Sample = LoopSample | ServerSample | StopSample


@dataclass(frozen=True)
class LoopRow:
    """A loop under a condition, compared with the turns before and after. slower, cpu: slowdown in percent by wall
    time and by the processor time of the loop's thread: median, worst, and limits of the median's 95 % interval."""

    kind: str
    bodies: int
    condition: str
    turns: int
    step_alone_us: float | None
    slower: dict[str, float] | None
    cpu: dict[str, float] | None
    late_alone_ms: Spread | None
    late_ms: Spread | None
    snapshots_per_s: float | None
    server_cores: float
    pages_cores: float
    browser_cores: float | None
    others_cores: float | None

    @property
    def is_met(self) -> bool | None:
        """True if the row meets its target. None for a browser, which draws on the same cores and has no target."""
        if self.condition == BROWSER:
            return None
        if self.kind == FULL_SPEED:
            return None if self.slower is None else self.slower["median"] <= MOST_PERCENT
        if self.late_ms is None or self.late_alone_ms is None:
            return None
        return self.late_ms.p99 <= self.late_alone_ms.p99 + MOST_PERCENT / 100 * 1e3 / PHYSICS_HZ


@dataclass(frozen=True)
class ServerRow:
    """The server with a number of pages."""

    bodies: int
    is_lean: bool
    pages: int
    turns: int
    message_bytes: float
    snapshots_per_s: float
    bytes_per_s: float
    server_cores: float
    server_cores_worst: float
    us_a_message: float
    us_a_message_worst: float
    memory_mb: float
    age_ms: Spread | None
    pages_cores: float
    others_cores: float | None
    is_met: bool | None = field(default=None)


@dataclass(frozen=True)
class StopRow:
    """A page that was stopped."""

    bodies: int
    stop_s: float
    old: int
    oldest_ms: float
    before_ms: Spread | None
    during_ms: Spread | None
    grown_mb: float

    @property
    def is_met(self) -> bool:
        return self.old <= MOST_OLD


def loop_rows(samples: Sequence[Sample]) -> list[LoopRow]:
    """A row for each loop and condition, in the order of the first turn. Turns that have no neighbour are left out."""
    turns = [each for each in samples if isinstance(each, LoopSample)]
    triples: dict[tuple[str, str], list[LoopSample]] = {}
    for triple in zip(turns, turns[1:], turns[2:], strict=False):
        if [each.turn.watched for each in triple] == [False, True, False] and len({each.kind for each in triple}) == 1:
            triples.setdefault((triple[1].kind, triple[1].condition), []).extend(triple)
    return [_loop_row(found) for found in triples.values()]


def _loop_row(samples: Sequence[LoopSample]) -> LoopRow:
    watched, alone = ([each for each in samples if each.turn.watched is wanted] for wanted in (True, False))
    kind, bodies, condition, *_ = watched[0]
    turns, cores = [each.turn for each in samples], [each.cores for each in watched]
    is_full_speed = kind == FULL_SPEED
    return LoopRow(
        kind=kind,
        bodies=bodies,
        condition=condition,
        turns=len(watched),
        step_alone_us=step_us(turns, False) if is_full_speed else None,
        slower=_slower(turns) if is_full_speed else None,
        cpu=_slower([turn.by_cpu for turn in turns]),
        late_alone_ms=spread_ms([late for each in alone for late in each.late_ns]),
        late_ms=spread_ms([late for each in watched for late in each.late_ns]),
        snapshots_per_s=_median(each.snapshots_per_s for each in watched),
        server_cores=statistics.median(each.server for each in cores),
        pages_cores=statistics.median(each.pages for each in cores),
        browser_cores=_median(each.browser for each in cores),
        others_cores=_median(each.others for each in cores),
    )


def _slower(turns: Sequence[LoopTurn]) -> dict[str, float] | None:
    found = slowdown(turns)
    return None if found is None else found._asdict()


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def server_rows(samples: Sequence[Sample]) -> list[ServerRow]:
    """A row for each number of bodies, codec and number of pages."""
    groups: dict[tuple[int, bool, int], list[ServerSample]] = {}
    for each in samples:
        if isinstance(each, ServerSample):
            groups.setdefault(each[:3], []).append(each)
    return [_server_row(found) for _, found in sorted(groups.items())]


def _server_row(samples: Sequence[ServerSample]) -> ServerRow:
    us = [1e6 * each.cores.server * each.cores.seconds / max(1, each.messages) for each in samples]
    cores = [each.cores for each in samples]
    bodies, is_lean, pages, *_ = samples[0]
    return ServerRow(
        bodies=bodies,
        is_lean=is_lean,
        pages=pages,
        turns=len(samples),
        message_bytes=statistics.median(each.bytes / max(1, each.messages) for each in samples),
        snapshots_per_s=statistics.median(len(each.ages_ns) / pages / each.cores.seconds for each in samples),
        bytes_per_s=statistics.median(each.bytes / each.cores.seconds for each in samples),
        server_cores=statistics.median(each.server for each in cores),
        server_cores_worst=max(each.server for each in cores),
        us_a_message=statistics.median(us),
        us_a_message_worst=max(us),
        memory_mb=max(each.memory_mb for each in samples),
        age_ms=spread_ms([age for each in samples for age in each.ages_ns]),
        pages_cores=statistics.median(each.pages for each in cores),
        others_cores=_median(each.others for each in cores),
    )


def stop_rows(samples: Sequence[Sample]) -> list[StopRow]:
    """A row for each stop."""
    return [
        StopRow(
            each.bodies, each.stop_s, *each.woken, spread_ms(each.before_ns), spread_ms(each.during_ns), each.grown_mb
        )
        for each in samples
        if isinstance(each, StopSample)
    ]


def rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """All rows for the JSON document."""
    found: list[dict[str, Any]] = []
    for group, make in (("loop", loop_rows), ("server", server_rows), ("stop", stop_rows)):
        for row in make(samples):  # type: ignore[operator]
            fields = {name: _plain(value) for name, value in asdict(row).items()}
            found.append({"group": group, **fields, "met": row.is_met})
    return found


def _plain(value: Any) -> Any:
    return value._asdict() if isinstance(value, Spread) else value


def _part(title: str, name: str, part: str, form: str | Callable[[Any], str]) -> TableColumn:
    """A column of a field that has parts, or is None."""

    def read(row: Any) -> object:
        value = getattr(row, name)
        return None if value is None else value[part] if isinstance(value, dict) else getattr(value, part)

    return TableColumn(title, read, form)


def _field(title: str, name: str, form: str | Callable[[Any], str] = "") -> TableColumn:
    return TableColumn(title, lambda row: getattr(row, name), form, right=True if form else None)


def _percent(cores: float) -> str:
    return f"{100 * cores:.1f}"


def _kilobytes(size: float) -> str:
    return f"{size / 1e3:.1f}"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f}"


_TARGET = TableColumn("target", lambda row: {True: "met", False: "NOT MET", None: "-"}[row.is_met])
LOOP_COLUMNS = (
    _field("loop", "kind"),
    _field("bodies", "bodies", ",d"),
    _field("with", "condition"),
    _field("step alone, us", "step_alone_us", ".0f"),
    _part("slower, %", "slower", "median", "+.1f"),
    _part("low", "slower", "low", "+.1f"),
    _part("high", "slower", "high", "+.1f"),
    _part("worst", "slower", "worst", "+.1f"),
    _part("CPU a step, %", "cpu", "median", "+.1f"),
    _part("late alone p99, ms", "late_alone_ms", "p99", ".2f"),
    _part("late p99, ms", "late_ms", "p99", ".2f"),
    _part("most", "late_ms", "max", ".1f"),
    _field("snapshots/s", "snapshots_per_s", ".0f"),
    _field("server, %", "server_cores", _percent),
    _field("pages, %", "pages_cores", _percent),
    _field("browser, %", "browser_cores", _percent),
    _field("others, %", "others_cores", _percent),
    _TARGET,
)
SERVER_COLUMNS = (
    _field("bodies", "bodies", ",d"),
    TableColumn("codec", lambda row: "lean" if row.is_lean else "full"),
    _field("pages", "pages", "d"),
    _field("message, KB", "message_bytes", _kilobytes),
    _field("snapshots/s", "snapshots_per_s", ".1f"),
    _field("sent, MB/s", "bytes_per_s", _megabytes),
    _field("server, %", "server_cores", _percent),
    _field("worst", "server_cores_worst", _percent),
    _field("us a message", "us_a_message", ".0f"),
    _field("worst", "us_a_message_worst", ".0f"),
    _part("age p50, ms", "age_ms", "p50", ".2f"),
    _part("p99", "age_ms", "p99", ".2f"),
    _part("most", "age_ms", "max", ".1f"),
    _field("memory, MB", "memory_mb", ".1f"),
    _field("pages, %", "pages_cores", _percent),
    _field("others, %", "others_cores", _percent),
)
STOP_COLUMNS = (
    _field("bodies", "bodies", ",d"),
    _field("stopped, s", "stop_s", "g"),
    _field("old snapshots", "old", "d"),
    _field("oldest, ms", "oldest_ms", ".0f"),
    _part("others' gaps before p50, ms", "before_ms", "p50", ".1f"),
    _part("p99", "before_ms", "p99", ".1f"),
    _part("most", "before_ms", "max", ".1f"),
    _part("during p50, ms", "during_ms", "p50", ".1f"),
    _part("p99", "during_ms", "p99", ".1f"),
    _part("most", "during_ms", "max", ".1f"),
    _field("server grew, MB", "grown_mb", "+.1f"),
    _TARGET,
)
LOOP_LEGEND = (
    "slower: by wall time, relative to the turns right before and after, in which the server is stopped: median, its "
    "95 % interval, and the worst turn; CPU a step: the same by the processor time of the loop's thread",
    "late: by how much the steps of a paced loop begin after their instants, relative to the turn's earliest step",
    "%: of one core, for the server, the pages (one process), the browser (all its processes) and all other programs; "
    "snapshots/s: of the page that got most",
    f"target: at most {MOST_PERCENT:g} % slower; a paced loop at most {MOST_PERCENT / 100 * 1e3 / PHYSICS_HZ:g} ms "
    "later (p99) than alone",
)
SERVER_LEGEND = (
    f"a paced loop at {PHYSICS_HZ} Hz whose bodies have velocities and angular velocities; us a message: processor "
    "time of the server for each message that a page got; worst: of the turns",
    "age: from publishing to the arrival of the whole message at a page; memory: of the server, without files",
)
STOP_LEGEND = (
    "one of three pages reads nothing for a time; old snapshots: published before it goes on, and received then; their "
    f"number is the credit, at most {MOST_OLD} on the loopback",
    "gaps: times between two arrivals at the other pages, before and during the stop",
)


def blocks(samples: Sequence[Sample], where: dict[str, Any]) -> list[Block]:
    """Tables and notes. where: conditions."""
    found: list[Block] = []
    for title, columns, made, legend in (
        ("Loops", LOOP_COLUMNS, loop_rows(samples), LOOP_LEGEND),
        ("Server", SERVER_COLUMNS, server_rows(samples), SERVER_LEGEND),
        ("A stopped page", STOP_COLUMNS, stop_rows(samples), STOP_LEGEND),
    ):
        if made:
            found += [Table(columns, made, title), Notes(legend)]
    free = ", ".join(
        f"{name} {'-' if cores is None else f'{cores:.2f}'}" for name, cores in where["free_cores_before"].items()
    )
    conditions = (
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['turns']} turns of "
        f"{where['seconds_a_turn']:g} s (twice that for paced loops); {where['seconds']:g} s in all; "
        f"cores free before: {free}"
    )
    cut_short = [CUT_SHORT["cut_short"]] if "cut_short" in where else []
    return [*found, Notes([conditions, *(f"not measured: {each}" for each in where["failures"]), *cut_short])]
