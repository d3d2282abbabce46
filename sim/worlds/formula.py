"""What worlds share whose state is a formula of the simulated time: the time, and how it begins again.

Always: the bodies are those of `time_ns`, which is the sum of the steps in whole nanoseconds, as physics counts it.
Nothing is random but what a subclass draws from the seed.
"""

from __future__ import annotations

from twixt.sim.world import World


class FormulaWorld(World):
    """A subclass says in `write` where all bodies are at `time_s`, and calls `reset` when it is made."""

    time_ns = 0

    @property
    def time_s(self) -> float:
        """Simulated time in seconds."""
        return self.time_ns / 1e9

    def reset(self, seed: int) -> None:
        """Simulated time 0; there is nothing random."""
        self.time_ns = 0
        self.write()
        self.bodies.teleport(slice(None), self.bodies.position)

    def step(self, dt: float) -> None:
        """Advance by `dt` seconds."""
        self.time_ns += round(dt * 1e9)
        self.write()

    def write(self) -> None:
        """Puts what moves where it is at `time_s`."""
        raise NotImplementedError(f"{type(self).__name__} has no write(self)")
