"""Memory of the browser view over minutes at four times the usual rate: `python -m tests.long.soak.page_memory`.

A simulation publishes 240 snapshots a second, and a real Chromium shows them. Every ten seconds, the memory of the page,
its processes, the server and the simulation is read. Prints the slope of each over the last three quarters, and exits
with 1 where one is above its limit. A page acknowledges once a frame, so it receives fewer than are published.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from bench.processes import process
from tests.displays.rigs import Display, xvfb
from twixt.cli.chromium import Chromium
from twixt.cli.web_measure import HAS_PICTURE
from twixt.sim.process.viewer_command import twixt_command

NAME = "page-memory"
SAMPLE_S = 10.0
# The first part is warm-up: the page's log and the browser's caches fill.
WARM_UP_SHARE = 1 / 4
MIB = 1 << 20
# What is read of the page, after a garbage collection: `heap` of objects, `buffers` of arrays, `embedder` of the DOM.
HEAP = {"heap": "usedSize", "buffers": "backingStorageSize", "embedder": "embedderHeapUsedSize"}
# Largest slopes that are allowed, MiB an hour. Other processes: the browser's allocators, and physics, which keeps its
# latest figures for the report.
MOST_SLOPE = {"heap": 5.0, "buffers": 5.0, "embedder": 5.0, "server": 4.0}
MOST_OTHER_SLOPE = 15.0


def resident_mib(pid: int) -> float:
    """Private and shared memory of a process that is not of files, MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    return sum(int(status[part].split()[0]) for part in ("RssAnon", "RssShmem", "VmSwap")) / 1024


def browser_processes(chromium: Chromium) -> dict[str, int]:
    """Process ids of the browser, its GPU process, its network service and the page (the busiest renderer)."""
    found: dict[str, tuple[float, int]] = {}
    for one in chromium.call("SystemInfo.getProcessInfo")["processInfo"]:
        kind = str(one["type"]).lower()
        found[kind] = max(found.get(kind, (-1.0, 0)), (one["cpuTime"], one["id"]))
    return {kind: pid for kind, (_, pid) in found.items()}


class Sampler:
    """Reads memory of a page, of its browser's processes, and of others. rows: one for each time."""

    def __init__(self, chromium: Chromium, others: dict[str, int]) -> None:
        self.rows: list[dict[str, float]] = []
        self._chromium, self._others = chromium, others
        self._began_s = time.monotonic()

    def sample(self) -> dict[str, float]:
        page, row = self._chromium.page, {"at_s": time.monotonic() - self._began_s}
        row["used"] = page.call("Runtime.getHeapUsage")["usedSize"] / MIB  # before the collection
        pids = browser_processes(self._chromium) | self._others
        row |= {name: resident_mib(pid) for name, pid in pids.items()}
        page.call("HeapProfiler.collectGarbage")
        usage = page.call("Runtime.getHeapUsage")
        row |= {name: usage[field] / MIB for name, field in HEAP.items() if field in usage}
        row |= page.evaluate(
            "({fps: twixt.frameLog.figures(5).meanFps ?? 0, held: twixt.state.held, "
            "messages: twixt.connection.messages})"
        )
        self.rows.append(row)
        return row


def slopes(rows: list[dict[str, float]], lasts_s: float) -> dict[str, tuple[float, float, float, float]]:
    """By name: mean of the first and of the last tenth after warm-up, the most, and the slope (least squares, an hour)."""
    later = [row for row in rows if row["at_s"] >= lasts_s * WARM_UP_SHARE]
    names = [name for name in later[0] if name not in ("at_s", "fps", "held", "messages")]
    at_h, part = [row["at_s"] / 3600 for row in later], max(1, len(later) // 10)
    found = {}
    for name in names:
        values = [row.get(name, np.nan) for row in later]
        slope = float(np.polyfit(at_h, values, 1)[0]) if len(later) > 1 else 0.0
        found[name] = float(np.mean(values[:part])), float(np.mean(values[-part:])), float(np.max(values)), slope
    return found


def measure(
    display: Display, minutes: float, has_trails: bool, bodies: int, rate_hz: float, out: str,
    say: Callable[[str], Any],
) -> bool:  # fmt: skip
    """Prints what one page needs over the minutes. Returns True if nothing grew more than allowed."""
    lasts_s = minutes * 60
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="memory-", dir="/tmp"))
        environ = display.environ | {"XDG_RUNTIME_DIR": folder}
        world = ["balls", "--set", f"count={bodies}", "--physics-hz", str(rate_hz), "--publish-hz", str(rate_hz)]
        sim = ends.enter_context(process(twixt_command("sim", *world, "--name", NAME), environ, is_apart=True))
        server = ends.enter_context(process(twixt_command("serve", NAME), environ, is_read=True, is_apart=True))
        url = next(server.lines()).strip()
        chromium = ends.enter_context(Chromium(display.environ["DISPLAY"], (320, 240)))
        page = chromium.page
        page.open(url)
        page.wait_for(HAS_PICTURE, 60)
        if has_trails:
            page.send_key("t")
        sampler = Sampler(chromium, {"server": server.pid, "simulation": sim.pid})
        began_s = time.monotonic()
        while (passed_s := time.monotonic() - began_s) < lasts_s:
            row = sampler.sample()
            say("  ".join(f"{name} {value:.1f}" for name, value in row.items()))
            time.sleep(max(0.0, min(SAMPLE_S, lasts_s - passed_s)))
        assert (page.evaluate("twixt.trails !== null")) == has_trails
        if out:
            Path(out).write_text(json.dumps(sampler.rows))
        rows, errors = sampler.rows, page.errors
    say(
        f"{bodies} balls, trails {'on' if has_trails else 'off'}, {rate_hz:g} snapshots a second published, "
        f"{(rows[-1]['messages'] - rows[0]['messages']) / (rows[-1]['at_s'] - rows[0]['at_s']):.0f} received, "
        f"{np.median([row['fps'] for row in rows]):.0f} frames a second"
    )
    say(f"{'MiB':14}{'first':>9}{'last':>9}{'most':>9}{'an hour':>9}")
    is_flat = not errors
    for name, (first, last, most, slope) in slopes(rows, lasts_s).items():
        allowed = MOST_SLOPE.get(name, np.inf if name == "used" else MOST_OTHER_SLOPE)
        is_flat &= slope <= allowed
        say(f"{name:14}{first:9.1f}{last:9.1f}{most:9.1f}{slope:+9.1f}{'' if slope <= allowed else '  GROWS'}")
    for error in errors:
        say(f"error of the page: {error}")
    return is_flat


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak.page_memory", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--trails", choices=("off", "on"), default="off")
    parser.add_argument("--bodies", type=int, default=20)
    parser.add_argument("--hz", type=float, default=240.0)
    parser.add_argument("--json", default="", help="file for all samples")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with xvfb(size_px=(320, 240)) as display:
        how = asked.minutes, asked.trails == "on", asked.bodies, asked.hz, asked.json
        return 0 if measure(display, *how, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
