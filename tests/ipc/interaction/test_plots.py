"""Live plots: what a program may record, what is kept of it, and what is refused."""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.plots import (
    KEPT_POINTS,
    LARGEST,
    MOST_PLOT_BYTES,
    MOST_PLOTS,
    MOST_SERIES,
    MOST_WAITING,
    PERIOD_NS,
    PlotRecorder,
    plots_from_message,
    thinned,
)

SECOND = 1_000_000_000


class Recording:
    """A recorder whose clock is advanced by the test."""

    def __init__(self) -> None:
        self.now_ns, self.notices = SECOND, 0
        self.recorder = PlotRecorder(self._notify, lambda: self.now_ns)

    def _notify(self) -> None:
        self.notices += 1

    def plot(self, name: Any, /, *values: Any, **series: Any) -> None:
        self.recorder.add(name, values, series)

    def shown(self) -> dict[str, dict[str, list[tuple[float, float]]]]:
        """What viewers get a period later: the points of each series of each plot."""
        self.now_ns += PERIOD_NS
        message = self.recorder.message(self.now_ns)
        assert message is not None
        return {
            plot.name: {one.name: list(zip(one.xs.tolist(), one.ys.tolist(), strict=True)) for one in plot.series}
            for plot in plots_from_message(*message)
        }


@pytest.fixture
def recording() -> Recording:
    return Recording()


def test_series_by_name_share_x_and_a_value_alone_has_the_time_of_the_next_publish(recording: Recording) -> None:
    recording.recorder.next_time_s = lambda: 7.0
    recording.plot("energy", 1.0, kinetic=2.0, potential=3.0)
    recording.plot("error", 4.0)
    recording.plot("angle", 5.0, 6.0)
    recording.plot("speed", left=1.0)
    assert recording.shown() == {
        "energy": {"kinetic": [(1.0, 2.0)], "potential": [(1.0, 3.0)]},
        "error": {"": [(7.0, 4.0)]},
        "angle": {"": [(5.0, 6.0)]},
        "speed": {"left": [(7.0, 1.0)]},
    }


@pytest.mark.parametrize(
    "value", [2, True, np.float32(2), np.float64(2), np.int8(2), np.array(2.0), np.bool_(True), Fraction(4, 2)]
)
def test_all_kinds_of_one_number_are_taken(recording: Recording, value: Any) -> None:
    recording.plot("a", value, b=value)
    assert recording.shown() == {"a": {"b": [(float(value), float(value))]}}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros(3), r"an array of shape \(3,\); plot its mean, or each element as a series"),
        (np.zeros(1), r"an array of shape \(1,\)"),
        ("3", "'3'"),
        (b"3", "b'3'"),
        (None, "None"),
        ([1.0], r"\[1.0\]"),
        (1j, "1j"),
        (np.complex128(1), ".*1"),
    ],
)
def test_what_is_not_one_number_is_refused_with_the_way_out(recording: Recording, value: Any, words: str) -> None:
    with pytest.raises(TwixtError, match=f"plot 'e': k must be one number, got {words}"):
        recording.plot("e", 0.0, k=value)
    with pytest.raises(TwixtError, match="plot 'e': x must be one number"):
        recording.plot("e", value, k=1.0)


@pytest.mark.parametrize("name", ["", "two\nlines", "x" * 1_000_000, "tab\t", 3, None, ["list"], b"bytes"])
def test_a_name_that_is_no_short_line_of_text_is_refused_in_a_short_error(recording: Recording, name: Any) -> None:
    with pytest.raises(TwixtError, match="must be a text of 1 to 60 characters in one line") as error:
        recording.plot(name, 1.0)
    assert len(str(error.value)) < 250
    if isinstance(name, str) and name:
        with pytest.raises(TwixtError, match="the name of a series"):
            recording.plot("e", 0.0, **{name: 1.0})


