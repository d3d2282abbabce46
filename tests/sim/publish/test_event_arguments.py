"""Arguments of `emit` and `emit_many`: wrong ones are refused, numbers that data can produce never raise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.sim.emitted import Emitted
from tests.sim.lab import MakeHost
from twixt.ipc.errors import InvalidType, InvalidValue
from twixt.ipc.ring.events import EVENT, Event

NAN, INF = math.nan, math.inf


@pytest.fixture
def emitted(make_host: MakeHost) -> Emitted:
    return Emitted(make_host())


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"body": -1}, InvalidValue, r"emit\(body\) must be indices of bodies, from 0, got -1; leave body out"),
        (
            {"body": 1.0},
            InvalidType,
            r"emit\(body\) must be a whole number, got 1.0$",
        ),
        ({"body": "ball"}, InvalidType, "got 'ball'"),
        ({"body": [1, 2]}, InvalidValue, r"got int64 of shape \(2,\); for many events at once use emit_many"),
        ({"position": 1.0}, InvalidValue, r"emit\(position\) must be numbers of shape \(3,\), got 1.0"),
        ({"position": (1, 2)}, InvalidValue, r"got int64 of shape \(2,\)"),
        ({"position": np.zeros((2, 3))}, InvalidValue, r"got float64 of shape \(2, 3\)"),
        ({"position": ("a", "b", "c")}, InvalidType, r"emit\(position\) must be numbers of shape \(3,\)"),
        ({"position": (1, 2j, 3)}, InvalidType, "got complex128"),
        ({"strength": None}, InvalidType, r"emit\(strength\) must be a number, got"),
        ({"strength": "strong"}, InvalidType, "got 'strong'"),
        ({"strength": [1.0, 2.0]}, InvalidValue, r"got float64 of shape \(2,\)"),
        (
            {"values": (1, 2, 3, 4, 5)},
            InvalidValue,
            r"emit\(values\) must be numbers of shape \(k,\), with k <= 4, got",
        ),
        ({"values": 1.0}, InvalidValue, "got 1.0"),
        ({"values": ("a",)}, InvalidType, r"emit\(values\)"),
        ({"text": 7}, InvalidType, r"emit\(text\) must be a text, got 7; such as text=str\(value\)"),
        ({"text": 0}, InvalidType, "got 0"),
        ({"text": b"abc"}, InvalidType, "got b'abc'"),
        ({"text": np.array(["a", "b"])}, InvalidType, r"emit\(text\) must be a text"),
        ({"at": "now"}, InvalidType, r"emit\(at\) must be a number, got 'now'"),
        ({"at": [1.0, 2.0]}, InvalidValue, r"emit\(at\)"),
    ],
)
def test_a_wrong_argument_is_refused_and_has_no_effect(
    emitted: Emitted, given: dict[str, Any], error: type[Exception], text: str
) -> None:
    emitted.emit("known")
    for name in ("known", "new"):
        with pytest.raises(error, match=text) as refused:
            emitted.emit(name, **given)
        assert refused.value.__cause__ is None
    assert emitted.flush() == [Event("known", 2.0)]


@pytest.mark.parametrize(
    ("given", "event", "warning"),
    [
        (
            {"position": (1, NAN, 3)},
            Event("hit", 2.0),
            "has position=[ 1., nan,  3.]; the event is delivered without a position",
        ),
        (
            {"position": (INF, -INF, 3)},
            Event("hit", 2.0),
            "has position=[ inf, -inf,   3.]; the event is delivered without a position",
        ),
        ({"position": (1e39, -1e39, 3)}, Event("hit", 2.0), "the event is delivered without a position"),
        (
            {"strength": NAN},
            Event("hit", 2.0, strength=0.0),
            "has strength=nan; a strength must be finite and >= 0, so 0 is used",
        ),
        ({"strength": -2}, Event("hit", 2.0, strength=0.0), "has strength=-2; a strength must be finite and >= 0"),
        ({"strength": INF}, Event("hit", 2.0, strength=0.0), "has strength=inf"),
        ({"strength": 1e39}, Event("hit", 2.0, strength=0.0), "has strength=1e+39"),
        ({"text": "a" * 20}, Event("hit", 2.0, text="a" * 15), "is cut to 'aaaaaaaaaaaaaaa'; a text may have 15 bytes"),
        ({"text": "ä" * 9}, Event("hit", 2.0, text="ä" * 7), "is cut to 'äääääää'"),
        (
            {"text": "a\n\0b"},
            Event("hit", 2.0, text="a  b"),
            r"control characters in the text 'a\n\x00b' are shown as spaces",
        ),
        ({"text": "\udc80x"}, Event("hit", 2.0, text=" x"), "control characters"),
    ],
)
def test_numbers_and_texts_that_data_can_produce_are_corrected_and_reported_once(
    emitted: Emitted, given: dict[str, Any], event: Event, warning: str
) -> None:
    emitted.emit("hit", **given)
    emitted.emit("hit", **given)
    assert emitted.flush() == [event] * 2
    assert len(emitted.warnings) == 1
    assert emitted.warnings[0].startswith("event 'hit'")
    assert warning in emitted.warnings[0]


def test_a_record_has_no_part_of_a_position_that_is_not_finite(emitted: Emitted) -> None:
    emitted.emit("hit", position=(1, NAN, 3))
    assert np.isnan(np.frombuffer(bytes(emitted.buffer.pending), EVENT)["position"]).all()


def test_values_that_are_not_finite_stay_in_their_places(emitted: Emitted) -> None:
    emitted.emit("hit", values=(1, NAN, INF, 4))
    (event,) = emitted.flush()
    assert [repr(value) for value in event.values] == ["1.0", "nan", "nan", "4.0"]
    assert emitted.warnings == [
        "event 'hit' has values=[ 1., nan, inf,  4.]; numbers that are not finite become NaN (reported once)"
    ]
    emitted.emit("hit", values=(1, NAN))
    assert emitted.flush(2.0, 3.0)[0].values == (1.0,)


def test_many_events_arrive_in_order_with_a_row_of_each_array(emitted: Emitted) -> None:
    emitted.emit_many(
        "hit", body=[0, 1, 2], position=np.eye(3), strength=[1, 2, 3], values=np.arange(6).reshape(3, 2),
        at=[1.5, 1.5, 1.75], text="t",
    )  # fmt: skip
    assert emitted.flush() == [
        Event("hit", 1.5, 0, (1.0, 0.0, 0.0), 1.0, (0.0, 1.0), "t"),
        Event("hit", 1.5, 1, (0.0, 1.0, 0.0), 2.0, (2.0, 3.0), "t"),
        Event("hit", 1.75, 2, (0.0, 0.0, 1.0), 3.0, (4.0, 5.0), "t"),
    ]


def test_one_value_serves_all_events(emitted: Emitted) -> None:
    emitted.emit_many("hit", body=np.array([1, 2], np.uint8), position=(1, 2, 3), strength=5, values=(6, 7), at=1.5)
    assert emitted.flush() == [Event("hit", 1.5, body, (1.0, 2.0, 3.0), 5.0, (6.0, 7.0)) for body in (1, 2)]
    emitted.emit_many("alone", strength=2)
    assert emitted.flush(2.0, 3.0) == [Event("alone", 3.0, strength=2.0)]
    emitted.emit_many("none", body=[], position=[], strength=[], at=[])
    emitted.emit_many("none", body=np.zeros(0, int), position=np.zeros((0, 3)), values=np.zeros((0, 2)))
    assert emitted.flush(3.0, 4.0) == []


def test_large_numbers_arrive_as_they_are(emitted: Emitted) -> None:
    emitted.emit_many("hit", position=[(1e30, -1e30, 3e38)], strength=3e38, values=[(-3e38, 1e30)])
    (event,) = emitted.flush()
    assert event.position == pytest.approx((1e30, -1e30, 3e38))
    assert event.values == pytest.approx((-3e38, 1e30))
    assert emitted.warnings == []


def test_of_many_events_only_those_with_wrong_numbers_are_corrected(emitted: Emitted) -> None:
    emitted.emit_many(
        "hit", position=[(1, 1, 1), (NAN, 1, 1), (2, 2, 2)], strength=[1, -1, NAN], values=[(1, 2), (3, 4), (INF, 6)],
        at=[1.5, NAN, 2],
    )  # fmt: skip
    first, second, third = emitted.flush()
    assert first == Event("hit", 1.5, None, (1.0, 1.0, 1.0), 1.0, (1.0, 2.0))
    assert second == Event("hit", 2.0, None, None, 0.0, (3.0, 4.0))
    assert (third.position, third.strength, math.isnan(third.values[0]), third.values[1]) == ((2, 2, 2), 0.0, True, 6.0)
    assert sorted(text.split(";")[0] for text in emitted.warnings) == [
        "event 'hit' has at=nan",
        "event 'hit' has position=[nan,  1.,  1.]",
        "event 'hit' has strength=-1",
        "event 'hit' has values=[inf,  6.]",
    ]


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (
            {"body": [1, 2], "position": np.zeros((3, 3))},
            InvalidValue,
            r"^emit_many needs arrays with equal numbers of rows, got 2 of body, 3 of position; or pass one value for all events",
        ),
        ({"strength": [1, 2], "at": [1]}, InvalidValue, "got 2 of strength, 1 of at"),
        ({"body": [1, -2]}, InvalidValue, r"emit_many\(body\) must be indices of bodies, from 0, got -2"),
        ({"body": [1.0]}, InvalidType, r"emit_many\(body\) must be whole numbers of shape \(n,\), or one for all, got"),
        ({"body": [[1], [2]]}, InvalidValue, r"got int64 of shape \(2, 1\)"),
        ({"position": [1, 2]}, InvalidValue, r"must be numbers of shape \(3,\) or \(n, 3\), got int64 of shape \(2,\)"),
        ({"position": [[1, 2], [3]]}, InvalidValue, r"emit_many\(position\) must be lists of numbers"),
        (
            {"values": np.zeros((2, 5))},
            InvalidValue,
            r"shape \(k,\) or \(n, k\), with k <= 4, got float64 of shape \(2, 5\)",
        ),
        ({"strength": np.zeros((2, 2))}, InvalidValue, r"emit_many\(strength\)"),
        ({"at": ["a"]}, InvalidType, r"emit_many\(at\)"),
        ({"text": ["a", "b"]}, InvalidType, r"emit_many\(text\) must be a text"),
        ({"text": np.array(["a", "b"])}, InvalidType, r"emit_many\(text\) must be a text"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    emitted: Emitted, given: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        emitted.emit_many("hit", **given)
    assert emitted.flush() == []
