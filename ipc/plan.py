"""A plan tells how simulated time maps to wall time, from a given instant on.

A new plan replaces the current plan at every pause, single step, change of time scale and reset. The current plan also
decides when snapshots are due that were published under an earlier plan. So a change of the plan takes effect in the
next frame.
"""

from __future__ import annotations

from typing import NamedTuple

# Lowest and highest rate of a plan that is not paused, in simulated seconds per wall second. All useful rates are in
# this range. With rates in this range no instant overflows.
SLOWEST, FASTEST = 1e-6, 1e6


class Plan(NamedTuple):
    """At the instant `wall_ns` the simulated time is `sim_time_ns`. From then on the simulated time advances at
    `rate`. A rate of 0 means that the simulation is paused.

    `number` increases by one with each plan. `world_epoch` changes only at a reset.
    """

    number: int
    world_epoch: int
    wall_ns: int
    sim_time_ns: int
    rate: float

    @property
    def is_sound(self) -> bool:
        """True if the rate is 0, or is in the range from `SLOWEST` to `FASTEST`. Call this for every plan from another
        process."""
        return self.rate == 0 or SLOWEST <= self.rate <= FASTEST

    def due_ns(self, sim_time_ns: int) -> int | None:
        """Returns the wall instant at which `sim_time_ns` is due. Returns None while the plan is paused."""
        if self.rate <= 0:
            return None
        return self.wall_ns + round((sim_time_ns - self.sim_time_ns) / self.rate)

    def sim_time_at_ns(self, wall_ns: int) -> int:
        """Simulated time that is due at `wall_ns`."""
        return self.sim_time_ns + round((wall_ns - self.wall_ns) * self.rate)
