"""The camera of the stage: when it follows the bodies, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.render.scene.staged import GAP_MS, SIZE_PX, START_NS, Show, along_x, middle_px
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.scene.groups import Group
from twixt.ipc.snapshot import new_bodies
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.draw.frame.camera import CameraMatrices, OrbitCamera

FREE = Scene([Sphere(0.5)], ground_z=None, background=(0, 0, 0), look="unlit")
OWN = Camera((0, -30, 0), (3, 0, 0))
FRAME_MS = 25


def going_aside(k: int) -> np.ndarray:
    """A body that moves 10 m aside in half a second, and then stays."""
    bodies = new_bodies(1)
    bodies["position"][0, 0] = 2.0 * min(k, 5)
    return bodies


class Following:
    """A show of a scene without a camera. views: cameras with which frames were drawn."""

    def __init__(
        self, window: OffscreenWindow, scene: Scene = FREE, bodies: Callable[[int], np.ndarray] = going_aside,
        before: Following | None = None, **flags: Any,
    ) -> None:  # fmt: skip
        self.show = Show(window, scene, bodies, follows=True, before=before and before.show, **flags)
        self.at_ms = 0 if before is None else before.at_ms
        self.views: list[CameraMatrices] = []
        renderer = self.show.stage.renderer
        draw = type(renderer).draw

        def recorded(layers: Any, matrices: CameraMatrices, *rest: Any) -> None:
            self.views.append(matrices)
            draw(renderer, layers, matrices, *rest)

        renderer.draw = recorded  # type: ignore[method-assign]

    @property
    def view(self) -> Any:
        return self.show.stage.view

    @property
    def orbit(self) -> OrbitCamera:
        orbit = self.view.orbit
        assert orbit is not None
        return orbit

    def frames(self, count: int) -> list[tuple[object, ...]]:
        """Draws so many frames; the places of the camera."""
        found = []
        for _ in range(count):
            self.show.draw(self.at_ms)
            self.at_ms += FRAME_MS
            found.append(self.view.place)
        return found

    def until_it_moves(self) -> None:
        while not self.view.is_moving:
            self.frames(1)
            assert self.at_ms < 2000

    def until_it_rests(self) -> None:
        begun_ms = self.at_ms
        self.frames(1)
        while self.view.is_moving:
            self.frames(1)
            assert self.at_ms < begun_ms + 3000

    def is_following(self) -> bool:
        """True if the camera follows the bodies when they go elsewhere."""
        place = self.view.place
        published = self.show.bodies
        self.show.bodies = lambda k: _moved(published(k), 500.0)
        self.frames(20)
        return bool(self.view.place != place)

    def pixels(self) -> np.ndarray:
        return self.show.pixels(self.at_ms - FRAME_MS)


def _moved(bodies: np.ndarray, distance_m: float) -> np.ndarray:
    bodies["position"][:, 0] += distance_m
    return bodies


def test_a_scene_without_a_camera_is_followed_and_the_body_is_in_the_picture(window: OffscreenWindow) -> None:
    following = Following(window)
    following.frames(60)
    assert following.orbit.target[0] > 5
    assert abs(middle_px(following.pixels()) - SIZE_PX[0] / 2) < SIZE_PX[0] / 3


@pytest.mark.parametrize(
    ("scene", "flags"),
    [(FREE, {"camera": "still"}), (replace(FREE, camera=OWN), {}), (replace(FREE, camera=Camera(body=0)), {})],
)
def test_a_still_a_programs_and_a_carried_camera_do_not_follow(
    window: OffscreenWindow, scene: Scene, flags: dict
) -> None:
    following = Following(window, scene, **flags)
    places = following.frames(60)
    assert len(set(places)) == 1
    assert not following.view.is_moving
    assert not following.is_following()


def test_frames_need_be_made_while_the_camera_moves_and_not_while_it_rests(window: OffscreenWindow) -> None:
    following = Following(window)
    stage = following.show.stage
    assert not stage.moves_by_itself
    following.until_it_moves()
    assert stage.moves_by_itself
    following.until_it_rests()
    assert not stage.moves_by_itself


def test_at_rest_frames_have_the_very_same_camera(window: OffscreenWindow) -> None:
    following = Following(window)
    following.until_it_moves()
    moving = following.views[-2:]
    following.frames(2)
    assert following.views[-1] is not moving[-1]
    following.until_it_rests()
    following.frames(1)
    rested = following.views[-1]
    following.frames(20)
    assert all(view is rested for view in following.views[-20:])


def test_both_halves_of_a_split_view_have_one_camera(window: OffscreenWindow) -> None:
    following = Following(window, split=(("none", "newest-two"), ("linear", "ahead")))
    following.show.choose(split=True)
    following.until_it_moves()
    following.frames(5)
    assert following.view.is_moving
    left, main = following.views[-2:]
    assert left is main


@pytest.mark.parametrize("group", [False, True])
def test_bodies_that_are_drawn_as_new_as_they_are_stay_in_the_picture(window: OffscreenWindow, group: bool) -> None:
    scene = replace(FREE, groups={"live": Group([0], "latest")}) if group else FREE
    flags = {} if group else {"interpolation": "latest"}
    following = Following(window, scene, along_x(speed=2.0), lead_ms=1000, **flags)
    for _ in range(6):
        following.frames(10)
        assert abs(middle_px(following.pixels()) - SIZE_PX[0] / 2) < 0.45 * SIZE_PX[0]


def test_a_group_that_is_drawn_later_stays_in_the_picture(window: OffscreenWindow) -> None:
    scene = replace(FREE, shapes=[Sphere(0.5)] * 2, groups={"late": Group([1], delay_ms=800)})
    following = Following(window, scene, lambda k: along_x(2, 2.0)(k))
    following.show.stage.main.watch("test", None)
    following.frames(60)
    for _ in range(20):
        following.frames(1)
        view, projection = (matrix.astype(float) for matrix in following.views[-1][:2])
        for place in following.show.stage.main.watched("test").position:
            x, y, _, w = projection @ view @ (*place, 1)
            assert max(abs(x), abs(y)) < w


@pytest.mark.parametrize("name", ["orbit", "pan", "zoom"])
def test_the_users_view_is_kept_until_f(window: OffscreenWindow, name: str) -> None:
    following = Following(window)
    following.until_it_moves()
    act = {"orbit": lambda o: o.orbit(30, 5, 240), "pan": lambda o: o.pan(9, 9, 240), "zoom": lambda o: o.zoom(2)}
    act[name](following.orbit)
    following.view.user_moved()
    assert not following.view.is_moving
    place = following.view.place
    assert set(following.frames(30)) == {place}
    assert not following.is_following()
    angles = following.orbit.azimuth_rad, following.orbit.elevation_rad
    following.view.frame_all()
    following.frames(1)
    assert following.orbit.target[0] == pytest.approx(510, abs=5), "it shows the newest bodies"
    assert (following.orbit.azimuth_rad, following.orbit.elevation_rad) == angles
    following.show.bodies = lambda k: along_x(1, 1.0)(k)
    following.frames(30)
    assert following.is_following()


def test_f_makes_the_camera_of_a_program_follow_and_a_new_one_ends_it(window: OffscreenWindow) -> None:
    following = Following(window, replace(FREE, camera=OWN), along_x(speed=1.0))
    following.frames(5)
    following.view.frame_all()
    following.frames(1)
    assert following.is_following()
    following.show.stage.set_camera(replace(OWN, target=(4, 0, 0)))
    following.frames(1)
    assert not following.is_following()


@pytest.mark.parametrize(("scene", "flags"), [(FREE, {"camera": "still"}), (replace(FREE, camera=Camera(body=0)), {})])
def test_f_makes_neither_a_still_nor_a_carried_camera_follow(
    window: OffscreenWindow, scene: Scene, flags: dict
) -> None:
    following = Following(window, scene, **flags)
    following.frames(5)
    following.view.frame_all()
    following.frames(2)
    assert not following.is_following()


def test_a_published_camera_is_applied_at_once_and_exactly_while_the_camera_moves(window: OffscreenWindow) -> None:
    following = Following(window)
    following.until_it_moves()
    following.frames(3)
    following.show.stage.set_camera(OWN)
    following.frames(1)
    seen = following.view.seen()
    assert seen.eye == pytest.approx(OWN.eye, abs=1e-5)
    assert seen.target == OWN.target
    assert following.views[-1].target == OWN.target
    assert not following.view.is_moving
    assert len(set(following.frames(30))) == 1


def test_no_camera_published_again_and_again_leaves_a_view_that_follows_as_it_is(window: OffscreenWindow) -> None:
    following, alike = Following(window), Following(window)
    for _ in range(60):
        following.show.stage.set_camera(None)
        following.frames(1)
    assert following.view.place == alike.frames(60)[-1]


def test_no_camera_published_again_replaces_the_direction_that_the_user_chose(window: OffscreenWindow) -> None:
    following = Following(window)
    following.frames(5)
    angle_rad = following.orbit.azimuth_rad
    following.orbit.orbit(30, 5, 240)
    following.view.user_moved()
    following.view.frame_all()
    following.frames(5)
    assert following.orbit.azimuth_rad != angle_rad
    following.show.stage.set_camera(None)
    following.frames(1)
    assert following.orbit.azimuth_rad == angle_rad


def test_a_scene_that_takes_its_camera_away_is_followed(window: OffscreenWindow) -> None:
    following = Following(window, replace(FREE, camera=OWN))
    following.frames(5)
    following.show.stage.set_scene(FREE)
    following.frames(2)
    assert following.is_following()


def test_a_new_scene_with_larger_shapes_is_followed_with_their_radii(window: OffscreenWindow) -> None:
    following = Following(window, bodies=lambda _k: new_bodies(1))
    following.frames(10)
    before_m = following.orbit.distance_m
    following.show.stage.set_scene(replace(FREE, shapes=[Sphere(5.0)]))
    following.frames(60)
    assert following.orbit.distance_m > 4 * before_m
    assert following.is_following()


def test_while_a_button_is_held_the_camera_stands(window: OffscreenWindow) -> None:
    following = Following(window, bodies=along_x(speed=2.0))
    following.until_it_moves()
    following.view.is_held = True
    following.frames(1)
    place = following.view.place
    assert not following.show.stage.moves_by_itself
    assert set(following.frames(30)) == {place}
    following.view.is_held = False
    following.frames(2)
    assert following.view.place != place


def test_another_simulation_of_the_same_scene_is_followed_from_the_same_place(window: OffscreenWindow) -> None:
    first = Following(window)
    first.frames(60)
    place = first.view.place
    other = Following(window, before=first)
    assert other.view.place == place
    other.frames(3)
    assert other.is_following()


def test_another_simulation_of_the_same_scene_keeps_the_users_view(window: OffscreenWindow) -> None:
    first = Following(window)
    first.frames(10)
    first.orbit.zoom(2)
    first.view.user_moved()
    other = Following(window, before=first)
    other.frames(3)
    assert not other.is_following()


def test_another_simulation_of_another_scene_has_a_view_of_its_own(window: OffscreenWindow) -> None:
    first = Following(window)
    first.frames(60)
    other = Following(window, replace(FREE, shapes=[Sphere(3.0)]), lambda _k: _moved(new_bodies(1), -70), first)
    other.frames(1)
    assert other.orbit.target[0] == pytest.approx(-70, abs=1)
    assert other.is_following()


def test_in_a_pause_the_camera_ends_its_move(window: OffscreenWindow) -> None:
    following = Following(window, bodies=along_x(speed=1.0))
    following.frames(40)
    following.show.silent_until_ms = 1e9
    following.show.stage.replan(Plan(2, 0, START_NS + following.at_ms * 1_000_000, following.at_ms * 1_000_000, 0.0))
    following.until_it_rests()
    place = following.view.place
    assert set(following.frames(30)) == {place}
    assert abs(middle_px(following.pixels()) - SIZE_PX[0] / 2) < SIZE_PX[0] / 3


def test_the_camera_is_told_the_draw_times_and_the_rate_of_the_world(window: OffscreenWindow) -> None:
    following, told = Following(window, split=(("none", "newest-two"), ("linear", "ahead"))), []
    following.frames(20)
    following.show.choose(split=True)
    view, stage = following.view, following.show.stage
    advance = view.advance
    view.advance = lambda at_ns, drawn, size_px: told.append(drawn) or advance(at_ns, drawn, size_px)
    stage.replan(Plan(2, 0, START_NS + following.at_ms * 1_000_000, following.at_ms * 1_000_000, 0.25))
    following.frames(5)
    drawn = told[-1]
    present_ns = START_NS + (following.at_ms - FRAME_MS) * 1_000_000
    left, main = (picture.clock.advance_to(present_ns) for picture in stage.pictures)
    assert left != main
    assert (drawn.first_ns, drawn.last_ns) == (min(left, main), max(left, main))
    assert (drawn.rate, drawn.gap_s, drawn.newest) == (0.25, GAP_MS / 1000, stage.history.newest)


def test_a_world_that_begins_again_is_followed(window: OffscreenWindow) -> None:
    following = Following(window)
    following.frames(60)
    following.show.reset(following.at_ms)
    following.frames(40)
    middle_px(following.pixels())
    assert following.is_following()


def test_without_a_first_snapshot_the_camera_waits_for_the_first_bodies(window: OffscreenWindow) -> None:
    def later(k: int) -> np.ndarray:
        bodies = new_bodies(1)
        bodies["position"][0, 0] = 50
        return bodies if k >= 5 else new_bodies(0)

    following = Following(window, replace(FREE, shapes=[]), later)
    following.frames(5 * GAP_MS // FRAME_MS + 8)
    assert following.orbit.target[0] == pytest.approx(50, abs=1)
