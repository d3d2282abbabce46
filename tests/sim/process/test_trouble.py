"""Random trouble of each step, and injected work and waits, in virtual time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.config.troubles import Troubles
from twixt.sim.process.trouble import InjectedTrouble

MS, S = 1_000_000, 1_000_000_000
EVERYTHING = Troubles((20, 120), (500, 5), 5, (80, 20))


def never(now_ns: int) -> None:
    """A `Meanwhile` without work and without a next call."""


class TickingClock:
    """Clock that advances by 10 microseconds at each call, as by a piece of work; `sleep` takes 50 more than asked."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        self.ns += 10_000
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9) + 50_000


def drawn(trouble: InjectedTrouble, steps: range) -> list[tuple[int, bool, int | None]]:
    return [(trouble.work_ns(step), trouble.drops(step), trouble.delay_ns(step)) for step in steps]


def test_the_same_seed_gives_the_same_trouble() -> None:
    first, same, other = (InjectedTrouble(EVERYTHING, seed) for seed in (1, 1, 2))
    assert drawn(first, range(200)) == drawn(same, range(200))
    assert drawn(first, range(200)) != drawn(other, range(200))


@given(st.permutations(range(1, 30)), st.booleans())
def test_what_happens_to_a_step_never_depends_on_what_was_asked_before(steps: list[int], switch: bool) -> None:
    calm = {step: drawn(InjectedTrouble(EVERYTHING, 7), range(step, step + 1)) for step in steps}
    restless = InjectedTrouble(EVERYTHING, 7)
    for step in steps:
        if switch:
            restless.change("slow_physics", None)
            restless.change("slow_physics", [20, 120])
        assert drawn(restless, range(step, step + 1)) == calm[step]


@given(st.integers(0, 2**40), st.integers(0, 2**50), st.floats(0, 200), st.floats(0, 200))
def test_lengths_always_lie_in_the_range_asked_for(seed: int, step: int, one: float, other: float) -> None:
    low, high = sorted((one, other))
    trouble = InjectedTrouble(Troubles((low, high), delay_ms=(high, low)), seed)
    assert round(low * 1e6) <= trouble.work_ns(step) <= round(high * 1e6)
    delay_ns = trouble.delay_ns(step)
    assert delay_ns is None or -1 <= delay_ns - (high - low) * 1e6 <= 2 * low * 1e6 + 1


def test_lengths_are_spread_evenly_over_the_whole_range() -> None:
    trouble = InjectedTrouble(EVERYTHING, 0)
    work_ms = [trouble.work_ns(step) / 1e6 for step in range(1000)]
    delay_ms = [(trouble.delay_ns(step) or 0) / 1e6 for step in range(1000)]
    for values, low, high in ((work_ms, 20, 120), (delay_ms, 60, 100)):
        quarter = (high - low) / 4
        for k in range(4):
            assert 200 <= sum(low + k * quarter <= value < low + (k + 1) * quarter for value in values) <= 300


def test_losses_are_as_many_as_asked_for_and_of_no_kin_to_delays() -> None:
    trouble = InjectedTrouble(EVERYTHING, 0)
    lost = [step for step in range(20_000) if trouble.drops(step)]
    assert 900 <= len(lost) <= 1100
    mean_ms = sum((trouble.delay_ns(step) or 0) / 1e6 for step in lost) / len(lost)
    assert mean_ms == pytest.approx(80, abs=2)
    assert not any(InjectedTrouble(Troubles(), 0).drops(step) for step in range(100))
    assert all(InjectedTrouble(Troubles(drop_percent=100), 0).drops(step) for step in range(100))


def stalled_at_s(trouble: InjectedTrouble, dt_ns: int, until_s: float) -> list[float]:
    begins = range(0, round(until_s * S), dt_ns)
    return [begin / S for begin in begins if trouble.stall_ns(max(0, begin - dt_ns), begin)]


@pytest.mark.parametrize(("dt_ms", "expected"), [(20, [5, 10, 15]), (3, [5.001, 10.002, 15]), (7000, [7, 14])])
def test_a_stall_comes_in_front_of_the_first_step_at_or_after_its_instants(dt_ms: int, expected: list[float]) -> None:
    assert stalled_at_s(InjectedTrouble(EVERYTHING, 0), dt_ms * MS, 16) == expected


def test_stalls_asked_for_while_running_come_at_the_same_instants() -> None:
    trouble = InjectedTrouble(Troubles(), 0)
    assert stalled_at_s(trouble, 20 * MS, 11) == []
    trouble.change("stall", [500, 5])
    assert stalled_at_s(trouble, 20 * MS, 11) == [5, 10]


def test_work_and_waiting_last_as_long_as_they_were_drawn() -> None:
    clock = TickingClock()
    trouble = InjectedTrouble(EVERYTHING, 0, clock, clock.sleep)
    trouble.work(40 * MS, never)
    assert 40e6 <= clock.ns <= 40.1e6
    clock.ns = 0
    trouble.wait(500 * MS, never)
    assert 500e6 <= clock.ns <= 500.2e6


@pytest.mark.parametrize("how", ["work", "wait"])
def test_what_is_to_be_done_meanwhile_is_done_at_its_instants(how: str) -> None:
    clock = TickingClock()
    trouble = InjectedTrouble(EVERYTHING, 0, clock, clock.sleep)
    wanted_ns = [10 * MS, 10 * MS, 25 * MS, 90 * MS]
    done_ns: list[int] = []

    def meanwhile(now_ns: int) -> int | None:
        while wanted_ns and wanted_ns[0] <= now_ns:
            done_ns.append(now_ns - wanted_ns.pop(0))
        return wanted_ns[0] if wanted_ns else None

    getattr(trouble, how)(60 * MS, meanwhile)
    assert len(done_ns) == 3
    assert max(done_ns) < 0.2 * MS
    assert 60 * MS <= clock.ns <= 60.2 * MS


def test_no_trouble_is_no_work_no_stall_no_loss_and_no_delay() -> None:
    for nothing in (Troubles(), Troubles((0, 0), (0, 1), 0, (0, 0))):
        trouble = InjectedTrouble(nothing, 0)
        assert drawn(trouble, range(1, 3)) == [(0, False, None)] * 2
        assert trouble.stall_ns(0, 10**12) == 0


def test_each_kind_is_changed_by_its_command_and_what_flags_asked_for_is_kept() -> None:
    trouble = InjectedTrouble(EVERYTHING, 0)
    for kind in ("slow_physics", "stall", "drop", "delay"):
        trouble.change(kind, None)
    assert trouble.now == Troubles()
    assert trouble.asked == EVERYTHING
    trouble.change("slow_physics", [3, 3])
    trouble.change("drop", 100)
    trouble.change("delay", [1, 0])
    assert drawn(trouble, range(1, 2)) == [(3 * MS, True, MS)]
