"""Chooses the simulated time that each frame draws. clock: `PlaybackClock`, which computes a draw time for each
present time; modes, auto: its modes; stream: map from due time to simulated time; estimator: offset for `auto`. Usable
alone: reads no clock, and needs neither channel nor window."""

from twixt.ipc.config.flags import PREFERENCES
from twixt.render.playback.clock import MODES, ClockState, PlaybackClock

__all__ = ["MODES", "PREFERENCES", "ClockState", "PlaybackClock"]
