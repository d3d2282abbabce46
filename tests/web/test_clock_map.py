"""The map from the page's clock to the server's."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.web.in_node import run_in_node

HOUR_NS = 3600 * 10**9
PLAY = """
const {ClockMap} = await import(WEB + "connection.js");
answer(given.map((events) => {
  const map = new ClockMap();
  const number = (value) => typeof value === "string" ? Number(value) : value;
  const answers = [];
  for (const event of events) {
    if (event.length === 3) map.addTrip(...event.map(number));
    else answers.push([map.toServerNs(event[0]), map.boundMs, map.isReady]);
  }
  return answers;
}));
"""
Event = tuple[Any, ...]  # (sent ms, server's ns, received ms) of a trip, or (page's ms,) of a question


@dataclass
class Asked:
    """One answer of the map."""

    page_ms: float
    server_ns: int
    bound_ms: float
    is_ready: bool


def asked(*runs: list[Event]) -> list[list[Asked]]:
    """Answers of one map for each list of events."""
    return [
        [
            Asked(event[0], ns, math.inf if bound is None else bound, ready)
            for event, (ns, bound, ready) in zip([e for e in run if len(e) == 1], answers, strict=True)
        ]
        for run, answers in zip(runs, run_in_node(PLAY, runs), strict=True)
    ]


@dataclass
class Link:
    """A link between a page and a server: delays in ms up and down (mean, half of the spread), and both clocks."""

    up: tuple[float, float] = (80, 20)
    down: tuple[float, float] = (80, 20)
    ppm: float = 0.0
    origin_ns: float = 0.0
    resolution_ms: float = 0.1

    def server_ns(self, page_ms: float) -> float:
        return page_ms * (1 + self.ppm * 1e-6) * 1e6 + self.origin_ns

    def seen(self, page_ms: float) -> float:
        """What `performance.now()` shows."""
        return math.floor(page_ms / self.resolution_ms) * self.resolution_ms

    def trips(self, first_ms: float, last_ms: float, seed: int = 1) -> Iterator[Event]:
        """Pings as the page sends them: eight 25 ms apart, then four a second. Answers keep their order."""
        generator = random.Random(seed)
        sent_ms, count, newest_ms = first_ms, 0, 0.0
        while sent_ms < last_ms:
            at_ms = sent_ms + generator.uniform(self.up[0] - self.up[1], self.up[0] + self.up[1])
            back_ms = at_ms + generator.uniform(self.down[0] - self.down[1], self.down[0] + self.down[1])
            newest_ms = max(newest_ms, back_ms)
            yield self.seen(sent_ms), round(self.server_ns(at_ms)), self.seen(newest_ms)
            count += 1
            sent_ms += 25 if count < 8 else 250

    def error_ms(self, answer: Asked) -> float:
        return (answer.server_ns - self.server_ns(answer.page_ms)) / 1e6


def with_frames(trips: Iterator[Event] | list[Event], first_ms: float, last_ms: float, every_ms: float) -> list[Event]:
    """The trips, and questions every `every_ms`, in the order in which a page would have them."""
    frames = [(first_ms + k * every_ms,) for k in range(int((last_ms - first_ms) / every_ms))]
    return sorted([*trips, *frames], key=lambda event: event[-1])


LINKS = {
    "loopback": ((0.45, 0.3), (0.45, 0.3), 0.5),
    "80+-20": ((80, 20), (80, 20), 5),
    "40+-10": ((40, 10), (40, 10), 3),
    "10 up, 80+-20 down": ((10, 0), (80, 20), 30),
}


def test_ten_minutes_at_200_ppm_stay_within_the_bound_and_never_step():
    links = [
        (Link(up, down, ppm, HOUR_NS), most_ms) for up, down, most_ms in LINKS.values() for ppm in (200, -200)
    ]  # fmt: skip
    runs = [with_frames(link.trips(1000, 601_000), 1600, 601_000, 100 / 3) for link, _ in links]
    for (link, most_ms), answers in zip(links, asked(*runs), strict=True):
        errors_ms = sorted(abs(link.error_ms(answer)) for answer in answers)
        assert errors_ms[int(0.99 * len(errors_ms))] < most_ms, link
        assert all(abs(link.error_ms(answer)) <= answer.bound_ms + 0.05 for answer in answers), link
        # half the shortest trip, and what has become of it with age
        shortest_ms = (link.up[0] - link.up[1] + link.down[0] - link.down[1]) / 2
        assert all(shortest_ms < answer.bound_ms < shortest_ms + 16 for answer in answers), link
        assert all(answer.is_ready for answer in answers)
        for one, other in pairwise(answers):
            passed_ns = (other.page_ms - one.page_ms) * 1e6
            assert abs(other.server_ns - one.server_ns - passed_ns) <= 1e-3 * passed_ns + 2, "at most 1 ms a second"


def test_first_eight_trips_are_adopted_at_once_and_then_the_map_is_ready():
    link = Link(origin_ns=-HOUR_NS)
    trips = list(link.trips(1000, 1200))[:8]
    (answers,) = asked([event for trip in trips for event in ((trip[2],), trip, (trip[2],))])
    assert [answer.is_ready for answer in answers] == [False] * 15 + [True]
    assert answers[0].bound_ms == math.inf
    assert abs(link.error_ms(answers[-1])) < 10
    bounds_ms = [answer.bound_ms for answer in answers[1::2]]
    assert bounds_ms == pytest.approx(sorted(bounds_ms, reverse=True), abs=0.1)


def test_slow_first_trips_are_forgotten():
    slow = [(k * 25.0, round((k * 25 + 900) * 1e6), k * 25 + 1000.0) for k in range(8)]
    link = Link()
    (answers,) = asked([*slow, *link.trips(2000, 1_000_000), (1_000_500.0,)])
    assert abs(link.error_ms(answers[-1])) < 5


def test_no_trip_for_five_minutes_is_made_good_by_the_next_ones():
    """A hidden tab: both clocks go on, and differ by 60 ms afterwards."""
    link = Link(ppm=200)
    asks = [(60_500.0,), (360_000.0,), (360_210.0,), (361_500.0,)]
    events = sorted([*link.trips(0, 60_000), *asks, *link.trips(360_000, 361_000)], key=lambda event: event[-1])
    (answers,) = asked(events)
    assert [answer.is_ready for answer in answers] == [True, True, False, True]
    assert abs(link.error_ms(answers[1])) > 50
    assert abs(link.error_ms(answers[3])) < 10


@pytest.mark.parametrize("jump_s", [300, -300, 0.5, -0.5])
def test_a_clock_that_jumps_is_followed_at_once(jump_s):
    """The clock of a computer that sleeps may stop."""
    before, after = Link(), Link(origin_ns=jump_s * 1e9)
    events: list[Event] = list(before.trips(0, 60_000))
    for trip in list(after.trips(60_300, 60_700, seed=2))[:8]:
        events += [trip, (trip[2],)]
    (answers,) = asked(events)
    assert abs(after.error_ms(answers[0])) < 80, "by the first trip"
    assert abs(after.error_ms(answers[7])) < 10, "by eight trips"
    assert [answer.is_ready for answer in answers] == [False] * 7 + [True]


def test_a_ping_that_is_answered_after_a_long_sleep_does_no_harm():
    link = Link()
    late = [(60_000.0, round(link.server_ns(at_ms)), 360_000.0) for at_ms in (60_080.0, 200_000.0, 359_920.0)]
    runs = [[*link.trips(0, 60_000), trip, (360_001.0,)] for trip in late]
    for (answer,) in asked(*runs):
        assert abs(link.error_ms(answer)) < 160


@pytest.mark.parametrize("resolution_ms", [0.005, 0.1, 1.0])
def test_two_clocks_on_one_host_agree_whatever_they_count_from(resolution_ms):
    link = Link((0.2, 0.1), (0.2, 0.1), origin_ns=2.0**54, resolution_ms=resolution_ms)
    (answers,) = asked(with_frames(link.trips(1000, 20_000), 1500, 20_000, 50))
    assert max(abs(link.error_ms(answer)) for answer in answers) <= 0.2 + resolution_ms


def test_trips_that_cannot_be_are_ignored_and_disorder_is_harmless():
    link = Link()
    trips = list(link.trips(0, 30_000))
    wrong: list[Event] = [
        ("NaN", 5, 10), (5, "NaN", 10), (5, 10, "NaN"), (5, "Infinity", 10), ("-Infinity", 5, 10), (5, 10, "Infinity"),
        (40_000, 1, 39_999),
    ]  # fmt: skip
    spoilt = [event for trip in trips for event in (*wrong, trip)]
    shuffled = trips.copy()
    random.Random(1).shuffle(shuffled)
    doubled = [event for trip in trips for event in (trip, trip)]
    question = (30_500.0,)
    clean, ignored, mixed, twice = asked(
        [*trips, question], [*spoilt, question], [*shuffled, question], [*doubled, question]
    )
    assert ignored == clean
    for answers in (clean, mixed, twice):
        assert abs(link.error_ms(answers[0])) < 10
        assert answers[0].is_ready
