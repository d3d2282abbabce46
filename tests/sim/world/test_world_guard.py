"""Changes that a world may make while it runs, and their publication."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.lab import MakeHost
from twixt.ipc.interaction.controls import Button, Slider, Toggle
from twixt.ipc.interaction.plots import PlotRecorder
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.scene import ColorBy, Scene, Sphere
from twixt.ipc.scene.scene import shape_list
from twixt.sim.publish.event_buffer import EventBuffer
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column
from twixt.sim.world.world import World, state_hash
from twixt.sim.world.world_guard import GuardedWorld


class Still(World):
    """World of three bodies with a column, whose step does nothing."""

    def __init__(self) -> None:
        self.bodies = Bodies(3, columns={"heat": Column("f4")})
        self.scene = Scene([Sphere()] * 3, color_by=ColorBy("heat"))


def no_warning(said: str) -> None:
    raise AssertionError(said)


def test_viewers_are_told_once_of_another_scene_and_of_other_columns() -> None:
    world = Still()
    guard = GuardedWorld(world, lambda: world, 0, no_warning)
    assert guard.check_step(1) is None
    world.scene = Scene([Sphere(2.0)] * 3)
    told = guard.check_step(2)
    assert told is not None
    assert shape_list(told).table == (Sphere(2.0),)
    world.bodies = Bodies(3, columns={"gear": Column("i2", rule="none")})
    told = guard.check_step(3)
    assert told is not None
    assert dict(told.columns) == {"gear": "none"}
    world.bodies.spawn()
    assert guard.check_step(4) is None


def test_other_bodies_without_the_column_that_colours_them_are_refused() -> None:
    world = Still()
    guard = GuardedWorld(world, lambda: world, 0, no_warning)
    world.bodies = Bodies(3)
    with pytest.raises(UserCodeCrashed, match="color_by must name a declared column"):
        guard.check_step(1)


def test_a_reset_may_bring_another_number_of_bodies_but_none_at_all_is_refused() -> None:
    world = Still()
    guard = GuardedWorld(world, lambda: world, 0, no_warning)
    world.bodies = Bodies(5, columns={"heat": Column("f4")})
    assert guard.reset() is None
    with pytest.raises(UserCodeCrashed, match=r"was Bodies\(5\) and is Bodies\(4\) after step 1"):
        world.bodies = Bodies(4)
        guard.check_step(1)
    del world.bodies
    with pytest.raises(UserCodeCrashed, match="must be a Bodies"):
        guard.reset()


def test_a_dt_that_changes_later_is_told_once_for_steps_stay_as_long_as_they_were() -> None:
    world, said = Still(), []
    guard = GuardedWorld(world, lambda: world, 0, said.append)
    guard.check_step(1)
    assert not said
    for step in (2, 3):
        world.dt = 0.5 / step
        guard.check_step(step)
        assert len(said) == 1
    assert "Still.dt was 0.0166667 and is 0.25 after step 2, but steps are still 0.0166667 s long" in said[0]
    other, said = Still(), []
    guard = GuardedWorld(other, lambda: other, 0, said.append)
    other.dt = 0.1
    guard.reset()
    assert "is 0.1 after a reset" in said[0]


class Yields(Still):
    """World whose step only makes a generator."""

    def step(self, dt: float) -> Iterator[float]:  # type: ignore[override]
        yield dt


class Awaits(Still):
    """World whose step only makes a coroutine."""

    async def step(self, dt: float) -> None:  # type: ignore[override]
        """Never runs."""


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize(("world", "words"), [(Yields, "Yields.step is a generator"), (Awaits, "Awaits.step is async")])
def test_a_step_whose_call_runs_nothing_is_refused(world: type[Still], words: str) -> None:
    guarded = GuardedWorld(world(), world, 0, no_warning)
    with pytest.raises(UserCodeCrashed, match=words):
        guarded.step(0.01)


def test_a_world_of_shapes_too_small_to_be_seen_is_told_so_when_it_begins() -> None:
    world, warnings = Still(), list[str]()
    world.scene = Scene([Sphere(1e-10)] * 3)
    GuardedWorld(world, Still, 0, warnings.append)
    assert [warning[:38] for warning in warnings] == ["the Sphere of body 0 is 2e-10 m across"]


def test_motion_that_is_lost_is_reported_once_also_after_a_reset(make_host: MakeHost) -> None:
    class Drives(Still):
        def step(self, dt: float) -> None:
            self.bodies.position[1, 0] += 1.0

        def reset(self) -> None:
            self.bodies.teleport(1, (5.4e6, 0, 0))

    warnings, host = list[str](), make_host()
    guarded = GuardedWorld(Drives(), Drives, 0, warnings.append)
    for _ in range(3):
        guarded.reset()
        for tick in range(1, 400):
            guarded.step(0.01)
            guarded.check_some_bodies(tick, 0.01, host)
        assert len(warnings) == 1
    assert warnings[0].startswith("body 1 at x = 5,400,")


class Steered(Still):
    """World with controls, and a reset if `resets` is set."""

    resets = False

    def __init__(self) -> None:
        super().__init__()
        self.speed, self.score = Slider("speed", 1, 0, 5), Slider("score", 0, 0, 100)
        self.light, self.kick = Toggle("light"), Button("kick")
        self.controls = [self.speed, self.score, self.light, self.kick]

    def reset(self) -> None:  # type: ignore[override]
        self.__init__()  # type: ignore[misc]


class Remade(Steered):
    """The same without a reset of its own."""

    reset = World.reset


@pytest.mark.parametrize("kind", [Steered, Remade])
def test_a_reset_keeps_what_a_user_set_and_not_what_the_world_set(kind: type[Steered]) -> None:
    guard = GuardedWorld(kind(), kind, 0, no_warning)
    world: Any = guard.world
    for index, value in enumerate((4.0, 0.0, 1.0, 1.0)):
        if index != 1:
            guard.set_control(index, value)
    world.score.value = 50.0
    before = world.speed
    for _ in range(2):
        guard.reset()
        world = guard.world
        assert world.speed is not before
        assert world.speed.value == 4.0
        assert world.score.value == 0.0
        assert world.light.is_on
        assert not world.kick.pressed()


def test_a_control_that_stays_in_a_reset_keeps_the_value_that_the_reset_gives_it() -> None:
    class Kept(Steered):
        def reset(self) -> None:  # type: ignore[override]
            self.speed.value = 1.0

    guard = GuardedWorld(Kept(), Kept, 0, no_warning)
    guard.set_control(0, 4.0)
    guard.reset()
    assert guard.world.controls[0].value == 1.0  # type: ignore[union-attr]


class Plotting(Still):
    """World that plots in its step."""

    def step(self, dt: float) -> None:
        self.plot("energy", 1.0, kinetic=2.0)
        self.plot("error", 3.0)


def test_plots_of_a_world_are_recorded_also_after_a_reset_and_not_without_a_run_or_of_a_copy(
    make_host: MakeHost,
) -> None:
    Plotting().step(0.1)
    recorder = PlotRecorder(tuple)
    world = Plotting()
    without = state_hash(world)
    guard = GuardedWorld(world, Plotting, 0, no_warning)
    recorder.next_time_s = lambda: 7.0
    guard.record(recorder, EventBuffer(make_host(), no_warning))
    guard.step(0.1)
    assert state_hash(world) == without
    message = recorder.message(1 << 40)
    assert message is not None
    assert message[0] == {"plots": [["energy", [["kinetic", 1]]], ["error", [["", 1]]]]}
    assert np.frombuffer(message[1]).tolist() == [1.0, 2.0, 7.0, 3.0]
    copy.deepcopy(world).step(0.1)
    pickle.loads(pickle.dumps(world)).step(0.1)
    assert recorder.due_ns is None
    guard.reset()
    guard.step(0.1)
    assert recorder.due_ns is not None
