"""`python -m bench guest`: its figures of given turns, and that it runs. No time is judged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.commands import main
from bench.loops.guest import watched_frames
from bench.loops.loop_process import LoopTurn, slowdown, step_us
from tests.cli.sessions import left_in_session, stopped_in_session
from tests.end_to_end.processes import until
from twixt.render.measure.frame_rows import FrameRow, FrameTable

ROOT = Path(__file__).parents[3]
S = 1_000_000_000


def turns(*steps: int) -> list[LoopTurn]:
    """Of a second each, stopped and running in turns."""
    return [LoopTurn(i % 2 == 1, i * S, (i + 1) * S, made) for i, made in enumerate(steps)]


def test_a_loop_that_makes_a_tenth_fewer_steps_while_watched_is_slower_by_a_ninth() -> None:
    found = slowdown(turns(1000, 900, 1000, 900, 1000))
    assert found is not None
    assert found.median == pytest.approx(100 / 9)
    assert (found.low, found.high, found.worst) == pytest.approx((100 / 9,) * 3)
    assert found.pairs == 2


def test_what_drifts_evenly_is_no_slowdown() -> None:
    assert slowdown([LoopTurn(i % 2 == 1, 0, S + i * S // 100, 1000) for i in range(9)]).median == pytest.approx(0)  # type: ignore[union-attr]


def test_the_worst_turn_stands_beside_a_median_that_it_does_not_move() -> None:
    found = slowdown(turns(1000, 1000, 1000, 500, 1000, 1000, 1000))
    assert found is not None
    assert found.median == pytest.approx(0)
    assert found.worst == pytest.approx(100)
    assert found.low <= found.median <= found.high


@pytest.mark.parametrize("made", [(), (1000,), (1000, 900)])
def test_without_a_whole_pair_nothing_is_said(made: tuple[int, ...]) -> None:
    assert slowdown(turns(*made)) is None


def test_a_turn_without_a_step_is_one_long_step() -> None:
    assert step_us(turns(0, 10), watched=False) == pytest.approx(1e6)
    assert step_us(turns(0, 10), watched=True) == pytest.approx(1e5)
    assert step_us([], watched=True) is None


def frames(presents_ns: list[int]) -> FrameTable:
    """Drawn at twice the wall clock's speed, exactly, from snapshots that are there in time."""
    return FrameTable.of(
        FrameRow(
            frame=i, present_ns=present_ns, draw_time_ns=2 * present_ns, mode="interpolated", newest_tick=i,
            newest_sim_time_ns=2 * present_ns, newest_due_ns=present_ns,
        )
        for i, present_ns in enumerate(presents_ns)
    )  # fmt: skip


def test_frames_of_turns_with_the_viewer_stopped_do_not_count() -> None:
    table = frames([10 * S + i * S // 50 for i in range(50)] + [12 * S + i * S // 20 for i in range(20)])
    running_only = [LoopTurn(True, 10 * S, 11 * S, 1), LoopTurn(False, 11 * S, 13 * S, 1)]
    fps, error_p99_ms = watched_frames(table, running_only)
    assert fps == pytest.approx(50)
    assert error_p99_ms == pytest.approx(0, abs=1e-6)


def test_no_frame_at_all_is_no_frame_a_second() -> None:
    seen = watched_frames(frames([]), [LoopTurn(True, 0, S, 1)])
    assert seen == (0.0, None)


def test_a_frame_that_shows_its_instant_late_is_an_error_in_display_time() -> None:
    table = frames([10 * S + i * S // 50 for i in range(50)])
    table.packed["draw_time_ns"][25:] -= 2 * 8_000_000  # 8 ms late from there on, at twice the speed
    _, error_p99_ms = watched_frames(table, [LoopTurn(True, 10 * S, 11 * S, 1)])
    assert error_p99_ms is not None
    assert 4 < error_p99_ms <= 8.01


def bench(*arguments: str) -> list[str]:
    """The command of `python -m bench guest ARGUMENTS...` with small turns."""
    return [sys.executable, "-m", "bench", "guest", "--bodies", "50", *arguments]


def environ(folder: Path) -> dict[str, str]:
    return {**os.environ, "XDG_RUNTIME_DIR": str(folder), "COLUMNS": "160"}


@pytest.mark.slow
def test_both_loops_come_out_with_figures_and_a_page(tmp_path: Path) -> None:
    made = {flag: tmp_path / name for flag, name in (("--json", "g.json"), ("--out", "g.md"))}
    flags = [part for flag, path in made.items() for part in (flag, str(path))]
    ran = subprocess.run(
        bench("--seconds", "0.4", "--load", "loop", "--before", str(ROOT), *flags),
        cwd=ROOT, env=environ(tmp_path), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    rows = json.loads(made["--json"].read_text())["rows"]
    assert [(row["way"], row["version"]) for row in rows] == [
        ("world", "this version"), ("world", "before"), ("show", "this version"), ("show", "before"),
    ]  # fmt: skip
    for row in rows:
        assert row["failure"] is None, row
        assert row["pairs"] == 2, row
        assert row["slower_low_percent"] <= row["slower_percent"] <= row["slower_high_percent"], row
        assert row["fps"] is not None, row
        assert row["step_us"] > 0, row
    assert ran.stdout.count("slower by") == 4
    assert made["--out"].read_text().count("bodies, world") == 2 + 2  # rows and notes
    assert list(tmp_path.rglob("*.socket")) == []


def test_ctrl_c_ends_the_measuring_and_leaves_no_process(tmp_path: Path) -> None:
    asked = subprocess.Popen(
        bench("--seconds", "600"), cwd=ROOT, env=environ(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    until(lambda: list(tmp_path.rglob("*.socket")) or asked.poll() is not None, "its first simulation")
    assert asked.poll() is None
    os.killpg(asked.pid, signal.SIGINT)
    _, said = asked.communicate(timeout=60)
    assert asked.returncode == 130, said
    assert "Traceback" not in said
    until(lambda: not left_in_session(asked.pid), "every process of it has ended", 30)
    assert list(tmp_path.rglob("*.socket")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dies", "failure"),
    [
        ("viewer", "the viewer was killed by SIGKILL while it was measured"),
        ("loop", "the loop ended with exit code -9"),
    ],
)
def test_a_death_meanwhile_gives_no_figure_and_leaves_no_stopped_viewer(
    tmp_path: Path, dies: str, failure: str
) -> None:
    out = tmp_path / "g.json"
    asked = subprocess.Popen(
        bench("--seconds", "1", "--json", str(out)), cwd=ROOT, env=environ(tmp_path), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    viewer = until(lambda: stopped_in_session(asked.pid), "a turn without the viewer", 60)[0]
    stat = Path(f"/proc/{viewer}/stat").read_text().rpartition(")")[2].split()
    os.kill(viewer if dies == "viewer" else int(stat[1]), signal.SIGKILL)
    _, said = asked.communicate(timeout=120)
    assert "Traceback" not in said
    first = json.loads(out.read_text())["rows"][0]
    assert first["slower_percent"] is None
    assert first["failure"].startswith(failure)
    until(lambda: not left_in_session(asked.pid), "every process of it has ended", 30)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bodies", "0"], "each number must be from 1 to 100000"),
        (["--bodies", "many"], "many"),
        (["--load", "some"], "'none', 'loop'"),
        (["--seconds", "0"], "--seconds"),
        (["--before", "/nowhere"], "no checkout of twixt"),
        (["--out", "/nowhere/page.md"], "does not exist"),
    ],
)
def test_what_it_cannot_do_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guest", *arguments]) == 2
    assert said in capsys.readouterr().err
