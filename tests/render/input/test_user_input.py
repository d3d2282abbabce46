"""Mouse control of the camera, and the mouse while there is no camera."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.render.input.test_pointer import MIDDLE, Told, at, click
from tests.render.scene.staged import ONE, SIZE_PX, Show, along_x
from twixt.ipc.config.flags import Config
from twixt.ipc.interaction.events import Pull, UserEvent
from twixt.ipc.plan import Plan
from twixt.render.display.input import Event, Key, KeyAction, MouseButton, MouseMove, Scroll
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.input.user_input import Pointer, UserInput

HEIGHT_PX = 600


def test_moving_without_a_button_leaves_the_camera_alone() -> None:
    camera = OrbitCamera()
    acted_ns = Pointer().move_camera(camera, [MouseMove(0, 0, 1), MouseMove(50, 50, 2)], HEIGHT_PX)
    assert acted_ns == 0
    assert camera == OrbitCamera()


def test_left_drag_orbits_and_says_when() -> None:
    camera = OrbitCamera()
    events = [MouseMove(0, 0, 1), MouseButton("left", True, 2), MouseMove(50, 0, 3)]
    assert Pointer().move_camera(camera, events, HEIGHT_PX) == 3
    assert camera.azimuth_rad != OrbitCamera().azimuth_rad
    assert camera.target == OrbitCamera().target


def test_right_drag_pans() -> None:
    camera = OrbitCamera()
    events = [MouseMove(0, 0, 1), MouseButton("right", True, 2), MouseMove(50, 10, 3)]
    Pointer().move_camera(camera, events, HEIGHT_PX)
    assert camera.target != OrbitCamera().target
    assert camera.azimuth_rad == OrbitCamera().azimuth_rad


def test_a_drag_goes_on_over_frames_and_ends_with_the_button() -> None:
    pointer, camera = Pointer(), OrbitCamera()
    pointer.move_camera(camera, [MouseMove(0, 0, 1), MouseButton("left", True, 2)], HEIGHT_PX)
    pointer.move_camera(camera, [MouseMove(30, 0, 3)], HEIGHT_PX)
    turned = camera.azimuth_rad
    assert turned != OrbitCamera().azimuth_rad
    pointer.move_camera(camera, [MouseButton("left", False, 4), MouseMove(60, 0, 5)], HEIGHT_PX)
    assert camera.azimuth_rad == turned


def test_the_wheel_zooms() -> None:
    camera = OrbitCamera()
    assert Pointer().move_camera(camera, [Scroll(0, 1, 9)], HEIGHT_PX) == 9
    assert camera.distance_m < OrbitCamera().distance_m


def over_panel(x_px: float, y_px: float) -> bool:
    return x_px < 100


def test_what_begins_over_a_panel_leaves_the_camera_alone() -> None:
    pointer, camera = Pointer(), OrbitCamera()
    events = [MouseMove(50, 50, 1), Scroll(0, 1, 2), MouseButton("left", True, 3), MouseMove(300, 90, 4)]
    assert pointer.move_camera(camera, events, HEIGHT_PX, over_panel) == 0
    events = [MouseMove(200, 90, 5), MouseButton("left", False, 6), MouseMove(400, 90, 7)]
    assert pointer.move_camera(camera, events, HEIGHT_PX, over_panel) == 0
    assert camera == OrbitCamera()


def test_a_drag_that_began_on_the_picture_goes_on_over_a_panel_and_ends_there() -> None:
    pointer, camera = Pointer(), OrbitCamera()
    pointer.move_camera(camera, [MouseMove(300, 50, 1), MouseButton("left", True, 2)], HEIGHT_PX, over_panel)
    assert pointer.move_camera(camera, [MouseMove(50, 50, 3)], HEIGHT_PX, over_panel) == 3
    turned = camera.azimuth_rad
    pointer.move_camera(camera, [MouseButton("left", False, 4), MouseMove(300, 50, 5)], HEIGHT_PX, over_panel)
    assert camera.azimuth_rad == turned
    assert pointer.move_camera(camera, [Scroll(0, 1, 9)], HEIGHT_PX, over_panel) == 9


def test_a_button_that_goes_up_ends_no_other_buttons_drag() -> None:
    pointer, camera = Pointer(), OrbitCamera()
    down = [MouseMove(0, 0, 1), MouseButton("left", True, 2), MouseButton("right", True, 3)]
    pointer.move_camera(camera, [*down, MouseButton("right", False, 4), MouseMove(30, 0, 5)], HEIGHT_PX)
    assert camera.azimuth_rad != OrbitCamera().azimuth_rad
    pointer.move_camera(camera, [MouseButton("middle", False, 6)], HEIGHT_PX)
    turned = camera.azimuth_rad
    pointer.move_camera(camera, [MouseMove(60, 0, 7)], HEIGHT_PX)
    assert camera.azimuth_rad != turned
    pointer.move_camera(camera, [MouseButton("left", False, 8), MouseMove(90, 0, 9)], HEIGHT_PX)
    assert pointer.move_camera(camera, [MouseMove(120, 0, 10)], HEIGHT_PX) == 0


class Using:
    """A user's input to a stage with one body, in the middle of the picture."""

    def __init__(self, window: Any, before: Using | None = None, **status: Any) -> None:
        self.show = Show(window, ONE, lambda _k: along_x()(0))
        self.told = Told(self.show)
        link: Any = SimpleNamespace(
            description={"loop": "user"}, status=status, received=SimpleNamespace(camera_version=1),
            plan=lambda: Plan(1, 0, 0, 0, 1.0), send_action=self.told.send_action, latest_pair=self.told.latest_pair,
        )  # fmt: skip
        self.link = link
        self.input = UserInput(Config(), link, self.show.stage, (), before and before.input)
        self.input.reflect(link.plan())

    def take(self, *events: Event) -> int:
        return self.input.apply_events(list(events), SIZE_PX, 7)

    def clicked(self) -> list[int | None]:
        """The bodies of the clicks that the program was told of."""
        return [action.body for action in self.told.actions]  # type: ignore[union-attr]


