"""A metronome whose physics stalls once at each SIGUSR1."""

from __future__ import annotations

import signal
import time

from twixt.sim.worlds.metronome import Metronome

# Longer than physics runs ahead, which hides short stalls.
STALL_S = 0.25


class Stalling(Metronome):
    """Stalls in the step after the signal."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._is_asked = False
        signal.signal(signal.SIGUSR1, self._ask)

    def _ask(self, _number: int, _frame: object) -> None:
        self._is_asked = True

    def step(self, dt: float) -> None:
        if self._is_asked:
            self._is_asked = False
            time.sleep(STALL_S)
        super().step(dt)
