"""What two kinds of runs differ in: known differences, equal runs, drift, single bad runs, too few of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from twixt.cli.differences import (  # fmt: skip
    FEWEST_RUNS,
    HIGHER,
    LOWER,
    NO_DIFFERENCE,
    NO_VERDICT,
    Compared,
    MachineLoad,
    Noise,
    compare_runs,
    counting_runs,
    interval_of_difference,
)
from twixt.cli.run_tables import FIGURES, broken, figures_of, read_differences
from twixt.ipc.errors import TwixtError

WORK, ERROR = "frames.cpu_ms.p50", "motion.animation_error_ms.p99"
QUIET = MachineLoad(2, 0.05, 0.0)

Run = dict[str, float | None]


def runs_of(random: np.random.Generator, count: int, work_ms: float = 5.0, error_ms: float = 0.5) -> list[Run]:
    """Runs of a machine that repeats its work within 3 % and its worst errors within a factor of two."""
    return [
        {WORK: work_ms * (1 + 0.03 * random.normal()), ERROR: error_ms * math.exp(0.5 * random.normal())}
        for _ in range(count)
    ]


def verdicts(a: list[Run], b: list[Run], figures: tuple[str, ...] = (WORK, ERROR)) -> dict[str, str]:
    return {one.figure: one.verdict for one in compare_runs(a, b, figures, Noise())}


@pytest.mark.parametrize(("more_ms", "verdict"), [(3.0, HIGHER), (-2.0, LOWER), (0.5, HIGHER)])
def test_a_known_difference_is_seen_with_its_sign_and_its_size_is_in_the_interval(more_ms: float, verdict: str) -> None:
    random = np.random.default_rng(1)
    work, error = compare_runs(
        runs_of(random, 10), runs_of(random, 10, 5.0 + more_ms), (WORK, ERROR), Noise()
    )  # fmt: skip
    assert work.verdict == verdict
    assert work.low is not None
    assert work.high is not None
    assert work.low < more_ms < work.high
    assert error.verdict == NO_DIFFERENCE


@pytest.mark.slow
def test_of_equal_runs_nineteen_tables_in_twenty_show_nothing() -> None:
    random = np.random.default_rng(2)
    figures = tuple(f"f{number}" for number in range(11))
    tables = 60
    clean = sum(
        not any(one.is_seen for one in compare_runs(
            *([dict(zip(figures, np.exp(random.normal(size=11)), strict=True)) for _ in range(7)] for _ in "AB"),
            figures, Noise(),
        ))
        for _ in range(tables)
    )  # fmt: skip
    assert clean >= 0.95 * tables


def test_drift_in_balanced_turns_is_no_difference() -> None:
    random = np.random.default_rng(3)
    runs = [{WORK: 5 + 0.2 * at + 0.1 * random.normal()} for at in range(20)]
    a, b = ([run for at, run in enumerate(runs) if "ABBA"[at % 4] == side] for side in "AB")
    assert verdicts(a, b, (WORK,)) == {WORK: NO_DIFFERENCE}


def test_one_bad_run_of_each_hides_no_difference_and_makes_none() -> None:
    random = np.random.default_rng(4)
    a, b = runs_of(random, 10), runs_of(random, 10, 8.0)
    a[3], b[5] = {WORK: 40.0, ERROR: 90.0}, {WORK: 60.0, ERROR: 4.0}
    assert verdicts(a, b)[WORK] == HIGHER
    assert verdicts(a, [*runs_of(random, 9), b[5]])[WORK] == NO_DIFFERENCE


@pytest.mark.parametrize("count", [0, 1, 2, FEWEST_RUNS - 1])
def test_too_few_runs_have_no_verdict_and_say_how_many_are_needed(count: int) -> None:
    random = np.random.default_rng(5)
    one = compare_runs(runs_of(random, count), runs_of(random, count, 50.0), (WORK,), Noise())[0]
    assert one.verdict == NO_VERDICT
    assert (str(FEWEST_RUNS) in one.why) == (count > 0)
    assert (one.a is None) == (count == 0)


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf])
def test_a_figure_that_runs_lack_is_compared_by_the_others_or_not_at_all(nothing: float | None) -> None:
    random = np.random.default_rng(6)
    a, b = runs_of(random, 10), runs_of(random, 10, 9.0)
    a[0] = a[0] | {WORK: nothing}
    for run in b:
        run[ERROR] = nothing
    work, error = compare_runs(a, b, (WORK, ERROR), Noise())
    assert (work.verdict, work.runs) == (HIGHER, (9, 10))
    assert (error.verdict, error.runs) == (NO_VERDICT, (10, 0))


def test_a_figure_that_never_changes_differs_where_it_differs() -> None:
    a, same, other = ([{WORK: value}] * 8 for value in (0.0, 0.0, 2.0))
    assert verdicts(a, same, (WORK,)) == {WORK: NO_DIFFERENCE}
    assert verdicts(a, other, (WORK,)) == {WORK: HIGHER}
    assert verdicts([{WORK: 60.0}] * 8, [{WORK: 60.0001}] * 8, (WORK,)) == {WORK: NO_DIFFERENCE}


def test_the_same_values_give_the_same_interval() -> None:
    random = np.random.default_rng(7)
    a, b = random.normal(size=12), random.normal(size=12)
    assert interval_of_difference(a, b, 0.005) == interval_of_difference(a, b, 0.005)


def test_more_runs_narrow_the_interval() -> None:
    random = np.random.default_rng(8)
    widths = []
    for count in (6, 24, 96):
        low, high = interval_of_difference(random.normal(size=count), random.normal(size=count), 0.005)
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]


# -- noise


def judged(loads: list[MachineLoad], figures: list[Run] | None = None) -> tuple[list[int], Noise]:
    sides = ["ABBA"[at % 4] for at in range(len(loads))]
    figures = figures or [{WORK: 5.0 + 0.1 * (at % 3)} for at in range(len(loads))]
    return counting_runs(figures, loads, sides, FEWEST_RUNS)


def test_a_quiet_machine_has_a_verdict() -> None:
    counting, noise = judged([QUIET] * 16)
    assert counting == list(range(16))
    assert not noise.too_noisy


def test_single_disturbed_runs_are_left_out_and_said() -> None:
    loads = [QUIET] * 16
    loads[2] = loads[7] = MachineLoad(2, 0.9, 0.0)
    counting, noise = judged(loads)
    assert len(counting) == 14
    assert 2 not in counting
    assert not noise.too_noisy
    assert "2 of 16 runs were disturbed" in noise.notes[0]


@pytest.mark.parametrize("load", [MachineLoad(2, 1.0, 0.0), MachineLoad(2, 0.0, 0.3), MachineLoad(16, 6.0, 0.0)])
def test_a_machine_that_others_use_all_the_time_has_no_verdict_and_says_who(load: MachineLoad) -> None:
    counting, noise = judged([load] * 16)
    assert len(counting) == 16
    assert f"of {load.cores} cores" in noise.too_noisy
    one = compare_runs([{WORK: 5.0}] * 8, [{WORK: 9.0}] * 8, (WORK,), noise)[0]
    assert one.verdict == NO_VERDICT
    assert noise.too_noisy in one.why


def test_runs_of_a_that_differ_among_themselves_have_no_verdict() -> None:
    figures: list[Run] = [{WORK: 5.0 * (1 + at % 5)} for at in range(20)]
    _, noise = judged([QUIET] * 20, figures)
    assert "in the runs of A, " in noise.too_noisy


def test_a_drift_of_a_is_said_and_is_no_noise() -> None:
    _, noise = judged([QUIET] * 16, [{WORK: 5.0 + 0.05 * at} for at in range(16)])
    assert not noise.too_noisy
    assert any("drifted" in line for line in noise.notes)


def test_a_system_that_says_nothing_of_its_load_is_judged_by_a_against_a_and_that_is_said() -> None:
    counting, noise = judged([MachineLoad(2, None, None)] * 16)
    assert len(counting) == 16
    assert not noise.too_noisy
    assert "the CPU time of other programs cannot be measured on this system" in noise.notes[-1]
    assert not any("not known" in line for line in judged([QUIET] * 16)[1].notes)


# -- figures, limits


def test_figures_are_taken_from_a_report_and_a_missing_one_is_none() -> None:
    report = {"frames": {"cpu_ms": {"p50": 2.5, "p99": None}, "seconds": 4.0, "missed_refreshes": 2}, "motion": None}
    found = figures_of(report)
    assert set(found) == set(FIGURES)
    assert found[WORK] == 2.5
    assert found["frames.missed_per_minute"] == 30.0
    assert found[ERROR] is found["frames.cpu_ms.p99"] is None


def compared(verdict: str, difference: float | None) -> list[Compared]:
    return [Compared(WORK, 5.0, 6.0, difference, 0.5, 1.5, 0.01, verdict, "noise" if verdict == NO_VERDICT else "")]


@pytest.mark.parametrize(
    ("text", "verdict", "difference", "breaks"),
    [
        (f"{WORK}>0.5", HIGHER, 1.0, True), (f"{WORK}>2", HIGHER, 1.0, False), (f"{WORK}>0.5", NO_DIFFERENCE, 1.0, False),
        (f"{WORK}<0", NO_DIFFERENCE, -1.0, False), (f"{WORK}<99", NO_DIFFERENCE, 1.0, True),
        (f"{WORK}>1000", NO_VERDICT, 1.0, True), (f"{WORK}>1000", NO_VERDICT, None, True),
    ],
)  # fmt: skip
def test_a_limit_is_held_against_the_difference_that_is_seen(
    text: str, verdict: str, difference: float | None, breaks: bool
) -> None:
    assert bool(broken(read_differences([text]), compared(verdict, difference))) == breaks


@pytest.mark.parametrize(
    ("text", "says"),
    [("frames.cpu_ms.mean>1", "frames.cpu_ms.p50"), (f"{WORK}>x", "a number"), (f"{WORK}==true", "a number"), ("a", "FIGURE")],
)  # fmt: skip
def test_a_limit_of_something_else_is_refused_with_the_way_out(text: str, says: str) -> None:
    with pytest.raises(TwixtError, match=says):
        read_differences([text])
