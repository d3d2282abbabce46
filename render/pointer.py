"""What the mouse does to the camera: drag to orbit, right or middle drag to pan, wheel to zoom."""

from __future__ import annotations

from collections.abc import Iterable

from twixt.render.camera import OrbitCamera
from twixt.render.input import Event, MouseButton, MouseMove, Scroll


class Pointer:
    """Remembers which button is down and where the pointer was."""

    def __init__(self) -> None:
        self._down: str | None = None
        self._at_px: tuple[float, float] | None = None

    def move_camera(self, camera: OrbitCamera, events: Iterable[Event], height_px: int) -> int:
        """Obeys this frame's mouse events. Returns the instant (ns) of the last that moved the camera, or 0."""
        acted_ns = 0
        for event in events:
            if isinstance(event, MouseButton):
                self._down = event.button if event.pressed else None
            elif isinstance(event, Scroll):
                camera.zoom(event.dy)
                acted_ns = event.acted_ns
            elif isinstance(event, MouseMove):
                before, self._at_px = self._at_px, (event.x_px, event.y_px)
                if self._down is None or before is None:
                    continue
                move = camera.orbit if self._down == "left" else camera.pan
                move(event.x_px - before[0], event.y_px - before[1], height_px)
                acted_ns = event.acted_ns
        return acted_ns
