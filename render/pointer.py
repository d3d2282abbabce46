"""What the mouse does to the camera: drag to orbit, right or middle drag to pan, wheel to zoom.

Always: what begins over a panel belongs to the panel, also where the pointer leaves it; a drag that begins on the
picture goes on over panels; a button that went up ends its drag and no other's, wherever that was. Of several that are
down the last one drags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twixt.render.camera import OrbitCamera
from twixt.render.input import Event, MouseButton, MouseMove, Scroll


def covers_nothing(_x_px: float, _y_px: float) -> bool:
    """No panel lies anywhere."""
    return False


class Pointer:
    """Remembers which buttons are down and where the pointer was."""

    def __init__(self) -> None:
        self._down: list[str] = []  # in the order in which they went down on the picture
        self._at_px: tuple[float, float] | None = None

    def move_camera(
        self,
        camera: OrbitCamera,
        events: Iterable[Event],
        height_px: int,
        covers: Callable[[float, float], bool] = covers_nothing,
    ) -> int:
        """Obeys this frame's mouse events. Returns the instant (ns) of the last that moved the camera, or 0.

        covers: whether a panel lies over the picture at this pixel.
        """
        acted_ns = 0
        for event in events:
            if isinstance(event, MouseButton):
                is_panels = self._at_px is not None and covers(*self._at_px)
                self._down = [button for button in self._down if button != event.button]
                if event.pressed and not is_panels:
                    self._down.append(event.button)
            elif isinstance(event, Scroll):
                if self._at_px is None or not covers(*self._at_px):
                    camera.zoom(event.dy)
                    acted_ns = event.acted_ns
            elif isinstance(event, MouseMove):
                before, self._at_px = self._at_px, (event.x_px, event.y_px)
                if not self._down or before is None:
                    continue
                move = camera.orbit if self._down[-1] == "left" else camera.pan
                move(event.x_px - before[0], event.y_px - before[1], height_px)
                acted_ns = event.acted_ns
        return acted_ns
