"""Playback: which simulated time a frame draws.

`PlaybackClock` is fed each snapshot's times and each plan, and answers for a present instant with a draw
time. Usable alone: it reads no clock, and knows neither channel nor window.
"""

from twixt.ipc.config.flags import PREFERENCES
from twixt.render.playback.clock import MODES, ClockState, PlaybackClock

__all__ = ["MODES", "PREFERENCES", "ClockState", "PlaybackClock"]