@pytest.mark.parametrize(("values", "series"), [((), {}), ((1.0, 2.0, 3.0), {}), ((1.0, 2.0), {"a": 1.0})])
def test_a_wrong_number_of_values_is_refused(recording: Recording, values: Any, series: Any) -> None:
    with pytest.raises(TwixtError, match="takes x and series by name, x and y, or y alone"):
        recording.plot("e", *values, **series)


def test_values_that_are_not_finite_are_gaps_and_an_x_that_is_not_is_left_out(recording: Recording) -> None:
    for x, y in ((0, 1), (1, math.nan), (2, math.inf), (3, -math.inf), (4, 10**400), (5, 2 * LARGEST), (math.nan, 1)):
        recording.plot("e", x, y)
    points = recording.shown()["e"][""]
    assert [x for x, _ in points] == [0, 1, 2, 3, 4, 5]
    assert [math.isnan(y) for _, y in points] == [False, *[True] * 5]


def test_a_plot_begins_anew_where_x_falls_with_all_its_series_and_no_other_plot_does(recording: Recording) -> None:
    for x in (5.0, 6.0, 7.0):
        recording.plot("e", x, a=x, gone=x)
        recording.plot("other", x, a=x)
    recording.shown()
    recording.plot("e", 1.0, a=10.0)
    recording.plot("e", 2.0, a=20.0)
    recording.plot("other", 8.0, a=8.0)
    shown = recording.shown()
    assert shown["e"] == {"a": [(1.0, 10.0), (2.0, 20.0)], "gone": []}
    assert [x for x, _ in shown["other"]["a"]] == [5.0, 6.0, 7.0, 8.0]


def test_several_falls_between_two_messages_leave_the_last_run(recording: Recording) -> None:
    for x in (5.0, 6.0, 1.0, 2.0, 0.0, 0.5):
        recording.plot("e", x, x)
    assert recording.shown() == {"e": {"": [(0.0, 0.0), (0.5, 0.5)]}}


def test_slow_points_are_all_kept_up_to_the_limit(recording: Recording) -> None:
    for number in range(2 * KEPT_POINTS):
        recording.plot("e", number / 100, number)
        if number % 10 == 9:
            shown = recording.shown()["e"][""]
    assert [y for _, y in shown] == list(range(KEPT_POINTS, 2 * KEPT_POINTS))


def test_fast_points_are_thinned_to_a_few_a_second_and_a_spike_is_kept(recording: Recording) -> None:
    spikes = {45_000: 1000.0, 71_234: -1000.0}
    for number in range(100_000):
        recording.now_ns += 100  # ten million a second
        recording.plot("e", number / 1e7, spikes.get(number, math.sin(number / 1e4)))
    assert len(recording.recorder._plots["e"][""].waiting) <= MOST_WAITING * 16
    points = recording.shown()["e"][""]
    assert len(points) <= 40
    ys = [y for _, y in points]
    assert max(ys) == 1000.0
    assert min(ys) == -1000.0


def test_without_viewers_the_last_points_are_kept_and_memory_is_bounded(recording: Recording) -> None:
    for number in range(20 * KEPT_POINTS):
        recording.now_ns += SECOND // 100
        recording.plot("e", number / 100, number)
    line = recording.recorder._plots["e"][""]
    assert len(line.kept) <= KEPT_POINTS
    assert len(line.waiting) <= MOST_WAITING * 16
    points = recording.shown()["e"][""]
    assert len(points) == KEPT_POINTS
    assert points[-1][1] == 20 * KEPT_POINTS - 1


def test_messages_are_due_a_period_apart_and_one_notice_asks_for_each(recording: Recording) -> None:
    assert recording.recorder.due_ns is None
    for number in range(100):
        recording.plot("e", number, number)
    assert recording.notices == 1
    recording.shown()
    assert recording.recorder.due_ns is None
    recording.plot("e", 100, 100)
    assert recording.notices == 2
    assert recording.recorder.due_ns == recording.now_ns + PERIOD_NS
    assert recording.recorder.message(recording.now_ns + PERIOD_NS - 1) is None
    assert recording.recorder.message(recording.now_ns + PERIOD_NS) is not None


