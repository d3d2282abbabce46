"""The bench of the browser view's server: its pages without a browser, its figures of given samples, and real turns.
No time is judged."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from bench.commands import WEB_SERVER_GROUPS, main
from bench.loops.loop_process import LoopTurn
from bench.pages import Results
from bench.served.page_client import BINARY, FRAME_NS, KEPT_BYTES, TEXT, MessageReader, message_bytes, next_frame_ns
from bench.served.served_loops import FULL_SPEED, PACED
from bench.served.served_run import served
from bench.served.server_bench import chosen_groups, loop_turn, write_results
from bench.served.server_figures import Cores, Woken, ages_ns, gaps_ns, lateness_ns, spread_ms, woken
from bench.served.server_tables import (
    ALONE,
    BROWSER,
    EIGHT_PAGES,
    ONE_PAGE,
    LoopSample,
    Sample,
    ServerSample,
    StopSample,
    loop_rows,
    rows,
    server_rows,
    stop_rows,
)

MS = 1_000_000
CORES = Cores(2.0, 0.1, 0.5, 0.05, 0.02)
WHERE: dict[str, Any] = {
    "processor": "x", "cores": 2, "system": "y", "turns": 1, "seconds_a_turn": 1.0, "seconds": 9.0,
    "free_cores_before": {"loop": None, "stop": 1.9}, "failures": ["server: it ended"],
}  # fmt: skip


def from_server(content: bytes, opcode: Opcode = Opcode.BINARY) -> bytes:
    return Frame(opcode, content).serialize(mask=False)


def test_messages_of_all_sizes_are_split_wherever_the_bytes_are_cut() -> None:
    sizes = [0, 1, 125, 126, 4096, 65_535, 65_536, 70_000]
    sent = b"".join(from_server(bytes([number]) * size) for number, size in enumerate(sizes)) + from_server(
        b"{}", Opcode.TEXT
    )
    chance = random.Random(1)
    for most in (1, 7, 5000, len(sent)):
        reader, at, found = MessageReader(), 0, []
        while at < len(sent):
            size = chance.randint(1, most)
            found += reader.feed(memoryview(sent)[at : at + size])
            at += size
        assert [each.size_bytes for each in found] == [*sizes, 2]
        assert [each.opcode for each in found] == [BINARY] * len(sizes) + [TEXT]
        assert [each.begin for each in found[:-1]] == [
            bytes([number]) * min(size, KEPT_BYTES) for number, size in enumerate(sizes)
        ]


def test_a_fragment_is_refused() -> None:
    with pytest.raises(ValueError, match="fragments"):
        MessageReader().feed(Frame(Opcode.BINARY, b"abc", fin=False).serialize(mask=False))


@pytest.mark.parametrize("size", [0, 125, 126, 300])
def test_messages_of_a_page_are_those_of_the_library(size: int) -> None:
    made, wanted = message_bytes(b"a" * size), Frame(Opcode.TEXT, b"a" * size).serialize(mask=True)
    head = len(wanted) - size - 4
    assert made[:head] == wanted[:head]
    assert made[head:] == bytes(4) + b"a" * size


def test_the_frames_of_a_page_are_on_its_grid() -> None:
    assert next_frame_ns(1000, 1000) == 1000 + FRAME_NS
    assert next_frame_ns(1001, 1000) == 1000 + FRAME_NS
    assert next_frame_ns(900, 1000) == 1000


def test_lateness_is_from_the_step_that_is_least_late() -> None:
    assert lateness_ns([0.0, 0.01, 0.02], [500, 500 + 12 * MS, 500 + 20 * MS + 1]) == [0, 2 * MS, 1]
    assert lateness_ns([], []) == []


def test_ages_and_gaps_are_those_of_each_page() -> None:
    assert ages_ns([[10, 20], [15]], [[9, 18], [9]]) == [1, 2, 6]
    assert gaps_ns([0, 10, 30, 60], 10, 60) == [10, 20]
    assert gaps_ns([5], 0, 10) == []


def test_quantiles_are_in_ms_and_unknown_without_a_duration() -> None:
    assert spread_ms([]) is None
    found = spread_ms([MS] * 99 + [101 * MS])
    assert found is not None
    assert (found.p50, found.max) == (1.0, 101.0)
    assert 1.0 < found.p99 < 101.0


def test_old_snapshots_are_those_that_come_after_the_wake_and_were_published_before_it() -> None:
    arrived_ms, published_ms = [1, 2, 100, 101, 103], [0, 1, 3, 4, 102]
    arrived_ns, published_ns = ([each * MS for each in side] for side in (arrived_ms, published_ms))
    assert woken(arrived_ns, published_ns, 100 * MS) == Woken(2, 97.0)
    assert woken(arrived_ns, published_ns, 104 * MS) == Woken(0, 0.0)


def loop_samples(kind: str, *steps: tuple[str, int], late_ns: Sequence[int] = ()) -> list[Sample]:
    """Turns of a second. steps: the condition and the number of steps of each."""
    return [
        LoopSample(
            kind, 1000, condition, LoopTurn(condition != ALONE, 0, 1000 * MS, made, 500 * MS),
            late_ns if condition != ALONE else [0, 0], CORES, 60.0,
        )
        for condition, made in steps
    ]  # fmt: skip


def test_a_loop_is_compared_with_the_turns_before_and_after_under_each_condition() -> None:
    turns = [(ALONE, 1000), (ONE_PAGE, 950), (ALONE, 900), (EIGHT_PAGES, 900), (ALONE, 900), (EIGHT_PAGES, 890)]
    one, eight = loop_rows(loop_samples(FULL_SPEED, *turns))
    assert (one.condition, one.turns, eight.condition, eight.turns) == (ONE_PAGE, 1, EIGHT_PAGES, 1)
    assert one.slower is not None
    assert eight.slower is not None
    assert one.slower["median"] == pytest.approx(100 * (2 / 0.95 / (1 / 1 + 1 / 0.9) - 1))
    assert eight.slower["median"] == pytest.approx(0)
    assert (one.is_met, eight.is_met) == (True, True)
    assert one.server_cores == CORES.server
    (slow,) = loop_rows(loop_samples(FULL_SPEED, (ALONE, 1000), (ONE_PAGE, 900), (ALONE, 1000)))
    assert slow.is_met is False
    (browser,) = loop_rows(loop_samples(FULL_SPEED, (ALONE, 1000), (BROWSER, 500), (ALONE, 1000)))
    assert browser.is_met is None


def test_turns_of_two_loops_are_no_neighbours() -> None:
    assert not loop_rows(
        loop_samples(FULL_SPEED, (ALONE, 10), (ONE_PAGE, 10)) + loop_samples(PACED, (ALONE, 10), (ONE_PAGE, 10))
    )


def test_a_paced_loop_is_judged_by_its_lateness() -> None:
    turns = ((ALONE, 60), (ONE_PAGE, 60), (ALONE, 60))
    (row,) = loop_rows(loop_samples(PACED, *turns, late_ns=[0, 400_000]))
    assert row.slower is None
    assert row.is_met is True
    (late,) = loop_rows(loop_samples(PACED, *turns, late_ns=[0, 600_000]))
    assert late.is_met is False


def server_sample(pages: int, messages: int, server: float) -> ServerSample:
    ages = [MS] * messages
    return ServerSample(100, True, pages, messages, 3000 * messages, CORES._replace(server=server), 30.0, ages)


def test_figures_of_the_server_are_medians_and_the_worst_of_its_turns() -> None:
    one, eight = server_rows([server_sample(8, 960, 0.1), *(server_sample(1, 120, share) for share in (0.1, 0.3, 0.2))])
    assert (one.pages, eight.pages, one.turns) == (1, 8, 3)
    assert (one.server_cores, one.server_cores_worst) == (0.2, 0.3)
    assert one.us_a_message == pytest.approx(0.2 * 2e6 / 120)
    assert eight.us_a_message == pytest.approx(0.1 * 2e6 / 960)
    assert one.snapshots_per_s == eight.snapshots_per_s == 60
    assert (one.message_bytes, one.bytes_per_s) == (3000, 180_000)


def test_a_page_that_gets_more_than_its_credit_misses_the_target() -> None:
    stops = [StopSample(300, 7.0, Woken(old, 7000.0), [16 * MS], [17 * MS], 0.1) for old in (2, 5)]
    assert [row.is_met for row in stop_rows(stops)] == [True, False]


def test_tables_have_all_groups_and_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Results("a command", str(tmp_path / "a.json"), str(tmp_path / "a.md"))
    samples = loop_samples(FULL_SPEED, (ALONE, 1000), (ONE_PAGE, 900), (ALONE, 1000))
    samples += [server_sample(1, 120, 0.2), StopSample(300, 7.0, Woken(2, 7000.0), [], [17 * MS], 0.1)]
    write_results(samples, results, WHERE)
    page, shown = (tmp_path / "a.md").read_text(), capsys.readouterr().out
    assert "| full speed | 1,000 | 1 page |" in page
    assert "NOT MET" in page
    assert "not measured: server: it ended" in shown
    document = json.loads((tmp_path / "a.json").read_text())
    assert [row["group"] for row in document["rows"]] == ["loop", "server", "stop"]
    write_results([], results, WHERE)


def test_groups_are_those_that_were_asked_for() -> None:
    groups = chosen_groups(WEB_SERVER_GROUPS, True, 1.0, 5, quick=False)
    assert len(groups) == 2 + 2 + 3 + 2
    assert list(chosen_groups(("stop",), False, 1.0, 5, quick=True)) == ["stop, 300 bodies"]
    assert len(chosen_groups((), True, 1.0, 5, quick=False)) == 2


@pytest.mark.starvable
def test_real_turns_have_figures() -> None:
    with served(PACED, 20) as run:
        samples: list[Sample] = [loop_turn(run, PACED, each, 0.05, None) for each in (ALONE, EIGHT_PAGES, ALONE)]
    (row,) = rows(samples)
    print(row)
    assert row["condition"] == EIGHT_PAGES
    assert row["snapshots_per_s"] > 0
    assert row["server_cores"] > 0
    assert row["late_ms"]["max"] >= 0


@pytest.mark.starvable
def test_a_quick_run_stops_a_page_which_then_gets_few_old_snapshots(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    assert main(["web_server", "--quick", "--only", "stop", "--json", str(file)]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    print(row)
    assert 1 <= row["old"] < 15  # without a credit 30
