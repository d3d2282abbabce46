"""Recorded work: what frames of the real program cost on a noisy machine, from wake to completed drawing.

`recorded.txt` holds a line of each recording: its name, a colon, and of each frame its cost and what its swap took (the
display there waits for nothing, but wants a core for the copy), in units of 10 us. They were taken on
two cores without a GPU, on Xvfb, with other programs about: 22 s of `twixt run WORLD --log FILE`, once with a busy loop
on each core, once with programs that wake once a second and take both cores for 40 ms. `line_of` makes such a line of
any log.

Always: a seed begins at a place of its own in the recording.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from twixt.cli.bench.pacing.displays import COPY_NS
from twixt.cli.bench.pacing.works import WORKS, Make, Work

UNIT_NS = 10_000
FILE = Path(__file__).with_name("recorded.txt")
# Frames between the places at which two seeds begin.
APART = 137


class Recording(NamedTuple):
    """costs_ns, swaps_ns: of each frame. A swap beyond what copying takes on a free core kept its frame back."""

    costs_ns: tuple[int, ...]
    swaps_ns: tuple[int, ...]


@cache
def recordings() -> dict[str, Recording]:
    """By name."""
    found = {}
    for line in FILE.read_text(encoding="ascii").splitlines():
        name, _, frames = line.partition(":")
        pairs = [frame.split("/") for frame in frames.split()]
        columns = (tuple(int(pair[column]) * UNIT_NS for pair in pairs) for column in (0, 1))
        found[name] = Recording(*columns)
    return found


def replayed(name: str) -> Make:
    """That recording, from another place for each seed."""

    def make(seed: int) -> Work:
        costs, swaps = recordings()[name]
        first = seed * APART % len(costs)
        handing = [max(0, swap_ns - COPY_NS) for swap_ns in swaps]
        return Work(costs[first:] + costs[:first], handing_ns=handing[first:] + handing[:first])

    return make


def line_of(name: str, log: str) -> str:
    """A frame log's frames as a line of the file; those of the first second are left out."""
    from twixt.render.measure.log import read_log

    frames = read_log(log)
    counted = ~frames["probe"]
    counted &= frames["present_ns"] > frames["present_ns"][counted][0] + 1_000_000_000
    costs = frames["work_end_ns"] - frames["start_ns"]
    swaps = frames["present_ns"] - frames["swap_begin_ns"]
    pairs = zip(costs[counted].tolist(), swaps[counted].tolist(), strict=True)
    return f"{name}: " + " ".join(f"{max(1, cost // UNIT_NS)}/{swap // UNIT_NS}" for cost, swap in pairs)


ALL_WORKS: dict[str, Make] = WORKS | {name: replayed(name) for name in recordings()}
