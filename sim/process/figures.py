"""Computes the figures of the physics process: status messages during the run, and results and memory use at its end.
The module reads no clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from twixt.ipc.config.files import write_json
from twixt.sim.process.trouble import InjectedTrouble
from twixt.sim.publish.publisher import Meter
from twixt.sim.schedule.schedule import Schedule
from twixt.sim.world.world import MOST_FIGURES

# Largest length of a diagnostic's name, in characters. The overlay has no room for a longer name.
LONGEST_NAME = 64


def status_of(schedule: Schedule, meter: Meter, trouble: InjectedTrouble) -> dict[str, Any]:
    """Returns the state of schedule, meter and injected trouble as fields of a status message. All values can be
    encoded as JSON. Times are in ms."""
    return {
        "tick": schedule.tick,
        "paused": schedule.is_paused,
        "rate": schedule.rate,
        "time_scale": schedule.time_scale,
        "overloaded": schedule.is_overloaded,
        "dt_ms": schedule.made_dt_ns / 1e6,
        "step_multiple": schedule.stride.multiple,
        "step_reason": schedule.stride.reason,
        "late": meter.late,
        "dropped": meter.dropped,
        "lost": meter.lost,
        "slow_physics_ms": trouble.now.slow_physics_ms,
        "trouble": trouble.now.to_status(),
        "trouble_asked": trouble.asked.to_status(),
    }


def checked_diagnostics(figures: Mapping[str, Any], world: str, warn: Callable[[str], object]) -> dict[str, float]:
    """Returns the `diagnostics` of a world in the form that is sent to viewers. Raises the exception that `float`
    raises if a value is not a number.

    warn: function that is called with a text if there are more than MOST_FIGURES diagnostics. Only the first
    MOST_FIGURES are then returned.
    """
    items = figures.items()
    if len(items) > MOST_FIGURES:
        warn(f"{world}.diagnostics returned {len(items):,} figures; viewers show only the first {MOST_FIGURES}")
    return {str(name)[:LONGEST_NAME]: float(value) for name, value in islice(items, MOST_FIGURES)}


def print_results(results: dict[str, Any], json_file: str | None) -> None:
    """Prints the `state_hash` in `results`, if there is one, on standard output. Writes all results as JSON into
    `json_file`.

    json_file: name of the file; `-` for standard output, without a separate line for the hash; None to write no JSON.
    Raises TwixtError if the file cannot be written.
    """
    if results.get("state_hash") and json_file != "-":
        print(results["state_hash"], flush=True)
    if json_file is not None:
        write_json(results, json_file)


def resident_mib() -> float | None:
    """Resident memory of this process in MiB, including the pages of shared snapshots that are in use. None on a
    system without /proc.

    The report has this value at the start and at the end of a run. The two values show whether a world leaks memory.
    """
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
