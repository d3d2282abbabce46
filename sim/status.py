"""What viewers are told of physics now and then, by the names that they know. Reads no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from twixt.sim.meter import Meter
from twixt.sim.schedule import Schedule
from twixt.sim.trouble import Trouble

# Figures of the world's own that viewers are told, and letters of a name: more fit into no overlay.
MOST_FIGURES, LONGEST_NAME = 64, 64


def status_of(schedule: Schedule, meter: Meter, trouble: Trouble) -> dict[str, Any]:
    """JSON-able; times in ms."""
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


def figures_of(told: Mapping[str, Any], whose: str, warn: Callable[[str], object]) -> dict[str, float]:
    """What the world's `diagnostics` told, as far as viewers are. warn: told where that is not all."""
    figures = told.items()
    if len(figures) > MOST_FIGURES:
        warn(f"{whose}.diagnostics gives {len(figures):,} figures; viewers are told {MOST_FIGURES}")
    return {str(name)[:LONGEST_NAME]: float(value) for name, value in islice(figures, MOST_FIGURES)}
