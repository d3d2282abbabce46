"""Bodies of a view that users drag: their positions, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.watched import Watched
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import Pull
from twixt.sim.show import draggable

PATIENCE_S = 30.0


@pytest.fixture
def watched() -> Iterator[Watched]:
    both = Watched()
    yield both
    both.link.close()
    both.view.close()


def until(is_so: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s


def test_a_body_is_where_it_was_published_until_it_is_dragged_and_stays_where_it_was_dragged_to(
    watched: Watched,
) -> None:
    watched.view.publish(position=[(1, 2, 3), (4, 5, 6)])
    target = watched.view.draggable(1)
    assert (target.body, target.position.tolist(), target.position.dtype) == (1, [4, 5, 6], np.float64)
    assert not target.is_dragged
    until(lambda: [watched.link.wait(0.02)] and watched.link.status.get("draggable") == [1])
    watched.link.send_action(Pull(1, at=(4, 5, 6.5), target=(7, 5, 8.5), position=(4, 5, 6), force=(9, 9, 9)))
    watched.link.send_action(Pull(0, target=(7, 7, 7)))
    until(lambda: target.position.tolist() == [7, 5, 8])
    watched.link.send_action(Pull(1, target=(0, 0, 1)))
    until(lambda: target.is_dragged)
    watched.link.send_action(Pull())
    until(lambda: not target.is_dragged)
    assert target.position.tolist() == [0, 0, 1]


def test_a_draggable_body_has_no_force_and_the_others_have(watched: Watched) -> None:
    target = watched.view.draggable(1, position=(0, 0, 0))
    watched.link.send_action(Pull(1, force=(1, 0, 0)))
    until(lambda: target.is_dragged)
    assert watched.view.forces() == {}
    watched.link.send_action(Pull(0, force=(1, 0, 0)))
    until(lambda: list(watched.view.forces()) == [0])


def test_the_program_may_move_the_body_and_a_changed_array_changes_nothing(watched: Watched) -> None:
    target = watched.view.draggable(0, position=np.array([1, 2, 3]))
    target.position[0] = 9
    assert target.position.tolist() == [1, 2, 3]
    target.position = [4, 5, 6]
    again = watched.view.draggable(0)
    assert again.position.tolist() == [4, 5, 6]
    assert watched.view.draggable(0, position=(0, 0, 0)).position.tolist() == again.position.tolist() == [0, 0, 0]
    for wrong in ((1, 2), (1, 2, np.nan), "here", None):
        with pytest.raises(TwixtError, match="position of a draggable body must be three finite numbers"):
            target.position = wrong  # type: ignore[assignment]
    with pytest.raises(TwixtError, match="position of a draggable body must be three finite numbers"):
        watched.view.draggable(0, position=(1, 2))
    assert target.position.tolist() == [0, 0, 0]


@pytest.mark.parametrize("body", [-1, 4, 1.0, True, "arm", None])
def test_a_body_that_does_not_exist_is_refused(watched: Watched, body: Any) -> None:
    with pytest.raises(TwixtError, match=r"draggable\(body\) must be the index of one of 4 bodies, got"):
        watched.view.draggable(body, position=(0, 0, 0))


def test_bodies_that_are_published_count_whatever_the_number_of_shapes(watched: Watched) -> None:
    watched.view.publish(position=np.zeros((9, 3)))
    assert watched.view.draggable(np.int64(8)).position.tolist() == [0, 0, 0]
    with pytest.raises(TwixtError, match="one of 9 bodies, got 9"):
        watched.view.draggable(9)


def test_a_body_without_a_position_needs_one(watched: Watched) -> None:
    for _ in range(2):
        with pytest.raises(TwixtError, match=r"body 1 has no position yet; .* view.draggable\(1, position="):
            watched.view.draggable(1)
        watched.view.publish(position=[(0, 0, 0), (np.nan, 0, 0)])


def test_a_closed_view_has_no_draggable_bodies_and_a_position_outlives_it(watched: Watched) -> None:
    target = watched.view.draggable(0, position=(1, 2, 3))
    watched.view.close()
    assert (target.position.tolist(), target.is_dragged) == ([1, 2, 3], False)
    with pytest.raises(TwixtError, match="this view is closed"):
        watched.view.draggable(0)


def test_more_draggable_bodies_than_a_message_has_room_for_are_refused(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draggable, "MOST_DRAGGABLE", 2)
    for body in (0, 1, 1):
        watched.view.draggable(body, position=(0, 0, 0))
    with pytest.raises(TwixtError, match="may have 2 draggable bodies at most"):
        watched.view.draggable(2, position=(0, 0, 0))
    assert watched.view.draggable(0).position.tolist() == [0, 0, 0]
