"""The playback clock computes a draw time (the simulated time to draw) for the present time of each frame.

A mode of the clock (see `modes`) proposes the draw time, and the clock limits it.

Always: the draw time never decreases, except once when a new world epoch begins. It exceeds the newest snapshot by at
most `reach_ns` (0 unless the interpolation method extrapolates). In a pause, the draw time is constant from the next
frame on. Pure: the clock gets present times, the times of snapshots, and plans from its caller. It reads no wall
clock.

    clock = PlaybackClock(mode="auto")
    clock.observe(sim_time_ns, due_ns, arrival_ns)   # each snapshot, in any order
    clock.replan(plan)                               # when the plan has changed
    draw_time_ns = clock.draw_time_ns(present_ns)    # once a frame
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.render.playback.auto import AutoMode
from twixt.render.playback.modes import BufferedMode, ClockMode, NewestTwoMode, Preferences, PresentMode
from twixt.render.playback.stream import Stream

MODES: dict[str, Callable[[Preferences], ClockMode]] = {
    "auto": AutoMode,
    "ahead": lambda preferences: PresentMode(),
    "newest-two": lambda preferences: NewestTwoMode(),
    "buffered": BufferedMode,
}


class ClockState(NamedTuple):
    """State of the clock after a frame, for the log and the overlay.

    Attributes:
        mode: Current mode: "ahead", "late", "newest-two", "buffered" or "paused".
        offset_ns: Present time of the frame minus due time of its draw time. Negative: drawn before it is due.
        room_ns: Wall time from the draw time to the newest snapshot. Negative: drawn beyond the newest snapshot.
        rate: Simulated time that passed since the previous frame, per wall time.
        held: True if this frame draws the same simulated time as the previous frame, because no newer snapshot exists.
        reason: Reason for the draw time, as text.
    """

    mode: str  # current mode: "ahead", "late", "newest-two", "buffered", "paused"
    offset_ns: int  # present time of the frame minus due time of its draw time; negative: drawn before it is due
    room_ns: int  # wall time from the draw time to the newest snapshot; negative: drawn beyond the newest snapshot
    rate: float  # simulated time that passed since the previous frame, per wall time
    held: bool  # True: this frame draws the same simulated time as the previous frame, because no snapshot is newer
    reason: str


class PlaybackClock:
    """Computes the draw time of each frame of one world, from the instants at which snapshots are due and arrive.

    The playback clock reads no time itself: the caller passes all instants. A newer world epoch restarts the clock.

    Args:
        mode: "auto", "ahead", "newest-two" or "buffered".
        prefer: Response of "auto" to stalls: "latency", "balanced" or "smooth".
        buffer_ms: Delay of "buffered", in ms. None to compute it from the measured jitter.

    Attributes:
        mode: The mode. `select` changes it.
        state: State after the last frame, see `ClockState`.

    Raises:
        TwixtError: An argument has a value that is not allowed.

    Examples:
        ```python
        from twixt.render.playback import PlaybackClock

        clock = PlaybackClock("newest-two")
        for step in range(1, 4):
            due_ns = step * 10_000_000
            clock.observe(sim_time_ns=due_ns, due_ns=due_ns, arrival_ns=due_ns + 1_000_000)
        print(clock.draw_time_ns(present_ns=35_000_000))
        ```
    """

    def __init__(self, mode: str = "auto", prefer: str = "latency", buffer_ms: float | None = None) -> None:
        self._preferences = Preferences(prefer, buffer_ms)
        self._stream = Stream()
        self._world_epoch: int | None = None
        self._pending_plan: Plan | None = None
        self._draw_time_ns: int | None = None
        self._present_ns: int | None = None
        self._pause_target_ns: int | None = None
        self._glide_rate = 1.0
        self._modes: dict[str, ClockMode] = {}
        self.state = ClockState(mode, 0, 0, 0.0, False, "no snapshot yet")
        self.select(mode)

    def select(self, mode: str) -> None:
        """Changes the mode of the clock. The draw time continues from its current value.

        Args:
            mode: "auto", "ahead", "newest-two" or "buffered".

        Raises:
            TwixtError: There is no mode of this name.
        """
        if mode not in MODES:
            raise TwixtError(f"clock must be one of {', '.join(MODES)}, got {mode!r}")
        self.mode = mode
        if mode not in self._modes:
            self._modes[mode] = MODES[mode](self._preferences)
        self._mode = self._modes[mode]  # a mode that was used before has kept its statistics
        self._mode.replanned(self._stream, self._draw_time_ns, 1.0)

    @property
    def prefer(self) -> str:
        """Response of the mode "auto" to stalls: "latency", "balanced" or "smooth"."""
        return self._preferences.prefer

    @prefer.setter
    def prefer(self, prefer: str) -> None:
        self._preferences.prefer = prefer

    @property
    def buffer_ms(self) -> float | None:
        """Delay of the mode "buffered", in ms of wall time. None to compute it from the measured jitter."""
        return self._preferences.buffer_ms

    @buffer_ms.setter
    def buffer_ms(self, buffer_ms: float | None) -> None:
        self._preferences.buffer_ms = buffer_ms

    @property
    def reach_ns(self) -> int:
        """Longest extrapolation beyond the newest snapshot, in ns of simulated time. By default 0.

        Raises:
            TwixtError: The assigned value is not a whole number >= 0.
        """
        return self._stream.reach_ns

    @reach_ns.setter
    def reach_ns(self, reach_ns: int) -> None:
        if isinstance(reach_ns, bool) or not isinstance(reach_ns, int) or reach_ns < 0:
            raise TwixtError(
                f"reach_ns must be a whole number of ns >= 0, with 0 for no extrapolation, got {reach_ns!r}"
            )
        self._stream.reach_ns = reach_ns

    def observe(
        self, sim_time_ns: int, due_ns: int, arrival_ns: int, world_epoch: int = 0, plan_number: int | None = None
    ) -> None:
        """Records a snapshot. Duplicates and snapshots in the wrong order are accepted.

        Args:
            sim_time_ns: Simulated time of the snapshot, in ns.
            due_ns: Wall instant at which the snapshot is due, in ns.
            arrival_ns: Wall instant at which the snapshot arrived, in ns.
            world_epoch: World epoch of the snapshot. Snapshots of older epochs are ignored.
            plan_number: Number of the plan under which the snapshot was published. None for the plan that was valid
                when the snapshot arrived.
        """
        if self._world_epoch is None or world_epoch > self._world_epoch:
            self._begin(world_epoch)
        elif world_epoch < self._world_epoch:
            return
        self._stream.observe(sim_time_ns, due_ns, arrival_ns, plan_number, self._draw_time_ns)

    def replan(self, plan: Plan) -> None:
        """Applies a new plan at once. A plan that is already known changes nothing.

        Args:
            plan: The plan.
        """
        if self._world_epoch is None or plan.world_epoch > self._world_epoch:
            self._pending_plan = plan  # the plan waits for the first snapshot of its world
            return
        known = self._stream.plan
        if plan.world_epoch < self._world_epoch or (known is not None and plan.number <= known.number):
            return
        self._adopt(plan)

    def advance_to(self, present_ns: int) -> int:
        """Advances the clock to the frame that is shown at `present_ns`, and returns the draw time of that frame.

        Args:
            present_ns: Expected wall instant at which the frame is shown, in ns.

        Returns:
            Draw time of this frame, in ns of simulated time. The draw time decreases only when a new world epoch
            begins.
        """
        stream, before = self._stream, self._draw_time_ns
        if not stream:
            return before or 0
        passed_ns = 0 if self._present_ns is None else max(0, present_ns - self._present_ns)
        self._present_ns = present_ns if self._present_ns is None else max(present_ns, self._present_ns)
        if self._pause_target_ns is not None:
            draw_time_ns = self._glide(passed_ns)
            mode, reason = (
                "paused",
                "physics is paused" if draw_time_ns == before else "playing to the next snapshot",
            )
        else:
            draw_time_ns = self._mode.advance_to(stream, self._present_ns, passed_ns, before)
            mode, reason = self._mode.name, self._mode.reason
        # The clock does not extrapolate during a pause or a single step.
        draw_time_ns = min(draw_time_ns, stream.newest_sim_ns if mode == "paused" else stream.limit_sim_ns)
        if before is not None and draw_time_ns < before:
            draw_time_ns = before
        self._draw_time_ns = draw_time_ns
        rate = (draw_time_ns - before) / passed_ns if before is not None and passed_ns else 0.0
        if mode == "paused":  # no snapshot falls due during a pause, so offset and room stay the same
            self.state = self.state._replace(mode=mode, rate=rate, held=False, reason=reason)
        else:
            due_ns = stream.due_of(draw_time_ns)
            room_ns = stream.newest_due_ns - due_ns
            self.state = ClockState(mode, present_ns - due_ns, room_ns, rate, draw_time_ns == before, reason)
        return draw_time_ns

    draw_time_ns = advance_to

    def begin_anew(self) -> None:
        """Clears the statistics of the start-up frames. The draw time continues."""
        self._mode.begin_anew()

    def due_ns(self, sim_time_ns: int) -> int:
        """Best known wall instant at which a simulated time is due. 0 if there is no snapshot yet.

        If a pause holds back the snapshot of this simulated time, the result is the instant at which the pause began.

        Args:
            sim_time_ns: Simulated time in ns.

        Returns:
            The instant in ns.
        """
        if not self._stream:
            return 0
        due_ns, held_since_ns = self._stream.due_of(sim_time_ns), self._stream.held_since_ns
        return due_ns if held_since_ns is None else min(due_ns, held_since_ns)

    def _begin(self, world_epoch: int) -> None:
        """Begins a new world. The draw time may decrease only here."""
        self._world_epoch = world_epoch
        self._stream = Stream(self._stream.reach_ns)
        self._draw_time_ns = self._pause_target_ns = None
        self._modes.clear()
        self.select(self.mode)
        plan, self._pending_plan = self._pending_plan, None
        if plan is not None and plan.world_epoch == world_epoch:
            self._adopt(plan)
        elif plan is not None and plan.world_epoch > world_epoch:
            self._pending_plan = plan

    def _adopt(self, plan: Plan) -> None:
        known = self._stream.plan
        # A single step of the simulation sends a plan of rate 0, after the plan that pauses the simulation. If the
        # user presses the step key during playback, only this second plan may arrive.
        is_step = self._stream.paused or (known is not None and plan.number > known.number + 1)
        if known is not None and known.rate > 0:
            self._glide_rate = known.rate
        stretch = self._stream.replan(plan, self._draw_time_ns)
        if plan.rate > 0:
            self._pause_target_ns = None
            self._mode.replanned(self._stream, self._draw_time_ns, stretch)
        elif is_step or self._draw_time_ns is None:
            self._pause_target_ns = plan.sim_time_ns
        else:
            self._pause_target_ns = self._draw_time_ns

    def _glide(self, passed_ns: int) -> int:
        """Draw time during a pause. The draw time is constant, or it advances to the end of a single step at the rate
        before the pause."""
        assert self._pause_target_ns is not None
        if self._draw_time_ns is None:
            return max(self._pause_target_ns, self._stream.oldest_sim_ns)
        return min(self._pause_target_ns, self._draw_time_ns + round(passed_ns * self._glide_rate))
