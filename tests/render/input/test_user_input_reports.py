"""What a viewer reports to the program: keys with the mark of its own, and the view when it has changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from twixt.ipc.interaction.events import Look, UserAction, UserEvent
from twixt.ipc.scene import Camera
from twixt.render.display.input import KeyAction, MouseMove, PointerLeft
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.input.user_input import UserReports

SIZE_PX = (80, 60)
LATER_NS = 20_000_000


class Told:
    """The end of a link that keeps what it is told."""

    def __init__(self) -> None:
        self.actions: list[UserAction] = []
        self.is_full = False
        self.received = SimpleNamespace(camera_version=1)

    def send_action(self, action: UserAction) -> bool:
        if not self.is_full:
            self.actions.append(action)
        return not self.is_full


class Seen:
    """A stage's camera."""

    def __init__(self) -> None:
        self.orbit: Any = OrbitCamera()

    @property
    def place(self) -> tuple[object, ...]:
        return (self.orbit.azimuth_rad,)

    def seen(self) -> Camera:
        return self.orbit.as_camera()


@pytest.fixture
def told() -> Told:
    return Told()


def nowhere(_x_px: float, _y_px: float) -> None:
    """No point in the world, as before the first picture."""


def test_a_key_that_the_viewer_has_used_is_its_own_until_it_is_released(told: Told) -> None:
    reports = UserReports(told)  # type: ignore[arg-type]
    events = [KeyAction(65, "press", 0, 1), KeyAction(70, "press", 1, 2), KeyAction(70, "repeat", 1, 3)]
    reports.keys(events, {2}, 9, nowhere)
    reports.keys([KeyAction(70, "release", 0, 4), KeyAction(65, "release", 0, 5)], set(), 9, nowhere)
    reports.keys([KeyAction(70, "press", 0, 6)], set(), 9, nowhere)
    events_told = [action for action in told.actions if isinstance(action, UserEvent)]
    assert [(event.key, event.action, event.is_viewers) for event in events_told] == [
        (65, "press", False), (70, "press", True), (70, "repeat", True),
        (70, "release", True), (65, "release", False), (70, "press", False),
    ]  # fmt: skip
    assert {event.draw_time_ns for event in events_told} == {9}


def test_a_key_is_reported_with_its_name_and_the_place_of_the_pointer(told: Told) -> None:
    reports = UserReports(told)  # type: ignore[arg-type]

    def point_at(x_px: float, y_px: float) -> tuple[float, float, float]:
        return x_px / 10, y_px / 10, 0.0

    reports.keys(
        [KeyAction(89, "press", 0, 1, "z"), MouseMove(20, 30, 2), KeyAction(263, "press", 0, 3)], set(), 9, point_at
    )
    after = UserReports(told, reports)  # type: ignore[arg-type]
    after.keys([KeyAction(263, "release", 0, 4)], set(), 9, point_at)
    after.keys([PointerLeft(5), KeyAction(89, "release", 0, 6, "z")], set(), 9, point_at)
    events = [action for action in told.actions if isinstance(action, UserEvent)]
    assert [(event.key_name, event.pointer_px, event.pointer) for event in events] == [
        ("z", None, None), ("left", (20, 30), (2, 3, 0)), ("left", (20, 30), (2, 3, 0)), ("z", None, None),
    ]  # fmt: skip


def test_a_view_is_reported_when_it_has_changed_and_not_too_often(told: Told) -> None:
    reports, camera = UserReports(told), Seen()  # type: ignore[arg-type]
    for now_ns in (LATER_NS, 2 * LATER_NS):
        reports.look(camera, SIZE_PX, now_ns)  # type: ignore[arg-type]
    assert len(told.actions) == 1
    camera.orbit.orbit(10, 0, 60)
    reports.camera_moved()
    reports.look(camera, SIZE_PX, LATER_NS + 1)  # type: ignore[arg-type]
    assert len(told.actions) == 1
    reports.look(camera, SIZE_PX, 2 * LATER_NS)  # type: ignore[arg-type]
    looks = [action for action in told.actions if isinstance(action, Look)]
    assert [look.is_moved for look in looks] == [False, True]
    assert looks[-1].camera == camera.seen()
    told.received.camera_version = 2  # the program has set one
    reports.look(camera, SIZE_PX, 4 * LATER_NS)  # type: ignore[arg-type]
    last = told.actions[-1]
    assert isinstance(last, Look)
    assert (last.camera_version, last.is_moved) == (2, False)


def test_a_view_that_could_not_be_sent_is_sent_later(told: Told) -> None:
    reports, camera = UserReports(told), Seen()  # type: ignore[arg-type]
    told.is_full = True
    reports.look(camera, SIZE_PX, LATER_NS)  # type: ignore[arg-type]
    told.is_full = False
    reports.look(camera, SIZE_PX, LATER_NS + 1)  # type: ignore[arg-type]
    assert len(told.actions) == 1


@pytest.mark.parametrize("orthographic", [None, 6.0])
def test_a_view_is_the_camera_that_gives_it(orthographic: float | None) -> None:
    orbit = OrbitCamera.from_camera(Camera((3, 2, 1), (0.5, 0, 0), 50, orthographic_height=orthographic))
    again = OrbitCamera.from_camera(orbit.as_camera())
    assert again.target == pytest.approx(orbit.target)
    assert again.eye == pytest.approx(orbit.eye)
    assert again.fov_y_deg == pytest.approx(orbit.fov_y_deg)
    assert again.orthographic == orbit.orthographic
