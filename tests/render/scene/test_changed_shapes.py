"""Shapes that a newer scene changes are drawn from its first snapshot on; pixels of a real host, socket, intake and drawing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.render.scene.changing import AHEAD, CHANGED_AT, SNAPSHOTS, START_NS, WIDE_PX, Rig, Situation
from twixt.ipc.scene import Box, Capsule, Compound, Part, Scene, Shape, Sphere
from twixt.ipc.scene.groups import Group
from twixt.ipc.snapshot import VISIBLE
from twixt.render.display.offscreen import OffscreenWindow

RED, GREEN = (1, 0, 0), (0, 1, 0)
RED_BALL, GREEN_BALL = Sphere(0.5, RED), Sphere(0.5, GREEN)
AHEAD_OF_BODY = Compound([Part(Sphere(0.4, RED), (1, 0, 0)), Part(Sphere(0.2, RED), (1, 0, 1))])
BEHIND_BODY = Compound(
    [Part(Sphere(0.4, RED), (3, 0, 0), (0, -1, 0, 0)), Part(Sphere(0.2, RED), (3, 0, -1), (0, -1, 0, 0))]
)
BLUE = Sphere(0.1, (0, 0, 1))
FRAMES = 4  # an interval
SHADED, BY_NUMPY = ("none", "linear", "hermite", "auto"), ("catmull", "extrapolate", "kalman", "chase")
CHANGE = FRAMES * CHANGED_AT  # the frame of the first snapshot of the newer scene


@functools.cache
def window() -> OffscreenWindow:
    return OffscreenWindow(WIDE_PX)


@dataclass(frozen=True)
class Shaped(Situation):
    """A body of one shape, then of another one. jump: metres; scale: after it."""

    first: Shape = RED_BALL
    second: Shape = GREEN_BALL
    jump: float = 0.0
    scale: float = 1.0
    groups: tuple[dict[str, Group], dict[str, Group]] = ({}, {})
    more: int = 0  # bodies that the newer scene has beside

    def scene(self, k: int) -> Scene:
        is_new = k >= CHANGED_AT
        shapes = [*[BLUE] * 4, self.second if is_new else self.first, BLUE, *[BLUE] * (self.more if is_new else 0)]
        return Scene(shapes, camera=AHEAD, ground_z=None, look="unlit", groups=self.groups[is_new])

    def parents(self, k: int) -> dict[int, int]:
        return {}

    def bodies(self, k: int) -> np.ndarray:
        bodies = super().bodies(k)
        if k >= CHANGED_AT:
            bodies["position"][4, 0] += self.jump
            bodies["scale"][4] = self.scale
        return bodies


@dataclass(frozen=True)
class Recentred(Shaped):
    """A body of two parts at rest, while its own frame jumps and turns by half a turn about y."""

    first: Shape = AHEAD_OF_BODY
    second: Shape = BEHIND_BODY

    def bodies(self, k: int) -> np.ndarray:
        bodies = super().bodies(k)
        bodies["position"][4, 0] = 0.0 if k < CHANGED_AT else 4.0
        if k >= CHANGED_AT:
            bodies["orientation"][4] = (0, 1, 0, 0)
        return bodies


def pictures(situation: Situation, method: str, upto: int = FRAMES * (SNAPSHOTS - 2), **settings: bool) -> np.ndarray:
    """Every frame, (frames, height, width, 3), from the first snapshot on."""
    rig = Rig(window(), situation, method)
    found = []
    try:
        rig.stage.choose(**rig.settings | settings)
        for frame in range(upto + 1):
            rig.frame(frame / FRAMES, WIDE_PX)
            rig.stage.renderer.finish()
            found.append(rig.stage.renderer.read_pixels())
    finally:
        rig.close()
    return np.array(found)


def masked(frames: np.ndarray, color: tuple[int, int, int]) -> np.ndarray:
    """Pixels of a colour, (frames, height, width)."""
    nears = (frames[..., i] > 155 if value else frames[..., i] < 100 for i, value in enumerate(color))
    return np.logical_and.reduce(list(nears))


def columns(mask: np.ndarray) -> np.ndarray:
    """Mean column of the pixels in each frame; NaN without any."""
    return np.array([np.flatnonzero(one.any(axis=0)).mean() if one.any() else np.nan for one in mask])


@pytest.mark.parametrize("method", [*SHADED, *BY_NUMPY])
@pytest.mark.parametrize("late", [False, True], ids=["scene first", "snapshot first"])
@pytest.mark.parametrize("is_cut", [False, True], ids=["", "cut"])
def test_a_body_that_changes_colour_and_place_has_the_new_colour_at_the_new_place_alone(method, late, is_cut) -> None:
    frames = pictures(Shaped(is_cut=is_cut, late=late, jump=2.0), method)
    red, green = masked(frames, RED).any(axis=(1, 2)), masked(frames, GREEN).any(axis=(1, 2))
    is_old = np.arange(len(frames)) < CHANGE
    assert (red == is_old).all(), red
    assert (green == ~is_old).all(), green


@pytest.mark.parametrize("method", ["auto", "catmull"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Sphere(0.5, RED), Box((1.0, 1.0, 1.0), RED)),
        (Box((1, 1, 1), RED), Box((1, 1, 2), RED)),
        (Compound([Part(Sphere(0.5, RED))]), Compound([Part(Box((1, 1, 1), RED))])),
        (Sphere(0.5, RED), Capsule(0.5, 1.0, RED)),
    ],
    ids=["a sphere, a box", "a longer box", "a part", "a capsule"],
)
def test_another_shape_is_drawn_from_its_own_snapshot_on(method: str, first: Shape, second: Shape) -> None:
    area = masked(pictures(Shaped(first=first, second=second), method), RED).sum(axis=(1, 2))
    assert len(set(area[:CHANGE].tolist())) == len(set(area[CHANGE:].tolist())) == 1, area
    assert area[CHANGE] > 1.2 * area[0], area


@pytest.mark.parametrize("method", [*SHADED, *BY_NUMPY])
@pytest.mark.parametrize("late", [False, True], ids=["scene first", "snapshot first"])
@pytest.mark.parametrize("is_part", [False, True], ids=["", "a part"])
def test_a_size_that_the_scale_makes_up_for_stays_in_every_frame(method: str, late: bool, is_part: bool) -> None:
    wrapped: Callable[[Shape], Shape] = (lambda shape: Compound([Part(shape)])) if is_part else (lambda shape: shape)
    first, second = wrapped(Sphere(0.5, RED)), wrapped(Sphere(1.0, RED))
    mask = masked(pictures(Shaped(first=first, second=second, scale=0.5, late=late), method), RED)
    widths = mask.any(axis=1).sum(axis=1)
    assert widths[0] > 8
    assert np.ptp(widths) <= 1, widths


@pytest.mark.parametrize("method", ["linear", "auto"])
def test_a_size_that_changes_is_blended_as_a_scale_is(method: str) -> None:
    mask = masked(pictures(Shaped(second=Sphere(1.0, RED)), method), RED)
    by_scene = mask.any(axis=1).sum(axis=1)
    same = Shaped(second=Sphere(0.5, RED), scale=2.0)
    by_scale = masked(pictures(same, method), RED).any(axis=1).sum(axis=1)
    assert np.abs(by_scene - by_scale).max() <= 1, (by_scene, by_scale)


@pytest.mark.parametrize("method", [*SHADED, *BY_NUMPY])
@pytest.mark.parametrize("late", [False, True], ids=["scene first", "snapshot first"])
def test_parts_at_rest_rest_while_their_bodys_frame_jumps_and_turns(method: str, late: bool) -> None:
    frames = pictures(Recentred(late=late), method)
    at = columns(masked(frames, RED))
    assert np.ptp(at) <= 0.5, at


@dataclass(frozen=True)
class RecentredParent(Recentred):
    """A child at rest of a body at rest whose own frame jumps and turns."""

    def parents(self, k: int) -> dict[int, int]:
        return {5: 4}

    def scene(self, k: int) -> Scene:
        scene = super().scene(k)
        return replace(scene, shapes=[*scene.shapes[:5], GREEN_BALL], parents=self.parents(k))

    def bodies(self, k: int) -> np.ndarray:
        bodies = super().bodies(k)
        bodies["position"][5] = (-2.0, 0, 0) if k < CHANGED_AT else (6.0, 0, 0)
        return bodies


@pytest.mark.parametrize("method", ["linear", "auto", "catmull"])
def test_a_child_of_a_body_whose_frame_jumps_rests(method: str) -> None:
    frames = pictures(RecentredParent(), method)
    for color in (RED, GREEN):
        at = columns(masked(frames, color))
        assert np.ptp(at) <= 0.5, at


@pytest.mark.parametrize("method", ["auto", "catmull"])
def test_a_scene_in_each_step_is_drawn_with_its_own_snapshot(method: str) -> None:
    class EachStep(Shaped):
        def scene(self, k: int) -> Scene:
            shade = Sphere(0.5, (1.0, k / 10, 0))
            return Scene([*[BLUE] * 4, shade, BLUE], camera=AHEAD, ground_z=None, look="unlit")

    situation = EachStep()
    rig = Rig(window(), situation, method)
    greens = []
    try:
        rig.stage.choose(**rig.settings)
        for k in range(SNAPSHOTS):
            rig.publish()
            rig.intake.receive()
            if k + 1 < SNAPSHOTS:
                rig.host.write_scene(situation.scene(k + 1))
                rig.await_scene()
        rig.intake.receive()
        for frame in range(2 * (SNAPSHOTS - 1) + 1):
            rig.frame(frame / 2, WIDE_PX)
            rig.stage.renderer.finish()
            pixels = rig.stage.renderer.read_pixels().astype(int)
            greens.append(round(pixels[pixels[:, :, 0] > 200][:, 1].mean() / 25.5))
    finally:
        rig.close()
    assert greens == [frame // 2 for frame in range(2 * (SNAPSHOTS - 1) + 1)]


@pytest.mark.parametrize("method", ["auto", "catmull"])
def test_bodies_that_a_scene_adds_leave_the_others_as_they_are(method: str) -> None:
    class More(Shaped):
        def bodies(self, k: int) -> np.ndarray:
            bodies = super().bodies(k)
            return bodies if k < CHANGED_AT else np.concatenate((bodies, bodies[-1:]))

    frames = pictures(More(jump=2.0, more=1), method)
    red, green = masked(frames, RED).any(axis=(1, 2)), masked(frames, GREEN).any(axis=(1, 2))
    is_old = np.arange(len(frames)) < CHANGE
    assert (red == is_old).all(), red
    assert (green == ~is_old).all(), green


@pytest.mark.parametrize("method", ["auto", "catmull"])
def test_a_scene_that_is_set_long_before_its_snapshot_waits_for_it_and_not_in_a_still_picture(method: str) -> None:
    situation = Shaped(jump=2.0)
    rig = Rig(window(), situation, method)

    def is_green(snapshots: float) -> bool:
        rig.window.screen.use()
        rig.stage.draw(START_NS + round(snapshots * rig.gap_ns), WIDE_PX)
        rig.stage.renderer.finish()
        return bool(masked(rig.stage.renderer.read_pixels().astype(int)[None], GREEN).any())

    try:
        rig.stage.choose(**rig.settings)
        for _ in range(CHANGED_AT):
            rig.publish()
            rig.intake.receive()
        is_green(1)
        rig.host.write_scene(situation.scene(CHANGED_AT))
        rig.await_scene()
        assert not is_green(1.25)
        assert rig.stage.moves_by_itself
        assert not is_green(1.5)
        rig.publish()
        rig.intake.receive()
        assert not rig.stage.moves_by_itself
        assert [is_green(k) for k in (1.75, 2.5, 2.9, 3.0, 3.0)] == [False, False, False, True, True]
        rig.host.write_scene(situation.scene(0))
        rig.await_scene()
        assert not is_green(3.0), "the picture stands still"
    finally:
        rig.close()


@dataclass(frozen=True)
class Changing(Shaped):
    """A body that moves on while its scene changes otherwise. parts: of the newer scene. fewer: bodies go with it."""

    jump: float = 0.0
    speed: float = 0.4
    fewer: bool = False
    column: bool = False

    def scene(self, k: int) -> Scene:
        scene = super().scene(k)
        count = 5 if self.fewer and k >= CHANGED_AT else 6
        columns = {"columns": {"heat": "linear"}} if self.column and k >= CHANGED_AT else {}
        return replace(scene, shapes=scene.shapes[:count], **columns)

    def bodies(self, k: int) -> np.ndarray:
        return super().bodies(k)[: 5 if self.fewer and k >= CHANGED_AT else 6]


CHANGES = {
    "into a group": Changing(groups=({}, {"hand": Group([4])}), second=RED_BALL),
    "out of a group": Changing(groups=({"hand": Group([4])}, {}), second=RED_BALL),
    "into another group": Changing(groups=({"left": Group([4])}, {"right": Group([4, 1])}), second=RED_BALL),
    "more parts": Changing(
        first=Compound([Part(RED_BALL)]), second=Compound([Part(RED_BALL), Part(Sphere(0.1, RED), (0, 2, 0))])
    ),
    "fewer parts": Changing(first=Compound([Part(RED_BALL), Part(Sphere(0.1, RED))]), second=RED_BALL),
    "fewer bodies": Changing(fewer=True, second=RED_BALL),
    "a column declared": Changing(column=True, second=RED_BALL),
    "another colour": Changing(),
    "another size": Changing(second=Sphere(0.3, RED)),
    "another kind": Changing(second=Box((0.5, 0.5, 0.5), RED)),
}


@functools.cache
def unchanged_columns(method: str) -> np.ndarray:
    """Where the body is in each frame while its scene stays."""
    return columns(masked(pictures(replace(CHANGES["another size"], second=RED_BALL), method), RED))


@pytest.mark.parametrize("method", ["linear", "auto", "catmull", "extrapolate"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_body_that_moves_goes_on_evenly_while_its_scene_changes(method: str, change: str) -> None:
    frames = pictures(CHANGES[change], method)
    at = columns(masked(frames, RED) | masked(frames, GREEN))
    still = unchanged_columns(method)
    assert at == pytest.approx(still, abs=0.6), at - still
    assert at[-1] - at[0] > 15


@pytest.mark.parametrize("method", [*SHADED, "catmull"])
@pytest.mark.parametrize("is_shown", [False, True], ids=["is hidden", "is shown"])
def test_a_body_is_hidden_and_shown_with_its_snapshot_whatever_its_scene_changes(method: str, is_shown: bool) -> None:
    class Seen(Shaped):
        def bodies(self, k: int) -> np.ndarray:
            bodies = super().bodies(k)
            if (k >= CHANGED_AT) != is_shown:
                bodies["flags"][4] &= 0xFFFF ^ VISIBLE
            return bodies

    frames = pictures(Seen(jump=2.0), method)
    before = np.arange(len(frames)) < CHANGE
    none = np.zeros(len(frames), bool)
    assert (masked(frames, RED).any(axis=(1, 2)) == (none if is_shown else before)).all()
    assert (masked(frames, GREEN).any(axis=(1, 2)) == (~before if is_shown else none)).all()


class Stretched(Shaped):
    """Bodies with a column `scale3`."""

    def scene(self, k: int) -> Scene:
        return replace(super().scene(k), columns={"scale3": "linear"})

    def columns(self, k: int) -> dict[str, np.ndarray]:
        return {"scale3": np.tile(np.array([2, 1, 1], "<f4"), (6, 1))}


@pytest.mark.parametrize("method", [*SHADED, *BY_NUMPY])
def test_a_stretched_body_keeps_its_size_and_changes_its_colour_with_its_place(method: str) -> None:
    change = Stretched(first=Sphere(0.25, RED), second=Sphere(0.5, RED), scale=0.5)
    widths = masked(pictures(change, method), RED).any(axis=1).sum(axis=1)
    assert widths[0] > 8
    assert np.ptp(widths) <= 1, widths
    frames = pictures(Stretched(jump=2.0), method)
    is_old = np.arange(len(frames)) < CHANGE
    assert (masked(frames, RED).any(axis=(1, 2)) == is_old).all()
    assert (masked(frames, GREEN).any(axis=(1, 2)) == ~is_old).all()
