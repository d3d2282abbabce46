"""What the user does, taken in between frames: keys, pointer and knobs; and what physics says of itself.

Some of it changes how this viewer draws and is seen in the very next frame; the rest is sent to physics, and seen
when its plan comes back. The choices shown are always those that hold: the viewer's own, and physics' last word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from twixt.ipc.commands import Command
from twixt.ipc.config import Config
from twixt.render.controls import Controls, act, bound, note_of, reflect_slow_physics
from twixt.render.input import Event, Key
from twixt.render.picture.stage import Stage
from twixt.render.pointer import Pointer, covers_nothing

if TYPE_CHECKING:
    from twixt.ipc.link import Link
    from twixt.ipc.plan import Plan
    from twixt.render.knobs import Turned


# How long what a key did stands on the picture.
NOTE_NS = 3_000_000_000


class Steering:
    """controls: what holds now. early: what the user did before there was a picture; the first frame obeys it."""

    def __init__(self, config: Config, link: Link, stage: Stage, early: list[Event]) -> None:
        self.controls = replace(first_controls(config), own_loop=link.description.get("loop") == "user")
        self._link, self._stage, self._early = link, stage, early
        self._pointer = Pointer()
        self._note, self._noted_ns = "", 0
        self._acted_ns = 0  # of a command whose effect has not been seen yet
        self._plan_number = link.plan().number
        self._status: dict[str, Any] = {}
        self._choose()

    def follow(self, link: Link) -> None:
        """Another simulation is asked from now on; what it does is told by its first status and plan."""
        self.controls = replace(self.controls, own_loop=link.description.get("loop") == "user")
        self._link, self._status, self._acted_ns = link, {}, 0
        self._plan_number = link.plan().number

    def obey(
        self, events: list[Event], height_px: int, draw_time_ns: int,
        covers: Callable[[float, float], bool] = covers_nothing,
    ) -> int:  # fmt: skip
        """Acts on keys and mouse. Returns when the user acted, where this very frame shows the effect, else 0.

        height_px: of the window. draw_time_ns: what the user saw. covers: whether the overlay lies over a pixel.
        """
        if self._early:
            events, self._early = [*self._early, *events], []
        elif not events:
            return 0
        acted_ns = 0
        for event in events:
            if isinstance(event, Key) and (key := bound(event)):
                acted_ns = self.press(key, event.acted_ns, draw_time_ns) or acted_ns
        camera = self._stage.camera
        if camera is not None:
            acted_ns = self._pointer.move_camera(camera, events, height_px, covers) or acted_ns
        return acted_ns

    def press(self, key: str, acted_ns: int, draw_time_ns: int) -> int:
        """One key: `acted_ns` where this viewer obeys it itself, 0 where physics is asked or nothing happens."""
        before = self.controls
        self.controls, command = act(key, before, acted_ns, draw_time_ns)
        if note := note_of(key, before, self.controls):
            self.say(note, acted_ns)
        if command is not None:
            self._send(command)
            return 0
        self._choose()
        return acted_ns if self.controls != before else 0

    def say(self, note: str, now_ns: int) -> None:
        """Has this on the picture for a while."""
        self._note, self._noted_ns = note, now_ns

    def note(self, now_ns: int) -> str:
        """What the user is to be told of a key now; mostly nothing."""
        return self._note if now_ns - self._noted_ns <= NOTE_NS else ""

    def press_all(self, keys: Sequence[str], draw_time_ns: int) -> None:
        """Buttons of the overlay, clicked just now."""
        for key in keys:
            self.press(key, time.perf_counter_ns(), draw_time_ns)

    def turn(self, turned: Turned) -> None:
        """Knobs of the overlay."""
        for command in turned.commands:
            self._link.send(command)  # changes no plan: no frame shows when it was obeyed
        if turned.buffer_ms is not None:
            self._stage.clock.buffer_ms = turned.buffer_ms or None

    def screenshot_taken(self) -> None:
        """It need not be taken again."""
        self.controls = replace(self.controls, screenshot=False)

    def reflect(self, plan: Plan) -> int:
        """Takes over what physics now does. Returns when the user asked for it, in the first frame that shows it."""
        self._reflect_status(plan)
        if plan.number == self._plan_number:
            return 0
        self._plan_number = plan.number
        self.controls = replace(self.controls, paused=plan.rate == 0, time_scale=plan.rate or self.controls.time_scale)
        acted_ns, self._acted_ns = self._acted_ns, 0
        return acted_ns

    def _reflect_status(self, plan: Plan) -> None:
        """The keys go on from where physics is, also where it was left by another viewer or begun by a flag."""
        before, status = self._status, self._link.status
        if status is before:
            return
        self._status = status
        if not before or status.get("slow_physics_ms") != before.get("slow_physics_ms"):
            self.controls = reflect_slow_physics(self.controls, status)
        if not before:
            scale = status.get("time_scale", self.controls.time_scale)
            # A plan without an instant waits for the first viewer: that is no pause.
            is_paused = plan.rate == 0 and plan.wall_ns != 0
            self.controls = replace(self.controls, paused=is_paused, time_scale=scale)

    def _choose(self) -> None:
        now = self.controls
        self._stage.choose(now.interpolation, now.clock, now.prefer, now.split, now.trails)

    def _send(self, command: Command) -> None:
        self._link.send(command)
        self._acted_ns = command.acted_ns


def first_controls(config: Config) -> Controls:
    """What the flags ask for; the right half of a split view is the run's own picture."""
    method, clock = ("", "") if config.split is None else config.split[1]
    own = method or config.interpolation
    return Controls(
        own, clock or config.clock, config.overlay, prefer=config.prefer, split=config.split is not None,
        trails=config.trails, own_method=own if ":" in own else None,
    )  # fmt: skip
