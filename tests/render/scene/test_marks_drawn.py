"""Marks of the stage's pictures: between two snapshots, by the picture's method, in both halves of a split view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.scene.staged import ONE, SIZE_PX, Show, along_x, middle_px
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.snapshot import new_bodies
from twixt.render.scene.views import LINE_PX
from twixt.sim.world.marks import Marks

EMPTY = Scene([], ground_z=None, background=(0, 0, 0), look="unlit", camera=Camera((0, -10, 0), (0, 0, 0)))
WHITE, RED = (1, 1, 1), (1, 0, 0)


def moving(k: int, key: int = 1) -> np.ndarray:
    """A ball that moves 2 m a snapshot along x, from -2 m."""
    marks = Marks()
    marks.add("sphere", (2.0 * k - 2, 0, 0), size=0.3, ids=[key])
    return marks.records


def no_bodies(_k: int) -> np.ndarray:
    return new_bodies(0)


def x_px(x_m: float) -> float:
    """Where a ball at this x of the plane at the target is in the whole picture."""
    focal = 1 / np.tan(np.radians(45 / 2))
    return SIZE_PX[0] / 2 + x_m / 10 * focal * SIZE_PX[1] / 2


@pytest.mark.parametrize(
    ("method", "shown_m"),
    [("linear", 0.5), ("auto", 0.5), ("hermite", 0.5), ("catmull", 0.5), ("none", 0.0), ("latest", 2.0)],
)
def test_marks_are_drawn_by_the_method_of_the_picture(window, method, shown_m):
    show = Show(window, EMPTY, no_bodies, marks=moving, interpolation=method, lead_ms=0)
    show.draw(110)
    assert middle_px(show.pixels(125)) == pytest.approx(x_px(shown_m), abs=0.6)


def test_a_mark_that_comes_or_goes_cuts_at_the_newer_ones_instant(window):
    def marks(k: int) -> np.ndarray:
        return moving(k, key=1 if k < 2 else 2)

    show = Show(window, EMPTY, no_bodies, marks=marks)
    assert middle_px(show.pixels(50)) == pytest.approx(x_px(-1), abs=0.6)
    assert middle_px(show.pixels(199)) == pytest.approx(x_px(0), abs=0.6), "it stays as it was last"
    assert middle_px(show.pixels(201)) == pytest.approx(x_px(2.02), abs=0.6)


def test_both_halves_draw_marks_by_their_own_method(window):
    marks, bodies = Show(window, EMPTY, no_bodies, marks=moving), Show(window, ONE, along_x(speed=2.0))
    half = (SIZE_PX[0] - LINE_PX) // 2
    at_px = {}
    for show in (marks, bodies):
        show.choose(split=True)
        for at_ms in (100, 150):
            pixels = show.pixels(at_ms)
            at_px[show, at_ms] = np.array([middle_px(pixels[:, :half]), middle_px(pixels[:, half + LINE_PX :])])
    left_px, right_px = at_px[marks, 150] - at_px[marks, 100]
    assert left_px == 0
    assert right_px > 10
    assert right_px == pytest.approx((at_px[bodies, 150] - at_px[bodies, 100])[1], abs=0.6)


def test_marks_that_cannot_be_drawn_are_left_out_and_those_of_older_snapshots_are_gone(window):
    def marks(k: int) -> np.ndarray:
        added = Marks()
        if k > 8:
            return added.records
        added.add("sphere", [(1, 0, 0), (0, 0, 0), (0, 0, 1)], size=0.3, color=[WHITE, RED, RED])
        added.add("box", (0, 0, -1), size=(np.inf, 1, 1), color=RED)
        records = added.records.copy()
        records["kind"][1] = 200
        records["position"][2] = np.nan
        return records

    show = Show(window, EMPTY, no_bodies, marks=marks)
    pixels = show.pixels(150)
    np.testing.assert_array_equal(pixels[..., 0], pixels[..., 1])
    assert middle_px(pixels) == pytest.approx(x_px(1), abs=0.6)
    assert show.pixels(1150).max() == 0


def test_the_texts_of_marks_move_with_them_in_both_halves(window):
    def marks(k: int) -> np.ndarray:
        records = moving(k).copy()
        records["label"] = 2
        return records

    show = Show(window, replace(EMPTY, labels=("no", "yes")), no_bodies, marks=marks)
    show.draw(150)
    (label,) = show.stage.labels
    assert (label.text, label.x_px) == ("yes", pytest.approx(x_px(1), abs=0.1))
    show.choose(split=True)
    show.draw(160)
    show.draw(170)
    left, right = show.stage.labels
    assert left.x_px < SIZE_PX[0] / 2 < right.x_px
