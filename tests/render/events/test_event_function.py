"""The user's function of `--on-event`: what it raises, how long it takes, and what is refused at the door."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.ring.events import EVENT, Event
from twixt.render.events import event_function
from twixt.render.events.event_function import CalledFunction, load

NAMES = {1: "hit", 2: "goal"}
MS = 1_000_000


def records(count: int, name: int = 1) -> Any:
    found = np.zeros(count, EVENT)
    found["sim_time_ns"], found["name"] = np.arange(count) * MS, name
    found["position"] = found["values"] = np.nan
    return found


class Clock:
    """A clock that only the user's function moves."""

    at_ns = 0

    def now_ns(self) -> int:
        return self.at_ns

    def taking(self, ms: float, received: list[Event]) -> Callable[[Event], None]:
        def function(event: Event) -> None:
            self.at_ns += round(ms * MS)
            received.append(event)

        return function


def late_ns(instant_ns: int) -> int:
    return 100 * MS - instant_ns


def test_events_come_in_order_with_name_and_lateness() -> None:
    received: list[Event] = []
    called = CalledFunction(received.append, "my:f")
    called.add(records(2), NAMES)
    called.add(records(1, 2), NAMES)
    called.call(late_ns, Clock().now_ns)
    assert [(event.name, event.sim_time, event.late_ms) for event in received] == [
        ("hit", 0.0, 100.0), ("hit", 0.001, 99.0), ("goal", 0.0, 100.0),
    ]  # fmt: skip
    assert (called.calls, called.failures, called.waiting, called.messages) == (3, 0, 0, ())


def test_a_name_that_damaged_memory_does_not_have_is_no_error() -> None:
    received: list[Event] = []
    called = CalledFunction(received.append, "my:f")
    called.add(records(1, 77), NAMES)
    called.call(late_ns, Clock().now_ns)
    assert [event.name for event in received] == ["?"]


def recursion(event: Event) -> None:
    recursion(event)


@pytest.mark.parametrize("error", [ValueError("odd"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_it_raises_is_reported_once_and_later_calls_go_on(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    received: list[Event] = []

    def fails_on_odd(event: Event) -> None:
        received.append(event)
        if round(event.sim_time * 1000) % 2:
            raise error

    called = CalledFunction(fails_on_odd, "my:f")
    called.add(records(7), NAMES)
    called.call(late_ns, Clock().now_ns)
    printed = capsys.readouterr().err
    assert len(received) == 7
    assert printed.count("twixt: ") == printed.count("Traceback") == printed.count("fails_on_odd") == 1
    assert f"my:f raised {type(error).__name__}" in printed
    assert "/event_function.py" not in printed, "frames of the user alone"
    assert called.messages == (f"--on-event: {printed.splitlines()[-1][7:].split(';')[0]} (3 of 7 calls)",)


def test_an_endless_recursion_is_reported_in_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    called = CalledFunction(recursion, "my:f")
    called.add(records(2), NAMES)
    called.call(late_ns, Clock().now_ns)
    printed = capsys.readouterr().err
    assert called.failures == 2
    assert "RecursionError" in printed
    assert len(printed.splitlines()) < 30


def test_a_slow_function_is_reported_once_and_leaves_time_for_frames(capsys: pytest.CaptureFixture[str]) -> None:
    clock, received = Clock(), []  # type: ignore[var-annotated]
    called = CalledFunction(clock.taking(50, received), "my:f")
    for frame in range(1, 11):
        called.add(records(3), NAMES)
        called.call(late_ns, clock.now_ns)
        assert len(received) == frame, "one call in a frame"
    assert called.waiting == 20
    printed = capsys.readouterr().err
    assert printed == (
        "twixt: --on-event: my:f took 50 ms in one frame, so frames are late; 2 more wait for the next frames; do "
        "the slow work in a thread\n"
    )
    assert called.messages == ("--on-event: my:f took 50 ms in one frame, so frames are late, 20 events wait",)
    called.close()
    assert capsys.readouterr().err == (
        "twixt: --on-event: 20 events were not passed to my:f, because its calls took too long\n"
    )


def test_a_quick_function_gets_a_whole_burst_in_one_frame(capsys: pytest.CaptureFixture[str]) -> None:
    clock, received = Clock(), []  # type: ignore[var-annotated]
    called = CalledFunction(clock.taking(0.001, received), "my:f")
    called.add(records(10_000), NAMES)
    called.call(late_ns, clock.now_ns)
    assert len(received) == 10_000
    called.close()
    assert capsys.readouterr().err == ""


def test_the_events_that_wait_are_bounded_and_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_function, "MOST_HELD", 5)
    received: list[Event] = []
    called = CalledFunction(received.append, "my:f")
    called.add(records(4), NAMES)
    called.add(records(4, 2), NAMES)
    assert (called.waiting, called.left_out) == (5, 3)
    called.call(late_ns, Clock().now_ns)
    assert [event.name for event in received] == ["hit"] + 4 * ["goal"]


class Logger:
    def __init__(self, *_: object) -> None:
        self.events: list[Event] = []

    def method(self, event: Event) -> None:
        self.events.append(event)

    def __call__(self, event: Event) -> None:
        self.events.append(event)


async def asynchronous(event: Event) -> None:
    pass


async def asynchronous_generator(event: Event) -> Any:
    yield event


def generator(event: Event) -> Iterator[Event]:
    yield event


class Asynchronous:
    async def __call__(self, event: Event) -> None:
        pass


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("events_of_a_test")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


@pytest.mark.parametrize("function", [print, Logger(), Logger, Logger().method, lambda *events: None, {}.get])
def test_anything_that_takes_one_argument_is_called(module: ModuleType, function: Any) -> None:
    module.on_event = function  # type: ignore[attr-defined]
    called = load("events_of_a_test:on_event")
    called.add(records(1), NAMES)
    called.call(late_ns, Clock().now_ns)
    assert (called.calls, called.failures) == (1, 0)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (7, "got 7"),
        (lambda: None, "too many positional arguments"),
        (lambda event, more: None, "missing a required argument: 'more'"),
        (lambda *, event: None, "too many positional arguments"),
        (asynchronous, "got an async function"),
        (asynchronous_generator, "got an async function"),
        (partial(asynchronous), "got an async function"),
        (Asynchronous(), "got an async function"),
        (generator, "got a generator"),
    ],
)
def test_anything_else_is_refused_with_the_rule(module: ModuleType, function: Any, reason: str) -> None:
    module.on_event = function  # type: ignore[attr-defined]
    with pytest.raises(
        TwixtError, match="--on-event: events_of_a_test:on_event must be a function of one arg"
    ) as found:
        load("events_of_a_test:on_event")
    assert reason in str(found.value)
    assert found.value.exit_code == 2


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("no_such_module_anywhere:f", '--on-event: no module named "no_such_module_anywhere"'),
        ("events_of_a_test:on_evnt", 'has no "on_evnt"; did you mean "on_event"'),
        ("events_of_a_test", "--on-event must be module:name"),
    ],
)
def test_a_function_that_is_not_there_is_refused(module: ModuleType, reference: str, reason: str) -> None:
    def on_event(event: Event) -> None:
        pass

    on_event.__module__ = module.__name__
    module.on_event = on_event  # type: ignore[attr-defined]
    with pytest.raises(TwixtError) as found:
        load(reference)
    assert reason in str(found.value)
