"""No jumps after changes of method, clock or scene; and the reported draw times and poses are those drawn."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.scene.staged import GAP_MS, MS, ONE, SIZE_PX, START_NS, Show, along_x, middle_px, round_and_round
from twixt.ipc.scene import Box, Camera, Scene, Sphere
from twixt.ipc.scene.groups import Group

SPHERES = [Sphere(0.2)] * 3


def scene(**more) -> Scene:
    shapes = more.pop("shapes", SPHERES)
    more = {"camera": ONE.camera} | more
    return Scene(shapes, ground_z=None, background=(0, 0, 0), look="unlit", **more)


def largest_step(places: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(places, axis=0), axis=2).max())


@pytest.mark.parametrize(("method", "of_group"), [("linear", "extrapolate"), ("extrapolate", "catmull")])
def test_a_group_that_reaches_less_or_further_makes_nobody_jump(window, method, of_group):
    groups = {"other": Group([1], of_group)}
    show = Show(window, scene(groups=groups), round_and_round(3, 0.2), 0, clock="auto", interpolation=method)
    before = show.places(range(0, 1200, 10))[80:]
    show.silent_until_ms = 1500
    after = show.places(range(1200, 2000, 10))
    assert largest_step(np.concatenate((before, after))) < 3 * 0.02


def test_one_half_does_not_make_the_other_jump(window):
    show = Show(window, scene(), round_and_round(3, 0.2), 0, clock="auto", split=(("extrapolate", ""), ("", "")))
    show.choose(split=True)
    places = [show.places(range(0, 1200, 10))[80:]]
    show.silent_until_ms = 1500
    places.append(show.places(range(1200, 2000, 10)))
    assert largest_step(np.concatenate(places)) < 3 * 0.02
    assert show.stage.left.reach_ns > 0


@pytest.mark.parametrize("method", ["auto", "kalman", "chase"])
def test_a_scene_published_again_changes_no_pixel(window, method):
    groups = {"other": Group([1], "catmull")}
    shows = [Show(window, scene(groups=groups), round_and_round(3), interpolation=method) for _ in range(2)]
    for show in shows:
        show.choose(trails=True)
    for at_ms in range(0, 1200, 20):
        if at_ms % 100 == 40:
            shows[0].stage.set_scene(scene(groups=groups))
        for show in shows:
            show.draw(at_ms)
    again, alone = (show.pixels(1200) for show in shows)
    assert alone.any()
    assert np.array_equal(again, alone)


def test_from_the_shaders_to_numpy_a_curve_goes_on(window):
    show = Show(window, scene(), round_and_round(3, 0.7), 2 * GAP_MS, interpolation="auto")
    posed = []
    upload = show.stage.renderer.upload_records
    for at_ms in range(0, 1300, 10):
        if at_ms == 700:
            show.choose(interpolation="catmull")
            show.stage.renderer.upload_records = lambda slot, records, *columns: (
                posed.append(records["position"]) if slot >= show.stage.history.slots else None,
                upload(slot, records, *columns),
            )
        method = show.draw(at_ms).main.method
    assert method == "catmull"
    radius = np.linalg.norm(np.array(posed), axis=2)
    assert radius == pytest.approx(1.0, abs=0.01), "both draw the circle; straight ways are 6 % inside"


@pytest.mark.parametrize("method", ["catmull", "chase", "kalman"])
def test_bodies_keep_their_stretch_by_every_method(window, method):
    stretched = {"scale3": np.array([[4.0, 1.0, 0.5]] * 3, np.float32)}
    flags = dict(columns=lambda _k: stretched)
    boxes = scene(shapes=[Box((0.4, 0.4, 0.4))] * 3, groups={"other": Group([1], method)})
    posed = Show(window, boxes, along_x(3, speed=0.0), interpolation=method, **flags)
    shaded = Show(window, scene(shapes=boxes.shapes), along_x(3, speed=0.0), **flags)
    for at_ms in range(0, 500, 50):
        posed.draw(at_ms)
    assert np.abs(posed.pixels(500).astype(int) - shaded.pixels(500)).mean() < 0.5


def test_a_camera_on_a_body_stays_where_it_was_while_the_body_has_no_place(window):
    def state(k: int) -> np.ndarray:
        bodies = along_x(2, speed=1.0)(k)
        if k >= 5:
            bodies["position"][0] = np.nan
        return bodies

    on_body = scene(shapes=SPHERES[:2], camera=Camera((0, -10, 0), (0, 0, 0), body=0))
    show = Show(window, on_body, state)
    for at_ms in range(0, 400, 10):
        show.draw(at_ms)
    assert middle_px(show.pixels(400)) == pytest.approx(SIZE_PX[0] / 2, abs=1.5)
    right_px = middle_px(show.pixels(550)) - SIZE_PX[0] / 2
    assert 30 < right_px < 60, "the other body has gone on by 1.5 m"


def test_trails_go_on_when_the_view_is_split_and_made_one_again(window):
    show = Show(window, scene(), round_and_round(3))
    show.choose(trails=True)
    for at_ms in range(0, 800, 20):
        show.draw(at_ms)
    dots = len(show.stage._trails.of_picture["main"].dots().positions)
    show.choose(split=True)
    show.draw(800)
    show.choose(split=False)
    show.draw(820)
    assert len(show.stage._trails.of_picture["main"].dots().positions) >= dots > 50


@pytest.mark.parametrize("method", ["chase", "kalman"])
def test_who_begins_to_watch_late_sees_what_is_drawn(window, method):
    show = Show(window, scene(), round_and_round(3), interpolation=method)
    for at_ms in range(0, 500, 20):
        show.draw(at_ms)
    uploaded = []
    original = show.stage.renderer.upload_records
    show.stage.renderer.upload_records = lambda slot, records, *columns: (
        uploaded.append(records),
        original(slot, records, *columns),
    )
    places = show.places([510])
    drawn = uploaded[-1]["position"] + uploaded[-1]["velocity"].astype(np.float64)  # the rest beyond float32
    assert places[0] == pytest.approx(drawn, abs=1e-12)


def test_columns_are_those_of_the_instant_that_each_group_shows(window):
    groups = {"late": Group([1], delay_ms=50), "live": Group([2], "latest")}
    columns = lambda k: {"heat": np.full(3, k, np.float32)}  # noqa: E731
    show = Show(window, scene(groups=groups), along_x(3), columns=columns)
    show.places(range(0, 400, 50))
    show.draw(380)
    newest = show.published
    assert show.stage.main.watched("test").columns["heat"] == pytest.approx([3.8, 3.3, newest])


@pytest.mark.parametrize(("method", "goes_on_ms"), [("extrapolate", 250), ("chase", 100)])
def test_a_picture_that_has_run_out_of_predictions_is_said_to_stand(window, method, goes_on_ms):
    show = Show(window, scene(), round_and_round(3), 0, clock="auto", interpolation=method)
    for at_ms in range(0, 1000, 10):
        show.draw(at_ms)
    show.silent_until_ms = 1e9
    shown = [show.draw(at_ms).main for at_ms in range(1000, 1600, 10)]
    assert shown[-1].draw_time_ns <= (show.published * GAP_MS + goes_on_ms) * MS
    assert shown[-1].draw_time_ns == shown[-2].draw_time_ns


@pytest.mark.parametrize("method", ["none", "latest"])
def test_children_have_no_age_of_their_own_whatever_the_method(window, method):
    show = Show(window, scene(parents={1: 0}), along_x(3), interpolation=method)
    for at_ms in range(0, 400, 30):
        shown = show.draw(at_ms)
    assert shown.group_due_ns == {}
    assert shown.due_ns != START_NS + at_ms * MS


def test_bodies_that_are_spawned_later_leave_trails_too_and_the_others_keep_theirs(window):
    def state(k: int):
        return along_x(2 if k < 10 else 4)(k)

    show = Show(window, ONE, state)
    show.choose(trails=True)
    for at_ms in range(0, 900, 20):
        show.draw(at_ms)
    assert set(np.rint(show.stage._trails.of_picture["main"].dots().positions[:, 2])) == {0, 1}
    before = len(show.stage._trails.of_picture["main"].dots().positions)
    for at_ms in range(900, 1400, 20):
        show.draw(at_ms)
    places = np.rint(show.stage._trails.of_picture["main"].dots().positions[:, 2])
    assert set(places) == {0, 1, 2, 3}
    assert (places < 2).sum() > before


def test_trails_have_the_colours_that_bodies_are_drawn_in_and_end_with_their_world(window):
    def state(k: int) -> np.ndarray:
        bodies = round_and_round(3)(k)
        bodies["color"][0] = (255, 0, 0, 255)
        return bodies

    shapes = [Sphere(0.2), Sphere(0.2, color=(0.0, 1.0, 0.0)), Sphere(0.2)]
    show = Show(window, scene(shapes=shapes), state)
    show.choose(trails=True)
    for at_ms in range(0, 800, 20):
        show.draw(at_ms)
    trails = show.stage._trails.of_picture["main"]
    red, green, _ = trails.colors
    assert green.tolist() == [0, 255, 0, 255]
    assert red.tolist() == [red[0], 0, 0, 255]
    assert red[0] > 0
    assert len(trails.dots().positions) > 50
    show.reset(800)
    show.draw(820)
    assert len(trails.dots().positions) <= 3


@pytest.mark.parametrize("to", ["catmull", "auto", "linear"])
def test_the_time_that_is_logged_is_that_of_the_method_drawn(window, to):
    show = Show(window, scene(), round_and_round(3), 0, interpolation="latest")
    for at_ms in range(0, 1500, 10):
        if at_ms == 700:
            show.choose(interpolation=to)
        main = show.draw(at_ms).main
        newest_ns = show.stage.history.newest.head.sim_time_ns
        assert main.draw_time_ns == (newest_ns if main.method == "latest" else at_ms * MS)
    assert main.method == to


@pytest.mark.parametrize("first", ["kalman", "linear"])
def test_a_method_is_drawn_even_further_behind_than_it_keeps_snapshots(window, monkeypatch, first):
    monkeypatch.setattr("twixt.render.interpolation.method.KEPT_MOST", 5)
    show = Show(window, scene(), round_and_round(3), 0, clock="buffered", buffer_ms=1000.0, interpolation=first)
    for at_ms in range(0, 3000, 20):
        if at_ms == 1500:
            show.choose(interpolation="kalman")
        main = show.draw(at_ms).main
    assert main.method == "kalman"
