"""The stage's pictures, from snapshots added by hand and drawn by OpenGL."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.render.scene.staged import MS, ONE, SIZE_PX, START_NS, Show, along_x, middle_px
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.scene.groups import Group
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.scene.stage import Stage
from twixt.render.scene.views import side_by_side


def test_bodies_are_drawn_between_two_snapshots(window):
    shown = Show(window, ONE, along_x(speed=2.0)).draw(150)
    assert (shown.main.pair.previous.head.tick, shown.main.pair.next.head.tick) == (1, 2)
    assert shown.main.draw_time_ns == 150 * MS
    assert shown.due_ns == START_NS + 150 * MS
    assert shown.group_due_ns == {}


@pytest.mark.parametrize(
    ("named", "flags", "group"),
    [
        ("--interpolation", {"interpolation": "nowhere:Mine"}, None),
        ("--split", {"split": (("nowhere:Mine", ""), ("auto", ""))}, None),
        ("--split", {"split": (("none", ""), ("nowhere:Mine", ""))}, None),
        ('group "hand"', {}, "nowhere:Mine"),
    ],
)
def test_a_method_that_is_not_there_is_refused_under_the_name_of_who_asked_for_it(window, named, flags, group):
    groups = {"hand": Group([0], interpolation=group)} if group else {}
    scene = Scene([Sphere(0.5)] * 2, groups=groups)
    halves = flags.get("split")

    def show():
        shown = Show(window, scene, lambda k: new_bodies(2), **flags)
        if halves:
            shown.choose(split=True, interpolation=halves[1][0])
        shown.draw(150)

    with pytest.raises(TwixtError, match=f'^{named}: no module named "nowhere"'):
        show()


def test_before_anything_came_nothing_is_shown(window):
    stage = Stage(Config(), SceneRenderer(window.context, ONE, 16), ONE, lambda: new_bodies(1))
    window.screen.use()
    assert stage.draw(START_NS, SIZE_PX) is None


@pytest.mark.parametrize("method", ["catmull", "chase", "extrapolate", "kalman"])
def test_a_method_of_numpy_is_drawn_where_the_shaders_draw_the_same_straight_way(window, method):
    straight = Show(window, ONE, along_x(speed=0.5))
    numpy = Show(window, ONE, along_x(speed=0.5), interpolation=method)
    for at_ms in range(0, 700, 20):
        numpy.draw(at_ms)
    assert numpy.stage.needs_copies
    assert middle_px(numpy.pixels(700)) == pytest.approx(middle_px(straight.pixels(700)), abs=3.0)


@pytest.mark.parametrize("to", ["none", "hermite", "auto", "latest"])
def test_a_method_of_the_shaders_is_drawn_in_the_first_frame_after_it_is_chosen(window, to):
    show = Show(window, ONE, along_x(speed=0.4, velocity=True))
    begun_so = Show(window, ONE, along_x(speed=0.4, velocity=True), interpolation=to)
    for at_ms in range(0, 700, 10):
        show.draw(at_ms)
        begun_so.draw(at_ms)
    show.choose(interpolation=to)
    assert np.array_equal(show.pixels(730), begun_so.pixels(730))
    assert show.draw(730).main.method == to


@pytest.mark.parametrize("to", ["catmull", "kalman", "chase"])
def test_a_method_of_numpy_is_drawn_from_when_it_knows_enough_and_nobody_jumps(window, to):
    show = Show(window, ONE, along_x(speed=1.0, velocity=True))
    show.stage.main.watch("test", None)
    places, methods = [], []
    for at_ms in range(0, 1500, 10):
        if at_ms == 700:
            show.choose(interpolation=to)
        methods.append(show.draw(at_ms).main.method)
        poses = show.stage.main.watched("test")
        if at_ms >= 100:
            places.append(float(poses.position[0, 0]))
    assert np.diff(places).max() <= 2.5 * 0.1
    assert set(methods[:70]) == {"linear"}
    assert set(methods[100:]) == {to}, "at most three snapshots later"


@pytest.mark.parametrize("chosen", ["none", "hermite", "catmull"])
def test_from_a_method_of_numpy_another_one_is_drawn_at_once(window, chosen):
    show = Show(window, ONE, along_x(speed=1.0, velocity=True), interpolation="kalman")
    show.stage.main.watch("test", None)
    for at_ms in range(0, 750, 10):
        show.draw(at_ms)
    show.choose(interpolation=chosen)
    assert show.draw(750).main.method == chosen
    assert show.stage.main.watched("test").position[0, 0] == pytest.approx(7.0 if chosen == "none" else 7.5, abs=0.01)


def test_a_group_may_show_the_newest_state_while_the_others_are_interpolated(window):
    scene = Scene([Sphere(0.5)] * 2, groups={"live": Group([1], "latest")}, camera=ONE.camera)
    shown = Show(window, scene, along_x(2)).draw(250)
    main, live = shown.groups
    assert main.draw_time_ns == 250 * MS
    assert live.group == "live"
    assert live.draw_time_ns == 400 * MS
    assert shown.group_due_ns == {"live": START_NS + 400 * MS}


def test_a_group_may_be_drawn_later_than_the_others(window):
    scene = Scene([Sphere(0.5)] * 2, groups={"late": Group([1], delay_ms=120)}, camera=ONE.camera)
    show = Show(window, scene, along_x(2))
    shown = [show.draw(at_ms) for at_ms in (200, 300, 400, 450)][-1]
    assert shown.groups[1].draw_time_ns == 330 * MS
    assert (shown.groups[1].pair.previous.head.tick, shown.groups[1].pair.next.head.tick) == (3, 4)
    assert shown.group_due_ns["late"] == START_NS + 330 * MS


def test_a_group_by_a_method_of_numpy_does_not_touch_the_others(window):
    scene = Scene([Sphere(0.5)] * 3, groups={"curved": Group([1, 2], "catmull")}, camera=ONE.camera)
    show = Show(window, scene, along_x(3))
    for at_ms in range(0, 600, 50):
        shown = show.draw(at_ms)
    assert shown.main.layer.next_slot is not None, "on the GPU, from two snapshots"
    assert shown.groups[1].layer.next_slot is None, "poses made by numpy"


def test_children_keep_their_distance_from_a_turning_parent(window):
    def state(k: int) -> np.ndarray:
        bodies = new_bodies(2)
        half = np.radians(60) * k / 2
        bodies["orientation"][0] = [0, 0, np.sin(half), np.cos(half)]
        bodies["position"][1] = [3, 0, 0]  # in the parent's frame
        return bodies

    show = Show(window, Scene([Sphere(0.5)] * 2, parents={1: 0}, camera=ONE.camera), state)
    show.stage.main.watch("test", None)
    for at_ms in range(0, 500, 10):
        shown = show.draw(at_ms)
        poses = show.stage.main.watched("test")
        if len(poses):
            assert np.linalg.norm(poses.position[1]) == pytest.approx(3.0, abs=1e-5)
    assert shown.groups[1].group == "children"
    assert shown.group_due_ns == {}, "children show the same instant"


def test_children_are_never_drawn_where_their_records_alone_would_have_them(window):
    scene = Scene([Sphere(0.5)] * 2, parents={1: 0}, camera=ONE.camera)
    show = Show(window, scene, along_x(2))
    slots = show.stage.history.slots
    for at_ms in range(0, 500, 10):
        if at_ms == 250:
            show.stage.set_scene(Scene([Sphere(0.4)] * 2, parents={1: 0}, camera=ONE.camera))
        assert show.draw(at_ms).groups[1].layer.previous_slot >= slots, at_ms


def test_two_halves_show_two_methods_of_the_same_instant(window):
    show = Show(window, ONE, along_x(speed=1.0))
    show.choose(split=True)
    pixels = show.pixels(150)
    left, right = pixels[:, : SIZE_PX[0] // 2], pixels[:, SIZE_PX[0] // 2 :]
    assert middle_px(left) < middle_px(right) - 3, "the left half holds the snapshot before"
    assert show.stage.split_labels == ("none, clock ahead", "linear, clock ahead")
    left_clock, main_clock = (picture.clock for picture in show.stage.pictures)
    assert left_clock.state == main_clock.state
    show.choose(split=False)
    assert show.stage.split_labels is None
    assert middle_px(show.pixels(150)) > SIZE_PX[0] // 2


def test_two_halves_may_have_two_clocks_that_go_on_from_what_is_drawn(window):
    show = Show(window, ONE, along_x(), split=(("", "newest-two"), ("", "ahead")))
    for at_ms in (0, 100, 200, 300):
        show.draw(at_ms)
    show.choose(split=True)
    for at_ms in range(310, 900, 10):
        show.draw(at_ms)
    left, main = (picture.clock for picture in show.stage.pictures)
    assert (left.mode, main.mode) == ("newest-two", "ahead")
    assert left.state.offset_ns != main.state.offset_ns


def test_trails_are_dots_where_bodies_were_drawn(window):
    show = Show(window, ONE, along_x(speed=0.4))
    show.choose(trails=True)
    for at_ms in range(0, 600, 20):
        pixels = show.pixels(at_ms)
    lit = np.nonzero(pixels.max(axis=(0, 2)) > 60)[0]
    body_alone = Show(window, ONE, along_x(speed=0.4)).pixels(580)
    alone = np.nonzero(body_alone.max(axis=(0, 2)) > 60)[0]
    assert lit[0] < alone[0] - 10, "dots behind the body"
    show.choose(trails=False)
    assert np.array_equal(show.pixels(580), body_alone)


@pytest.mark.parametrize(("trails", "oldest_m"), [(None, 2.0), (True, 2.0), (2.0, 1.0), ("all", 0.1)])
def test_trails_are_as_long_as_the_flag_says_whenever_they_are_switched_on(window, trails, oldest_m):
    show = Show(window, ONE, along_x(speed=0.1), trails=trails)
    for on in (False, True):
        show.choose(trails=on)
    for at_ms in range(0, 3000, 20):
        show.draw(at_ms)
    dots = show.stage._trails.of_picture["main"].dots().positions[:, 0]
    assert (dots.min(), dots.max()) == pytest.approx((oldest_m, 3.0), abs=0.15)


def test_the_trail_of_a_body_that_fades_fades_with_it(window):
    def state(k: int) -> np.ndarray:
        bodies = along_x(speed=0.4)(k)
        bodies["color"][:, 3] = 255 if k < 8 else 60 if k < 12 else 0
        return bodies

    show = Show(window, ONE, state, trails="all")
    show.choose(trails=True)
    alphas = []
    for at_ms in range(0, 1500, 20):
        pixels = show.pixels(at_ms)
        alphas.append(set(show.stage._trails.of_picture["main"].dots().colors[:, 3].tolist()))
    assert alphas[30] == {255}
    assert alphas[50] == {60}
    assert alphas[-1] == set(), "a body that is not drawn has no dots"
    assert not pixels.any()


def test_a_camera_on_a_body_goes_where_the_body_is_drawn(window):
    scene = Scene([Sphere(0.5)] * 2, ground_z=None, camera=Camera((0, -10, 0), (0, 0, 0), body=0), background=(0, 0, 0),
                  look="unlit")  # fmt: skip
    show = Show(window, scene, along_x(2, speed=3.0))
    for at_ms in range(0, 500, 20):
        pixels = show.pixels(at_ms)
    assert middle_px(pixels) == pytest.approx(SIZE_PX[0] / 2, abs=1.5)


def test_a_scene_published_anew_divides_the_bodies_anew(window):
    show = Show(window, Scene([Sphere(0.5)] * 2, camera=ONE.camera), along_x(2))
    assert len(show.draw(150).groups) == 1
    show.stage.set_scene(Scene([Sphere(0.5)] * 2, groups={"live": Group([0], "none")}, camera=ONE.camera))
    assert [group.group for group in show.draw(200).groups] == [None, "live"]


def test_a_camera_that_is_published_anew_is_obeyed_and_the_same_one_leaves_the_picture_as_it_was_turned(window):
    show = Show(window, ONE, lambda k: along_x()(0))
    assert middle_px(show.pixels(150)) == pytest.approx(SIZE_PX[0] / 2, abs=1)
    show.stage.view.orbit.orbit(300, 0, SIZE_PX[1])
    turned = show.stage.view.orbit.eye
    show.stage.set_scene(replace(ONE, shapes=[Sphere(0.4)]))
    show.draw(200)
    assert show.stage.view.orbit.eye == turned
    show.stage.set_scene(replace(ONE, camera=Camera((0, -10, 0), (2, 0, 0))))
    assert middle_px(show.pixels(250)) < SIZE_PX[0] / 2 - 20
    assert show.stage.view.orbit.eye == pytest.approx((0, -10, 0))
    show.stage.set_scene(replace(ONE, camera=None))  # the view that shows all bodies
    assert middle_px(show.pixels(300)) == pytest.approx(SIZE_PX[0] / 2, abs=1)
    assert show.stage.view.orbit.eye != pytest.approx((0, -10, 0))


def test_a_camera_that_is_published_by_itself_is_obeyed_also_if_it_is_the_one_before(window):
    show = Show(window, replace(ONE, shapes=[Sphere(0.5)] * 2), along_x(2))
    show.draw(150)
    for camera in (ONE.camera, Camera((0, -10, 1), (0, 0, 1), body=1), Camera((0, -10, 1), (0, 0, 1), body=1)):
        show.stage.view.orbit.orbit(300, 0, SIZE_PX[1])
        show.stage.set_camera(camera)
        show.draw(200)
        assert show.stage.view.orbit.eye == pytest.approx(camera.eye)
        assert show.stage.main.watching("camera") == (None if camera.body is None else [camera.body])


@pytest.mark.parametrize("turns", [True, False])
def test_a_camera_on_a_body_turns_with_it_or_only_moves_with_it(window, turns):
    def turned(k):
        bodies = along_x(2)(k)
        bodies["orientation"] = 0, 0, math.sqrt(0.5), math.sqrt(0.5)  # a quarter turn: x becomes y
        return bodies

    show = Show(
        window,
        replace(ONE, shapes=[Sphere(0.5)] * 2, camera=Camera((0, -10, 0), body=0, rotates_with_body=turns)),
        turned,
    )
    show.draw(150)
    seen = show.stage.view.matrices(show.stage.main, SIZE_PX, SIZE_PX)
    at = show.stage.main.watched("camera").position[0]
    assert np.subtract(seen.eye, at) == pytest.approx((10, 0, 0) if turns else (0, -10, 0), abs=1e-5)


def test_a_camera_on_a_body_rests_until_the_picture_would_shift_and_then_is_where_the_body_is(window):
    camera = Camera((0, -10, 0), (0, 0, 0), body=0)
    px_m = 2 * 10 * math.tan(math.radians(camera.fov_y_deg / 2)) / SIZE_PX[1]  # width of a pixel at the body
    show = Show(window, replace(ONE, shapes=[Sphere(0.5)] * 2, camera=camera), along_x(2, speed=0.5 * px_m))

    def seen(at_ms):  # the body moves by 0.005 px a millisecond
        show.draw(at_ms)
        return show.stage.view.matrices(show.stage.main, SIZE_PX, SIZE_PX)

    off_px, moves, before = [], 0, seen(100)
    for at_ms in range(102, 400, 2):
        now = seen(at_ms)
        assert (now is before) == np.array_equal(now.view, before.view)
        moves += now is not before
        off_px.append(abs(now.eye[0] - show.stage.main.watched("camera").position[0][0]) / px_m)
        before = now
    assert 10 <= moves <= 16  # of 149: each goes 0.1 px, and the body moves by 1.5
    assert 0.08 < max(off_px) < 0.11
    assert min(off_px) < 1e-3
    show.stage.view.orbit.orbit(30, 0, SIZE_PX[1])
    assert seen(400) is not before, "a camera that the user turns does not rest"


def test_a_camera_on_a_body_that_moves_faster_is_where_the_body_is_in_each_frame(window):
    show = Show(window, replace(ONE, camera=Camera((0, -10, 0), (0, 0, 0), body=0)), along_x(speed=1.0))
    for at_ms in range(100, 300, 16):
        show.draw(at_ms)
        seen = show.stage.view.matrices(show.stage.main, SIZE_PX, SIZE_PX)
        assert seen.eye[0] == pytest.approx(show.stage.main.watched("camera").position[0][0], abs=1e-6)


def test_a_camera_that_is_published_for_another_body_is_carried_by_that_one(window):
    on = [replace(ONE, shapes=[Sphere(0.5)] * 2, camera=Camera((0, -10, 0), (0, 0, 0), body=body)) for body in (0, 1)]
    state = along_x(2)(0)
    state["position"] = [(0, 0, 0), (50, 0, 0)]
    show = Show(window, on[0], lambda k: state)
    for scene in (*on, on[0]):
        show.stage.set_scene(scene)
        for at_ms in range(show.published * 100 + 150, show.published * 100 + 450, 50):
            pixels = show.pixels(at_ms)
        assert middle_px(pixels) == pytest.approx(SIZE_PX[0] / 2, abs=1.5)


def test_a_body_fades_as_its_colours_alpha_does(window):
    def state(k):
        bodies = along_x(1)(0)
        bodies["color"][0, 3] = (255, 255, 128, 0)[min(k, 3)]
        return bodies

    show = Show(window, replace(ONE, shapes=[Sphere(0.5)]), state)
    seen = [int(np.abs(show.pixels(at).astype(int) - show.pixels(at)[0, 0]).max()) for at in (100, 250, 450)]
    assert seen[0] > seen[1] > seen[2]


def test_bodies_that_come_later_join_their_group(window):
    counts = [1, 1, 1, 3, 3, 3, 3, 3, 3]
    scene = Scene([Sphere(0.5)], groups={"late comers": Group([2], "latest")}, camera=ONE.camera)
    show = Show(window, scene, lambda k: along_x(counts[k])(k))
    show.draw(50)
    assert len(show.draw(450).groups) == 2


def test_two_halves_are_of_one_size_with_a_line_between_them():
    assert side_by_side((801, 600), 2) == [(0, 0, 399, 600), (401, 0, 399, 600)]
    assert side_by_side((800, 600), 1) == [(0, 0, 800, 600)]
    assert all(width >= 1 for _, _, width, _ in side_by_side((1, 1), 2))


def test_frame_all_shows_the_bodies_where_they_are_now_from_the_direction_that_the_user_turned_to(window):
    show = Show(window, ONE, lambda k: along_x()(0))
    show.draw(150)
    show.stage.view.orbit.orbit(40, 0, SIZE_PX[1])
    show.stage.view.orbit.pan(4000, 0, SIZE_PX[1])
    assert not show.pixels(200).any()
    turned_rad = show.stage.view.orbit.azimuth_rad
    show.stage.view.frame_all()
    pixels = show.pixels(250)
    assert middle_px(pixels) == pytest.approx(SIZE_PX[0] / 2, abs=1)
    assert (pixels.max(axis=(1, 2)) > 127).sum() == pytest.approx(2 / 3 * SIZE_PX[1], abs=4)
    assert show.stage.view.orbit.azimuth_rad == turned_rad
