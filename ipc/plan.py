"""The plan: how simulated time maps to wall time from a given instant on.

A new plan replaces it at every pause, single step, change of time scale and reset. The current plan also decides when
snapshots of older plans are due, so a change takes effect in the next frame.
"""

from __future__ import annotations

from typing import NamedTuple

# Range of the rate of a plan that is not paused, simulated seconds per wall second. The range includes all useful
# rates. With rates in this range no instant overflows.
SLOWEST, FASTEST = 1e-6, 1e6


class Plan(NamedTuple):
    """At `wall_ns` the simulated time is `sim_time_ns`; from then on it advances at `rate` (0: paused).

    `number` increases by one with each plan. `world_epoch` changes only at a reset.
    """

    number: int
    world_epoch: int
    wall_ns: int
    sim_time_ns: int
    rate: float

    @property
    def is_sound(self) -> bool:
        """True if the rate is 0 or in range. Call this for every plan from another process."""
        return self.rate == 0 or SLOWEST <= self.rate <= FASTEST

    def due_ns(self, sim_time_ns: int) -> int | None:
        """Wall instant at which `sim_time_ns` is due; None while paused."""
        if self.rate <= 0:
            return None
        return self.wall_ns + round((sim_time_ns - self.sim_time_ns) / self.rate)

    def sim_time_at_ns(self, wall_ns: int) -> int:
        """Simulated time that is due at `wall_ns`."""
        return self.sim_time_ns + round((wall_ns - self.wall_ns) * self.rate)
