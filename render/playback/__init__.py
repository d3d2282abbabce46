"""Playback: the simulated time that a frame draws. clock: `PlaybackClock`, from snapshots' times and plans to a draw
time for each present; modes, auto: its modes; stream: map of due to simulated time; estimator: offset for `auto`.
Usable alone: reads no clock, and needs neither channel nor window."""

from twixt.ipc.config.flags import PREFERENCES
from twixt.render.playback.clock import MODES, ClockState, PlaybackClock

__all__ = ["MODES", "PREFERENCES", "ClockState", "PlaybackClock"]
