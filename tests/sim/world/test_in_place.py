"""Worlds and loops that write their bodies directly into the memory that viewers read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.lab import Lab, MakeHost, Walk
from tests.sim.watched import Watched
from twixt.ipc.config.troubles import Troubles
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.ring import budget
from twixt.ipc.ring.slot import OpenSlot
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import BODY, VISIBLE, new_bodies
from twixt.sim.show.show import show
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column
from twixt.sim.world.world import filled_bodies, state_hash
from twixt.sim.world.world_guard import check_writes_all


class InPlace(Walk):
    """World with the walk of `Walk` in arrays of its own, which it writes in place."""

    def __init__(self, count: int = 3, seed: int = 0) -> None:
        super().__init__(count, seed)
        self.position = np.zeros((count, 3), np.float32)
        self.velocity = np.zeros((count, 3), np.float32)
        self.writes = 0

    def step(self, dt: float) -> None:
        self.spend()
        self.velocity[:] = self.random.normal(size=self.velocity.shape)
        self.position += self.velocity * dt

    def write_bodies(self, records: np.ndarray) -> None:
        self.writes += 1
        records.view(np.uint8)[:] = new_bodies(len(records)).view(np.uint8)
        records["position"], records["velocity"] = self.position, self.velocity
        records["flags"] |= 2


class Copied(Walk):
    """World with the same walk, published as a copy of its bodies."""

    def __init__(self, count: int = 3, seed: int = 0) -> None:
        super().__init__(count, seed)
        self.bodies.velocity[:] = 0  # counts as given from the start


def tell_apart(lab: Lab) -> list[Any]:
    """Records every snapshot published: tick, due instant, bytes of its bodies."""
    seen: list[Any] = []
    begin = lab.host.ring.begin

    def begun(*size: Any, **sizes: Any) -> OpenSlot:
        slot = begin(*size, **sizes)
        commit = slot.commit

        def noted(slot: OpenSlot) -> int | None:
            published_ns = commit(slot)
            newest = lab.host.ring.newest()
            assert newest is not None
            seen.append((newest.head.tick, newest.head.due_ns, newest.bodies.tobytes()))
            return published_ns

        slot.commit = noted
        return slot

    lab.host.ring.begin = begun  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize(
    "troubles",
    [
        Troubles(),
        Troubles(delay_ms=(60.0, 30.0)),
        Troubles(drop_percent=30.0),
        Troubles(drop_percent=20.0, delay_ms=(80.0, 20.0)),
    ],
)
def test_viewers_see_the_same_bytes_at_the_same_instants_as_of_a_world_that_is_copied(
    make_host: MakeHost, troubles: Troubles
) -> None:
    seen, hashes = [], []
    for kind in (Copied, InPlace):
        host = make_host()
        lab = Lab(host, kind(), troubles=troubles)
        snapshots = tell_apart(lab)
        lab.run_ms(1500)
        lab.physics.finish()
        seen.append(snapshots)
        hashes.append(state_hash(lab.world))
        host.end()
    assert len(seen[0]) > 30
    assert seen[0] == seen[1]
    assert hashes[0] == hashes[1]


def test_it_is_asked_once_a_snapshot_and_its_bodies_are_filled_when_somebody_asks(make_host: MakeHost) -> None:
    world = InPlace()
    lab = Lab(make_host(), world)
    lab.run_ms(1000)
    meter = lab.physics.publisher.meter
    assert world.writes == meter.published
    assert not world.bodies.position.any()
    assert (filled_bodies(world).position == world.position).all()
    assert world.position.any()


def test_one_that_raises_while_it_writes_is_a_crash_and_the_last_snapshot_stays(make_host: MakeHost) -> None:
    class Fails(InPlace):
        def write_bodies(self, records: np.ndarray) -> None:
            super().write_bodies(records)
            if self.writes == 4:
                records["epoch"] = 77
                raise ZeroDivisionError("while writing")

    host = make_host()
    lab = Lab(host, Fails())
    with pytest.raises(UserCodeCrashed, match=r"Fails\.write_bodies raised ZeroDivisionError: while writing"):
        lab.run_ms(1000)
    newest = host.ring.newest()
    assert newest is not None
    assert newest.number == 3
    assert not newest.bodies["epoch"].any()


def test_one_that_keeps_what_it_is_given_is_told_so(make_host: MakeHost) -> None:
    class Keeps(InPlace):
        def write_bodies(self, records: np.ndarray) -> None:
            super().write_bodies(records)
            self.kept = records["position"]

    with pytest.raises(UserCodeCrashed, match=r"Keeps\.write_bodies stores its argument: .*do not store records"):
        Lab(make_host(), Keeps())


@pytest.mark.parametrize("left", BODY.names or ())
def test_a_field_that_is_left_as_it_was_is_refused_by_name(left: str) -> None:
    class Leaves(InPlace):
        def write_bodies(self, records: np.ndarray) -> None:
            before = records[left][1].copy()
            super().write_bodies(records)
            records[left][1] = before

    with pytest.raises(
        TwixtError, match=f"Leaves.write_bodies must write every field .* did not write {left} of body 1"
    ):
        check_writes_all(Leaves())
    check_writes_all(InPlace())
    check_writes_all(InPlace(0))
    check_writes_all(Walk())


def test_a_body_of_its_that_is_nowhere_is_named_once(make_host: MakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    class Sick(InPlace):
        def step(self, dt: float) -> None:
            super().step(dt)
            self.position[2, 1] = np.nan

    Lab(make_host(), Sick()).run_ms(2000)
    said = capsys.readouterr().err
    assert said.count("twixt:") == 1
    assert "body 2 has the position" in said


def test_its_columns_go_out_as_always(make_host: MakeHost) -> None:
    class Warm(InPlace):
        def __init__(self, count: int = 3) -> None:
            super().__init__(count)
            self.bodies = Bodies(count, columns={"heat": Column("f4")})

        def step(self, dt: float) -> None:
            super().step(dt)
            self.bodies.columns["heat"][:] += 1

    host = make_host()
    lab = Lab(host, Warm())
    lab.run_ms(200)
    newest = host.ring.newest()
    assert newest is not None
    assert (newest.columns["heat"] == newest.head.tick).all()
    assert newest.head.tick > 3


# -- a loop of the user's own


@pytest.fixture
def watched() -> Iterator[Watched]:
    both = Watched(dt=0.01)
    yield both
    both.link.close()
    both.view.close()


def test_what_a_block_writes_is_seen_when_it_ends(watched: Watched) -> None:
    for x in range(40):
        with watched.view.slot(4) as records:
            assert records.dtype == BODY
            records["position"][:, 0] = x
        newest = watched.newest()
        assert (newest.bodies["position"][:, 0] == x).all()
        assert newest.sim_time_ns == x * 10_000_000
        assert (newest.bodies["flags"] == VISIBLE).all()
        assert (newest.bodies["orientation"][:, 3] == 1).all()
    with pytest.raises(ValueError, match="read-only"):
        records["position"] = 1


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_block_that_raises_shows_nothing_and_the_next_one_goes_on(watched: Watched, error: Any) -> None:
    with watched.view.slot(2) as records:
        records["epoch"] = 1
    with pytest.raises(error), watched.view.slot(2) as records:
        records["epoch"] = 2
        raise error
    assert (watched.newest().bodies["epoch"] == 1).all()
    with watched.view.slot(2) as records:
        records["epoch"] = 3
    assert [list(snapshot.bodies["epoch"]) for snapshot in watched.link.latest_pair()] == [[1, 1], [3, 3]]


def test_slots_grow_and_shrink_and_begin_as_visible_bodies(watched: Watched) -> None:
    for count in (4, 0, 900, 30, 5000, 4):
        for _ in range(2):
            with watched.view.slot(count) as records:
                assert len(records) == count
                assert (records["flags"] == VISIBLE).all()
                assert (records["scale"] == 1).all()
        assert len(watched.newest().bodies) == count


def test_a_slot_has_the_views_columns_and_time(watched: Watched) -> None:
    both = Watched(dt=0.01, columns={"heat": Column("f4"), "frame": Column("i2", rule="none")})
    try:
        with both.view.slot(2, columns={"heat": [1.0, 2.0]}, sim_time=5.0):
            pass
        with both.view.slot(9, columns={"frame": 3}):
            pass
        newest = both.newest()
        assert newest.sim_time_ns == 5_010_000_000
        assert newest.columns["heat"].tolist() == [1.0, 2.0] + [0.0] * 7
        assert newest.columns["frame"].tolist() == [3] * 9
        with pytest.raises(TwixtError, match="no column 'cold'"), both.view.slot(2, columns={"cold": 1}):
            pass
    finally:
        both.link.close()
        both.view.close()


def test_slots_and_fields_are_not_mixed(watched: Watched) -> None:
    with watched.view.slot(1), pytest.raises(TwixtError, match="published with slot, so publish cannot be used"):
        watched.view.publish(position=[[0, 0, 0]])
    other = Watched()
    other.view.publish(position=[[0, 0, 0]])
    with pytest.raises(TwixtError, match="published with publish, so slot cannot be used"), other.view.slot(1):
        pass
    with pytest.raises(TwixtError, match="another snapshot was begun"), watched.view.slot(1), watched.view.slot(1):
        pass  # the inner one raises
    with watched.view.slot(1):
        pass
    other.link.close()
    other.view.close()


@pytest.mark.parametrize("count", [-1, 2.5, "4", None, True])
def test_a_count_that_is_none_is_refused(watched: Watched, count: Any) -> None:
    with pytest.raises(TwixtError, match="whole number of bodies"), watched.view.slot(count):
        pass


def test_after_close_a_block_runs_and_shows_nothing(watched: Watched) -> None:
    watched.view.close()
    with watched.view.slot(3) as records:
        records["position"] = 1
    assert len(records) == 3


def test_a_view_closed_inside_a_block_harms_nobody(watched: Watched) -> None:
    with watched.view.slot(3) as records:
        watched.view.close()
        records["position"] = 1
    assert not watched.view.is_open


# -- memory that is not available


def test_bodies_that_do_not_fit_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TwixtError, match="at most 16,777,216 bodies, got 1,000,000,000, which would need 305,175 MiB"):
        Bodies(10**9)
    with pytest.raises(TwixtError, match="got 1,000,000,000"):
        show(Scene([Sphere()]), capacity=10**9, viewer=False)
    monkeypatch.setattr(budget, "free_bytes", lambda: 64 << 20)
    with pytest.raises(TwixtError, match="1,000,000 bodies would need .* 64 MiB are free; use fewer bodies"):
        Bodies(1_000_000)
    with pytest.raises(TwixtError, match="20,000 bodies would need"):
        Bodies(20_000, columns={f"c{i}": Column("f8", 64) for i in range(30)})
    Bodies(20_000)


def test_columns_beyond_the_bound_are_refused_with_it() -> None:
    Bodies(1, columns={f"c{i}": Column("f8", 64) for i in range(30)})
    heat = Column("f4")
    for count in (31, 100, 100_000):
        with pytest.raises(TwixtError, match=f"at most 30 columns, got {count:,}; use wider columns instead"):
            Bodies(1, columns={f"c{i}": heat for i in range(count)})


def test_a_view_that_cannot_grow_refuses_and_shows_on_what_it_had(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.view.publish(position=np.ones((4, 3)))
    monkeypatch.setattr(budget, "free_bytes", lambda: 64 << 20)
    for _ in range(2):
        with pytest.raises(TwixtError, match="1,000,000 bodies would need"):
            watched.view.publish(position=np.ones((1_000_000, 3), np.float32))
    watched.view.publish(orientation=[[0, 0, 1, 0]] * 4)
    newest = watched.newest()
    assert len(newest.bodies) == 4
    assert (newest.bodies["position"] == 1).all()
    assert not newest.bodies["epoch"].max() > 1


def test_a_world_that_grows_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = Bodies(200_000)
    monkeypatch.setattr(budget, "free_bytes", lambda: 64 << 20)
    with pytest.raises(TwixtError, match="bodies would need"):
        bodies.spawn()
    assert len(bodies) == 200_000
