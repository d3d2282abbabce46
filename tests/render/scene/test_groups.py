"""One part of a picture: who watches its bodies."""

from __future__ import annotations

import numpy as np

from twixt.render.scene.groups import BodyGroup, GroupDefinition, PosingRules
from twixt.render.snapshots.history import History


def test_a_watcher_that_goes_on_to_another_parts_bodies_is_none_of_this_one() -> None:
    part = BodyGroup(
        GroupDefinition("main", rows=np.arange(3)), "linear", PosingRules(), pose_slot=0, history=History(3)
    )
    part.watch("camera", np.array([2]))
    assert part.needs_copies
    part.watch("camera", np.array([7]))
    assert not part.needs_copies
    assert part.watched("camera") is None
