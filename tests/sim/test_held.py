"""What a world may change while it runs, and what viewers are told of it."""

from __future__ import annotations

import pytest

from twixt.ipc.scene import ColorBy, Scene, Sphere
from twixt.sim.bodies import Bodies
from twixt.sim.columns import Column
from twixt.sim.held import Held, WorldChanged
from twixt.sim.world import World


class Still(World):
    """Three bodies with a column; nothing happens."""

    def __init__(self) -> None:
        self.bodies = Bodies(3, columns={"heat": Column("f4")})
        self.scene = Scene([Sphere()] * 3, color_by=ColorBy("heat"))


def test_viewers_are_told_once_of_another_scene_and_of_other_columns() -> None:
    world = Still()
    held = Held(world)
    assert held.look(world, 1) is None
    world.scene = Scene([Sphere(2.0)] * 3)
    told = held.look(world, 2)
    assert told is not None
    assert told.distinct_shapes == (Sphere(2.0),)
    world.bodies = Bodies(3, columns={"gear": Column("i2", rule="none")})
    told = held.look(world, 3)
    assert told is not None
    assert dict(told.columns) == {"gear": "none"}
    world.bodies.spawn()
    assert held.look(world, 4) is None


def test_other_bodies_without_the_column_that_colours_them_are_refused() -> None:
    world = Still()
    held = Held(world)
    world.bodies = Bodies(3)
    with pytest.raises(WorldChanged, match="color_by must name a declared column"):
        held.look(world, 1)


def test_a_reset_may_bring_another_number_of_bodies_but_none_at_all_is_refused() -> None:
    world = Still()
    held = Held(world)
    world.bodies = Bodies(5, columns={"heat": Column("f4")})
    assert held.anew(world) is None
    with pytest.raises(WorldChanged, match=r"was Bodies\(5\) and is Bodies\(4\) after step 1"):
        world.bodies = Bodies(4)
        held.look(world, 1)
    del world.bodies
    with pytest.raises(WorldChanged, match="must be a Bodies"):
        held.anew(world)


def test_a_dt_that_changes_later_is_told_once_for_steps_stay_as_long_as_they_were() -> None:
    world = Still()
    held = Held(world)
    held.look(world, 1)
    assert held.warning() == ""
    for step in (2, 3):
        world.dt = 0.5 / step
        held.look(world, step)
        said = held.warning()
        assert bool(said) == (step == 2)
        if said:
            assert "Still.dt was 0.0166667 and is 0.25 after step 2; steps stay 0.0166667 s long" in said
    other = Held(fresh := Still())
    fresh.dt = 0.1
    other.anew(fresh)
    assert "is 0.1 after a reset" in other.warning()
