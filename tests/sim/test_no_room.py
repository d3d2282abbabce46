"""A world that grows beyond the memory available: bodies that fit are shown, one warning, no effect on the world."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.end_to_end.processes import PATIENCE_S, until
from tests.sim.lab import Lab
from twixt.ipc.ring import memory
from twixt.ipc.ring.budget import NoRoom
from twixt.ipc.ring.memory import Memory
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session.host import Host
from twixt.ipc.system.interface import SharedMemoryError
from twixt.sim.publish.limits import RETRY_NS
from twixt.sim.show.show import show
from twixt.sim.show.view import View
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column
from twixt.sim.world.world import World

ROOM = 4


class Grows(World):
    dt = 0.02

    def __init__(self) -> None:
        self.bodies = Bodies(ROOM, columns={"heat": Column("f4")})
        self.scene = Scene([Sphere()] * ROOM)
        self.made = 0

    def step(self, dt: float) -> None:
        self.made += 1
        self.bodies.spawn((self.made, 0, 0))
        self.bodies.columns["heat"][:] = self.made


class GrowsInPlace(Grows):
    def write_bodies(self, records: NDArray[np.void]) -> None:
        records[:] = self.bodies.records
        records["position"][:, 1] = self.made


@pytest.mark.parametrize("kind", [Grows, GrowsInPlace])
def test_what_fits_is_shown_and_what_does_not_is_said_once(
    make_host: Callable[..., Host], capsys: pytest.CaptureFixture[str], kind: type[Grows]
) -> None:
    world = kind()
    host = make_host(ROOM)
    host.ring.set_columns(world.bodies._column_layout)
    asked: list[int] = []

    def refuse(count: int) -> None:
        asked.append(count)
        raise NoRoom(f"{count} bodies are too many")

    host.ring.reserve = refuse  # type: ignore[method-assign]
    lab = Lab(host, world)
    lab.run_ms(1000)
    assert len(world.bodies) > 40
    newest = host.ring.newest()
    assert newest is not None
    assert len(newest.bodies) == ROOM
    if kind is GrowsInPlace:
        assert (newest.bodies["position"][:, 1] > 10).all()
    assert (
        capsys.readouterr().err.count("viewers are shown 4 of 5 bodies, because memory is insufficient: 5 bodies") == 1
    )
    assert len(asked) < 4, "memory is asked for again now and then, not with each snapshot"

    del host.ring.reserve  # type: ignore[method-assign]  # there is room again
    lab.run_ms(2000)

    def are_shown() -> bool:
        lab.run_ms(20)  # the service thread makes the segment in real time
        newest = host.ring.newest()
        return newest is not None and len(newest.bodies) > 40

    until(are_shown, "all are shown")


def publish_fields(view: View, tick: int, count: int) -> None:
    view.publish(position=np.full((count, 3), tick), columns={"heat": np.full(count, tick)})


def publish_slot(view: View, tick: int, count: int) -> None:
    with view.slot(count, columns={"heat": np.full(count, tick)}) as records:
        records["position"] = tick


@pytest.mark.parametrize("publish", [publish_fields, publish_slot])
def test_a_view_whose_jump_finds_no_memory_shows_what_fits_says_it_once_and_tries_again_a_second_later(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, publish: Callable[[View, int, int], None]
) -> None:
    asked: list[int] = []
    make = memory.make

    def refuse(size: int) -> Memory:
        asked.append(size)
        raise SharedMemoryError("no descriptors")

    with show(Scene([Sphere()] * ROOM), columns={"heat": Column("f4")}, viewer=False) as view:
        publish(view, 1, ROOM)
        host = view._host
        many = 2 * host.ring.capacity
        monkeypatch.setattr(memory, "make", refuse)
        now_ns = 0
        monkeypatch.setattr("twixt.sim.show.publishing.time.perf_counter_ns", lambda: now_ns)
        for tick in range(2, 40):
            publish(view, tick, many)
            host.ring.await_room(PATIENCE_S)
        newest = host.ring.newest()
        assert newest is not None
        assert (len(newest.bodies), newest.head.tick) == (many // 2, 38)
        assert (newest.bodies["position"] == 39).all()
        assert (newest.columns["heat"] == 39).all()
        said = f"viewers are shown {many // 2:,} of {many:,} bodies, because memory is insufficient: no descriptors"
        assert capsys.readouterr().err.count(said) == 1
        before = len(asked)
        now_ns = RETRY_NS
        for tick in range(40, 60):
            publish(view, tick, many)
            host.ring.await_room(PATIENCE_S)
        until(lambda: len(asked) > before, "memory is asked for again")
        assert len(asked) <= 2 * before
        monkeypatch.setattr(memory, "make", make)

        def is_asked_again() -> bool:
            nonlocal now_ns
            now_ns += RETRY_NS  # a failed attempt from before may be reported only now
            publish(view, 60, many)
            return host.ring.capacity >= many

        until(is_asked_again, "there is room again")
        publish(view, 61, many)
        newest = host.ring.newest()
        assert newest is not None
        assert (newest.bodies["position"] == 61).all()
        assert len(newest.bodies) == many
        assert not capsys.readouterr().err


def test_a_spawn_beyond_the_memory_there_is_is_refused_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = Bodies(3)
    before = bodies.records.copy()
    monkeypatch.setattr("twixt.ipc.ring.budget.SMALL_BYTES", 0)
    monkeypatch.setattr("twixt.ipc.ring.budget.free_bytes", lambda: 100)
    with pytest.raises(NoRoom, match="bodies would need .* MiB are free; use fewer bodies"):
        bodies.spawn((1, 0, 0))
    assert np.array_equal(bodies.records, before)
    monkeypatch.undo()
    assert bodies.spawn((1, 0, 0)) == 3
