"""The benchmark works: every row comes out with its figure and its limit. No time is judged."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import cost_suite
from bench.commands import benches, main, typed
from bench.cost_suite import Rows, SuiteOptions
from bench.pages import Results
from bench.rows import Row, times_us
from twixt.ipc.errors import TwixtError
from twixt.render.interpolation import METHODS

ROOT = Path(__file__).parents[2]
# What can be measured offscreen, with at least so many rows; each of its rows has a figure.
GROUPS = {
    "channel": 5,
    "show": 3,
    "guest": 2,
    "frame": 6,
    "interpolation": 3 + len(METHODS),
    "draw": 3,
    "parts": 15,
    "looks": 4,
    "start": 1,
    "million": 3,
}


def run_bench(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`python -m bench ARGUMENTS... --quick` offscreen, under names of its own."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY")
    environ = {name: value for name, value in os.environ.items() if name not in displays}
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments, "--quick"], cwd=ROOT,
        env={**environ, "XDG_RUNTIME_DIR": str(folder), "COLUMNS": "120", "TWIXT_BENCH_PAIRS": "3", **variables},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip


@pytest.mark.slow
def test_every_group_comes_out_with_figures_limits_a_page_and_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = {flag: str(tmp_path / name) for flag, name in (("json", "b.json"), ("out", "b.md"), ("plot", "b.png"))}
    ran = run_bench(tmp_path, *[part for flag, path in made.items() for part in (f"--{flag}", path)])
    assert ran.returncode == 0, ran.stderr
    document, page = json.loads(Path(made["json"]).read_text()), Path(made["out"]).read_text()
    found = [row["group"] for row in document["rows"]]
    for group, least in GROUPS.items():
        assert found.count(group) >= least, f"{group}: {ran.stdout}"
    for row in document["rows"]:
        assert row["name"] in page
        if row["figure"] is None:
            assert row["note"].startswith("not measured: no display that waits for vsync"), row
            continue
        assert row["figure"] >= 0, row
        assert row["rounds"] > 0, row
        if row["limit"] is None:
            continue
        assert row["limit"] > 0, row
        assert math.isclose(row["ratio"], row["figure"] / row["limit"])
        assert math.isclose(row["over"], row["figure"] - row["limit"], abs_tol=1e-9)
        assert "not measured" not in row["note"], row
    assert document["conditions"].keys() >= {"cores", "python", "numpy", "renderer", "drawing_threads", "quick"}
    assert Path(made["plot"]).stat().st_size > 10_000
    assert list(tmp_path.rglob("*.socket")) == []


@pytest.mark.slow
def test_a_part_that_cannot_be_measured_is_null_and_says_why(tmp_path: Path) -> None:
    no_gl = {"__EGL_VENDOR_LIBRARY_FILENAMES": "/none", "LIBGL_DRIVERS_PATH": "/none"}
    ran = run_bench(tmp_path, "draw", "--json", "-", **no_gl)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    (row,) = document["rows"]
    assert row["figure"] is None
    assert row["ratio"] is None
    assert "not measured: no display" in row["note"]
    assert "no display" in document["conditions"]["display"]


@pytest.mark.slow
def test_peers_that_are_not_installed_say_how_to_get_them(tmp_path: Path) -> None:
    ran = run_bench(tmp_path, "peers", "--json", "-", PYTHONPATH="")
    assert ran.returncode == 0, ran.stderr
    for row in json.loads(ran.stdout)["rows"]:
        assert row["figure"] is not None or re.search("pip install|not measured", row["note"]), row


def test_works_and_their_limits_take_turns() -> None:
    turns: list[str] = []
    taken = times_us(
        3, lambda: turns.append("work"), lambda: turns.append("limit"), calls=2, before=lambda: turns.append("before")
    )
    assert turns == ["before", "work", "work", "before", "limit", "limit"] * 3
    assert [len(times) for times in taken] == [3, 3]


def three_rows(figure: float) -> Rows:
    def rows(_share: float, _say: object) -> Iterator[Row]:
        yield Row("publish", "us", figure, "memcpy", 20.0, 5, noise=0.01)

    return rows


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_suite, "conditions", lambda: {"display": "none"})


@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize(("percent", "code"), [(None, 0), (60.0, 0), (40.0, 1)])
def test_a_ratio_that_is_worse_by_more_than_allowed_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], percent: float | None, code: int
) -> None:
    earlier = str(tmp_path / "earlier.json")
    assert cost_suite.run({"channel": three_rows(30.0)}, Results(json_file=earlier), SuiteOptions()) == 0
    compared = SuiteOptions(against=earlier, fail_over=percent)
    assert cost_suite.run({"channel": three_rows(45.0)}, Results(), compared) == code
    assert "1.5 WORSE 50%" in capsys.readouterr().out


@pytest.mark.usefixtures("no_display")
def test_ctrl_c_shows_and_writes_what_was_measured_so_far(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_share: float, _say: object) -> Iterator[Row]:
        yield Row("half of it", "us", 1.0, "memcpy", 1.0, 5)
        raise KeyboardInterrupt

    file = tmp_path / "b.json"
    groups = {"channel": three_rows(30.0), "frame": interrupted, "draw": three_rows(1.0)}
    assert cost_suite.run(groups, Results(json_file=str(file)), SuiteOptions()) == 130
    out = capsys.readouterr().out
    assert "publish" in out
    assert "half of it" in out
    assert "Ctrl-C" in out
    assert [row["group"] for row in json.loads(file.read_text())["rows"]] == ["channel", "frame"]


@pytest.mark.slow
def test_motion_is_measured_and_a_page_and_a_picture_of_it_are_made(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = {name: tmp_path / name for name in ("motion.json", "motion.md", "motion.png")}
    flags = [
        part for flag, name in zip(("--json", "--out", "--plot"), made, strict=True) for part in (flag, str(made[name]))
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "bench", "motion", "--quick", *flags], cwd=ROOT,
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
        assert f"| {row['world']} | {row['trouble']} |" in made["motion.md"].read_text()
        assert row["method"] in ran.stdout
    assert "…" not in ran.stdout, "the table fits 80 letters"
    assert made["motion.png"].stat().st_size > 10_000


def test_benches_have_a_help_each_and_what_they_cannot_do_is_refused(tmp_path: Path) -> None:
    for more in ([], *([name] for name in benches)):
        assert main([*more, "--help"]) == 0
    assert main(["motion", "--world", "nowhere"]) == 2
    assert main(["motion", "--out", str(tmp_path / "no" / "page.md")]) == 2
    assert main(["channel", "--out", str(tmp_path / "no" / "page.md")]) == 2
    assert main(["channel", "--fail-over", "5"]) == 2
    assert main(["channel", "--against", str(tmp_path / "nothing.json")]) == 2


def test_a_row_whose_group_fails_says_so(no_display: None, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_share: float, _say: object) -> Iterator[Row]:
        yield from ()
        raise TwixtError("no display")

    assert cost_suite.run({"draw": broken}, Results(), SuiteOptions()) == 0
    assert "not measured: no display" in capsys.readouterr().out


def test_the_command_on_a_page_names_no_folder_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "events", "--out", "docs/events.md", "--json", "/somewhere/a.json"])
    assert typed() == "python -m bench events --out docs/events.md --json a.json"
