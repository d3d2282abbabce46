"""The whole laboratory, small: contestants, targets, the command and its document."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from bench.commands import main
from bench.pacing import cases, pacing_page
from bench.pacing.cases import CONTESTANTS, TWIXT, CaseRow, LaboratoryResults
from bench.pacing.laboratory import LaboratoryOptions, played
from bench.pacing.play import Contestant, NeverWiden, PlayedFrame, best, drive, figures, play, probed, twixt_pacer
from bench.pages import BEGIN, markdown
from twixt.render.pacing import FramePlan, FrameTimes, Refresh


@pytest.mark.parametrize("display", ["timer", "blocking", "returns at once", "queue of two", "variable rate"])
@pytest.mark.parametrize("work", ["25 ms in one of 30", "bimodal 9 and 18 ms", "stolen 5-40 ms", "drift 6-19 ms"])
def test_the_oracle_costs_no_more_than_a_fixed_interval(display: str, work: str) -> None:
    made = cases.SHAPES[display].made(5)
    seen, known = best(made, cases.ALL_WORKS[work](5), 3, 5)
    fixed = cases.SHAPES[display].made(5)
    assert known.cost <= figures(play(NeverWiden, fixed, cases.ALL_WORKS[work](5), 3, 5), fixed).cost
    assert known.error_p99_ms == 0
    assert len(seen) > 50


@pytest.mark.parametrize(("display", "waits"), [("timer", False), ("blocking", True), ("returns at once", True)])
def test_the_probe_finds_what_the_model_does(display: str, waits: bool) -> None:
    refresh, _ = probed(cases.SHAPES[display].made(0))
    assert refresh.blocks is waits
    assert refresh.period_ns == pytest.approx(1e9 / 60, rel=0.01)


def test_all_frames_are_drawn_for_when_they_are_seen_under_even_work() -> None:
    display = cases.SHAPES["blocking"].made(2)
    of = figures(play(twixt_pacer, display, cases.ALL_WORKS["constant 5 ms"](2), 3, 2), display)
    assert of.fps == pytest.approx(60, abs=0.3)
    assert of.error_p99_ms < 1


class Half:
    """Draws every frame for two refreshes after the last, from the start on."""

    def __init__(self, _display: object, refresh: Refresh) -> None:
        self._shown_ns, self._period_ns = 0, refresh.period_ns or 0

    def next_frame(self, now_ns: int) -> FramePlan:
        due_ns = (self._shown_ns or now_ns) + 2 * self._period_ns
        return FramePlan(now_ns, due_ns - self._period_ns // 2, due_ns, 2 * self._period_ns, 2, "")

    def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
        return (self._shown_ns or start_ns) + self._period_ns * 3 // 2

    def frame_done(self, times: FrameTimes) -> None:
        self._shown_ns = times.swap_end_ns

    def display_reported(self, presented_ns: int, refresh_ns: int | None) -> None: ...


def test_a_pacer_at_half_the_rate_loses_half_the_frames_evenly_and_misses_bars() -> None:
    display = cases.SHAPES["blocking"].made(0)
    of = figures(play(Half, display, cases.ALL_WORKS["constant 5 ms"](0), 3), display)
    assert of.fps == pytest.approx(30, abs=0.2)
    assert of.lost_per_s == pytest.approx(30, abs=0.2)
    assert of.cost == pytest.approx(16.7 * 30, rel=0.03)
    by_name = {target.name: target for target in cases.of_trials(Half, [0])}
    assert not by_name["20 ms load, blocking: time until the interval is short again"].is_met
    assert by_name["20 ms load, blocking: frames until the interval is longer"].figure == 0


def test_a_fixed_interval_widens_for_no_load_and_keeps_spikes_single() -> None:
    by_name = {target.name: target for target in cases.of_trials(NeverWiden, [0, 1])}
    assert by_name["one 25 ms frame, timer: number of slow intervals"].is_met
    assert by_name["25 ms in one of 30, timer: frame rate"].is_met
    assert not by_name["20 ms load, timer: frames until the interval is longer"].is_met
    assert not by_name["20 ms load, timer: shortest interval after that"].is_met


def test_calls_come_in_the_frame_loops_order_and_times_never_run_back() -> None:
    calls: list[tuple[str, int]] = []

    class Noting(NeverWiden):
        def next_frame(self, now_ns: int) -> FramePlan:
            calls.append(("plan", now_ns))
            return super().next_frame(now_ns)

        def drawn(self, start_ns: int, work_end_ns: int) -> int | None:
            calls.append(("drawn", work_end_ns))
            return super().drawn(start_ns, work_end_ns)

        def frame_done(self, times: FrameTimes) -> None:
            calls.append(("done", times.swap_end_ns))

    display = cases.SHAPES["returns at once"].made(1)
    refresh, now_ns = probed(display)
    pacer: Contestant = Noting(display, refresh)
    drive(pacer, display, cases.ALL_WORKS["stolen 5-40 ms"](1), now_ns, now_ns + 10**9)
    assert [name for name, _ in calls[:6]] == ["plan", "drawn", "done"] * 2
    instants = [at_ns for _, at_ns in calls]
    assert instants == sorted(instants)


@pytest.mark.slow
def test_the_command_plays_and_leaves_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page, plot = tmp_path / "pacing.json", tmp_path / "pacing.md", tmp_path / "pacing.png"
    files = ["--json", str(path), "--out", str(page), "--plot", str(plot)]
    assert main(["pacing", "--seeds", "1", "--quick", *files]) == 0
    assert "## Targets" in page.read_text()
    assert plot.read_bytes()[1:4] == b"PNG"
    found = json.loads(path.read_text())
    assert {row["contestant"] for row in found["rows"]} == set(CONTESTANTS)
    assert {row["display"] for row in found["rows"]} == set(cases.SHAPES)
    assert {row["work"] for row in found["rows"]} == set(cases.QUICK_WORKS)
    assert {"cost", "fps", "error_p99_ms", "off_share"} <= found["rows"][0].keys()
    assert any(target["name"].startswith("60 to 144 Hz") for target in found["targets"])
    assert "targets met" in capsys.readouterr().out


def test_fail_exits_with_1_if_a_target_is_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    what = ["pacing", "--seeds", "1", "--quick", "--display", "blocking", "--display", "queue of two"]
    monkeypatch.setattr(cases, "COST_MORE", -1e6)
    assert main([*what, "--fail"]) == 1
    assert main(what) == 0


def test_an_unknown_display_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pacing", "--display", "cinema"]) == 2
    assert "--display takes: timer; blocking" in capsys.readouterr().err


def test_equal_seeds_give_equal_figures() -> None:
    choice = LaboratoryOptions(seeds=1, quick=True, displays=("timer",), works=("stolen 5-40 ms",))
    assert played(choice).rows == played(choice).rows
    assert played(choice).rows[0].contestant == TWIXT


def test_the_page_in_docs_tells_of_every_display_and_every_work() -> None:
    prose = (Path(__file__).parents[3] / "docs" / "pacing.md").read_text().partition(BEGIN)[0]
    first = set(re.findall(r"^\| ([^|]+) \|", prose, re.MULTILINE))
    assert {name.split(",")[0] for name in cases.SHAPES} | set(cases.ALL_WORKS) <= first


def test_the_page_lists_the_targets_that_are_not_met() -> None:
    targets = [cases.most("too slow", 3, 2, "s"), cases.most("costly", 9, 7, "cost")]
    said = markdown(pacing_page.page(LaboratoryResults([], targets, [], 1, 4)))
    assert "| too slow | 3 s | <= 2 | **not met** |" in said
    assert "- costly: 9 cost, must be <= 7" in said
    assert "0 of 2 targets" in said


def test_a_run_is_written_frame_by_frame_with_the_pacers_reasons(tmp_path: Path) -> None:
    path = tmp_path / "frames.csv"
    what = ["--display", "blocking", "--work", "25 ms in one of 30", "--frames", str(path)]
    assert main(["pacing", "--seeds", "1", "--quick", *what]) == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 100
    first, second = (float(row["seen"]) for row in rows[10:12])
    assert second > first
    assert rows[0]["reason"]
    assert float(rows[11]["work_end"]) <= float(rows[11]["swap_begin"]) <= float(rows[11]["swap_end"])


def test_the_page_lists_where_a_fixed_interval_costs_much_less() -> None:
    of = figures([PlayedFrame(0, at, at, 10) for at in (0, 10**7, 2 * 10**7)], cases.SHAPES["blocking"].made(0), 0)
    rows = [
        CaseRow("a screen", work, contestant, of._replace(cost=cost))
        for work, contestant, cost in (
            ("w", "twixt", 300),
            ("w", "never widen", 100),
            ("v", "twixt", 110),
            ("v", "never widen", 100),
        )
    ]
    said = markdown(pacing_page.page(LaboratoryResults(rows, [], [], 1, 4)))
    assert "In 1 of 2 cases, the cost of twixt is more than 1.25 times the cost of a fixed interval, plus 20:" in said
    assert "| w | 300 / 100 |" in said.partition("### Cost")[2]
    assert "| a screen: w | 300 | 100 |" in said
