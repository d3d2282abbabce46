"""The benchmark works: every row comes out with its figure and its limit. No time is judged."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from twixt import main
from twixt.ipc.bench import Row, interleaved
from twixt.ipc.errors import TwixtError
from twixt.render.bench import costs as bench
from twixt.render.interpolation import METHODS

ROOT = Path(__file__).parents[2]
WATCHED = "step 300 balls, watched"
ROWS = {
    "publish 10,000 bodies": 2,
    "read pair, 10,000 bodies": 1,
    "read unread, 10,000 bodies": 1,
    "publish 64 MiB": 1,
    "wake late, p50": 1,
    "wake late, p99": 1,
    "playback clock, a frame": 1,
    "frame log, row kept": 1,
    "frame log, row written": 1,
    "show 10,000 bodies, float32": 1,
    "show 10,000 bodies, float64": 1,
    WATCHED: 1,
}


def run_bench(folder: Path, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`twixt bench` with few rounds, under names of its own."""
    return subprocess.run(
        [sys.executable, "-P", str(ROOT / "twixt.py"), "bench", "--quick", *flags],
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder), "COLUMNS": "120", **variables},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_every_row_comes_out_with_its_figure_and_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    ran = run_bench(tmp_path, "--json", str(file))
    assert ran.returncode == 0, ran.stderr
    document = json.loads(file.read_text())
    names = [row["name"] for row in document["rows"]]
    assert {name: names.count(name) for name in names} == ROWS
    for row in document["rows"]:
        assert row["figure"] > 0, row
        assert row["limit"] > 0, row
        assert row["rounds"] > 0, row
        assert math.isclose(row["ratio"], row["figure"] / row["limit"])
        assert math.isclose(row["over"], row["figure"] - row["limit"], abs_tol=1e-9)
        assert "failed" not in row["note"], row
        assert row["name"] in ran.stdout
    assert document["machine"].keys() >= {"cores", "load_1_min", "python", "numpy"}
    assert "slowed by" in ran.stdout
    assert list(tmp_path.rglob("*.socket")) == []


def test_a_row_that_cannot_be_measured_is_null_and_says_why(tmp_path: Path) -> None:
    ran = run_bench(tmp_path, "--json", "-", __EGL_VENDOR_LIBRARY_FILENAMES="/none", LIBGL_DRIVERS_PATH="/none")
    assert ran.returncode == 0, ran.stderr
    watched = next(row for row in json.loads(ran.stdout)["rows"] if row["name"] == WATCHED)
    assert watched["figure"] is None
    assert watched["ratio"] is None
    assert "no viewer came: it exited with code 2" in watched["note"]


def test_works_and_their_limits_take_turns() -> None:
    turns: list[str] = []
    medians = interleaved(
        3, lambda: turns.append("work"), lambda: turns.append("limit"), calls=2, before=lambda: turns.append("before")
    )
    assert turns == ["before", "work", "work", "before", "limit", "limit"] * 3
    assert len(medians) == 2


def test_an_earlier_run_is_shown_beside_this_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row("publish", "us", 30.0, "memcpy", 20.0, 5), Row("new", "us", 1.0, "memcpy", 2.0, 5)]
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps(bench.document([rows[0]._replace(figure=50.0)])))
    bench.show(rows, {"cores": 2}, bench.read_earlier(str(file)))
    heading, publish, new, *_ = capsys.readouterr().out.splitlines()
    assert "before" in heading
    assert publish.split() == ["publish", "30", "20", "10", "1.5", "2.5", "us", "memcpy"]
    assert new.split() == ["new", "1", "2", "-1", "0.5", "-", "us", "memcpy"]


@pytest.mark.parametrize("content", [None, "no json", "[]", '{"schema": "another", "rows": []}'])
def test_a_file_that_holds_no_earlier_figures_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "earlier.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(TwixtError, match="make one with: twixt bench --json"):
        bench.read_earlier(str(file))


def test_motion_is_measured_and_a_page_and_a_picture_of_it_are_made(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = {name: tmp_path / name for name in ("motion.json", "motion.md", "motion.png")}
    flags = [
        part for flag, name in zip(("--json", "--out", "--plot"), made, strict=True) for part in (flag, str(made[name]))
    ]
    ran = subprocess.run(
        [sys.executable, "-P", str(ROOT / "twixt.py"), "bench", "motion", "--quick", *flags],
        env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(made["motion.json"].read_text())["rows"]
    methods = [row["method"] for row in rows]
    assert len(rows) == 2 * len(METHODS)
    assert methods == list(METHODS) * 2
    for row in rows:
        assert row["figures"]["position_p50_mm"] >= 0, row
        assert row["figures"]["compared"] > 0, row
        assert f"| {row['trouble']} | {row['method']} |" in made["motion.md"].read_text()
        assert row["method"] in ran.stdout
    assert "…" not in ran.stdout, "the table fits 80 letters"
    assert made["motion.png"].stat().st_size > 10_000


def test_benches_have_a_help_each_and_what_they_cannot_do_is_refused(tmp_path: Path) -> None:
    for more in ([], ["motion"], ["clock"]):
        assert main(["bench", *more, "--help"]) == 0
    assert main(["bench", "motion", "--world", "nowhere"]) == 2
    assert main(["bench", "motion", "--out", str(tmp_path / "no" / "page.md")]) == 2
