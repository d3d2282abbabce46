"""A million bodies at 30 states a second: whether they come whole, how much memory that takes, and how soon.

One idea: a run as a user would start it is watched from outside; what it holds is what the kernel says of both its
processes, what they share counted once.

Always: the limit of the memory is what must be held: the channel's slots, the viewer's ring, and one world.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator

from twixt.ipc.bench import Row, Say
from twixt.ipc.layout import Layout
from twixt.ipc.snapshot import BODY
from twixt.render.bench.processes import command, family, memory_bytes, process
from twixt.render.bench.start import BARE, bare_s, first_picture
from twixt.render.bench.turns import row
from twixt.render.intake import gpu_slots

WORLD, COUNT, QUICK_COUNT, PUBLISH_HZ = "swarm", 1_000_000, 20_000, 30
SECONDS, QUICK_SECONDS = 8.0, 0.5
STARTS = 3
# How often memory is looked at: the kernel takes milliseconds to count it.
LOOK_S = 0.2
# Wanted: beyond what must be held, no more than so much (MB); the first picture in so many seconds.
MEMORY_BAR, FIRST_BAR = "over <= 500", "figure <= 2"
MB = 1e6


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Reads, memory and the first picture. share: below 1, fewer bodies. say: told what is measured next."""
    count, seconds = (COUNT, SECONDS) if share >= 1 else (QUICK_COUNT, QUICK_SECONDS)
    flags = ("--set", f"count={count}", "--publish-hz", str(PUBLISH_HZ), "--no-overlay", "--pacing", "unlimited")
    say(f"{count:,} bodies, {seconds:g} s")
    yield from _watched(count, seconds, flags)
    taken, bare = [], []
    for number in range(STARTS if share >= 1 else 1):
        say(f"{count:,} bodies, start {number + 1}")
        taken.append(first_picture(WORLD, *flags).seconds)
        bare.append(bare_s())
    yield row(f"first picture of {count:,} bodies", "s", taken, BARE, bare, FIRST_BAR)


def _watched(count: int, seconds: float, flags: tuple[str, ...]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        with process(command("measure", WORLD, "--seconds", str(seconds), "--json", path, *flags)) as run:
            held = 0
            while run.is_alive:
                held = max(held, _held(run.pid))
                time.sleep(LOOK_S)
            run.wait()
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    channel, frames = report["channel"], report["frames"]
    read, failed = report["physics"]["published"] - channel["skipped"], channel["retries"] + channel["pairs_failed"]
    said = (
        f"{channel['skipped']} never read whole because others came first; {frames['mean_fps']:.1f} fps drawn; "
        f"physics held {report['physics']['rate']['p50']:.2f} of real time"
    )
    yield Row(f"failed reads, {count:,} bodies", "reads", failed, "snapshots read", read, 1, said, bar="figure <= 0")
    snapshot = count * BODY.itemsize
    slots, ring = Layout.for_bodies(count).slots, gpu_slots(snapshot)
    least = (slots + ring + 1) * snapshot
    yield Row(
        f"memory of both, {count:,} bodies", "MB", held / MB if held else None,
        f"({slots} slots + {ring} on the GPU + 1) x {snapshot / MB:.0f} MB", least / MB, 1,
        "" if held else "this system does not say what processes hold", bar=MEMORY_BAR,
    )  # fmt: skip


def _held(pid: int) -> int:
    """What the run holds now, in bytes; 0 where that cannot be known, or it has just ended."""
    try:
        return memory_bytes(family(pid))
    except (OSError, StopIteration):
        return 0
