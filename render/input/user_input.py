"""Applies input of the user between frames: keys, mouse and sliders. Also applies the plans and status messages of the
physics process.

Input for this viewer has an effect in the next frame. Input for the physics process is sent as a command. The physics
process answers with a new plan or status.

Always: `settings` are the settings in use. Settings that belong to the physics process follow its plan and status.
Between a key press and the answer of the physics process, these settings have the values that the user requested.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from twixt.ipc.commands import Command
from twixt.ipc.config.flags import Config
from twixt.ipc.interaction.events import KEY, PRESS, RESET, Look, UserEvent
from twixt.render.display.input import Event, Key, KeyAction, MouseButton, MouseMove, PointerLeft, Scroll
from twixt.render.draw.frame.camera import OrbitCamera, narrowed
from twixt.render.input.keys import ViewerSettings, act, bound, note_of, reflect_slow_physics
from twixt.render.input.pointer import PointerTool
from twixt.render.scene.stage import Stage
from twixt.render.scene.views import side_by_side

if TYPE_CHECKING:
    from twixt.ipc.plan import Plan
    from twixt.ipc.scene.checks import Vector
    from twixt.ipc.session.link import Link
    from twixt.render.input.sliders import Turned
    from twixt.render.scene.camera import StageCamera


# Time in ns for which a note about a key is shown.
NOTE_NS = 3_000_000_000


def covers_nothing(_x_px: float, _y_px: float) -> bool:
    """Returns False for every pixel, because no panel is shown."""
    return False


class UserInput:
    """Input of the user for one simulation, applied between frames.

    settings: the current settings. tool: the user's pointer in the picture. early: input from before the first
    picture, which the first frame applies. before: input object of the simulation that was drawn before. The user's
    settings are kept, until the first status and plan of `link` change them.
    """

    def __init__(
        self, config: Config, link: Link, stage: Stage, early: Sequence[Event] = (), before: UserInput | None = None
    ) -> None:
        self._link, self._stage, self._early = link, stage, early
        settings, self._pointer, self._note, self.note_ends_ns = first_settings(config), Pointer(), "", 0
        if before is not None:
            settings, self._pointer, self._early = before.settings, before._pointer, before._early
            self._note, self.note_ends_ns = before._note, before.note_ends_ns
        self.settings: ViewerSettings = replace(settings, own_loop=link.description.get("loop") == "user")
        self._reports: UserReports = UserReports(link, None if before is None else before._reports)
        self.tool: PointerTool = PointerTool(stage, link, None if before is None else before.tool)
        self._acted_ns = 0  # instant of the last command; 0 after a new plan has arrived
        self._plan_number = link.plan().number
        self._status: dict[str, Any] = {}
        self._choose()

    def apply_events(
        self,
        events: list[Event],
        size_px: tuple[int, int],
        draw_time_ns: int,
        covers: Callable[[float, float], bool] = covers_nothing,
    ) -> int:
        """Applies keys and mouse events. Returns the instant, in ns, of the last input whose effect this frame shows.
        Returns 0 if there is no such input.

        size_px: size of the window. draw_time_ns: simulated time that the user saw. covers: function that returns True
        if a panel covers a pixel.
        """
        if self._early:
            events, self._early = [*self._early, *events], []
        elif not events:
            return 0
        if self._link.status is not self._status:  # the program may have asked for keys while no frames were made
            self._reflect_status(self._link.plan())
        acted_ns, used_ns = 0, set[int]()
        for event in events:
            if isinstance(event, Key) and self.settings.has_keys and (key := bound(event)):
                if not self.settings.belongs_to_program(key):
                    used_ns.add(event.acted_ns)
                acted_ns = self.press(key, event.acted_ns, draw_time_ns) or acted_ns
        self._reports.keys(events, used_ns, draw_time_ns, lambda x_px, y_px: self.tool.point_at(x_px, y_px, size_px))
        rest = self.tool.apply_events(events, size_px, draw_time_ns, covers)
        pan_px = size_px[1] * narrowed(side_by_side(size_px, len(self._stage.pictures))[-1][2:], size_px)
        moved_ns = self._pointer.move_camera(self._stage.view.orbit, rest, size_px[1], covers, pan_px)
        self._stage.view.is_held = self._pointer.is_held or self.tool.is_held
        if moved_ns:
            self._stage.view.user_moved()
            self._reports.camera_moved()
        return moved_ns or acted_ns

    def report(self, size_px: tuple[int, int], draw_time_ns: int, now_ns: int) -> None:
        """Reports the user's view and drag to the program. Call this after a frame. size_px: size of the window."""
        self._reports.look(self._stage.view, size_px, now_ns)
        self.tool.report(size_px, draw_time_ns, now_ns)

    def press(self, key: str, acted_ns: int, draw_time_ns: int) -> int:
        """Applies one key. Returns `acted_ns` if the key changed this viewer's settings or camera. Else returns 0."""
        before = self.settings
        self.settings, command = act(key, before, acted_ns, draw_time_ns)
        if note := note_of(key, before, self.settings):
            self.say(note, acted_ns)
        if command is not None:
            self._send(command)
            return 0
        if key == "R" and before.own_loop and not before.belongs_to_program(key):
            self._link.send_action(UserEvent(RESET, acted_ns=acted_ns, draw_time_ns=draw_time_ns))
            return 0
        if self.settings.frame_all:
            self.settings = before
            camera = self._stage.scene.camera
            if camera is not None and camera.locked:
                self.say("the camera is locked by the program", acted_ns)
                return 0
            self._stage.view.frame_all()
            if self._stage.scene.camera is None and self._stage.view.may_follow:
                self._reports.camera_followed()
            else:
                self._reports.camera_moved()
            return acted_ns
        self._choose()
        return acted_ns if self.settings != before else 0

    def say(self, note: str, now_ns: int) -> None:
        """Shows `note` over the picture for a time of `NOTE_NS`."""
        self._note, self.note_ends_ns = note, now_ns + NOTE_NS

    def note(self, now_ns: int) -> str:
        """Note to show now. It is the note of the last key, or "" after `NOTE_NS`."""
        return self._note if now_ns <= self.note_ends_ns else ""

    def turn(self, turned: Turned) -> None:
        """Applies sliders that the user moved in the overlay."""
        for command in turned.commands:
            self._link.send(command)  # not with `_send`, because these commands do not change the plan
        if turned.buffer_ms is not None:
            self._stage.main.clock.buffer_ms = turned.buffer_ms or None

    def screenshot_done(self) -> None:
        """Clears the request for a screenshot."""
        self.settings = replace(self.settings, screenshot=False)

    def reflect(self, plan: Plan) -> int:
        """Updates the settings from the plan and status of the physics process. In the first frame after a new plan,
        returns the instant, in ns, of the user's command that caused the plan. In other frames, returns 0."""
        if self._link.status is not self._status:
            self._reflect_status(plan)
        if plan.number == self._plan_number:
            return 0
        self._plan_number = plan.number
        self.settings = replace(self.settings, paused=plan.rate == 0, time_scale=plan.rate or self.settings.time_scale)
        acted_ns, self._acted_ns = self._acted_ns, 0
        return acted_ns

    def _reflect_status(self, plan: Plan) -> None:
        """Updates the settings from the status of the physics process. Another viewer or a flag may have changed
        them."""
        before, status = self._status, self._link.status
        self._status = status
        own_keys = frozenset(status.get("own_keys", ()))
        self.settings = replace(self.settings, listens=status.get("listens") is True, own_keys=own_keys)
        self.tool.draggable = frozenset(status.get("draggable", ()))
        if not before or status.get("slow_physics_ms") != before.get("slow_physics_ms"):
            self.settings = reflect_slow_physics(self.settings, status)
        if not before:
            scale = status.get("time_scale", self.settings.time_scale)
            # A plan without a wall instant means that the physics process waits for the first viewer. Such a plan is
            # not a pause.
            is_paused = plan.rate == 0 and plan.wall_ns != 0
            self.settings = replace(self.settings, paused=is_paused, time_scale=scale)

    def _choose(self) -> None:
        now = self.settings
        self._stage.choose(now.interpolation, now.clock, now.prefer, now.split, now.trails)

    def _send(self, command: Command) -> None:
        self._link.send(command)
        self._acted_ns = command.acted_ns


