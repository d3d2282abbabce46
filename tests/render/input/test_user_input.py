"""Mouse control of the camera, and the mouse while there is no camera."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.input.test_pointer import MIDDLE, Told, at, click
from tests.render.scene.staged import ONE, SIZE_PX, Show, along_x
from twixt.ipc.config.flags import Config
from twixt.ipc.interaction.events import Look, Pull, UserEvent
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Camera
from twixt.render.display.input import Event, Key, KeyAction, MouseButton, MouseMove, Scroll
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.input.user_input import Pointer, UserInput
from twixt.render.scene.views import side_by_side

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


def test_a_button_is_held_from_its_press_on_the_picture_until_its_release() -> None:
    pointer, camera = Pointer(), OrbitCamera()
    held = []
    for events in (
        [MouseMove(300, 50, 1), MouseButton("right", True, 2)], [MouseButton("left", True, 3)], [MouseMove(50, 50, 4)],
        [MouseButton("right", False, 5)], [MouseButton("left", False, 6)],
        [MouseButton("left", True, 7), MouseMove(300, 50, 8)], [MouseButton("left", False, 9)],
    ):  # fmt: skip
        pointer.move_camera(camera, events, HEIGHT_PX, over_panel)
        held.append(pointer.is_held)
    assert held == [True, True, True, True, False, False, False], "the last press was on a panel"


PX = st.floats(-2000, 2000)


@given(
    st.sampled_from(["left", "middle", "right"]),
    st.sampled_from([(0, 0, 1), (0, 0, -1)]),
    st.sampled_from([(0, 0, 1), (1, 0, 0), (-0.3, 0.7, 0)]),
    st.floats(1e-3, 1e6),
    st.floats(-200, 200),
    st.lists(st.tuples(PX, PX), min_size=2, max_size=6),
)
def test_in_a_2d_view_each_drag_pans_and_a_point_always_stays_under_the_pointer(
    button: str, eye: Any, up: Any, height_m: float, notches: float, way_px: list[tuple[float, float]]
) -> None:
    camera = OrbitCamera.from_camera(Camera(eye, (0, 0, 0), orthographic_height=height_m, up=up))
    pointer = Pointer()
    pointer.move_camera(camera, [Scroll(0, notches, 1)], HEIGHT_PX)
    before = replace(camera)
    moves = [MouseMove(x_px, y_px, 3) for x_px, y_px in way_px]
    pointer.move_camera(camera, [moves[0], MouseButton(button, True, 2), *moves[1:]], HEIGHT_PX)
    after = replace(camera, target=before.target)
    assert after == before, "the drag changed more than the target"
    matrices = camera.matrices((HEIGHT_PX, HEIGHT_PX))
    x, y, _, w = matrices.projection.astype(float) @ matrices.view @ (0, 0, 0, 1)
    moved_px = x / w * HEIGHT_PX / 2, -y / w * HEIGHT_PX / 2
    assert moved_px == pytest.approx(np.subtract(way_px[-1], way_px[0]), abs=0.01)


def test_a_left_drag_orbits_an_orthographic_view_from_the_side_even_when_it_has_come_straight_above() -> None:
    camera, pointer = OrbitCamera.from_camera(Camera((0, -5, 5), orthographic_height=6)), Pointer()
    events = [MouseMove(0, 0, 1), MouseButton("left", True, 2), MouseMove(0, 1000, 3)]
    pointer.move_camera(camera, events, HEIGHT_PX)
    assert camera.elevation_rad == math.pi / 2
    pointer.move_camera(camera, [MouseMove(0, 900, 4)], HEIGHT_PX)
    assert camera.elevation_rad < math.pi / 2
    assert camera.target == (0, 0, 0)


@pytest.mark.parametrize("height_m", [None, 6.0])
@pytest.mark.parametrize("button", ["left", "middle", "right"])
def test_the_mouse_does_not_move_a_locked_camera(height_m: float | None, button: str) -> None:
    free = Camera((0, 0, 5), orthographic_height=height_m)
    events = [MouseMove(0, 0, 1), Scroll(0, 3, 2), MouseButton(button, True, 3), MouseMove(50, 20, 4)]
    for camera, acted_ns in (
        (OrbitCamera.from_camera(replace(free, locked=True)), 0),
        (OrbitCamera.from_camera(free), 4),
    ):
        before = replace(camera)
        assert Pointer().move_camera(camera, events, HEIGHT_PX) == acted_ns
        assert (camera == before) is (acted_ns == 0)


class Using:
    """A user's input to a stage with one body, in the middle of the picture."""

    def __init__(
        self, window: Any, before: Using | None = None, camera: Camera | None = ONE.camera, follows: bool = False,
        **status: Any,
    ) -> None:  # fmt: skip
        self.show = Show(window, replace(ONE, camera=camera), lambda _k: along_x()(0), follows=follows)
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


