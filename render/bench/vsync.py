"""How evenly frames come where swap waits for the display, beside a loop that only clears and swaps.

One idea: an evenness that the display itself does not have cannot be had on it. So a run with overlay and log, as a
user would start it, takes turns with a bare loop, and the 99th percentiles of their intervals stand beside each other.

Where swap does not wait the row says so: there a frame comes when its program wants, and a bare loop wants nothing.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from twixt.ipc.bench import Row, Say
from twixt.render.bench.processes import command, process
from twixt.render.bench.start import LEAN_WINDOW
from twixt.render.bench.turns import row

WORLD, COUNTS = "swarm", (1_000, 10_000)
BAR = "ratio <= 1.1"
# Enough frames at 60 Hz that the 99th percentile is not one of the three worst.
ROUNDS, SECONDS, QUICK_SECONDS = 3, 6.0, 0.2


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """One row a count. share: below 1, one short round. say: told what is measured next."""
    rounds, seconds, counts = (ROUNDS, SECONDS, COUNTS) if share >= 1 else (1, QUICK_SECONDS, COUNTS[:1])
    for count in counts:
        name = f"frame interval p99, {count:,} bodies"
        ours, bare = [], []
        for number in range(rounds):
            say(f"{count:,} bodies, round {number + 1} of {rounds}")
            report = _run(count, seconds)
            if not report["display"]["swap_blocks"]:
                why = f"not measured: no display that waits for vsync ({report['conditions'][0]})"
                yield Row(name, "ms", None, "a bare loop", None, 0, why)
                return
            ours.append(report["frames"]["interval_ms"]["p99"])
            bare.append(_bare_p99_ms(seconds))
        yield row(name, "ms", ours, "a bare loop", bare, BAR)


def _run(count: int, seconds: float) -> dict[str, Any]:
    """The report of a run of the default pacing, with overlay and log."""
    with tempfile.TemporaryDirectory() as folder:
        log, report = os.path.join(folder, "log.csv"), os.path.join(folder, "report.json")
        flags = ("--set", f"count={count}", "--seconds", str(seconds), "--log", log, "--json", report)
        with process(command("measure", WORLD, *flags)) as run:
            run.wait()
        with open(report, encoding="utf-8") as file:
            return json.load(file)


def _bare_p99_ms(seconds: float) -> float:
    variant = {"PYGLFW_LIBRARY_VARIANT": "wayland"} if "WAYLAND_DISPLAY" in os.environ else {}
    with process([sys.executable, "-P", LEAN_WINDOW, str(seconds)], variant) as bare:
        bare.wait()
        return json.loads(bare.out)["p99"]
