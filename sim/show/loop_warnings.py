"""Warnings of a user's own loop: values that are not finite, in its terminal and in the overlay.

Always: at most one warning of such values in the life of a view, so that a loop that goes on with them is not flooded.
What is checked in each publish costs little (`finite_check`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.process.notices import print_notice
from twixt.ipc.ring.slot import OpenSlot
from twixt.sim.show.shown_bodies import ShownBodies
from twixt.sim.show.users_side import LoopStatus
from twixt.sim.world.finite_check import FiniteCheck, look_in
from twixt.sim.world.marks import Marks, fault_text
from twixt.sim.world.surfaces import Surfaces

WAY_OUT = look_in("the loop")


class LoopWarnings:
    """Warnings of a user's own loop, in its terminal and in the overlay; at most one of values that are not finite."""

    def __init__(self, status: LoopStatus, dt_ns: int) -> None:
        self.is_quiet = False  # after such a value was reported
        self._status, self._dt_s = status, dt_ns / 1e9
        self._finite, self._look_tick = FiniteCheck(WAY_OUT), 0

    def check_all(self, opened: OpenSlot, bodies: ShownBodies, tick: int) -> None:
        """Check all bodies, and warn of the first one with a value that is not finite."""
        warning = FiniteCheck(WAY_OUT, bodies.name_of).check_all(opened.records, tick)
        if not warning and "color" in bodies.not_drawable:
            warning = f"a color is not finite after step {tick}; its body is drawn in white"
        self._warn_once(warning)

    def check_in_turn(self, records: NDArray[np.void], tick: int) -> None:
        """Check the next part of the bodies, which costs little, if one is due at this tick."""
        if tick >= self._look_tick and not self.is_quiet:
            self._look_tick = tick + self._finite.steps_until_next(len(records), self._dt_s)
            self._warn_once(self._finite.check_next(records, tick))

    def check_extras(self, marks: Marks | None, surfaces: Surfaces | None, tick: int) -> None:
        """Warn of the first mark or vertex with a value that is not finite."""
        if marks is not None and marks.fault and not self.is_quiet:
            self._warn_once(fault_text(marks.fault, tick, WAY_OUT))
        if surfaces is not None and not self.is_quiet:
            self._warn_once(surfaces.fault(tick, WAY_OUT))

    def warn(self, text: str) -> None:
        """Write `text` to the terminal and the overlay."""
        print_notice(text)
        self._status.say(warning=text)

    def _warn_once(self, text: str) -> None:
        if text:
            self.is_quiet = True
            self.warn(text)
