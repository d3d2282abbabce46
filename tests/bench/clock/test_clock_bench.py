"""The table of clocks and traces, and the page made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.clock import clock_bench
from bench.clock.clock_bench import CLOCKS, ClockRow, broken_rules, cost_us, page, rows_table, run, table
from bench.clock.traces import TRACES
from bench.pages import BEGIN, Results, markdown
from twixt.ipc.errors import TwixtError


@pytest.fixture
def short(monkeypatch):
    """A bench of one trace and a few seconds."""
    monkeypatch.setattr(clock_bench, "SECONDS", 5.0)
    monkeypatch.setattr(clock_bench, "STALL_SECONDS", 12.0)
    monkeypatch.setattr(clock_bench, "COST_TRACES", ("60 Hz",))
    monkeypatch.setattr(clock_bench, "COST_SECONDS", 5.0)
    real = table
    monkeypatch.setattr(
        clock_bench,
        "table",
        lambda seeds, fps, seconds=5.0, settling_ns=3 * 10**9, traces=("60 Hz",), say=str: real(
            seeds, fps, seconds, settling_ns, traces, say
        ),
    )


def test_table_has_a_row_for_every_trace_and_clock():
    told = []
    rows = table(1, 60.0, 5.0, traces=["60 Hz", "net 30 Hz"], say=told.append)
    assert [(row.trace, row.clock) for row in rows] == [(t, c) for t in ("60 Hz", "net 30 Hz") for c in CLOCKS]
    assert len(told) == len(rows)
    auto = rows[list(CLOCKS).index("auto, latency")]
    assert auto.error_p99_ms < 0.01
    assert 17 < auto.age_ms < 19


def row(clock: str, **more) -> ClockRow:
    return ClockRow("t", clock, **{
        "error_p99_ms": 1.0, "error_p99_median_ms": 1.0, "age_ms": 20.0, "held_share": 0.05, "judder": 0.4,
        "reversals": 0, "beyond": 0, **more,
    })  # fmt: skip


def test_markdown_shows_the_figures_and_names_what_is_broken():
    rows = [row("a"), row("b", error_p99_ms=9.0, reversals=2)]
    text = rows_table(rows).markdown() + broken_rules(rows)
    assert "| t | 1.00 / 20.0 / 5.0% / 0.40 | 9.00 (median 1.00) / 20.0 / 5.0% / 0.40 |" in text
    assert "b on t: 2 reversals, 0 beyond" in text
    assert "none." in broken_rules([row("a")])


def test_figures_of_the_page_say_how_many_seeds_were_played():
    assert "figure of 12 seeds. With each seed" in markdown(page([row("a")], [row("a")], 12, 60.0))


def test_the_page_in_docs_has_a_figure_and_words_for_each_trace():
    prose, _, figures = (Path(__file__).parents[3] / "docs" / "playback.md").read_text().partition(BEGIN)
    for name in TRACES:
        assert f"| {name} |" in figures
    for word in ("ahead 60 Hz", "41 ms", "20-120 ms", "load comes and goes", "found late", "net 10 Hz", "stall"):
        assert word in prose


def test_what_a_call_costs_is_measured_for_each_trace(monkeypatch):
    monkeypatch.setattr(clock_bench, "COST_SECONDS", 6.0)
    costs = cost_us()
    assert set(costs) == set(clock_bench.COST_TRACES)
    assert min(costs.values()) > 0


@pytest.mark.usefixtures("short")
def test_run_writes_the_page_and_prints_json(tmp_path, capsys):
    assert run(Results(json_file="-", out=str(tmp_path / "page.md")), seeds=1) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == clock_bench.SCHEMA
    assert {row["clock"] for row in made["rows"]} == set(CLOCKS)
    assert made["cost_us"]["60 Hz"] > 0
    assert "figure of 1 seeds" in (tmp_path / "page.md").read_text()


@pytest.mark.usefixtures("short")
def test_run_shows_a_table_and_the_cost(capsys):
    assert run(Results(), seeds=1) == 0
    shown = capsys.readouterr().out
    assert "newest-two" in shown
    assert "median time that the clock takes for one frame" in shown


def test_what_cannot_be_written_is_said_before_anything_is_played(tmp_path):
    with pytest.raises(TwixtError, match=r"--out .*page\.md.*does not exist"):
        run(Results(out=str(tmp_path / "missing" / "page.md")), seeds=1)
    with pytest.raises(TwixtError, match="seeds must be >= 1, got 0"):
        run(Results(), seeds=0)
