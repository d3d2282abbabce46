"""Projection of labels from the world to the picture."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.interaction.overlay import OverlayText
from twixt.ipc.snapshot import MARK
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.scene.labels import LINE, MARGIN, MOST_BESIDE, MOST_LABELS, Label, at_borders, head, labels_of, place

SIZE_PX = (800, 600)
WHOLE = (0, 0, *SIZE_PX)
WHITE = (255, 255, 255, 255)
CAMERA = OrbitCamera(target=(1.0, 2.0, 3.0), distance_m=10.0)


def at(*position: float) -> Label:
    return Label(position, "here", WHITE)  # type: ignore[arg-type]


def test_two_halves_have_their_words_at_the_top_left_of_each() -> None:
    left, right = head(("none", "auto"), [(0, 0, 399, 600), (401, 0, 399, 600)], 600, 1.0)
    assert (left.text, left.x_px, left.y_px) == ("none", 8.0, 16.0)
    assert (right.text, right.x_px, right.y_px) == ("auto", 409.0, 16.0)


def test_the_target_is_in_the_middle() -> None:
    [placed] = place([at(1, 2, 3)], CAMERA.matrices(SIZE_PX), WHOLE, 600)
    assert (placed.x_px, placed.y_px) == pytest.approx((400, 300), abs=0.01)
    assert (placed.text, placed.color) == ("here", WHITE)


def test_what_is_above_in_the_world_is_above_in_the_picture() -> None:
    [placed] = place([at(1, 2, 4)], CAMERA.matrices(SIZE_PX), WHOLE, 600)
    assert placed.x_px == pytest.approx(400, abs=0.01)
    per_metre_px = 300 / math.tan(math.radians(CAMERA.fov_y_deg) / 2) / 10
    assert 300 - placed.y_px == pytest.approx(per_metre_px * math.cos(CAMERA.elevation_rad), rel=0.1)


def test_a_part_of_the_picture_has_its_labels_within_it() -> None:
    matrices = CAMERA.matrices((400, 500))
    [placed] = place([at(1, 2, 3)], matrices, (400, 20, 400, 500), 600)
    assert (placed.x_px, placed.y_px) == pytest.approx((600, 600 - 20 - 250), abs=0.01)


def test_off_the_centre_a_label_is_at_the_principal_point_and_ends_at_the_borders_of_the_picture() -> None:
    camera = OrbitCamera(target=(1.0, 2.0, 3.0), roll_rad=1.0, principal_point=(0.2, -0.3))
    part = 401, 20, 399, 500
    around = camera.around_axis(part)
    beyond = at(*(np.array((1, 2, 3)) - 2.5 * np.array(camera.as_camera().up)))  # within `around`, below the picture
    [placed] = place([at(1, 2, 3), beyond], camera.matrices(part[2:]), around, 600, part)
    assert (placed.x_px, placed.y_px) == pytest.approx((401 + 399 / 2 + 100, 600 - 20 - 250 + 150), abs=0.5)
    assert placed.within_px == (401, 80, 800, 580)


def test_what_is_behind_the_camera_or_beside_the_picture_is_left_out() -> None:
    eye, target = np.array(CAMERA.eye), np.array(CAMERA.target)
    behind = at(*(eye + (eye - target)))
    assert (
        place([behind, at(1e6, 0, 0), at(math.nan, 0, 0), at(math.inf, 0, 0)], CAMERA.matrices(SIZE_PX), WHOLE, 600)
        == []
    )


def test_near_words_are_drawn_over_far_ones() -> None:
    toward = (np.array(CAMERA.eye) - CAMERA.target) / 10
    labels = [Label(tuple(np.array(CAMERA.target) + d * toward), str(d), WHITE) for d in (2, -3, 4)]
    assert [label.text for label in place(labels, CAMERA.matrices(SIZE_PX), WHOLE, 600)] == ["-3", "2", "4"]


def test_no_labels_are_no_work() -> None:
    assert place([], CAMERA.matrices(SIZE_PX), WHOLE, 600) == []


@given(st.lists(st.tuples(*[st.floats(width=32)] * 3), max_size=8))
def test_what_is_placed_is_always_within_the_picture(positions: list[tuple[float, float, float]]) -> None:
    for placed in place([at(*position) for position in positions], CAMERA.matrices(SIZE_PX), WHOLE, 600):
        assert -0.01 <= placed.x_px <= 800.01
        assert -0.01 <= placed.y_px <= 600.01


def test_marks_have_the_texts_that_their_numbers_name() -> None:
    marks = np.zeros(5, MARK)
    marks["label"] = (0, 2, 1, 3, 0xFFFF_FFFF)
    marks["position"][:, 0] = range(5)
    camera = CAMERA.matrices(SIZE_PX)
    found = labels_of(marks, b"", camera, ("one", "two"))
    assert [(label.position, label.text) for label in found] == [((1, 0, 0), "two"), ((2, 0, 0), "one")]
    assert labels_of(marks, b"", camera) == labels_of(marks[:0], b"", camera, ("one",)) == []


def test_of_too_many_labels_the_visible_ones_nearest_to_the_camera_are_kept() -> None:
    marks = np.zeros(3 * MOST_LABELS, MARK)
    marks["label"] = 1
    eye, target = np.array(CAMERA.eye), np.array(CAMERA.target)
    away = np.concatenate((np.full(MOST_LABELS, -5.0), np.linspace(3.0, 1.0, 2 * MOST_LABELS)))  # first, those behind
    marks["position"] = eye + away[:, None] * (target - eye) / 10
    found = labels_of(marks, b"", CAMERA.matrices(SIZE_PX), ("one",))
    distances = np.linalg.norm(np.array([label.position for label in found]) - eye, axis=1)
    assert len(found) == MOST_LABELS
    assert distances.max() == pytest.approx(2.0, abs=0.01)


def test_a_label_is_beside_its_body_but_near_it_in_the_picture() -> None:
    camera, focal = CAMERA.matrices(SIZE_PX), 300 / math.tan(math.radians(CAMERA.fov_y_deg) / 2)
    small, large = (Label((1.0, 2.0, 3.0), "body", WHITE, reach=reach) for reach in (1.0, 1000.0))
    assert place([small], camera, WHOLE, 600)[0].x_px == pytest.approx(400 + focal / 10, abs=0.1)
    assert place([large], camera, WHOLE, 600)[0].x_px == pytest.approx(400 + 600 * MOST_BESIDE)


def test_texts_stand_at_their_borders_below_each_other_and_clear_of_panels() -> None:
    texts = [OverlayText("top left", "a\nb"), OverlayText("top left", "c"), OverlayText("bottom right", "d", "e", 2.0),
             OverlayText("top"), OverlayText("right"), OverlayText("bottom right", "f")]  # fmt: skip
    size_px = 800, 600
    first, below, end, middle, side, above = at_borders(texts, size_px, 2.0, (0, 0))
    assert (first.x_px, first.y_px, first.anchor) == (2 * MARGIN, 2 * MARGIN, (0, 0))
    assert below.y_px == first.y_px + 2 * 2 * LINE
    assert (end.x_px, end.y_px, end.anchor) == (800 - 2 * MARGIN, 600 - 2 * MARGIN, (1, 1))
    assert (end.beside, end.size) == ("e", 2.0)
    assert above.y_px == end.y_px - 2 * 2 * LINE
    assert (middle.x_px, middle.anchor) == (400, (0.5, 0))
    assert side.anchor == (1, 0.5)
    moved = at_borders(texts, size_px, 1.0, (100, 50))
    assert (moved[0].y_px, moved[2].y_px, moved[3].y_px) == (100 + MARGIN, 600 - 50 - MARGIN, MARGIN)
