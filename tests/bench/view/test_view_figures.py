"""Figures of a view, of pictures and frames that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from bench.view.codes import CODE_OF, CODES
from bench.view.pixels import CELL_PX
from bench.view.scene_world import SceneWorld, lattice
from bench.view.scenes import Orbit, Planet, Swarm, Teleporter
from bench.view.view_figures import (
    EXISTS_S,
    STRAY_PX,
    Observed,
    ViewFigures,
    drawn_times,
    is_whole,
    picture_times,
    speed_changes,
    view_figures,
)
from tests.render.measure.runs import FRAME_NS, START_NS, shown_at
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.measure.frame_rows import FrameTable

SIZE_PX = (800, 600)
CAMERA = OrbitCamera((0.0, 0.0, 1.0), 14.0)


def shown(camera: OrbitCamera, places: np.ndarray) -> np.ndarray:
    """Places in the picture as twixt draws them."""
    matrices = camera.matrices(SIZE_PX)
    clip = np.column_stack([places, np.ones(len(places))]) @ (matrices.projection @ matrices.view).T.astype(float)
    at = clip[:, :2] / clip[:, 3:]
    return np.column_stack([(at[:, 0] + 1) / 2 * SIZE_PX[0], (1 - at[:, 1]) / 2 * SIZE_PX[1]])


def observed(
    scene: SceneWorld, count: int, cameras: list[OrbitCamera] | None = None, boxes: list[list[int]] | None = None
) -> Observed:
    """A sample of each of `count` pictures, one a frame, in which all bodies have pixels and no pixel changes."""
    cameras = cameras or [CAMERA] * count
    seen_ns = START_NS + np.arange(count) * FRAME_NS + 500_000
    places = np.array([shown(camera, scene.markers) for camera in cameras])
    picture, number = np.nonzero((places >= 0).all(axis=2) & (places < SIZE_PX).all(axis=2))
    pixels = np.zeros((count, CODES), np.int64)
    pixels[:, scene.codes] = 40
    return Observed(
        size_px=np.array(SIZE_PX),
        seen_ns=seen_ns,
        longest_gap_ns=np.full(count, 2_000_000),
        marker_picture=picture,
        marker_code=CODE_OF[number],
        marker_place=places[picture, number],
        marker_pixels=np.full(len(number), 20),
        sample_ns=seen_ns + 3_000_000,
        sample_picture=np.arange(count),
        changed_px=np.array([-1] + [0] * (count - 1)),
        pixels=pixels,
        on_border=np.zeros((count, CODES), bool),
        box=np.array(boxes or [[100, 100, 700, 500]] * count),
        cells=np.zeros((count, SIZE_PX[1] // CELL_PX, SIZE_PX[0] // CELL_PX), bool),
    )


def frames(count: int) -> FrameTable:
    return FrameTable.of(shown_at([START_NS + i * FRAME_NS for i in range(count)]))


def figures_of(seen: Observed, scene: SceneWorld | None = None) -> ViewFigures:
    return view_figures(seen, frames(len(seen.seen_ns)), scene or Orbit())


def test_a_view_in_which_all_stays_whole_and_still_has_the_best_figures() -> None:
    scene = Swarm()
    seen = observed(scene, 60)
    seen.pixels[:] = np.isin(np.arange(CODES), scene.codes[scene.state_at(2.0).shown]) * 40
    found = view_figures(seen, frames(60), scene)
    assert (found.samples, found.whole, found.filled, found.still) == (60, 100.0, 100.0, 100.0)
    assert (found.speed_change_px, found.cuts) == (0.0, 0)
    assert found.missed_per_minute == 0.0


def test_the_figures_of_a_scene_within_bounds_begin_when_it_is_within_them() -> None:
    seen = observed(Orbit(), 60)
    assert figures_of(seen).still is None  # it is within bounds from 7 s on


def test_one_picture_in_four_with_a_body_at_the_border_is_not_whole() -> None:
    seen = observed(Orbit(), 40)
    seen.on_border[::4, CODE_OF[2]] = True
    assert figures_of(seen).whole == 75.0


def test_a_body_without_pixels_is_hidden_only_where_others_have_pixels() -> None:
    scene = Planet()
    seen = observed(scene, 2)
    assert is_whole(seen, 0, scene, 1.0)
    seen.pixels[:, CODE_OF[1]] = 0
    assert not is_whole(seen, 0, scene, 1.0)
    x, y = shown(CAMERA, scene.state_at(1.0).position[1:])[0]
    seen.cells[0, int(y) // CELL_PX, int(x) // CELL_PX] = True
    assert is_whole(seen, 0, scene, 1.0)
    assert not is_whole(seen, 1, scene, 1.0)


def test_a_body_without_pixels_outside_the_picture_or_without_a_camera_is_not_hidden() -> None:
    scene = Planet()
    near = OrbitCamera((0.0, 0.0, 1.0), 4.0)
    seen = observed(scene, 1, [near])
    seen.pixels[:, CODE_OF[1]] = 0
    seen.cells[:] = True
    outside = [t for t in np.arange(0.0, 8.0, 0.5) if not _in_picture(shown(near, scene.state_at(t).position[1:])[0])]
    inside = [t for t in np.arange(0.0, 8.0, 0.5) if _in_picture(shown(near, scene.state_at(t).position[1:])[0])]
    assert outside
    assert not any(is_whole(seen, 0, scene, t) for t in outside)
    assert inside
    assert all(is_whole(seen, 0, scene, t) for t in inside)
    without = seen._replace(marker_picture=np.zeros(0, int))
    assert not any(is_whole(without, 0, scene, t) for t in inside)


def _in_picture(place: np.ndarray) -> bool:
    return bool((place >= 0).all() and (place < SIZE_PX).all())


def test_a_body_that_is_just_born_need_not_be_there_yet() -> None:
    scene = Swarm()
    born_s = float(scene.born_s[10])
    seen = observed(scene, 1)
    seen.pixels[:] = np.isin(np.arange(CODES), scene.codes[:10]) * 40
    assert is_whole(seen, 0, scene, born_s + EXISTS_S / 2)
    assert not is_whole(seen, 0, scene, born_s + 1.01 * EXISTS_S)


def test_a_body_that_jumps_counts_at_every_instant() -> None:
    scene = Teleporter()
    seen = observed(scene, 1)
    seen.pixels[:, CODE_OF[0]] = 0
    assert not is_whole(seen, 0, scene, scene.STAY_S)


def test_boxes_fill_the_picture_alone_or_together_with_those_before() -> None:
    boxes = [[10 + 5 * i, 100, 20 + 5 * i, 110] for i in range(60)]
    found = figures_of(observed(Orbit(), 60, boxes=boxes))
    assert found.filled == 0.0
    assert found.filled_4s == pytest.approx(100 * sum(10 + 5 * i >= 200 for i in range(60)) / 60)


def test_a_box_without_pixels_fills_nothing_and_is_not_joined() -> None:
    boxes = [[0, 0, 0, 0], [700, 100, 790, 110], [0, 0, 0, 0]]
    found = figures_of(observed(Orbit(), 3, boxes=boxes))
    assert (found.filled, found.filled_4s) == (0.0, 0.0)


def test_the_view_is_still_in_samples_without_a_changed_background() -> None:
    scene = Swarm()
    seen = observed(scene, 41)
    seen.changed_px[1:] = STRAY_PX
    assert figures_of(seen, scene).still == 100.0
    seen.changed_px[4::4] = STRAY_PX + 1
    assert figures_of(seen, scene).still == 75.0


def cameras_at(x_m: np.ndarray) -> list[OrbitCamera]:
    return [OrbitCamera((float(x), 0.0, 1.0), 14.0, azimuth_rad=-np.pi / 2) for x in x_m]


def test_a_camera_of_constant_speed_has_no_change_of_speed_and_a_stop_has_its_speed() -> None:
    scene = Orbit()
    x_m = np.minimum(np.arange(30), 20) * 0.03
    seen = observed(scene, 30, cameras_at(x_m))
    found = speed_changes(seen, np.arange(30) / 60).change_px
    assert len(found) == 28
    moved_px = np.median(
        np.linalg.norm(np.diff([shown(one, scene.markers) for one in cameras_at(x_m[:2])], axis=0), axis=-1)
    )
    assert np.delete(found, 19).max() < 0.05
    assert found[19] == pytest.approx(moved_px, rel=0.05)


def test_a_late_frame_is_no_change_of_speed_and_a_rest_is_followed_by_one() -> None:
    scene = Orbit()
    at = np.array([0, 1, 2, 4, 5, 6])
    seen = observed(scene, 6, cameras_at(at * 0.03))
    assert speed_changes(seen, at / 60).change_px.max() < 0.05
    rested = observed(scene, 3, cameras_at(np.array([0.0, 0.0, 0.3])))
    assert speed_changes(rested, np.array([0.0, 1 / 60, 5.0])).change_px.max() > 5.0


def test_where_pictures_may_be_missed_nothing_is_measured() -> None:
    seen = observed(Orbit(), 10)
    seen.longest_gap_ns[5] = 40_000_000
    assert len(speed_changes(seen, np.arange(10) / 60).change_px) == 8 - 2


def test_a_picture_without_a_marker_of_the_one_before_is_a_cut() -> None:
    scene = Orbit()
    seen = observed(scene, 4)
    is_early = seen.marker_picture < 2
    first = np.isin(seen.marker_code, CODE_OF[:20])
    kept = np.flatnonzero(np.where(is_early, first, ~first))
    markers = {name: getattr(seen, name)[kept] for name in Observed._fields if name.startswith("marker_")}
    seen = seen._replace(**markers)
    assert speed_changes(seen, np.arange(4) / 60).cuts == 1


def test_pictures_are_matched_with_the_frames_that_they_are() -> None:
    log = frames(50)
    present_ns = log["present_ns"]
    late_ns = np.random.default_rng(0).integers(0, 3_000_000, 50)
    np.testing.assert_allclose(picture_times(present_ns + late_ns, log), log["draw_time_ns"] / 1e9)
    np.testing.assert_allclose(drawn_times(present_ns + 1_000_000, log), log["draw_time_ns"] / 1e9)
    assert np.isnan(drawn_times(present_ns[:1] - 1_000_000, log)).all()


def test_markers_of_a_lattice_have_the_given_ends_and_distance() -> None:
    points = lattice((-1, 1, 0.5), (0, 1, 1.0), 2.0)
    assert len(points) == 5 * 2
    assert (points[:, 2] == 2.0).all()
    assert np.unique(points[:, 0]).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
