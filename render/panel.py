"""The overlay, fed: what the frame loop knows, put into the words and figures that people read.

Made after the first frame, so that nobody waits for the overlay's library to see the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twixt.ipc.snapshot import Head
from twixt.render.controls import KEYS
from twixt.render.input import Event
from twixt.render.measure.frames import FrameRow
from twixt.render.overlay import Overlay
from twixt.render.overlay_state import OverlayState, Recent

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.render.frame_loop import FrameLoop

# Physics that has published nothing for so long, though it is not paused, is worth a word.
SILENT_NS = 1_000_000_000


class Panel:
    """One viewer's overlay."""

    def __init__(self, link: Link, pacing: str) -> None:
        self._link, self._pacing = link, pacing
        self._overlay = Overlay()
        self._frames, self._steps = Recent(), Recent()
        self._row = FrameRow()
        self._newest = Head()

    @property
    def wants_mouse(self) -> bool:
        """The pointer is over a panel: the camera leaves it alone."""
        return self._overlay.wants_mouse

    def note(self, row: FrameRow, newest: Head | None) -> None:
        """Remembers a frame, and the step behind it if that is new."""
        if self._row.present_ns:
            self._frames.add((row.present_ns - self._row.present_ns) / 1e6, row.mode)
        if newest is not None and newest.tick != self._newest.tick:
            self._steps.add(newest.step_cost_ns / 1e6)
            self._newest = newest
        self._row = row

    def draw(self, loop: FrameLoop, events: list[Event], size_px: tuple[int, int], scale: float) -> list[str]:
        """Draws it; returns the keys whose buttons were clicked."""
        return self._overlay.draw(lambda: self._state(loop), events, size_px, scale)

    def close(self) -> None:
        self._overlay.close()

    def _state(self, loop: FrameLoop) -> OverlayState:
        row, newest, controls = self._row, self._newest, loop.controls
        return OverlayState(
            frames=self._frames,
            steps=self._steps,
            target_ms=row.pacer_interval_ns / 1e6 or None,
            step_budget_ms=newest.dt_ns / 1e6 / controls.time_scale if newest.dt_ns else None,
            rate=0.0 if controls.paused else newest.rate,
            time_scale=controls.time_scale,
            offset_ms=row.offset_ns / 1e6,
            clock=controls.clock,
            clock_mode=row.clock_mode,
            interpolation=controls.interpolation,
            pacing=self._pacing,
            bodies=newest.count,
            diagnostics=self._link.status.get("diagnostics", {}),
            messages=messages(self._link, row, newest, controls.paused),
            keys=KEYS,
        )


def messages(link: Link, row: FrameRow, newest: Head, paused: bool) -> tuple[str, ...]:
    """What a person in front of the picture should be told in words."""
    said: list[str] = []
    if link.ended is not None:
        said.append(
            f"physics {link.ended.kind}: {link.ended.message}" if link.ended.message else f"physics {link.ended.kind}"
        )
    elif paused:
        said.append("paused: Space goes on, . makes one step")
    elif newest.published_ns and row.present_ns - newest.published_ns > SILENT_NS:
        seconds = (row.present_ns - newest.published_ns) / 1e9
        said.append(f"physics has published nothing for {seconds:.0f} s; the picture waits for it")
    warning = link.status.get("warning")
    if warning:
        said.append(str(warning))
    return tuple(said)
