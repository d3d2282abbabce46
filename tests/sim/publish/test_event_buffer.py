"""Events from `emit` until they are in the ring: times, order, bodies, limits, names."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.emitted import Emitted
from tests.sim.interrupts import Interrupt, on_its_own_thread
from tests.sim.lab import MakeHost
from twixt.ipc.errors import InvalidType, InvalidValue
from twixt.ipc.ring.events import EVENT, MOST_NAMES, NO_BODY, Event
from twixt.sim.publish import event_buffer
from twixt.sim.publish.event_buffer import MOST_A_STEP, OTHER


@pytest.fixture
def emitted(make_host: MakeHost) -> Emitted:
    return Emitted(make_host())


def test_an_event_arrives_with_all_that_was_given(emitted: Emitted) -> None:
    emitted.emit("hit", body=2, position=(1, 2, 3), strength=4.5, values=(5, 6), text="äb", at=1.25)
    emitted.emit("goal")
    assert emitted.flush() == [
        Event("hit", 1.25, 2, (1.0, 2.0, 3.0), 4.5, (5.0, 6.0), "äb"),
        Event("goal", 2.0),
    ]
    assert emitted.flush(2.0, 3.0) == []
    assert emitted.warnings == []
    assert emitted.buffer.report() == {"emitted": 2, "dropped": 0}


def test_numbers_may_be_of_any_type(emitted: Emitted) -> None:
    emitted.emit(
        "hit", body=np.int32(1), position=np.arange(3), strength=np.float32(2), values=np.ones(4), at=np.float64(2)
    )
    emitted.emit("hit", body=None, position=[np.float32(1), 2, True], values=None, text=None)
    assert emitted.flush() == [
        Event("hit", 2.0, 1, (0.0, 1.0, 2.0), 2.0, (1.0, 1.0, 1.0, 1.0)),
        Event("hit", 2.0, None, (1.0, 2.0, 1.0)),
    ]


def test_events_of_a_step_are_published_in_the_order_of_their_times(emitted: Emitted) -> None:
    for text, at in (("c", 1.9), ("a", 1.1), ("d", None), ("b", 1.1)):
        emitted.emit("hit", text=text, at=at)
    assert [event.text for event in emitted.flush()] == ["a", "b", "c", "d"]


def test_a_time_outside_the_step_is_moved_into_it_and_reported_once_with_name_and_times(emitted: Emitted) -> None:
    emitted.emit("early", at=-7.0)
    emitted.emit("late", at=90.0)
    emitted.emit("far", at=1e300)
    assert [event.sim_time for event in emitted.flush()] == [1.0, 2.0, 2.0]
    assert emitted.warnings == [
        "event 'early' has at=-7 s, outside its step from 1 to 2 s; the nearest time in the step is used; give simulated "
        "time in the step, or leave out at (reported once)"
    ]


@pytest.mark.parametrize("at", [0.999, 2.5])
def test_a_time_that_is_off_by_rounding_is_moved_without_a_warning(emitted: Emitted, at: float) -> None:
    emitted.emit("hit", at=at)
    assert [event.sim_time for event in emitted.flush()] == [min(max(at, 1.0), 2.0)]
    assert emitted.warnings == []


def test_simulated_time_may_be_negative(emitted: Emitted) -> None:
    emitted.emit("hit", at=-4.75)
    emitted.emit("hit")
    assert [event.sim_time for event in emitted.flush(-5.0, -4.5)] == [-4.75, -4.5]
    assert emitted.warnings == []


@pytest.mark.parametrize("at", [float("nan"), float("inf")])
def test_a_time_that_is_not_finite_counts_as_the_end_of_the_step(emitted: Emitted, at: float) -> None:
    emitted.emit("hit", at=at)
    assert emitted.flush() == [Event("hit", 2.0)]
    assert emitted.warnings == [f"event 'hit' has at={at}; the event is put at the end of its step (reported once)"]


def test_events_from_before_a_reset_belong_to_the_new_state_without_a_warning(emitted: Emitted) -> None:
    emitted.emit("hit", at=9.0)
    assert emitted.flush(0.0, 0.0, epoch=1) == [Event("hit", 0.0)]
    assert emitted.warnings == []


def test_after_an_interrupted_publish_events_stay_in_the_order_of_their_times(emitted: Emitted) -> None:
    emitted.emit("first")
    assert emitted.flush(1.0, 2.0) == [Event("first", 2.0)]
    emitted.emit("second", at=1.5)  # the state of 2.0 s was not published, so it is published again
    emitted.emit("third")
    assert [event.sim_time for event in emitted.flush(1.0, 1.75)] == [2.0, 2.0]
    emitted.emit("new world")
    assert emitted.flush(0.0, 0.5, epoch=1) == [Event("new world", 0.5)]


def test_events_of_an_interrupted_flush_are_published_by_the_next_one(
    emitted: Emitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    emitted.emit("hit")
    with monkeypatch.context() as patched:

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        patched.setattr(emitted.buffer._host, "append_events", interrupted)
        with pytest.raises(KeyboardInterrupt):
            emitted.flush()
    assert emitted.buffer.report() == {"emitted": 0, "dropped": 0}
    assert emitted.flush() == [Event("hit", 2.0)]


@on_its_own_thread
def test_wherever_a_flush_is_interrupted_each_event_is_published_once(emitted: Emitted) -> None:
    place, came, number = 0, True, 0
    emitted.buffer.holds_later = True
    while came:
        place += 1
        interrupt = Interrupt(place)
        now_s = float(place)
        expected = [str(number + 1), str(number + 2), str(number + 3)]
        for text in expected[:2]:
            emitted.emit("hit", text=text, at=now_s)
        emitted.emit("hit", text=expected[2], at=now_s + 0.5)
        found: list[Event] = []
        interrupt.during(lambda now_s=now_s: emitted.buffer.flush(*in_ns(now_s - 0.5, now_s), 0, 3))  # type: ignore[misc]
        came = interrupt.came
        found += emitted.read()
        found += emitted.flush(now_s, now_s + 0.5)
        number += 3
        assert [event.text for event in found] == expected, f"interrupted at place {place}"
        assert emitted.buffer.report() == {"emitted": number, "dropped": 0}
    assert place > 20


def in_ns(*seconds: float) -> list[int]:
    return [round(one * 1e9) for one in seconds]


def test_later_events_may_be_held_until_their_state_is_published(emitted: Emitted) -> None:
    emitted.buffer.holds_later = True
    for text, at in (("b", 2.5), ("a", 1.5), ("c", 4.0)):
        emitted.emit("hit", text=text, at=at)
    assert [(event.text, event.sim_time) for event in emitted.flush(1.0, 2.0)] == [("a", 1.5)]
    assert [(event.text, event.sim_time) for event in emitted.flush(2.0, 3.0)] == [("b", 2.5)]
    assert [(event.text, event.sim_time) for event in emitted.flush(0.0, 0.0, epoch=1)] == [("c", 0.0)]
    assert emitted.warnings == []
    assert emitted.buffer.report() == {"emitted": 3, "dropped": 0}


def test_events_of_an_earlier_world_are_not_held_in_a_later_one(emitted: Emitted) -> None:
    emitted.buffer.holds_later = True
    emitted.emit("old", at=9.0)
    emitted.buffer.world = 1
    emitted.emit("new", at=1.25)
    emitted.emit_many("later", at=[2.5])
    assert emitted.flush() == [Event("new", 1.25), Event("old", 2.0)]
    assert emitted.flush(2.0, 3.0) == [Event("later", 2.5)]
    assert emitted.warnings == []


def test_a_body_that_does_not_exist_is_left_out_and_reported_once(emitted: Emitted) -> None:
    for body in (2, 3, 1 << 31, 1 << 60):
        emitted.emit("hit", body=body)
    assert [event.body for event in emitted.flush(bodies=3)] == [2, None, None, None]
    assert emitted.warnings == [
        "event 'hit' has body 3, but there are 3 bodies after its step; the event is delivered without a body; give the "
        "index of a body that exists (reported once)"
    ]


def test_the_body_of_an_event_is_the_row_that_was_passed_with_ids(emitted: Emitted) -> None:
    emitted.emit_many("hit", body=[0, 1, 2])
    emitted.emit("goal")
    assert [event.body for event in emitted.flush(bodies=9, rows=np.array([7, 4]))] == [7, 4, None, None]
    assert "has body 2, but there are 2 bodies after its step" in emitted.warnings[0]
    emitted.emit("hit", body=0)
    assert [event.body for event in emitted.flush(2.0, 3.0, rows=np.zeros(0, np.int64))] == [None]


def test_more_events_than_a_step_may_have_are_dropped_counted_and_reported_once(emitted: Emitted) -> None:
    for again in range(2):
        emitted.emit_many("hit", strength=np.arange(MOST_A_STEP - 1))
        for _ in range(3):
            emitted.emit("hit", text="single")
        emitted.emit_many("hit", strength=np.ones(7))
        assert len(emitted.flush(again, again + 1.0)) == MOST_A_STEP
    assert emitted.buffer.report() == {"emitted": 2 * MOST_A_STEP, "dropped": 18}
    emitted.emit_many("hit", strength=np.arange(MOST_A_STEP + 5))
    assert [event.strength for event in emitted.flush(3.0, 4.0)][-1] == MOST_A_STEP - 1
    assert emitted.buffer.dropped == 23
    assert emitted.warnings == [
        "9 events were dropped: one step may emit 16,384; emit fewer, such as only the strongest (reported once)"
    ]


def test_names_beyond_the_limit_are_called_other_and_reported_once(emitted: Emitted) -> None:
    for number in range(MOST_NAMES + 3):
        emitted.emit(f"name {number}")
    names = [event.name for event in emitted.flush()]
    assert names == [f"name {number}" for number in range(MOST_NAMES - 1)] + [OTHER] * 4
    emitted.emit("name 7")
    emitted.emit(OTHER)
    assert [event.name for event in emitted.flush(2.0, 3.0)] == ["name 7", OTHER]
    assert emitted.warnings == [
        "event 'name 254' is called 'other': a program may use 254 different names; put what changes into text or values "
        "(reported once)"
    ]


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("", InvalidValue, "got ''"),
        ("x" * 41, InvalidValue, "1 to 40 bytes in UTF-8 in one line, got 'xxxx"),
        ("ä" * 21, InvalidValue, "got 'ääää"),
        ("x" * 1_000_000, InvalidValue, r"got 'xxx.{0,80}; such as"),
        ("two\nlines", InvalidValue, r"got 'two\\nlines'"),
        ("nul\0", InvalidValue, "got"),
        ("\udcff", InvalidValue, "got"),
        (7, InvalidType, "got 7"),
        (b"hit", InvalidType, "got b'hit'"),
        (["hit"], InvalidType, r"got \['hit'\]"),
    ],
)
def test_a_name_that_cannot_be_written_is_refused(
    emitted: Emitted, name: Any, error: type[Exception], text: str
) -> None:
    for emit in (emitted.emit, emitted.emit_many):
        with pytest.raises(error, match=f"^an event's name must be .*{text}"):
            emit(name)
    assert emitted.flush() == []


def test_events_of_many_threads_are_all_published(emitted: Emitted) -> None:
    def work(thread: int) -> None:
        for number in range(500):
            emitted.emit(f"name {(thread + number) % 40}", strength=number, text=str(thread))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    found = []
    while any(thread.is_alive() for thread in threads):
        found += emitted.flush()
    found += emitted.flush()
    by_thread = [[event for event in found if event.text == str(thread)] for thread in range(4)]
    for thread, events in enumerate(by_thread):
        assert [event.strength for event in events] == list(range(500))
        assert [event.name for event in events] == [f"name {(thread + number) % 40}" for number in range(500)]


def test_a_signal_handler_may_emit_while_another_name_is_added(make_host: MakeHost) -> None:
    emitted = Emitted(make_host())
    for number in range(MOST_NAMES - 1):
        emitted.emit(f"name {number}")
    # The warning is printed at the place at which a handler may run: while the number of a name is looked up.
    emitted.buffer._warn_user = lambda _text: emitted.emit_many("from a handler", strength=[1, 2])
    thread = threading.Thread(target=lambda: emitted.emit("one too many"), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert [event.name for event in emitted.flush()][-3:] == [OTHER] * 3


def test_a_forked_child_emits_nothing_and_goes_on(emitted: Emitted) -> None:
    emitted.emit("hit")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            emitted.emit("hit")
            emitted.emit("another name")
            emitted.emit_many("hit", strength=[1, 2])
            emitted.buffer.flush(0, 1, 0, 3)
            code = 0 if emitted.buffer.report() == {"emitted": 0, "dropped": 0} and not emitted.buffer.pending else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert emitted.flush() == [Event("hit", 2.0)]


def test_a_copy_of_a_buffer_is_none(emitted: Emitted) -> None:
    assert copy.deepcopy(emitted.buffer) is None
    assert pickle.loads(pickle.dumps(emitted.buffer)) is None


EMITTED = st.tuples(
    st.one_of(st.none(), st.integers(0, 6)), st.one_of(st.none(), st.sampled_from([0.0, 0.9, 1.0, 1.5, 1.7, 2.0, 9.0]))
)


@settings(max_examples=150)
@given(st.lists(EMITTED, max_size=12), st.booleans(), st.sampled_from([None, [4, 2, 9], []]))
def test_few_events_are_published_as_many_are(
    events: list[tuple[int | None, float | None]], holds: bool, rows: list[int] | None
) -> None:
    """The path for few events gives the same bytes as the array operations."""

    class Ring:
        appended_events, is_ended, records = 0, False, b""

        def append_events(self, records: Any, names: Any) -> None:
            self.records = records.tobytes()
            self.appended_events += len(records)

    found = []
    for few in (0, event_buffer.FEW):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(event_buffer, "FEW", few)
            ring, warnings = Ring(), list[str]()
            buffer = event_buffer.EventBuffer(ring, warnings.append)  # type: ignore[arg-type]
            buffer.holds_later = holds
            for number, (body, at) in enumerate(events):
                buffer.emit("hit", body, None, float(number), (), "", at)
            known = None if rows is None else np.array(rows, np.int64)
            buffer.flush(1_000_000_000, 2_000_000_000, 5, 4, known)
            held = np.frombuffer(bytes(buffer.pending), EVENT)
            found.append((ring.records, held["strength"].tolist(), buffer.report(), warnings))
    assert found[0] == found[1]
    records = np.frombuffer(found[0][0], EVENT)
    assert (records["world_epoch"] == 5).all()
    assert (np.diff(records["sim_time_ns"]) >= 0).all()
    assert ((records["sim_time_ns"] >= 1_000_000_000) & (records["sim_time_ns"] <= 2_000_000_000)).all()
    existing = range(4) if rows is None else rows
    assert all(body == NO_BODY or body in existing for body in records["body"].tolist())
