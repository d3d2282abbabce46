"""Figures of the browser view's server, from instants that were recorded. Pure: reads no clock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np


class Spread(NamedTuple):
    """Quantiles of durations, in ms."""

    p50: float
    p99: float
    max: float


class Woken(NamedTuple):
    """Snapshots that a page gets which was stopped and goes on. old: number of them that were published before it
    went on. oldest_ms: age of the oldest then; 0 if there is none."""

    old: int
    oldest_ms: float


class Cores(NamedTuple):
    """Mean numbers of cores that each process used during a stretch of `seconds`. others: other programs, and the host
    of a virtual machine; None if that is not known. browser: all its processes; None if there is none."""

    seconds: float
    others: float | None
    loop: float
    server: float
    pages: float
    browser: float | None = None


def spread_ms(durations_ns: Sequence[float]) -> Spread | None:
    """Quantiles of durations; None if there are none."""
    if not len(durations_ns):
        return None
    p50, p99, most = np.quantile(np.asarray(durations_ns) / 1e6, [0.5, 0.99, 1.0])
    return Spread(float(p50), float(p99), float(most))


def lateness_ns(due_s: Sequence[float], began_ns: Sequence[int]) -> list[int]:
    """By how much steps begin later than the one that is least late. due_s: simulated times of the steps of a loop
    that is paced to real time. began_ns: instants at which they begin."""
    if not due_s:
        return []
    late_ns = np.asarray(began_ns) - np.rint(np.asarray(due_s) * 1e9).astype(np.int64)
    return [int(each) for each in late_ns - late_ns.min()]


def ages_ns(arrived_ns: Sequence[Sequence[int]], published_ns: Sequence[Sequence[int]]) -> list[int]:
    """Times from publishing to arrival, of all snapshots of all pages."""
    return [
        arrived - published
        for page in zip(arrived_ns, published_ns, strict=True)
        for arrived, published in zip(*page, strict=True)
    ]


def gaps_ns(arrived_ns: Sequence[int], begin_ns: int, end_ns: int) -> list[int]:
    """Times between two arrivals at a page, of those that end in a stretch of time."""
    return [after - before for before, after in pairwise(arrived_ns) if begin_ns <= after < end_ns]


def woken(arrived_ns: Sequence[int], published_ns: Sequence[int], woke_ns: int) -> Woken:
    """What a page gets that goes on at `woke_ns`."""
    pairs = zip(arrived_ns, published_ns, strict=True)
    old_ns = [published for arrived, published in pairs if published < woke_ns <= arrived]
    return Woken(len(old_ns), (woke_ns - min(old_ns)) / 1e6 if old_ns else 0.0)
