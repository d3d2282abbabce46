"""This package chooses the simulated time that each frame draws. clock: `PlaybackClock`, which computes a draw time
for each present time; modes, auto: the modes of this clock; stream: map from due time to simulated time; estimator:
estimate of the playback offset for `auto`. The package can be used alone: it reads no clock, and needs neither a
channel nor a window."""

from twixt.ipc.config.flags import PREFERENCES
from twixt.render.playback.clock import MODES, ClockState, PlaybackClock

__all__ = ["MODES", "PREFERENCES", "ClockState", "PlaybackClock"]
