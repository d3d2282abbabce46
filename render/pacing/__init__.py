"""When frames start, when they are swapped and when they are seen: the pacer, pure, and how it waits."""

from __future__ import annotations

from twixt.render.pacing.pacer import FramePlan, FrameResult, FrameTimes, Pacer
from twixt.render.pacing.refresh import Refresh

__all__ = ["FramePlan", "FrameResult", "FrameTimes", "Pacer", "Refresh"]
