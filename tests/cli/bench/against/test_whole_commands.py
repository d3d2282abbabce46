"""Whole `--against` commands of `twixt bench against`: what counts as right, and what of them is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.bench.against.test_against_bench import recording
from twixt import main
from twixt.cli.against.differences import HIGHER, LOWER, NO_DIFFERENCE, NO_VERDICT
from twixt.cli.bench.against import whole_commands
from twixt.cli.bench.against.whole_commands import FOUND, FOUND_IN, RIGHT, typed, verdict_of

ERROR = "motion.animation_error_ms.p99"


def document(of_work: str, of_error: str = NO_DIFFERENCE, too_noisy: str = "") -> dict[str, Any]:
    """As `--json` has it, less what is not read. One figure was not measured at all."""
    figures = {
        FOUND_IN: {"verdict": of_work, "why": "too noisy" if too_noisy else "", "runs": (5, 5)},
        ERROR: {"verdict": of_error, "why": "", "runs": (5, 5)},
        "physics.step_ms.p50": {"verdict": NO_VERDICT, "why": "not measured", "runs": (0, 0)},
    }
    return {"figures": figures, "too_noisy": too_noisy, "conditions": []}


@pytest.mark.parametrize(
    ("kind", "found", "said"),
    [
        ("equal", document(NO_DIFFERENCE), NO_DIFFERENCE),
        ("equal", document(HIGHER), f"a difference in {FOUND_IN}"),
        ("equal", document(NO_DIFFERENCE, LOWER), f"a difference in {ERROR}"),
        ("equal", document(NO_VERDICT, NO_VERDICT, "12 of 12"), NO_VERDICT),
        ("slowed", document(HIGHER), FOUND),
        ("slowed", document(HIGHER, HIGHER), FOUND),
        ("slowed", document(NO_DIFFERENCE, HIGHER), "not found"),
        ("slowed", document(LOWER), "not found"),
        ("slowed", document(NO_VERDICT, NO_VERDICT, "12 of 12"), NO_VERDICT),
        ("slowed", {"figures": {}, "too_noisy": "", "conditions": []}, NO_VERDICT),
        ("equal", {"figures": {}, "too_noisy": "", "conditions": []}, NO_VERDICT),
    ],
)
def test_what_a_command_said(kind: str, found: dict[str, Any], said: str) -> None:
    assert verdict_of(kind, found)["said"] == said
    assert verdict_of(kind, found)["why"] == found["too_noisy"]


def test_commands_are_what_a_user_types() -> None:
    assert typed("--slow-render 3")[-1] == "--slow-render 3"
    assert typed("")[:2] == ["measure", "metronome"]


def play(monkeypatch: pytest.MonkeyPatch, answers: list[dict[str, Any] | None]) -> list[list[str]]:
    """Commands that say these, one after the other; None: ends badly."""
    asked = []

    def ended(command: list[str], _longest_s: float) -> tuple[str, int]:
        answer = answers[len(asked)]
        asked.append(command)
        if answer is None:
            return "no display", 2
        Path(command[command.index("--json") + 1]).write_text(json.dumps(answer))
        return "", 0

    monkeypatch.setattr(whole_commands, "ended", ended)
    return asked


def test_how_many_said_what_stands_in_the_recording_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, out = tmp_path / "runs.json", tmp_path / "against.md"
    runs.write_text(json.dumps(recording()))
    asked = play(monkeypatch, [document(NO_DIFFERENCE), document(HIGHER), None, document(NO_DIFFERENCE)])
    monkeypatch.setattr(sys, "argv", ["twixt", "bench", "against"])  # the page says what was typed
    files = ["--from", str(runs), "--record", str(runs), "--out", str(out)]
    assert main(["bench", "against", "--commands", "2", "--trials", "2", *files]) == 0
    assert ["--slow-render 3" in command for command in asked] == [False, True, False, True]
    recorded = json.loads(runs.read_text())
    assert set(recorded["worlds"]) == {"metronome"}, "the runs recorded before are kept"
    assert [one["said"] for one in recorded["commands"]["made"]] == [NO_DIFFERENCE, FOUND, "exit code 2", "not found"]
    page = out.read_text()
    assert "| metronome | free | 5 |" in page
    assert f'--against ""` | {RIGHT["equal"]} | 1 of 2 |' in page
    assert f'--against "--slow-render 3"` | {RIGHT["slowed"]} | 1 of 2 |' in page
    assert "- equal: exit code 2: no display\n- slowed: not found\n" in page
    assert max(map(len, page.splitlines())) < 140
    capsys.readouterr()
    assert main(["bench", "against", "--trials", "2", "--from", str(runs), "--out", str(tmp_path / "again.md")]) == 0
    assert (tmp_path / "again.md").read_text().partition("\n\n`twixt")[2] == page.partition("\n\n`twixt")[2]
    del recorded["commands"]["machine"]
    runs.write_text(json.dumps(recorded))
    assert main(["bench", "against", "--trials", "2", "--from", str(runs)]) == 2
    assert "make them anew with --commands N" in capsys.readouterr().err


def test_commands_that_the_time_does_not_reach_are_said_and_count_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "against.md"
    play(monkeypatch, [document(NO_DIFFERENCE), document(HIGHER)])
    seconds = iter([0.0, 0.0, 10.0, 61.0, 61.0, 61.0])
    monkeypatch.setattr(whole_commands.time, "monotonic", lambda: next(seconds, 61.0))
    assert main(["bench", "against", "--commands", "2", "--minutes", "1", "--out", str(out)]) == 0
    assert "1 of 1 |" in out.read_text()
    assert "2 of the wanted commands were not made" in out.read_text()
    capsys.readouterr()
