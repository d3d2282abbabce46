"""Labels of bodies, and marks that are attached to bodies: both are where the bodies are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.scene.staged import ONE, SIZE_PX, Show, along_x, round_and_round
from twixt.ipc.scene import Camera, Compound, Group, Part, Scene, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.snapshot import MARK, NO_MARKS, VISIBLE, new_bodies
from twixt.render.scene.attachments import MOST_LABELED, RECENT, Attachments
from twixt.render.scene.labels import MOST_LABELS
from twixt.sim.world.marks import Marks

METHODS = ("linear", "hermite", "auto", "catmull", "none", "latest")
RADIUS = 0.5
# Radius of a ball of 0.5 m at the target, 10 m from the camera, in pixels.
RADIUS_PX = RADIUS / 10 / np.tan(np.radians(45 / 2)) * SIZE_PX[1] / 2


def scene(*shapes, **fields) -> Scene:
    return replace(ONE, shapes=list(shapes), **fields)


def middle(pixels: np.ndarray) -> np.ndarray:
    """The middle of what is bright, (x, y) in pixels from the top left."""
    y, x = np.nonzero(pixels.max(axis=2) > 127)
    assert len(x)
    return np.array((x.mean() + 0.5, y.mean() + 0.5))


def attached(**arguments):
    """One mark, the same in each snapshot."""

    def marks(_k: int) -> np.ndarray:
        added = Marks()
        added.add("sphere", arguments.get("position", (0, 0, 0)), size=RADIUS, body=arguments.get("body", 0))
        return added._packed()

    return marks


@pytest.mark.parametrize("method", METHODS)
def test_a_label_is_at_the_right_border_of_the_drawn_body(window, method):
    """Three states for a turn of 1.5 rad: as three states a second of a body that turns four times a minute."""
    show = Show(window, scene(Sphere(RADIUS, label="Earth")), round_and_round(turn=0.5), interpolation=method)
    for at_ms in (310, 333, 350, 390, 425):
        pixels = show.pixels(at_ms)
        (label,) = show.stage.labels
        assert label.text == "Earth"
        x, y = middle(pixels)
        assert (label.x_px - RADIUS_PX, label.y_px) == pytest.approx((x, y), abs=1.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_mark_on_a_body_is_drawn_where_the_body_is_drawn(window, method):
    bodies = Show(window, scene(Sphere(RADIUS)), round_and_round(turn=0.5), interpolation=method)
    marks = Show(window, scene(Sphere(0.01)), round_and_round(turn=0.5), marks=attached(), interpolation=method)
    for at_ms in (310, 333, 350, 390, 425):
        assert middle(marks.pixels(at_ms)) == pytest.approx(middle(bodies.pixels(at_ms)), abs=0.5)


def test_marks_that_come_later_are_placed_from_their_first_frame_on(window):
    """The copies of the snapshots before come from the GPU."""

    def later(k: int) -> np.ndarray:
        return attached()(k) if k >= 5 else NO_MARKS

    bodies = Show(window, scene(Sphere(RADIUS)), round_and_round(turn=0.5), interpolation="hermite")
    marks = Show(window, scene(Sphere(0.01)), round_and_round(turn=0.5), marks=later, interpolation="hermite")
    for at_ms in range(10, 500, 40):
        marks.draw(at_ms)
    assert middle(marks.pixels(505)) == pytest.approx(middle(bodies.pixels(505)), abs=0.5)
    assert middle(marks.pixels(550)) == pytest.approx(middle(bodies.pixels(550)), abs=0.5)


def turned(_k: int) -> np.ndarray:
    """A body at (1, 0, 0), twice as large, whose own z axis is the x axis of the world."""
    bodies = new_bodies(1)
    bodies["position"], bodies["scale"] = (1, 0, 0), 2
    bodies["orientation"] = (0, np.sqrt(0.5), 0, np.sqrt(0.5))
    return bodies


def test_a_mark_is_in_the_frame_of_its_body_in_metres_whatever_the_scale_of_the_body(window):
    show = Show(window, scene(Sphere(0.01)), turned, marks=attached(position=(0, 0, 1)))
    at_two = Show(window, scene(Sphere(RADIUS)), lambda _k: moved_to((2, 0, 0)))
    assert middle(show.pixels(150)) == pytest.approx(middle(at_two.pixels(150)), abs=0.5)


def moved_to(*places) -> np.ndarray:
    bodies = new_bodies(len(places))
    bodies["position"] = places
    return bodies


def test_an_arrow_points_along_an_axis_of_its_body(window):
    def marks(_k: int) -> np.ndarray:
        added = Marks()
        added.add("capsule", (0, 0, 0), to=(0, 0, 2), size=0.2, body=0)
        return added._packed()

    pixels = Show(window, scene(Sphere(0.01)), turned, marks=marks).pixels(150)
    y, x = np.nonzero(pixels.max(axis=2) > 127)
    assert np.ptp(x) > 3 * np.ptp(y)


def test_marks_on_hidden_and_missing_bodies_are_hidden_and_all_others_are_drawn(window):
    def bodies(k: int) -> np.ndarray:
        found = moved_to((-1, 0, 0), (1, 0, 0), (0, 0, 1))
        found["flags"][1] = VISIBLE if k < 3 else 0
        return found

    def marks(_k: int) -> np.ndarray:
        added = Marks()
        added.add("sphere", np.zeros((4, 3)), size=0.3, body=[0, 1, 3, 2**32 - 2], label=["0", "1", "3", "far"])
        added.add("sphere", (0, 0, -1), size=0.3, label="free")
        return added._packed()

    show = Show(window, scene(*[Sphere(0.01)] * 3), bodies, marks=marks)
    show.draw(150)
    assert sorted(label.text for label in show.stage.labels) == ["0", "1", "free"]
    show.draw(450)
    assert sorted(label.text for label in show.stage.labels) == ["0", "free"]


def test_a_mark_is_cut_with_its_body(window):
    def bodies(k: int) -> np.ndarray:
        found = moved_to((-2, 0, 0) if k < 2 else (2, 0, 0))
        found["epoch"] = k >= 2
        return found

    show = Show(window, scene(Sphere(0.01)), bodies, marks=attached())
    before, after = middle(show.pixels(190))[0], middle(show.pixels(210))[0]
    assert before == pytest.approx(SIZE_PX[0] / 2 - 4 * RADIUS_PX, abs=1)
    assert after == pytest.approx(SIZE_PX[0] / 2 + 4 * RADIUS_PX, abs=1)


def test_a_mark_that_moves_to_another_body_is_not_blended(window):
    def marks(k: int) -> np.ndarray:
        added = Marks()
        added.add("sphere", (0, 0, 0.5 * k), size=RADIUS, ids=[1], body=0 if k < 2 else 1)
        return added._packed()

    show = Show(window, scene(*[Sphere(0.01)] * 2), lambda _k: moved_to((-2, 0, 0), (2, 0, 0)), marks=marks)
    x, y = middle(show.pixels(190))
    assert (x, y) == pytest.approx((SIZE_PX[0] / 2 - 4 * RADIUS_PX, SIZE_PX[1] / 2 - RADIUS_PX), abs=1)
    assert middle(show.pixels(210))[0] == pytest.approx(SIZE_PX[0] / 2 + 4 * RADIUS_PX, abs=1)


def test_labels_and_marks_follow_groups_with_a_delay_and_children(window):
    one = scene(
        Sphere(0.01, label="free"), Sphere(0.01, label="late"), Sphere(0.01, label="child"),
        groups={"late": Group([1], delay_ms=100)}, parents={2: 0},
    )  # fmt: skip

    def bodies(k: int) -> np.ndarray:
        return moved_to((0.1 * k, 0, 0), (0.1 * k, 0, 1), (1, 0, -1))

    def marks(_k: int) -> np.ndarray:
        added = Marks()
        added.add("sphere", np.zeros((3, 3)), size=0.1, body=[0, 1, 2], label=["on free", "on late", "on child"])
        return added._packed()

    show = Show(window, one, bodies, marks=marks)
    show.draw(850)
    at = {label.text: label.x_px for label in show.stage.labels}
    assert len(at) == 6
    for name in ("free", "late", "child"):
        assert at[name] == pytest.approx(at[f"on {name}"], abs=0.5)
    assert at["free"] - at["late"] == pytest.approx(0.1 * 2 * RADIUS_PX, abs=0.2)
    assert at["child"] - at["free"] == pytest.approx(2 * RADIUS_PX, abs=0.5)


def test_both_halves_have_the_labels_of_their_own_poses(window):
    show = Show(window, scene(Sphere(RADIUS, label="ball")), along_x(speed=0.5), marks=attached(position=(0, 0, 1)))
    show.choose(split=True)
    show.draw(150)
    show.draw(160)
    left, right = show.stage.labels
    assert left.x_px < SIZE_PX[0] / 2 < right.x_px


def test_a_single_state_has_its_labels(window):
    show = Show(window, scene(Sphere(RADIUS, label="ball")), along_x())
    show.silent_until_ms = 1e9
    show._publish(0, 0)
    show.draw(50)
    assert [label.text for label in show.stage.labels] == ["ball"]


def test_another_scene_has_other_labels_and_a_scene_without_them_needs_no_copies(window):
    show = Show(window, scene(Sphere(RADIUS, label="one")), along_x(speed=0.0))
    show.draw(150)
    assert show.stage.needs_copies
    for version, shape in enumerate((Sphere(RADIUS, label="two"), Sphere(RADIUS)), 2):
        show.stage.set_scene(scene(shape), version=version)
        show.draw(100 + 100 * version)
        show.draw(101 + 100 * version)
        show.draw(101 + 100 * version)
        assert [label.text for label in show.stage.labels] == ([shape.label] if shape.label else [])
    assert not show.stage.needs_copies


def test_compounds_and_many_bodies_have_labels_and_the_nearest_are_shown(window):
    count = MOST_LABELED + 100
    shapes = [Compound([Part(Sphere(0.01))], label=f"body {i}") for i in range(count)]

    def bodies(_k: int) -> np.ndarray:
        found = new_bodies(count)
        found["position"][:, 1] = np.linspace(3, 0, count)
        return found

    show = Show(window, scene(*shapes), bodies)
    show.draw(150)
    numbers = {int(label.text.split()[1]) for label in show.stage.labels}
    assert numbers == set(range(MOST_LABELED - MOST_LABELS, MOST_LABELED))


def test_labels_do_not_part_equal_shapes_without_labels():
    assert len(shape_list(Scene([Sphere(0.1)] * 10_000)).table) == 1
    assert len(shape_list(Scene([Sphere(0.1) for _ in range(10_000)])).table) == 1
    assert len(shape_list(Scene([Sphere(0.1, label=f"{i}") for i in range(1000)])).table) == 1000


def test_texts_of_marks_have_their_own_size_and_colour_and_change_with_each_state(window):
    def marks(k: int) -> np.ndarray:
        added = Marks()
        added.add("text", (0, 0, 1), text=f"score {k}", size=2, color=(1, 0, 0))
        return added._packed()

    show = Show(window, replace(ONE, camera=Camera((0, -10, 0), (0, 0, 0))), along_x(speed=0.0), marks=marks)
    for k in range(30):
        pixels = show.pixels(k * 100 + 50)
        (label,) = show.stage.labels
        assert (label.text, label.size, label.color) == (f"score {k}", 2, (255, 0, 0, 255))
    assert label.y_px == pytest.approx(SIZE_PX[1] / 2 - 2 * RADIUS_PX, abs=0.5)
    assert middle(pixels) == pytest.approx((SIZE_PX[0] / 2, SIZE_PX[1] / 2), abs=0.5), "a text has no solid"


def test_bodies_whose_marks_are_gone_are_followed_no_longer() -> None:
    attachments, count = Attachments(), 1000
    many, one = np.zeros(count, MARK), np.zeros(1, MARK)
    many["body"], one["body"] = np.arange(1, count + 1), 5
    assert attachments.set_marks(many, count)
    for _ in range(RECENT):
        attachments.set_marks(one, count)
    assert attachments.rows.tolist() == [4]
    for _ in range(RECENT):
        attachments.set_marks(one[:0], count)
    assert attachments.rows.tolist() == []