def test_f_says_that_the_camera_is_locked_and_leaves_the_view_until_the_program_sets_a_free_camera(window: Any) -> None:
    locked = Camera((0, -10, 0), (2, 0, 0), locked=True)
    using = Using(window, camera=locked)
    using.show.draw(150)
    view = using.show.stage.view
    before = view.place
    assert using.take(*typed(70, "F")) == 0
    assert using.input.note(71) == "the camera is locked by the program"
    using.show.draw(160)
    assert view.place == before
    assert view.seen().locked
    using.show.stage.set_camera(replace(locked, locked=False))
    using.show.draw(170)
    assert using.take(*typed(70, "F")) == 70
    assert using.input.note(71) == "all bodies framed"
    using.show.draw(180)
    assert view.seen().target == pytest.approx((0, 0, 0), abs=0.1)
    assert not view.seen().locked


def test_f_is_the_programs_alone_in_a_locked_view_if_it_has_asked_for_f(window: Any) -> None:
    using = Using(window, camera=Camera((0, -10, 0), locked=True), listens=True, own_keys=["f"])
    using.take(*typed(70, "F"))
    assert using.input.note(71) == ""


def test_clicks_pulls_and_the_pointer_are_reported_in_a_locked_view(window: Any) -> None:
    using = Using(window, camera=Camera((0, -10, 0), (0, 0, 0), locked=True))
    using.show.draw(150)
    using.take(at(*MIDDLE), *click(1))
    assert using.clicked() == [0]
    using.take(MouseButton("left", True, 3, frozenset(("Ctrl",))), MouseMove(MIDDLE[0] + 20, MIDDLE[1], 4))
    using.input.report(SIZE_PX, 7, 10**9)
    pull = using.told.actions[-1]
    assert isinstance(pull, Pull)
    assert (pull.body, pull.is_held) == (0, True)
    using.take(MouseButton("left", False, 5), *typed(84, "T"))
    press = next(action for action in using.told.actions if isinstance(action, UserEvent) and action.name == "key")
    assert press.pointer_px == (MIDDLE[0] + 20, MIDDLE[1])
    assert press.pointer == pytest.approx((20 * 2 * 10 * math.tan(math.radians(22.5)) / SIZE_PX[1], 0, 0), abs=1e-3)


@pytest.mark.parametrize("locked", [False, True])
def test_a_body_that_the_program_has_made_draggable_is_dragged_without_ctrl(window: Any, locked: bool) -> None:
    using = Using(window, camera=Camera((0, -10, 0), (0, 0, 0), locked=locked), draggable=[0])
    using.show.draw(150)
    using.take(at(*MIDDLE), MouseButton("left", True, 1), MouseMove(MIDDLE[0] + 20, MIDDLE[1], 2))
    using.input.report(SIZE_PX, 7, 10**9)
    pull = using.told.actions[-1]
    assert isinstance(pull, Pull)
    assert (pull.body, pull.is_held) == (0, True)


# -- a camera that follows the bodies


def look_of(using: Using, at_s: float) -> Look:
    """The last view that was reported until `at_s`."""
    using.input.report(SIZE_PX, 7, round(at_s * 1e9))
    return [action for action in using.told.actions if isinstance(action, Look)][-1]


