"""Figures of a benchmark as JSON, and their comparison with an earlier run.

One idea: two runs, even on two machines, are compared by the ratio of each figure to its limit. A change of the ratio
is sure where it is larger than the noise of both runs together (root of the sum of squares).

Always: rows are matched by name and limit; a row that is not in both runs is not compared.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import twixt
from bench.rows import MORE_IS_BETTER, Row, holds
from twixt.ipc.errors import TwixtError

SCHEMA = "twixt-bench-2"
# Noise of a row without one of its own; smallest noise of a comparison, as two runs are never more exact.
UNKNOWN_NOISE, LEAST_NOISE = 0.10, 0.05

RowKey = tuple[str, str]


class EarlierFigure(NamedTuple):
    """A ratio of an earlier run, and its noise."""

    ratio: float | None
    noise: float | None


class RatioChange(NamedTuple):
    """Change of a ratio. worse: share by which it is worse, negative: better. is_sure: larger than the noise."""

    before: float
    worse: float
    is_sure: bool


def document(groups: dict[str, list[Row]], conditions: dict[str, Any], command: str = "") -> dict[str, Any]:
    """The document that `--json` writes and `--against` reads."""
    listed = [
        {"group": group} | row._asdict() | {"ratio": row.ratio, "over": row.over, "holds": holds(row)}
        for group, rows in groups.items()
        for row in rows
    ]
    return {
        "schema": SCHEMA, "version": twixt.__version__, "command": command, "conditions": conditions, "rows": listed,
    }  # fmt: skip


def read_earlier(path: str) -> dict[RowKey, EarlierFigure]:
    """The ratios of an earlier run's `--json` document. Raises TwixtError."""
    make = f"make one with: python -m bench --json {path}"
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found["schema"] != SCHEMA:
            raise TwixtError(f"{path!r} must be of the form {SCHEMA}, got {found['schema']!r}; {make}")
        return {(row["name"], row["limit_name"]): EarlierFigure(row["ratio"], row["noise"]) for row in found["rows"]}
    except OSError as error:
        raise TwixtError(f"cannot read {path!r}: {error.strerror}; {make}") from None
    except (ValueError, KeyError, TypeError):
        raise TwixtError(f"{path!r} must be figures of a benchmark; {make}") from None


def change(row: Row, earlier: dict[RowKey, EarlierFigure]) -> RatioChange | None:
    """Change of a row's ratio; None where one of the two runs has no ratio."""
    before = earlier.get((row.name, row.limit_name))
    if before is None or not before.ratio or not row.ratio:
        return None
    worse = (before.ratio / row.ratio if row.unit in MORE_IS_BETTER else row.ratio / before.ratio) - 1
    noise = math.hypot(*(UNKNOWN_NOISE if noise is None else noise for noise in (before.noise, row.noise)))
    return RatioChange(before.ratio, worse, abs(worse) > max(noise, LEAST_NOISE))
