"""The pointer tool on a real stage: clicks, selection, drags, and what is left for the camera."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.render.scene.staged import ONE, SIZE_PX, Show, along_x
from twixt.ipc.interaction.events import Pull, UserAction, UserEvent
from twixt.ipc.scene import Camera, Scene
from twixt.render.display.input import MouseButton, MouseMove
from twixt.render.input.pointer import DOUBLE_NS, PointerTool
from twixt.render.scene.views import side_by_side

CTRL = frozenset(("Ctrl",))
MIDDLE = SIZE_PX[0] / 2, SIZE_PX[1] / 2
LATER_NS = 1_000_000_000


class Told:
    """The end of a link whose newest snapshots are those of a show."""

    def __init__(self, show: Show) -> None:
        self.actions: list[UserAction] = []
        self._show = show

    def send_action(self, action: UserAction) -> bool:
        self.actions.append(action)
        return True

    def latest_pair(self) -> Any:
        from twixt.ipc.snapshot import Snapshot

        show = self._show
        return tuple(
            Snapshot(sim_time_ns=entry.head.sim_time_ns, bodies=show.bodies(number), tick=entry.head.tick)
            for number, entry in list(enumerate(show.stage.history.entries))[-2:]
        )


class Holding:
    """A still body at the camera's target, by default in the middle of the picture, and a pointer tool."""

    def __init__(self, window: Any, scene: Scene = ONE) -> None:
        self.show = Show(window, scene, lambda _k: along_x()(0))
        self.told = Told(self.show)
        self.tool = PointerTool(self.show.stage, self.told)  # type: ignore[arg-type]
        self.show.draw(150)

    def take(self, *events: Any) -> list[Any]:
        return self.tool.apply_events(list(events), SIZE_PX, 7, lambda *_: False)

    def report(self, at_ns: int = 0) -> Pull:
        self.tool.report(SIZE_PX, at_ns, LATER_NS + at_ns)
        last = self.told.actions[-1]
        assert isinstance(last, Pull)
        return last


def middle_of(lit: np.ndarray) -> tuple[float, float]:
    """Of the lit pixels, px from the top left."""
    y, x = np.nonzero(lit)
    return float(x.mean()) + 0.5, float(y.mean()) + 0.5


@pytest.fixture
def holding(window: Any) -> Holding:
    return Holding(window)


def at(x_px: float, y_px: float) -> MouseMove:
    return MouseMove(x_px, y_px, 1)


def click(now_ns: int) -> list[MouseButton]:
    return [MouseButton("left", True, now_ns), MouseButton("left", False, now_ns + 1)]


def test_a_click_says_which_body_and_where_and_two_select_it(holding: Holding) -> None:
    assert len(holding.take(at(*MIDDLE), *click(1), *click(2))) == 5  # the camera gets them, too
    holding.take(at(5, 5), *click(2 * DOUBLE_NS))
    first, second, beside = (event for event in holding.told.actions if isinstance(event, UserEvent))
    assert (first.body, first.clicks, first.button, second.clicks) == (0, 1, "left", 2)
    assert first.point == pytest.approx((0, -0.5, 0), abs=1e-3)
    assert (beside.body, beside.point, beside.clicks) == (None, None, 1)
    selected = holding.report()
    assert (selected.body, selected.is_held) == (0, False)


def test_a_press_that_moves_is_no_click_and_one_beside_all_bodies_orbits(holding: Holding) -> None:
    holding.take(
        at(*MIDDLE), MouseButton("left", True, 1), at(MIDDLE[0] + 30, MIDDLE[1]), MouseButton("left", False, 2)
    )
    assert holding.told.actions == []
    events = [at(5, 5), MouseButton("left", True, 1, CTRL), at(50, 5), MouseButton("left", False, 2)]
    assert holding.take(*events) == events
    covered = [at(*MIDDLE), MouseButton("left", True, 1, CTRL)]
    assert holding.tool.apply_events(covered, SIZE_PX, 7, lambda *_: True) == covered


