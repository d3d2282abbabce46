"""The trace file: one time axis, whole or not there, told where spans are missing."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from twixt.ipc.config.flags import Config
from twixt.ipc.errors import TwixtError
from twixt.ipc.trace import spans
from twixt.ipc.trace.spans import KINDS, PHYSICS, VIEWER, Recorded, Span
from twixt.ipc.trace.trace_file import Trace, open_trace, shared_trace, write_trace, written_at_the_end

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


def test_spans_of_every_kind_are_there_and_say_only_what_their_kind_says(tmp_path: Path) -> None:
    given = [Span(BEGIN_NS, BEGIN_NS, 3, 4, kind) for kind in range(len(KINDS)) if kind != spans.PACE]
    told = {event["name"]: event.get("args") for event in written(tmp_path, given, []) if event["ph"] == "X"}
    assert len(told) == len(given)
    assert told["start"] is None
    assert told["swap"] == {"frame": 3}
    assert told["step"] == {"tick": 3, "multiple": 4}


def test_what_another_thread_did_has_a_row_of_its_own_where_there_is_any(tmp_path: Path) -> None:
    def rows(viewer: list[Span]) -> list[tuple[int, int, str]]:
        told = [event for event in written(tmp_path, [], viewer) if event["name"] == "thread_name"]
        return [(event["pid"], event["tid"], event["args"]["name"]) for event in told]

    wait = Span(BEGIN_NS, BEGIN_NS, 0, 0, spans.SWAP)
    beside = Span(BEGIN_NS, BEGIN_NS, 0, 0, spans.LOAD)
    assert rows([wait]) == [(11, 1, "steps"), (22, 1, "frames")]
    assert rows([wait, beside]) == [(11, 1, "steps"), (22, 1, "frames"), (22, 2, "beside")]
    told = {event["name"]: event["tid"] for event in written(tmp_path, [], [wait, beside]) if event["ph"] == "X"}
    assert told == {"swap": 1, "import the overlay": 2}


@pytest.mark.parametrize("kind", [-1, len(KINDS), 1 << 40])
def test_a_span_of_no_known_kind_is_left_out(tmp_path: Path, kind: int) -> None:
    swap = Span(BEGIN_NS, BEGIN_NS, 0, 0, spans.SWAP)
    events = written(tmp_path, [Span(BEGIN_NS, BEGIN_NS, 0, 0, kind)], [swap])
    assert [event["name"] for event in events if event["ph"] == "X"] == ["swap"]


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


def test_no_arrow_leads_to_a_frame_that_was_over_when_its_snapshot_was_published(tmp_path: Path) -> None:
    rest = Span(BEGIN_NS, BEGIN_NS, 0, 0, spans.REST)
    events = written(tmp_path, [publish(15, 1)], [rest, frame(5, 0, 1), rest, frame(20, 1, 1)])
    assert [event["ts"] for event in events if event["ph"] == "f"] == [20_000]


def test_frames_a_second_are_counted_over_half_a_second(tmp_path: Path) -> None:
    swaps = [Span(BEGIN_NS, BEGIN_NS + at_ms * MS, 0, 0, spans.SWAP) for at_ms in (0, 500, 900, 1_000, 2_000, 2_000)]
    events = written(tmp_path, [], swaps)
    told = [(event["ts"] / 1000, event["args"]["fps"]) for event in events if event["name"] == "fps"]
    # Two swaps make a rate; a swap that came alone, after a second, makes none, and so do two at one instant.
    assert told == [(500, 2), (900, 2.5), (1_000, 4)]


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
    # A pipe of the test's own, and no device: code that is wrong here would take it away from the whole machine.
    pipe = tmp_path / "trace.json"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_trace(str(pipe), [], 0, "")
        assert pipe.is_fifo()
        assert json.loads(os.read(end, 1 << 16))["traceEvents"] == []
    finally:
        os.close(end)
    assert list(tmp_path.iterdir()) == [pipe]


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


def test_a_trace_says_which_command_it_is_of_and_counts_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    trace = open_trace(Config(profile=str(path), command="twixt run orbit", started_ns=BEGIN_NS), PHYSICS)
    assert trace is not None
    trace.spans.lap(spans.START)
    trace.write()
    document = json.loads(path.read_text())
    assert document["otherData"]["command"] == "twixt run orbit"
    assert document["otherData"]["origin_ns"] == BEGIN_NS
    (start,) = [event for event in document["traceEvents"] if event["name"] == "start"]
    assert start["ts"] == 0


@pytest.mark.parametrize("who_writes", [0, 1], ids=["who began it", "its viewer"])
def test_either_process_writes_what_both_recorded(tmp_path: Path, who_writes: int) -> None:
    path = tmp_path / "trace.json"
    config = Config(profile=str(path), command="twixt run orbit", started_ns=BEGIN_NS)
    physics = open_trace(config, PHYSICS)
    assert physics is not None
    viewer = shared_trace(physics.shared_with(config))
    assert viewer is not None
    assert not list(tmp_path.iterdir())
    physics.spans.add(spans.STEP, BEGIN_NS, BEGIN_NS)
    viewer.spans.add(spans.FRAME, BEGIN_NS, BEGIN_NS)
    (physics, viewer)[who_writes].write()
    (physics, viewer)[not who_writes].close()
    document = json.loads(path.read_text())
    assert document["otherData"]["command"] == "twixt run orbit"
    assert document["otherData"]["origin_ns"] == BEGIN_NS
    rows = {event["name"]: event["args"] for event in document["traceEvents"] if event["ph"] in "MX"}
    assert {"step", "frame"} <= set(rows)
    sides = [event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"]
    assert sides == ["physics", "viewer"]


def test_a_viewer_has_no_part_in_a_trace_that_nobody_began_or_that_has_ended(tmp_path: Path) -> None:
    profile = str(tmp_path / "trace.json")
    trace = trace_in(tmp_path)
    shared = trace.shared_with(Config(profile=profile))
    assert shared.profile == profile
    assert shared_trace(Config()) is None
    assert shared_trace(Config(profile=profile)) is None
    assert shared_trace(trace.shared_with(Config())) is None
    trace.close()
    assert shared_trace(shared) is None


def test_what_is_said_at_the_end_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process may end in a way that leaves behind what a stream still holds.
    said = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(said, encoding="utf-8", write_through=False))
    trace_in(tmp_path).write()
    assert said.getvalue().startswith(b"twixt: wrote the trace ")
    assert said.getvalue().endswith(b"\n")


def test_any_end_writes_the_file_once_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = trace_in(tmp_path)
    with pytest.raises(KeyboardInterrupt), written_at_the_end(trace):
        trace.spans.add(spans.STEP, 1, 2, 3)
        raise KeyboardInterrupt
    trace.write()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"twixt: wrote the trace {tmp_path / 'trace.json'}; open it at ui.perfetto.dev")


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
    assert "; the 7 oldest spans of viewer were dropped" in capsys.readouterr().err


def test_a_folder_that_is_gone_by_the_end_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = trace_in(tmp_path / "gone")
    trace.write()
    assert capsys.readouterr().err.startswith(f"twixt: no trace in {tmp_path / 'gone' / 'trace.json'}: No such file")
