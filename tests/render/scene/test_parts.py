"""Bodies of several parts on the stage: methods of numpy, groups, parents, and what sees bodies and not parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.draw.parts_apart import TOY, TWO, apart, assert_alike, tumbling
from tests.render.scene.staged import GAP_MS, Show
from twixt.ipc.scene import Box, Camera, Scene, Sphere
from twixt.ipc.scene.groups import Group
from twixt.render.interpolation.poses import records_of

EYE = Camera((0, -11, 5), (0, 0, 0))
TOYS = Scene([TWO, TOY, Sphere(0.4), TOY, TWO, Box()], camera=EYE)


def toys(k: int) -> np.ndarray:
    return tumbling(8, k, GAP_MS / 1000)


def assert_drawn_as_separate_bodies(window, show, at_ms):
    show.stage.main.watch("test", None)
    for before_ms in range(0, at_ms, 50):
        show.draw(before_ms)
    picture = show.pixels(at_ms)
    poses = show.stage.main.watched("test")
    assert len(poses) == 8, "watchers see bodies"
    scene, records = apart(show.stage.scene, records_of(poses))
    assert_alike(picture, Show(window, scene, lambda _k: records, interpolation="none").pixels(150), edges=0.004)


@pytest.mark.parametrize("method", ["auto", "catmull", "extrapolate", "kalman", "chase", "latest"])
def test_parts_are_where_separate_bodies_would_be_by_every_method(window, method):
    assert_drawn_as_separate_bodies(window, Show(window, TOYS, toys, interpolation=method), 530)


def test_parts_go_with_the_group_and_the_parent_of_their_body(window):
    scene = replace(TOYS, groups={"late": Group([1, 6], "linear", 130), "curved": Group([3], "catmull")}, parents={4: 3, 7: 0})  # fmt: skip
    show = Show(window, scene, toys)
    assert_drawn_as_separate_bodies(window, show, 530)
    assert len(show.draw(540).groups) == 4


def test_a_scene_that_gives_bodies_parts_is_drawn_at_once_and_one_that_takes_them_back(window):
    plain = Scene([Sphere(0.4)], camera=EYE)
    show = Show(window, plain, toys)
    first = show.pixels(250)
    for scene in (TOYS, plain, TOYS, plain):
        show.stage.set_scene(scene)
        if scene is TOYS:
            assert_alike(show.pixels(250), Show(window, TOYS, toys).pixels(250))
        else:
            np.testing.assert_array_equal(show.pixels(250), first)


def test_a_trail_follows_the_body_in_its_colour(window):
    scene = Scene([TWO], camera=EYE, ground_z=None)
    show = Show(window, scene, lambda k: tumbling(2, k, 1.0))
    show.choose(trails=True)
    for at_ms in range(100, 700, 10):
        show.draw(at_ms)
    (trails,) = show.stage._trails.of_picture.values()
    assert trails.rows.tolist() == [0, 1]
    drawn = show.stage.main.watched("trails")
    np.testing.assert_allclose(trails.colors[:, :3], drawn.color[:, :3], atol=1)
