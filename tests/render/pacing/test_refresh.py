"""Whether swap waits for the display, judged from swaps alone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from twixt.render.pacing.refresh import Refresh, SwapProbe

MS = 1_000_000


def probed(swap_end_ns, reported_hz: float | None = None) -> tuple[Refresh, int]:  # type: ignore[no-untyped-def]
    """The verdict on a display whose swap called at `begin` comes back at `swap_end_ns(begin)`, and its swaps."""
    probe, now_ns, swaps = SwapProbe(reported_hz), 0, 0
    while not probe.done:
        begin_ns = now_ns + probe.pause_ns
        now_ns = swap_end_ns(begin_ns)
        probe.add(begin_ns, now_ns)
        swaps += 1
        assert swaps < 1000, "a probe ends"
    return probe.verdict(), swaps


def blocking(period_ns: float):  # type: ignore[no-untyped-def]
    return lambda begin_ns: round(math.floor((begin_ns + 1000) / period_ns + 1) * period_ns)


@pytest.mark.parametrize("hz", [30, 60, 90, 144, 240, 360])
def test_a_display_that_blocks_is_found_with_its_refresh(hz: int) -> None:
    refresh, _ = probed(blocking(1e9 / hz))
    assert refresh.blocks
    assert refresh.period_ns == pytest.approx(1e9 / hz, rel=0.01)


def test_a_pause_that_shifts_every_return_does_not_stretch_the_refresh() -> None:
    # Swap returns at once; the clear before the pause waits until the frame before is shown.
    probe, now_ns, shown_ns = SwapProbe(60), 0, 0
    while not probe.done:
        begin_ns = max(now_ns, shown_ns) + probe.pause_ns
        shown_ns = (begin_ns // (20 * MS) + 1) * 20 * MS
        now_ns = begin_ns + 50_000
        probe.add(begin_ns, now_ns)
    assert probe.verdict().blocks
    assert probe.verdict().period_ns == pytest.approx(20 * MS, rel=0.002)


def test_the_measured_refresh_counts_not_the_reported_one() -> None:
    refresh, _ = probed(blocking(25 * MS), reported_hz=60)
    assert refresh.blocks
    assert refresh.period_ns == pytest.approx(25 * MS, rel=0.01)


def test_quick_swaps_block_for_nothing() -> None:
    refresh, swaps = probed(lambda begin_ns: begin_ns + 400_000)
    assert refresh == Refresh(False, None, refresh.reason)
    assert "unknown" in refresh.reason
    assert swaps < 12, "told after the first stage"


@pytest.mark.parametrize("swap_ms", [2, 8, 16.7, 40])
def test_a_swap_that_takes_long_is_not_one_that_waits(swap_ms: float) -> None:
    refresh, _ = probed(lambda begin_ns: begin_ns + round(swap_ms * MS))
    assert not refresh.blocks


def test_where_nothing_blocks_a_plausible_report_is_all_there_is() -> None:
    assert probed(lambda begin_ns: begin_ns + 400_000, reported_hz=75)[0].period_ns == round(1e9 / 75)
    assert probed(lambda begin_ns: begin_ns + 400_000, reported_hz=1)[0].period_ns is None


def test_one_swap_held_up_does_not_change_the_verdict() -> None:
    calls = {"n": 0}

    def swap_end_ns(begin_ns: int) -> int:
        calls["n"] += 1
        return blocking(1e9 / 60)(begin_ns + (30 * MS if calls["n"] in (6, 12) else 0))

    refresh, _ = probed(swap_end_ns)
    assert refresh.blocks
    assert refresh.period_ns == pytest.approx(1e9 / 60, rel=0.01)


def test_swaps_that_hardly_come_back_end_the_probe() -> None:
    refresh, swaps = probed(lambda begin_ns: begin_ns + 250 * MS)
    assert not refresh.blocks
    assert swaps <= 5


def test_a_busy_machine_that_does_not_wait_is_not_taken_for_a_display() -> None:
    def blocks(seed: int) -> bool:
        random = np.random.default_rng(seed)
        return probed(lambda begin_ns: begin_ns + round(random.lognormal(0.8, 0.8) * MS))[0].blocks

    assert [seed for seed in range(40) if blocks(seed)] == []


def test_a_load_that_goes_away_while_probing_does_not_look_like_waiting() -> None:
    def blocks(seed: int) -> bool:
        random, swaps = np.random.default_rng(seed), itertools.count()

        def swap_end_ns(begin_ns: int) -> int:
            return begin_ns + round(random.lognormal(0.6, 0.1) * MS * (1.0 if next(swaps) < 9 else 0.6))

        return probed(swap_end_ns)[0].blocks

    assert [seed for seed in range(200) if blocks(seed)] == []


# Swaps in ms of a virtual KWin at 60 Hz beside two busy loops: it calls for the next frame up to 3 ms early or late, and
# skips some refreshes.
UNEVEN_CALLS_MS = [
    [
        (0.0, 6.2),
        (6.3, 15.0),
        (15.1, 31.6),
        (31.7, 46.1),
        (47.0, 63.3),
        (63.4, 83.8),
        (83.9, 95.3),
        (95.4, 112.6),
        (112.7, 129.2),
        (137.8, 145.9),
        (154.5, 165.7),
        (174.3, 179.7),
        (188.3, 195.5),
        (204.1, 212.6),
        (221.3, 230.2),
    ],
    [
        (0.0, 4.0),
        (5.0, 13.7),
        (13.8, 36.0),
        (36.2, 44.1),
        (48.0, 61.1),
        (61.2, 81.0),
        (81.1, 97.1),
        (97.3, 113.5),
        (113.6, 133.2),
        (141.7, 145.6),
        (154.1, 161.3),
        (169.7, 181.2),
        (189.7, 198.2),
        (206.6, 213.4),
        (221.9, 229.1),
    ],
    [
        (0.0, 7.4),
        (7.5, 14.1),
        (16.0, 30.2),
        (30.3, 47.2),
        (47.3, 63.2),
        (63.3, 84.1),
        (84.2, 97.4),
        (100.0, 113.3),
        (113.4, 129.2),
        (137.3, 144.1),
        (153.9, 165.5),
        (173.5, 177.5),
        (185.6, 193.6),
        (201.7, 213.3),
        (221.4, 229.1),
    ],
]


@pytest.mark.parametrize("swaps_ms", UNEVEN_CALLS_MS)
def test_a_compositor_that_calls_unevenly_is_one_all_the_same_and_its_refresh_is_found(
    swaps_ms: list[tuple[float, float]],
) -> None:
    called, waited = SwapProbe(75, is_called=True), SwapProbe(75)
    for begin_ms, end_ms in swaps_ms:
        for probe in (called, waited):
            probe.add(round(begin_ms * MS), round(end_ms * MS))
    assert called.verdict().blocks
    assert called.verdict().period_ns == pytest.approx(1e9 / 60, rel=0.02)
    assert not waited.verdict().blocks, "without that knowledge it looks like a busy machine"


def test_a_compositor_that_calls_at_once_paces_nothing() -> None:
    probe = SwapProbe(60, is_called=True)
    for frame in range(9):
        probe.add(frame * 300_000, frame * 300_000 + 250_000)
    assert probe.done
    assert not probe.verdict().blocks
