"""Pacing: when frames start, swap and are seen. All of it is pure but the wait."""

from __future__ import annotations

from twixt.render.pacing.pacer import FramePlan, FrameResult, FrameTimes, Pacer
from twixt.render.pacing.refresh.refresh_estimate import Refresh

__all__ = ["FramePlan", "FrameResult", "FrameTimes", "Pacer", "Refresh"]
