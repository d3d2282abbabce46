"""Parts that a newer scene moves are drawn where they were in the snapshots before; records, pixels, and a whole viewer."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.draw.parts_apart import tumbling
from tests.render.scene.changing import AHEAD, SNAPSHOTS, WIDE_PX, Rig, Situation
from twixt.ipc.scene import Box, Capsule, Compound, Part, Plane, Scene, Sphere
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.draw.bodies.part_changes import RowShapes, moved_parts
from twixt.render.draw.bodies.shape_rows import PartRows, part_rows
from twixt.render.interpolation.quaternion import multiply, normalized, rotate

HALF = 0.5**0.5
BLUE, RED = Sphere(0.1, (0, 0, 1)), Sphere(0.2, (1, 0, 0))


def scene(*places: float, turn: tuple[float, ...] = (0, 0, 0, 1)) -> Scene:
    """Bodies of two parts; the second part of each at that x, so turned."""
    return Scene([Compound([Part(Box()), Part(Sphere(), (x, 0.5, 0), turn)]) for x in places])


def of(parts: PartRows) -> RowShapes:
    return RowShapes(parts.scene, parts, len(parts.first))


def in_world(records: np.ndarray, parts: PartRows) -> tuple[np.ndarray, np.ndarray]:
    """Positions and orientations of parts, of records one a row."""
    turn = normalized(records["orientation"])
    own = parts.poses.astype(np.float64)
    at = records["position"] + rotate(turn, own[:, :3] * records["scale"][:, None])
    return at, multiply(turn, own[:, 3:])


def test_parts_that_moved_and_turned_are_where_they_were_and_other_rows_stay() -> None:
    old, new = scene(1.0, 2.0, 3.0), scene(1.0, -4.0, 3.0, turn=(0, 0, HALF, HALF))
    before, after = part_rows(old, 3), part_rows(new, 3)
    records = tumbling(3, 1)[before.bodies]
    records["scale"] = 1.5
    records["flags"] = [HAS_VELOCITY | HAS_ANGULAR_VELOCITY] * 4 + [HAS_VELOCITY] * 2
    moved = moved_parts(of(before), of(after))
    assert moved.rows.tolist() == [1, 3, 5]
    kept = moved.kept_in_place(records)
    for one, other in zip(in_world(records, before), in_world(kept, after), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert kept[::2].tobytes() == records[::2].tobytes()
    assert kept["flags"].tolist() == [6, 6, 6, 6, 2, 0]
    assert len(moved.kept_in_place(records[:4])) == 4


def test_without_moved_parts_there_is_nothing_to_do() -> None:
    parts = part_rows(scene(1.0, 2.0), 2)
    assert moved_parts(of(parts), of(part_rows(scene(1.0, 2.0, 5.0), 3))) is None
    assert moved_parts(RowShapes(Scene([BLUE, BLUE]), None, 2), of(parts)) is None
    other_number = Scene([Compound([Part(Box(), (9, 0, 0))]), scene(2.0).shapes[0]])
    assert moved_parts(of(parts), of(part_rows(other_number, 2))) is None


def test_sizes_that_differ_by_one_factor_are_a_scale_and_other_sizes_and_kinds_are_not() -> None:
    flat, other = Box((1.0, 2.0, 4.0)), Sphere(0.3)
    before = Scene([Sphere(0.2), flat, Capsule(0.2, 1.0), other, Plane((1, 2)), flat])
    after = Scene([Sphere(0.4), Box((0.5, 1, 2)), Capsule(0.4, 1.0), Box((1, 1, 1)), Plane((3, 6)), flat])
    moved = moved_parts(RowShapes(before, None, 6), RowShapes(after, None, 6))
    assert moved.sized.tolist() == [0, 1, 4]
    records = tumbling(6, 1)
    kept = moved.kept_in_place(records)
    np.testing.assert_allclose(kept["scale"], records["scale"] * [0.5, 2, 1, 1, 1 / 3, 1], rtol=1e-6)
    kept["scale"] = records["scale"]
    assert kept.tobytes() == records.tobytes()


def test_bodies_beyond_the_last_shape_of_a_scene_have_its_size() -> None:
    moved = moved_parts(RowShapes(Scene([BLUE]), None, 4), RowShapes(Scene([Sphere(0.2)]), None, 4))
    assert moved.sized.tolist() == [0, 1, 2, 3]
    assert moved.kept_in_place(tumbling(2, 1))["scale"].tolist() == (tumbling(2, 1)["scale"] * 0.5).tolist()


def test_a_part_of_another_size_stays_where_it_is() -> None:
    before, after = (part_rows(Scene([Compound([Part(Sphere(r), (1, 0, 0))])]), 1) for r in (0.2, 0.1))
    records = tumbling(1, 1)
    kept = moved_parts(of(before), of(after)).kept_in_place(records)
    np.testing.assert_allclose(in_world(records, before)[0], in_world(kept, after)[0], atol=1e-5)
    assert kept["scale"][0] == records["scale"][0] * 2


class Recentred(Situation):
    """A body of one part, which rests at x = 1 while the body's own frame jumps to another place."""

    def parents(self, k: int) -> dict[int, int]:
        return {}

    def part_x(self, k: int) -> float:
        return 1.0 if k < 3 else -3.0

    def scene(self, k: int) -> Scene:
        parts = Compound([Part(RED, (self.part_x(k), 0, 0))])
        return Scene([BLUE, BLUE, BLUE, BLUE, parts, BLUE], camera=AHEAD, ground_z=None, look="unlit")

    def bodies(self, k: int) -> np.ndarray:
        bodies = super().bodies(k)
        bodies["position"][4, 0] = 1.0 - self.part_x(k)
        return bodies


@pytest.mark.parametrize("method", ["none", "linear", "hermite", "auto"])
@pytest.mark.parametrize("is_cut", [False, True], ids=["", "cut"])
def test_a_part_at_rest_rests_in_every_frame_while_its_bodys_frame_moves(method: str, is_cut: bool) -> None:
    situation = Recentred(is_cut=is_cut)
    rig = Rig(OffscreenWindow(WIDE_PX), situation, method)
    columns = []
    try:
        rig.stage.choose(**rig.settings)
        for frame in range(4 * (SNAPSHOTS - 2) + 1):
            rig.frame(frame / 4, WIDE_PX)
            rig.stage.renderer.finish()
            red = rig.stage.renderer.read_pixels()[:, :, 0] > 127
            columns.append(float(np.flatnonzero(red.any(axis=0)).mean()))
    finally:
        rig.close()
    assert np.ptp(columns) <= 0.5, columns


def test_a_scene_that_comes_without_a_snapshot_is_drawn_at_once() -> None:
    situation = Recentred()
    rig = Rig(OffscreenWindow(WIDE_PX), situation, "linear")
    try:
        rig.stage.choose(**rig.settings)
        rig.frame(1, WIDE_PX)
        rig.host.write_scene(situation.scene(9))
        rig.await_scene()
        rig.frame(1, WIDE_PX)
        rig.stage.renderer.finish()
        red = rig.stage.renderer.read_pixels()[:, :, 0] > 127
        assert np.flatnonzero(red.any(axis=0)).mean() < WIDE_PX[0] / 2
    finally:
        rig.close()
