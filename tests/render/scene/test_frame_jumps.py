"""FrameJumps: bodies whose own frame a scene moves, on records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from twixt.ipc.scene import Box, Compound, Part, Scene, Sphere
from twixt.ipc.snapshot import CORRECTION_STEP, Snapshot, new_bodies
from twixt.render.scene.shapes_in_time import FrameJumps, jumped_bodies

HALF_TURN = (0.0, 0.0, 1.0, 0.0)


def of_parts(*places: float) -> Compound:
    return Compound([Part(Sphere(0.1), (x, 0, 0)) for x in places])


def at(xs: Sequence[float], scales: Sequence[float] | float = 1.0) -> np.ndarray:
    bodies = new_bodies(len(xs))
    bodies["position"][:, 0], bodies["scale"] = xs, scales
    return bodies


def test_bodies_whose_record_makes_up_for_their_parts_or_size_jump_and_others_do_not() -> None:
    before = Scene([of_parts(1, 2), of_parts(1, 2), of_parts(1, 2), of_parts(1, 2), of_parts(1, 2)])
    after = Scene([of_parts(-1, 0), of_parts(-1, 2), of_parts(-1, 0), of_parts(1, 2), of_parts(0.8, 1.8)])
    # Recentred; one part moved; both moved, not made up for; as before; carried on by a metre while both move a little.
    older, newer = at([0, 0, 0, 0, 0]), at([2, 2, 0.5, 2, 1])
    assert jumped_bodies(older, before, newer, after).tolist() == [0]


def test_a_frame_that_turns_jumps_and_so_do_its_children() -> None:
    part = Part(Box(), (1, 0, 0))
    turned = Part(Box(), (-1, 0, 0), (0, 0, -1, 0))
    before, after = (Scene([Compound([one]), Box(), Box()], parents={2: 0}) for one in (part, turned))
    older, newer = at([0, 0, 0]), at([0, 0, 0])
    newer["orientation"][0] = HALF_TURN
    assert jumped_bodies(older, before, newer, after).tolist() == [0, 2]


def test_a_size_jumps_only_with_a_scale_that_makes_up_for_it() -> None:
    before, after = Scene([Sphere(0.1)] * 3), Scene([Sphere(0.2)] * 3)
    assert jumped_bodies(at([0, 0, 0]), before, at([0, 0.1, 3], [0.5, 1, 0.5]), after).tolist() == [0]
    assert jumped_bodies(at([0]), before, at([0], 0.5), Scene([Box()])).tolist() == []


def test_epochs_count_the_jumps_of_each_body_from_then_on_in_their_low_half() -> None:
    small, large = Scene([Sphere(0.1)] * 2), Scene([Sphere(0.1), Sphere(0.2)])
    jumps, found = FrameJumps(), []
    for k, (own, scale) in enumerate([(small, 1), (large, 0.5), (large, 0.5), (small, 1)]):
        bodies = at([0, 0], [1, scale])
        bodies["epoch"] = [0xFFFF, CORRECTION_STEP + 0xFFFF]
        found.append(jumps.marked(Snapshot(k, bodies), own).bodies["epoch"].tolist())
    assert [one[0] for one in found] == [0xFFFF] * 4
    assert [one[1] for one in found] == [CORRECTION_STEP + count for count in (0xFFFF, 0, 0, 1)]


def test_nothing_jumps_into_another_world() -> None:
    jumps = FrameJumps()
    for world_epoch, radius, scale in ((0, 0.1, 1.0), (1, 0.2, 0.5)):
        snapshot = Snapshot(0, at([0], scale), world_epoch=world_epoch)
        assert jumps.marked(snapshot, Scene([Sphere(radius)])).bodies["epoch"].tolist() == [0]
