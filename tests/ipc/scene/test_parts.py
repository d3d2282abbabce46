from __future__ import annotations

import numpy as np
import pytest

from twixt.ipc.scene import Box, Compound, Material, Part, Scene, SceneError, Sphere, Texture
from twixt.ipc.scene.parts import PALETTE, part_colors

RED, GLASS = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.5)
ROBOT = Compound([Part(Box(color=RED)), Part(Sphere()), Part(Sphere(color=GLASS), (0, 0, 1))])
SCENE = Scene([Sphere(), ROBOT, Compound([]), ROBOT, Box()])


def test_parts_follow_the_order_of_their_bodies() -> None:
    assert SCENE.part_bodies().tolist() == [0, 1, 1, 1, 2, 3, 3, 3, 4]
    assert SCENE.part_bodies(2).tolist() == [0, 1, 1, 1]
    assert SCENE.part_bodies(7).tolist() == [0, 1, 1, 1, 2, 3, 3, 3, 4, 5, 6]
    assert Scene([]).part_bodies(3).tolist() == [0, 1, 2]


def test_a_part_has_the_scenes_colour_or_that_of_its_bodys_place_in_the_palette() -> None:
    colors = part_colors(SCENE, 5)
    palette = [[*PALETTE[body].tolist(), 255] for body in range(5)]
    robot = [[255, 0, 0, 255], None, [0, 0, 255, 128]]
    expected = [palette[0], robot[0], palette[1], robot[2], palette[2], robot[0], palette[3], robot[2], palette[4]]
    assert colors.tolist() == expected


def test_a_texture_without_a_colour_is_white() -> None:
    image = Material(texture=Texture(np.zeros((2, 2, 3), np.uint8)))
    assert part_colors(Scene([Box(material=image)]), 1).tolist() == [[255] * 4]


@pytest.mark.parametrize("names", ["color", 3, ["heat"], [3]])
def test_part_columns_of_a_scene_are_among_its_columns(names: object) -> None:
    with pytest.raises(SceneError, match=r"Scene.part_columns must be"):
        Scene([Sphere()], columns={"color": "linear"}, part_columns=names)  # type: ignore[arg-type]
