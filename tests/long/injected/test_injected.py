"""Each cause of a bad frame, by trouble injected into a real viewer of a real physics process: a few cases of each.

Many more: `python -m tests.long.injected`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.long.injected.machine import Lot, Machine, Sample
from tests.long.injected.page import broken, misnamed, of_kind, page, share_right
from tests.long.injected.trial import EXPECTED, KINDS, Judged, Trial, cases, length_s, run
from tests.long.injected.viewer import Case
from twixt.render.measure.run_figures import COST_NAMES

MS = 1_000_000
CLEAR = Lot(0.0, 0.0, 0.0)


@pytest.mark.stress
def test_each_kind_of_trouble_is_named_with_its_part(tmp_path: Path) -> None:
    planned = cases(2, seed=3)
    environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    trial = run(tmp_path, environ, planned, length_s(planned))
    assert trial.judged
    assert all(sum(each.parts_ms) > 0 for each in trial.judged)
    collected = [each.parts_ms[COST_NAMES.index("gc")] for each in of_kind(trial, "gc")]
    assert collected
    assert min(collected) > 10, "the heap was not looked through"
    clear = [each for each in trial.judged if not each.lot.is_disturbed]
    if len(clear) < len(planned) / 2:
        pytest.skip(f"others had the cores: {len(clear)} of {len(planned)} cases were not disturbed")
    assert sum(each.is_in_time for each in clear) <= len(clear) / 4, "offscreen no frame is in hand"
    wrong = [each for each in clear if not each.is_right]
    assert len(wrong) <= len(clear) / 4, wrong


def test_a_case_is_right_when_all_that_is_bad_around_it_has_its_cause() -> None:
    case, late = Case("user", "user"), EXPECTED["user"]
    assert Judged(case, 1, (late, late), CLEAR, ()).is_right
    assert not Judged(case, 1, (), CLEAR, ()).is_right, "a stall of 30 ms that nobody noticed"
    assert not Judged(case, 1, (late, "display late"), CLEAR, ()).is_right
    assert not Judged(case, 1, ("render late: draw",), CLEAR, ()).is_right


def test_a_case_is_disturbed_by_others_that_ran_while_ours_waited_and_by_the_host() -> None:
    machine = Machine({os.getpid()})
    second = 1_000 * MS
    for i in range(20):
        busy_ns = i * 5 * MS + (i > 10) * 60 * MS
        waited_ns = (i > 10) * 9 * MS
        machine.samples.append(Sample(second + i * 10 * MS, busy_ns, (i > 17) * 10 * MS, i * 5 * MS, waited_ns))
    assert not machine.between(second, second + 40 * MS).is_disturbed
    assert machine.between(second + 90 * MS, second + 130 * MS) == Lot(60.0, 0.0, 9.0)
    assert machine.between(second + 90 * MS, second + 130 * MS).is_disturbed
    assert machine.between(second + 170 * MS, second + 180 * MS).is_disturbed, "the host took a core"


def test_disturbed_cases_are_shown_and_left_out_of_the_share() -> None:
    case = Case("user", "user")
    right, wrong = (EXPECTED["user"],), ("display late",)
    judged = [Judged(case, 1, right, CLEAR, ()), Judged(case, 2, wrong, Lot(90.0, 0.0, 20.0), ())]
    assert share_right(judged) == 1.0
    assert share_right([]) is None
    judged.append(Judged(case, 3, wrong, CLEAR, (0.0, 0.0, 30.0, 0.0, 0.0, 0.0)))
    trial = Trial(judged, frames=9)
    text = page({"xvfb": trial}, {}, ["a condition"], ("xvfb", 50, 60.0))
    assert "| the user's drawing takes 30 ms longer | render late: user | 1 of 2 (1 of 3) |" in text
    assert "| user | user, asleep | 3 | 1 display late | 0 0 30 0 0 0 | no | 0, 0.0 |" in misnamed(trial)
    assert "- a condition" in text


def test_a_limit_that_is_not_met_is_listed_with_its_display_and_figures() -> None:
    case = Case("user", "user")
    right, wrong = Judged(case, 1, (EXPECTED["user"],), CLEAR, ()), Judged(case, 2, ("display late",), CLEAR, ())
    assert broken({"xvfb": Trial([right] * 19 + [wrong])}, {}, 0) == []
    assert broken({"xvfb": Trial([right] * 18 + [wrong])}, {}, 0) == [
        "xvfb, the user's drawing takes 30 ms longer: 94.7% of the cases are right, but at least 95% must be right"
    ]
    assert len(broken({"xvfb": Trial([right])}, {}, 2)) == len(KINDS), "fewer cases than asked for"
    late = ["render late"]
    assert broken({}, {"sway": Trial(clear_frames=1001, clear_bad=late)}, 0) == []
    assert broken({}, {"sway": Trial(clear_frames=1000, clear_bad=late)}, 0) == ["sway: 1 of 1000 quiet frames are bad"]
    not_quiet = {
        "sway": Trial(clear_frames=9, clear_bad=late, wake_p99_us=1e3),
        "xvfb": Trial(clear_frames=9, clear_bad=late, steal_ms=10.0),
    }
    assert broken({}, not_quiet, 0) == []
    text = page({}, not_quiet, [], ("sway xvfb", 0, 60.0))
    assert "| 111.11 | not judged: woken late |" in text
    assert "| 111.11 | not judged: the host took time |" in text


def test_a_plan_has_as_many_cases_of_each_kind_and_is_the_same_for_a_seed() -> None:
    planned = cases(5, seed=1)
    assert {kind: sum(case.kind == kind for case in planned) for kind in KINDS} == dict.fromkeys(KINDS, 5)
    assert planned == cases(5, seed=1)
    assert planned != cases(5, seed=2)