def test_plots_and_series_above_the_limits_are_ignored_and_reported_once(
    recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1000):
        recording.plot(f"plot {number}", 0.0, 1.0)
        recording.plot("plot 0", 0.0, **{f"series {number}": 1.0})
    shown = recording.shown()
    assert len(shown) == MOST_PLOTS
    assert sum(map(len, shown.values())) == MOST_SERIES
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is not drawn: a program may have 16 plots with 64 series in all" in said


def test_after_close_nothing_is_recorded(recording: Recording) -> None:
    recording.recorder.close()
    recording.plot("e", "not even checked")
    assert recording.notices == 0
    assert recording.recorder.message(10 * SECOND) is None


def test_points_of_several_threads_are_never_mixed(recording: Recording) -> None:
    def record(number: int) -> None:
        for _ in range(3000):
            recording.plot("e", 1.0, **{"shared": float(number), f"own {number}": float(number)})

    threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = recording.shown()["e"]
    assert {point for point in shown["shared"]} <= {(1.0, float(number)) for number in range(4)}
    for number in range(4):
        assert set(shown[f"own {number}"]) == {(1.0, float(number))}


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(-1e6, 1e6) | st.just(math.nan)), min_size=1, max_size=300),
    st.integers(2, 50),
)
def test_thinning_always_keeps_extremes_ends_and_order(steps: list[tuple[float, float]], most: int) -> None:
    points = np.array(steps)
    points[:, 0] = np.cumsum(points[:, 0])
    found = thinned(points, most)
    assert len(found) <= max(most, 2)
    assert (np.diff(found[:, 0]) >= 0).all()
    assert found[0, 0] == points[0, 0]
    assert found[-1, 0] == points[-1, 0]
    if np.isfinite(points[:, 1]).any():
        assert np.nanmin(found[:, 1]) == np.nanmin(points[:, 1])
        assert np.nanmax(found[:, 1]) == np.nanmax(points[:, 1])


GOOD = {"plots": [["e", [["a", 1], ["b", 1]]]]}
RAW = np.arange(4.0).tobytes()


@pytest.mark.parametrize(
    ("fields", "raw"),
    [
        ({}, b""),
        ({"plots": 3}, b""),
        ({"plots": [["e", []]] * (MOST_PLOTS + 1)}, b""),
        (GOOD, RAW[:-8]),
        (GOOD, RAW[:16]),
        ({"plots": [["e", [["a", -1]]]]}, RAW),
        ({"plots": [["e", [["a", True]]]]}, RAW),
        ({"plots": [["e", [["a\n", 1]]]]}, RAW),
        ({"plots": [["e", [3]]]}, RAW),
        ({"plots": [["e"]]}, RAW),
        ({"plots": [3]}, RAW),
        (GOOD, np.array([math.nan, 1, 2, 3]).tobytes()),
        (GOOD, np.array([0, math.inf, 2, 3]).tobytes()),
        ({"plots": []}, bytes(MOST_PLOT_BYTES + 16)),
    ],
)
def test_a_damaged_message_is_refused(fields: dict[str, Any], raw: bytes) -> None:
    assert len(plots_from_message(GOOD, RAW)[0].series) == 2
    with pytest.raises(TwixtError):
        plots_from_message(fields, raw)


def test_a_refused_call_makes_no_plot(recording: Recording) -> None:
    for values, series in ((("x",), {}), ((1.0,), {"good": 1.0, "bad": "x"}), ((), {})):
        with pytest.raises(TwixtError):
            recording.plot("wrong", *values, **series)
    recording.plot("right", 1.0, 2.0)
    assert recording.shown() == {"right": {"": [(1.0, 2.0)]}}