def first_settings(config: Config) -> ViewerSettings:
    """Settings from the flags. In a split view, these are the settings of the right half, which is the main
    picture."""
    method, clock = ("", "") if config.split is None else config.split[1]
    own = method or config.interpolation
    return ViewerSettings(
        own,
        clock or config.clock,
        config.overlay,
        prefer=config.prefer,
        split=config.split is not None,
        trails=bool(config.trails),
        own_method=own if ":" in own else None,
        has_keys=config.keys,
    )


class Pointer:
    """Mouse control of the camera. A drag with the left button orbits, and a drag with the right or middle button
    pans. In a 2D view (`OrbitCamera.is_flat`) each drag pans. The wheel zooms. A locked camera does not move.

    Always: a drag that begins on a panel does not move the camera, even after the pointer has left the panel. A drag
    that begins on the picture continues over panels. The release of a button ends only the drag of this button,
    wherever the pointer is. If several buttons are down, the button that was pressed last decides.
    """

    def __init__(self) -> None:
        # Buttons that were pressed on the picture and are still down, in the order of their presses.
        self._down: list[str] = []
        self._at_px: tuple[float, float] | None = None

    @property
    def is_held(self) -> bool:
        """True while a button is down that was pressed on the picture."""
        return bool(self._down)

    def move_camera(
        self,
        camera: OrbitCamera | None,
        events: Iterable[Event],
        height_px: int,
        covers: Callable[[float, float], bool] = covers_nothing,
        pan_px: float | None = None,
    ) -> int:
        """Applies this frame's mouse events. Returns the instant, in ns, of the last event that moved the camera, or 0
        if no event moved it.

        camera: None if the next frame makes a new one. If it is None or locked, buttons and position are tracked all
        the same. covers: returns True if a panel covers a pixel. pan_px: see `height_px` of `OrbitCamera.pan`; by
        default `height_px`.
        """
        if camera is not None and camera.locked:
            camera = None
        acted_ns = 0
        for event in events:
            if isinstance(event, MouseButton):
                is_panels = self._at_px is not None and covers(*self._at_px)
                self._down = [button for button in self._down if button != event.button]
                if event.pressed and not is_panels:
                    self._down.append(event.button)
            elif isinstance(event, Scroll):
                if camera is not None and (self._at_px is None or not covers(*self._at_px)):
                    camera.zoom(event.dy)
                    acted_ns = event.acted_ns
            elif isinstance(event, MouseMove):
                before, self._at_px = self._at_px, (event.x_px, event.y_px)
                if camera is None or not self._down or before is None:
                    continue
                dx_px, dy_px = event.x_px - before[0], event.y_px - before[1]
                if self._down[-1] == "left" and not camera.is_flat:
                    camera.orbit(dx_px, dy_px, height_px)
                else:
                    camera.pan(dx_px, dy_px, height_px if pan_px is None else pan_px)
                acted_ns = event.acted_ns
        return acted_ns


