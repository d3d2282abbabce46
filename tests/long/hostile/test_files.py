"""`twixt report` and `twixt compare` of what is damaged or oddly named: exit code 2 and one line, or the report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import twixt
from tests.long.hostile.file_targets import a_log
from twixt.ipc.config.files import write_json
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.report import of_log

pytestmark = pytest.mark.slow

FRONT_DOOR = Path(__file__).resolve().parents[3] / "twixt.py"


def typed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard error."""
    code = twixt.main(list(arguments))
    return code, capfd.readouterr().err


@pytest.fixture
def whole(tmp_path: Path) -> str:
    path = str(tmp_path / "whole.csv")
    a_log(path, 40)
    return path


@pytest.mark.parametrize("spoilt", ["1e30", "", "\0", str(10**30), "soon"])
def test_a_log_with_a_value_that_no_run_writes(
    tmp_path: Path, whole: str, spoilt: str, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = Path(whole).read_text().splitlines()
    place = lines[0].split(",").index("present_ns")
    cells = lines[4].split(",")
    cells[place] = spoilt
    path = str(tmp_path / "spoilt.csv")
    Path(path).write_text("\n".join([*lines[:4], ",".join(cells), *lines[5:]]))
    for command in (["report", path], ["compare", whole, path], ["compare", path, whole]):
        code, err = typed(capfd, *command)
        assert code == 2
        assert err.startswith(f"twixt: {path!r}, line 5: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    "content", ['{"schema": "twixt-report/1", "frames": 5}', "[" * 100_000, '{"schema": [7]}', "\ufeff{}", "{"]
)
def test_a_report_that_is_none(tmp_path: Path, whole: str, content: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    path.write_text(content)
    code, err = typed(capfd, "compare", str(path), whole)
    assert code == 2
    assert err.startswith("twixt: ")
    assert "with: twixt measure --json" in err
    assert err.count("\n") == 1


def test_a_report_of_an_older_kind_with_fewer_figures_is_compared(
    tmp_path: Path, whole: str, capfd: pytest.CaptureFixture[str]
) -> None:
    report = of_log(read_log(whole), "twixt report")
    del report["latency"], report["motion"]["offset_ms"]
    path = str(tmp_path / "older.json")
    write_json(report, path)
    assert typed(capfd, "compare", path, whole) == (0, "")


@pytest.mark.parametrize("name", [b"\xff[bold].csv", b"$x^_{[red].csv"])
def test_a_log_of_any_name_is_reported_compared_and_drawn(tmp_path: Path, whole: str, name: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    os.rename(whole, path)
    for command in (
        [b"compare", path, path, b"--plot", path + b".png"],
        [b"report", path, b"--json", b"-"],
    ):
        shown = subprocess.run([sys.executable, "-P", FRONT_DOOR, *command], capture_output=True)
        assert shown.returncode == 0, shown.stderr
        assert shown.stderr == b""
