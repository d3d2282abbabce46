"""The trace file: one time axis, whole or not there, told where spans are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twixt.ipc import spans
from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.spans import PHYSICS, VIEWER, Recorded, Span
from twixt.ipc.trace_file import Trace, open_trace, write_trace, written_at_the_end

MS = 1_000_000
BEGIN_NS = 5_000 * MS


def publish(at_ms: int, tick: int) -> Span:
    return Span(BEGIN_NS + at_ms * MS, BEGIN_NS + (at_ms + 1) * MS, tick, -2 * MS, spans.PUBLISH)


def frame(at_ms: int, number: int, tick: int) -> Span:
    return Span(BEGIN_NS + at_ms * MS, BEGIN_NS + (at_ms + 10) * MS, number, tick, spans.FRAME)


def written(folder: Path, physics: list[Span], viewer: list[Span]) -> list[dict[str, Any]]:
    path = folder / "trace.json"
    write_trace(str(path), [Recorded(PHYSICS, 11, physics, 0), Recorded(VIEWER, 22, viewer, 3)], BEGIN_NS, 'twixt "it"')
    document = json.loads(path.read_text())
    assert document["otherData"]["command"] == 'twixt "it"'
    assert document["otherData"]["viewer_spans_let_go"] == 3
    assert [entry.name for entry in folder.iterdir()] == ["trace.json"]
    return list(document["traceEvents"])


def test_times_are_microseconds_from_the_origin_to_the_nanosecond(tmp_path: Path) -> None:
    swap = Span(BEGIN_NS + 1, BEGIN_NS + 1_500, 7, 0, spans.SWAP)
    (event,) = [event for event in written(tmp_path, [], [swap]) if event["ph"] == "X"]
    assert (event["ts"], event["dur"]) == (0.001, 1.499)
    assert (event["name"], event["pid"], event["args"]) == ("swap", 22, {"frame": 7})


def test_an_arrow_leads_from_each_publish_to_the_first_frame_that_draws_it_and_no_other(tmp_path: Path) -> None:
    events = written(
        tmp_path,
        [publish(0, 0), publish(20, 1), publish(40, 2), publish(60, 0), publish(80, 1)],  # a reset after the third
        [frame(5, 0, 0), frame(25, 1, 1), frame(35, 2, 1), frame(62, 3, 0), frame(85, 4, 1), frame(96, 5, 1)],
    )
    arrows = {event["id"]: [0.0, 0.0] for event in events if event["ph"] == "s"}
    for event in events:
        if event["ph"] in "sf":
            assert event["pid"] == (11 if event["ph"] == "s" else 22)
            arrows[event["id"]]["sf".index(event["ph"])] = event["ts"] / 1000
    # From begin to begin; where the frame had begun already, to the instant at which the snapshot was there.
    assert sorted(arrows.values()) == [[0, 5], [20, 25], [60, 62], [80, 85]]


def test_counters_are_in_the_units_of_their_names(tmp_path: Path) -> None:
    drawn = Span(BEGIN_NS, BEGIN_NS + MS, 12_345_678, 0, spans.DRAW)
    swaps = [Span(BEGIN_NS + i * 10 * MS, BEGIN_NS + i * 10 * MS, i, 0, spans.SWAP) for i in range(5)]
    pace = Span(BEGIN_NS, BEGIN_NS, 33 * MS, 250_000, spans.PACE)
    events = written(tmp_path, [publish(0, 1), pace], [drawn, *swaps])
    last = {event["name"]: event["args"][event["name"]] for event in events if event["ph"] == "C"}
    assert last == {"lateness (ms)": -2, "lead (ms)": 33, "rate": 0.25, "offset (ms)": 12.35, "fps": 100}


def test_a_file_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("before")

    def broken() -> Any:
        yield publish(0, 0)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_trace(str(path), [Recorded(PHYSICS, 1, broken(), 0)], 0, "")  # type: ignore[arg-type]
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.json"]


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    null = Path("/dev/null")
    write_trace(str(null), [], 0, "")
    assert null.is_char_device()


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link = tmp_path / "trace.json"
    link.symlink_to(tmp_path / "far" / "real.json")
    write_trace(str(link), [], 0, "")
    assert link.is_symlink()
    assert json.loads((tmp_path / "far" / "real.json").read_text())["traceEvents"] == []


def trace_in(folder: Path) -> Trace:
    trace = open_trace(Config(profile=str(folder / "trace.json")), PHYSICS)
    assert trace is not None
    return trace


def test_nothing_is_asked_for_nothing_is_recorded() -> None:
    assert open_trace(Config(), PHYSICS) is None


def test_any_end_writes_the_file_once_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = trace_in(tmp_path)
    with pytest.raises(KeyboardInterrupt), written_at_the_end(trace):
        trace.spans.add(spans.STEP, 1, 2, 3)
        raise KeyboardInterrupt
    trace.write()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"twixt: trace in {tmp_path / 'trace.json'}, to be opened at ui.perfetto.dev")


def test_a_refusal_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TwixtError), written_at_the_end(trace_in(tmp_path)):
        raise TwixtError("no such world")
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_spans_let_go_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = spans.SpanMemory.create(0, 4)
    trace = Trace(str(tmp_path / "trace.json"), "", memory, VIEWER)
    trace.spans.close()
    for number in range(10):
        trace.spans.add(spans.SWAP, number, number)
    trace.write()
    assert "; the 7 oldest spans of viewer were let go" in capsys.readouterr().err


def test_a_folder_that_is_gone_by_the_end_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = trace_in(tmp_path / "gone")
    trace.write()
    assert capsys.readouterr().err.startswith(f"twixt: no trace in {tmp_path / 'gone' / 'trace.json'}: No such file")
