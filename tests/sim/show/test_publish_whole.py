"""Records that a loop keeps and publishes whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.sim.watched import Watched
from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import new_bodies


@pytest.fixture
def watched() -> Iterator[Watched]:
    both = Watched()
    yield both
    both.link.close()
    both.view.close()


def test_the_records_are_shown_as_they_are_with_their_time_beside_those_of_slots(watched: Watched) -> None:
    records = new_bodies(3)
    ticks = []
    for number in range(5):
        records["position"][:, 0] = number, number + 1, number + 2
        watched.view.publish_whole(records, number / 10)
        seen = watched.newest()
        assert np.array_equal(seen.bodies, records)
        assert seen.sim_time_ns == number * 100_000_000
        ticks.append(seen.tick)
        with watched.view.slot(3, sim_time=number / 10 + 0.05) as slot:
            slot["position"][:] = 7
        seen = watched.newest()
        assert seen.bodies["position"].tolist() == [[7] * 3] * 3
        ticks.append(seen.tick)
    assert ticks == list(range(10))


def test_time_that_goes_back_restarts_the_world(watched: Watched) -> None:
    records = new_bodies(2)
    watched.view.publish_whole(records, 1.0)
    before = watched.newest().world_epoch
    watched.view.publish_whole(records, 0.5)
    assert watched.newest().world_epoch == before + 1


def test_more_bodies_than_there_is_room_for_come_too(watched: Watched) -> None:
    records = new_bodies(5_000)
    records["position"][:, 1] = np.arange(5_000)
    watched.view.publish_whole(records, 0.0)
    assert watched.view._host.await_room(60)
    assert np.array_equal(watched.newest().bodies, records)


def test_it_is_not_mixed_with_publish_and_silent_after_close(watched: Watched) -> None:
    records = new_bodies(2)
    watched.view.publish_whole(records, 0.0)
    with pytest.raises(TwixtError, match="published with slot"):
        watched.view.publish(position=np.zeros((2, 3)))
    watched.view.close()
    watched.view.publish_whole(records, 1.0)


def test_a_number_that_is_not_finite_is_named(watched: Watched, capfd: pytest.CaptureFixture[str]) -> None:
    records = new_bodies(2)
    records["position"][1] = np.nan
    watched.view.publish_whole(records, 0.0)
    assert "body 1 has the position" in capfd.readouterr().err
