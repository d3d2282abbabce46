"""Fields passed again and again are written into slots alone; nobody can tell it from what is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sim.lab import MakeHost
from twixt.ipc.errors import TwixtError
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import BODY, Head
from twixt.sim.publish.limits import BodyLimit
from twixt.sim.show.shown_bodies import ShownBodies, _count_of
from twixt.sim.world import body_fields
from twixt.sim.world.columns import Column, Columns

KINDS = (np.float32, np.float64, np.int16)
FIELDS = ("position", "orientation", "velocity", "angular_velocity", "scale", "color")
SLOTS = 16


class Shown:
    """Bodies that are shown on a host, and what a reader would find there."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.now = ShownBodies(host.ring, Columns({"heat": Column("f4")}, 4), 1, BodyLimit(host.ring, print))
        self.now.allocate(4)
        self.tick = 0

    def show(self, fields: dict[str, Any], **others: Any) -> bytes:
        others = {"columns": {}, "visible": None, "ids": None, "cut": None} | others
        if self.now.is_under_way:
            self.now.settle()
        with self.now.write(fields, **others) as slot:
            self.tick += 1
            slot.head = Head(tick=self.tick)
        self.now.complete()
        newest = self.host.ring.newest()
        assert newest is not None
        assert newest.head.tick == self.tick
        return newest.bodies.tobytes() + newest.columns["heat"].tobytes()


class Plain(Shown):
    """The same without slots that are written in part."""

    def show(self, fields: dict[str, Any], **others: Any) -> bytes:
        self.now.state = self.now.state._replace(fields=("none",))
        return super().show(fields, **others)


@pytest.fixture
def two_hosts(make_host: MakeHost, monkeypatch: pytest.MonkeyPatch) -> tuple[Host, Host]:
    hosts = []
    for name in ("left", "right"):
        monkeypatch.setattr("tests.sim.conftest.open_listener", lambda _, name=name: _open(name))
        hosts.append(make_host())
    for host in hosts:
        host.ring.set_columns({"heat": ("<f4", 1)})
    return hosts[0], hosts[1]


def _open(name: str) -> Any:
    from twixt.ipc.session import open_listener

    return open_listener(name)


def values(random: np.random.Generator, field: str, count: int, kind: Any) -> Any:
    if field == "scale":
        return random.random(count)
    if field == "color":
        return random.integers(0, 255, (count, 4)).astype(np.uint8)
    if field == "orientation":
        q = random.normal(size=(count, 4))
        return (q / np.linalg.norm(q, axis=1)[:, None]).astype(np.float32 if kind is np.int16 else kind)
    array = (random.normal(size=(count, 3)) * 10).astype(kind)
    return array if random.random() < 0.7 else np.asfortranarray(array)


# What is done so many times in a row: fields by place, bodies, a cut, some hidden, heat.
RUNS = st.lists(
    st.tuples(
        st.sets(st.integers(0, 5), min_size=1, max_size=3),
        st.integers(0, 12),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from([1, 2, SLOTS + 3]),
    ),
    max_size=5,
)


@given(RUNS, st.integers(0, 2**32 - 1), st.integers(1, 5))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_is_passed_what_is_shown_is_always_as_if_all_were_written(
    two_hosts: tuple[Host, Host], runs: list[Any], seed: int, piece: int
) -> None:
    before, body_fields.CHUNK_BODIES = body_fields.CHUNK_BODIES, piece
    try:
        random = np.random.default_rng(seed)
        start = [host.ring.newest() for host in two_hosts]
        tested, plain = Shown(two_hosts[0]), Plain(two_hosts[1])
        tested.tick, plain.tick = (0 if newest is None else newest.head.tick for newest in start)
        for places, count, cuts, hides, heats, times in runs:
            names = [FIELDS[place] for place in sorted(places)]
            for number in range(times):
                fields = {name: values(random, name, count, KINDS[seed % 3]) for name in names}
                others: dict[str, Any] = {}
                if cuts and number == times // 2:
                    others["cut"] = random.random(_count_of(fields, None, tested.now.state)) < 0.5
                if hides and number == times - 1:
                    others["visible"] = random.random(_count_of(fields, None, tested.now.state)) < 0.5
                if heats:
                    others["columns"] = {"heat": number}
                shapes = {len(value) for value in fields.values()}
                assert len(shapes) == 1
                if _count_of(fields, None, tested.now.state) not in shapes:
                    continue  # scale and colour alone do not say how many
                assert tested.show(fields, **others) == plain.show(fields, **others)
    finally:
        body_fields.CHUNK_BODIES = before


