"""What viewers are told of physics now and then, by the names that they know. Reads no clock."""

from __future__ import annotations

from typing import Any

from twixt.sim.meter import Meter
from twixt.sim.schedule import Schedule
from twixt.sim.trouble import Trouble


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
