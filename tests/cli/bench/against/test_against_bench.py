"""`twixt bench against`: shares of right verdicts from given runs, and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twixt import main
from twixt.cli.bench.against.against_bench import AS_RECORDED, FOUND_IN, FREE, SCHEMA, page, pools_of, runs_of, tried
from twixt.ipc.errors import TwixtError

ERROR = "motion.animation_error_ms.p99"


def recording(more_ms: float = 3.0, others: float = 0.1) -> dict[str, Any]:
    """Runs of a world whose frames take 5 ms within 3 %."""
    random = np.random.default_rng(0)
    runs = [
        {
            "side": side,
            "figures": {
                FOUND_IN: (5.0 + more_ms * (side == "B")) * (1 + 0.03 * random.normal()),
                ERROR: float(np.exp(random.normal())),
            },
            "load": {"cores": 2, "others": others, "stolen": 0.0},
        }
        for side in "AB" * 24
    ]
    machine = {"processor": "one", "cores": 2, "system": "none"}
    return {"schema": SCHEMA, "machine": machine, "worlds": {"metronome": runs}}


def test_work_that_is_there_is_found_and_equal_runs_are_clean() -> None:
    for number in (5, 10):
        right = tried("metronome", runs_of(recording())["metronome"], number, 20)
        assert right.work_found == 1.0
        assert right.equal_clean >= 0.95
        assert right.equal_no_verdict == right.work_no_verdict == 0.0


def test_work_that_is_not_there_is_not_found() -> None:
    assert tried("metronome", runs_of(recording(more_ms=0.0))["metronome"], 8, 20).work_found <= 0.05


def test_a_busy_machine_has_no_verdict_and_that_counts_as_wrong() -> None:
    right = tried("metronome", runs_of(recording(others=1.5))["metronome"], 8, 4)
    assert right.work_no_verdict == right.equal_no_verdict == 1.0
    assert right.work_found == right.equal_clean == 0.0


def test_too_few_runs_a_side_are_never_right() -> None:
    right = tried("metronome", runs_of(recording())["metronome"], 4, 4)
    assert right.work_found == 0.0


def test_the_page_names_the_conditions() -> None:
    made = recording()
    text = page(made, [tried("metronome", runs_of(made)["metronome"], 8, 4)], "twixt bench against")
    assert "metronome: 24 as they are, 24 with `--slow-render 3`" in text
    assert "| metronome | free | 8 | 100.0% | 100.0% |" in text


def test_a_recording_makes_a_page_and_another_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, out = tmp_path / "runs.json", tmp_path / "against.md"
    runs.write_text(json.dumps(recording()))
    assert main(["bench", "against", "--from", str(runs), "--trials", "2", "--out", str(out)]) == 0
    assert out.read_text().startswith("# How often")
    for text, says in (("{", "no JSON"), ("[]", "no recording"), (json.dumps({"schema": SCHEMA}), "changed since")):
        runs.write_text(text)
        assert main(["bench", "against", "--from", str(runs)]) == 2
        assert says in capsys.readouterr().err


def test_free_cores_are_told_from_those_that_others_used() -> None:
    quiet, busy = recording(), recording(others=1.5)
    assert [cores for cores, *_ in pools_of(quiet)] == [FREE]
    assert [cores for cores, *_ in pools_of(busy)] == [AS_RECORDED]
    quiet["worlds"]["metronome"] += busy["worlds"]["metronome"]
    assert [(cores, len(runs)) for cores, _, runs in pools_of(quiet)] == [(FREE, 48), (AS_RECORDED, 96)]


@pytest.mark.parametrize("damage", ["load", "figures", "machine"])
def test_a_recording_of_other_values_is_refused(damage: str) -> None:
    one: dict[str, Any] = {
        "side": "A",
        "figures": {"frames.cpu_ms.p50": 5.0},
        "load": {"cores": 2, "others": 0.0, "stolen": 0.0},
    }
    machine = {"processor": "x", "cores": 2, "system": "x"}
    found: dict[str, Any] = {"machine": machine, "worlds": {"balls": [one]}}
    assert runs_of(found)
    if damage == "machine":
        found["machine"] = {}
    else:
        one[damage] = {"others": "a", "frames.cpu_ms.p50": "z"}
    with pytest.raises(TwixtError, match="was changed since"):
        runs_of(found)
