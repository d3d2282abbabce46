"""Lines of `bench/pacing/recorded.txt`, made of the frame log of a run."""

from __future__ import annotations

from bench.pacing.works import UNIT_NS
from twixt.render.measure.frame_log import read_log


def line_of(name: str, log: str) -> str:
    """A frame log's frames as a line of the file; those of the first second are left out."""
    frames = read_log(log)
    counted = ~frames["probe"]
    counted &= frames["present_ns"] > frames["present_ns"][counted][0] + 1_000_000_000
    costs = frames["work_end_ns"] - frames["start_ns"]
    swaps = frames["present_ns"] - frames["swap_begin_ns"]
    pairs = zip(costs[counted].tolist(), swaps[counted].tolist(), strict=True)
    return f"{name}: " + " ".join(f"{max(1, cost // UNIT_NS)}/{swap // UNIT_NS}" for cost, swap in pairs)
