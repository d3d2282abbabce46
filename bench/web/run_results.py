"""Figures of the runs of the bench, the targets, and the tables with both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.pages import CUT_SHORT, Notes, Results, Table, TableColumn
from bench.web.cases import LOSS_LENGTH, Case

SCHEMA = "twixt-web/2"
DISTINCT_WANTED, ERROR_BEYOND_MS = 0.99, 2.0
# An empty page that is less even than this shows that other programs took the cores: the run says nothing.
BUSY_MS = 3.0


@dataclass(frozen=True)
class Run:
    """Figures of a case. page: those of the page's log (`page_run.figures`). tcp_bytes_per_s: bytes that TCP carried to
    the browser; None on the loopback. screen, bar: figures of the pictures of the page and of the empty page's bar.
    failure: reason why there are no figures. free_before: number of free cores before the run."""

    case: Case
    page: dict[str, Any] = field(default_factory=dict)
    tcp_bytes_per_s: float | None = None
    screen: dict[str, Any] | None = None
    bar: dict[str, Any] | None = None
    failure: str = ""
    free_before: float | None = None

    def of(self, *path: str) -> Any:
        """A figure of the page's log, such as `of("error_ms", "p99")`."""
        value: Any = self.page
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    @property
    def missed(self) -> list[str]:
        """Names of the targets that this run misses."""
        if self.failure:
            return [self.failure]
        error_ms, empty_ms = self.of("error_ms", "p99"), self.of("empty_error_ms", "p99")
        met = {
            "distinct": (self.of("distinct") or 0.0) >= DISTINCT_WANTED,
            "reversals": self.of("reversals") == 0,
            "error": error_ms is not None and error_ms <= empty_ms + ERROR_BEYOND_MS,
        }
        if self.age_wanted_ms is not None:
            met["age"] = self.of("age_ms", "p99") <= self.age_wanted_ms
        if self.case.is_watched:
            screen, bar = self.screen, self.bar
            met["screen"] = (
                screen is not None
                and bar is not None
                and (screen["error_p99_ms"] <= bar["error_p99_ms"] + ERROR_BEYOND_MS and screen["reversals"] == 0)
            )
        return [name for name, is_met in met.items() if not is_met]

    @property
    def verdict(self) -> str:
        """Whether the run meets the targets."""
        named = ", ".join(self.missed)
        if self.failure:
            return f"MISSED: {named}"
        busy = "; machine busy" if self.of("empty_error_ms", "p99") > BUSY_MS else ""
        if self.case.way.has_targets:
            return (f"MISSED: {named}" if named else "met") + busy
        return f"none ({named or 'met'})" + busy

    @property
    def age_wanted_ms(self) -> float | None:
        """Largest age that is wanted on a full link; None for the other cases."""
        message_bytes, refresh_ms = self.of("message_bytes"), self.of("refresh_ms")
        return None if message_bytes is None else self.case.age_wanted_ms(message_bytes, refresh_ms)

    def to_json(self) -> dict[str, Any]:
        return {
            "world": self.case.world,
            "rate_hz": self.case.rate_hz,
            "link": self.case.link,
            **self.page,
            "age_wanted_ms": self.age_wanted_ms,
            "tcp_bytes_per_s": self.tcp_bytes_per_s,
            "screen": self.screen,
            "bar": self.bar,
            "missed": self.missed,
            "verdict": self.verdict,
            "free_cores_before": self.free_before,
        }


def _page(title: str, form: str, *path: str) -> TableColumn:
    return TableColumn(title, lambda run: run.of(*path), form)


def _seen(title: str, side: str, name: str, form: str) -> TableColumn:
    return TableColumn(title, lambda run: (getattr(run, side) or {}).get(name), form)


def _kilobytes(value: float) -> str:
    return f"{value / 1e3:,.0f}"


