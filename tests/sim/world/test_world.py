from __future__ import annotations

import numpy as np
import pytest

import twixt
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.sim.world.world import World, drawable_scene, reset_world, writes_in_place
from twixt.sim.world.world_guard import check_world


class Bare(World):
    def step(self, dt: float) -> None: ...


def bare(**attributes: object) -> World:
    world = Bare()
    world.bodies, world.scene = twixt.Bodies(2), Scene([Sphere()] * 2)
    for name, value in attributes.items():
        setattr(world, name, value)
    return world


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"bodies": np.zeros(3)}, "must be a Bodies"),
        ({"scene": None}, "must be a Scene"),
        ({"dt": 0}, "got 0"),
        ({"dt": float("nan")}, "got nan"),
        ({"dt": "fast"}, "got 'fast'"),
        ({"dt": 1e9}, "from 1e-06 to 86400"),
        ({"scene": Scene([Sphere()] * 3)}, "3 shapes for 2 bodies"),
    ],
)
def test_a_world_that_cannot_run_is_refused_before_it_does(attributes: dict[str, object], said: str) -> None:
    with pytest.raises(TwixtError, match=said):
        check_world(bare(**attributes))


def test_a_scene_without_shapes_is_drawn_with_balls_and_no_bodies_are_fine() -> None:
    empty = bare(bodies=twixt.Bodies(0), scene=Scene())
    check_world(empty)
    assert len(drawable_scene(empty).shapes) == 1
    before_the_first_spawn = bare(bodies=twixt.Bodies(0), scene=Scene([Sphere(0.1)]))
    check_world(before_the_first_spawn)
    assert drawable_scene(before_the_first_spawn).shapes[0] == Sphere(0.1)
    full = bare()
    assert drawable_scene(full) is full.scene


def test_a_world_without_a_step_says_what_to_write() -> None:
    with pytest.raises(NotImplementedError, match=r"World has no step\(self, dt\)"):
        World().step(1.0)


def test_a_reset_is_called_as_it_takes_the_seed() -> None:
    class Seeded(Bare):
        def reset(self, seed: int) -> None:
            self.got = seed

    class Otherwise(Seeded):
        def reset(self, begin: int) -> None:
            self.got = begin

    class Named(Seeded):
        def reset(self, *, options: object = None, seed: int = 0) -> None:
            self.got = seed

    class Alone(Seeded):
        def reset(self) -> None:  # type: ignore[override]
            self.got = -1

    for kind, got in ((Seeded, 7), (Otherwise, 7), (Named, 7), (Alone, -1)):
        world = kind()
        assert reset_world(world, 7)
        assert world.got == got
    assert not reset_world(Bare(), 7)
    assert not reset_world(bare(reset=True), 7)


def test_what_a_world_leaves_out_is_the_base_classs() -> None:
    world = bare()
    world.bodies.position[1] = 2.0
    assert not writes_in_place(world)
    assert world.diagnostics() == {}
    records = new_bodies(len(world.bodies))
    world.write_bodies(records)
    assert records.tobytes() == world.bodies.records.tobytes()
    with pytest.raises(NotImplementedError, match="has no reset"):
        world.reset(0)
