"""Bodies that get a colour of their own while they are drawn: by the shaders, by numpy, and in trails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.scene.staged import ONE, Show
from twixt.ipc.scene import Group, Scene, Sphere
from twixt.ipc.scene.parts import PALETTE
from twixt.ipc.snapshot import HAS_COLOR, VISIBLE, new_bodies

RED = [255, 0, 0]
FIRST = 5  # the snapshot that gives the colour


def turned_red(k: int) -> np.ndarray:
    bodies = new_bodies(1)
    if k >= FIRST:
        bodies["color"], bodies["flags"] = (*RED, 255), VISIBLE | HAS_COLOR
    return bodies


def middle(show: Show, at_ms: float) -> list[int]:
    pixels = show.pixels(at_ms)
    return pixels[pixels.shape[0] // 2, pixels.shape[1] // 2].tolist()


@pytest.mark.parametrize("group", [False, True], ids=["", "in a group"])
@pytest.mark.parametrize("method", ["auto", "linear", "none", "hermite", "catmull", "kalman", "chase", "extrapolate"])
def test_a_body_goes_from_the_palettes_colour_to_its_own_without_a_third(
    window: object, method: str, group: bool
) -> None:
    scene = replace(ONE, groups={"one": Group([0], interpolation=method)} if group else {})
    show = Show(window, scene, turned_red, interpolation="linear" if group else method)  # type: ignore[arg-type]
    seen = [middle(show, at_ms) for at_ms in range(200, 1000, 20)]
    changes = [one for one, before in zip(seen[1:], seen, strict=False) if one != before]
    np.testing.assert_allclose(seen[0], PALETTE[0], atol=2)
    assert changes == [RED]


@pytest.mark.parametrize("method", ["auto", "catmull"])
def test_white_is_a_colour_if_it_is_given(window: object, method: str) -> None:
    def state(k: int) -> np.ndarray:
        bodies = new_bodies(1)
        bodies["flags"] |= HAS_COLOR
        return bodies

    show = Show(window, ONE, state, interpolation=method)  # type: ignore[arg-type]
    assert [middle(show, at_ms) for at_ms in (200, 450, 500)] == [[255] * 3] * 3


@pytest.mark.parametrize("method", ["auto", "catmull"])
def test_trails_have_the_colour_of_their_body(window: object, method: str) -> None:
    def state(k: int) -> np.ndarray:
        bodies = new_bodies(4)
        bodies["position"] = np.stack((np.full(4, 0.2 * k), np.zeros(4), np.arange(4)), axis=1)
        bodies["color"][1], bodies["color"][3] = (*RED, 255), (0, 0, 255, 255)
        bodies["flags"][2] |= HAS_COLOR
        return bodies

    shapes = [Sphere(0.2), Sphere(0.2), Sphere(0.2), Sphere(0.2, (0.0, 0.5, 0.5))]
    show = Show(window, Scene(shapes), state, interpolation=method)  # type: ignore[arg-type]
    show.choose(trails=True, interpolation=method)
    for at_ms in range(0, 800, 20):
        show.draw(at_ms)
    np.testing.assert_allclose(
        show.stage._trails.of_picture["main"].colors[:, :3], [PALETTE[0], RED, [255] * 3, [0, 0, 128]], atol=2
    )
