"""Part columns between two snapshots: by the shaders and by numpy, cut with their body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.scene.staged import ONE, Show
from twixt.ipc.scene import Box, Compound, Group, Part
from twixt.ipc.snapshot import new_bodies

# Two boxes side by side, white; the camera looks along y.
PAIR = Compound([Part(Box((1, 1, 1), (1, 1, 1)), (-1, 0, 0)), Part(Box((1, 1, 1), (1, 1, 1)), (1, 0, 0))])
SCENE = replace(ONE, shapes=[PAIR])
AT_MS = 450  # in the middle of the interval that begins with snapshot 4
OLD, NEW = (255, 0, 0, 255), (255, 255, 0, 255)


def colors(k: int) -> dict[str, np.ndarray]:
    return {"color": np.array([OLD if k < 5 else NEW, (0, 0, 255, 255)], np.uint8)}


def quartered(old, new, alpha):
    return old + (new - old) * alpha / 2.0


QUARTERED = f"{__name__}:quartered"
HALF_WAY = [("linear", 0.5), ("none", 0.0), ("latest", 1.0), (QUARTERED, 0.25)]


def shown(window, rule: str = "linear", bodies=lambda k: new_bodies(1), part_columns=colors, **flags) -> Show:
    names = tuple(part_columns(0))
    scene = replace(flags.pop("scene", SCENE), columns=dict.fromkeys(names, rule), part_columns=names)
    show = Show(window, scene, bodies, part_columns=part_columns, **flags)
    show.stage.main.watch("test", None)
    for at_ms in range(0, AT_MS, 50):
        show.draw(at_ms)
    return show


def sides(show: Show, at_ms: float) -> tuple[list[int], list[int]]:
    """Colours in the middle of the left box and of the right one."""
    pixels = show.pixels(at_ms)
    lit = np.flatnonzero((pixels.max(axis=2) > 40).any(axis=0))
    row, left, right = pixels.shape[0] // 2, int(lit.min()), int(lit.max())
    third = (right - left) // 6
    return pixels[row, left + third].tolist(), pixels[row, right - third].tolist()


@pytest.mark.parametrize("group", [False, True], ids=["", "in a group"])
@pytest.mark.parametrize("method", ["auto", "linear", "hermite", "catmull", "extrapolate"])
@pytest.mark.parametrize(("rule", "share"), HALF_WAY)
def test_a_parts_colour_follows_the_rule_of_its_column(window, method, rule, share, group):
    groups = {"one": Group([0], interpolation=method)} if group else {}
    scene = replace(SCENE, groups=groups)
    show = shown(window, rule, scene=scene, interpolation="linear" if group else method)
    left, right = sides(show, AT_MS)
    np.testing.assert_allclose(left, (255, 255 * share, 0), atol=4)
    assert right == [0, 0, 255]
    if not group:
        seen = show.stage.main.watched("test").part_columns["color"]
        np.testing.assert_allclose(seen, [(255, 255 * share, 0, 255), (0, 0, 255, 255)], atol=4)


def test_chase_goes_smoothly_from_what_was_drawn(window):
    show = shown(window, interpolation="chase")
    left, right = sides(show, AT_MS)
    assert left[0] == 255
    assert 0 < left[1] < 255
    assert right == [0, 0, 255]


@pytest.mark.parametrize("method", ["auto", "catmull"])
def test_a_cut_of_the_body_is_a_cut_of_its_parts(window, method):
    def cut(k: int) -> np.ndarray:
        bodies = new_bodies(1)
        bodies["epoch"] = k >= 5
        return bodies

    show = shown(window, bodies=cut, interpolation=method)
    assert sides(show, AT_MS)[0] == [255, 0, 0]
    assert sides(show, 510)[0] == [255, 255, 0]


@pytest.mark.parametrize("method", ["auto", "catmull"])
def test_visibility_switches_at_the_newer_snapshot(window, method):
    def seen(k: int) -> dict[str, np.ndarray]:
        return {"visible": np.array([k < 5, True])}

    def width(at_ms: float) -> int:
        return int((show.pixels(at_ms).max(axis=2) > 40).any(axis=0).sum())

    show = shown(window, "none", part_columns=seen, interpolation=method)
    both, one = width(AT_MS), width(510)
    assert one == pytest.approx(both / 2, abs=3)


@pytest.mark.parametrize("method", ["auto", "catmull"])
@pytest.mark.parametrize(("rule", "share"), HALF_WAY)
def test_a_parts_scale_follows_the_rule_of_its_column(window, method, rule, share):
    def scale3(k: int) -> dict[str, np.ndarray]:
        return {"scale3": np.array([(1, 1, 1), (1, 1, 1 + (k > 4))], np.float32)}

    def heights(at_ms: float) -> list[int]:
        lit = show.pixels(at_ms).max(axis=2) > 40
        middle = lit.shape[1] // 2
        return [int(half.any(axis=1).sum()) for half in (lit[:, :middle], lit[:, middle:])]

    show = shown(window, rule, part_columns=scale3, interpolation=method)
    low, between = heights(AT_MS)
    assert between / low == pytest.approx(1 + share, abs=0.1)


def test_a_body_of_a_group_is_blended_with_the_parts_of_its_own_place(window):
    scene = replace(SCENE, shapes=[Box((0.1, 0.1, 0.1)), PAIR], groups={"one": Group([1], interpolation="catmull")})

    def of_three(k: int) -> dict[str, np.ndarray]:
        return {"color": np.concatenate([[[9, 9, 9, 255]], colors(k)["color"]]).astype(np.uint8)}

    show = shown(window, scene=scene, bodies=lambda k: new_bodies(2), part_columns=of_three)
    np.testing.assert_allclose(sides(show, AT_MS), [(255, 128, 0), (0, 0, 255)], atol=4)
