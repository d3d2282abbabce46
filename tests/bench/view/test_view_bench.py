"""`python -m bench view`: its turns and tables, and that it measures the pixels of a real run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.commands import VIEW_SCENES, main
from bench.pages import Results
from bench.view.scenes import SCENES
from bench.view.view_bench import AUTO, COLUMNS, STILL, VIEWS, ViewCase, ViewRun, by_case, in_order, write_results
from bench.view.view_figures import ViewFigures

GOOD = ViewFigures(
    samples=450, whole=100.0, filled=99.0, filled_4s=100.0, still=98.0, speed_change_px=0.3, speed_change_at_s=1.0,
    speed_change_p99_px=0.1, speed_changes_measured=99.0, cuts=0, missed_per_minute=2.0, error_p50_ms=0.1,
    error_p99_ms=1.0,
)  # fmt: skip
WHERE = {
    "processor": "a processor", "cores": 2, "system": "a system", "display": "Xvfb", "turns": 2, "seconds": 30.0,
    "free_cores_before": None,
}  # fmt: skip


def ran(figures: ViewFigures | None, scene: str = "orbit", view: str = AUTO, failure: str = "") -> ViewRun:
    return ViewRun(ViewCase(scene, view), 0, figures, 2.0, failure)


def test_the_command_knows_all_scenes() -> None:
    assert tuple(SCENES) == VIEW_SCENES


def test_every_view_of_a_scene_is_measured_once_a_turn_and_views_swap_places() -> None:
    order = list(in_order(["orbit", "pile"], 2))
    assert len(order) == len(set(order)) == 2 * 2 * len(VIEWS)
    assert [case.view for _, case in order[:4]] == [AUTO, STILL, STILL, AUTO]
    assert [case.scene for _, case in order] == ["orbit"] * 4 + ["pile"] * 4


def test_a_case_has_the_medians_of_its_turns_without_failed_runs() -> None:
    runs = [ran(replace(GOOD, whole=value)) for value in (100.0, 40.0, 99.0)]
    found, other = by_case([*runs, ran(None, failure="it hung"), ran(GOOD, view=STILL)])
    assert (found.turns, found.figures["whole"]) == (3, 99.0)
    assert other.case.view == STILL


@pytest.mark.parametrize(
    ("scene", "figures", "misses"),
    [
        ("orbit", GOOD, []),
        ("orbit", replace(GOOD, whole=99.4, filled=89.0, still=94.0), ["whole", "filled", "still"]),
        ("orbit", replace(GOOD, still=None), []),
        ("swarm", replace(GOOD, still=0.0), []),
        ("one-ball", replace(GOOD, filled=0.0), []),
        ("one-ball", replace(GOOD, filled_4s=0.0), ["filled_4s"]),
    ],
)
def test_figures_below_what_is_wanted_are_missed(scene: str, figures: ViewFigures, misses: list[str]) -> None:
    (automatic,) = by_case([ran(figures, scene)])
    (still,) = by_case([ran(figures, scene, STILL)])
    assert automatic.misses == misses
    assert still.misses == []
    assert [column.text_of(automatic) for column in COLUMNS if "not met" in column.text_of(automatic)] == [
        f"{getattr(figures, name):.1f} not met" for name in misses
    ]


def test_failed_runs_are_told_and_a_scene_without_a_good_run_is_not_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    results = Results("a command", str(tmp_path / "a.json"), str(tmp_path / "a.md"))
    write_results([ran(None, failure="exit code 1: the display went")], results, WHERE)
    assert "orbit, auto, turn 1: no figures: exit code 1: the display went" in capsys.readouterr().out
    assert "not measured" in (tmp_path / "a.md").read_text()
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["rows"][0]["turns"] == 0
    assert document["runs"][0]["failure"] == "exit code 1: the display went"


def test_bad_values_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in (
        ("--scenes earth", "one or more of one-ball"), ("--turns 0", "--turns"), ("--seconds inf", "finite"),
        ("--json nowhere/a.json", "--json"),
    ):  # fmt: skip
        assert main(["view", *words.split()]) == 2
        assert says in capsys.readouterr().err


def test_without_xvfb_the_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["view"]) != 0
    assert "apt-get install xvfb" in capsys.readouterr().err


@pytest.mark.display
@pytest.mark.starvable
def test_it_reads_the_pixels_of_a_real_run(
    xvfb_display: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    assert main(["view", "--scenes", "planet", "--seconds", "2", "--turns", "1", "--json", str(path)]) == 0
    assert "planet" in capsys.readouterr().out
    automatic, still = json.loads(path.read_text())["runs"]
    assert (automatic["view"], still["view"]) == (AUTO, STILL)
    assert automatic["samples"] > 5
    assert still["samples"] > 5
    # In these two seconds the planet does not leave the still view, in which it begins at the side.
    assert still["whole"] == 100.0
    assert still["filled"] == 100.0
    assert still["speed_change_px"] == 0.0
