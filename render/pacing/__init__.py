"""This package decides when each frame starts, when it is swapped and when it is shown. Of its modules, only `wait`
reads a clock. pacer: the public class; policy, swap_paced, display_paced: placement of frames in time; interval,
interval_evidence: choice of the frame interval; grid, refresh: the display's refresh period; display_waits: detection
of waits for the display."""

from __future__ import annotations

from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FramePlan, FrameResult, FrameTimes
from twixt.render.pacing.refresh import Refresh

__all__ = ["FramePlan", "FrameResult", "FrameTimes", "Pacer", "Refresh"]
