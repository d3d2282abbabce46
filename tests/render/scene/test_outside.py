"""Bodies outside the picture: which ones, how many, and when the hint about them is shown."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.scene.staged import GAP_MS, MS, ONE, SIZE_PX, Show, along_x
from twixt.ipc.ring.mapped_segment import SampledBodies
from twixt.ipc.scene import Box, Camera, Mesh, Scene, Sphere
from twixt.ipc.snapshot import VISIBLE, Head, new_bodies
from twixt.render.draw.frame.camera import OrbitCamera, carried
from twixt.render.interpolation.poses import no_poses
from twixt.render.scene.camera import StageCamera
from twixt.render.scene.followed_view import DrawnTimes, ShapeFacts
from twixt.render.scene.outside import (
    DELAY_NS,
    MOST_BODIES,
    SAMPLE_NS,
    OutsideBodies,
    OutsideCount,
    PictureView,
    count_outside,
    is_outside,
)

# The eye is 10 m before the origin, and sees as far to each side as ahead: 10 m at the origin.
CAMERA = Camera((0, -10, 0), (0, 0, 0), fov_y_deg=90)
SCENE = Scene([Sphere(1.0)] * 5, camera=CAMERA)


def seen_by(camera=CAMERA, size_px=(240, 240), window_px=None, left_px=0):
    orbit, viewport = OrbitCamera.from_camera(camera), (left_px, 0, *size_px)
    return PictureView(orbit.matrices(size_px, window_px), viewport, orbit.around_axis(viewport, window_px))


def bodies_at(*places):
    bodies = new_bodies(len(places))
    bodies["position"] = places
    return bodies


def sampler(bodies, scale3=None):
    """A function that returns some of these bodies, as `Link.sampled_bodies`."""

    def sample(most):
        stride = max(1, -(-len(bodies) // most))
        part = None if scale3 is None else scale3[::stride]
        return SampledBodies(Head(count=len(bodies)), stride, bodies[::stride].copy(), part)

    return sample


def counted(bodies, scene=SCENE, most=MOST_BODIES, view=None, scale3=None):
    return count_outside(scene, ShapeFacts(scene).placed(sampler(bodies, scale3), most), view or seen_by())


def are_outside(view, *balls):
    x, y, z, radius = np.array(balls, np.float32).T
    return is_outside(np.array([x, y, z]), radius, view).tolist()


def test_a_ball_is_outside_only_if_it_is_wholly_beyond_a_side_or_behind_the_eye():
    view = seen_by()
    # Balls at the origin's depth leave the picture by their radius times the square root of 2, as its sides slope.
    for axis in (0, 2):
        for side in (-1, 1):
            near, far = np.zeros(4), np.zeros(4)
            near[axis], far[axis], near[3], far[3] = side * 11.3, side * 11.9, 1.0, 1.0
            assert are_outside(view, near, far) == [False, True]
    assert are_outside(view, (0, -11.1, 0, 1), (0, -10.9, 0, 1), (0, -11.1, 0, 2)) == [True, False, False]
    assert are_outside(view, (0, 480, 0, 20), (0, 520, 0, 20)) == [False, True], "500 m is the farthest depth"


def test_an_orthographic_picture_shows_what_is_behind_the_eye():
    view = seen_by(Camera((0, -10, 0), (0, 0, 0), orthographic_height=8))
    assert are_outside(view, (0, -50, 0, 1), (4.9, 0, 0, 1), (5.2, 0, 0, 1), (0, 50, -5.2, 1)) == [
        False, False, True, True,
    ]  # fmt: skip


def test_of_an_off_centre_camera_the_picture_counts_and_not_what_is_drawn_beside_it():
    centred, shifted = seen_by(), seen_by(Camera((0, -10, 0), (0, 0, 0), 90, principal_point=(0.25, 0)))
    balls = [(x, 0, 0, 0.1) for x in (-14, -9, 4, 9)]
    assert are_outside(centred, *balls) == [True, False, False, False]
    assert are_outside(shifted, *balls) == [False, False, False, True], "the target is right of the middle"


def test_the_half_of_a_window_shows_as_much_as_the_window():
    half = seen_by(size_px=(120, 240), window_px=(240, 240), left_px=120)
    assert are_outside(half, (9, 0, 0, 0.1), (11, 0, 0, 0.1)) == [False, True]


@given(
    st.integers(0, 1 << 32),
    st.sampled_from([None, 3.0, 200.0]),
    st.sampled_from([(320, 240), (80, 600), (900, 30)]),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
)
def test_a_body_is_never_outside_if_a_point_of_it_is_in_the_picture(seed, height, size_px, shift, is_carried):
    random = np.random.default_rng(seed)
    eye, target = random.normal(size=3) * 10.0 ** random.uniform(-2, 6), random.normal(size=3)
    view = seen_by(Camera(eye, target, orthographic_height=height, principal_point=(shift, 0)), size_px)
    if is_carried:
        turn = random.normal(size=4)
        view = view._replace(camera=carried(view.camera, random.normal(size=3), turn / np.linalg.norm(turn)))
    camera, (left, bottom, width, height_px), (around_left, around_bottom, *around) = view
    away = np.linalg.norm(np.subtract(camera.eye, camera.target))
    middles = (np.array(camera.target) + random.normal(size=(300, 3)) * away).astype(np.float32)
    radius = (away * 10 ** random.uniform(-3, 0.5, 300)).astype(np.float32)
    found = is_outside(middles.T, radius, view)
    ways = random.normal(size=(50, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    points = middles[:, None].astype(float) + ways * radius[:, None, None]
    at_eye = (points - camera.eye) @ camera.view[:3, :3].T.astype(float)
    clip = np.concatenate((at_eye, np.ones((*at_eye.shape[:2], 1))), axis=2) @ camera.projection.T.astype(float)
    w = clip[..., 3]
    with np.errstate(all="ignore"):
        x, y = (
            around_left + (clip[..., 0] / w + 1) / 2 * around[0],
            around_bottom + (clip[..., 1] / w + 1) / 2 * around[1],
        )
    is_drawn = (w > 0) & (np.abs(clip[..., 2]) <= w)
    is_drawn &= (x > left) & (x < left + width) & (y > bottom) & (y < bottom + height_px)
    assert not (found & is_drawn.any(axis=1)).any()


def test_as_long_as_a_pixel_of_a_body_is_drawn_it_is_not_outside(window):
    show, is_lit, found = Show(window, ONE, along_x(speed=0.1)), [], []
    for k in range(80):
        is_lit.append(show.pixels(k * GAP_MS).max() > 0)
        matrices = show.stage.view.matrices(show.stage.main, SIZE_PX, SIZE_PX)
        found += are_outside(PictureView(matrices, (0, 0, *SIZE_PX), (0, 0, *SIZE_PX)), (k / 10, 0, 0, 0.5))
    left, counted_from = is_lit.index(False), found.index(True)
    assert left <= counted_from < left + 5
    assert not any(is_lit[left:])
    assert all(found[counted_from:])


def test_hidden_bodies_and_those_that_are_nowhere_do_not_count():
    bodies = bodies_at((0, 0, 0), (50, 0, 0), (50, 0, 0), (np.nan, 0, 0), (0, np.inf, 0))
    bodies["flags"] = VISIBLE
    bodies["flags"][2] = 0
    assert counted(bodies) == (1, 2, False)


def test_a_body_is_as_large_as_its_scales_make_it():
    places = bodies_at((13, 0, 0), (13, 0, 0), (13, 0, 0))
    assert counted(places).outside == 3
    places["scale"] = 1, 3, 1
    scale3 = np.ones((3, 3), np.float32)
    scale3[2] = 1, 1, 3
    assert counted(places).outside == 2
    assert counted(places, scale3=scale3).outside == 1


def test_floors_and_meshes_that_deform_do_not_count():
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    scene = Scene([Sphere(1), Box((900, 900, 0.1)), Mesh(corners, [(0, 1, 2)], deforms=True), Sphere(1)], camera=CAMERA)
    assert counted(bodies_at((0, 0, 0), *[(90, 0, 0)] * 3), scene) == (1, 2, False)


def test_a_child_is_where_its_parent_carries_it():
    scene = Scene([Sphere(1)] * 3, parents={1: 0, 2: 0}, camera=CAMERA)
    bodies = bodies_at((50, 0, 0), (-50, 0, 0), (0, 0, 3))
    assert counted(bodies, scene) == (2, 3, False)


def test_of_many_bodies_a_sample_gives_an_estimate_of_two_digits():
    bodies = new_bodies(100_000)
    bodies["position"][:33_333, 0] = 50
    scene = Scene([Sphere(1)] * 100_000, camera=CAMERA)
    assert counted(bodies, scene) == (33_000, 100_000, True)
    bodies["position"][:, 0] = 50
    assert counted(bodies, scene) == (100_000, 100_000, True)


def test_of_many_bodies_with_parents_none_are_counted():
    bodies, scene = new_bodies(2 * MOST_BODIES), Scene([Sphere(1)] * 2 * MOST_BODIES, parents={1: 0}, camera=CAMERA)
    bodies["position"] = 50
    outside = OutsideBodies(sampler(bodies))
    for at_ns in range(0, 3 * DELAY_NS, SAMPLE_NS):
        outside.update(at_ns, object(), scene, seen_by())
    assert outside.shown.text(True) == ""


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (OutsideCount(0, 5), ""),
        (OutsideCount(1, 1), "the body is outside the picture: F frames all"),
        (OutsideCount(1, 5), "1 of 5 bodies is outside the picture: F frames all"),
        (OutsideCount(3, 5), "3 of 5 bodies are outside the picture: F frames all"),
        (OutsideCount(2000, 2000), "all 2,000 bodies are outside the picture: F frames all"),
        (OutsideCount(300, 100_000, True), "about 300 of 100,000 bodies are outside the picture: F frames all"),
        (OutsideCount(9000, 9000, True), "about 9,000 of 9,000 bodies are outside the picture: F frames all"),
    ],
)
def test_the_text_names_the_bodies_and_the_key_if_it_has_an_effect(count, text):
    assert count.text(True) == text
    assert count.text(False) == text.removesuffix(": F frames all")


class Frames:
    """Frames of one `OutsideBodies`, 100 ms apart. bodies: those of the newest snapshot."""

    def __init__(self):
        self.bodies, self.newest, self.view, self.samples, self.at_ns = bodies_at((0, 0, 0)), object(), seen_by(), 0, 0
        self.outside = OutsideBodies(self._sample)

    def _sample(self, most):
        self.samples += 1
        return None if self.bodies is None else sampler(self.bodies)(most)

    def publish(self, *places):
        self.bodies, self.newest = bodies_at(*places), object()

    def draw(self, count=1):
        """For each frame, the number of bodies outside and whether more frames are needed."""
        found = []
        for _ in range(count):
            self.outside.update(self.at_ns, self.newest, SCENE, self.view)
            found.append((self.outside.shown.outside, self.outside.is_pending))
            self.at_ns += 100 * MS
        return found


INSIDE, AWAY = (0, 0, 0), (50, 0, 0)


def test_the_hint_comes_after_a_second_and_then_no_more_frames_are_needed():
    frames = Frames()
    frames.publish(AWAY)
    assert frames.draw(14) == [(0, True)] * 10 + [(1, False)] * 4
    assert frames.samples == 1


@pytest.mark.filterwarnings("error")
def test_a_scene_so_deep_that_the_far_plane_is_lost_to_float32_gives_no_warning():
    """Near and far plane differ by a factor of 1e12, so that one row of the projection is the opposite of another."""
    orbit = replace(OrbitCamera.from_camera(CAMERA), reach_m=1e12)
    viewport = (0, 0, 240, 240)
    view = PictureView(orbit.matrices((240, 240)), viewport, orbit.around_axis(viewport, None))
    middles = np.array([(0, 0, 0), (100, 0, 0), (0, 1e11, 0)])
    assert is_outside(middles.T, np.ones(3), view).tolist() == [False, True, False]


def test_the_hint_goes_with_the_first_sample_in_which_no_body_is_outside():
    frames = Frames()
    frames.publish(AWAY)
    frames.draw(11)
    frames.publish(INSIDE)
    assert frames.draw(3) == [(0, False)] * 3
    frames.publish(AWAY)
    assert frames.draw(5)[-1] == (0, True), "it waits for a second again"


def test_a_body_that_is_outside_for_less_than_a_second_is_not_mentioned():
    frames = Frames()
    for _ in range(4):
        frames.publish(AWAY)
        first = frames.draw(7)
        frames.publish(INSIDE)
        assert {shown for shown, _ in first + frames.draw(7)} == {0}


def test_bodies_are_sampled_twice_a_second_at_most_and_the_last_snapshot_is_never_missed():
    frames = Frames()
    for _ in range(41):
        frames.publish(AWAY)
        frames.draw()
    assert frames.samples == 9
    frames.publish(INSIDE)
    assert frames.draw(6) == [(1, True)] * 4 + [(0, False)] * 2
    assert frames.samples == 10


def test_a_view_that_changes_is_counted_anew():
    frames = Frames()
    frames.publish(AWAY)
    frames.draw(11)
    frames.view = seen_by(Camera((0, -100, 0), (0, 0, 0), 90))
    assert frames.draw(2) == [(0, False)] * 2


def test_without_a_sample_nothing_is_said_and_no_frames_are_needed():
    frames = Frames()
    frames.bodies = None
    assert frames.draw(2) == [(0, False)] * 2


class Views:
    """Frames of a `StageCamera` of bodies in a scene."""

    def __init__(self, scene, *places, **options):
        self.bodies, self.samples = bodies_at(*places), 0
        self.camera = StageCamera(scene, lambda: self.bodies, self._sample, **options)
        self.at_ns = 0
        self._picture = SimpleNamespace(name="main", watched=lambda _watcher: no_poses())

    def _sample(self, most):
        self.samples += 1
        sampled = sampler(self.bodies)(most)
        return sampled._replace(head=sampled.head._replace(published_ns=self.at_ns, sim_time_ns=self.at_ns))

    def text(self, seconds=3, has_key=True, has_panels=True):
        """Text after so many seconds of frames."""
        for _ in range(round(seconds * 10)):
            self.at_ns += 100 * MS
            newest, at_ns = object(), self.at_ns
            self.camera.advance(at_ns, DrawnTimes(at_ns, at_ns, 0.0, newest, 1.0), SIZE_PX)
            matrices, viewport = self.camera.matrices(self._picture, SIZE_PX, SIZE_PX), (0, 0, *SIZE_PX)
            seen = PictureView(matrices, viewport, self.camera.around_axis(viewport, SIZE_PX))
            self.camera.count_outside(at_ns, newest, seen if has_panels else None)
        return self.camera.outside_text(has_key)


FREE = Scene([Sphere(1.0)] * 5)
HINT = "1 of 2 bodies is outside the picture"


def test_a_camera_of_the_scene_has_a_hint_which_names_the_key_if_it_has_an_effect():
    assert Views(SCENE, INSIDE, AWAY).text() == f"{HINT}: F frames all"
    assert Views(SCENE, INSIDE, AWAY).text(has_key=False) == HINT
    for fields in ({"locked": True}, {"body": 0}):
        scene = Scene([Sphere(1.0)] * 5, camera=Camera(CAMERA.eye, CAMERA.target, 90, **fields))
        assert Views(scene, INSIDE, AWAY).text() == HINT


def test_a_camera_that_follows_its_bodies_has_no_hint_and_counts_nothing():
    views = Views(FREE, INSIDE, AWAY)
    assert views.text() == ""
    before = views.samples
    views.text(has_panels=False)
    assert views.samples - before == before, "all samples are those of the camera"


def test_a_view_that_stays_or_that_the_user_moved_has_a_hint():
    still = Views(FREE, INSIDE, INSIDE, may_follow=False)
    assert still.text() == ""
    still.bodies = bodies_at(INSIDE, AWAY)
    assert still.text() == f"{HINT}: F frames all"
    moved = Views(FREE, INSIDE, INSIDE)
    moved.text()
    moved.camera.user_moved()
    moved.bodies = bodies_at(INSIDE, AWAY)
    assert moved.text() == f"{HINT}: F frames all"
    moved.camera.frame_all()
    assert moved.text() == ""


def test_bodies_that_flew_off_are_counted_although_the_camera_follows_the_others():
    views = Views(FREE, *[(x, 0, 0) for x in range(5)])
    views.text()
    views.bodies["position"][4] = 900, 0, 0
    assert views.text(seconds=20) == "1 of 5 bodies is outside the picture: F frames all"


def test_while_the_panels_are_hidden_nothing_is_counted():
    views = Views(SCENE, INSIDE, AWAY)
    views.text(seconds=0.5)
    assert views.camera.is_counting
    before = views.samples
    assert views.text(has_panels=False) == ""
    assert (views.samples, views.camera.is_counting) == (before, False)