@pytest.mark.parametrize("button", ["left", "right"])
def test_a_drag_with_ctrl_pulls_towards_the_pointer_until_it_is_released(holding: Holding, button: str) -> None:
    taken = [at(*MIDDLE), MouseButton(button, True, 1, CTRL), at(MIDDLE[0] + 40, MIDDLE[1])]
    assert holding.take(*taken) == taken[:1]
    pull = holding.report()
    assert (pull.body, pull.is_held, pull.is_turn) == (0, True, False)
    assert pull.at == pytest.approx((0, -0.5, 0), abs=1e-3)
    assert pull.target[0] > 0.5
    assert pull.target[1:] == pytest.approx((-0.5, 0), abs=1e-3)
    assert pull.force[0] > 0
    assert pull.force[1:] == pytest.approx((0, 0), abs=1e-6 * pull.force[0] + 1e-3)
    assert pull.torque[2] > 0
    holding.show.draw_over = holding.tool.draw
    assert (holding.show.pixels(200)[..., 1] > 150).any()  # the line and the dot are there
    holding.take(MouseButton(button, False, 9))
    assert holding.report(1) == Pull()
    assert "pointer" not in holding.show.stage.main._watching


@pytest.mark.parametrize("split", [False, True])
def test_a_rolled_camera_off_its_centre_shows_clicks_and_pulls_in_one_place(window: Any, split: bool) -> None:
    camera = Camera((0, -10, 0), (0, 0, 0), up=(1, 0, 0.2), principal_point=(0.2, -0.3))
    holding = Holding(window, replace(ONE, camera=camera))
    show, left = holding.show, 0
    if split:
        show.choose(split=True)
        left = side_by_side(SIZE_PX, 2)[1][0]
    pixels = show.pixels(160)
    x, y = middle_of(pixels[:, left:].max(axis=2) > 60)
    width = SIZE_PX[0] - left
    height = SIZE_PX[1] * width / SIZE_PX[0]  # of a picture that is as wide in all
    assert (x, y) == pytest.approx((width / 2 + 0.2 * height, SIZE_PX[1] / 2 + 0.3 * height), abs=0.75)
    if split:
        assert middle_of(pixels[:, : left - 2].max(axis=2) > 60) == pytest.approx((x, y), abs=0.75)
    holding.take(at(left + x, y), *click(1), at(left + width / 2, 40), *click(2 * DOUBLE_NS))
    hit, beside = (event for event in holding.told.actions if isinstance(event, UserEvent))
    assert (hit.body, beside.body) == (0, None)
    assert hit.point == pytest.approx((0, -0.5, 0), abs=0.05)
    holding.take(at(left + x, y), MouseButton("left", True, 3, CTRL), at(left + x + 30, y))
    pull = holding.report()
    moved = np.subtract(pull.target, pull.at)
    assert moved / np.linalg.norm(moved) == pytest.approx(np.array((0.2, 0, -1)) / np.hypot(0.2, 1), abs=0.01)


def test_a_selected_body_is_turned_by_the_left_button_and_pulled_by_the_right(holding: Holding) -> None:
    holding.take(at(*MIDDLE), *click(1), *click(2))
    holding.take(at(5, 5), MouseButton("left", True, 3, CTRL), at(45, 5))
    turn = holding.report()
    assert (turn.body, turn.is_turn) == (0, True)
    assert turn.turn == pytest.approx((0, 0, np.pi * 40 / SIZE_PX[1]), abs=1e-4)
    assert turn.torque[2] > 0
    assert turn.force == (0, 0, 0)
    holding.take(MouseButton("left", False, 4), MouseButton("right", True, 5, CTRL))
    pull = holding.report(20_000_000)
    assert (pull.is_held, pull.is_turn) == (True, False)
    assert pull.target[0] < -1
    holding.take(MouseButton("right", False, 6))
    rest = holding.report(20_000_001)
    assert (rest.body, rest.is_held, rest.force) == (0, False, (0, 0, 0))