def test_a_pointer_that_came_before_the_first_picture_clicks_where_it_is(window: Any) -> None:
    using = Using(window)
    using.take(at(*MIDDLE), *click(1))
    assert using.clicked() == []
    using.show.draw(150)
    using.take(*click(2))
    assert using.clicked() == [0]


def test_a_pointer_clicks_where_it_is_though_another_simulation_is_drawn(window: Any) -> None:
    before = Using(window)
    before.show.draw(150)
    before.take(at(*MIDDLE))
    using = Using(window, before)
    using.show.draw(150)
    using.take(*click(1))
    assert using.clicked() == [0]


def test_a_button_that_goes_up_while_a_new_camera_has_come_ends_its_drag(window: Any) -> None:
    using = Using(window)
    view = using.show.stage.view
    using.show.draw(150)
    assert using.take(at(5, 5), MouseButton("left", True, 2), MouseMove(50, 5, 3)) == 3
    view.apply_camera(ONE)
    assert using.take(MouseMove(60, 5, 4), Scroll(0, 1, 5), MouseButton("left", False, 6)) == 0
    using.show.draw(160)
    first_view = view.place
    assert using.take(MouseMove(90, 5, 7)) == 0
    assert view.place == first_view


def typed(code: int, name: str) -> list[Event]:
    """Press and release of a key."""
    return [KeyAction(code, "press", 0, code), Key(name, code), KeyAction(code, "release", 0, code + 1)]


def test_keys_that_the_program_has_asked_for_are_its_own_and_the_viewer_keeps_the_others(window: Any) -> None:
    using = Using(window, listens=True, own_keys=["r", "t"])
    using.take(*typed(82, "R"), *typed(84, "T"), *typed(86, "V"))
    told: list[Any] = using.told.actions
    assert [(event.name, event.key_name, event.is_viewers) for event in told if event.action == "press"] == [
        ("key", "r", False), ("key", "t", False), ("key", "v", True),
    ]  # fmt: skip
    assert (using.input.settings.trails, using.input.settings.split) == (False, True)


def test_a_key_is_the_programs_although_no_frame_was_made_since_it_asked(window: Any) -> None:
    using = Using(window)
    using.link.status = {"listens": True, "own_keys": ["v"]}
    using.take(*typed(86, "V"))
    assert not using.input.settings.split
    assert not any(action.is_viewers for action in using.told.actions if isinstance(action, UserEvent))


def test_a_reset_is_asked_for_by_r_alone_while_the_program_has_not_asked_for_r(window: Any) -> None:
    using = Using(window, listens=True, own_keys=["t"])
    using.take(*typed(82, "R"))
    assert [action.name for action in using.told.actions if isinstance(action, UserEvent)] == ["reset", "key", "key"]


def test_a_body_that_the_program_has_made_draggable_is_dragged_without_ctrl(window: Any) -> None:
    using = Using(window, draggable=[0])
    using.show.draw(150)
    using.take(at(*MIDDLE), MouseButton("left", True, 1), MouseMove(MIDDLE[0] + 20, MIDDLE[1], 2))
    using.input.report(SIZE_PX, 7, 10**9)
    pull = using.told.actions[-1]
    assert isinstance(pull, Pull)
    assert (pull.body, pull.is_held) == (0, True)