@pytest.mark.parametrize("draggable", [[], [0]])
def test_the_camera_is_held_while_a_button_is_down_on_the_picture_or_drags_a_body(
    window: Any, draggable: list[int]
) -> None:
    using = Using(window, camera=None, follows=True, draggable=draggable)
    using.show.draw(150)
    view, ctrl = using.show.stage.view, frozenset(("Ctrl",))
    assert not view.is_held
    for modifiers in (frozenset[str](), ctrl):
        using.take(at(*MIDDLE), MouseButton("left", True, 1, modifiers))
        assert view.is_held
        assert using.input.tool.is_held is bool(modifiers or draggable)
        using.take()
        assert view.is_held
        using.take(MouseButton("left", False, 2))
        assert not view.is_held


def test_a_press_on_a_panel_does_not_hold_the_camera(window: Any) -> None:
    using = Using(window, camera=None, follows=True)
    using.show.draw(150)
    using.input.apply_events([at(*MIDDLE), MouseButton("left", True, 1)], SIZE_PX, 7, lambda *_: True)
    assert not using.show.stage.view.is_held


def test_a_click_and_a_pull_leave_the_camera_following_and_an_orbit_ends_it(window: Any) -> None:
    using = Using(window, camera=None, follows=True)
    using.show.draw(150)
    view = using.show.stage.view
    using.take(at(*MIDDLE), *click(1))
    using.take(MouseButton("left", True, 3, frozenset(("Ctrl",))), at(MIDDLE[0] + 9, MIDDLE[1]))
    using.take(MouseButton("left", False, 5))
    assert follows(using)
    using.take(at(5, 5), MouseButton("left", True, 6), at(50, 5), MouseButton("left", False, 7))
    place = view.place
    assert not follows(using)
    assert view.place == place


def follows(using: Using) -> bool:
    """True if the camera goes where the bodies go."""
    show, before = using.show, using.show.stage.view.place
    away_m = 300.0 * (show.published + 1)
    show.bodies = lambda _k: along_x(1, away_m)(1)
    first_ms = 100 * show.published + 200
    for at_ms in range(first_ms, first_ms + 600, 50):
        show.draw(at_ms)
    return show.stage.view.place != before


def test_a_view_is_the_users_after_an_orbit_and_not_while_it_follows(window: Any) -> None:
    using = Using(window, camera=None, follows=True)
    using.show.draw(150)
    assert not look_of(using, 1).is_moved
    assert follows(using)
    followed = look_of(using, 2)
    assert not followed.is_moved
    assert followed.camera.target[0] > 100, "its movement is reported"
    using.take(at(5, 5), MouseButton("left", True, 6), at(50, 5), MouseButton("left", False, 7))
    assert look_of(using, 3).is_moved
    assert using.take(*typed(70, "F")) == 70
    using.show.draw(1500)
    assert not look_of(using, 4).is_moved
    assert follows(using)
    assert not look_of(using, 5).is_moved


@pytest.mark.parametrize(("camera", "is_following"), [(ONE.camera, True), (ONE.camera, False), (None, False)])
def test_after_f_the_view_is_the_users_if_the_program_has_set_one_or_the_view_is_still(
    window: Any, camera: Camera | None, is_following: bool
) -> None:
    using = Using(window, camera=camera, follows=is_following)
    using.show.draw(150)
    assert not look_of(using, 1).is_moved
    using.take(*typed(70, "F"))
    using.show.draw(160)
    assert look_of(using, 2).is_moved
    assert follows(using) is is_following


@pytest.mark.parametrize("is_split", [False, True])
def test_a_pan_moves_the_picture_by_the_pointers_way_also_in_a_split_view(window: Any, is_split: bool) -> None:
    using = Using(window)
    stage = using.show.stage
    if is_split:
        using.take(*typed(86, "V"))
    using.show.draw(150)
    viewport = side_by_side(SIZE_PX, 1 + is_split)[-1]

    def body_px() -> np.ndarray:
        matrices = stage.view.matrices(stage.main, viewport[2:], SIZE_PX)
        clip = matrices.projection @ matrices.view @ np.array([0, 0, 0, 1], np.float32)
        return clip[:2] / clip[3] / 2 * viewport[2:]

    before = body_px()
    x_px, y_px = SIZE_PX[0] - 100, 100
    using.take(at(x_px, y_px), MouseButton("right", True, 8), at(x_px + 40, y_px + 20), MouseButton("right", False, 9))
    assert body_px() - before == pytest.approx([40, -20], abs=0.1)