def position(count: int, x: float) -> np.ndarray:
    return np.full((count, 3), x, np.float32)


@pytest.fixture
def shown(make_host: MakeHost) -> Shown:
    host = make_host(10_000)
    host.ring.set_columns({"heat": ("<f4", 1)})
    return Shown(host)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_refused_half_way_through_changes_nothing(shown: Shown, kind: Any) -> None:
    count = 10_000
    still = np.tile(np.array([0, 0, 0, 1], kind), (count, 1))
    for x in range(2 * SLOTS):
        last = shown.show({"position": position(count, x), "orientation": still})
    wrong = still.copy()
    wrong[4_000] = np.nan
    wrong[9_000] *= 2
    wrong[9_500] = 0
    with pytest.raises(TwixtError, match=r"orientation must be unit .* of length 2 for body 9000; divide"):
        shown.now.write({"position": position(count, 99), "orientation": wrong}, {"heat": 5}, None, None, None)
    newest = shown.host.ring.newest()
    assert newest is not None
    assert newest.bodies.tobytes() + newest.columns["heat"].tobytes() == last
    # The next ones find all that was there, also in records that are written whole.
    seen = np.frombuffer(shown.show({"velocity": position(count, 1)})[: count * BODY.itemsize], BODY)
    assert (seen["position"] == 2 * SLOTS - 1).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("field", ["position", "orientation", "velocity", "scale", "color"])
def test_what_is_not_finite_is_written_and_told_of_in_any_slot_and_piece(shown: Shown, field: str, kind: Any) -> None:
    count = 10_000
    well = np.zeros((count, {"orientation": 4, "scale": 1}.get(field, 3)), kind)
    well[:, -1] = 1
    well = well[:, 0] if field == "scale" else well
    sick = well.copy()
    sick[9_000] = np.nan
    sick[9_500] = np.inf
    for x in range(2 * SLOTS):
        others = {} if field == "position" else {"position": position(count, x)}
        seen = np.frombuffer(shown.show({field: sick, **others})[: count * BODY.itemsize], BODY)
        assert shown.now.not_drawable == (field,)
        if field == "color":
            assert (seen["color"][[9_000, 9_500]] == 255).all()
            assert seen["color"][0].tolist() == [0, 0, 255, 255]
        else:
            rows = seen[field].reshape(count, -1)
            assert np.flatnonzero(~np.isfinite(rows).all(axis=1)).tolist() == [9_000, 9_500]
    shown.show({field: well, "position": position(count, 0)} if field != "position" else {field: well})
    assert shown.now.not_drawable == ()


def test_a_quaternion_far_from_unit_length_is_found_in_any_piece(shown: Shown) -> None:
    turns = np.zeros((10_000, 4), np.float32)
    turns[:, 3] = 1
    for _ in range(2 * SLOTS):
        shown.show({"orientation": turns})
    turns[5_000] *= 0.9
    with pytest.raises(TwixtError, match=r"unit quaternions .* of length 0\.9 for body 5000"):
        shown.show({"orientation": turns})
    turns[5_000] = (0, 0, 0, 1.002)  # rounding, as far as a body's own goes
    shown.show({"orientation": turns})


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_quaternion_of_zeros_is_shown_and_told_of_in_any_slot(shown: Shown, kind: Any) -> None:
    turns = np.zeros((10_000, 4), kind)
    turns[:, 3] = 1
    turns[5_000] = 0
    for _ in range(2 * SLOTS):
        seen = np.frombuffer(shown.show({"orientation": turns})[: 10_000 * BODY.itemsize], BODY)
        assert shown.now.not_drawable == ("orientation",)
        assert (seen["orientation"] == turns).all()
    turns[5_000, 0] = 0.5
    with pytest.raises(TwixtError, match=r"unit quaternions .* of length 0\.5 for body 5000"):
        shown.show({"orientation": turns})