# Reports keys and the camera's view from a viewer to the program that the viewer shows.
#
# All keys are reported. A report tells whether the viewer itself has used the key. A view is reported when it has
# changed, at most `LOOKS_PER_S` times a second.
#
# Always: the last view of a movement is reported. If the viewer has used the press of a key, the report of its release
# tells this as well.


LOOKS_PER_S = 60


class UserReports:
    """Sends reports to the simulation at the other end of `link`. before: reports to the simulation that was drawn
    before; the pointer is still where it was."""

    def __init__(self, link: Link, before: UserReports | None = None) -> None:
        self._link = link
        self._pointer_px: tuple[float, float] | None = None if before is None else before._pointer_px
        self._used_keys: set[int] = set()  # codes of held keys whose press the viewer has used
        self._moved_version = -1  # version of the program's camera at which the user moved it
        self._look: object = None  # values from which the last report was made
        self._look_ns = 0

    def keys(
        self,
        events: Iterable[Event],
        used_ns: Container[int],
        draw_time_ns: int,
        point_at: Callable[[float, float], Vector | None],
    ) -> None:
        """Reports the keys of a frame. used_ns: instants of those key presses that the viewer itself has used.
        point_at: function that returns the point in the world at a pixel."""
        for event in events:
            if isinstance(event, MouseMove):
                self._pointer_px = event.x_px, event.y_px
            elif isinstance(event, PointerLeft):
                self._pointer_px = None
            if not isinstance(event, KeyAction):
                continue
            if event.action == PRESS:
                self._used_keys.discard(event.code)
                if event.acted_ns in used_ns:
                    self._used_keys.add(event.code)
            is_viewers = event.code in self._used_keys
            told = UserEvent(
                KEY, event.code, event.action, event.mods, is_viewers,
                acted_ns=event.acted_ns, draw_time_ns=draw_time_ns, key_name=event.name, pointer_px=self._pointer_px,
                pointer=None if self._pointer_px is None else point_at(*self._pointer_px),
            )  # fmt: skip
            self._link.send_action(told)

    def camera_moved(self) -> None:
        """Records that the user has moved the camera."""
        self._moved_version = self._link.received.camera_version

    def camera_followed(self) -> None:
        """Records that the camera follows the bodies again. Its view is then not the user's."""
        self._moved_version = -1

    def look(self, camera: StageCamera, size_px: tuple[int, int], now_ns: int) -> None:
        """Reports the view if it has changed. Does this only if the last report was long enough ago (see
        `LOOKS_PER_S`)."""
        version = self._link.received.camera_version
        key = camera.place, version, self._moved_version, size_px
        if key == self._look or camera.orbit is None or now_ns - self._look_ns < 1e9 / LOOKS_PER_S:
            return
        if self._link.send_action(Look(camera.seen(), version, size_px, self._moved_version == version)):
            self._look, self._look_ns = key, now_ns
