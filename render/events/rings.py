"""Rings that show where events happened: they grow a little and fade.

A ring begins in the frame whose draw time reaches the event's instant. It is at the event's position, or where the
event's body is drawn in that frame. It stays there and ages with display time, so it also fades during a pause. Each
picture of a split view has rings of its own, by its own draw time.

Always: an event gets at most one ring in a picture. There are at most MOST_RINGS rings, and the work of a frame does
not depend on the length of the run. Pure: reads no clock and draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.render.events.event_queue import EventQueue
from twixt.render.interpolation.poses import Poses

# Duration of a ring in ns of display time: long enough to be seen, short enough that rings of a ball that bounces
# twice a second do not overlap.
RING_NS = 400_000_000
# An event whose instant was passed longer ago than this, in ns of display time, gets no ring: the window was hidden, or
# the viewer stood still.
MOST_LATE_NS = 1_000_000_000
# Largest number of rings in a picture. More rings hide the picture.
MOST_RINGS = 256
# Final radius of a ring: LEAST_PX for strength 0, and DOUBLING_PX more whenever 1 + strength doubles, at most MOST_PX.
LEAST_PX, DOUBLING_PX, MOST_PX = 8.0, 8.0, 64.0
# Radius of a ring in its first frame, as a share of the final radius.
FIRST_SHARE = 0.5
# Width of a ring's line in pixels.
LINE_PX = 2.0
_RING = np.dtype([("position", "<f8", 3), ("radius_px", "<f8"), ("began_ns", "<i8")])


class RingRows(NamedTuple):
    """Rings of one frame, as `SceneRenderer.rings` takes them. positions: (k, 3), metres. radii_px: (k,). alphas: (k,),
    opacities from 0 to 1."""

    positions: NDArray[np.float64]
    radii_px: NDArray[np.float64]
    alphas: NDArray[np.float64]


class FrameTime(NamedTuple):
    """Times of one picture in one frame. draw_time_ns: simulated time that the picture shows. world_epoch: world that
    it shows. present_ns: instant at which it is shown. rate: simulated seconds per second, by the plan; 0 in a pause."""

    draw_time_ns: int
    world_epoch: int
    present_ns: int
    rate: float


class PictureRings:
    """Rings of one picture. queue: events that the picture has not reached yet. It belongs to this object."""

    def __init__(self, queue: EventQueue) -> None:
        self.queue = queue
        self._rings = np.zeros(0, _RING)  # the oldest first
        self._world_epoch: int | None = None

    def __len__(self) -> int:
        return len(self._rings)

    def advance(self, time: FrameTime, poses_of: Callable[[NDArray[np.intp]], Poses]) -> None:
        """Begins the rings of the events that this frame reaches, and removes those that have faded. poses_of: function
        that returns the poses with which the bodies with these indices, ascending, are drawn in this frame. It is
        called only for events without a position."""
        rings = self._rings
        if time.world_epoch != self._world_epoch:
            self._world_epoch, rings = time.world_epoch, rings[:0]
        if len(rings):
            rings = rings[time.present_ns - rings["began_ns"] < RING_NS]
        due = self.queue.due(time.draw_time_ns, time.world_epoch)
        if time.rate and len(due):
            oldest_ns = time.draw_time_ns - time.rate * MOST_LATE_NS
            due = due[np.searchsorted(due["sim_time_ns"], oldest_ns) :]
        if len(due):
            rings = np.concatenate((rings, _begun(due, time.present_ns, poses_of)))[-MOST_RINGS:]
        self._rings = rings

    def rows(self, present_ns: int, content_scale: float = 1.0) -> RingRows:
        """The rings in the frame that is shown at `present_ns`. content_scale: pixels per unit of size."""
        rings = self._rings
        age = np.clip((present_ns - rings["began_ns"]) / RING_NS, 0.0, 1.0)
        grown = FIRST_SHARE + (1.0 - FIRST_SHARE) * (1.0 - (1.0 - age) ** 2)
        return RingRows(rings["position"], content_scale * grown * rings["radius_px"], 1.0 - age**2)


def ring_radius_px(strength: NDArray[np.floating]) -> NDArray[np.float64]:
    """Final radius of the rings of events of these strengths, in pixels at content scale 1."""
    return np.minimum(LEAST_PX + DOUBLING_PX * np.log2(1.0 + np.fmax(strength.astype(np.float64), 0.0)), MOST_PX)


def _begun(due: NDArray[np.void], present_ns: int, poses_of: Callable[[NDArray[np.intp]], Poses]) -> NDArray[np.void]:
    """Rings of the events `due`, dtype `_RING`, in their order. Of too many events, the strongest are taken."""
    chosen = np.flatnonzero(~np.isnan(due["position"][:, 0]) | (due["body"] >= 0))
    if len(chosen) > MOST_RINGS:
        strongest = np.argpartition(due["strength"][chosen], -MOST_RINGS)[-MOST_RINGS:]
        chosen = chosen[np.sort(strongest)]
    due = due[chosen]
    rings = np.zeros(len(due), _RING)
    rings["position"], rings["began_ns"] = due["position"], present_ns
    rings["radius_px"] = ring_radius_px(due["strength"])
    unplaced = np.flatnonzero(np.isnan(due["position"][:, 0]))
    if len(unplaced):
        bodies = due["body"][unplaced].astype(np.intp)
        rows = np.unique(bodies)
        poses = poses_of(rows)
        at = np.searchsorted(rows, bodies)
        is_drawn = at < len(poses)
        is_drawn[is_drawn] = poses.visible[at[is_drawn]]
        rings["position"][unplaced[is_drawn]] = poses.position[at[is_drawn]]
    return rings[np.isfinite(rings["position"]).all(axis=1)]