@pytest.mark.parametrize("count", [0, 1, 5, 10_000])
@pytest.mark.parametrize(
    "given_as",
    [
        lambda turns: turns.astype(np.float32),
        lambda turns: turns,
        lambda turns: np.asfortranarray(turns),
        lambda turns: np.repeat(turns.astype(np.float32), 2, axis=0)[::2],
        lambda turns: np.concatenate((turns, turns), axis=1)[:, :4],
    ],
    ids=["float32", "float64", "columns", "every second row", "part of a row"],
)
def test_quaternions_in_the_other_order_are_the_same_in_any_slot(shown: Shown, count: int, given_as: Any) -> None:
    random = np.random.default_rng(3)
    for publish in range(2 * SLOTS):
        turns = values(random, "orientation", count, np.float64)
        given = given_as(turns[:, [3, 0, 1, 2]] if publish % 3 else turns)
        before = given.copy()
        seen = np.frombuffer(shown.show({"orientation": given}, w_first=publish % 3 > 0)[: count * BODY.itemsize], BODY)
        assert seen["orientation"].tolist() == turns.astype(np.float32).tolist()
        assert np.array_equal(given, before), "the user's array is left as it was"


def test_what_cannot_be_drawn_is_found_in_the_other_order_and_named_as_it_was_given(shown: Shown) -> None:
    turns = np.zeros((10_000, 4))
    turns[:, 0] = 1
    for _ in range(2 * SLOTS):
        shown.show({"orientation": turns}, w_first=True)
        assert shown.now.not_drawable == ()
    turns[7] = np.nan
    shown.show({"orientation": turns}, w_first=True)
    assert shown.now.not_drawable == ("orientation",)
    turns[7] = (0.5, 0, 0, 0.25)
    with pytest.raises(TwixtError) as refused:
        shown.show({"orientation": turns}, w_first=True)
    assert str(refused.value) == (
        "orientation must be unit quaternions (w, x, y, z), got [0.5, 0.0, 0.0, 0.25] of length 0.559 for body 7; "
        "divide each by its length"
    )


@pytest.mark.parametrize("publishes", [1, 2 * SLOTS])
def test_quaternions_whose_errors_cancel_are_found_however_often_the_field_came(shown: Shown, publishes: int) -> None:
    turns = np.zeros((10_000, 4), np.float32)
    turns[:, 3] = 1
    for _ in range(publishes - 1):
        shown.show({"orientation": turns})
    turns[5_000], turns[5_001] = (0, 0, 0, 1.2), (0, 0, 0, 0.748331)  # 1.44 + 0.56: the squares of two units
    with pytest.raises(TwixtError, match=r"unit quaternions .* of length 1\.2 for body 5000 and 1 more"):
        shown.show({"orientation": turns})


def test_huge_but_finite_numbers_are_shown(shown: Shown) -> None:
    for _ in range(2 * SLOTS):
        shown.show({"position": position(3, 3e38)})
    with np.errstate(all="raise"):
        shown.show({"position": np.full((3, 3), -3e38)})


def test_fields_that_are_repeated_are_not_kept_a_second_time(shown: Shown) -> None:
    for x in range(2 * SLOTS):
        shown.show({"position": position(4, x)})
    assert (shown.now.records["position"][:4, 0] < SLOTS + 1).all()  # so this is what is tested here


def test_nothing_that_was_passed_is_held_on_to(shown: Shown) -> None:
    import weakref

    passed = []
    for x in range(2 * SLOTS):
        array = position(4, x)
        passed.append(weakref.ref(array))
        shown.show({"position": array})
        del array
    assert [reference() for reference in passed] == [None] * len(passed)


def test_bodies_that_were_hidden_once_stay_hidden_in_every_slot(shown: Shown) -> None:
    for x in range(2 * SLOTS):
        shown.show({"position": position(3, x)})
    first = np.frombuffer(shown.show({"position": position(3, 0)}, visible=np.array([True, False, True])), np.uint8)
    for x in range(2 * SLOTS):
        seen = np.frombuffer(shown.show({"position": position(3, x)})[: 3 * BODY.itemsize], BODY)
        assert (seen["flags"] & 1).tolist() == [1, 0, 1]
        assert (seen["epoch"] == first[: 3 * BODY.itemsize].view(BODY)["epoch"]).all()
    assert (shown.now.records["position"][:3, 0] < SLOTS + 1).all()  # not written a second time