_CASE = (
    TableColumn("world", lambda run: run.case.world),
    TableColumn("physics, Hz", lambda run: run.case.rate_hz, "d"),
    TableColumn("link", lambda run: run.case.link),
)
_VERDICT = TableColumn("targets", lambda run: run.verdict, wraps=True)
COLUMNS = (
    *_CASE,
    _page("frames", "d", "frames"),
    _page("fps", ".1f", "fps"),
    _page("distinct", ".3f", "distinct"),
    _page("reversals", "d", "reversals"),
    _page("error p99, ms", ".2f", "error_ms", "p99"),
    _page("empty page, ms", ".2f", "empty_error_ms", "p99"),
    _page("age p50, ms", ".1f", "age_ms", "p50"),
    _page("age p99, ms", ".1f", "age_ms", "p99"),
    _page("bound, ms", ".1f", "age_bound_ms"),
    TableColumn("age wanted, ms", lambda run: run.age_wanted_ms, ".1f"),
    _page("snapshots/s", ".1f", "snapshots_per_s"),
    TableColumn("stream, kB/s", lambda run: run.of("stream_bytes_per_s"), _kilobytes, right=True),
    TableColumn("TCP, kB/s", lambda run: run.tcp_bytes_per_s, _kilobytes, right=True),
    _page("first picture, s", ".1f", "first_picture_s"),
    _VERDICT,
)
SCREEN_COLUMNS = (
    *_CASE,
    _page("frames", "d", "frames"),
    _seen("pictures", "screen", "pictures", "d"),
    _seen("interval p1, ms", "screen", "interval_p1_ms", ".1f"),
    _seen("p99", "screen", "interval_p99_ms", ".1f"),
    _seen("error p50, ms", "screen", "error_p50_ms", ".2f"),
    _seen("p99, ms", "screen", "error_p99_ms", ".2f"),
    _seen("empty page p50, ms", "bar", "error_p50_ms", ".2f"),
    _seen("empty page p99, ms", "bar", "error_p99_ms", ".2f"),
    _seen("reversals", "screen", "reversals", "d"),
    _page("by the log p99, ms", ".2f", "error_ms", "p99"),
    _VERDICT,
)
PUBLISH_COLUMNS = (
    *_CASE,
    *(
        _page(f"{name} {quantile}, ms", ".1f", "publish_ms", name, quantile)
        for name in ("arrival", "drawn", "present")
        for quantile in ("p50", "p99")
    ),
    _page("bound, ms", ".1f", "age_bound_ms"),
)
PUBLISH_LEGEND = (
    "from publishing a snapshot to its arrival in the page, to the end of the first frame that it takes part in "
    "(drawn), and to the instant for which that frame was drawn (present); bound: as above",
)
LEGEND = (
    "delay and drop: the simulation publishes as with `--delay 80+-20 --drop 5`, on the loopback; the other links "
    "delay packets by 20 ms each way, unless their name has another delay. Over 20 Mbit/s, balls are sent in full, "
    "which needs 31 Mbit/s",
    "distinct: share of the frames that Chromium gives which show another simulated time than the frame before; error: "
    "animation error in ms of display time, from the page's frame log, by the timestamps of its frames",
    "empty page: by how much the frame intervals of an empty page in the same browser differ from their median, p99",
    "age: from the due instant of the drawn state to its frame; bound: largest error of the page's clock offset, by "
    "half of the least round trip",
    "stream: bytes of messages that the page received; TCP: bytes that TCP carried to the browser, with "
    "retransmissions and the page itself",
    f"targets: distinct >= {DISTINCT_WANTED}, no reversals, error p99 at most {ERROR_BEYOND_MS:g} ms beyond the empty "
    "page's; on a full link, age p99 at most 2 x (one-way delay + size / bandwidth + interval + frame). With 5 % loss "
    f"there are no targets. Machine busy: the empty page has more than {BUSY_MS:g} ms, so measure again",
)
SCREEN_LEGEND = (
    "by the screen: another process reads the pixels each millisecond and knows neither page nor simulation; the error "
    "of a picture is its way at constant speed minus the time since the picture before, without the cuts; the empty "
    "page moves a bar by its timestamps",
)


def write_results(runs: Sequence[Run], results: Results, where: dict[str, Any], notes: Sequence[str] = ()) -> None:
    """Shows the figures and writes the files. Raises TwixtError."""
    free = [one.free_before for one in runs if one.free_before is not None]
    told = [
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['display']}; {where['seconds']:g} s "
        f"a run, {LOSS_LENGTH} times as long with loss; TCP {where['congestion']}; prefer {where['prefer']}; "
        "cores free before the runs: " + (f"{min(free):.2f} to {max(free):.2f}" if free else "unknown"),
        *notes,
        *([CUT_SHORT["cut_short"]] if "cut_short" in where else []),
        *(f"{one.case.name}: error of the page: {text}" for one in runs for text in one.page.get("errors", ())),
    ]
    blocks: list[Table | Notes] = [Table(COLUMNS, runs), Notes(LEGEND)]
    blocks += [Table(PUBLISH_COLUMNS, runs, "From publishing to the page"), Notes(PUBLISH_LEGEND)]
    if watched := [one for one in runs if one.case.is_watched]:
        blocks += [Table(SCREEN_COLUMNS, watched, "By the screen"), Notes(SCREEN_LEGEND)]
    blocks.append(Notes(told))
    document = {
        "schema": SCHEMA,
        "command": results.command,
        "conditions": where | {"notes": list(notes)},
        "rows": [one.to_json() for one in runs],
    }
    results.write(document, page=[f"Made by `{results.command}`.", *blocks], shown=blocks)
