"""`python -m bench events`: its promises, tables and exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.commands import EVENT_CASES, main
from bench.events.deliveries import LATE_MS, Deliveries
from bench.events.event_runs import COUNTED, EXACT, Case, CaseRun, Viewer, ViewerRun
from bench.events.events_bench import Row, broken_of, cases, write_results
from bench.pages import Results

GOOD = Deliveries(
    expected=100, delivered=100, missing=0, twice=0, unordered=0, foreign=0, before=0, damaged=0, late_frames={0: 100},
    late_ms=[*[0] * len(LATE_MS), 100], late_p50_ms=8.0, late_p99_ms=16.0, late_max_ms=20.0, within_frame=100.0,
    jumped=0, emitted_late=0,
)  # fmt: skip
WHERE = {
    "processor": "a processor", "cores": 2, "system": "a system", "display": "Xvfb", "free_cores_before": None
}  # fmt: skip
SAID = ("twixt: 5 events were lost, because",)


def ran(
    figures: Deliveries | None = GOOD, promise: str = EXACT, lost: int | None = 0, reset: int | None = 0,
    notices: tuple[str, ...] = (), failure: str = "", unpassed: int = 0,
) -> Row:  # fmt: skip
    viewer = ViewerRun("plain", figures, lost, reset, unpassed, notices, failure)
    case = Case("a case", 10.0, (Viewer("plain"),), promise=promise)
    return Row(CaseRun(case, (viewer,), made=100, emitted=100, dropped=0), viewer)


def test_the_command_knows_all_cases() -> None:
    assert tuple(cases(60.0)) == EVENT_CASES
    made = cases(60.0)["trouble"]
    assert made.rate * made.seconds + made.burst * made.seconds / made.burst_s == 100_000


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        (ran(), []),
        (ran(replace(GOOD, twice=1)), ["once, in order"]),
        (ran(replace(GOOD, late_frames={0: 99, 1: 1})), ["in its frame"]),
        (ran(replace(GOOD, missing=5), lost=5, notices=SAID), ["none missing"]),
        (ran(replace(GOOD, missing=5), COUNTED, lost=5, notices=SAID), []),
        (ran(replace(GOOD, missing=5), COUNTED, lost=3, reset=2, notices=SAID), []),
        (ran(replace(GOOD, missing=5), COUNTED, lost=4, notices=SAID), ["missing ones are counted"]),
        (ran(replace(GOOD, missing=5), COUNTED, lost=5), ["said once"]),
        (ran(replace(GOOD, missing=5), COUNTED, lost=5, notices=SAID * 2), ["said once"]),
        (ran(replace(GOOD, missing=5), COUNTED, reset=5), []),
        (ran(replace(GOOD, missing=5), COUNTED, unpassed=5), []),
        (ran(None, failure="exit code 1: the display went"), ["exit code 1: the display went"]),
    ],
)
def test_promises_that_do_not_hold_are_named(row: Row, broken: list[str]) -> None:
    assert row.broken == broken


def test_what_physics_drops_must_be_counted_and_said_once() -> None:
    run = ran().run
    assert broken_of(run) == []
    assert broken_of(replace(run, emitted=99)) == ["physics counts each event"]
    said = "twixt: 40 events were dropped: one step"
    counted = replace(run, case=replace(run.case, promise=COUNTED), emitted=60, dropped=40, notices=(said,))
    assert broken_of(counted) == []
    assert broken_of(replace(counted, notices=(said, said))) == ["physics says once that it drops events"]
    assert broken_of(replace(counted, case=run.case)) == ["no event is dropped"]


def test_a_broken_promise_is_shown_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    results = Results("a command", str(tmp_path / "a.json"), str(tmp_path / "a.md"))
    assert not write_results([ran().run], results, WHERE)
    assert "BROKEN" not in capsys.readouterr().out
    assert write_results([ran(replace(GOOD, twice=1)).run], results, WHERE)
    assert "BROKEN: once" in " ".join(capsys.readouterr().out.split())
    assert "BROKEN: once, in order" in (tmp_path / "a.md").read_text()
    (row,) = json.loads((tmp_path / "a.json").read_text())["rows"]
    assert (row["case"], row["viewer"], row["broken"]) == ("a case", "plain", ["once, in order"])


def test_a_run_without_viewers_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    run = CaseRun(ran().run.case, (), failure="physics: exit code 1")
    assert write_results([run], Results("a command"), WHERE)
    assert "a case: BROKEN: physics: exit code 1" in capsys.readouterr().out


def test_bad_values_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in (
        ("--only noise", "one or more of trouble"), ("--seconds 1", "--seconds"), ("--json nowhere/a.json", "--json"),
    ):  # fmt: skip
        assert main(["events", *words.split()]) == 2
        assert says in capsys.readouterr().err
