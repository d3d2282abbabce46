"""Columns for colours and for the scale along each axis: blended by their rule, by every method, shader or numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.scene.staged import ONE, Show
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.scene.groups import ColorBy, Group
from twixt.ipc.snapshot import new_bodies

WHITE = replace(ONE, shapes=[Sphere(0.5, color=(1, 1, 1))])
BY = ColorBy("heat", low=0, high=1, low_color=(0, 1, 0), high_color=(1, 1, 0))
OLD, NEW, AT_MS = 0.0, 1.0, 450  # in the middle of the interval that begins with snapshot 4


def heat(k: int) -> dict[str, np.ndarray]:
    return {"heat": np.array([float(k > 4)], np.float32)}


def stretch(k: int) -> dict[str, np.ndarray]:
    return {"scale3": np.array([[1.0 + (k > 4), 1.0, 1.0]], np.float32)}


def quartered(old, new, alpha):
    return old + (new - old) * alpha / 2


QUARTERED = f"{__name__}:quartered"
# Between 0 and 1, half way; the newest one is published by then.
HALF_WAY = [("linear", 0.5), ("none", 0.0), ("latest", 1.0), (QUARTERED, 0.25)]


def shown(window, scene: Scene, columns, watched: bool = False, **flags) -> Show:
    show = Show(window, scene, lambda k: new_bodies(1), columns=columns, **flags)
    if watched:
        show.stage.main.watch("test", None)
    for at_ms in range(0, AT_MS, 50):
        show.draw(at_ms)
    return show


def red_share(pixels: np.ndarray) -> float:
    """Red of the body, 0..1; its green must be equally bright."""
    return float(pixels[:, :, 0].sum() / pixels[:, :, 1].sum())


@pytest.mark.parametrize("group", [False, True], ids=["", "in a group"])
@pytest.mark.parametrize("method", ["auto", "linear", "catmull", "chase"])
@pytest.mark.parametrize(("rule", "share"), HALF_WAY)
def test_the_colour_follows_the_rule_of_its_column(window, method, rule, share, group):
    groups = {"one": Group([0], interpolation=method)} if group else {}
    scene = replace(WHITE, columns={"heat": rule}, color_by=BY, groups=groups)
    show = shown(window, scene, heat, watched=True, interpolation="linear" if group else method)
    red = red_share(show.pixels(AT_MS))
    if method == "chase":  # a smooth curve of its own between the values of two snapshots
        assert red == pytest.approx(share, abs=0.02) if rule in ("none", "latest") else 0 < red < 1
    else:
        assert red == pytest.approx(share, abs=0.02)
    assert show.stage.main.watched("test").color[0, 0] / 255 == pytest.approx(red, abs=0.02), (
        "who watches sees that too"
    )
    assert red_share(show.pixels(500)) == pytest.approx(1.0, abs=0.02) or method == "chase"


@pytest.mark.parametrize("method", ["auto", "catmull"])
@pytest.mark.parametrize(("rule", "share"), HALF_WAY)
def test_the_scale_along_each_axis_follows_the_rule_of_its_column(window, method, rule, share):
    show = shown(window, replace(WHITE, columns={"scale3": rule}), stretch, interpolation=method)

    def width_px(at_ms: float) -> int:
        return int((show.pixels(at_ms).max(axis=2) > 127).any(axis=0).sum())

    before, between, after = (width_px(at_ms) for at_ms in (395, AT_MS, 500))
    assert after / before == pytest.approx(1.0 if rule == "latest" else 2.0, abs=0.1)
    assert between / after == pytest.approx((1 + share) / 2, abs=0.06)


def test_the_shaders_draw_what_they_can_and_numpy_what_a_function_says(window):
    for rule, by_numpy in (("linear", False), ("none", False), ("latest", True), (QUARTERED, True), ("angle", True)):
        show = shown(window, replace(WHITE, columns={"heat": rule}, color_by=BY), heat)
        assert show.stage.needs_copies == by_numpy
        assert (show.draw(AT_MS).main.layer.next_slot is None) == by_numpy


def test_another_rule_in_a_scene_published_again_holds_from_then_on(window):
    scene = replace(WHITE, columns={"heat": "linear"}, color_by=BY)
    show = shown(window, scene, heat)
    show.stage.set_scene(replace(scene, columns={"heat": "none"}))
    assert red_share(show.pixels(AT_MS)) == 0
    show.stage.set_scene(scene)
    assert red_share(show.pixels(AT_MS)) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("rule", ["linear", "none", QUARTERED])
@pytest.mark.parametrize("method", ["auto", "none", "latest", "catmull"])
def test_a_world_without_bodies_has_no_colours_and_those_that_come_have_theirs(window, rule, method):
    def there(k: int) -> int:
        return 0 if k < 3 else k

    scene = replace(WHITE, columns={"heat": rule}, color_by=BY)
    show = Show(
        window, scene, lambda k: new_bodies(there(k)), columns=lambda k: {"heat": np.ones(there(k), np.float32)},
        interpolation=method,
    )  # fmt: skip
    for at_ms in range(0, 600, 50):
        pixels = show.pixels(at_ms)
    assert red_share(pixels) == pytest.approx(1.0, abs=0.02)
