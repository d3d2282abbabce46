"""Reports of a viewer to the program whose picture it draws: keys, and the view that its user sees.

Keys go there all, marked where the viewer has used them for itself. A view is reported when it has changed, at most
`LOOKS_PER_S` times a second.

Always: the last view of a movement is reported, by the next frame that may; a key that was pressed for the viewer is
released for the viewer. Decides from instants that are passed in.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from twixt.ipc.interaction.user_actions import KEY, PRESS, Look, UserEvent
from twixt.render.display.input import Event, KeyAction

if TYPE_CHECKING:
    from twixt.ipc.session.client import Link
    from twixt.render.scene.stage_camera import StageCamera

LOOKS_PER_S = 60


class UserReports:
    """Reports to the simulation at the other end of `link`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._viewers_keys: set[int] = set()  # codes of keys held down that the viewer has used
        self._moved_version = -1  # of the camera that the user has moved
        self._look: object = None  # all that the last report depended on
        self._look_ns = 0

    def keys(self, events: Iterable[Event], used_ns: Container[int], draw_time_ns: int) -> None:
        """Reports the keys of a frame. used_ns: instants of the presses that the viewer has used for itself."""
        for event in events:
            if not isinstance(event, KeyAction):
                continue
            if event.action == PRESS:
                self._viewers_keys.discard(event.code)
                if event.acted_ns in used_ns:
                    self._viewers_keys.add(event.code)
            is_viewers = event.code in self._viewers_keys
            told = UserEvent(
                KEY, event.code, event.action, event.mods, is_viewers,
                acted_ns=event.acted_ns, draw_time_ns=draw_time_ns,
            )  # fmt: skip
            self._link.tell(told)

    def camera_moved(self) -> None:
        """Notes that the user has moved the camera."""
        self._moved_version = self._link.received.camera_version

    def look(self, camera: StageCamera, size_px: tuple[int, int], now_ns: int) -> None:
        """Reports what is seen, if it has changed and the last report is old enough."""
        version = self._link.received.camera_version
        key = camera.place, version, self._moved_version, size_px
        if key == self._look or camera.orbit is None or now_ns - self._look_ns < 1e9 / LOOKS_PER_S:
            return
        if self._link.tell(Look(camera.seen(), version, size_px, self._moved_version == version)):
            self._look, self._look_ns = key, now_ns
