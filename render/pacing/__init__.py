"""Pacing: when frames start, swap and are seen. All of it is pure but the wait."""

from __future__ import annotations

from twixt.render.pacing.pacer import Pacer
from twixt.render.pacing.policy import FramePlan, FrameResult, FrameTimes
from twixt.render.pacing.refresh import Refresh

__all__ = ["FramePlan", "FrameResult", "FrameTimes", "Pacer", "Refresh"]
