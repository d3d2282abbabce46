"""Events of a user's own loop, as a reader of its ring gets them."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.watched import Watched
from twixt.ipc.errors import InvalidType, InvalidValue
from twixt.ipc.ring.events import Event, event_of
from twixt.sim.publish.event_buffer import MOST_A_STEP

PLACES = np.zeros((4, 3))


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched(dt=0.5)
    yield made
    made.link.close()
    made.view.close()


def events_of(watched: Watched) -> list[Event]:
    """The events that were not read yet."""
    ring: Any = watched.link.events
    return [event_of(record, ring.names[record["name"]]) for record in ring.unread().records]


def test_an_event_is_published_with_the_next_state_and_has_its_time(watched: Watched) -> None:
    view = watched.view
    view.emit("start")
    assert events_of(watched) == []
    view.publish(position=PLACES, sim_time=3.0)
    assert events_of(watched) == [Event("start", 3.0)]
    view.emit("hit", body=3, position=(1, 2, 3), strength=2, values=(4, 5), text="hard", at=3.25)
    view.emit_many("spark", body=[0, 1])
    view.publish(position=PLACES)
    assert events_of(watched) == [
        Event("hit", 3.25, 3, (1.0, 2.0, 3.0), 2.0, (4.0, 5.0), "hard"),
        Event("spark", 3.5, 0),
        Event("spark", 3.5, 1),
    ]


def test_a_slot_publishes_events_too(watched: Watched) -> None:
    watched.view.emit("hit", body=1)
    watched.view.emit("missing", body=2)
    with watched.view.slot(2):
        pass
    assert [event.body for event in events_of(watched)] == [1, None]


def test_with_ids_the_body_of_an_event_is_the_row_that_is_passed(watched: Watched) -> None:
    view = watched.view
    for ids, body, record in ((["a", "b", "c"], 1, 1), (["c", "b"], 0, 2), (["d", "c"], 0, 0), (["c"], 1, None)):
        view.emit("hit", body=body)
        view.publish(position=np.zeros((len(ids), 3)), ids=ids)
        assert [event.body for event in events_of(watched)] == [record]


def test_events_before_a_restart_belong_to_the_new_world(watched: Watched) -> None:
    view = watched.view
    view.publish(position=PLACES, sim_time=5.0)
    view.emit("reset", at=5.2)
    view.publish(position=PLACES, sim_time=0.0)
    view.emit("hit", at=0.25)
    view.publish(position=PLACES, sim_time=0.5)
    ring: Any = watched.link.events
    records = ring.unread().records
    assert records["sim_time_ns"].tolist() == [0, 250_000_000]
    assert records["world_epoch"].tolist() == [watched.view._publisher.plan.world_epoch] * 2
    assert view._publisher.plan.world_epoch > 0


def test_a_publish_that_is_refused_keeps_the_events_for_the_next_one(watched: Watched) -> None:
    view = watched.view
    view.emit("hit")
    with pytest.raises(InvalidValue):
        view.publish(position=PLACES[:, :2])
    assert events_of(watched) == []
    view.publish(position=PLACES)
    assert events_of(watched) == [Event("hit", 0.0)]


def test_a_block_that_raises_keeps_the_events_for_the_next_one(watched: Watched) -> None:
    view = watched.view
    view.emit("hit")
    with pytest.raises(RuntimeError, match="in the block"), view.slot(4):
        raise RuntimeError("in the block")
    assert events_of(watched) == []
    with view.slot(4):
        pass
    assert events_of(watched) == [Event("hit", 0.0)]


def test_after_an_interruption_between_events_and_snapshot_each_event_was_published_once_and_in_order(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = watched.view
    view.publish(position=PLACES)
    with monkeypatch.context() as patched:

        def interrupted(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        patched.setattr(view._publisher, "publish", interrupted)
        view.emit("hit")
        with pytest.raises(KeyboardInterrupt):
            view.publish(position=PLACES, sim_time=0.5)
    view.emit("later", at=0.3)
    view.publish(position=PLACES, sim_time=0.5)
    assert events_of(watched) == [Event("hit", 0.5), Event("later", 0.5)]


def test_a_wrong_argument_raises_in_the_users_line_and_trouble_does_not(
    watched: Watched, capfd: pytest.CaptureFixture[str]
) -> None:
    view = watched.view
    with pytest.raises(InvalidType, match=r"^emit\(body\) must be a whole number"):
        view.emit("hit", body="ball")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        view.emit("hit", place=(1, 2, 3))  # type: ignore[call-arg]
    capfd.readouterr()
    for _ in range(3):
        view.emit("hit", position=(np.nan, 0, 0))
        view.publish(position=PLACES)
    assert [event.position for event in events_of(watched)] == [None] * 3
    said = capfd.readouterr().err
    assert said.count("event 'hit' has position=[nan,  0.,  0.]; the event is delivered without a position") == 1
    assert "the event is delivered without a position" in view._session.status._fields["warning"]


def test_dropped_events_are_in_the_status_and_in_the_report(watched: Watched) -> None:
    view = watched.view
    view.emit_many("hit", strength=np.ones(MOST_A_STEP + 7))
    assert "events_dropped" not in view._session.status._fields
    view.publish(position=PLACES)
    assert view._session.status._fields["events_dropped"] == 7
    assert len(events_of(watched)) == MOST_A_STEP
    assert view._host.on_report()["events"] == {"emitted": MOST_A_STEP, "dropped": 7}


def test_after_close_and_in_a_forked_child_emit_does_nothing(watched: Watched) -> None:
    view = watched.view
    view.emit("hit")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            view.emit("hit")
            view.emit_many("hit", body=[1, 2])
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    view.publish(position=PLACES)
    assert events_of(watched) == [Event("hit", 0.0)]
    view.close()
    view.emit("hit")
    view.emit_many("hit", body=[1])
    assert not view._events.pending


def test_events_keep_no_view_alive(watched: Watched) -> None:
    watched.view.emit("hit", body=9)
    watched.view.publish(position=PLACES)
    gone = weakref.ref(watched.view)
    view, watched.view = watched.view, Watched().view
    del view
    gc.collect()
    assert gone() is None