def test_a_draggable_body_follows_the_pointer_without_ctrl_and_keeps_its_grab_offset(holding: Holding) -> None:
    holding.tool.draggable = frozenset([0])
    grabbed_px = MIDDLE[0] + 5, MIDDLE[1]
    taken = [at(*grabbed_px), MouseButton("left", True, 1), at(grabbed_px[0] + 40, MIDDLE[1])]
    assert holding.take(*taken) == taken[:1]
    pull = holding.report()
    assert (pull.body, pull.is_held, pull.is_turn) == (0, True, False)
    assert pull.position == pytest.approx((0, 0, 0), abs=1e-6)
    assert pull.at[0] > 0.05
    assert pull.dragged_to == pytest.approx((pull.target[0] - pull.at[0], 0, 0), abs=1e-6)
    assert pull.dragged_to[0] > 0.5
    holding.take(MouseButton("left", False, 9))
    assert holding.report(1) == Pull()
    assert [event for event in holding.told.actions if isinstance(event, UserEvent)] == []


def test_a_press_on_a_draggable_body_that_does_not_move_is_a_click(holding: Holding) -> None:
    holding.tool.draggable = frozenset([0])
    holding.take(at(*MIDDLE), *click(1))
    [clicked] = [event for event in holding.told.actions if isinstance(event, UserEvent)]
    assert (clicked.body, clicked.clicks) == (0, 1)


@pytest.mark.parametrize("draggable", [{1}, set()])
def test_a_press_beside_draggable_bodies_is_the_cameras(holding: Holding, draggable: set[int]) -> None:
    holding.tool.draggable = frozenset(draggable)
    events = [at(*MIDDLE), MouseButton("left", True, 1), at(MIDDLE[0] + 40, MIDDLE[1]), MouseButton("left", False, 2)]
    assert holding.take(*events) == events
    assert "pointer" not in holding.show.stage.main._watching
    holding.tool.draggable = frozenset([0])
    events = [at(*MIDDLE), MouseButton("right", True, 1), at(MIDDLE[0] + 40, MIDDLE[1]), MouseButton("right", False, 2)]
    assert holding.take(*events) == events


def test_a_selected_body_does_not_keep_a_draggable_one_from_being_dragged(holding: Holding) -> None:
    holding.tool.draggable = frozenset([0])
    holding.take(at(*MIDDLE), *click(1), *click(2))
    holding.take(MouseButton("left", True, 3), at(MIDDLE[0] + 40, MIDDLE[1]))
    pull = holding.report()
    assert (pull.is_held, pull.is_turn) == (True, False)


@pytest.mark.parametrize("camera", [Camera((0, -8, 0), (0, 0, 0)), Camera((3, 2, 1), (3, 2, 0), orthographic=4)])
def test_the_point_under_the_pointer_is_in_the_plane_through_the_target(window: Any, camera: Camera) -> None:
    holding = Holding(window, replace(ONE, camera=camera))
    assert holding.tool.point_at(*MIDDLE, SIZE_PX) == pytest.approx(camera.target, abs=1e-5)
    x, y, z = holding.tool.point_at(0, 0, SIZE_PX) or (0, 0, 0)
    if camera.orthographic:
        assert (x, y, z) == pytest.approx((3 - 2 * SIZE_PX[0] / SIZE_PX[1], 4, 0), abs=1e-4)
    else:
        assert x < 0 < z
        assert y == pytest.approx(0, abs=1e-4)
    holding.take(at(*MIDDLE), *click(1))
    [clicked] = [event for event in holding.told.actions if isinstance(event, UserEvent)]
    assert clicked.pointer_px == MIDDLE
    assert clicked.pointer == pytest.approx(camera.target, abs=1e-5)
