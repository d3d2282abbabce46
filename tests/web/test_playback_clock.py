"""The playback clock of the page answers as the native one does."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest

from bench.clock.traces import TRACES, play
from tests.web.clock_calls import PlayedClock, largest_difference_ns, troubled_calls, wild_calls
from tests.web.in_node import run_in_node
from twixt.ipc.quantiles import QuantileWindow
from twixt.render.playback import PREFERENCES

CLOCKS = [
    *(partial(PlayedClock, "auto", prefer) for prefer in PREFERENCES),
    *(partial(PlayedClock, mode) for mode in ("ahead", "newest-two", "buffered")),
    partial(PlayedClock, "buffered", buffer_ms=120.25),
]


def test_every_trace_of_the_clock_bench_is_drawn_alike_for_the_same_reasons():
    clocks, names = [], []
    for seed, (make, (name, trace)) in enumerate(product(CLOCKS, TRACES.items())):
        clock = make()
        play(clock, trace(seed, 10.0), seed, latch_ns=(seed % 3) * 8_000_000, missed=0.02 * (seed % 2))
        clocks.append(clock)
        names.append(f"{name}: {clock.mode}, {clock.prefer}")
    assert sum(len(clock.frames) for clock in clocks) > 40_000
    assert largest_difference_ns(clocks, names) <= 1000


def test_pauses_steps_resets_disorder_and_changes_of_settings_are_drawn_alike():
    clocks = [troubled_calls(seed, 5.0) for seed in range(120)]
    assert largest_difference_ns(clocks, map("seed {}".format, range(120))) <= 1000
    seen = {frame[0] for clock in clocks for frame in clock.frames}
    assert seen >= {"ahead", "late", "newest-two", "buffered", "paused"}
    reasons = {frame[1].split(":")[0] for clock in clocks for frame in clock.frames}
    assert {"steps of uneven length", "simulated time is stopped", "playing to the next snapshot"} <= reasons


def test_calls_that_make_no_sense_are_answered_alike():
    clocks = [wild_calls(seed, 80) for seed in range(300)]
    assert largest_difference_ns(clocks, map("seed {}".format, range(300))) <= 1000


@pytest.mark.parametrize("hours", [0, 100 * 24])
def test_instants_near_2_to_the_53_and_slow_steps_lose_no_digit(hours):
    """Products of gaps between snapshots exceed 2^53 at steps of 100 ms."""
    origin_ns = hours * 3600 * 10**9
    clock = PlayedClock("ahead")
    for k in range(20):
        clock.observe(k * 999_999_937, origin_ns + k * 1_000_000_007, origin_ns)
    for k in range(1200):
        clock.draw_time_ns(origin_ns + k * 16_666_667, 123_456_789)
    assert largest_difference_ns([clock], ["slow steps"]) == 0


def test_quantiles_of_a_window_are_those_of_python():
    rng = np.random.default_rng(3)
    windows = [rng.integers(-50, 50, 300).tolist() for _ in range(4)]
    shares = [0.0, 0.1, 0.5, 2 / 3, 0.8, 0.999, 1.0]
    theirs = run_in_node(
        """
        const {QuantileWindow} = await import(WEB + "estimator.js");
        answer(given.windows.map((values) => {
          const window = new QuantileWindow(128);
          return [undefined, ...values].map((value) => {
            if (value !== undefined) window.add(value);
            return given.shares.map((share) => window.quantile(share, 7));
          });
        }));
        """,
        {"windows": windows, "shares": shares},
    )
    for values, answers in zip(windows, theirs, strict=True):
        window = QuantileWindow(128)
        assert answers[0] == [7] * len(shares)
        for value, answer in zip(values, answers[1:], strict=True):
            window.add(value)
            assert answer == [window.quantile(share) for share in shares]


def test_wrong_settings_are_refused_with_the_rule():
    messages = run_in_node(
        """
        const {PlaybackClock} = await import(WEB + "playback_clock.js");
        const clock = new PlaybackClock();
        const tries = [
          () => clock.select("toString"), () => new PlaybackClock("newest"), () => { clock.prefer = "speed"; },
          () => { clock.bufferMs = -1; }, () => { clock.bufferMs = NaN; }, () => { clock.bufferMs = "80"; },
          () => { clock.reachNs = 0.5; }, () => { clock.reachNs = -1; },
        ];
        answer(tries.map((attempt) => { try { attempt(); return null; } catch (error) { return error.message; } }));
        """
    )
    assert all(" must be " in message for message in messages)
    assert messages[0] == "clock must be one of auto, ahead, newest-two, buffered, got 'toString'"
