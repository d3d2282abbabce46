"""The overlay, fed: what the frame loop knows, put into the words and figures that people read.

Made after the first frame, so that nobody waits for the overlay's library to see the world.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from twixt.ipc.snapshot import Head
from twixt.ipc.troubles import FIELDS
from twixt.render.controls import Controls
from twixt.render.input import Event, MouseButton, MouseMove, PointerLeft
from twixt.render.knobs import Knobs, Turned
from twixt.render.measure.frames import FrameRow
from twixt.render.overlay.late_by import LateBy
from twixt.render.overlay.overlay import REDRAW_NS, SPARING_NS, Overlay
from twixt.render.overlay.state import OverlayState, Recent

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.render.draw.software.beneath import Beneath
    from twixt.render.frame_loop import FrameLoop

# Physics that has published nothing for so long, though it is not paused, is worth a word.
SILENT_NS = 1_000_000_000
# Frames whose age is averaged: half a second at 60 Hz. A state shown as it is grows old until the next one.
AGES = 30


class More(NamedTuple):
    """What the frame loop knows beside what it shows in its public figures."""

    thinned: int = 0  # snapshots given up undrawn, because the viewer's ring was full
    group_ages_ms: Mapping[str, float] = {}  # groups drawn at an instant of their own
    split_labels: tuple[str, str] | None = None  # what the left and the right half show
    messages: tuple[str, ...] = ()  # banners beside those made here


class Ages:
    """How far behind the present that is what frames showed, whatever clock and method."""

    def __init__(self) -> None:
        self._ages_ms: deque[float] = deque(maxlen=AGES)

    def note(self, row: FrameRow) -> None:
        """Remembers a frame. What a pause shows grows old, and is no latency."""
        if row.draw_due_ns and row.clock_mode != "paused":
            self._ages_ms.append((row.present_ns - row.draw_due_ns) / 1e6)

    @property
    def mean_ms(self) -> float | None:
        """Of the last frames; None before the first."""
        return sum(self._ages_ms) / len(self._ages_ms) if self._ages_ms else None


class Panel:
    """One viewer's overlay."""

    def __init__(self, link: Link, pacing: str) -> None:
        self._link, self._pacing = link, pacing
        self._knobs = Knobs()
        self._overlay = Overlay()
        self._frames, self._steps = Recent(), Recent()
        self._ages = Ages()
        self._late_by = LateBy()
        self._row = FrameRow()
        self._newest = Head()
        self._note = ""

    def follow(self, link: Link) -> None:
        """Of another simulation from now on."""
        self._link, self._newest = link, Head()

    def covers(self, x_px: float, y_px: float) -> bool:
        """Whether a panel lies there, where it was shown last."""
        return self._overlay.covers(x_px, y_px)

    def note(self, row: FrameRow, newest: Head | None) -> None:
        """Remembers a frame, and the step behind it if that is new. The time in which no frame was made is no interval."""
        if self._row.present_ns and not row.rested_ns:
            self._frames.add((row.present_ns - self._row.present_ns) / 1e6, row.mode)
        if newest is not None and newest.tick != self._newest.tick:
            self._steps.add(newest.step_cost_ns / 1e6)
            self._newest = newest
        self._ages.note(row)
        self._late_by.note(row)
        self._row = row

    def draw(
        self,
        loop: FrameLoop,
        events: list[Event],
        size_px: tuple[int, int],
        scale: float,
        more: Callable[[], More] = More,
        beneath: Beneath | None = None,
    ) -> list[str]:
        """Draws it; returns the keys whose buttons were clicked.

        more: asked only when it is laid out anew. beneath: what is known of the picture under it; with it, `settle`
        belongs to the frame.
        """
        if loop.note != self._note:
            self._note = loop.note
            self._overlay.stir()
        used = self._overlay.draw(lambda: self._state(loop, more()), events, size_px, scale, beneath=beneath)
        for turn in used.turned:
            self._knobs.turn(turn)
        if used.all_off:
            self._knobs.all_off()
        return used.pressed

    def settle(self) -> None:
        """The frame's last part, when all that was drawn is complete."""
        self._overlay.settle()

    def be_sparing(self, is_sparing: bool) -> None:
        """Whether it is drawn anew more rarely than it might be, as long as nobody uses it."""
        self._overlay.every_ns = SPARING_NS if is_sparing else REDRAW_NS

    def redraw_early(
        self, loop: FrameLoop, size_px: tuple[int, int], scale: float, spare_ns: int, more: Callable[[], More] = More
    ) -> bool:
        """Between two frames: draws it anew where that is due soon and the spare time allows; False: nothing was done."""
        return self._overlay.redraw_early(lambda: self._state(loop, more()), size_px, scale, spare_ns)

    def get_ready(
        self, loop: FrameLoop, size_px: tuple[int, int], scale: float, more: Callable[[], More] = More
    ) -> Iterator[None]:
        """Steps of some milliseconds after which the first frame with it is no longer than any other."""
        return self._overlay.get_ready(lambda: self._state(loop, more()), size_px, scale)

    def pass_by(self, events: list[Event], scale: float) -> None:
        """Where the pointer went while the panels were hidden, and what it let go of; clicks are not theirs then."""
        self._overlay.hear([event for event in events if _may_pass_by(event)], scale)

    def turned(self, now_ns: int, draw_time_ns: int) -> Turned:
        """What the knobs ask for now; to be asked in every frame in which it is drawn."""
        return self._knobs.due(now_ns, draw_time_ns)

    def close(self) -> None:
        self._overlay.close()

    def _state(self, loop: FrameLoop, more: More) -> OverlayState:
        row, newest, controls, clock = self._row, self._newest, loop.controls, loop.clock
        troubles = troubles_told(self._link.status)
        buffer_ms = {"buffer": clock.buffer_ms or 0.0} if clock.mode == "buffered" else {}
        self._knobs.reflect(troubles | buffer_ms, time.perf_counter_ns())
        return OverlayState(
            frames=self._frames,
            steps=self._steps,
            target_ms=row.pacer_interval_ns / 1e6 or None,
            step_budget_ms=newest.dt_ns / 1e6 / controls.time_scale if newest.dt_ns else None,
            rate=0.0 if controls.paused else newest.rate,
            time_scale=controls.time_scale,
            age_ms=self._ages.mean_ms,
            late_by=self._late_by.said,
            clock=controls.clock,
            clock_mode=row.clock_mode,
            interpolation=controls.interpolation,
            for_physics=loop.guest.said.partition(":")[0],
            left_out=level.name if (level := loop.stage.renderer.level).left_out else "",
            room_ms=clock.state.room_ns / 1e6,
            playing_rate=clock.state.rate,
            clock_reason=clock.state.reason,
            prefer=controls.prefer,
            thinned=more.thinned,
            group_ages_ms=more.group_ages_ms,
            troubles={name: self._knobs.figures(name) for name in troubles},
            buffer_ms=self._knobs.figures("buffer")[0] if buffer_ms else None,
            split_labels=more.split_labels,
            pacing=self._pacing,
            bodies=newest.count,
            diagnostics=self._link.status.get("diagnostics", {}),
            messages=messages(self._link, row, newest, controls) + more.messages,
            note=self._note,
            keys=controls.keys,
        )


def _may_pass_by(event: Event) -> bool:
    is_release = isinstance(event, MouseButton) and not event.pressed
    return is_release or isinstance(event, MouseMove | PointerLeft)


def messages(link: Link, row: FrameRow, newest: Head, controls: Controls) -> tuple[str, ...]:
    """What a person in front of the picture should be told in words."""
    said: list[str] = []
    if link.ended is not None:
        said.append(
            f"physics {link.ended.kind}: {link.ended.message}" if link.ended.message else f"physics {link.ended.kind}"
        )
    elif controls.paused:
        said.append("paused: Space goes on, . makes one step")
    elif newest.published_ns and row.present_ns - newest.published_ns > SILENT_NS:
        seconds = (row.present_ns - newest.published_ns) / 1e9
        said.append(f"physics has published nothing for {seconds:.0f} s; the picture waits for it")
    warning = link.status.get("warning")
    if warning:
        said.append(str(warning))
    return tuple(said)


def troubles_told(status: Mapping[str, Any]) -> dict[str, Any]:
    """What physics says of its troubles: values of the commands that set them, by their names."""
    told = {**status, **status.get("trouble", {})}
    return {name: told[said] for name, said in FIELDS.items() if said in told}
