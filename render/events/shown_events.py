"""The events of a simulation as the stage shows them: rings in each picture, and counts for the panels.

Each picture of a split view shows rings by its own draw time. The left picture decides what is counted, as it decides
what is delivered (`viewer_events`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.render.events.event_counts import EventCounts, EventFacts
from twixt.render.events.event_queue import EventQueue
from twixt.render.events.rings import LINE_PX, FrameTime, PictureRings

if TYPE_CHECKING:
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.events.viewer_events import ViewerEvents
    from twixt.render.interpolation.poses import Poses

MAIN = "main"  # name of the picture that always exists
WATCHER = "events"  # name under which poses are watched: see Picture.watch
# Private copies of snapshots are kept for this time, in ns of display time, after an event that needed them. To read
# snapshots back from a GPU takes longer than to copy them when they arrive.
COPIES_NS = 1_000_000_000
# Largest number of names in the panels; more names are summed.
MOST_SHOWN_NAMES = 9


class WatchedPicture(Protocol):
    """The attributes and methods of a picture (`render/scene/views.py`) that are used here."""

    name: str

    def watch(self, watcher: str, rows: NDArray[np.intp] | None, past: Sequence[Snapshot] | None) -> None: ...
    def unwatch(self, watcher: str) -> None: ...
    def watched(self, watcher: str) -> Poses: ...


class ShownEvents:
    """Rings and counts of `events`; nothing if `events` is None. has_rings: False if only counts are shown.
    content_scale: function that returns the number of pixels per unit of size.

    needs_copies: True if private copies of snapshots are wanted, because events without a position are at their bodies.
    """

    def __init__(
        self,
        events: ViewerEvents | None = None,
        has_rings: bool = True,
        content_scale: Callable[[], float] = lambda: 1.0,
    ) -> None:
        self._counts = EventCounts()
        self.needs_copies = self._has_counts = False
        self._events, self._content_scale = events, content_scale
        self._rings: dict[str, PictureRings] = {}
        self._copied_ns = 0  # present time of the last frame that used copies of snapshots
        if events is not None and has_rings:
            self._add(MAIN, PictureRings(EventQueue(events.attached_at)))

    @property
    def are_moving(self) -> bool:
        """True if the last frame contained rings, or counts that are not zero yet."""
        return self._has_counts or any(map(len, self._rings.values()))

    @property
    def facts(self) -> EventFacts | None:
        """Values for the panels; None if there never was an event."""
        if self._events is None or not self._counts.has_any:
            return None
        return EventFacts(self._counts.by_name(self._events.names, MOST_SHOWN_NAMES), self._events.lost)

    def draw(
        self,
        picture: WatchedPicture,
        time: FrameTime,
        renderer: SceneRenderer,
        copies: Callable[[Any], Sequence[Snapshot]],
    ) -> None:
        """Draws the rings over the picture that `renderer` drew last. copies: `History.drawable_copies`."""
        if self._events is None or not self._rings:
            return
        time = time._replace(world_epoch=time.world_epoch - self._events.worlds_before)
        rings = self._rings.get(picture.name)
        if rings is None:
            rings = copy.deepcopy(self._rings[MAIN])
            self._add(picture.name, rings)

        def poses_of(rows: NDArray[np.intp]) -> Poses:
            self.needs_copies, self._copied_ns = True, time.present_ns
            picture.watch(WATCHER, rows, copies(renderer.bodies))
            poses = picture.watched(WATCHER)
            picture.unwatch(WATCHER)
            return poses

        rings.advance(time, poses_of)
        if len(rings):
            scale = self._content_scale()
            renderer.rings(*rings.rows(time.present_ns, scale), LINE_PX * scale)

    def end_frame(self, present_ns: int, pictures: Sequence[WatchedPicture], has_panels: bool) -> None:
        """Ends a frame with these pictures: counts the events, and forgets the rings of other pictures. has_panels: True
        if panels show the counts."""
        if self._events is None:
            return
        self._counts.add(present_ns, self._events.due)
        self._has_counts = has_panels and not self._counts.are_zero
        if self.needs_copies and present_ns - self._copied_ns > COPIES_NS:
            self.needs_copies = False
        if len(self._rings) > len(pictures):
            for name in self._rings.keys() - {picture.name for picture in pictures}:
                queue = self._rings.pop(name).queue
                self._events.queues = [other for other in self._events.queues if other is not queue]

    def _add(self, name: str, rings: PictureRings) -> None:
        assert self._events is not None
        self._rings[name] = rings
        self._events.queues.append(rings.queue)
