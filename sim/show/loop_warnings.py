"""Warns about states of a user's loop that have values which cannot be drawn, or motion lost to float32.

The warnings appear in the terminal and in the overlay. Always: at most one warning of each kind per view. The checks
of one publish cost little, because each check looks at only a few bodies (`state_checks`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.process.notices import print_notice
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.scene import Scene
from twixt.ipc.session.host import Host
from twixt.sim.show.shown_bodies import ShownBodies
from twixt.sim.show.viewer_input import LoopStatus
from twixt.sim.world.body_fields import HALF_ZERO
from twixt.sim.world.marks import Marks, fault_text
from twixt.sim.world.state_checks import (
    LEAST_INTERVAL,
    LOOK_INTERVAL_S,
    FiniteCheck,
    LostMotion,
    small_shape,
    way_out_in,
)
from twixt.sim.world.surfaces import Surfaces

WAY_OUT = way_out_in("the loop")
# Number of early motion checks, and largest number of publishes between two later checks. Early checks are
# LEAST_INTERVAL publishes apart. Later checks are about LOOK_INTERVAL_S apart.
EARLY_LOOKS, MOST_INTERVAL = 5, 8192


class LoopWarnings:
    """Checks the states of the loop that publishes on `host`, and warns its user.

    lost_motion_tick: the tick at which the next `check_motion` is due.
    """

    def __init__(self, host: Host, status: LoopStatus, dt_ns: int) -> None:
        self.is_quiet = False  # True after a value that cannot be drawn was reported.
        self._status, self._dt_s = status, dt_ns / 1e9
        self._finite, self._look_tick = FiniteCheck(WAY_OUT), 0
        self._motion = LostMotion(lambda: host.scene.unpacked())
        self.lost_motion_tick: float = LEAST_INTERVAL
        self._looks_left, self._looked_ns = EARLY_LOOKS, time.perf_counter_ns()
        self._interval, self._has_said_time, self._has_said_body = LEAST_INTERVAL, False, False

    def check_all(self, opened: OpenSlot, bodies: ShownBodies, tick: int) -> None:
        """Check all bodies, and warn about the first value that cannot be drawn."""
        warning = FiniteCheck(WAY_OUT, bodies.name_of).check_all(opened.records, tick)
        if not warning and "color" in bodies.not_drawable:
            warning = f"a color is not finite after step {tick}; its body is drawn in white"
        if not warning and "scale" in bodies.not_drawable:
            warning = (
                f"a scale after step {tick} is 0 as float16, its type in a snapshot: that body is not drawn; "
                f"give scales above {HALF_ZERO:.0e}, and the shape a smaller size"
            )
        self._warn_once(warning)

    def check_in_turn(self, opened: OpenSlot, tick: int) -> None:
        """Check the next chunk of the bodies, if one is due at this tick."""
        if tick >= self._look_tick and not self.is_quiet:
            self._look_tick = tick + self._finite.steps_until_next(opened.count, self._dt_s)
            self._warn_once(self._finite.check_next(opened.records, tick))

    def check_motion(
        self,
        records: NDArray[np.void],
        tick: int,
        sim_time_ns: int,
        exact: NDArray[Any] | None = None,
        name_of: Callable[[int], object] = int,
    ) -> None:
        """Warn about the first body whose motion is lost to float32. exact: positions in the type that the user
        passed, see `LostMotion.check`."""
        text = self._motion.check(records, tick, sim_time_ns / 1e9, exact, name_of)
        if text:
            self.lost_motion_tick = math.inf
            return self.warn(text)
        now_ns, interval = time.perf_counter_ns(), LEAST_INTERVAL
        if self._looks_left:
            self._looks_left -= 1
        else:
            publishes = self._interval * LOOK_INTERVAL_S * 1e9 / max(1, now_ns - self._looked_ns)
            interval = round(min(max(publishes, LEAST_INTERVAL), MOST_INTERVAL))
        self._interval, self._looked_ns = interval, now_ns
        self.lost_motion_tick = tick + interval

    def check_scene(self, scene: Scene) -> None:
        """Warn about a shape that is too small to be seen."""
        if text := small_shape(scene):
            self.warn(text)

    def check_time(self, before_s: float | None, sim_time_s: float) -> None:
        """Warn once if the times of two states differ by less than a nanosecond, the resolution of snapshots. Both
        times are in seconds."""
        if before_s is not None and sim_time_s > before_s and not self._has_said_time:
            self._has_said_time = True
            self.warn(
                f"sim_time advanced by {sim_time_s - before_s:.2g} s, but snapshots hold whole nanoseconds: this state "
                "replaces the previous state; publish less often, or use a larger unit of time"
            )

    def check_extras(self, marks: Marks | None, surfaces: Surfaces | None, tick: int, bodies: int) -> None:
        """Warn about the first mark that cannot be drawn, or vertex that is not finite. bodies: number of bodies."""
        if marks is not None:
            if marks.fault and not self.is_quiet:
                self._warn_once(fault_text(marks.fault, tick, WAY_OUT))
            if not self._has_said_body and (text := marks._missing_body(bodies, tick)):
                self._has_said_body = True
                self.warn(text)
        if surfaces is not None and not self.is_quiet:
            self._warn_once(surfaces._fault(tick, WAY_OUT))

    def warn(self, text: str) -> None:
        """Write `text` to the terminal and the overlay."""
        print_notice(text)
        self._status.set_fields(warning=text)

    def _warn_once(self, text: str) -> None:
        if text:
            self.is_quiet = True
            self.warn(text)
