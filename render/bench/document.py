"""The figures of a benchmark as a document: written, read again, and held against those of another run.

One idea: two runs on one machine, even on two, are compared by their ratios to the limit beside them. A ratio has
become worse where it differs by more than both runs' noise together.

Always: rows are matched by name and limit; one that is not in both runs is compared with nothing.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import twixt
from twixt.ipc.bench import Row
from twixt.ipc.errors import TwixtError
from twixt.render.bench.turns import MORE_IS_BETTER, holds

SCHEMA = "twixt-bench-2"
# Of a row that does not know how sure it is; and of one that looks surer than two runs ever are.
UNKNOWN_NOISE, LEAST_NOISE = 0.10, 0.05

Key = tuple[str, str]


class Before(NamedTuple):
    """What an earlier run found."""

    ratio: float | None
    noise: float | None


class Change(NamedTuple):
    """worse: by what share the row is worse than before, negative where it is better. is_sure: beyond all noise."""

    before: float
    worse: float
    is_sure: bool


def document(groups: dict[str, list[Row]], conditions: dict[str, Any], command: str = "") -> dict[str, Any]:
    """What `--json` writes and `--against` reads."""
    listed = [
        {"group": group} | row._asdict() | {"ratio": row.ratio, "over": row.over, "holds": holds(row)}
        for group, rows in groups.items()
        for row in rows
    ]
    return {
        "schema": SCHEMA, "version": twixt.__version__, "command": command, "conditions": conditions, "rows": listed,
    }  # fmt: skip


def read_earlier(path: str) -> dict[Key, Before]:
    """The ratios of a document written before. Raises TwixtError."""
    make = f"make one with: twixt bench --json {path}"
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found["schema"] != SCHEMA:
            raise TwixtError(f"{path!r} must be of the form {SCHEMA}, got {found['schema']!r}; {make}")
        return {(row["name"], row["limit_name"]): Before(row["ratio"], row["noise"]) for row in found["rows"]}
    except OSError as error:
        raise TwixtError(f"cannot read {path!r}: {error.strerror}; {make}") from None
    except (ValueError, KeyError, TypeError):
        raise TwixtError(f"{path!r} must be figures of a benchmark; {make}") from None


def change(row: Row, earlier: dict[Key, Before]) -> Change | None:
    """How the row has changed; None where one of both runs has no ratio."""
    before = earlier.get((row.name, row.limit_name))
    if before is None or not before.ratio or not row.ratio:
        return None
    worse = (before.ratio / row.ratio if row.unit in MORE_IS_BETTER else row.ratio / before.ratio) - 1
    noise = math.hypot(*(UNKNOWN_NOISE if noise is None else noise for noise in (before.noise, row.noise)))
    return Change(before.ratio, worse, abs(worse) > max(noise, LEAST_NOISE))
