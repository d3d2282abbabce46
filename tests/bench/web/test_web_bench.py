"""The bench of the browser view: figures by the screen, targets and tables from given figures, and one real run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.commands import WEB_NAMES, main
from bench.pages import Results
from bench.web.cases import LINKS, LOSS_LENGTH, RATES_HZ, WORLDS, Case, cases
from bench.web.page_run import frame_errors_ms
from bench.web.run_results import Run, write_results
from bench.web.screen_motion import Pictures, screen_figures
from twixt.cli.chromium import find_chromium
from twixt.ipc.errors import TwixtError

SPREAD = {"mean": 0.5, "p50": 0.3, "p90": 1.0, "p99": 1.5, "max": 4.0}
PAGE = {
    "frames": 720, "fps": 60.0, "distinct": 1.0, "held": 0.0, "reversals": 0, "error_ms": SPREAD, "age_ms": SPREAD, "age_bound_ms": 0.3,
    "snapshots_per_s": 60.0, "stream_bytes_per_s": 12_000.0, "empty_error_ms": {"p50": 0.0, "p99": 0.1, "max": 0.2},
    "first_picture_s": 0.5, "errors": [],
}  # fmt: skip
RUN = Run(Case("metronome", 60, "loopback"), PAGE)
WHERE = {"processor": "x", "cores": 2, "system": "y", "display": "Xvfb", "seconds": 1.0, "congestion": "cubic",
    "prefer": "latency",
}  # fmt: skip


def seen(times_ms: Any, x_px: Any) -> dict[str, Any]:
    found = screen_figures([Pictures((np.asarray(times_ms) * 1e6).astype(np.int64), np.asarray(x_px, float))])
    assert found is not None
    return found


def test_a_body_that_moves_evenly_has_no_error_by_the_screen() -> None:
    times_ms = np.arange(100) * 16.7
    found = seen(times_ms, 0.06 * times_ms)
    assert found["speed_px_s"] == pytest.approx(60)
    assert found["error_p99_ms"] < 1e-3
    assert (found["pictures"], found["reversals"]) == (100, 0)


def test_a_late_picture_is_an_error_of_its_lateness() -> None:
    times_ms = np.arange(1000) * 16.0
    x_px = 0.06 * times_ms
    times_ms[500] += 5
    errors = seen(times_ms, x_px)
    assert errors["error_p50_ms"] < 0.01
    assert np.max(np.abs(np.diff(times_ms) - 16)) == 5
    assert errors["interval_p99_ms"] == pytest.approx(16)


def test_the_begin_of_the_next_crossing_is_no_step_but_a_small_step_back_is() -> None:
    times_ms = np.arange(300) * 16.0
    x_px = (0.06 * times_ms) % 100
    assert seen(times_ms, x_px)["reversals"] == 0
    assert seen(times_ms, x_px)["error_p99_ms"] < 1e-3
    x_px[50] -= 2
    assert seen(times_ms, x_px)["reversals"] == 1


def test_the_time_between_two_stretches_counts_for_nothing() -> None:
    times_ns = np.arange(400) * 16_000_000
    pictures = Pictures(times_ns, 6e-8 * times_ns)
    found = screen_figures([pictures.between(0, 1_600_000_000), pictures.between(4_000_000_000, 6_000_000_000)])
    assert found is not None
    assert found["error_p99_ms"] < 1e-3
    assert found["pictures"] == 99 + 124


def test_too_few_pictures_have_no_figures() -> None:
    assert screen_figures([Pictures(np.zeros(1, np.int64), np.zeros(1))]) is None
    assert screen_figures([Pictures(np.arange(5), np.zeros(5))]) is None


def test_frames_of_an_empty_page_are_held_against_their_median() -> None:
    errors = frame_errors_ms(np.array([16, 16, 20, 16.0]))
    assert errors["max"] == 4
    assert errors["p50"] == 0


def test_targets_that_a_run_does_not_meet_are_named() -> None:
    assert RUN.missed == []
    assert replace(RUN, page=PAGE | {"reversals": 1, "distinct": 0.9}).missed == ["distinct", "reversals"]
    assert replace(RUN, page=PAGE | {"error_ms": SPREAD | {"p99": 2.2}}).missed == ["error"]
    screen = {"error_p99_ms": 5.0, "reversals": 0}
    watched = replace(RUN, case=Case("metronome", 60, "5 % loss", True), screen=screen)
    assert watched.missed == ["screen"]
    assert replace(watched, bar={"error_p99_ms": 3.1}, screen=screen | {"reversals": 1}).missed == ["screen"]
    assert replace(watched, bar={"error_p99_ms": 3.1}).missed == []
    assert replace(RUN, page={}, failure="no display").missed == ["no display"]
    assert watched.verdict == "none (screen)"
    assert replace(RUN, page=PAGE | {"empty_error_ms": {"p99": 9.0}}).verdict == "met; machine busy"
    assert replace(RUN, page=PAGE | {"reversals": 1}).verdict == "MISSED: reversals"


def test_a_full_link_has_a_target_for_the_age() -> None:
    full = PAGE | {"message_bytes": 64_000.0, "refresh_ms": 16.7}
    run = replace(RUN, case=Case("balls", 50, "20 Mbit/s"), page=full | {"age_ms": SPREAD | {"p99": 164.0}})
    assert run.age_wanted_ms == pytest.approx(2 * (20 + 25.6 + 20 + 16.7))
    assert run.missed == []
    assert replace(run, page=run.page | {"age_ms": SPREAD | {"p99": 165.0}}).missed == ["age"]
    assert replace(run, case=Case("metronome", 50, "20 Mbit/s")).age_wanted_ms is None


def test_cases_are_those_that_matter_or_those_that_were_asked_for() -> None:
    assert (tuple(WORLDS), tuple(LINKS), tuple(map(str, RATES_HZ))) == tuple(WEB_NAMES.values())
    made = cases(list(WORLDS), list(LINKS))
    assert len(made) == len(set(made)) == 37
    assert {case.world for case in made if case.is_watched} == {"metronome"}
    assert {case.link for case in made if case.is_watched} == set(LINKS)
    assert not any(case.is_watched for case in cases(list(WORLDS), list(LINKS), RATES_HZ, False))
    assert [case.name for case in cases(["balls"], ["5 % loss"], [5])] == ["balls, 5 Hz, 5 % loss"]
    assert {case.way.length for case in made if "loss" in case.link} == {LOSS_LENGTH}


def test_tables_have_a_failed_run_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Results("a command", str(tmp_path / "a.json"), str(tmp_path / "a.md"))
    over = replace(RUN, case=Case("balls", 5, "5 % loss"), tcp_bytes_per_s=2_345_678.0)
    write_results([RUN, over, Run(Case("runner", 20, "loopback"), failure="it ended")], results, WHERE, ["a note"])
    text = (tmp_path / "a.md").read_text()
    assert "| balls | 5 | 5 % loss |" in text
    assert "2,346" in text
    assert "MISSED: it ended" in text
    assert "a note" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "a.json").read_text())["rows"]) == 3


@pytest.mark.display
@pytest.mark.starvable
def test_a_quick_run_has_figures_by_the_log_and_by_the_screen(tmp_path: Path) -> None:
    try:
        find_chromium()
    except TwixtError as missing:
        pytest.skip(str(missing))
    file = tmp_path / "a.json"
    assert main(["web", "--quick", "--links", "loopback", "--json", str(file)]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    print(row)
    assert row["reversals"] == 0
    assert row["error_ms"]["p99"] is not None
    assert row["stream_bytes_per_s"] > 0
    assert row["screen"]["speed_px_s"] == pytest.approx(60, rel=0.5)
    assert row["bar"]["speed_px_s"] == pytest.approx(1200, rel=0.5)
