"""Mapping of simulated time to wall time from now on: the plan.

Replaced at every pause, step, change of time scale and reset. Snapshots published under an older plan are due at the
instant that the present plan gives for them, so a change takes effect in the next frame.
"""

from __future__ import annotations

from typing import NamedTuple

# Range of the rate of a plan that is not paused. Wider than any useful rate; within it no instant overflows.
SLOWEST, FASTEST = 1e-6, 1e6


class Plan(NamedTuple):
    """From `wall_ns` on, simulated time runs from `sim_time_ns` at `rate` (0: paused).

    `number` grows by one with each plan; `world_epoch` changes at a reset alone.
    """

    number: int
    world_epoch: int
    wall_ns: int
    sim_time_ns: int
    rate: float

    @property
    def is_sound(self) -> bool:
        """True if the rate is 0 or in range. Checked for a plan of another process."""
        return self.rate == 0 or SLOWEST <= self.rate <= FASTEST

    def due_ns(self, sim_time_ns: int) -> int | None:
        """Wall instant at which `sim_time_ns` is due; None while paused."""
        if self.rate <= 0:
            return None
        return self.wall_ns + round((sim_time_ns - self.sim_time_ns) / self.rate)

    def sim_time_at_ns(self, wall_ns: int) -> int:
        """Simulated time that is due at `wall_ns`."""
        return self.sim_time_ns + round((wall_ns - self.wall_ns) * self.rate)
